package proxy

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// A call to a URL that others choose reaches this machine only when that is allowed, and a metadata service never, not by a redirect
// either.
func TestClient(t *testing.T) {
	t.Parallel()
	sites := map[string]func(net.Conn){
		"ok":       site(http.StatusOK, "", "done"),
		"inward":   site(http.StatusFound, "Location: http://169.254.169.254/latest\r\n", ""),
		"circular": site(http.StatusFound, "Location: /again\r\n", ""),
		"a file":   site(http.StatusFound, "Location: file:///etc/passwd\r\n", ""),
	}
	for name, c := range map[string]struct {
		site    string
		private bool
		want    string // "" means an error
		blocked bool
	}{
		"allowed": {"ok", true, "done", false}, "not allowed": {"ok", false, "", true},
		"redirected to the metadata service": {"inward", true, "", true}, "redirected for ever": {"circular", true, "", false},
		"redirected to a file": {"a file", true, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, sites[c.site])
			res, err := NewClient(Policy{AllowPrivate: c.private}, nil, waitLimit).Get(fmt.Sprintf("http://%s/x", s.addr()))
			if fault, ok := errors.AsType[*Error](err); c.want == "" && (err == nil || c.blocked != (ok && fault.Code == BlockedAddress)) {
				t.Fatalf("%v", err)
			}
			if c.want == "" {
				if !c.private && s.count() > 0 {
					t.Error("it was called all the same")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if text, _ := io.ReadAll(res.Body); string(text) != c.want {
				t.Errorf("%q", text)
			}
		})
	}
}

// TestRedirectsTellNothing: a host that is called by a redirect does not learn the URL before, which may be a secret.
func TestRedirectsTellNothing(t *testing.T) {
	t.Parallel()
	received := make(chan string, 1)
	other := serve(t, func(c net.Conn) {
		if rq, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			received <- rq.Header.Get("Referer")
		}
		fmt.Fprint(c, "HTTP/1.1 204 Done\r\n\r\n")
	})
	first := serve(t, site(http.StatusFound, "Location: http://"+other.addr()+"/\r\n", ""))
	res, err := NewClient(Policy{AllowPrivate: true}, nil, waitLimit).Get("http://" + first.addr() + "/rotate?token=secret")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close() //nolint:errcheck // the test is about the request
	if got := <-received; got != "" {
		t.Errorf("it got %q", got)
	}
}
