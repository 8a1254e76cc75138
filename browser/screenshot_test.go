//go:build !windows

package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"testing"
	"time"

	"warren/testnet"
)

// TestPictures: pictures show the requested tab in the requested size, and the page does not notice.
func TestPictures(t *testing.T) {
	p := pictureSite(t)
	b := p.start()
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	c := dial(t, serveGateway(t, b)+"/")
	behind, back := c.openTab("http://a.test/red")
	c.becomes(back, "document.readyState", `"complete"`)
	front, session := c.openTab("http://a.test/green")
	c.becomes(session, "document.readyState + document.body.dataset.size", fmt.Sprintf("%q", "complete"+size(c, session)))
	c.call(session, "Page.bringToFront", nil)
	c.becomes(session, "document.visibilityState", `"visible"`)
	c.value(session, "events.length = 0")
	look := func(shot ScreenshotOptions) {
		t.Helper()
		data, err := b.Screenshot(ctx, shot)
		if err != nil {
			t.Fatalf("%+v: %v", shot, err)
		}
		picture, format, err := image.Decode(bytes.NewReader(data))
		if err != nil || format != shot.Format {
			t.Fatalf("%+v: %s, %v", shot, format, err)
		}
		at := picture.Bounds().Size()
		if !near(colour(picture, at.X/2, at.Y/2), green) || (at.Y == 3000) != shot.FullPage {
			t.Errorf("%+v: %v, %v", shot, at, picture.At(at.X/2, at.Y/2))
		}
	}
	look(ScreenshotOptions{Format: "png"})
	look(ScreenshotOptions{Format: "jpeg", Quality: 80, Tab: front})
	if data, err := b.Screenshot(ctx, ScreenshotOptions{Format: "webp", Quality: 50}); err != nil ||
		!bytes.HasPrefix(data, []byte("RIFF")) {
		t.Errorf("webp: %v", err)
	}
	if noticed := c.value(session, "events.join()"); noticed != `""` {
		t.Errorf("the page noticed %s", noticed)
	}
	look(ScreenshotOptions{Format: "png", FullPage: true})
	data, err := b.Screenshot(ctx, ScreenshotOptions{Format: "png", Tab: behind})
	if err != nil {
		t.Fatalf("the tab behind: %v", err)
	}
	if picture, _, err := image.Decode(bytes.NewReader(data)); err != nil || !near(colour(picture, 50, 50), red) {
		t.Errorf("the tab behind: %v", err)
	}
	if got := c.value(session, "document.visibilityState"); got != `"visible"` {
		t.Errorf("then the tab in front is %s", got)
	}
	paper, err := b.PDF(ctx, PDFOptions{Landscape: true, Background: true})
	if err != nil || !bytes.HasPrefix(paper, []byte("%PDF-")) {
		t.Errorf("the paper: %v", err)
	}
	var fault *PageError
	if _, err := b.Screenshot(ctx, ScreenshotOptions{Format: "png", Tab: "nonsense"}); !errors.As(err, &fault) || fault.Kind != "no_tab" {
		t.Errorf("no such tab: %v", err)
	}
	c.call(session, "Page.enable", nil)
	c.send(session, "Runtime.evaluate", map[string]any{"expression": "alert()"})
	c.event("Page.javascriptDialogOpening")
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	if _, err := b.PDF(short, PDFOptions{Tab: front}); !errors.As(err, &fault) || fault.Kind != "not_answering" {
		t.Errorf("a page with a dialog: %v", err)
	}
	c.call(session, "Page.handleJavaScriptDialog", map[string]any{"accept": true})
}

// size returns a page's size as it reports it.
func size(c *tester, session string) string {
	return c.value(session, "innerWidth") + "x" + c.value(session, "innerHeight")
}

// pictureSite serves a green page that records events, and a red one.
func pictureSite(t *testing.T) *profile {
	t.Helper()
	p := newProfile(t)
	p.site.Mux.HandleFunc("/green", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<body style="margin: 0; background: #0f0; height: 3000px"><script>
			window.events = []; for (const e of ["resize", "visibilitychange", "focus", "blur", "scroll"]) {
				addEventListener(e, () => events.push(e)); document.addEventListener(e, () => events.push(e)) }
			document.body.dataset.size = innerWidth + "x" + innerHeight</script>`)
	})
	p.site.Mux.HandleFunc("/red", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<body style="background: #f00">`)
	})
	return p
}

// colour returns that of a pixel.
func colour(picture image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
}

func near(a, b color.RGBA) bool {
	off := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return off(a.R, b.R)+off(a.G, b.G)+off(a.B, b.B) < 60
}

var (
	red   = color.RGBA{255, 0, 0, 255}
	green = color.RGBA{0, 255, 0, 255}
)
