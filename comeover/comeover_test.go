package comeover

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"warren/state"
)

func now() time.Time { return time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) }

func fileOf(t testing.TB, text string) *File {
	t.Helper()
	f, err := Read(strings.NewReader(text), now())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// line writes a profile on one line, without what is left out.
func line(p Profile) string {
	px := "direct"
	switch {
	case p.ProxyMissing:
		px = "missing"
	case p.Proxy != nil:
		px = fmt.Sprintf("%s://%s:%s@%s", p.Proxy.Type, p.Proxy.Username, p.Proxy.Password, p.Proxy.Address())
	}
	cookies := 0
	if p.Cookies != nil {
		cookies = len(p.Cookies.Cookies)
	}
	screen := ""
	if p.Screen != nil {
		screen = fmt.Sprintf("%dx%d", p.Screen.Width, p.Screen.Height)
	}
	return strings.Join([]string{p.ID, p.Name, p.OS, p.Version, px, fmt.Sprint(cookies), strings.Join(p.Tags, ","), p.Notes,
		strings.Join(p.StartURLs, ","), screen, p.Timezone, strings.Join(p.Languages, ","), left(p), strings.Join(p.Faults, " ")}, "|")
}

func left(p Profile) string {
	var words []string
	for _, l := range p.LeftOut {
		words = append(words, l.What)
		if l.Why == "" {
			words = append(words, "without a reason")
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// TestGolden: a file of each product is recognised by its content, and each of its profiles becomes what stands here.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		format Format
		lines  []string
	}{
		"adspower.txt": {AdsPower, []string{
			"11|Berlin 1|win|131|socks5://alice:se:cret@de.proxy.example:1080|1|Shop|||1680x1050|||" +
				"account cookies user_agent vendor_cookies|",
			"12|12|||direct|0|||||||members|", "13|SSH|||missing|0|||||||proxy|"}},
		"gologin.json": {GoLogin, []string{"64f0c0ffee|Paris|mac|130|http://u:p@fr.proxy.example:3128|1|fr|n|https://shop.example/|" +
			"1440x900|Europe/Paris|fr-FR,fr,en|fingerprint user_agent webrtc|",
			"64f0c0ffef|Own proxy|||missing|0||||360x780|||mobile proxy|"}},
		"dolphin.json": {Dolphin, []string{"76854661|Rome|win|129|socks4://:@192.0.2.5:1080|0|shop,it|first||1920x1080|Europe/Rome|" +
			"it-IT|fingerprint settings user_agent webrtc|",
			"76854662|Its id alone|linux||missing|0|||||||proxy|"}},
		"multilogin.json": {Multilogin, []string{"0b4f5e8e-0000-4000-8000-000000000001|Oslo|win|132|https://u:p@no.proxy.example:8443|0|" +
			"north|no|https://a.example/|1536x864|Europe/Oslo|nb-NO,no|fingerprint proxy_https|"}},
		"bitbrowser.json": {BitBrowser, []string{"2c9c29a2801851fe01801d8f64960011|Wien|win|130|socks5://u:p@at.proxy.example:1080|1||r|" +
			"https://shop.example/|1600x900|Europe/Vienna|de-AT|account fingerprint start_url user_agent|",
			"2c9c29a2801851fe01801d8f64960012|Phone||118|direct|0||||360x780|||fingerprint mobile user_agent|"}},
		"list.csv": {CSV, []string{"|Bern|linux||http://u:p@ch.proxy.example:3128|1|shop,ch|hello|||||members|",
			"|No scheme|||missing|0|||||||proxy|", "||||direct|0||only notes|||||| It has neither a name nor an id.",
			"||||direct|0||||||||The line has more cells than the first line. Check the separators."}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		f := fileOf(t, string(text))
		if f.Format != want.format || len(f.Profiles) != len(want.lines) {
			t.Errorf("%s: %s with %d profiles", name, f.Format, len(f.Profiles))
			continue
		}
		for i, p := range f.Profiles {
			if got, want := line(p), strings.Replace(want.lines[i], "| It has", "|It has", 1); got != want || p.Number != i+1 {
				t.Errorf("%s, profile %d:\n%s\nwant\n%s\n%+v", name, i, got, want, p.LeftOut)
			}
		}
	}
}

func inUTF16(text string, order binary.AppendByteOrder, mark string) string {
	b := []byte(mark)
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// TestEncodings: UTF-16 with a byte order mark is read, and what may be Latin-1 is refused with words.
func TestEncodings(t *testing.T) {
	t.Parallel()
	const text = "name=Zürich 😀\nacc_id=1\nproxytype=noproxy\n"
	for _, x := range []string{text, "\xef\xbb\xbf" + text, inUTF16(text, binary.LittleEndian, "\xff\xfe"),
		inUTF16(text, binary.BigEndian, "\xfe\xff"), strings.ReplaceAll(text, "\n", "\r\n")} {
		if f := fileOf(t, x); f.Profiles[0].Name != "Zürich 😀" {
			t.Errorf("%q is read as %+v", x, f.Profiles[0])
		}
	}
	_, err := Read(strings.NewReader("name=Z\xfcrich\n"), now())
	if err == nil || !strings.Contains(err.Error(), "Latin-1") {
		t.Error(err)
	}
}

// TestRefusedFiles: what is no list of profiles is refused as a whole, with a place where there is one, and nothing of it is repeated.
func TestRefusedFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "empty",
		" \r\n":                  "empty",
		"hello":                  "no file that can be imported",
		"{}":                     "no file that can be imported",
		"[]":                     "no profiles",
		"[1,2]":                  "no file that can be imported",
		`[{"name":"a"}]`:         "no file that can be imported",
		`{"profiles":[{"navig`:   "ends too early",
		`{"profiles":[{"a":1,]}`: "breaks here",
		`[]x`:                    "breaks here",
		`[] []`:                  "more after the end",
		`[{"domain":"a.example","name":"secret","value":"secret"}]`: "file of cookies",
		"name,name\nsecret,b\n":                                "twice",
		"name=a\xff\xfe":                                       "not UTF-8",
		"\xff\xfen\x00a":                                       "half a character",
		strings.Repeat("[", 20000):                             "breaks here",
		strings.Repeat("acc_id=1\n***\n", MaxProfiles+1):       "more than 5000",
		"name\n" + strings.Repeat("a\n", MaxProfiles+1):        "more than 5000",
		"[" + strings.Repeat("{},", MaxProfiles) + "{}]":       "more than 5000",
		`{"data":{"list":[{"fakey":"x","name":"a"}],"n":1}}]`:  "breaks here",
		`{"profiles":[{"os_type":"linux","name":"a"}],"x":tru`: "ends too early",
	} {
		f, err := Read(strings.NewReader(text), now())
		var file *state.FileError
		if !errors.As(err, &file) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q: %+v, %v", text, f, err)
		}
	}
	var large *state.FileError
	if _, err := read(strings.NewReader(strings.Repeat("name=a\n", 1<<18)), 1<<20, now()); !errors.As(err, &large) || !large.Large ||
		!strings.Contains(err.Error(), "1 MiB") {
		t.Error(err)
	}
}

// TestRefusedProfiles: a profile of which a part cannot be read is refused as a whole, and the others are taken.
func TestRefusedProfiles(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`"a%d":1,`, maxMembers+1), ",")
	numbers := make([]any, maxMembers+1)
	for i := range numbers {
		numbers[i] = i
	}
	for text, want := range map[string]string{
		"name=a\nname=b":                            "Line 2 has a key for the second time",
		"name=a\nhalf a lin":                        "Line 2 is no key=value",
		"name=a\ncookie=[{\"name\":\"secret":        "cookies cannot be read: Entry 0, byte 9: The JSON ends too early",
		"name=a\ncookie=a=secret; b=2":              "neither JSON nor a Netscape",
		`[{"fakey":"x","name":"a","name":"b"}]`:     "a member stands twice",
		`[{"fakey":"x","name":"a","cookie":"{"}]`:   "cookies cannot be read",
		`[{"fakey":"x","name":{"a":1}}]`:            "neither a name nor an id",
		`[{"fakey":"x"},7]`:                         "neither a name nor an id",
		"[{" + fmt.Sprintf(many, numbers...) + "}]": "too many",
		"name,notes\n\"a\"b,c\nd,e\n":               "no CSV",
	} {
		f := fileOf(t, text)
		if got := strings.Join(f.Profiles[0].Faults, " "); !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%.60q: %q", text, got)
		}
	}
}

