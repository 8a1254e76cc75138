package proxy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// lineTable holds what each line means, as URLs with passwords. "?" stands before a word that the error must have.
// It reads best as one table.
func lineTable() map[string][]string {
	long := strings.Repeat("p", 255)
	return map[string][]string{
		// Nothing to read.
		"": nil, "   ": nil, "\t\r": nil, "# a comment": nil, "  #host:1080": nil, "#": nil, `""`: nil,
		// host:port
		"proxy.example:1080": {"socks5://proxy.example:1080"}, "192.0.2.1:8080": {"socks5://192.0.2.1:8080"},
		"[2001:db8::1]:1080":  {"socks5://[2001:db8::1]:1080"},
		"PROXY.example.:1080": {"socks5://proxy.example:1080"}, "localhost:65535": {"socks5://localhost:65535"},
		"bücher.example:1":       {"socks5://xn--bcher-kva.example:1"},
		"  proxy.example:1080\r": {"socks5://proxy.example:1080"}, "\t\"proxy.example:1080\"\t": {"socks5://proxy.example:1080"},
		"'proxy.example:1080'": {"socks5://proxy.example:1080"},
		"proxy.example:0":      {"?port"}, "proxy.example:65536": {"?port"}, "proxy.example:080": {"?port"}, "proxy.example:+80": {"?port"},
		"proxy.example:": {"?port"}, "proxy.example": {"?port is missing"},
		"1080:1080": {"?host"}, "12345:80": {"?host"}, "256.1.1.1:80": {"?host"}, "1.2.3:80": {"?host"}, "0x7f:80": {"?host"},
		"-a.example:80": {"?host"}, "a-.example:80": {"?host"}, ":80": {"?host"},
		"a..b:80": {"?host"}, "a b:80": {"?host"}, "[192.0.2.1]:80": {"?host"}, "[::1%eth0]:80": {"?host"}, "a%2fb:80": {"?host"},
		"proxy.example:80/path": {"?port"},
		"2001:db8::1:1080":      {"?brackets"}, "::1": {"?brackets"}, "fe80:1:2:3:4:5:6:7": {"?brackets"},
		"fe80:1:2::3:1080:user:pass": {"?brackets"}, "user:pass:fe80::1:1080": {"?brackets"}, "::abcd:1080": {"?brackets"},
		// host:port:user:password and user:password:host:port
		"192.0.2.1:1080:user:pass":     {"socks5://user:pass@192.0.2.1:1080"},
		"user:pass:192.0.2.1:1080":     {"socks5://user:pass@192.0.2.1:1080"},
		"proxy.example:1080:user:pass": {"socks5://user:pass@proxy.example:1080"},
		"user:pass:proxy.example:1080": {"socks5://user:pass@proxy.example:1080"},
		"[2001:db8::1]:1080:user:pass": {"socks5://user:pass@[2001:db8::1]:1080"},
		"user:pass:[2001:db8::1]:1080": {"socks5://user:pass@[2001:db8::1]:1080"},
		"192.0.2.1:1080:user:12345":    {"socks5://user:12345@192.0.2.1:1080", "socks5://192.0.2.1:1080@user:12345"},
		// 99999 is no port
		"192.0.2.1:1080:user:99999": {"socks5://user:99999@192.0.2.1:1080"},
		// 0123 is no port
		"192.0.2.1:1080:user:0123": {"socks5://user:0123@192.0.2.1:1080"},
		// 777 is no host
		"192.0.2.1:1080:777:12345": {"socks5://777:12345@192.0.2.1:1080"},
		// "us er" is no host
		"192.0.2.1:1080:us er:12345": {"socks5://us%20er:12345@192.0.2.1:1080"},
		// u- is no host
		"192.0.2.1:1080:u-:8080": {"socks5://u-:8080@192.0.2.1:1080"},
		// both are possible
		"a.example:1080:b.example:80": {"socks5://b.example:80@a.example:1080", "socks5://a.example:1080@b.example:80"},
		// both readings are the same
		"1.1.1.1:80:1.1.1.1:80": {"socks5://1.1.1.1:80@1.1.1.1:80"},
		// 70000 is no port
		"192.0.2.1:70000:user:8080": {"socks5://192.0.2.1:70000@user:8080"},
		// 1080 is no host
		"1080:secret:host:1080": {"socks5://1080:secret@host:1080"},
		// pa is no host
		"192.0.2.1:1080:user:pa:ss": {"socks5://user:pa%3Ass@192.0.2.1:1080"},
		// a is no port
		"u:a:b:c:192.0.2.1:1080": {"socks5://u:a%3Ab%3Ac@192.0.2.1:1080"},
		// both are possible
		"192.0.2.1:1080:u:a:host:99": {"socks5://u:a%3Ahost%3A99@192.0.2.1:1080", "socks5://192.0.2.1:1080%3Au%3Aa@host:99"},
		// outside a URL %XX is not decoded
		"192.0.2.1:1080:u:%41%zz":    {"socks5://u:%2541%25zz@192.0.2.1:1080"},
		"192.0.2.1:1080:u:p@ss":      {"socks5://u:p%40ss@192.0.2.1:1080"},
		"192.0.2.1:1080:=1+1:=cmd|x": {"socks5://%3D1%2B1:%3Dcmd%7Cx@192.0.2.1:1080"},
		// what comes before :// is no scheme
		"192.0.2.1:1080:u:https://x": {"socks5://u:https%3A%2F%2Fx@192.0.2.1:1080"},
		"192.0.2.1:1080::":           {"socks5://192.0.2.1:1080"},
		"192.0.2.1:1080:u:":          {"?both user name and password"}, "192.0.2.1:1080::p": {"?both user name and password"},
		":p:192.0.2.1:1080": {"?both user name and password"},
		"192.0.2.1:1080:u":  {"?part is missing"}, ":::": {"?"}, "a:b:c:d": {"?port"},
		"192.0.2.1:1080:u:" + long: {"socks5://u:" + long + "@192.0.2.1:1080"}, "192.0.2.1:1080:u:" + long + "p": {"?255"},
		// @
		"user:pass@192.0.2.1:1080": {"socks5://user:pass@192.0.2.1:1080"}, "user@proxy.example:1080": {"socks5://user@proxy.example:1080"},
		"192.0.2.1:1080@user:pass":     {"socks5://user:pass@192.0.2.1:1080"},
		"user:pa:ss@192.0.2.1:1080":    {"socks5://user:pa%3Ass@192.0.2.1:1080"},
		"user:p@ss@192.0.2.1:1080":     {"socks5://user:p%40ss@192.0.2.1:1080"},
		"192.0.2.1:1080@us@er:pass":    {"socks5://us%40er:pass@192.0.2.1:1080"},
		"user:pass@[2001:db8::1]:1080": {"socks5://user:pass@[2001:db8::1]:1080"},
		"[2001:db8::1]:1080@user:pass": {"socks5://user:pass@[2001:db8::1]:1080"},
		"user:p%40s@192.0.2.1:1080":    {"socks5://user:p%2540s@192.0.2.1:1080"},
		"192.0.2.1:80@198.51.100.1:90": {"socks5://192.0.2.1:80@198.51.100.1:90", "socks5://198.51.100.1:90@192.0.2.1:80"},
		"user:pass@host":               {"?port"}, "@": {"?port"}, "@host:80": {"socks5://host:80"},
		"user:pass@2001:db8::1:80": {"?brackets"},
		// With a scheme.
		"http://proxy.example:3128": {"http://proxy.example:3128"}, "HTTPS://u:p@proxy.example:443/": {"https://u:p@proxy.example:443"},
		"socks5h://192.0.2.1:1080": {"socks5://192.0.2.1:1080"}, "socks4://bob@192.0.2.1:1080": {"socks4://bob@192.0.2.1:1080"},
		"http://u:p%40%3a@proxy.example:80":   {"http://u:p%40%3A@proxy.example:80"},
		"http://192.0.2.1:80@198.51.100.1:90": {"http://192.0.2.1:80@198.51.100.1:90"},
		"http://192.0.2.1:80@user:pass":       {"http://user:pass@192.0.2.1:80"},
		"http://192.0.2.1:3128:user:pass":     {"http://user:pass@192.0.2.1:3128"},
		"http://user:pass:192.0.2.1:3128":     {"http://user:pass@192.0.2.1:3128"},
		"http://192.0.2.1:3128:user:80":       {"http://user:80@192.0.2.1:3128", "http://192.0.2.1:3128@user:80"},
		"socks5://[::1]:1080:u:p":             {"socks5://u:p@[::1]:1080"}, "http://u:100%@h.example:80": {"?%"},
		"http://192.0.2.1:80:u:p@ss": {"http://u:p%40ss@192.0.2.1:80"}, "socks4://u:p@h.example:1080": {"?SOCKS4"},
		"socks4://192.0.2.1:80:u:p": {"?SOCKS4"},
		"ftp://h:21":                {"?Begin with the type"}, "socks5:/h:1": {"?"}, "http://": {"?port is missing"}, "://h:1": {"?"},
		"ssh-2.0+x://h:1": {"?Begin with the type"}, "http://http://h:80": {"?"},
		// Hostile.
		"192.0.2.1:1080:u:a\x00b": {"?control"}, "192.0.2.1:1080:u:\x1b[31m": {"?control"}, "192.0.2.1:1080:u:\xff\xfe": {"?UTF-8"},
		strings.Repeat("a", 64<<10): {"?longer"}, strings.Repeat(":", 24000): {"?"},
		strings.Repeat("[", 24000): {"?"}, strings.Repeat("@", 24000): {"?"}, "=cmd|' /C calc'!A0": {"?"}, "../../etc/passwd:80": {"?host"},
		"a\u200b.example\u202e:80": {"?host"}, "host\t1080": {"?control"}, "host;1080": {"?port is missing"},
		"--proxy=evil:80": {"?host"}, "１９２.0.2.1:80": {"?host"}, "пример.example:80:user:x": {"socks5://user:x@xn--e1afmkfd.example:80"},
	}
}

