package tests

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"warren/testnet"
)

// A declared identity arrives at a site over TLS, through the relay and a SOCKS5 proxy with a password. The first
// request's headers, a page and a worker show it. The start warns that it is emulated.
func TestDeclaredIdentityEndToEnd(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	first := make(chan http.Header, 1)
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/first" {
			first <- r.Header.Clone()
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><p>here")
	}))
	site.Config.ErrorLog = log.New(io.Discard, "", 0) // the certificate is refused before it is not looked at
	site.StartTLS()
	t.Cleanup(site.Close)
	g := newTestbed(t)
	through := testnet.NewLocalProxy(t, site.Listener.Addr().String())
	s := g.serve()
	proxy := s.addProxy(map[string]any{"port": through.Port(), "password": through.Password})
	id := s.profile(map[string]any{"proxyId": proxy, "os": "win", "browserVersion": "124",
		"locale": []string{"de-DE", "de"}, "timezone": "America/New_York",
		"geolocation": map[string]any{"latitude": 40.7, "longitude": -74, "accuracy": 20},
		"screen":      map[string]any{"width": 1600, "height": 900, "deviceScaleFactor": 1.25}})
	run := s.start(id, map[string]any{"preflight": "off"})
	if len(run.Warnings) != 1 || run.Warnings[0].Code != "emulated" || !strings.Contains(run.Warnings[0].Message, "engine") {
		t.Errorf("start warns of %+v, want of what it emulates alone", run.Warnings)
	}
	c := dialCDP(t, run.WsEndpoint, nil)
	page, address := c.open("about:blank"), "https://"+testnet.LocalSite+":80/first" // where the proxy leads to the site
	c.call(page, "Security.setIgnoreCertificateErrors", map[string]any{"ignore": true}, nil)
	c.call(page, "Page.navigate", map[string]any{"url": address}, nil)
	c.awaitURL(page, address)
	head := <-first
	const agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36"
	for name, want := range map[string]string{"User-Agent": agent, "Sec-Ch-Ua-Platform": `"Windows"`, "Accept-Language": "de-DE,de;q=0.9"} {
		if got := head.Get(name); got != want {
			t.Errorf("the first request has %s %q, want %q", name, got, want)
		}
	}
	if brands := head.Get("Sec-Ch-Ua"); !strings.Contains(brands, `"Chromium";v="124"`) {
		t.Errorf("the first request has the brands %s", brands)
	}
	var got, want map[string]string
	text := c.eval(page, probeOfPage)
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	want = map[string]string{"platform": "Win32", "hints": "Windows x86 64", "languages": "de-DE,de", "intl": "de-DE America/New_York",
		"screen": "1600x900 1.25", "position": "40.7 -74 20", "worker": "Win32 de-DE America/New_York Windows"}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %q, want %q", name, got[name], value)
		}
	}
}

// probeOfPage is what a page and a worker of it say of themselves, as JSON.
const probeOfPage = `(async () => {
	const intl = Intl.DateTimeFormat().resolvedOptions()
	const high = await navigator.userAgentData.getHighEntropyValues(['architecture', 'bitness'])
	const position = (await new Promise((yes, no) => navigator.geolocation.getCurrentPosition(yes, no))).coords
	const source = "postMessage([navigator.platform, navigator.language, " +
		"Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgentData.platform].join(' '))"
	const worker = await new Promise(yes => { new Worker(URL.createObjectURL(new Blob([source]))).onmessage = e => yes(e.data) })
	return JSON.stringify({platform: navigator.platform,
		hints: [navigator.userAgentData.platform, high.architecture, high.bitness].join(' '),
		languages: navigator.languages.join(),
		intl: intl.locale + ' ' + intl.timeZone, screen: screen.width + 'x' + screen.height + ' ' + devicePixelRatio,
		position: [position.latitude, position.longitude, position.accuracy].join(' '), worker})
})()`
