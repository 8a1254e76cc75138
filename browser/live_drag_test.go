//go:build !windows

package browser

import (
	"fmt"
	"testing"
)

// TestViewersDropNoAddresses: a page says itself what is dragged. What Chrome must not open is not dropped for it by a viewer.
func TestViewersDropNoAddresses(t *testing.T) {
	p := newProfile(t)
	b := p.start()
	for data, want := range map[string]bool{
		`{"items":[{"mimeType":"text/plain","data":"dragged"}],"dragOperationsMask":1}`:                         true,
		`{"items":[{"mimeType":"text/uri-list","data":"http://a.test/"}],"dragOperationsMask":1}`:               true,
		`{"items":[{"mimeType":"text/uri-list","data":"file:///etc/passwd"}],"dragOperationsMask":1}`:           false,
		`{"items":[{"mimeType":"text/uri-list","data":"http://a.test/\r\nchrome://settings"}]}`:                 false,
		`{"items":[],"files":["/etc/passwd"],"dragOperationsMask":1}`:                                           false,
		`{"items":[{"mimeType":"text/URI-list","data":"chrome-extension://` + fmt.Sprintf("%032d", 0) + `/"}]}`: false,
	} {
		b.live.mu.Lock()
		b.live.drag = drag{}
		b.live.dragIntercepted([]byte(`{"data":` + data + `}`))
		if got := b.live.drag.data != nil; got != want {
			t.Errorf("%s is dragged: %v", data, got)
		}
		b.live.mu.Unlock()
	}
}
