//go:build !windows

package browser

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"warren/testnet"
)

// TestLocaleOfEveryProcess: a page may come from a process where another target owned the locale override. It has the profile's locale from
// its first line if the run has a mount namespace, and otherwise once it is loaded. The CDP override alone would leave it the machine's
// locale.
func TestLocaleOfEveryProcess(t *testing.T) {
	p := newProfile(t)
	p.site.Mux.HandleFunc("/says", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<script>first = Intl.DateTimeFormat().resolvedOptions().locale</script>`)
	})
	s := p.spec()
	s.Identity.Languages = []string{"de-AT", "de"}
	b := p.open(s)
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	if err := b.Start(ctx); err != nil {
		t.Fatal(err)
	}
	c := dial(t, serveGateway(t, b)+"/")
	c.call("", "Target.setDiscoverTargets", map[string]any{"discover": true})
	_, opener := c.openTab("http://a.test/says")
	c.becomes(opener, "first", `"de-AT"`)
	for i, first := range []string{"http://b.test/says", "about:blank", "http://a.test/says"} {
		c.call(opener, "Runtime.evaluate",
			map[string]any{"expression": fmt.Sprintf("void(window.w = window.open(%q))", first), "userGesture": true})
		_, popup := c.popup()
		c.becomes(popup, "location.href", fmt.Sprintf("%q", first))
		c.value(opener, fmt.Sprintf(`void(w.location = "http://c%d.test/says")`, i))
		c.becomes(popup, "location.host + document.readyState", fmt.Sprintf(`"c%d.testcomplete"`, i))
		c.becomes(popup, "Intl.DateTimeFormat().resolvedOptions().locale", `"de-AT"`)
		if got := c.value(popup, "first"); got != `"de-AT"` && b.Isolation().Files == FilesInNamespace {
			t.Errorf("a pop-up that was at %s began at another site with the locale %s", first, got)
		}
	}
}

// popup attaches to the next target that has an opener.
func (c *tester) popup() (target, session string) {
	c.t.Helper()
	for {
		m := c.event("Target.targetCreated")
		var p struct {
			TargetInfo struct{ TargetID, OpenerID string }
		}
		c.decode(m.Params, &p)
		if p.TargetInfo.OpenerID == "" {
			continue
		}
		session = field(c.t, c.call("", "Target.attachToTarget", map[string]any{"targetId": p.TargetInfo.TargetID, "flatten": true}),
			"sessionId")
		return p.TargetInfo.TargetID, session
	}
}
