//go:build !windows

package live

import (
	"fmt"
	"testing"
)

// TestViewersDropNoAddresses: a page itself decides what is dragged. A viewer does not drop what Chrome must not open.
func TestViewersDropNoAddresses(t *testing.T) {
	r, _ := liveBrowser(t)
	for data, want := range map[string]bool{
		`{"items":[{"mimeType":"text/plain","data":"dragged"}],"dragOperationsMask":1}`:                         true,
		`{"items":[{"mimeType":"text/uri-list","data":"http://a.test/"}],"dragOperationsMask":1}`:               true,
		`{"items":[{"mimeType":"text/uri-list","data":"file:///etc/passwd"}],"dragOperationsMask":1}`:           false,
		`{"items":[{"mimeType":"text/uri-list","data":"http://a.test/\r\nchrome://settings"}]}`:                 false,
		`{"items":[],"files":["/etc/passwd"],"dragOperationsMask":1}`:                                           false,
		`{"items":[{"mimeType":"text/URI-list","data":"chrome-extension://` + fmt.Sprintf("%032d", 0) + `/"}]}`: false,
	} {
		r.view.mu.Lock()
		r.view.drag = drag{}
		r.view.onDrag([]byte(`{"data":` + data + `}`))
		if got := r.view.drag.data != nil; got != want {
			t.Errorf("%s is dragged: %v", data, got)
		}
		r.view.mu.Unlock()
	}
}
