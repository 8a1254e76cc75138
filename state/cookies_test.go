package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"
)

// now is when the tests read their files.
func now() time.Time { return time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) }

func read(t testing.TB, text string, format Format) *Cookies {
	t.Helper()
	c, err := ReadCookies(strings.NewReader(text), format, now())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// one reads a file with one cookie that is taken.
func one(t testing.TB, text string) Cookie {
	t.Helper()
	c := read(t, text, "")
	if len(c.Cookies) != 1 || len(c.Refused) > 0 {
		t.Fatalf("%+v", c)
	}
	return c.Cookies[0]
}

func codes(notes []Note) (out []string) {
	for _, n := range notes {
		out = append(out, fmt.Sprintf("%s=%d", n.Code, n.Count))
		if n.Message == "" {
			out = append(out, n.Code+" has no message")
		}
	}
	return out
}

// TestGolden: a file of each program is read whole, and what is written of it again is the file beside it.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		file          string
		format        Format
		cookies       int
		lost, notices []string
	}{
		{"playwright.json", Playwright, 3, nil, nil},
		{"puppeteer.json", CDP, 2, nil, []string{"ancestor_assumed=1"}},
		{"cdp.json", CDP, 3, nil, nil},
		{"cookie-editor.json", CookieEditor, 4, nil, nil},
		{"netscape.txt", Netscape, 4, nil, []string{"same_site_not_given=4"}},
		{"storage-state.json", Playwright, 1, []string{"storage=2"}, nil},
	} {
		in, err := os.ReadFile(filepath.Join("testdata", x.file))
		if err != nil {
			t.Fatal(err)
		}
		c := read(t, string(in), "")
		if c.Format != x.format || len(c.Cookies) != x.cookies || len(c.Refused) > 0 || !slices.Equal(codes(c.Lost), x.lost) ||
			!slices.Equal(codes(c.Notices), x.notices) {
			t.Errorf("%s: %+v", x.file, c)
		}
		var out bytes.Buffer
		for _, f := range Formats() {
			fmt.Fprintf(&out, "%s %q\n", f, codes(Lost(f, c.Cookies)))
			if err := WriteCookies(&out, f, c.Cookies, now()); err != nil {
				t.Fatal(err)
			}
		}
		golden := filepath.Join("testdata", x.file+".out")
		if os.Getenv("WARREN_REWRITE") != "" {
			if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || !bytes.Equal(want, out.Bytes()) {
			t.Errorf("%s, %v: written as\n%s\nwant\n%s", x.file, err, out.Bytes(), want)
		}
	}
}

