package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"warren/problem"
	"warren/shim"
	"warren/store"
)

// What browsers of a profile downloaded, and what they are given.

// Download is a file that a browser downloads, or did.
type Download = shim.Download

// running is the profile's run and the hold on its process; both are nil when it does not run. One that starts empties the folder just now.
func (rs *runs) running(profileID string) (*profileRun, *shim.Client, error) {
	run := rs.of(profileID)
	if run == nil || run.bar {
		return nil, nil, nil
	}
	client, err := run.process()
	if err != nil {
		return nil, nil, startsJustNow()
	}
	return run, client, nil
}

// downloads lists what a profile's run downloaded, or its last one, the newest first.
func (rs *runs) downloads(ctx context.Context, profileID string) ([]Download, error) {
	run, client, err := rs.running(profileID)
	if err != nil {
		return nil, err
	}
	var all []Download
	if run != nil {
		all, err = client.Downloads(ctx)
	}
	if run == nil || err != nil && ctx.Err() == nil { // it has just ended: what it wrote is whole
		all, err = shim.StoredDownloads(rs.profileDir(profileID))
	}
	slices.Reverse(all)
	return all, err
}

// downloadPath is where a download lies; "" nowhere.
func (rs *runs) downloadPath(profileID string, d Download) string {
	if d.File == "" {
		return ""
	}
	return filepath.Join(shim.DownloadsDir(rs.profileDir(profileID)), filepath.FromSlash(d.File))
}

// openDownload opens a download that is complete.
func (rs *runs) openDownload(profileID string, d Download) (*os.File, error) {
	if d.State == shim.DownloadInProgress {
		return nil, problem.New(problem.Conflict, "download_in_progress",
			"The file is being downloaded. `state` in GET /profiles/{id}/downloads says when it is complete.")
	}
	if d.File == "" {
		return nil, noDownload()
	}
	file, err := openBelow(shim.DownloadsDir(rs.profileDir(profileID)), d.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noDownload()
	}
	return file, err
}

// openBelow opens a plain file of a folder, and follows no link out of it.
func openBelow(dir, name string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Lstat(filepath.FromSlash(name)); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fs.ErrNotExist, err)
	}
	return root.Open(filepath.FromSlash(name))
}

// removeDownload deletes a download, or cancels it.
func (rs *runs) removeDownload(ctx context.Context, profileID, name string) error {
	run, client, err := rs.running(profileID)
	if err == nil && run != nil {
		err = client.RemoveDownload(ctx, name)
	} else if err == nil {
		release := rs.hold(profileID) // a start would empty the folder meanwhile
		if release == nil {
			return startsJustNow()
		}
		defer release()
		err = shim.RemoveStoredDownload(rs.profileDir(profileID), name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noDownload()
	case err != nil && run != nil && ctx.Err() == nil && isClosed(run.gone):
		return startsJustNow()
	}
	return err
}

func startsJustNow() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy", "The profile is starting, which empties its folder, or stops just now. Ask again in a moment.")
}

func noDownload() *problem.Error {
	return problem.New(problem.NotFound, "download_not_found", "There is no file of this name. GET /profiles/{id}/downloads lists what there is; "+
		"it is kept until the profile starts the next time.")
}

// maxUpload is how large a file may be that is sent for a page, and uploadStep after how many bytes the quota is looked at again.
const (
	maxUpload  = 1 << 30
	uploadStep = 8 << 20
	maxUploads = 10_000 // files of one profile: every look at the quota goes through them
)

func tooLargeUpload(most int64) *problem.Error {
	return problem.New(problem.TooLarge, "body_too_large", fmt.Sprintf("The file is larger than %d bytes. Nothing was kept.", most))
}

// upload takes a file of most bytes at the most in, for the pages of a profile's run. declared is its size where it is known, else -1. The file is there
// whole or not at all. It gives the path that DOM.setFileInputFiles takes.
func (rs *runs) upload(profileID, name string, body io.Reader, declared, most int64) (size int64, path string, err error) {
	u := &upload{profileDir: rs.profileDir(profileID), most: most, quota: rs.cfg.FilesQuota}
	size, err = u.take(name, body, declared)
	return size, filepath.Join(shim.UploadsDir(u.profileDir), name), err
}

// upload is a file on its way in.
type upload struct {
	profileDir  string
	most, quota int64
}

// take reads body into a file beside the uploads, and moves it among them when it is whole and on the disk.
func (u *upload) take(name string, body io.Reader, declared int64) (size int64, err error) {
	if declared > u.most {
		return 0, tooLargeUpload(u.most)
	}
	if err := u.room(max(declared, 0)); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(shim.FilesDir(u.profileDir))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	there, err := fs.ReadDir(root.FS(), "uploads")
	if err != nil {
		return 0, err
	}
	if len(there) >= maxUploads {
		return 0, noRoom(fmt.Sprintf("The profile has %d uploads, which is as many as it may have. Start it anew, which empties the folder.", len(there)))
	}
	part := shim.UnfinishedUpload + store.NewID()
	file, err := root.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), root.Remove(part))
		}
	}()
	for {
		n, err := io.CopyN(file, body, uploadStep)
		size += n
		if size > u.most {
			return 0, tooLargeUpload(u.most)
		}
		if full := u.room(0); full != nil {
			return 0, full
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return 0, err
	}
	return size, root.Rename(part, "uploads/"+name)
}

// room says whether the folder, with what it has and more bytes, is within the quota.
func (u *upload) room(more int64) error {
	if u.quota == 0 || shim.FilesSize(u.profileDir)+more <= u.quota {
		return nil
	}
	return noRoom("The profile's uploads and downloads would be larger than --files-quota. Delete downloads, or start the profile anew, which empties the folder. Nothing was kept.")
}

func noRoom(detail string) *problem.Error {
	return problem.New(problem.Storage, "files_quota", detail)
}
