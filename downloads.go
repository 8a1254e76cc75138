package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"warren/problem"
	"warren/shim"
	"warren/store"
)

// This file gives out what a profile's browser downloaded, and takes in what its pages are to be given. Both lie in the run's own folder, which is emptied
// when the profile starts.

// DownloadJSON is a download as the API shows it.
type DownloadJSON struct {
	ID         string     `json:"id" doc:"The browser's own id: guid in the events of the Chrome DevTools Protocol, and the name of the file that Playwright looks for." example:"3089453d-32e6-4bc4-ae20-895f49d284df"`
	Name       string     `json:"name" doc:"As the site called it, made harmless, and with a number where another of the run has that name." example:"a report (1).pdf"`
	Size       int64      `json:"size" doc:"Bytes, so far or in all." example:"48211"`
	TotalBytes *int64     `json:"totalBytes" doc:"What it will have in all, where the site told." example:"48211"`
	State      string     `json:"state" enum:"in_progress,complete,cancelled,interrupted" doc:"interrupted: its run ended before it did."`
	Reason     *string    `json:"reason" doc:"Of one that is cancelled, where it was not the client's or the site's doing: files_quota."`
	URL        string     `json:"url" doc:"Where it came from; of a long address the beginning." example:"https://example.com/report"`
	StartedAt  time.Time  `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	EndedAt    *time.Time `json:"endedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	Path       *string    `json:"path" doc:"Where the file lies on the server's machine." example:"/var/lib/warren/profiles/0199a1c2-7d3e-7a10-8a55-0123456789ab/files/downloads/3089453d-32e6-4bc4-ae20-895f49d284df"`
}

func (s *server) downloadJSON(profileID string, d shim.Download) DownloadJSON {
	j := DownloadJSON{ID: d.ID, Name: d.Name, Size: d.Received, State: d.State, URL: d.URL, StartedAt: d.BeganAt.UTC()}
	if d.Total > 0 {
		j.TotalBytes = &d.Total
	}
	if d.Reason != "" {
		j.Reason = &d.Reason
	}
	if !d.EndedAt.IsZero() {
		j.EndedAt = new(d.EndedAt.UTC())
	}
	if d.File != "" {
		j.Path = new(filepath.Join(shim.DownloadsDir(s.runs.profileDir(profileID)), filepath.FromSlash(d.File)))
	}
	return j
}

// runOf is the profile's run and the hold on it; both are nil when it does not run. One that starts empties the folder just now.
func (s *server) runOf(profileID string) (*profileRun, *shim.Client, error) {
	run := s.runs.of(profileID)
	if run == nil || run.bar {
		return nil, nil, nil
	}
	client, err := run.process()
	if err != nil {
		return nil, nil, startsJustNow()
	}
	return run, client, nil
}

// listsAtOnce is how many lists of downloads are read at a time: each has some megabytes at most.
const listsAtOnce = 4

// downloadsOf lists a profile's downloads, the newest first: of its run, or of its last one.
func (s *server) downloadsOf(ctx context.Context, id string) (all []shim.Download, err error) {
	row, err := s.profileRow(ctx, id, false)
	if err != nil {
		return nil, err
	}
	run, client, err := s.runOf(row.ID)
	if err != nil {
		return nil, err
	}
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if run != nil {
		all, err = client.Downloads(ctx)
	}
	if run == nil || err != nil && ctx.Err() == nil { // it has just ended: what it wrote is whole
		all, err = shim.StoredDownloads(s.runs.profileDir(row.ID))
	}
	slices.Reverse(all)
	return all, err
}

