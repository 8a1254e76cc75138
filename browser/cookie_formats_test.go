package browser

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"warren/state"
)

// drawCookie draws a cookie that Chrome may take.
func drawCookie(t *rapid.T, now time.Time) state.Cookie {
	characters := rapid.SampledFrom([]string{"abZ09-_.", "abZ09-_.", "ab =\"',:/\\%+{}[]<>()@?&#!~^|`*$", "ab ü😀\u00a0é", "ab\t;\u007f="}).
		Draw(t, "kind")
	text := rapid.StringOfN(rapid.SampledFrom([]rune(characters)), 0, 12, -1)
	c := state.Cookie{Name: text.Draw(t, "name"), Value: text.Draw(t, "value"), Expires: -1, Session: true,
		Domain: rapid.SampledFrom([]string{"a.example", ".a.example", "x.a.example", ".x.a.example", "b.example", "localhost", "co.uk",
			"xn--bcher-kva.example", ".google.de", "127.0.0.1", "[::1]", "a_b.example"}).Draw(t, "domain"),
		Path:     rapid.SampledFrom([]string{"/", "/", "/", "/a", "/a/", "/a b", "/a%20b", "/ü", "/a=b,c\"d"}).Draw(t, "path"),
		HTTPOnly: rapid.Bool().Draw(t, "httpOnly"), Secure: rapid.IntRange(0, 2).Draw(t, "secure") > 0,
		SameSite:     rapid.SampledFrom([]string{"", "Strict", "Lax"}).Draw(t, "sameSite"),
		Priority:     rapid.SampledFrom([]string{"", "Low", "Medium", "High"}).Draw(t, "priority"),
		SourceScheme: rapid.SampledFrom([]string{"", "", "Unset", "NonSecure", "Secure"}).Draw(t, "scheme"),
		SourcePort:   rapid.SampledFrom([]int{0, 0, -1, 80, 443, 8443}).Draw(t, "port"),
	}
	if c.Secure {
		c.Name = rapid.SampledFrom([]string{"", "", "", "__Secure-", "__Host-", "__http-", "__Host-Http-"}).Draw(t, "prefix") + c.Name
	}
	if c.Secure && rapid.Bool().Draw(t, "across") {
		c.SameSite = "None"
	}
	if c.Secure && c.SourceScheme == "NonSecure" { // Chrome does not take it
		c.SourceScheme = "Unset"
	}
	if rapid.Bool().Draw(t, "lasts") {
		micro := rapid.Int64Range(int64(time.Hour/time.Microsecond), int64(399*24*time.Hour/time.Microsecond)).Draw(t, "lifetime")
		c.Session, c.Expires = false, float64(now.UnixMicro()+micro)/1e6
	}
	if c.Secure && rapid.Bool().Draw(t, "partitioned") {
		site := rapid.SampledFrom([]string{"https://top.example", "http://localhost", "https://127.0.0.1"}).Draw(t, "top")
		c.PartitionKey = &state.PartitionKey{TopLevelSite: site, HasCrossSiteAncestor: rapid.Bool().Draw(t, "ancestor")}
	}
	return c
}

// cookieKeeper is a browser whose cookies are replaced.
type cookieKeeper struct {
	*testing.T
	b *Browser
}

// replace removes cookies, sets others, and returns those that are there.
func (k cookieKeeper) replace(have, set []state.Cookie) (now []state.Cookie, refused map[int]string) {
	k.Helper()
	if _, err := k.b.WriteCookies(k.Context(), nil, have); err != nil {
		k.Fatal(err)
	}
	if left, err := k.b.Cookies(k.Context()); err != nil || len(left) > 0 {
		k.Fatalf("left is %+v, %v", left, err)
	}
	refused, err := k.b.WriteCookies(k.Context(), set, nil)
	if err == nil {
		now, err = k.b.Cookies(k.Context())
	}
	if err != nil {
		k.Fatal(err)
	}
	slices.SortFunc(now, func(a, b state.Cookie) int { return strings.Compare(fmt.Sprint(a.Key()), fmt.Sprint(b.Key())) })
	return now, refused
}

// keptBy returns what a format keeps of a cookie, by what it tells as lost. Chrome then gives it what it gives a cookie that says nothing.
func keptBy(lost []state.Note, c state.Cookie) (kept state.Cookie, some bool) {
	for _, n := range lost {
		switch n.Code {
		case "priority":
			c.Priority = "Medium"
		case "source":
			c.SourceScheme, c.SourcePort = "NonSecure", 80
			if c.Secure {
				c.SourceScheme, c.SourcePort = "Secure", 443
			}
		case "same_site":
			c.SameSite = ""
		case "sub_second":
			c.Expires = math.Floor(c.Expires)
		default: // it is left out
			return c, false
		}
	}
	return c, true
}

// TestCookiesThroughFormats: cookies that Chrome takes come out of it as they went in. They go through each format into the emptied
// browser, and only what the format tells as lost is another then.
func TestCookiesThroughFormats(t *testing.T) {
	t.Parallel()
	most := 4
	if os.Getenv("WARREN_LONG") != "" {
		most = 40
	}
	p := newProfile(t)
	spec := p.spec()
	spec.Offline = true
	k := cookieKeeper{t, p.open(spec)}
	if err := k.b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cookie := rapid.Custom(func(t *rapid.T) state.Cookie { return drawCookie(t, now) })
	var last []state.Cookie
	taken, files := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.SliceOfNDistinct(cookie, most/4, most, state.Cookie.Key).Draw(t, "cookies")
		have, refused := k.replace(last, set)
		last = have
		cameOut(t, set, have, refused)
		taken += len(have)
		for _, f := range state.Formats() {
			var file bytes.Buffer
			if err := state.WriteCookies(&file, f, have, now); err != nil {
				t.Fatal(err)
			}
			text := file.String()
			got, err := state.ReadCookies(&file, f, now)
			if err != nil || len(got.Refused)+len(got.Lost) > 0 {
				t.Fatalf("%s:\n%s\n%v %+v", f, text, err, got)
			}
			var want []state.Cookie
			for _, c := range have {
				if kept, some := keptBy(state.Lost(f, []state.Cookie{c}), c); some {
					want = append(want, kept)
				}
			}
			if last, refused = k.replace(last, got.Cookies); len(refused) > 0 || len(last)+len(want) > 0 && !reflect.DeepEqual(last, want) {
				t.Fatalf("%s:\n%s\ngave %+v\nwant %+v; refused are %v", f, text, last, want, refused)
			}
			files++
		}
	})
	if taken == 0 {
		t.Error("Chrome took no cookie")
	}
	t.Logf("%d cookies in %d files", taken, files)
}

// cameOut wants all that was set and not refused.
func cameOut(t *rapid.T, set, have []state.Cookie, refused map[int]string) {
	for i, c := range set {
		at := slices.IndexFunc(have, func(h state.Cookie) bool { return h.Key() == c.Key() })
		if at < 0 {
			if refused[i] == "" {
				t.Fatalf("%+v went in, and is not there", c)
			}
			continue
		}
		got := have[at]
		if got.Value != c.Value || got.Session != c.Session || got.Expires != c.Expires || got.HTTPOnly != c.HTTPOnly ||
			got.Secure != c.Secure || got.SameSite != c.SameSite || c.Priority != "" && got.Priority != c.Priority ||
			c.SourceScheme != "" && got.SourceScheme != c.SourceScheme || c.SourcePort != 0 && got.SourcePort != c.SourcePort {
			t.Fatalf("%+v came out as %+v", c, got)
		}
	}
}
