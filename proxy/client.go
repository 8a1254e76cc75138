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

// maxRedirects is how often a call may be sent elsewhere.
const maxRedirects = 5

// NewClient makes an HTTP client for addresses that somebody else names, such as a proxy's rotateUrl. What is dialled is judged by p after
// the look-up, at each redirect anew, and in the way of a proxy server: with AllowPrivate it may be this machine or of a private network,
// without it only the public internet; a metadata service is neither. It asks no proxy, keeps no connection and no cookie. timeout bounds
// a whole call, its body included. The error of what was refused is an *Error with the code BlockedAddress.
func NewClient(p Policy, roots *x509.CertPool, timeout time.Duration) *http.Client {
	d := &Dialer{Policy: p}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		refuses := func(a netip.Addr) string { return p.refusesServer(a, &d.locals) }
		c, fault := d.connect(ctx, network, address, StageConnect, refuses, new(Timings))
		if fault != nil {
			return nil, fault
		}
		return c, nil
	}
	return &http.Client{Timeout: timeout, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		MaxResponseHeaderBytes: answerHeadBudget},
		CheckRedirect: func(rq *http.Request, via []*http.Request) error {
			rq.Header.Del("Referer") // it would tell the next one the whole address of this one, which may be a secret
			if len(via) > maxRedirects {
				return errors.New("it was sent elsewhere too often")
			}
			return nil
		}}
}