func (s *server) listDownloads(ctx context.Context, in *struct {
	ProfilePath
	Paging
}) (*listBody[DownloadJSON], error) {
	all, err := s.downloadsOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	from := int(min(in.offset(), int64(len(all))))
	if in.After != "" {
		if from, err = s.downloadsAfter(ctx, all, in.After); err != nil {
			return nil, err
		}
	}
	rest := all[from:]
	n := min(in.Limit, len(rest))
	page := store.Page[shim.Download]{Rows: rest[:n], Total: int64(len(all)), More: n < len(rest)}
	if n > 0 {
		page.Next = store.Place{Order: byTime, Number: rest[n-1].BeganAt.UnixMilli(), ID: rest[n-1].ID}
	}
	return answerList(page, in.Paging, func(d shim.Download) (DownloadJSON, error) { return s.downloadJSON(in.ID, d), nil })
}

// downloadsAfter finds where a walk goes on. Of one that was removed meanwhile the time alone is known: those that began in the same
// millisecond come again.
func (s *server) downloadsAfter(ctx context.Context, all []shim.Download, after string) (int, error) {
	index := func(id string) int { return slices.IndexFunc(all, func(d shim.Download) bool { return d.ID == id }) }
	began, id, err := s.goOn(ctx, after, "download", func(id string) (int64, error) {
		if index(id) < 0 {
			return 0, store.ErrGone
		}
		return 0, nil
	})
	if err != nil {
		return 0, err
	}
	if at := index(id); at >= 0 {
		return at + 1, nil
	}
	if at := slices.IndexFunc(all, func(d shim.Download) bool { return d.BeganAt.UnixMilli() <= began }); at >= 0 {
		return at, nil
	}
	return len(all), nil
}

