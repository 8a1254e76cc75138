package state

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// cookies draws a cookie that Chrome keeps.
func cookies() *rapid.Generator[Cookie] {
	return rapid.Custom(func(t *rapid.T) Cookie {
		c := Cookie{
			Name:  rapid.StringMatching(`[a-zA-Z0-9_.#"ü-][a-zA-Z0-9 _.]{0,8}[a-z#]`).Draw(t, "name"),
			Value: rapid.StringMatching(`([!-:<-~ü😀][ -:<-~ü😀]{0,20}[!-:<-~])?`).Draw(t, "value"),
			Domain: rapid.SampledFrom([]string{"a.example", ".a.example", "x.a.example", ".b.example", "localhost", "127.0.0.1", "[::1]"}).
				Draw(t, "domain"),
			Path: rapid.SampledFrom([]string{"/", "/a", "/a/b=c"}).Draw(t, "path"), Expires: -1, Session: true,
			HTTPOnly: rapid.Bool().Draw(t, "httpOnly"), Secure: rapid.Bool().Draw(t, "secure"),
			SameSite:     rapid.SampledFrom([]string{"", "Strict", "Lax"}).Draw(t, "sameSite"),
			Priority:     rapid.SampledFrom([]string{"", "Low", "Medium", "High"}).Draw(t, "priority"),
			SourceScheme: rapid.SampledFrom([]string{"", "Unset", "NonSecure", "Secure"}).Draw(t, "scheme"),
			SourcePort:   rapid.SampledFrom([]int{0, -1, 80, 443, 65535}).Draw(t, "port"),
		}
		if rapid.Bool().Draw(t, "lasts") {
			c.Session = false
			micro := rapid.Int64Range(now().UnixMicro()+1, now().Add(maxAge).UnixMicro()).Draw(t, "expires")
			c.Expires = float64(micro) / 1e6
		}
		if c.Secure && c.SourceScheme == "NonSecure" { // Chrome does not take it
			c.SourceScheme = "Unset"
		}
		if c.Secure && rapid.Bool().Draw(t, "across") {
			c.SameSite = "None"
		}
		if c.Secure && rapid.Bool().Draw(t, "partitioned") {
			c.PartitionKey = &PartitionKey{rapid.SampledFrom([]string{"https://a.example", "http://localhost", "chrome-extension://abc"}).
				Draw(t, "site"), rapid.Bool().Draw(t, "ancestor")}
		}
		if rapid.Bool().Draw(t, "protected") && c.Secure {
			c.Name = "__Secure-" + c.Name
		}
		return c
	})
}

// carried returns what a format has of a cookie.
func carried(f Format, c Cookie) Cookie {
	if f != CDP {
		c.Priority, c.SourceScheme, c.SourcePort = "", "", 0
	}
	if f == Netscape {
		c.SameSite = ""
		if !c.Session {
			c.Expires = math.Floor(c.Expires)
		}
	}
	return c
}

// TestRoundTrips: what is written in a format is read back to the last bit, but for what Lost tells.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(cookies(), 1, 6, Cookie.Key).Draw(t, "cookies")
		f := rapid.SampledFrom(Formats()).Draw(t, "format")
		var want []Cookie
		lost := 0
		for _, c := range all {
			switch kept := carried(f, c); {
			case leftOut(f, c) != "":
				lost++
			case !kept.Session && kept.Expires <= secondsOf(now()): // cut to this very second
				return
			default:
				want = append(want, kept)
				if c.Priority == "Medium" { // as without one
					c.Priority = kept.Priority
				}
				if hasOwnSource(c) {
					c.SourceScheme, c.SourcePort = kept.SourceScheme, kept.SourcePort
				}
				if !reflect.DeepEqual(kept, c) {
					lost++
				}
			}
		}
		var file bytes.Buffer
		if err := WriteCookies(&file, f, all, now()); err != nil {
			t.Fatal(err)
		}
		text := file.String()
		got, err := ReadCookies(strings.NewReader(text), rapid.SampledFrom([]Format{f, ""}).Draw(t, "told"), now())
		if err != nil || len(got.Refused)+len(got.Lost) > 0 || len(got.Cookies)+len(want) > 0 && !reflect.DeepEqual(got.Cookies, want) {
			t.Fatalf("%s\n%v, read as %+v\nwant %+v", text, err, got, want)
		}
		if notes := Lost(f, all); len(notes) == 0 && lost > 0 || len(notes) > 0 && lost == 0 {
			t.Fatalf("%d have lost something in %s, and it is told as %q", lost, text, codes(notes))
		}
	})
}