// TestShapes: what single members of the programs mean.
func TestShapes(t *testing.T) {
	t.Parallel()
	const expires = 1800000000.25
	base := Cookie{Name: "n", Value: "v", Domain: "a.example", Path: "/", Expires: -1, Session: true}
	with := func(change func(*Cookie)) Cookie {
		c := base
		change(&c)
		return c
	}
	for _, x := range []struct {
		members string
		want    Cookie
	}{
		{`"path":"/"`, base},
		{`"path":"/","expires":-1,"session":true,"sameSite":null,"size":2,"id":1,"storeId":"0"`, base},
		{`"path":"/","hostOnly":true,"sameSite":"unspecified"`, base},
		{`"path":"/","expires":0,"session":true`, base},
		{`"path":"/","hostOnly":false`, with(func(c *Cookie) { c.Domain = ".a.example" })},
		{`"path":"/x","expires":1800000000.25`, with(func(c *Cookie) { c.Path, c.Expires, c.Session = "/x", expires, false })},
		{`"path":"/","expirationDate":1800000000.25`, with(func(c *Cookie) { c.Expires, c.Session = expires, false })},
		{`"path":"/","expiry":1800000000250`, with(func(c *Cookie) { c.Expires, c.Session = expires, false })},
		{`"path":"/","expires":1800000000250000`, with(func(c *Cookie) { c.Expires, c.Session = expires, false })},
		{`"path":"/","expires":13444473600250000`, with(func(c *Cookie) { c.Expires, c.Session = expires, false })},
		{`"path":"/","expires":"2027-01-15T08:00:00.25Z"`, with(func(c *Cookie) { c.Expires, c.Session = expires, false })},
		{`"path":"/","expires":"1800000000.25"`, with(func(c *Cookie) { c.Expires, c.Session = expires, false })},
		{`"path":"/","secure":true,"sameSite":"no_restriction"`, with(func(c *Cookie) { c.Secure, c.SameSite = true, "None" })},
		{`"path":"/","httpOnly":true,"sameSite":"lax"`, with(func(c *Cookie) { c.HTTPOnly, c.SameSite = true, "Lax" })},
		{`"path":"/","priority":"High","sourceScheme":"NonSecure","sourcePort":8080`,
			with(func(c *Cookie) { c.Priority, c.SourceScheme, c.SourcePort = "High", "NonSecure", 8080 })},
		{`"path":"/","partitionKey":{}`, base},
		{`"path":"/","partitionKey":""`, base},
		{`"path":"/","secure":true,"partitionKey":"https://b.example","_crHasCrossSiteAncestor":false`, with(func(c *Cookie) {
			c.Secure, c.PartitionKey = true, &PartitionKey{TopLevelSite: "https://b.example"}
		})},
		{`"path":"/","secure":true,"partitionKey":{"sourceOrigin":"https://b.example","hasCrossSiteAncestor":true}`,
			with(func(c *Cookie) { c.Secure, c.PartitionKey = true, &PartitionKey{"https://b.example", true} })},
	} {
		if got := one(t, `[{"name":"n","value":"v","domain":"a.example",`+x.members+`}]`); !reflect.DeepEqual(got, x.want) {
			t.Errorf("%s is\n%+v, want\n%+v", x.members, got, x.want)
		}
	}
	odd := read(t, `[{"name":"n","value":"v","domain":"[::ffff:102:304]","path":"/ü ^%e4","secure":true,"sourceScheme":"NonSecure",
		"sourcePort":80,"partitionKey":"https://WWW.shop.co.uk:8443/","_crHasCrossSiteAncestor":true},
		{"name":"n","value":"v","domain":"a.example.","path":"/"}]`, "")
	want := Cookie{Name: "n", Value: "v", Domain: "[::ffff:102:304]", Path: "/%C3%BC%20%5E%e4", Expires: -1, Session: true, Secure: true,
		PartitionKey: &PartitionKey{"https://shop.co.uk", true}}
	if len(odd.Cookies) != 2 || !reflect.DeepEqual(odd.Cookies[0], want) ||
		!slices.Equal(codes(odd.Notices), []string{"partition_converted=1", "path_converted=1", "source_converted=1"}) {
		t.Errorf("as Chrome keeps it: %+v", odd)
	}
	got := one(t, `[{"name":"n","value":"v","url":"https://a.example:8443/x/y?z"}]`)
	if got.Domain != "a.example" || got.Path != "/x/" || !got.Secure {
		t.Errorf("of an address: %+v", got)
	}
	if got := one(t, `[{"name":"n","value":"v","domain":".MÜNCHEN.example","path":"/"}]`); got.Domain != ".xn--mnchen-3ya.example" {
		t.Errorf("the domain is %s", got.Domain)
	}
}

