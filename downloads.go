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

func (s *server) downloadJSON(profileID string, d Download) DownloadJSON {
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
	j.Path = orNull(s.runs.downloadPath(profileID, d))
	return j
}

// listsAtOnce is how many lists of downloads are read at a time: each has some megabytes at most.
const listsAtOnce = 4

// downloadsOf lists a profile's downloads, the newest first: of its run, or of its last one.
func (s *server) downloadsOf(ctx context.Context, id string) (all []Download, err error) {
	row, err := s.profileRow(ctx, id, false)
	if err != nil {
		return nil, err
	}
	select {
	case s.listing <- struct{}{}:
		defer func() { <-s.listing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.runs.downloads(ctx, row.ID)
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
	page := store.Page[Download]{Rows: rest[:n], Total: int64(len(all)), More: n < len(rest)}
	if n > 0 {
		page.Next = store.Place{Order: byTime, Number: rest[n-1].BeganAt.UnixMilli(), ID: rest[n-1].ID}
	}
	return answerList(page, in.Paging, func(d Download) (DownloadJSON, error) { return s.downloadJSON(in.ID, d), nil })
}

// downloadsAfter finds where a walk goes on. Of one that was removed meanwhile the time alone is known: those that began in the same
// millisecond come again.
func (s *server) downloadsAfter(ctx context.Context, all []Download, after string) (int, error) {
	index := func(id string) int { return slices.IndexFunc(all, func(d Download) bool { return d.ID == id }) }
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
	if at := slices.IndexFunc(all, func(d Download) bool { return d.BeganAt.UnixMilli() <= began }); at >= 0 {
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
	i := slices.IndexFunc(all, func(d Download) bool { return d.Name == r.PathValue("name") })
	if i < 0 {
		return noDownload()
	}
	file, err := s.runs.openDownload(id, all[i])
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
	return nil, s.runs.removeDownload(ctx, row.ID, in.Name)
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
	if run, _, err := s.runs.running(row.ID); err != nil {
		return err
	} else if run == nil {
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
	size, path, err := s.runs.upload(row.ID, name, keyedBody{r.Body, ctx}, r.ContentLength, cmp.Or(s.cfg.UploadLimit.bytes(), maxUpload))
	if err != nil {
		return uploadProblem(r, err)
	}
	return writeJSON(w, r, http.StatusOK, UploadJSON{Name: name, Size: size, Path: path})
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
