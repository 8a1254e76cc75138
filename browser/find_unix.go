//go:build !windows

package browser

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// runnable returns why this process may not run path.
func runnable(path string, _ fs.FileInfo) error {
	if unix.Access(path, unix.X_OK) != nil {
		return &fs.PathError{Op: "run", Path: path, Err: errors.New("it is not executable")}
	}
	return nil
}

func installedAt(ctx context.Context, path string) (Installed, error) { return askVersion(ctx, path) }
