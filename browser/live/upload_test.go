//go:build !windows

package live

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"warren/testnet"
)

// wantsFiles makes the page ask for files, and returns the chooser's id.
func (w *watcher) wantsFiles() any {
	w.t.Helper()
	w.forget()
	w.click(100, 220)
	return w.hears("chooser", map[string]any{"newest": true})["id"]
}

// TestUploadsAreWholeOrNothing: a page gets complete files or none, even if the controls change hands, a piece is missing, or the disk is
// full.
func TestUploadsAreWholeOrNothing(t *testing.T) {
	r, address := liveBrowser(t)
	w := watch(t, r, address)
	w.sees(600, 300, red)
	second := watch(t, r, address)
	send := func(chooser any, size int, last bool, data string) {
		w.piece(map[string]any{"chooser": chooser, "file": 0, "files": 1, "name": "broken.txt", "size": size, "last": last}, data)
	}
	begin := func() any {
		chooser := w.wantsFiles()
		send(chooser, 10, false, "first")
		w.hears("uploaded", map[string]any{"chooser": chooser})
		w.forget()
		return chooser
	}
	over := func(chooser any) {
		t.Helper()
		w.hears("chooserClosed", map[string]any{"id": chooser})
		w.hears("error", map[string]any{"code": "upload_failed"})
		w.forget()
		send(chooser, 6, true, "second")
		w.hears("error", map[string]any{"about": "chooser"})
	}

	chooser := begin()
	second.send(map[string]any{"type": "control", "do": "take"})
	w.hears("control", map[string]any{"you": false})
	w.send(map[string]any{"type": "control", "do": "take"})
	w.hears("control", map[string]any{"you": true, "newest": true})
	over(chooser)

	chooser = begin()
	send(chooser, 10, true, "four")
	over(chooser)
	chooser = begin()
	send(chooser, 10, false, "too much")
	over(chooser)
	chooser = begin()
	r.view.mu.Lock()
	r.view.holder.upload.file.Close() // no piece can be written any more
	r.view.mu.Unlock()
	send(chooser, 10, false, "lost")
	over(chooser)
	chooser = begin()
	w.piece(map[string]any{"chooser": chooser, "file": 0, "files": 1, "size": maxUpload + 1}, "x")
	w.hears("error", map[string]any{"code": "too_many"})
	w.hears("chooserClosed", map[string]any{"id": chooser})

	chooser = w.wantsFiles()
	w.piece(map[string]any{"chooser": chooser, "file": 0, "files": 1, "name": "whole.txt", "size": 5, "last": true}, "whole")
	w.logs("files:whole.txt=whole#5")
	if log := w.page("document.body.dataset.log"); strings.Contains(log, "broken") {
		t.Errorf("the page has a broken file: %s", log)
	}
	testnet.Eventually(t, "what was broken is gone", func() bool {
		left, err := os.ReadDir(r.view.uploadFolder())
		return err == nil && len(left) == 1
	})
}

// TestDroppedUploads: an upload that is dropped during a write leaves nothing, and accepts nothing more.
func TestDroppedUploads(t *testing.T) {
	for range 20 {
		u := &upload{folder: t.TempDir(), quota: func() error { return nil }, at: -1, files: 1}
		began := make(chan struct{})
		var pieces sync.WaitGroup
		pieces.Go(func() {
			for i, err := 0, error(nil); err == nil; i++ {
				if _, _, err = u.add(piece{Files: 1, Name: "f", Size: maxUpload}, []byte("data")); i == 0 {
					close(began)
				}
			}
		})
		<-began
		u.drop()
		pieces.Wait()
		if left, err := os.ReadDir(u.folder); err != nil || len(left) != 0 {
			t.Fatalf("%v is left, %v", left, err)
		}
	}
	u := &upload{folder: t.TempDir(), quota: func() error { return errors.New("not asked") }, at: -1, files: 1}
	u.drop()
	if _, _, err := u.add(piece{Files: 1, Size: 1, Last: true}, []byte("x")); err == nil {
		t.Error("a piece was taken after the end")
	}
	if left, err := os.ReadDir(u.folder); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
