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

// This file keeps the list of a run's downloads beside their folder, so that it outlives the run, and tells the server of it.

// Download is a file that was downloaded in a run, or was to be.
type Download = browser.Download

// States of a Download; the last one is for what its run did not finish.
const (
	DownloadInProgress  = browser.DownloadInProgress
	DownloadComplete    = browser.DownloadComplete
	DownloadInterrupted = "interrupted"
)

// DownloadsDir is where the files of a profile's downloads lie, UploadsDir where those lie that the API was given.
func DownloadsDir(profileDir string) string { return filepath.Join(FilesDir(profileDir), "downloads") }

// UploadsDir is the folder of what was sent for a run's clients to hand to pages.
func UploadsDir(profileDir string) string { return filepath.Join(FilesDir(profileDir), "uploads") }

// FilesSize is how many bytes lie in a run's own folder.
func FilesSize(profileDir string) int64 { return browser.SizeOf(FilesDir(profileDir)) }

// UnfinishedUpload is how the names of files in FilesDir begin that are on their way in.
const UnfinishedUpload = ".incoming-"

// DropUnfinishedUploads removes what a server left that died while files came in.
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

// downloadsList is the file with the list. It lies beside the folder: clients get at what is in there.
func downloadsList(profileDir string) string { return filepath.Join(profileDir, "downloads.json") }

// listPeriod is how long changes of the list wait for more of them before they are written; they wait for listShare times as long as the writing took too.
const (
	listPeriod = 100 * time.Millisecond
	listShare  = 20
)

// keepDownloads writes the list of downloads whenever it has changed, until the browser has gone.
func (p *process) keepDownloads() {
	for {
		select {
		case <-p.browser.DownloadsChanged():
		case <-p.browser.Done():
			return
		}
		began := time.Now()
		p.writeDownloads()
		select {
		case <-time.After(max(listPeriod, listShare*time.Since(began))):
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

// writeDownloads writes the list whole or not at all.
func writeDownloads(profileDir string, all []Download) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false) // an & of an address would have six bytes
	if err := out.Encode(all); err != nil {
		return err
	}
	file := downloadsList(profileDir)
	if err := os.WriteFile(file+".new", text.Bytes(), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// StoredDownloads lists the downloads of a profile that does not run: those of its last run. What was under way then was interrupted. Files that no list
// knows of have Chrome's ids for names.
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
		if errors.Is(err, fs.ErrNotExist) || err == nil && (known[file] || !entry.Type().IsRegular() || strings.HasSuffix(file, ".crdownload")) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			all = append(all, Download{ID: entry.Name(), Name: entry.Name(), File: file, State: DownloadComplete, Received: info.Size(), Total: info.Size(),
				BeganAt: info.ModTime().UTC(), EndedAt: info.ModTime().UTC()})
		}
		return err
	})
	return all, err
}

// RemoveStoredDownload removes a download of a profile that does not run, and its file.
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
		if err := dropHalf(DownloadsDir(profileDir), one.ID); err != nil {
			return err
		}
	}
	if found != nil {
		return found
	}
	return writeDownloads(profileDir, rest)
}

// dropHalf removes what Chrome left of a download that it did not finish.
func dropHalf(dir, id string) error {
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

// removeBelow removes a file of a folder, and follows no link out of it.
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
	send(w, append([]Download{}, p.browser.Downloads()...))
}

func (p *process) serveRemoveDownload(w http.ResponseWriter, r *http.Request) {
	err := p.browser.RemoveDownload(r.URL.Query().Get("name"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "there is no such download", http.StatusNotFound)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		send(w, struct{}{})
	}
}

// Downloads lists the downloads of the run, the first first.
func (c *Client) Downloads(ctx context.Context) (all []Download, err error) {
	return all, c.call(ctx, http.MethodGet, "/downloads", nil, &all)
}

// RemoveDownload removes a download of the run, and its file; one that is under way is cancelled. It fails with fs.ErrNotExist where there is none.
func (c *Client) RemoveDownload(ctx context.Context, name string) error {
	res, err := c.ask(ctx, http.MethodDelete, "/downloads?name="+url.QueryEscape(name), nil)
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
