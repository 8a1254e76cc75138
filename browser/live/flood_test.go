//go:build !windows

package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"warren/browser"
)

// TestLongAddressesOfAPage: viewers still see a page that navigates to ever longer addresses.
func TestLongAddressesOfAPage(t *testing.T) {
	r, address := liveBrowser(t)
	w := watch(t, r, address)
	w.sees(600, 300, red)
	w.page(`void (() => {
		document.title = "é".repeat(3000);
		let i = 0;
		const timer = setInterval(() => {
			location.hash = i + "&".repeat(5e4);
			if (++i === 5) { clearInterval(timer); document.getElementById("load").click() }
		}, 50);
	})()`)
	w.hears("download", map[string]any{"state": "done"}) // it comes last
	page := w.hears("page", map[string]any{"title": strings.Repeat("é", maxTitle/2)})
	if u := page["url"].(string); len(u) != maxAddress || !strings.HasPrefix(u, "http://a.test/live#") {
		t.Errorf("an address of %d bytes", len(u))
	}
	w.hears("page", map[string]any{"canGoBack": true})
	later := watch(t, r, address)
	later.hears("download", nil)
	for _, m := range append(w.all(), later.all()...) {
		if text := encode(m); len(text) == 0 || len(text) > 3*maxAddress {
			t.Fatalf("a viewer is told %d bytes of %v", len(text), m["type"])
		}
	}
}

// all returns the messages so far.
func (w *watcher) all() []map[string]any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.said)
}

// quietChrome is a Chrome whose commands only the test answers.
type quietChrome struct {
	chrome
	mu    sync.Mutex
	asked []string // methods
	tags  []any
}

func (c *quietChrome) Spec() browser.Spec       { return browser.Spec{} }
func (c *quietChrome) Logger() *slog.Logger     { return slog.New(slog.DiscardHandler) }
func (c *quietChrome) subscribe() (feed, error) { return c, nil }
func (c *quietChrome) Show(string, bool)        {}
func (c *quietChrome) Close()                   {}

func (c *quietChrome) Next(context.Context) (browser.News, error) {
	return nil, errors.New("nothing happens")
}

func (c *quietChrome) PageOf(context.Context, string) (browser.Page, error) {
	return browser.Page{}, &browser.PageError{Kind: "no_page", Err: errors.New("nothing is open")}
}

// LeaveDialog records that a dialog is handed back.
func (c *quietChrome) LeaveDialog(e browser.Event) { c.Send(e.Session, "left", nil, nil) }

func (c *quietChrome) Send(_, method string, _, tag any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.tags = append(c.asked, method), append(c.tags, tag)
}

// sent returns the methods of the commands since the last call.
func (c *quietChrome) sent() (methods []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	methods, c.asked = c.asked, nil
	return methods
}

// answer answers every command so far.
func (c *quietChrome) answer(result string) {
	c.mu.Lock()
	tags := c.tags
	c.tags = nil
	c.mu.Unlock()
	for _, tag := range tags {
		if then, ok := tag.(func(browser.Answer)); ok {
			then(browser.Answer{Result: json.RawMessage(result)})
		}
	}
}

// quietView returns a live view of a quietChrome, with a tab and a viewer.
func quietView() (*View, *viewer, *quietChrome) {
	c := &quietChrome{}
	l := newView(c)
	l.feed, l.history = c, &historyQuery{}
	v := &viewer{live: l, feed: c, id: "v1", wake: make(chan struct{}, 1)}
	l.viewers, l.active, l.session, l.page = []*viewer{v}, "tab", "session", pageMessage{Type: "page", Tab: "tab"}
	return l, v, c
}

// heard removes the viewer's messages and returns those of a type.
func (v *viewer) heard(t *testing.T, kind string) (out []map[string]any) {
	t.Helper()
	for text, _ := v.out.take(); text != nil; text, _ = v.out.take() {
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if m["type"] == kind {
			out = append(out, m)
		}
	}
	return out
}

// script is a feed that delivers some news, and then ends.
type script struct {
	*quietChrome
	news []browser.News
}

func (s *script) Next(context.Context) (browser.News, error) {
	if len(s.news) == 0 {
		return nil, errors.New("it is over")
	}
	n := s.news[0]
	s.news = s.news[1:]
	return n, nil
}

