// Package comeover reads the profiles of other products: what they export, and lists in CSV. It knows no server and no browser.
//
// It guesses nothing. What a profile has and Warren cannot have is named, and a profile of which a part cannot be read is refused as a
// whole. A proxy that cannot be used leaves its profile without one, marked so that it does not start: it must not go out directly.
package comeover

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"warren/proxy"
	"warren/state"
)

// Format is a kind of file.
type Format string

// The formats.
const (
	AdsPower   Format = "adspower"   // the text export, and the lists of the local API
	GoLogin    Format = "gologin"    // profiles of the API
	Dolphin    Format = "dolphin"    // browser_profiles of the API
	Multilogin Format = "multilogin" // profiles of the API of Multilogin X
	BitBrowser Format = "bitbrowser" // the list of the local API
	CSV        Format = "csv"        // name, proxy, cookies, tags, notes, os
)

// Limits of a file.
const (
	MaxBytes    = 256 << 20
	MaxProfiles = 5000
)

// Screen is the size of a screen in pixels.
type Screen struct{ Width, Height int }

// LeftOut is something that a profile has and Warren does not take.
type LeftOut struct {
	What string // a word for programs, such as fingerprint
	Why  string // a sentence for people
}

// Profile is a profile of a file. What is empty the file does not say.
type Profile struct {
	Number       int    // its place in the file, from 1
	Line         int    // of a text file, from 1; 0: no text
	ID           string // that it had in the other product
	Name         string
	OS           string       // win, mac or linux
	Version      string       // the major version that it showed
	Proxy        *proxy.Proxy // nil: none, or one that cannot be used
	ProxyMissing bool         // it has a proxy that cannot be used; LeftOut says why
	Cookies      *state.Cookies
	Tags         []string
	Notes        string
	StartURLs    []string
	Screen       *Screen
	Timezone     string
	Languages    []string
	LeftOut      []LeftOut // each What once
	Faults       []string  // why it is refused; none: it can be taken
}

// File is what a file has.
type File struct {
	Format   Format
	Profiles []Profile
}

// Read reads a file whose content tells its format. now decides which cookies have expired. Errors are a *state.FileError, or one of r.
func Read(r io.Reader, now time.Time) (*File, error) { return read(r, MaxBytes, now) }

func read(r io.Reader, most int64, now time.Time) (*File, error) {
	text, err := state.ReadText(r, most)
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(text)
	head, _, _ := bytes.Cut(text, []byte("\n"))
	var out *File
	switch {
	case len(text) == 0:
		return nil, broken(0, "The file is empty.")
	case text[0] == '{' || text[0] == '[':
		out, err = readJSON(text, now)
	case isCSV(head):
		out, err = readCSV(text, now)
	case isAdsPower(text):
		out, err = readAdsPower(text, now)
	default:
		return nil, broken(0, unknownFile)
	}
	if err != nil {
		return nil, err
	}
	if len(out.Profiles) == 0 {
		return nil, broken(0, "The file has no profiles.")
	}
	return out, nil
}

const unknownFile = "This is no file that can be imported: an archive of Warren, an export of AdsPower, GoLogin, Dolphin Anty, " +
	"Multilogin or BitBrowser, a CSV file whose first line names its columns (name, proxy, cookies, tags, notes, os), or a " +
	"zip or tar file of a folder of Chrome's user data."

func broken(line int, message string) *state.FileError {
	return &state.FileError{Line: line, Index: -1, Message: message}
}

func tooMany() *state.FileError {
	return &state.FileError{Index: -1, Large: true,
		Message: fmt.Sprintf("The file has more than %d profiles. Import it in parts.", MaxProfiles)}
}

// fault notes why the profile is refused, each sentence once.
func (p *Profile) fault(sentence string) {
	const most = 20
	if len(p.Faults) < most && !slices.Contains(p.Faults, sentence) {
		p.Faults = append(p.Faults, sentence)
	}
}

