//go:build linux

package browser

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

// lateDevTools makes a browser read no command before it has connected to its relay, as on a busy machine, where tabs are loading by then.
// watch must be called before the start.
func lateDevTools(t *testing.T, s *Spec) (watch func(*Browser)) {
	t.Helper()
	dir := tempDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	begin := filepath.Join(dir, "begin")
	script := fmt.Sprintf("#!/bin/sh\nmkfifo %[1]s/in\n(until [ -e %[2]s ]; do sleep 0.01; done; exec cat <&3 >%[1]s/in) &\nexec %[3]s "+
		"\"$@\" 3<>%[1]s/in\n", dir, begin, s.Path)
	s.Path = filepath.Join(dir, "late")
	testnet.WriteProgram(t, s.Path, script)
	return func(b *Browser) {
		go func() {
			// there is no event to wait for
			for late := time.Now().Add(testnet.Patience); !connected(b) && time.Now().Before(late) &&
				t.Context().Err() == nil; time.Sleep(10 * time.Millisecond) {
			}
			if err := os.WriteFile(begin, nil, 0o600); err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
		}()
	}
}

// connected reports whether a browser has connected to its relay (proc_net_tcp(5)).
func connected(b *Browser) bool {
	table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", b.PID()))
	to := fmt.Sprintf(":%04X 01 ", b.Listener().Addr().(*net.TCPAddr).Port)
	return strings.Contains(string(table), to)
}

// requests are the requests that a site got in one run.
type requests struct {
	mu  sync.Mutex
	all []string // method, host, path, platform hint
}

func (r *requests) note(q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, fmt.Sprintf("%s %s%s %s", q.Method, q.Host, q.URL.Path, q.Header.Get("Sec-Ch-Ua-Platform")))
}

func (r *requests) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// TestRestoredTabsAskAnew: tabs that began to load before DevTools was read show the declared identity from their first request and first
// line. A form is not sent twice.
func TestRestoredTabsAskAnew(t *testing.T) {
	testnet.Long(t)
	for _, x := range []struct {
		name, open string
		again      []string // the requests that the restored tab may make
		silent     bool     // it is stopped once more, at a moment of which Chrome tells nothing
	}{
		{"on its way", `location.href = "https://b.test/tab"`, []string{`GET b.test/tab "Windows"`}, false},
		{"stopped before it asked", `location.href = "https://b.test/tab"`, []string{`GET b.test/tab "Windows"`}, true},
		{"there from the cache", `location.href = "https://b.test/kept"`,
			[]string{`GET b.test/kept "Windows"`, "" /* it was stopped, and came out of the cache again */}, false},
		{"a form's answer", `{const f = document.createElement('form'); f.method = 'post'; f.action = 'https://b.test/kept'; ` +
			`document.documentElement.append(f); f.submit()}`, []string{""}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, s, told := declaredProfile(t)
			asked := &requests{}
			for path, keep := range map[string]string{"/tab": "no-store", "/kept": "max-age=600"} {
				p.site.Mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
					asked.note(r)
					w.Header().Set("Cache-Control", keep)
					w.Header().Set("Content-Type", "text/html")
					fmt.Fprintf(
						w, `<title>here</title><script>%s fetch('/tell?n=%s&v=' + encodeURIComponent(first))</script>`, firstLine,
						r.URL.Path)
				})
			}
			b := p.startSpec(s)
			call(t, b, b.mux.controller.openPages()[0].Session, "Runtime.evaluate", map[string]any{"expression": x.open})
			told.await(t, 1)
			b.Stop(t.Context(), false)
			told.mu.Lock()
			clear(told.first)
			told.mu.Unlock()
			before := len(asked.list())

			s.TempDir = tempDir(t)
			watch := lateDevTools(t, &s)
			b = p.open(s)
			if watch(b); x.silent {
				b.overridesFor = func(info TargetInfo) []override {
					return append(b.emulation.targetOverrides(info), override{"Page.stopLoading", nil})
				}
			}
			if err := b.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if x.again[0] == "" {
				shown := b.mux.controller.openPages()[0] // its title is missing if it was stopped early
				testnet.Eventually(t, "the answer is shown",
					func() bool {
						return evaluate(t, b, shown, "location.pathname + document.readyState") == `"/keptcomplete"`
					})
			} else if told.await(t, 1) > 0 {
				t.Error("the page's first line saw another locale")
			}
			if got := strings.Join(asked.list()[before:], ", "); !slices.Contains(x.again, got) {
				t.Errorf("the restored tab asked for %q, want %q", got, x.again)
			}
		})
	}
}
