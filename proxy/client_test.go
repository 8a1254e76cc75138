package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// A call to an address that somebody else named reaches this machine only where that is allowed, and metadata services never, not by
// a redirect either.
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
		want    string // "" an error
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
