package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"warren/cli"
	"warren/compat"
)

type compatCommand struct {
	cli.Connection
	Product   string `arg:"" enum:"adspower,gologin,dolphin,bitbrowser" help:"adspower, gologin, dolphin or bitbrowser."`
	Listen    string `env:"WARREN_COMPAT_LISTEN" placeholder:"ADDR" help:"Where to listen, on a loopback address. Default: 127.0.0.1 and the product's own port."`
	DebugPort bool   `env:"WARREN_COMPAT_DEBUG_PORT" help:"Open a port for Selenium at each start. Any program of this machine can drive the browser through it."`
}

// Run serves the local API of another product until the context ends. WARREN_COMPAT_KEY, if it is set, is a key that scripts must send.
func (k *compatCommand) Run(ctx context.Context, c *console) error {
	address := k.Listen
	if address == "" {
		address = net.JoinHostPort("127.0.0.1", strconv.Itoa(compat.Products()[k.Product]))
	}
	if !isLoopback(address) {
		return refusef("%s is no loopback address: any program that reaches this API can drive browsers", address)
	}
	client, err := k.Client(func() (string, error) { return dataDir("") }, version)
	if err != nil {
		return err
	}
	handler, err := compat.New(k.Product, client.Call, compat.Options{Key: os.Getenv("WARREN_COMPAT_KEY"), DebugPort: k.DebugPort})
	if err != nil {
		return misuse{err}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.stdout, "warren: answering as %s on http://%s\n", k.Product, l.Addr()); err != nil {
		return errors.Join(err, l.Close())
	}
	server := compat.Server(handler)
	stop := context.AfterFunc(ctx, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		server.Shutdown(ending) //nolint:errcheck // the process ends
	})
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// isLoopback reports whether an address is of this machine alone. A name other than localhost may lead elsewhere.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}
