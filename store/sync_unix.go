//go:build unix

package store

import "os"

// SyncFolder makes the names of new files in a folder survive a power loss.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