// checkFileName says what is wrong with the name of a file in an address.
func checkFileName(name string) error {
	hidden := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
	switch {
	case name == "." || name == "..", strings.ContainsAny(name, `/\`), !filepath.IsLocal(name), filepath.VolumeName(name) != "":
		return problem.NotValid(problem.Fault{Location: "path.name", Message: "must be a file's name, without folders"})
	case len(name) > 255:
		return problem.NotValid(problem.Fault{Location: "path.name", Message: "must have at most 255 bytes"})
	case !utf8.ValidString(name), strings.ContainsFunc(name, hidden):
		return problem.NotValid(problem.Fault{Location: "path.name", Message: "must be UTF-8 without characters that cannot be seen"})
	}
	return nil
}

func startsJustNow() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy", "The profile is starting, which empties its folder, or stops just now. Ask again in a moment.")
}

func noDownload() *problem.Error {
	return problem.New(problem.NotFound, "download_not_found", "There is no file of this name. GET /profiles/{id}/downloads lists what there is; it is kept until the profile starts the next time.")
}

// getDownload answers a file, or a part of it (Range). Whatever it is, no browser shows it as a page of this server's.
func (s *server) getDownload(w http.ResponseWriter, r *http.Request) error {
	if err := checkFileName(r.PathValue("name")); err != nil {
		return err
	}
	id := r.PathValue("id")
	ctx, leave, err := s.lasting(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	all, err := s.downloadsOf(ctx, id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(d shim.Download) bool { return d.Name == r.PathValue("name") })
	switch {
	case i < 0:
		return noDownload()
	case all[i].State == shim.DownloadInProgress:
		return problem.New(problem.Conflict, "download_in_progress", "The file is being downloaded. `state` in GET /profiles/{id}/downloads says when it is complete.")
	case all[i].File == "":
		return noDownload()
	}
	file, err := openBelow(shim.DownloadsDir(s.runs.profileDir(id)), all[i].File)
	if errors.Is(err, fs.ErrNotExist) {
		return noDownload()
	}
	if err != nil {
		return err
	}
	defer file.Close()
	h := w.Header()
	kind := mime.TypeByExtension(path.Ext(all[i].Name))
	if kind == "" {
		kind = "application/octet-stream"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": all[i].Name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("ETag", fmt.Sprintf("%q", all[i].ID))
	ended := context.AfterFunc(ctx, func() { http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)) }) //nolint:errcheck // then it goes on to its end
	defer ended()
	http.ServeContent(w, r, "", all[i].EndedAt, file)
	return nil
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

func (s *server) deleteDownload(ctx context.Context, in *struct {
	ProfilePath
	Name string `path:"name" doc:"The download's name."`
}) (*struct{}, error) {
	if err := checkFileName(in.Name); err != nil {
		return nil, err
	}
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	run, client, err := s.runOf(row.ID)
	if err == nil && run != nil {
		err = client.RemoveDownload(ctx, in.Name)
	} else if err == nil {
		release := s.runs.bar(row.ID) // a start would empty the folder meanwhile
		if release == nil {
			return nil, startsJustNow()
		}
		defer release()
		err = shim.RemoveStoredDownload(s.runs.profileDir(row.ID), in.Name)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noDownload()
	case err != nil && run != nil && ctx.Err() == nil && isClosed(run.gone):
		return nil, startsJustNow()
	}
	return nil, err
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

// UploadJSON is a file that pages can be given.
type UploadJSON struct {
	Name string `json:"name" example:"photo.jpg"`
	Size int64  `json:"size" example:"48211"`
	Path string `json:"path" doc:"What DOM.setFileInputFiles takes, from any client of the run." example:"/var/lib/warren/profiles/0199a1c2-7d3e-7a10-8a55-0123456789ab/files/uploads/photo.jpg"`
}

// putUpload takes a file in, for the pages of a run. It is there whole or not at all.
func (s *server) putUpload(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := checkFileName(name); err != nil {
		return err
	}
	row, err := s.profileRow(r.Context(), r.PathValue("id"), false)
	if err != nil {
		return err
	}
	run, _, err := s.runOf(row.ID)
	if err != nil {
		return err
	}
	if run == nil {
		return notRunning()
	}
	if b, ok := r.Body.(*timedBody); ok {
		b.step = bodyTime // a large file may take longer, as long as it comes
	}
	ctx, leave, err := s.lasting(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	done, err := s.uploads.enter(row.ID)
	if err != nil {
		return err
	}
	defer done()
	u := &upload{profileDir: s.runs.profileDir(row.ID), most: cmp.Or(s.cfg.UploadLimit.bytes(), maxUpload), quota: s.cfg.FilesQuota.bytes()}
	size, err := u.take(name, keyedBody{r.Body, ctx}, r.ContentLength)
	if err != nil {
		return uploadProblem(r, err)
	}
	return writeJSON(w, r, http.StatusOK, UploadJSON{Name: name, Size: size, Path: filepath.Join(shim.UploadsDir(u.profileDir), name)})
}

// keyedBody is a request's body that is taken no further when the context ends, which the caller's key does.
type keyedBody struct {
	io.Reader
	until context.Context
}

func (b keyedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.until.Err() != nil {
		return 0, unauthorized()
	}
	return n, err
}

// uploadProblem gives an upload that was not taken its problem.
func uploadProblem(r *http.Request, err error) error {
	var p *problem.Error
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refusedByHuma(http.StatusRequestTimeout)
	case errors.Is(err, syscall.ENOSPC):
		return problem.DiskFull(err)
	case errors.Is(err, io.ErrUnexpectedEOF), r.Context().Err() != nil:
		return context.Canceled
	case errors.Is(err, fs.ErrNotExist): // its run ended, and another began
		return notRunning()
	}
	return err
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

// byteSize is a number of bytes on the command line: 5368709120, 5GiB, 500MiB, 64KiB. 0 is no limit.
type byteSize string

func (b byteSize) bytes() int64 {
	n, _ := b.parse()
	return n
}

func (b byteSize) parse() (n int64, ok bool) {
	text, unit := string(b), int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40} {
		if number, found := strings.CutSuffix(text, suffix); found {
			text, unit = strings.TrimSpace(number), size
		}
	}
	if len(text) > 15 || text == "" && b != "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	for _, digit := range text {
		n = n*10 + int64(digit-'0')
	}
	if n > (1<<50)/unit {
		return 0, false
	}
	return n * unit, true
}
