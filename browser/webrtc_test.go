//go:build !windows

package browser

import (
	"fmt"
	"net/http"
	"testing"
)

// TestDialogsAreAnswered: with webrtc off the controller enables Page, which makes Chrome wait for an answer to dialogs. The controller
// answers while no client is attached: a page may be left, and confirm is cancelled.
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
