package api

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"warren/runs"
)

// TestProfileJSONIsWhatItsTagsSay holds the quick way of writing a profile to the slow one, member for member.
func TestProfileJSONIsWhatItsTagsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		same(t, p)
		same(t, list[profileJSON]{Data: []profileJSON{p, drawProfile(t)}, Total: rapid.Int64().Draw(t, "total"),
			TotalIsExact: rapid.Bool().Draw(t, "exact"), Page: 3, Limit: 2, HasMore: true})
	})
	same(t, list[profileJSON]{})
	same(t, list[workspaceJSON]{Data: []workspaceJSON{{ID: "default"}}, Total: 1, Page: 1, Limit: 20}) // has no quick way
}

// fataler is a test of either kind.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func same[T jsonAppender](t fataler, v T) {
	t.Helper()
	got, err := v.appendJSON([]byte("before"))
	if err != nil {
		t.Fatalf("%v: %+v", err, v)
	}
	want, err := slow(v)
	if err != nil {
		t.Fatalf("%v: %+v", err, v)
	}
	if !bytes.Equal(got, append([]byte("before"), want...)) {
		t.Fatalf("the quick way wrote\n%s, the slow one\n%s", got, want)
	}
	var out bytes.Buffer
	b, err := newBody(v)
	if err = errors.Join(err, b.writeTo(&out)); err != nil || !bytes.Equal(out.Bytes(), want) {
		t.Fatalf("the body is %s (%v)", out.Bytes(), err)
	}
}

// slow is what reflection makes of v.
func slow(v any) ([]byte, error) { return json.Marshal(v) }

func drawProfile(t *rapid.T) profileJSON {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[<>&"\\\x00-\x1f\x{2028}é😀 a-z]*`))
	raw := rapid.SampledFrom([]string{`[]`, `["a","b\"<&>"]`, `["é😀"]`})
	at := rapid.Int64Range(0, 4102444800000)
	number := rapid.Int64()
	p := profileJSON{ID: text.Draw(t, "id"), WorkspaceID: text.Draw(t, "workspace"), Name: text.Draw(t, "name"), OS: "linux",
		BrowserVersion: "156", Tags: rawStrings(raw.Draw(t, "tags")), Notes: text.Draw(t, "notes"),
		ProxyID: maybe(t, text), ProxyMissing: rapid.Bool().Draw(t, "missing"),
		FallbackProxyIDs: rawStrings(raw.Draw(t, "fallbacks")), FallbackCountry: "any",
		StartURLs: rawStrings(raw.Draw(t, "urls")), Timezone: text.Draw(t, "zone"),
		Locale:      rapid.SampledFrom([]locale{"auto", "system", `["de-DE","en"]`}).Draw(t, "locale"),
		Geolocation: rapid.SampledFrom([]geolocation{"auto", "off", `{"latitude":1.5,"longitude":-2}`}).Draw(t, "geolocation"),
		WebRTC:      "off", Consistency: "block", Passkeys: "ask", BackgroundTraffic: "allow", AllowLocal: `["localhost:3000"]`,
		LocalhostVia: rawStrings(raw.Draw(t, "via")), LogHosts: rapid.Bool().Draw(t, "log"),
		Extensions: rawUses(rapid.SampledFrom([]string{`[]`, `[{"id":"e","enabled":true}]`}).Draw(t, "extensions")),
		AllowHosts: rawStrings(raw.Draw(t, "allowed")), DenyHosts: rawStrings(raw.Draw(t, "denied")),
		Args: rawStrings(raw.Draw(t, "args")), TemplateID: maybe(t, text),
		Headless: maybe(t, rapid.Bool()), IdleTimeoutMs: maybe(t, number), FreezeAfter: maybe(t, number),
		MaxRunMs: maybe(t, number), Status: "running",
		DiskBytes: number.Draw(t, "bytes"), CreatedAt: runs.Millis(at.Draw(t, "created")), UpdatedAt: runs.Millis(at.Draw(t, "updated"))}
	if s := maybe(t, at); s != nil {
		p.LastStartedAt = new(runs.Millis(*s))
	}
	if s := maybe(t, at); s != nil {
		p.TrashedAt = new(runs.Millis(*s))
	}
	if rapid.Bool().Draw(t, "more") {
		p.Screen = &screen{Width: 800, Height: 600, DeviceScaleFactor: 1.25}
		p.Run = &profileRunJSON{Info: runs.Info{ID: "p", RunID: "r",
			Warnings: []runs.Warning{{Code: "code", Message: text.Draw(t, "warning")}}}}
		p.Run.Effective.Geolocation = []byte("null")
		p.LastRun = &runs.End{RunID: "r", Lines: []string{strings.Repeat("x", 3)}}
	}
	return p
}

func maybe[T any](t *rapid.T, g *rapid.Generator[T]) *T {
	if !rapid.Bool().Draw(t, "there") {
		return nil
	}
	return new(g.Draw(t, "value"))
}

// BenchmarkProfileJSON compares the two on a page of twenty.
func BenchmarkProfileJSON(b *testing.B) {
	l := list[profileJSON]{Total: 1_000_000, Page: 1, Limit: 20, HasMore: true}
	for range 20 {
		p, err := profileFromRow(newProfile("default"))
		if err != nil {
			b.Fatal(err)
		}
		p.Name, p.BrowserVersion, p.Tags = "Shop, Berlin", "156", `["shop","berlin"]`
		l.Data = append(l.Data, p)
	}
	buffer := []byte{}
	b.Run("quick", func(b *testing.B) {
		for b.Loop() {
			buffer, _ = l.appendJSON(buffer[:0])
		}
	})
	b.Run("slow", func(b *testing.B) {
		for b.Loop() {
			if _, err := slow(l); err != nil {
				b.Fatal(err)
			}
		}
	})
}
