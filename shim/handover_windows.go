package shim

import (
	"context"
	"errors"
	"net"
	"time"
)

// Windows passes no connections over a socket: the server proxies them instead.

const handoverTimeout = 5 * time.Second

var errNoHandOver = errors.New("connections are not handed over on this system")

func handoverPath(string, string) string { return "" }

func listenHandover(string, string) (net.Listener, error) { return nil, errNoHandOver }

func dialHandover(context.Context, string) (net.Conn, error) { return nil, errNoHandOver }

func sendConn(net.Conn, net.Conn, []byte) error { return errNoHandOver }

func receiveConn(net.Conn) (*handedOver, error) { return nil, errNoHandOver }

type heldConn struct{}

func holdConn(net.Conn) (*heldConn, error) { return nil, errNoHandOver }

func (*heldConn) shutdown() {}
func (*heldConn) close()    {}
