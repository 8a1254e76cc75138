package api

import (
	"net"
	"net/http"
)

// Takes requests that another server of the database has passed on. That server has checked host and origin, and says who the client is.

// receive reads from a request that was passed on who its client is. The request is changed.
func (s *API) receive(r *http.Request, req *request) {
	r.RemoteAddr = net.JoinHostPort(r.Header.Get(headerClient), "0")
	r.Header.Del("X-Forwarded-For")
	req.unusedProxy = r.Header.Get(headerUnused) == "1"
	if base := r.Header.Get(headerBase); base != "" {
		req.base = base
	}
}

// clientAddress is the client's address without its port.
func (r *request) clientAddress() string {
	if r.remote != "" || r.http == nil {
		return r.remote
	}
	return r.api.clientIP(r.http)
}
