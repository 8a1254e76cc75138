package packs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// syncAtOnce is how many files are brought to the disk at a time.
const syncAtOnce = 16

// syncTree waits until the disk has these files of a tree, which is in a folder, and the tree's folders.
func syncTree(ctx context.Context, dir string, t *Tree, files []string) error {
	if done, err := syncFileSystem(dir); done || err != nil {
		return err
	}
	syncing, ctx := errgroup.WithContext(ctx)
	syncing.SetLimit(syncAtOnce)
	for _, f := range files {
		syncing.Go(func() error { return errors.Join(ctx.Err(), syncFile(filepath.Join(dir, filepath.FromSlash(f)))) })
	}
	err := syncing.Wait()
	for _, d := range slices.Backward(t.Folders) {
		err = errors.Join(err, syncFolder(filepath.Join(dir, filepath.FromSlash(d.Path))))
	}
	return errors.Join(err, syncFolder(dir))
}

func syncFile(path string) error {
	flag := os.O_RDONLY
	if runtime.GOOS == "windows" { // FlushFileBuffers wants the right to write
		flag = os.O_RDWR
	}
	file, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
