//go:build unix

package store

import "os"

// syncFolder makes the names of new files in a folder survive a power loss.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
