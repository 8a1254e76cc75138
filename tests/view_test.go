package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
)

// The live view and pictures, seen by a person's browser: a profile of another server, which may reach the first.

// eye is that browser.
type eye struct {
	t testing.TB
	c *cdpClient
}

// eyeOn opens a browser of a server of its own that may reach an address.
func eyeOn(t testing.TB, base string) *eye {
	t.Helper()
	s := newTestbed(t).serve()
	run := s.start(s.profile(map[string]any{"allowLocal": []string{strings.TrimPrefix(base, "http://")},
		"screen": map[string]any{"width": 1200, "height": 800}}), nil)
	return &eye{t, dialCDP(t, run.WsEndpoint, nil)}
}

// sees waits until the live view shows a colour in the middle of the picture. A hidden page gets one picture and no
// more.
func (e *eye) sees(page, colour string) {
	e.t.Helper()
	const middle = `(() => { const c = document.querySelector("canvas"); if (!c || c.hidden || !c.width) return "nothing";
		const [r, g] = c.getContext("2d").getImageData(c.width / 2, c.height / 2, 1, 1).data
		return r > 200 && g < 60 ? "red" : g > 200 && r < 60 ? "green" : "other" })()`
	last := ""
	e.c.call(page, "Page.bringToFront", nil, nil)
	defer func() {
		if e.t.Failed() {
			e.t.Logf("the view shows %s, and says: %s", last, e.c.eval(page, "document.body.innerText"))
		}
	}()
	eventually(e.t, "the view shows "+colour, enough, func() bool { last = e.c.eval(page, middle); return last == colour })
}

// click clicks in the middle of the picture, and types.
func (e *eye) click(page, text string) {
	e.t.Helper()
	var at struct{ X, Y float64 }
	if err := json.Unmarshal([]byte(e.c.eval(page,
		`(() => { const b = document.querySelector("canvas").getBoundingClientRect()
			return JSON.stringify({X: b.left + b.width / 2, Y: b.top + b.height / 2}) })()`)), &at); err != nil {
		e.t.Fatal(err)
	}
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		e.c.call(page, "Input.dispatchMouseEvent",
			map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": map[bool]string{true: "none", false: "left"}[kind == "mouseMoved"],
				"clickCount": 1}, nil)
	}
	for _, letter := range text {
		e.c.call(page, "Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": string(letter), "text": string(letter)}, nil)
		e.c.call(page, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": string(letter)}, nil)
	}
}

// paintable turns a page red, and green when it is clicked; it notes what is typed.
const paintable = `document.documentElement.style.background = "rgb(255,0,0)"; window.typed = "";
	onmousedown = () => document.documentElement.style.background = "rgb(0,255,0)"; onkeydown = (e) => { typed += e.key }; "done"`

