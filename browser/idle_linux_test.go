package browser

import (
	"os"
	"path/filepath"
	"testing"

	"warren/testnet"
)

// openWarm opens a run whose connections are refused until take is called. take also moves the profile's folder, as it is
// moved when a warm run gets its profile: the browser sees it at the path of before.
func (p *profile) openWarm(s Spec) (b *Browser, take func()) {
	p.t.Helper()
	b, err := Open(s)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := b.Close(); err != nil {
			p.t.Errorf("Close: %v", err)
		}
	})
	if b.Isolation() != (Isolation{Network: InNamespace, Files: FilesInNamespace, Sandbox: true}) {
		p.t.Skip("needs namespaces of network and files")
	}
	b.limits.start, b.limits.probeNew = testnet.Patience, testnet.Patience
	stop := b.Refuse()
	return b, func() {
		p.t.Helper()
		p.dir = s.UserDataDir + "-taken"
		if err := os.Rename(s.UserDataDir, p.dir); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Symlink(filepath.Base(p.dir), s.UserDataDir); err != nil {
			p.t.Fatal(err)
		}
		p.t.Logf("%d connections were refused", stop())
		p.site.Serve(b.Listener())
	}
}

// TestRefuse: a browser that is refused reaches nothing, whoever it says to be. Afterwards it loads pages as every other
// one, and its data are in the folder that was moved.
func TestRefuse(t *testing.T) {
	for name, id := range map[string]Identity{"its own": {}, "declared": elsewhere()} {
		t.Run(name, func(t *testing.T) {
			p := newProfile(t)
			found, s := installed(t), p.spec()
			s.Product, s.Version, s.Identity = found.Product, found.Version, id
			b, take := p.openWarm(s)
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := b.Answers(t.Context()); err != nil {
				t.Error(err)
			}
			page := b.mux.controller.openPages()[0]
			visit := func(path string) string {
				return field(t, call(t, b, page.Session, "Page.navigate", map[string]string{"url": "http://a.test/" + path}), "errorText")
			}
			if got := visit("before"); got == "" {
				t.Error("a page was loaded before the run was taken")
			}
			if asked := p.site.Asked(); len(asked) > 0 {
				t.Errorf("the site was asked before the run was taken: %v", asked)
			}
			take()
			if got := visit("after"); got != "" {
				t.Errorf("a page of a taken run: %s", got)
			}
			call(t, b, page.Session, "Runtime.evaluate", map[string]any{"expression": `localStorage.x = 1; 1`})
			if got := b.Stop(t.Context(), false); got != MethodClose {
				t.Errorf("the stop took %q", got)
			}
			if _, err := os.Stat(filepath.Join(p.dir, profileFolder, "Local Storage")); err != nil {
				t.Error(err)
			}
		})
	}
}