// TestDialogsAreHandedBack: a claimed dialog is shown to the holder of the controls. If no viewer can answer it by then it is handed back.
// An unclaimed one is ignored.
func TestDialogsAreHandedBack(t *testing.T) {
	l, v, c := quietView()
	dialog := browser.Event{Session: "session", Target: "tab", Method: "Page.javascriptDialogOpening", Params: []byte(`{"type":"alert"}`),
		Claimed: true}
	play := func(e browser.Event, want ...string) {
		t.Helper()
		feed := &script{c, []browser.News{e}}
		l.feed = feed
		l.receive(feed)
		if got := c.sent(); !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", e, got, want)
		}
	}
	play(dialog, "left") // nobody has the controls
	l.holder = v
	play(dialog)
	if told := v.heard(t, "dialog"); len(told) != 1 {
		t.Errorf("the holder is told %v", told)
	}
	other := dialog
	other.Session = "of a tab that was shown"
	play(other, "left")
	other = dialog
	other.Claimed = false
	play(other)
	l.viewers = nil
	play(dialog, "left")
	if told := v.heard(t, "dialog"); told != nil {
		t.Errorf("then the holder is told %v", told)
	}
}

// TestHistoryIsAskedNowAndThen: however often a page navigates, one query of its history is under way, and one is due after a pause.
func TestHistoryIsAskedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v, c := quietView()
		flood := func(want ...string) {
			t.Helper()
			for i := range 50 {
				l.mu.Lock()
				l.onNavigated(fmt.Appendf(nil, `{"frameId":"tab","url":"http://a.test/%d"}`, i))
				l.mu.Unlock()
			}
			synctest.Wait()
			if got := c.sent(); !slices.Equal(got, want) {
				t.Fatalf("asked %v, want %v", got, want)
			}
		}
		flood("Page.getNavigationHistory")
		<-time.After(time.Second) // Chrome is slow
		c.answer(`{"currentIndex":1,"entries":[{},{}]}`)
		synctest.Wait()
		if told := v.heard(t, "page"); told[len(told)-1]["canGoBack"] != true {
			t.Errorf("viewers are told %v", told)
		}
		flood()
		<-time.After(2*time.Second - time.Millisecond)
		flood()
		<-time.After(2 * time.Millisecond) // the last request counts: one more query follows by itself
		flood("Page.getNavigationHistory")
		c.answer(`{"currentIndex":0,"entries":[{},{}]}`)
		<-time.After(historyPause + time.Millisecond)
		if told := v.heard(t, "page"); told[len(told)-1]["canGoForward"] != true || told[len(told)-1]["canGoBack"] != false {
			t.Errorf("viewers are told %v", told)
		}
		if got := c.sent(); len(got) != 1 {
			t.Errorf("asked %v", got)
		}
		c.answer(`{"currentIndex":0,"entries":[{},{}]}`)
		<-time.After(historyPause + time.Millisecond)
		if got := c.sent(); got != nil {
			t.Errorf("asked %v when nothing was due", got)
		}
		flood("Page.getNavigationHistory")
	})
}

// TestTheOldestOfferGoes: after many downloads a new one replaces the oldest that has ended.
func TestTheOldestOfferGoes(t *testing.T) {
	l, v, _ := quietView()
	l.downloads.offered = true
	event := func(method, params string, arguments ...any) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.onDownloadEvent("Browser."+method, fmt.Appendf(nil, params, arguments...))
	}
	begin := func(i int) {
		event("downloadWillBegin", `{"guid":"d%d","url":"http://a.test/%s","suggestedFilename":"f"}`, i, strings.Repeat("&", 1e5))
	}
	for i := range maxDownloads {
		begin(i)
	}
	begin(maxDownloads) // all others are running
	if n := len(v.heard(t, "download")); n != maxDownloads {
		t.Fatalf("%d downloads are offered", n)
	}
	for _, i := range []int{7, 3} {
		event("downloadProgress", `{"guid":"d%d","state":"canceled"}`, i)
	}
	v.heard(t, "download")
	begin(maxDownloads + 1)
	begin(maxDownloads + 2)
	told := v.heard(t, "download")
	if len(told) != 2 || told[1]["id"] != fmt.Sprint("d", maxDownloads+2) || len(told[1]["url"].(string)) != maxAddress {
		t.Errorf("told of %d new downloads", len(told))
	}
	l.sendState(v)
	if told = v.heard(t, "download"); len(told) != maxDownloads || told[0]["id"] != "d0" || told[3]["id"] != "d4" ||
		told[maxDownloads-1]["id"] != "d102" {
		t.Errorf("a later viewer is told of %d: %v", len(told), told)
	}
	if l.downloads.find("d3") != nil || l.downloads.find("d7") != nil {
		t.Error("the oldest that are over are still offered")
	}
}

