package runs

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

// Manages the files of a profile: what its browsers download, and uploads for its pages.

// IsRunning reports whether a profile's browser accepts commands. During a start the error is profile_busy.
func (m *Manager) IsRunning(profileID string) (bool, error) {
	run, _, err := m.runningProcess(profileID)
	return run != nil, err
}

// Downloads lists the downloads of a profile's current or last run, newest first.
func (m *Manager) Downloads(ctx context.Context, profileID string) ([]Download, error) {
	run, client, err := m.runningProcess(profileID)
	if err != nil {
		return nil, err
	}
	var all []Download
	if run != nil {
		all, err = client.Downloads(ctx)
	}
	if run == nil || err != nil && ctx.Err() == nil { // the run has just ended, so its list on disk is complete
		all, err = shim.StoredDownloads(m.profileDir(profileID))
	}
	slices.Reverse(all)
	return all, err
}

// DownloadPath returns where a download is stored; "" if it has no file.
func (m *Manager) DownloadPath(profileID string, d Download) string {
	if d.File == "" {
		return ""
	}
	return filepath.Join(shim.DownloadsDir(m.profileDir(profileID)), filepath.FromSlash(d.File))
}

// OpenDownload opens a download that is complete.
func (m *Manager) OpenDownload(profileID string, d Download) (*os.File, error) {
	if d.State == shim.DownloadInProgress {
		return nil, problem.New(problem.Conflict, "download_in_progress",
			"The file is being downloaded. `state` in GET /profiles/{id}/downloads says when it is complete.")
	}
	if d.File == "" {
		return nil, NoDownload()
	}
	file, err := openBelow(shim.DownloadsDir(m.profileDir(profileID)), d.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, NoDownload()
	}
	return file, err
}

// openBelow opens a regular file of a folder. It follows no link out of the folder.
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

// RemoveDownload deletes a download, or cancels it if it is in progress.
func (m *Manager) RemoveDownload(ctx context.Context, profileID, name string) error {
	run, client, err := m.runningProcess(profileID)
	if err == nil && run != nil {
		err = client.RemoveDownload(ctx, name)
	} else if err == nil {
		release, failed := m.holdAtRest(ctx, profileID) // a start would empty the folder meanwhile
		if failed != nil {
			return StartsJustNow()
		}
		defer release()
		err = shim.RemoveStoredDownload(m.profileDir(profileID), name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return NoDownload()
	case err != nil && run != nil && ctx.Err() == nil && isClosed(run.done):
		return StartsJustNow()
	}
	return err
}

// MaxUpload is the size limit of an upload in bytes. The quota is checked after every uploadStep bytes.
const (
	MaxUpload  = 1 << 30
	uploadStep = 8 << 20
	maxUploads = 10_000 // files per profile, because every quota check walks through them
)

// Upload stores a file of at most most bytes for the pages of a profile's run. declared is its size in bytes; -1: not
// known. The file is stored completely or not at all. path is what DOM.setFileInputFiles takes: the run's
// browser sees the file there.
func (m *Manager) Upload(profileID, name string, body io.Reader, declared, most int64) (size int64, path string, err error) {
	dir := m.profileDir(profileID)
	size, err = m.receive(dir, name, body, declared, most)
	return size, filepath.Join(shim.UploadsDir(shim.SeenAt(dir)), name), err
}

// receive reads body into a temporary file, and moves it to the uploads when it is complete and synced.
func (m *Manager) receive(dir, name string, body io.Reader, declared, most int64) (size int64, err error) {
	if declared > most {
		return 0, tooLargeUpload(most)
	}
	if err := m.checkQuota(dir, max(declared, 0)); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(shim.FilesDir(dir))
	if err != nil {
		return 0, err
	}
	defer root.Close()
	there, err := fs.ReadDir(root.FS(), "uploads")
	if err != nil {
		return 0, err
	}
	if len(there) >= maxUploads {
		return 0, overQuota(fmt.Sprintf("The profile has %d uploads, which is the limit. Start it again, which "+
			"empties the folder.", len(there)))
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
		if size > most {
			return 0, tooLargeUpload(most)
		}
		if full := m.checkQuota(dir, 0); full != nil {
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

// checkQuota fails if the profile's files plus more bytes exceed the quota.
func (m *Manager) checkQuota(dir string, more int64) error {
	if m.cfg.FilesQuota == 0 || shim.FilesSize(dir)+more <= m.cfg.FilesQuota {
		return nil
	}
	return overQuota("The profile's uploads and downloads would be larger than --files-quota. Delete downloads, or start the " +
		"profile again, which empties the folder. Nothing was stored.")
}

func overQuota(detail string) *problem.Error {
	return problem.New(problem.Storage, "files_quota", detail)
}
