//go:build !windows

package live

import (
	"bytes"
	"context"
	"errors"
	"image/jpeg"
	"testing"

	"warren/browser"
	"warren/testnet"
)

// TestThumbnail: a thumbnail shows the tab in front, is small, is reused for a while, and disturbs neither the page nor a viewer.
func TestThumbnail(t *testing.T) {
	r, address := liveBrowser(t)
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	var first []byte
	for range 2 {
		data, err := r.view.Thumbnail(ctx)
		if err != nil {
			t.Fatal(err)
		}
		picture, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		size := picture.Bounds().Size()
		if size.X > thumbnailWidth || size.Y > thumbnailHeight || !near(colour(picture, size.X/2, size.Y/2), red) {
			t.Errorf("a picture of %v, %v in the middle", size, picture.At(size.X/2, size.Y/2))
		}
		if first == nil {
			first = data
		}
		if !bytes.Equal(first, data) {
			t.Error("the second thumbnail is not the first, which is kept for a while")
		}
	}
	w := watch(t, r, address)
	w.sees(600, 300, red)
	shown, err := r.view.Thumbnail(ctx)
	if err != nil || len(shown) <= len(first) {
		t.Errorf("while somebody watches: %d bytes, %v, want a frame of the view", len(shown), err)
	}
	w.click(100, 100)
	w.sees(600, 300, green)
}

// TestNoThumbnail: a browser without a page has none.
func TestNoThumbnail(t *testing.T) {
	l, _, _ := quietView()
	var fault *browser.PageError
	if _, err := l.Thumbnail(t.Context()); !errors.As(err, &fault) || fault.Kind != "no_page" {
		t.Errorf("%v", err)
	}
}
