//go:build !linux

package tests

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// nothingLeft looks at files alone: there is no /proc to look for processes in.
func (g *testbed) nothingLeft() { g.noFiles() }

// awaitEnds has nothing to wait for: nothingLeft looks at no process.
func (g *testbed) awaitEnds() {}

func awaitGone(testing.TB, string) {}

func (u *ordinary) become(*exec.Cmd) {}

// countShims counts the sockets of runs: there is no /proc to count processes in.
func (g *testbed) countShims() int {
	found, _ := filepath.Glob(filepath.Join(g.data, "run", "*.sock"))
	return len(found)
}