// refusals are members that make a cookie wrong, each with a part of the reason.
func refusals() map[string]string {
	return map[string]string{
		`"name":"__Host-n","domain":".a.example","secure":true`: "must be of one host",
		`"name":"__host-n","path":"/x","secure":true`:           "must have the path /",
		`"name":"__Host-n"`:                           "A __Host- cookie must be secure",
		`"name":"__SECURE-n"`:                         "A __Secure- cookie must be secure",
		`"sameSite":"None"`:                           "SameSite=None needs",
		`"sameSite":"no_restriction"`:                 "SameSite=None needs",
		`"sameSite":"maybe"`:                          "sameSite must be",
		`"expires":1700000000`:                        "expired",
		`"expires":0`:                                 "expired",
		`"expires":-2`:                                "date cannot be read",
		`"expires":"soon"`:                            "date cannot be read",
		`"expires":true`:                              "date cannot be read",
		`"expires":300000000000`:                      "date cannot be read", // after 9999, or in 1979
		`"expires":1e300`:                             "date cannot be read",
		`"expires":134444736000000000`:                "date cannot be read", // a FILETIME
		`"expires":1800000000,"session":true`:         "which one is right",
		`"session":false`:                             "no date",
		`"expires":1800000000,"expiry":1800000001`:    "two dates",
		`"value":"a\tb"`:                              "value has a TAB",
		`"value":"a\u0000b"`:                          "value has a TAB, a NUL",
		`"name":"a\u007fb"`:                           "name has a TAB",
		`"value":"a;b"`:                               "semicolon",
		`"name":"a=b"`:                                "= or ;",
		`"value":" v"`:                                "space",
		`"value":"` + strings.Repeat("v", 4096) + `"`: "4097 bytes",
		`"name":"","value":""`:                        "neither a name nor a value",
		`"name":"","value":"__Host-v"`:                "protected cookie",
		`"name":"","value":"n=v"`:                     "has = in it",
		`"name":null`:                                 "name is missing",
		`"value":7`:                                   "value must be text",
		`"value":"\ud800"`:                            "half a character",
		`"path":"x"`:                                  "path must begin",
		`"domain":""`:                                 "domain is missing",
		`"domain":"https://a.example"`:                "domain must be",
		`"domain":"a.example:80"`:                     "domain must be",
		`"domain":"..a.example"`:                      "domain must be",
		`"domain":".127.0.0.1"`:                       "no subdomains",
		`"domain":".a.example","hostOnly":true`:       "hostOnly is true",
		`"secure":"yes"`:                              "secure must be true or false",
		`"priority":"Highest"`:                        "priority must be",
		`"sourceScheme":"https"`:                      "sourceScheme must be",
		`"sourcePort":70000`:                          "sourcePort must be",
		`"partitionKey":"https://b.example","_crHasCrossSiteAncestor":true`: "must be secure",
		`"secure":true,"partitionKey":"b.example"`:                          "partition key must be",
		`"secure":true,"partitionKey":{"hasCrossSiteAncestor":true}`:        "partition key must be",
		`"secure":true,"partitionKey":7`:                                    "partitionKey must be",
		`"name":"__Http-n","secure":true`:                                   "secure and HttpOnly",
		`"name":"__Host-Http-n","secure":true,"httpOnly":true,"path":"/x"`:  "must have the path /",
		`"name":"","value":"__http-v"`:                                      "protected cookie",
		`"path":"/a/%2E./b"`:                                                "Chrome would keep another",
		`"path":"/a\\b"`:                                                    "Chrome would keep another",
		`"domain":".com"`:                                                   "public suffix",
		`"domain":".co.uk"`:                                                 "public suffix",
		`"domain":".localhost"`:                                             "public suffix",
		`"domain":"1.2.3"`:                                                  "domain must be",
		`"domain":"a.0x1f"`:                                                 "domain must be",
		`"domain":"127.0.0.01"`:                                             "domain must be",
		`"domain":"[0:0::1]"`:                                               "domain must be",
		`"secure":true,"partitionKey":"foo://bar","_crHasCrossSiteAncestor":true`: "partition key must be",
		`"partitionKeyOpaque":true`: "opaque partition",
		`"path":"/","path":"/"`:     "path is there twice",
		`"secure":true,"partitionKey":{"topLevelSite":1,"topLevelSite":"a"}`: "member twice",
	}
}

// TestRefusals: each thing that makes Chrome refuse a cookie, or take another one, is told with its reason.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for members, want := range refusals() {
		text := `{` + members
		for name, value := range map[string]string{"name": "n", "value": "v", "domain": "a.example", "path": "/"} {
			if !strings.Contains(members, `"`+name+`"`) {
				text += `,"` + name + `":"` + value + `"`
			}
		}
		c := read(t, `[{"name":"ok","value":"v","domain":"a.example","path":"/"},`+text+`}]`, "")
		if len(c.Cookies) != 1 || len(c.Refused) != 1 || c.Refused[0].Index != 1 || !strings.Contains(c.Refused[0].Reason, want) {
			t.Errorf("%s: %+v, want %q", members, c.Refused, want)
		}
	}
	several := read(t, `[{"name":"__Host-n","value":"v","domain":".a.example","path":"/x","sameSite":"None"},7]`, "").Refused
	if len(several) != 2 || strings.Count(several[0].Reason, ".") < 4 || several[0].Name+several[0].Domain != "__Host-n.a.example" {
		t.Errorf("%+v", several)
	}
}