// A person works in a profile behind its proxy by liveUrl, also after a restart of the server, and watches by a
// read-only link. Pictures of it can be had. After the stop all is over.
func TestLiveViewInABrowser(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil), "startUrls": []string{s.world.url("/shop")}})
	run := s.start(id, nil)
	s.world.await(t, "/shop", 1)
	c := dialCDP(t, run.WsEndpoint, nil)
	_, targets := c.pages()
	shop := c.attach(targets[0])
	c.awaitURL(shop, s.world.url("/shop"))
	c.eval(shop, paintable)
	e := eyeOn(t, s.base)
	view := e.c.open(run.LiveURL)
	e.sees(view, "red")
	if address := e.c.eval(view, "location.href"); strings.Contains(address, strings.SplitN(run.LiveURL, "#", 2)[1]) {
		t.Errorf("the address shows the capability: %s", address)
	}
	e.click(view, "hi")
	e.sees(view, "green")
	eventually(t, "the page gets hi", enough, func() bool { return c.eval(shop, "typed") == "hi" }) // the keys come after the green
	s.pictures(id)

	// By a link to watch nothing can be done.
	c.eval(shop, paintable)
	watched := e.c.open(s.let(id, map[string]any{"readonly": true}).LiveURL)
	e.sees(watched, "red")
	e.click(watched, "no")
	eventually(t, "both viewers are counted", enough, func() bool { return s.usages()[id] != nil && s.usages()[id].Viewers == 2 })
	if typed := c.eval(shop, "typed + document.documentElement.style.background"); typed != "rgb(255, 0, 0)" {
		t.Errorf("who may only watch did %q", typed)
	}

	// Another server takes over: the page comes back to the same tab by itself.
	s.kill()
	s = g.serve("--listen", strings.TrimPrefix(s.base, "http://"))
	pages := []string{view, watched}
	c = dialCDP(t, s.start(id, nil).WsEndpoint, nil)
	shop = c.attach(targets[0])
	c.eval(shop, `document.documentElement.style.background = "rgb(0,255,0)"`)
	for _, page := range pages {
		e.sees(page, "green")
	}

	s.stop(id)
	for _, page := range pages {
		eventually(t, "the page says that it is over", enough, func() bool {
			return strings.Contains(e.c.eval(page, `document.body.innerText`), "over") ||
				strings.Contains(e.c.eval(page, `document.body.innerText`), "ended") ||
				strings.Contains(e.c.eval(page, `document.body.innerText`), "closed")
		})
	}
	s.refused("GET", "/profiles/"+id+"/screenshot", nil, 409, "profile_not_running")
}

// pictures takes those that there are of a page that is green.
func (s *liveServer) pictures(id string) {
	s.t.Helper()
	for query, format := range map[string]string{"": "image/png", "?format=jpeg&quality=60": "image/jpeg", "?size=small": "image/jpeg",
		"?fullPage=true": "image/png"} {
		status, kind, body := s.fetch("/profiles/" + id + "/screenshot" + query)
		if status != 200 || kind != format {
			s.t.Fatalf("screenshot%s: %d %s %.200s", query, status, kind, body)
		}
		decode := png.Decode
		if format == "image/jpeg" {
			decode = jpeg.Decode
		}
		picture, err := decode(bytes.NewReader(body))
		if err != nil {
			s.t.Fatalf("screenshot%s: %v", query, err)
		}
		if r, g, _, _ := picture.At(picture.Bounds().Dx()/2, picture.Bounds().Dy()/2).RGBA(); g>>8 < 200 || r>>8 > 60 {
			s.t.Errorf("screenshot%s is not green", query)
		}
	}
	if status, kind, body := s.fetch("/profiles/" + id + "/pdf?paper=a4"); status != 200 || kind != "application/pdf" ||
		!bytes.HasPrefix(body, []byte("%PDF-")) {
		s.t.Errorf("pdf: %d %s", status, kind)
	}
	s.refused("GET", "/profiles/"+id+"/screenshot?tab=nonsense", nil, 404, "tab_not_found")
	s.refused("GET", "/profiles/"+id+"/screenshot?size=small&tab=x", nil, 422, "validation_failed")
}

// fetch reads what is no JSON.
func (s *liveServer) fetch(path string) (status int, kind string, body []byte) {
	s.t.Helper()
	req, err := http.NewRequest("GET", s.base+apiPrefix+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+liveKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		s.t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
	return res.StatusCode, res.Header.Get("Content-Type"), body
}

// usages asks GET /runs and gives what each profile's run uses; nil where the run does not tell.
func (s *liveServer) usages() map[string]*usageView {
	s.t.Helper()
	var list struct {
		Data []struct {
			ProfileID string
			Usage     *usageView
		}
	}
	s.do("GET", "/runs", nil, 200, &list)
	out := map[string]*usageView{}
	for _, r := range list.Data {
		out[r.ProfileID] = r.Usage
	}
	return out
}

// usage waits until a profile's run tells what it uses: on a busy machine it may not answer in the time that a list waits for it.
func (s *liveServer) usage(id string) (u *usageView) {
	s.t.Helper()
	eventually(s.t, "the run tells what it uses", enough, func() bool {
		u = s.usages()[id]
		return u != nil
	})
	return u
}

func readAll(t testing.TB, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
