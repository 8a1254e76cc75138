package api

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
	"time"
	"unicode"
	"unicode/utf8"

	"warren/disk"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Serves the files of a run: its browser's downloads, and uploads for its pages. Both are in the run's own folder, which the
// profile's next start empties.

// DownloadJSON is a download as the API shows it.
type DownloadJSON struct {
	ID         string     `json:"id" doc:"The browser's own id: guid in events of the Chrome DevTools Protocol, and the file name that Playwright expects." example:"3089453d-32e6-4bc4-ae20-895f49d284df"`
	Name       string     `json:"name" doc:"The name from the site, sanitized, with a number if another download of the run has it." example:"a report (1).pdf"`
	Size       int64      `json:"size" doc:"Bytes received." example:"48211"`
	TotalBytes *int64     `json:"totalBytes" doc:"The size that the site announced." example:"48211"`
	State      string     `json:"state" enum:"in_progress,complete,cancelled,interrupted" doc:"interrupted: the run ended before the download."`
	Reason     *string    `json:"reason" doc:"Why the server cancelled it: files_quota."`
	URL        string     `json:"url" doc:"The address of the file; a long one is truncated." example:"https://example.com/report"`
	StartedAt  time.Time  `json:"startedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	EndedAt    *time.Time `json:"endedAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	Path       *string    `json:"path" doc:"The file's path on the server's machine." example:"/var/lib/warren/profiles/0199a1c2-7d3e-7a10-8a55-0123456789ab/files/downloads/3089453d-32e6-4bc4-ae20-895f49d284df"`
}

func (DownloadJSON) example() any {
	return DownloadJSON{ID: "3089453d-32e6-4bc4-ae20-895f49d284df", Name: "report.pdf", Size: 48211, TotalBytes: new(int64(48211)),
		State: "complete", URL: "https://example.com/report",
		StartedAt: exampleTime(), EndedAt: new(exampleTime().Add(1200 * time.Millisecond)),
		Path: new("/var/lib/warren/profiles/" + exampleProfileID + "/files/downloads/3089453d-32e6-4bc4-ae20-895f49d284df")}
}

func (s *API) downloadJSON(profileID string, d runs.Download) DownloadJSON {
	j := DownloadJSON{ID: d.ID, Name: d.Name, Size: d.Received, State: d.State, Reason: orNull(d.Reason), URL: d.URL,
		StartedAt: d.BeganAt.UTC(), Path: orNull(s.runs.DownloadPath(profileID, d))}
	if d.Total > 0 {
		j.TotalBytes = &d.Total
	}
	if !d.EndedAt.IsZero() {
		j.EndedAt = new(d.EndedAt.UTC())
	}
	return j
}

// maxListings is how many lists of downloads are read at a time. Each may take some megabytes of memory.
const maxListings = 4

