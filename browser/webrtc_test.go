//go:build !windows

package browser

import (
	"fmt"
	"net/http"
	"testing"
)

// TestDialogsAreAnswered: with webrtc off the owner watches pages, which makes Chrome wait for somebody to answer their dialogs. The owner
// does, as long as no client is there; a page may be left, and a question is a no.
func TestDialogsAreAnswered(t *testing.T) {
	p := newProfile(t)
	s := p.spec()
	s.WebRTC = WebRTCOff
	p.site.Mux.HandleFunc("/asks", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<script>alert("look"); const yes = confirm("sure?"), text = prompt("name?"); fetch("/after-" + typeof `+
			`RTCPeerConnection + "-" + yes + "-" + text)</script>`)
	})
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := b.OpenPages(t.Context(), []string{"http://a.test/asks"}); err != nil {
		t.Fatal(err)
	}
	p.site.Await(t, "a.test/after-undefined-false-null")
}
