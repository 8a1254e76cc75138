package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Proxy{
		"socks5://user:pass@host:1080":                  {SOCKS5, "host", 1080, "user", "pass"},
		"socks5h://host:1080":                           {SOCKS5, "host", 1080, "", ""},
		"socks://host:1":                                {SOCKS5, "host", 1, "", ""},
		"SOCKS5://HOST.Example.:65535/":                 {SOCKS5, "host.example", 65535, "", ""},
		"http://u@1.2.3.4:80":                           {HTTP, "1.2.3.4", 80, "u", ""},
		"http://u:@1.2.3.4:80":                          {HTTP, "1.2.3.4", 80, "u", ""},
		"https://@h:443":                                {HTTPS, "h", 443, "", ""},
		"socks4://me@[2001:DB8::1]:1080":                {SOCKS4, "2001:db8::1", 1080, "me", ""},
		"socks5://[::1]:1080":                           {SOCKS5, "::1", 1080, "", ""},
		"socks5://u%40x:p%2Fq%3A%25@h:1":                {SOCKS5, "h", 1, "u@x", "p/q:%"},
		"socks5://u:%ff%80%01@h:1":                      {SOCKS5, "h", 1, "u", "\xff\x80\x01"},
		"socks5://u:a:b:c@h:1":                          {SOCKS5, "h", 1, "u", "a:b:c"},
		"socks5://u:p@ss/w?#@h:1":                       {SOCKS5, "h", 1, "u", "p@ss/w?#"},
		"socks5://u:+ %20@h:1":                          {SOCKS5, "h", 1, "u", "+  "},
		"http://müller.example:8080":                    {HTTP, "xn--mller-kva.example", 8080, "", ""},
		"socks5://under_score.example:1":                {SOCKS5, "under_score.example", 1, "", ""},
		"socks5://" + strings.Repeat("u", 255) + "@h:1": {SOCKS5, "h", 1, strings.Repeat("u", 255), ""},
	} {
		got, err := Parse(in)
		if err != nil || got != want {
			t.Errorf("Parse(%q): got %#v %v, want %s", in, got, err, want.URL())
		}
	}
}

func TestParseFaults(t *testing.T) {
	for in, fields := range map[string][]string{
		"":                         {"type"},
		"host:1080":                {"type"},
		"ftp://host:21":            {"type"},
		"socks5:host:1":            {"type"},
		"socks5://":                {"port", "host"},
		"socks5://host":            {"port"},
		"socks5://host:":           {"port"},
		"socks5://host:0":          {"port"},
		"socks5://host:65536":      {"port"},
		"socks5://host:-1":         {"port"},
		"socks5://host:+80":        {"port"},
		"socks5://host:1_0":        {"port"},
		"socks5://host:1080/x":     {"port"},
		"socks5://host:1080?x":     {"port"},
		"socks5://::1:1080":        {"host"},
		"socks5://[::1]":           {"port"},
		"socks5://[::1:1080":       {"host"},
		"socks5://[1.2.3.4]:1":     {"host"},
		"socks5://[fe80::1%25e]:1": {"host"},
		"socks5://a b:1":           {"host"},
		"socks5://a\n:1":           {"host"},
		"socks5://a..b:1":          {"host"},
		"socks5://.:1":             {"host"},
		"socks5://:p@h:1":          {"username"},
		"socks5://u%0a:p%00@h:1":   {"username", "password"},
		"socks5://u:p%0D@h:1":      {"password"},
		"socks5://u%:p%zz@h:1":     {"username", "password"},
		"http://u%3Ax:p@h:1":       {"username"},
		"socks5://u%4:p@h:99999":   {"username", "port"},
		"socks5://" + strings.Repeat("u", 256) + ":" + strings.Repeat("p", 256) + "@h:1": {"username", "password"},
		"socks5://" + strings.Repeat("h", 64) + ":1":                                     {"host"},
		"socks5://" + strings.Repeat("h.", 128) + "h:1":                                  {"host"},
	} {
		_, err := Parse(in)
		e, ok := errors.AsType[*ParseError](err)
		if !ok {
			t.Errorf("Parse(%q): got %v, want a *ParseError", in, err)
			continue
		}
		var got []string
		for _, f := range e.Faults {
			got = append(got, f.Field)
		}
		if !slices.Equal(got, fields) {
			t.Errorf("Parse(%q): got faults %v, want %v (%v)", in, got, fields, err)
		}
	}
}

func TestParseErrorsHoldNoSecret(t *testing.T) {
	const secret = "hunter2secret"
	for _, in := range []string{
		"socks5://u:" + secret + "@bad host:99999", "nope://u:" + secret + "@h:1", "u:" + secret + "@h:1",
		"socks5://u:" + secret + "%zz@h:1", "socks5://u:" + secret + "\x00@h:1", "socks5://:" + secret + "@h:1",
		"socks5://h:1:" + secret, "socks5://" + secret, "socks5://u:p@" + secret + " x:1", "h:1:u:" + secret,
	} {
		_, err := Parse(in)
		if err == nil {
			t.Errorf("Parse(%q) took it", in)
			continue
		}
		if text := fmt.Sprintf("%v %+v %#v", err, err, err.(*ParseError).Faults); strings.Contains(text, secret) {
			t.Errorf("Parse(%q): the error repeats the secret: %s", in, text)
		}
	}
}