func TestReadLine(t *testing.T) {
	table := lineTable()
	for line, want := range table {
		found, err := ReadLine(line, SOCKS5)
		got := []string{}
		for _, p := range found {
			got = append(got, p.URL())
		}
		if len(want) == 1 && strings.HasPrefix(want[0], "?") {
			if err == nil || !strings.Contains(err.Error(), want[0][1:]) {
				t.Errorf("%.100q: got %q %v, want no reading, for its %q", line, got, err, want[0][1:])
			}
			continue
		}
		if err != nil || !slices.Equal(got, append([]string{}, want...)) {
			t.Errorf("%.100q: got %q %v, want %q", line, got, err, want)
		}
	}
	if len(table) < 100 {
		t.Errorf("%d lines", len(table))
	}
}

// TestReadLineType: a line without a type has the default one, and a reading that its type forbids is impossible.
func TestReadLineType(t *testing.T) {
	for line, want := range map[string]string{"h.example:80": "http://h.example:80", "socks4://h.example:80": "socks4://h.example:80"} {
		if found, err := ReadLine(line, HTTP); err != nil || len(found) != 1 || found[0].URL() != want {
			t.Errorf("%s: %v %v", line, found, err)
		}
	}
	if found, err := ReadLine("192.0.2.1:80:user:secret7", SOCKS4); err == nil || !strings.Contains(err.Error(), "SOCKS4") {
		t.Errorf("a password for socks4: %v %v", found, err)
	}
	if found, err := ReadLine("192.0.2.1:80@bob", SOCKS4); err != nil || len(found) != 1 || found[0].Username != "bob" {
		t.Errorf("a user of socks4: %v %v", found, err)
	}
}

