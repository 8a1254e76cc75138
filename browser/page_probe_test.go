//go:build !windows

package browser

import (
	"slices"
	"testing"

	"warren/testnet"
)

// TestProbeLeavesNoTab: the page of a probe is closed after the answer. A browser that is stopped meanwhile does not keep it: its next
// start would show a blank tab beside the user's.
func TestProbeLeavesNoTab(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	if err := b.OpenPages(t.Context(), []string{"http://a.test/one"}); err != nil {
		t.Fatal(err)
	}
	pageAt(t, b, "/one")
	want := []string{"http://a.test/one"}
	for range 3 {
		b.Stop(t.Context(), false)
		b = p.open(p.spec())
		b.limits.probe = 0 // no open page is asked
		asked := make(chan struct{})
		b.overridesFor = func(info TargetInfo) []override {
			if b.ready() && info.Type == "page" {
				close(asked)
			}
			return nil
		}
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		testnet.AwaitClosed(t, "a page to ask", asked, testnet.Patience)
		if got := b.Stop(t.Context(), false); got != MethodClose {
			t.Fatalf("stopped by %q", got)
		}
		b = p.open(p.spec())
		b.limits.probe = 0
		if err := b.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := b.Languages(); len(got) == 0 {
			t.Error("the new page told no languages")
		}
		if got := urls(t, b); !slices.Equal(got, want) {
			t.Fatalf("the tabs are %v, want %v", got, want)
		}
	}
}
