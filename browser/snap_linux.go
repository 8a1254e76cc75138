package browser

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// isSnap reports whether a program is one of snapd's. Its launcher needs the right to become root, which a namespace takes away.
// Ubuntu's chromium-browser is a script around one.
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
	n, _ := f.Read(head) // what cannot be read is no script
	return bytes.HasPrefix(head[:n], []byte("#!")) && bytes.Contains(head[:n], []byte("/snap/bin/"))
}
