package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// isSnap reports whether a program is a snap. Its launcher needs to become root, which a namespace prevents. Ubuntu's chromium-browser is a
// script around a snap.
func isSnap(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if strings.HasPrefix(real, "/snap/") || real == "/usr/bin/snap" {
		return true
	}
	f, err := os.Open(real)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4<<10)
	n, _ := f.Read(head) // an unreadable file is no script
	return bytes.HasPrefix(head[:n], []byte("#!")) && bytes.Contains(head[:n], []byte("/snap/bin/"))
}
