package web

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// damagedData: a start that is refused since the data are damaged names the files. One button starts with the snapshot's instead, or
// without the files if no snapshot opens.
func damagedData(t *testing.T, d *driven) {
	snapshot := map[string]any{"id": "s1", "profileId": "p1", "reason": "stop", "createdAt": "2026-11-01T08:00:00.000Z"}
	damagedStart(t, d, []any{snapshot}, "Go back to the snapshot of", `{"repair":true}`)
	damagedStart(t, d, nil, "Set the damaged files aside", `{"repair":true,"setAside":true}`)
}

// damagedStart presses the dialog's button, and wants a start with the body.
func damagedStart(t *testing.T, d *driven, snapshots []any, button, body string) {
	t.Helper()
	list := rowsOf(3, true)
	starts := 0
	p, h := bench(t, d, "profiles", 1280, func(method, path string) (int, any) {
		if method != "POST" || path != "/api/v1/profiles/p1/start" {
			return list(method, path)
		}
		if starts++; starts > 1 {
			return 200, map[string]any{"runId": "r1", "profileId": "p1", "status": "running", "warnings": []any{}}
		}
		return 409, map[string]any{"status": 409, "code": "profile_damaged", "title": "Conflict", "detail": "no",
			"damaged": []any{map[string]any{"file": "Default/Cookies", "problem": "file is not a database"}}, "snapshots": snapshots}
	})
	p.until("document.querySelector('.row[data-id=p1]')")
	p.eval("[...document.querySelectorAll('.row[data-id=p1] button')].find((it) => it.textContent === 'Start').click()", nil)
	const dialog = "document.querySelector('dialog')?.innerText"
	p.until(dialog + "?.includes('Default/Cookies')")
	var text string
	p.eval(dialog, &text)
	for _, want := range []string{"file is not a database", "Nothing was changed", button} {
		if !strings.Contains(text, want) {
			t.Errorf("the dialog does not say %q: %s", want, text)
		}
	}
	p.eval(fmt.Sprintf("[...document.querySelectorAll('dialog button')].find((it) => it.textContent.startsWith(%q)).click()", button), nil)
	p.until("!document.querySelector('dialog')")
	waitFor(t, "a start with "+body, func() bool { // the dialog closes before the request is sent
		h.mu.Lock()
		defer h.mu.Unlock()
		return slices.Contains(h.sent, "POST /api/v1/profiles/p1/start "+body)
	})
}