// leave notes something that is not taken, each What once.
func (p *Profile) leave(what, why string) {
	if !slices.ContainsFunc(p.LeftOut, func(l LeftOut) bool { return l.What == what }) {
		p.LeftOut = append(p.LeftOut, LeftOut{what, why})
	}
}

// setProxy takes a proxy by its members. noProxy are the words for none.
func (p *Profile) setProxy(kind, host, port, user, password string) {
	kind, host = strings.ToLower(strings.TrimSpace(kind)), strings.TrimSpace(host)
	if slices.Contains([]string{"", "none", "noproxy", "no_proxy", "no-proxy", "direct", "without"}, kind) && host == "" {
		return
	}
	typ, known := proxy.ParseType(kind)
	if !known {
		p.missProxy("Its type is none of socks5, http, https and socks4.")
		return
	}
	n := 0
	if _, err := fmt.Sscanf(port, "%5d", &n); err != nil || fmt.Sprint(n) != port {
		n = 0
	}
	p.takeProxy(proxy.Proxy{Type: typ, Host: host, Port: n, Username: user, Password: password})
}

func (p *Profile) takeProxy(px proxy.Proxy) {
	px = px.Normalize()
	if faults := px.Validate(); len(faults) > 0 {
		var all []string
		for _, f := range faults {
			all = append(all, f.Message)
		}
		p.missProxy(strings.Join(all, " "))
		return
	}
	if px.Type == proxy.HTTPS {
		p.leave("proxy_https", "The proxy's type is https, which is TLS to the proxy. If it speaks plain HTTP, change its type to http.")
	}
	p.Proxy = &px
}

// missProxy marks the profile: it has a proxy that cannot be used.
func (p *Profile) missProxy(why string) {
	p.ProxyMissing = true
	p.leave("proxy", "Its proxy is left out, and it does not start before it has another: "+why)
}

// setCookies reads cookies as JSON or as a Netscape cookies.txt. The profile is refused if they cannot be read as a whole.
func (p *Profile) setCookies(text []byte, now time.Time) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || string(text) == "[]" || string(text) == "{}" || string(text) == "null" {
		return
	}
	c, err := state.ReadCookies(bytes.NewReader(text), "", now)
	if err != nil {
		p.fault("Its cookies cannot be read: " + err.Error())
		return
	}
	kept := c.Cookies[:0]
	own := 0
	for _, cookie := range c.Cookies {
		if isVendors(cookie.Domain) {
			own++
			continue
		}
		kept = append(kept, cookie)
	}
	if c.Cookies = kept; own > 0 {
		p.leave("vendor_cookies", fmt.Sprintf("Cookies of the other product's own site: %d.", own))
	}
	if refused := len(c.Refused) + c.More; refused > 0 {
		first := c.Refused[0]
		p.leave("cookies", fmt.Sprintf("Cookies that are refused: %d. The first is entry %d: %s", refused, first.Index, first.Reason))
	}
	p.Cookies = c
}

// isVendors reports whether a cookie is of a product's own site.
func isVendors(domain string) bool {
	return slices.ContainsFunc([]string{"adspower.net", "adspower.com", "gologin.com", "dolphin-anty.com", "anty.dolphin.ru.com",
		"multilogin.com", "multiloginapp.com", "bitbrowser.net", "bitbrowser.cn"}, func(own string) bool {
		name := strings.TrimPrefix(domain, ".")
		return name == own || strings.HasSuffix(name, "."+own)
	})
}

// setUserAgent takes the system of a user agent. The version is only told: it follows the installed browser.
func (p *Profile) setUserAgent(ua string) {
	if ua == "" {
		return
	}
	if _, after, ok := strings.Cut(ua, "Chrome/"); ok {
		if major := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]; len(major) <= 3 {
			p.Version = major
		}
	}
	p.leave(ofUserAgent, whyLeftOut[ofUserAgent])
	switch {
	case strings.Contains(ua, "Android"), strings.Contains(ua, "iPhone"), strings.Contains(ua, "iPad"):
		p.leave("mobile", mobile)
	case strings.Contains(ua, "Windows NT"):
		p.setOS("win")
	case strings.Contains(ua, "Macintosh"):
		p.setOS("mac")
	case strings.Contains(ua, "Linux"):
		p.setOS("linux")
	}
}