// TestLongWordsOfAPage: viewers get a page's texts truncated.
func TestLongWordsOfAPage(t *testing.T) {
	r, address := liveBrowser(t)
	w := watch(t, r, address)
	w.sees(600, 300, red)
	w.page(`void (() => {
		const list = document.getElementById("list"), group = document.createElement("optgroup"), words = "&".repeat(2000);
		group.label = words;
		for (let i = 0; i < 3000; i++) group.append(new Option(words, words));
		list.replaceChildren(new Option("first", "1"), group);
	})()`)
	w.click(100, 160)
	list := w.hears("options", nil)
	all, options := 0, list["options"].([]any)
	for _, o := range options {
		for _, member := range []string{"text", "value", "group"} {
			words := o.(map[string]any)[member].(string)
			if all += len(words); len(words) > 500 {
				t.Fatalf("%s has %d bytes", member, len(words))
			}
		}
	}
	if first := options[1].(map[string]any)["group"]; len(options) != 3001 || first != strings.Repeat("&", 500) || all > 1<<19 {
		t.Errorf("%d options with %d bytes, the first group is %q", len(options), all, first)
	}

	// The cursor's shape is the page's text too.
	var shape string
	w.page(`void (document.getElementById("paint").style.cursor = 'url("a),' + "b".repeat(1e5) + '"), pointer')`)
	if err := r.view.evaluate(w.session(), time.Minute, call(cursorScript, 100, 100), &shape); err != nil || shape == "" ||
		len(shape) > 40 {
		t.Errorf("the mouse's shape has %d bytes, %v", len(shape), err)
	}
}

// TestSizesAndNamesInAFlood: a viewer that only watches changes the capture and announces names at a limited rate, and the last value
// counts.
func TestSizesAndNamesInAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v, c := quietView()
		v.readonly = true
		l.capture.start(l)
		c.sent()
		for i := range 100 {
			v.receive(fmt.Appendf(nil, `{"type":"size","width":%d,"height":500}`, 500+i))
			v.receive(fmt.Appendf(nil, `{"type":"name","name":"name %d"}`, i))
		}
		<-time.After(sizePause)
		synctest.Wait()
		if got := c.sent(); !slices.Equal(got, []string{"Page.stopScreencast", "Page.startScreencast"}) || l.capture.width != 599 {
			t.Errorf("asked %v, the picture is %d wide", got, l.capture.width)
		}
		names := func() (out []any) {
			synctest.Wait()
			for _, m := range v.heard(t, "control") {
				out = append(out, m["viewers"].([]any)[0].(map[string]any)["name"])
			}
			return out
		}
		if got := names(); fmt.Sprint(got) != "[name 0]" {
			t.Errorf("told of %v", got)
		}
		<-time.After(namePause)
		if got := names(); fmt.Sprint(got) != "[name 99]" {
			t.Errorf("told of %v after the pause", got)
		}
		<-time.After(2 * namePause)
		v.receive([]byte(`{"type":"name","name":"name 99"}`))
		if got := names(); got != nil {
			t.Errorf("told of %v, which is no news", got)
		}
		v.receive([]byte(`{"type":"name","name":" "}`))
		if got := names(); fmt.Sprint(got) != "[]" || got == nil {
			t.Errorf("told of %q for no name", got)
		}
		<-time.After(namePause) // its pause ends within the test
		if got := c.sent(); got != nil {
			t.Errorf("asked %v", got)
		}
	})
}