// TestReadLineTellsNothing: no error and no printed reading repeats the password.
func TestReadLineTellsNothing(t *testing.T) {
	const secret = "Hunter2Secret"
	for _, form := range []string{"192.0.2.1:0:user:%s", "192.0.2.1:80:%s", "%s:%s:%s:x", "user:%s@host", "http://user:%s%%@h:80",
		"ftp://u:%s@h:1", "%s", "%s:99999", "u:%s:2001:db8::1:80", "http://h:80:u:%s:\x01", "socks4://u:%s@h:80"} {
		line := strings.ReplaceAll(form, "%s", secret)
		found, err := ReadLine(line, SOCKS5)
		if text := fmt.Sprint(found, err); err == nil || strings.Contains(text, "unter") {
			t.Errorf("%q: %s", line, text)
		}
	}
	for line, want := range map[string]string{
		// the port of one is the password of the other
		"192.0.2.1:1080:user:12345":    "[socks5://user:***@192.0.2.1:*** socks5://192.0.2.1:***@user:***]",
		"192.0.2.1:1080:u:a:host:99":   "[socks5://***:***@192.0.2.1:*** socks5://192.0.2.1:***@***:***]",
		"192.0.2.1:80@198.51.100.1:90": "[socks5://192.0.2.1:***@198.51.100.1:*** socks5://198.51.100.1:***@192.0.2.1:***]",
	} {
		found, err := ReadLine(line, SOCKS5)
		if got := fmt.Sprint(Readings(found)); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", line, got, err, want)
		}
	}
}

// FuzzReadLine: every reading is valid and normalised, and its URL has itself as its one reading.
func FuzzReadLine(f *testing.F) {
	for line := range lineTable() {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		found, err := ReadLine(line, SOCKS5)
		if (err != nil) && len(found) > 0 {
			t.Fatalf("%q: %v and %v", line, found, err)
		}
		for i, p := range found {
			if faults := p.Validate(); faults != nil || p != p.Normalize() || slices.Contains(found[:i], p) {
				t.Fatalf("%q: %s is not valid (%v), not normalised, or there twice", line, p.URL(), faults)
			}
			if back, err := ReadLine(p.URL(), HTTP); err != nil || len(back) != 1 || back[0] != p {
				t.Fatalf("%q: %s is read as %v %v", line, p.URL(), back, err)
			}
		}
	})
}