// downloadsOf returns the downloads of a profile's run, or of its last one, newest first.
func (s *API) downloadsOf(ctx context.Context, id string) (all []runs.Download, err error) {
	row, err := s.profileRow(ctx, id, false)
	if err != nil {
		return nil, err
	}
	select {
	case s.listings <- struct{}{}:
		defer func() { <-s.listings }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.runs.Downloads(ctx, row.ID)
}

// downloadList is what a list of downloads can be asked for.
type downloadList struct {
	ProfilePath
	Paging
}

func (downloadList) problems() []*problem.Error { return []*problem.Error{runs.StartsJustNow()} }

func (s *API) listDownloads(ctx context.Context, in *downloadList) (*listBody[DownloadJSON], error) {
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
	place := func(d runs.Download) (int64, string) { return d.BeganAt.UnixMilli(), d.ID }
	page := pageOf(all[from:], int64(len(all)), in.Limit, place)
	return answerList(page, in.Paging, func(d runs.Download) (DownloadJSON, error) { return s.downloadJSON(in.ID, d), nil })
}

// downloadsAfter returns the index at which a walk through the list continues. If that download was deleted meanwhile, only its time
// is known: those of the same millisecond are repeated.
func (s *API) downloadsAfter(ctx context.Context, all []runs.Download, after string) (int, error) {
	index := func(id string) int { return slices.IndexFunc(all, func(d runs.Download) bool { return d.ID == id }) }
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
	if at := slices.IndexFunc(all, func(d runs.Download) bool { return d.BeganAt.UnixMilli() <= began }); at >= 0 {
		return at, nil
	}
	return len(all), nil
}

// checkFileName returns an error for names that are no single path element, too long, or have invisible characters.
func checkFileName(name string) error {
	hidden := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
	switch {
	case name == "." || name == "..", strings.ContainsAny(name, `/\`), !filepath.IsLocal(name), filepath.VolumeName(name) != "":
		return problem.NotValid(problem.Fault{Location: "path.name", Message: "Enter the name of a file, without folders."})
	case len(name) > 255:
		return problem.NotValid(problem.Fault{Location: "path.name", Message: "Shorten the file's name to at most 255 bytes."})
	case !utf8.ValidString(name), strings.ContainsFunc(name, hidden):
		return problem.NotValid(problem.Fault{Location: "path.name",
			Message: "Remove invisible characters from the file's name, and send it as UTF-8."})
	}
	return nil
}

// getDownload sends a file or a range of it. Its headers keep browsers from showing it as a page of this server.
func (s *API) getDownload(w http.ResponseWriter, r *http.Request) error {
	if err := checkFileName(r.PathValue("name")); err != nil {
		return err
	}
	id := r.PathValue("id")
	ctx, release, err := s.longLived(r.Context())
	if err != nil {
		return err
	}
	defer release()
	all, err := s.downloadsOf(ctx, id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(d runs.Download) bool { return d.Name == r.PathValue("name") })
	if i < 0 {
		return runs.NoDownload()
	}
	file, err := s.runs.OpenDownload(id, all[i])
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
	stop := context.AfterFunc(ctx, func() {
		http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)) //nolint:errcheck // without a deadline it is sent to its end
	})
	defer stop()
	http.ServeContent(w, r, "", all[i].EndedAt, file)
	return nil
}

// downloadDelete names a download to delete.
type downloadDelete struct {
	ProfilePath
	Name string `path:"name" doc:"The download's name."`
}

func (downloadDelete) problems() []*problem.Error {
	return []*problem.Error{runs.StartsJustNow(), runs.NoDownload()}
}

func (s *API) deleteDownload(ctx context.Context, in *downloadDelete) (*struct{}, error) {
	if err := checkFileName(in.Name); err != nil {
		return nil, err
	}
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	return nil, s.runs.RemoveDownload(ctx, row.ID, in.Name)
}

// UploadJSON is an uploaded file, which pages of the run can be given.
type UploadJSON struct {
	Name string `json:"name" example:"photo.jpg"`
	Size int64  `json:"size" example:"48211"`
	Path string `json:"path" doc:"The path for DOM.setFileInputFiles, from any client of the run." example:"/var/lib/warren/profiles/0199a1c2-7d3e-7a10-8a55-0123456789ab/files/uploads/photo.jpg"`
}

func (UploadJSON) example() any {
	return UploadJSON{Name: "photo.jpg", Size: 48211, Path: "/var/lib/warren/profiles/" + exampleProfileID + "/files/uploads/photo.jpg"}
}

// putUpload stores a file for the pages of a run. The file appears once it is complete.
func (s *API) putUpload(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := checkFileName(name); err != nil {
		return err
	}
	row, err := s.profileRow(r.Context(), r.PathValue("id"), false)
	if err != nil {
		return err
	}
	if running, err := s.runs.IsRunning(row.ID); err != nil {
		return err
	} else if !running {
		return runs.NotRunning()
	}
	if err := s.hasRoom(r.Context(), row.WorkspaceID); err != nil {
		return err
	}
	if b, ok := r.Body.(*timedBody); ok {
		b.step = bodyTime // a large file may take longer as long as bytes arrive
	}
	ctx, release, err := s.longLived(r.Context())
	if err != nil {
		return err
	}
	defer release()
	done, err := s.uploadQuota.acquire(row.ID)
	if err != nil {
		return err
	}
	defer done()
	size, path, err := s.runs.Upload(row.ID, name, keyedBody{r.Body, ctx}, r.ContentLength, cmp.Or(s.cfg.UploadLimit, runs.MaxUpload))
	if err != nil {
		return uploadProblem(r, err)
	}
	if err := s.audit(r.Context(), "upload.write", row.WorkspaceID, row.ID, map[string]any{"name": name, "size": size}); err != nil {
		return err
	}
	return writeJSON(w, r, http.StatusOK, UploadJSON{Name: name, Size: size, Path: path})
}

// keyedBody is a request body that fails once the context ends, as it does with the caller's key.
type keyedBody struct {
	io.Reader
	until context.Context
}

func (b keyedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF { // net/http ends the request's context too then, and the key is as good as before
		return n, err
	}
	if b.until.Err() != nil {
		return 0, unauthorized()
	}
	return n, err
}

// uploadProblem maps the error of a failed upload to its problem.
func uploadProblem(r *http.Request, err error) error {
	switch {
	case errors.As(err, new(*problem.Error)):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return refusedByHuma(http.StatusRequestTimeout)
	case disk.IsFull(err):
		return problem.DiskFull(err)
	case errors.Is(err, io.ErrUnexpectedEOF), r.Context().Err() != nil:
		return context.Canceled
	case errors.Is(err, fs.ErrNotExist): // the run ended and another one began
		return runs.NotRunning()
	}
	return err
}