// TestNetscapeLines: what lines of cookies.txt mean, and how those are told that are none.
func TestNetscapeLines(t *testing.T) {
	t.Parallel()
	text := "\ufeff# HTTP Cookie File\r\n\r\n#comment\n" +
		"#HttpOnly_.a.example\tTRUE\t/\tTRUE\t1800000000\ta\tA\r\n" + // 4
		"b.example\tFALSE\t/\tFALSE\t0\tb\t\n" +
		"b.example\tFALSE\t/\tFALSE\t0\tc\n" + // without its last TAB
		"c.example\tTRUE\t/\tFALSE\t\t\td-e\n" +
		"c.example\tFALSE\t/\tFALSE\t0\tf\tx\ty\n" + // 8: a TAB in the value
		".c.example\tFALSE\t/\tFALSE\t0\tg\tx\n" +
		"c.example FALSE / FALSE 0 h x\n" +
		"c.example\tFALSE\t/\tmaybe\tnever\ti\tx\n" +
		strings.Repeat("x", maxLine+1) + "\n" +
		"c.example\tFALSE\t/\tFALSE\t1800000000.5\tj\tlast"
	c := read(t, text, Netscape)
	want := []Cookie{{Name: "a", Value: "A", Domain: ".a.example", Path: "/", Expires: 1800000000, HTTPOnly: true, Secure: true},
		{Name: "b", Domain: "b.example", Path: "/", Expires: -1, Session: true},
		{Name: "c", Domain: "b.example", Path: "/", Expires: -1, Session: true},
		{Value: "d-e", Domain: ".c.example", Path: "/", Expires: -1, Session: true},
		{Name: "j", Value: "last", Domain: "c.example", Path: "/", Expires: 1800000000.5}}
	if !reflect.DeepEqual(c.Cookies, want) || !slices.Equal(c.Index, []int{0, 1, 2, 3, 9}) {
		t.Errorf("%+v\nwant %+v", c.Cookies, want)
	}
	var lines []int
	for _, r := range c.Refused {
		lines = append(lines, r.Line)
	}
	if !slices.Equal(lines, []int{8, 9, 10, 11, 12}) || !strings.Contains(c.Refused[0].Reason, "Line 8 has 8 fields") {
		t.Errorf("%+v", c.Refused)
	}
	if !slices.Equal(codes(c.Notices), []string{"same_site_not_given=5", "subdomains_assumed=1"}) {
		t.Errorf("%q", codes(c.Notices))
	}
}

// utf16Of encodes text with a byte order mark.
func utf16Of(text string, order binary.AppendByteOrder) (out []byte) {
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

// TestFiles: what whole files are read, and how those are refused that cannot be.
func TestFiles(t *testing.T) {
	t.Parallel()
	const good = `[{"name":"n","value":"ü😀","domain":"a.example","path":"/"}]`
	for name, file := range map[string][]byte{
		"UTF-8": []byte(good), "with a mark": []byte("\ufeff \n" + good + "\n"), "an object": []byte(`{"cookies":` + good + `,"x":[[]]}`),
		"UTF-16LE": utf16Of(good, binary.LittleEndian), "UTF-16BE": utf16Of(good, binary.BigEndian),
	} {
		c, err := ReadCookies(iotest.OneByteReader(bytes.NewReader(file)), "", now())
		if err != nil || len(c.Cookies) != 1 || c.Cookies[0].Value != "ü😀" {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	deep := strings.Repeat("[", 1<<20)
	for text, want := range map[string]string{
		"":                           "empty",
		" \n":                        "empty",
		"\ufeff":                     "empty",
		"<html>\n<body>\n":           "Line 1: This is neither",
		`[{"name":"n"`:               "Entry 0, byte 13: The JSON ends too early",
		good[:len(good)-1]:           "ends too early",
		good + good:                  "Something follows",
		`[{},{"a":}]`:                "Entry 1, byte 10: The JSON breaks",
		`[{} {}]`:                    "breaks",
		`{}`:                         "no member cookies",
		`{"cookies":{}}`:             "not an array",
		`{"cookies":[],"cookies":[]`: "twice",
		deep:                         "breaks",
		`[{"x":` + deep:              "breaks",
		`[{"name":"` + deep:          "ends too early",
		"[{\"name\":\"\xfc\"}]":      "it may be Latin-1",
		"a.example\tFALSE\t/\tFALSE\t0\tn\t\xfc\n": "it may be Latin-1",
		"\xff\xfea":             "half a character",
		"\xff\xfe\x00\xd8a\x00": "half a character",
	} {
		c, err := ReadCookies(strings.NewReader(text), "", now())
		var told *FileError
		if !errors.As(err, &told) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %+v, %v, want %q", text, c, err, want)
		}
	}
	for _, x := range []struct {
		text   string
		format Format
	}{{good, Netscape}, {good, "xml"}, {"# Netscape HTTP Cookie File\n", CDP}} {
		if c, err := ReadCookies(strings.NewReader(x.text), x.format, now()); err == nil {
			t.Errorf("%s as %s: %+v", x.text, x.format, c)
		}
	}
	if c := read(t, "# Netscape HTTP Cookie File\n", ""); len(c.Cookies) != 0 {
		t.Errorf("%+v", c)
	}
	slow := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(good)))
	if _, err := ReadCookies(slow, "", now()); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("an error of the network is %v", err)
	}
}

