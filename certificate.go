package main

import (
	"context"
	"crypto/tls"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// certificate is the server's TLS certificate, which can be read anew while it serves.
type certificate struct {
	file, key string // PEM
	current   atomic.Pointer[tls.Certificate]
}

// load reads the files. On an error the certificate stays as it was.
func (c *certificate) load() error {
	read, err := tls.LoadX509KeyPair(c.file, c.key)
	if err == nil {
		c.current.Store(&read)
	}
	return err
}

// get is tls.Config's GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.current.Load(), nil
}

// onHangUp gives the SIGHUPs that ask a service to read its certificate anew. With a terminal that signal ends the server instead, and none come here.
func onHangUp() (reload chan os.Signal) {
	reload = make(chan os.Signal, 1)
	if !hasTerminal() {
		signal.Notify(reload, syscall.SIGHUP)
	}
	return reload
}

// keepCertificate reads the certificate anew when reload says so, until ctx ends.
func (s *server) keepCertificate(ctx context.Context, reload chan os.Signal) {
	defer signal.Stop(reload)
	for {
		select {
		case <-reload:
		case <-ctx.Done():
			return
		}
		if s.cfg.certificate == nil {
			s.log.Info("SIGHUP reads the TLS certificate anew, and there is none")
		} else if err := s.cfg.certificate.load(); err != nil {
			s.log.Error("the TLS certificate was not read anew; the one of before stays", "cause", err)
		} else {
			s.log.Info("the TLS certificate was read anew")
		}
	}
}
