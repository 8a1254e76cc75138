package main

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"warren/logs"
)

// checkACME checks the settings of certificates by ACME, and lets requests use their names.
func (c *serveConfig) checkACME(f *faults) {
	if len(c.ACME) == 0 {
		return
	}
	if c.TLSCert != "" || c.TLSKey != "" {
		f.add("--acme gets a certificate, and --tls-cert names one: give one of both")
	}
	for _, name := range c.ACME {
		if !isPublicName(name) {
			f.add("--acme %q is not the name of a host, such as warren.example.com; authorities certify no addresses and no *", name)
		}
	}
	if u, err := url.Parse(c.ACMEDirectory); err != nil || u.Scheme != "https" || u.Host == "" {
		f.add("--acme-directory %q must begin with https://", c.ACMEDirectory)
	}
	c.AllowHost = append(c.AllowHost, c.ACME...)
}

// isPublicName reports whether a text is a host name with a dot in it, in the letters that certificates have (RFC 5890: A-labels).
func isPublicName(name string) bool {
	return strings.Contains(strings.Trim(name, "."), ".") && net.ParseIP(name) == nil &&
		strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// acmeTLS is TLS with certificates that come from an authority by ACME (RFC 8555), when somebody first asks for one of the names. The
// authority connects to port 443 of the name for it (tls-alpn-01, RFC 8737), which must lead to this server. Certificates and the account's
// key are kept in the data folder, and renewed 30 days before they end. A name that was not given is refused before anybody is asked.
func (c *serveConfig) acmeTLS(log *slog.Logger) *tls.Config {
	m := &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(filepath.Join(c.Data, "acme")),
		HostPolicy: autocert.HostWhitelist(c.ACME...), Email: c.ACMEEmail, Client: &acme.Client{DirectoryURL: c.ACMEDirectory}}
	t := m.TLSConfig()
	t.MinVersion = tls.VersionTLS12
	get, some := t.GetCertificate, logs.NewBounded(0.1, 5)
	t.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, err := get(hello)
		if err != nil && slices.Contains(c.ACME, hello.ServerName) {
			if _, ok := some.Allow(); ok {
				log.Warn("the authority gave no certificate; its name must lead to port 443 of this server", "name", hello.ServerName,
					"cause", err)
			}
		}
		return cert, err
	}
	return t
}
