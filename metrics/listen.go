package metrics

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Serve answers GET /metrics at l without a key until ctx ends. On loopback it answers addresses and localhost alone, so
// that no web page reads it through a name of its own (DNS rebinding).
func Serve(ctx context.Context, l net.Listener, metrics http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	s := &http.Server{Handler: guard(mux, l.Addr()), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { s.Close() }) //nolint:errcheck // scrapes are repeated
	defer stop()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func guard(next http.Handler, at net.Addr) http.Handler {
	own, _ := netip.ParseAddrPort(at.String()) // TCP's addresses are some
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if own.Addr().IsLoopback() && !isPlain(r.Host) {
			http.Error(w, "this name is not the server's: use its address", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isPlain reports whether a Host is an address or localhost, with or without a port.
func isPlain(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || len(host) > 2 && host[0] == '[' && isPlain(host[1:len(host)-1])
}