func TestValidate(t *testing.T) {
	good := Proxy{Type: SOCKS5, Host: "h", Port: 1}
	for name, tc := range map[string]struct {
		change func(*Proxy)
		fields string
	}{
		"good":              {func(*Proxy) {}, ""},
		"all at once":       {func(p *Proxy) { *p = Proxy{Password: "x\n"} }, "type host port username password"},
		"synonym":           {func(p *Proxy) { p.Type = "socks5h" }, ""},
		"brackets":          {func(p *Proxy) { p.Host = "[::1]" }, ""},
		"scheme":            {func(p *Proxy) { p.Host = "http://h" }, "host"},
		"port in host":      {func(p *Proxy) { p.Host = "h:80" }, "host"},
		"userinfo":          {func(p *Proxy) { p.Host = "u@h" }, "host"},
		"tab":               {func(p *Proxy) { p.Host = "h\t" }, "host"},
		"DEL":               {func(p *Proxy) { p.Host = "h\x7f" }, "host"},
		"not UTF-8":         {func(p *Proxy) { p.Host = "h\xff" }, "host"},
		"slash":             {func(p *Proxy) { p.Host = "h/x" }, "host"},
		"256 bytes":         {func(p *Proxy) { p.Host = strings.Repeat("a.", 128) }, "host"},
		"NUL":               {func(p *Proxy) { p.Username = "a\x00" }, "username"},
		"256 user":          {func(p *Proxy) { p.Username = strings.Repeat("a", 256) }, "username"},
		"http long token":   {func(p *Proxy) { p.Type, p.Username, p.Password = HTTP, "u", strings.Repeat("a", 1000) }, ""},
		"password, no user": {func(p *Proxy) { p.Password = "x" }, "username"},
		"socks4 user":       {func(p *Proxy) { p.Type, p.Username = SOCKS4, "u" }, ""},
		"socks4 password":   {func(p *Proxy) { p.Type, p.Username, p.Password = SOCKS4, "u", "p" }, "password"},
		"socks4a password":  {func(p *Proxy) { p.Type, p.Password = "socks4a", "p" }, "password"},
	} {
		p := good
		tc.change(&p)
		var got []string
		for _, f := range p.Validate() {
			got = append(got, f.Field)
		}
		if strings.Join(got, " ") != tc.fields {
			t.Errorf("%s: got faults in %q, want %q", name, got, tc.fields)
		}
	}
}

// Every way to print a Proxy, or a thing that holds one, leaves the password out.
func TestPasswordStaysOut(t *testing.T) {
	const secret = "hunter2/@% "
	p := Proxy{SOCKS5, "h", 1, "user", secret}
	holder := struct {
		P Proxy
		Q *Proxy
		D *Dialer
	}{p, &p, &Dialer{Upstream: &p}}
	var texts []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%o", "%08b", "%U", "%c", "%e"} {
		for _, v := range []any{p, &p, holder, []Proxy{p}, map[string]Proxy{"a": p}, *holder.D.Upstream} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
	}
	for _, v := range []any{p, &p, holder.P, []*Proxy{&p}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("x", "proxy", p, "pointer", &p, "holder", holder.P)
	}
	texts = append(texts, log.String(), p.GoString(), p.String())
	for _, text := range texts {
		for _, form := range []string{"hunter2", fmt.Sprintf("%x", "hunter2"), fmt.Sprintf("%X", "hunter2")} {
			if strings.Contains(text, form) {
				t.Errorf("the password is in %s", text)
			}
		}
	}
	if got, want := p.String(), "socks5://user:***@h:1"; got != want {
		t.Errorf("String: got %s, want %s", got, want)
	}
}

func TestMarshalJSON(t *testing.T) {
	b, _ := json.Marshal(Proxy{HTTP, "h", 80, "u", "p"})
	if got, want := string(b), `{"type":"http","host":"h","port":80,"username":"u","hasPassword":true}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestURLRoundTrip(t *testing.T) {
	credential := rapid.Custom(func(t *rapid.T) string {
		b := rapid.SliceOfN(rapid.Byte(), 0, 255).Draw(t, "bytes")
		return string(slices.DeleteFunc(b, func(c byte) bool { return c == 0 || c == '\r' || c == '\n' }))
	})
	rapid.Check(t, func(t *rapid.T) {
		p := Proxy{
			Type: rapid.SampledFrom([]Type{SOCKS5, SOCKS4}).Draw(t, "type"),
			Host: rapid.SampledFrom([]string{"host", "a.b-c_d.example", "1.2.3.4", "::1", "2001:db8::ff"}).Draw(t, "host"),
			Port: rapid.IntRange(1, 65535).Draw(t, "port"),
		}
		if p.Username = credential.Draw(t, "user"); p.Username != "" && p.Type != SOCKS4 {
			p.Password = credential.Draw(t, "pass")
		}
		if got, err := Parse(p.URL()); err != nil || got != p {
			t.Fatalf("Parse(%q): got %q %v", p.URL(), got.URL(), err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"socks5://user:pass@host:1080", "http://[::1]:80", "https://u%40:p%2F@h:443/", "socks4://me@1.2.3.4:1", "socks5://u:p@ss@h:1",
		"socks5://%zz@h:1", "socks5://é:1", "x", "socks5://[[::1]]:1", "socks5h://A.B.:9",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		if faults := p.Validate(); len(faults) > 0 {
			t.Fatalf("Parse(%q) gave what Validate refuses: %v", s, faults)
		}
		if p.Normalize() != p {
			t.Fatalf("Parse(%q) is not normalised", s)
		}
		if q, err := Parse(p.URL()); err != nil || p != q {
			t.Fatalf("Parse(%q): %q does not parse to itself: %v", s, p.URL(), err)
		}
		if strings.ContainsAny(p.Address(), "\r\n\x00 /@") {
			t.Fatalf("Parse(%q): address %q", s, p.Address())
		}
	})
}
