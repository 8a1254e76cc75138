package tests

import (
	"strings"
	"syscall"
	"testing"
)

// A run tells what it uses, and follows what it does; one whose process hangs holds up nobody else.
func TestRunUsage(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	page := s.world.url("/usage")
	busy, still := s.profile(map[string]any{"proxyId": s.addProxy(nil)}), s.profile(nil)
	run := s.start(busy, nil)
	var hangs []int
	for _, p := range s.alive() {
		if strings.HasSuffix(p.command, "warren shim ") {
			hangs = append(hangs, p.pid)
		}
	}
	if len(hangs) != 1 {
		t.Fatalf("%v shims", hangs)
	}
	s.start(still, nil)
	u := s.usage(busy)
	if u.CPUMs == nil || u.MemoryBytes == nil || u.Processes == nil || u.OwnBytes == nil || u.CPUPercent == nil || u.MemoryKind == nil {
		t.Fatalf("the usage is %+v", u)
	}
	if *u.CPUMs < 50 || *u.Processes < 4 || *u.MemoryBytes < 50<<20 || *u.MemoryBytes > 2<<30 || *u.OwnBytes < 1<<20 ||
		*u.OwnBytes > 100<<20 || u.Clients != 0 || u.Viewers != 0 {
		t.Errorf("a browser uses %+v (%d ms, %d processes, %d B, own %d B)", u, *u.CPUMs, *u.Processes, *u.MemoryBytes, *u.OwnBytes)
	}
	if *u.MemoryKind != "pss" {
		t.Logf("this system tells no shares: %s", *u.MemoryKind)
	}
	c := dialCDP(t, run.WsEndpoint, nil)
	tab := c.open(page)
	c.eval(tab, `(() => { const end = Date.now() + 1500; while (Date.now() < end); return "" })()`)
	before := *u
	eventually(t, "a run that works to show it", enough, func() bool {
		u = s.usages()[busy]
		return u != nil && *u.CPUMs >= *before.CPUMs+700
	})
	if *u.CPUPercent <= 0 || u.Clients != 1 || u.BytesDown == 0 || u.BytesUp == 0 {
		t.Errorf("after a page was read and a script ran: %+v, %.1f %%", u, *u.CPUPercent)
	}
	var history struct{ Data []pastRunView }
	eventually(t, "the history to tell what it uses", enough, func() bool {
		s.do("GET", "/profiles/"+busy+"/runs", nil, 200, &history)
		return len(history.Data) != 1 || history.Data[0].Usage != nil
	})
	if len(history.Data) != 1 || history.Data[0].Status != "running" || history.Data[0].EndedAt != nil || history.Data[0].Reason != nil ||
		history.Data[0].Proxy == nil || *history.Data[0].BytesDown == 0 {
		t.Errorf("the history of a run that goes on is %+v", history.Data)
	}
	pause(t, hangs[0])
	var all map[string]*usageView
	eventually(t, "the other run tells it all the same", enough, func() bool {
		all = s.usages()
		return len(all) != 2 || all[still] != nil
	})
	if err := syscall.Kill(hangs[0], syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[busy] != nil {
		t.Errorf("with a run that hangs: %+v", all)
	}
}