const mobile = "It was a mobile device, and there are none here: it gets this machine's system."

// setOS takes a system by any product's word for it. The first one said stays.
func (p *Profile) setOS(name string) {
	words := map[string]string{"win": "win", "windows": "win", "win32": "win", "win64": "win", "mac": "mac", "macos": "mac",
		"macintel": "mac", "linux": "linux", "lin": "linux", "linux x86_64": "linux"}
	os, known := words[strings.ToLower(strings.TrimSpace(name))]
	switch {
	case name == "":
	case !known:
		p.leave("mobile", mobile)
	case p.OS == "":
		p.OS = os
	}
}

// setScreen takes a size such as 1920x1080, 1920_1080 or 1680*1050. Words such as random say none.
func (p *Profile) setScreen(text string) {
	text = strings.NewReplacer("_", "x", "*", "x", " ", "", "X", "x").Replace(text)
	var s Screen
	if n, err := fmt.Sscanf(text, "%4dx%4d", &s.Width, &s.Height); err != nil || n != 2 || fmt.Sprintf("%dx%d", s.Width, s.Height) != text {
		return
	}
	p.Screen = &s
}

// setLanguages takes languages as a header Accept-Language or navigator.languages has them.
func (p *Profile) setLanguages(text string) {
	for part := range strings.SplitSeq(text, ",") {
		tag, _, _ := strings.Cut(part, ";")
		if tag = strings.ReplaceAll(strings.TrimSpace(tag), "_", "-"); tag != "" && !slices.Contains(p.Languages, tag) {
			p.Languages = append(p.Languages, tag)
		}
	}
}

// addTags takes tags, each once.
func (p *Profile) addTags(tags ...string) {
	for _, t := range tags {
		if t = strings.TrimSpace(t); t != "" && !slices.Contains(p.Tags, t) {
			p.Tags = append(p.Tags, t)
		}
	}
}

// addStartURLs takes addresses with a scheme. Others are left out: http or https would be a guess.
func (p *Profile) addStartURLs(urls ...string) {
	for _, u := range urls {
		switch u = strings.TrimSpace(u); {
		case u == "":
		case strings.HasPrefix(u, "http://"), strings.HasPrefix(u, "https://"), u == "about:blank":
			p.StartURLs = append(p.StartURLs, u)
		default:
			p.leave("start_url", "A page to open has no http:// or https:// in front.")
		}
	}
}

// finish completes a profile that was read. One without a name gets the id that it had.
func (p *Profile) finish() {
	if strings.TrimSpace(p.Name) == "" {
		p.Name = p.ID
	}
	if strings.TrimSpace(p.Name) == "" {
		p.fault("It has neither a name nor an id.")
	}
	slices.SortFunc(p.LeftOut, func(a, b LeftOut) int { return strings.Compare(a.What, b.What) })
}

// Kinds of what is left out that several products have.
const (
	ofFingerprint = "fingerprint"
	ofUserAgent   = "user_agent"
	ofAccount     = "account"
	ofExtensions  = "extensions"
	ofWebRTC      = "webrtc"
	ofPosition    = "geolocation"
	ofSettings    = "settings"
	ofBookkeeping = "" // ids, times and counters: not told
)

// whyLeftOut says why a kind is left out.
var whyLeftOut = map[string]string{
	ofFingerprint: "Canvas, WebGL, audio, fonts, hardware, device name and network card are not emulated: pages see those of the browser.",
	ofUserAgent:   "It follows the installed browser and os, so that it never says another version than the browser is.",
	ofAccount:     "User names, passwords and second factors of sites are not kept here.",
	ofExtensions:  "Extensions are not in the file.",
	ofWebRTC:      "WebRTC is set to proxy_only, which reaches nothing beside the proxy.",
	ofPosition:    "The position follows the proxy's exit.",
	ofSettings:    "Settings of the other product's own browser have no counterpart here.",
}
