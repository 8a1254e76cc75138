//go:build !windows

package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/state"
	"warren/testnet"
)

// TestCookiesComeBack: cookies that were read from a browser come back as they were after their file was lost, whatever they are. The
// tabs that Chrome restores have them.
func TestCookiesComeBack(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	visits := make(chan string, 100)
	next := func() string {
		select {
		case sent := <-visits:
			return sent
		case <-time.After(testnet.Patience):
			t.Fatal("the tab did not load")
			return ""
		}
	}
	p.site.Mux.HandleFunc("/tab", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>tab</title>")
		visits <- r.Header.Get("Cookie")
	})
	first := p.startWith(nil)
	const far = 4102444800.25 // sub-second
	for _, c := range []cookieParam{
		{Name: "host", Value: "1", URL: "http://a.example/", Path: "/", Expires: new(far + 0.123456)},
		{Name: "domain", Value: `v="`, Domain: ".a.example", Path: "/p", Priority: "High"},
		{Name: "__Host-x", Value: "1", URL: "https://a.example/", Path: "/", Secure: true, HTTPOnly: true, SameSite: "Strict"},
		{Name: "odd", URL: "http://b.example/", Path: "/", SameSite: "Lax", SourceScheme: "Secure", SourcePort: 8443, Priority: "Low"},
		{Name: "chips", Value: "c", URL: "https://w.example/", Path: "/", Secure: true, SameSite: "None", SourcePort: 443,
			PartitionKey: &state.PartitionKey{TopLevelSite: "https://top.example", HasCrossSiteAncestor: true}},
		{Name: "tab", Value: "1", URL: "http://app.localhost/", Path: "/"}, {Name: "v6", Value: "1", URL: "http://[::1]/", Path: "/"},
		{Value: "without a name", URL: "http://a.example/", Path: "/"},
	} {
		if err := first.mux.setCookies(t.Context(), []cookieParam{c}); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	told := cookiesOf(t, first)
	if len(told) != 8 {
		t.Fatalf("there are %v", told)
	}
	kept, err := first.Cookies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.OpenPages(t.Context(), []string{"http://app.localhost/tab"}); err != nil {
		t.Fatal(err)
	}
	if sent := next(); !strings.Contains(sent, "tab=1") {
		t.Fatalf("the tab sends %q", sent)
	}
	pageAt(t, first, "/tab")
	first.Stop(t.Context(), false)
	if err := os.Remove(filepath.Join(p.dir, "Default", "Cookies")); err != nil {
		t.Fatal(err)
	}
	expired := state.Cookie{Name: "__Host-refused", Domain: ".a.example", Path: "/", Session: true} // keeps no other from being set
	second := p.startWith(append(kept, expired))
	warned := slices.ContainsFunc(second.Warnings(), func(w Warning) bool {
		return w.Code == "cookies_refused" && strings.Contains(w.Message, fmt.Sprintf("1 of %d cookies", len(kept)+1))
	})
	if !warned {
		t.Errorf("the start warns of %v", second.Warnings())
	}
	if now := cookiesOf(t, second); !slices.Equal(now, told) {
		t.Errorf("there are\n%s\nwant\n%s", strings.Join(now, "\n"), strings.Join(told, "\n"))
	}
	if sent := next(); !strings.Contains(sent, "tab=1") {
		t.Errorf("the restored tab sends %q", sent)
	}
	pageAt(t, second, "/tab")
}

// startWith starts a run that begins with cookies.
func (p *profile) startWith(cookies []state.Cookie) *Browser {
	p.t.Helper()
	spec := p.spec()
	spec.Cookies = cookies
	b := p.open(spec)
	ctx, cancel := context.WithTimeout(p.t.Context(), testnet.Patience)
	defer cancel()
	if err := b.Start(ctx); err != nil {
		p.t.Fatal(err)
	}
	return b
}

// cookiesOf returns the cookies of a browser as it tells them, sorted.
func cookiesOf(t *testing.T, b *Browser) (out []string) {
	t.Helper()
	var got struct{ Cookies []json.RawMessage }
	if err := b.mux.call(t.Context(), "", "Storage.getCookies", nil, &got); err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Cookies {
		out = append(out, string(c))
	}
	slices.Sort(out)
	return out
}
