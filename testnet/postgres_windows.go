package testnet

import (
	"io"
	"os/exec"
)

// serverUser is nobody: no server is started on Windows.
type serverUser struct{}

func userOfServers() (serverUser, error) { return serverUser{}, errNotInstalled }

func (serverUser) own(string) error { return nil }

func (serverUser) prepare(*exec.Cmd) {}

func watchFolder(string) (io.Closer, error) { return nil, errNotInstalled }

// killChildren leaves them to themselves.
func killChildren(int) error { return nil }
