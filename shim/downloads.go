package shim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"warren/browser"
)

// Stores the list of a run's downloads beside their folder, so that it outlives the run, and serves it to the server.

// Download is a file that a run downloads or has downloaded.
type Download = browser.Download

// States of a Download. A download is interrupted when its run ended before it was complete.
const (
	DownloadInProgress  = browser.DownloadInProgress
	DownloadComplete    = browser.DownloadComplete
	DownloadInterrupted = "interrupted"
)

// DownloadsDir returns the folder of a profile's downloads.
func DownloadsDir(profileDir string) string { return filepath.Join(FilesDir(profileDir), "downloads") }

// UploadsDir returns the folder of the files that the API received for a run's clients to give to pages.
func UploadsDir(profileDir string) string { return filepath.Join(FilesDir(profileDir), "uploads") }

// FilesSize returns the size in bytes of a run's own folder.
func FilesSize(profileDir string) int64 { return browser.SizeOf(FilesDir(profileDir)) }

// UnfinishedUpload is the prefix of files in FilesDir that are still being received.
const UnfinishedUpload = ".incoming-"

// DropUnfinishedUploads removes the files that a server was receiving when it died.
func DropUnfinishedUploads(profileDir string) error {
	root, err := os.OpenRoot(FilesDir(profileDir))
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), UnfinishedUpload) {
			err = errors.Join(err, root.Remove(e.Name()))
		}
	}
	return err
}

// downloadsList is the path of the list. It lies outside of the folder, which clients can access.
func downloadsList(profileDir string) string { return filepath.Join(profileDir, "downloads.json") }

// A changed list is written after listDelay, or after listFactor times the duration of the last write if that is
// longer.
const (
	listDelay  = 100 * time.Millisecond
	listFactor = 20
)

// persistDownloads writes the list of downloads whenever it has changed, until the browser has exited.
func (p *process) persistDownloads() {
	for {
		select {
		case <-p.browser.DownloadsChanged():
		case <-p.browser.Done():
			return
		}
		began := time.Now()
		p.writeDownloads()
		select {
		case <-time.After(max(listDelay, listFactor*time.Since(began))):
		case <-p.browser.Done():
			return
		}
	}
}

func (p *process) writeDownloads() {
	if err := writeDownloads(p.spec.ProfileDir, p.browser.Downloads()); err != nil {
		p.log.Error("the list of downloads could not be written", "cause", err)
	}
}

// writeDownloads writes the list atomically.
func writeDownloads(profileDir string, all []Download) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false) // an escaped & would take six bytes
	if err := out.Encode(all); err != nil {
		return err
	}
	file := downloadsList(profileDir)
	return replaceFile(file, file+".new", text.Bytes())
}

// StoredDownloads lists the downloads of a profile's last run, while the profile does not run. Those that were in
// progress count as interrupted. Files that are in no list have Chrome's ids for names.
func StoredDownloads(profileDir string) ([]Download, error) {
	text, err := os.ReadFile(downloadsList(profileDir))
	var all []Download
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	known := map[string]bool{}
	for i := range all {
		if known[all[i].File] = true; all[i].State == DownloadInProgress {
			all[i].State = DownloadInterrupted
		}
	}
	dir := DownloadsDir(profileDir)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		file := filepath.ToSlash(rel)
		if errors.Is(err, fs.ErrNotExist) || err == nil &&
			(known[file] || !entry.Type().IsRegular() || strings.HasSuffix(file, ".crdownload")) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			all = append(all, Download{ID: entry.Name(), Name: entry.Name(), File: file, State: DownloadComplete,
				Received: info.Size(), Total: info.Size(), BeganAt: info.ModTime().UTC(), EndedAt: info.ModTime().UTC()})
		}
		return err
	})
	return all, err
}

// RemoveStoredDownload removes a download, and its file, of a profile that does not run.
func RemoveStoredDownload(profileDir, name string) error {
	all, err := StoredDownloads(profileDir)
	if err != nil {
		return err
	}
	rest, found := make([]Download, 0, len(all)), fs.ErrNotExist
	for _, one := range all {
		if one.Name != name {
			rest = append(rest, one)
			continue
		}
		if found = nil; one.File != "" {
			if err := removeBelow(DownloadsDir(profileDir), one.File); err != nil {
				return err
			}
		}
		if err := removePartial(DownloadsDir(profileDir), one.ID); err != nil {
			return err
		}
	}
	if found != nil {
		return found
	}
	return writeDownloads(profileDir, rest)
}

// removePartial removes the file of a download that Chrome did not finish.
func removePartial(dir, id string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == id+".crdownload" {
			return os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// removeBelow removes a file of a folder. It follows no link out of the folder.
func removeBelow(dir, file string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (p *process) serveDownloads(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, append([]Download{}, p.browser.Downloads()...))
}

func (p *process) serveRemoveDownload(w http.ResponseWriter, r *http.Request) {
	err := p.browser.RemoveDownload(r.URL.Query().Get("name"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "there is no such download", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		writeJSON(w, struct{}{})
	}
}

// Downloads lists the downloads of the run, oldest first.
func (c *Client) Downloads(ctx context.Context) ([]Download, error) {
	return ask[[]Download](ctx, c, "/downloads")
}

// RemoveDownload removes a download of the run and its file. One in progress is cancelled. It fails with
// fs.ErrNotExist if there is none.
func (c *Client) RemoveDownload(ctx context.Context, name string) error {
	res, err := c.do(ctx, http.MethodDelete, "/downloads?name="+url.QueryEscape(name), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusNotFound:
		return fs.ErrNotExist
	}
	return errors.New("the run's process answered " + res.Status)
}
