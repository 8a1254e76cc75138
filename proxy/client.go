package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// maxRedirects is how many redirects a call follows.
const maxRedirects = 5

// NewClient returns an HTTP client for URLs that others choose, such as a proxy's rotateUrl. It uses no proxy, and keeps no connection and
// no cookie. timeout bounds a whole call, its body included.
//
// p judges each address after the look-up, at each redirect too, as it judges a proxy server. With AllowPrivate the address may be of
// this machine or a private network, without it only of the public internet. A metadata service is always refused.
// The error of a refusal is an *Error with the code BlockedAddress.
func NewClient(p Policy, roots *x509.CertPool, timeout time.Duration) *http.Client {
	d := &Dialer{Policy: p}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		refuses := func(a netip.Addr) string { return p.refusesServer(a, &d.own.locals) }
		c, fault := d.connect(ctx, network, address, StageConnect, refuses, new(Timings))
		if fault != nil {
			return nil, fault
		}
		return c, nil
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true, MaxResponseHeaderBytes: answerHeadBudget,
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return &http.Client{Timeout: timeout, Transport: transport,
		CheckRedirect: func(rq *http.Request, via []*http.Request) error {
			rq.Header.Del("Referer") // it would tell the next host the whole URL, which may be a secret
			if len(via) > maxRedirects {
				return errors.New("it was sent elsewhere too often")
			}
			return nil
		}}
}