// TestLimits: masses are taken up to the limits, and told where Chrome keeps fewer.
func TestLimits(t *testing.T) {
	t.Parallel()
	many := func(n int, entry func(int) string) io.Reader {
		parts := []io.Reader{strings.NewReader("[")}
		for i := range n {
			text := entry(i)
			if i > 0 {
				text = "," + text
			}
			parts = append(parts, strings.NewReader(text))
		}
		return io.MultiReader(append(parts, strings.NewReader("]"))...)
	}
	cookie := func(i int) string {
		return fmt.Sprintf(`{"name":"n%d","value":"v","domain":"h%d.a%d.example","path":"/","expires":2000000000}`, i, i, i%20)
	}
	c, err := ReadCookies(many(4000, cookie), "", now())
	told := []string{"over_400_days=4000", "over_domain=400", "over_total=700"}
	if err != nil || len(c.Cookies) != 4000 || !slices.Equal(codes(c.Notices), told) {
		t.Fatalf("%v, %q", err, codes(c.Notices))
	}
	c, err = ReadCookies(many(MaxRefused+5, func(int) string { return "7" }), "", now())
	if err != nil || len(c.Refused) != MaxRefused || c.More != 5 {
		t.Errorf("%d refused and %d more, %v", len(c.Refused), c.More, err)
	}
	_, err = ReadCookies(strings.NewReader("["+strings.Repeat("7,", MaxCookies)+"7]"), "", now())
	if err == nil || !strings.Contains(err.Error(), "more than 200000 cookies") {
		t.Errorf("too many: %v", err)
	}
	_, err = ReadCookies(io.MultiReader(strings.NewReader("["), io.LimitReader(spaces{}, MaxBytes)), "", now())
	var large *FileError
	if !errors.As(err, &large) || !large.Large {
		t.Errorf("too large: %v", err)
	}
	got := read(t, `[{"name":"n","value":"1","domain":"a.example","path":"/"},{"name":"n","value":"2","domain":".a.example","path":"/"},
		{"name":"n","value":"3","domain":"A.example","path":"/","new":1,"x y":2,"old":null}]`, "")
	if len(got.Cookies) != 2 || got.Cookies[0].Value != "3" || !slices.Equal(got.Index, []int{2, 1}) ||
		!slices.Equal(codes(got.Notices), []string{"duplicates=1"}) || !slices.Equal(codes(got.Lost), []string{"members=2"}) ||
		!strings.HasSuffix(got.Lost[0].Message, ": new.") {
		t.Errorf("%+v", got)
	}
}

// spaces is an endless file of white space.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestPortable: cookies of bound sessions are suspects on the sites that bind them, and nowhere else.
func TestPortable(t *testing.T) {
	t.Parallel()
	year := secondsOf(now()) + 3e7
	for _, x := range []struct {
		c    Cookie
		want string
	}{
		{Cookie{Name: "__Secure-1PSIDTS", Domain: ".google.com", Secure: true, Expires: year}, Suspect},
		{Cookie{Name: "__Secure-3PSIDRTS", Domain: "accounts.google.co.uk", Secure: true, Expires: year}, Suspect},
		{Cookie{Name: "x", Domain: ".youtube.com", Secure: true, Expires: secondsOf(now()) + 600}, Suspect},
		{Cookie{Name: "x", Domain: ".youtube.com", Expires: secondsOf(now()) + 600}, ""},
		{Cookie{Name: "SID", Domain: ".google.com", Secure: true, Expires: year}, ""},
		{Cookie{Name: "__Secure-1PSIDTS", Domain: "google.com.evil.example", Secure: true, Expires: year}, ""},
		{Cookie{Name: "x", Domain: ".google.com", Secure: true, Session: true, Expires: -1}, ""},
	} {
		if got := Portable(x.c, now()); got != x.want {
			t.Errorf("%+v: %q", x.c, got)
		}
	}
}