// TestProxies: nothing is guessed. What cannot be used leaves the profile without a proxy and marked.
func TestProxies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"proxytype=http\nproxy=[2001:db8::1]:80:u:p":  "http://u:p@[2001:db8::1]:80",
		"proxytype=socks5\nproxy=h.example:1080":      "socks5://:@h.example:1080",
		"proxytype=socks5\nproxy=h.example:1080:u:p:": "socks5://u:p:@h.example:1080",
		"proxytype=\nproxy=h.example:1080":            "missing",
		"proxytype=noproxy\nproxy=h.example:1080":     "missing", // which one is right?
		"proxytype=socks5\nproxy=h.example":           "missing",
		"proxytype=socks5\nproxy=h.example:01080":     "missing",
		"proxytype=socks5\nproxy=":                    "missing",
		"proxytype=luminati\nproxy=":                  "missing",
		"proxytype=socks4\nproxy=h.example:1:u:p":     "missing",
	} {
		p := fileOf(t, "name=a\n"+text).Profiles[0]
		if got := strings.Split(line(p), "|")[4]; got != want {
			t.Errorf("%q: %s", text, got)
		}
		for _, l := range p.LeftOut {
			if strings.Contains(l.Why, ":p") {
				t.Errorf("%q repeats a password: %s", text, l.Why)
			}
		}
	}
}

// TestOneLargeCookie: a cookie of 64 MiB is refused by its size, and its profile is told so.
func TestOneLargeCookie(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes 200 MiB")
	}
	value := strings.Repeat("a", 64<<20)
	f := fileOf(t, `name=a`+"\n"+`cookie=[{"domain":"a.example","name":"a","value":"`+value+`","path":"/"}]`)
	if got := strings.Join(f.Profiles[0].Faults, " "); !strings.Contains(got, "larger than 64 MiB") {
		t.Error(got)
	}
}

// FuzzRead: no file crashes the readers. A profile that is taken has a name, and cookies that Chrome would take.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) < 6 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("name\tproxy\na\tsocks5://[::1]:1080\n"))
	f.Add([]byte(`[{"user_proxy_config":{"proxy_soft":"other","proxy_type":"http","proxy_host":"a","proxy_port":"1"},"user_id":"j"}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := Read(bytes.NewReader(text), now())
		if err != nil {
			return
		}
		for i, p := range out.Profiles {
			if p.Number != i+1 || len(p.Faults) == 0 && strings.TrimSpace(p.Name) == "" || p.Proxy != nil && p.ProxyMissing {
				t.Fatalf("%+v", p)
			}
			if p.Proxy != nil && len(p.Proxy.Validate()) > 0 {
				t.Fatalf("%+v", p.Proxy.Validate())
			}
			if p.Cookies != nil {
				var again bytes.Buffer
				if err := state.WriteCookies(&again, state.CDP, p.Cookies.Cookies, now()); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
