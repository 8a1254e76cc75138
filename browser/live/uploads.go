package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"warren/browser"
)

const (
	maxUpload = 1 << 30 // bytes of one file
	maxFiles  = 100     // of one upload

	// quotaStep is after how many bytes of an upload the run's quota is checked again.
	quotaStep = 8 << 20
)

// upload is a viewer's files on their way to a page.
type upload struct {
	chooser string       // id of the prompt
	folder  string       // of all uploads
	quota   func() error // fails when the run's files exceed their quota; in tests another one

	mu    sync.Mutex // held while a piece is written, so that drop waits for it
	over  bool       // it was dropped
	dir   string
	file  *os.File
	size  int64 // announced, of the current file
	got   int64 // received, of the current file
	left  int64 // bytes until the next check of the quota
	at    int   // index of the current file
	files int
	paths []string
}

// piece is the header of a piece of a file; docs/live.md.
type piece struct {
	Chooser string `json:"chooser"`
	File    int    `json:"file"`
	Files   int    `json:"files"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Last    bool   `json:"last"`
}

// receivePiece handles a piece of a file. The last piece gives the page its files. A refused piece ends the upload and its chooser, since
// the file would have a hole.
func (v *viewer) receivePiece(msg []byte) *refusal {
	r := v.takePiece(msg)
	if r != nil {
		v.live.mu.Lock()
		defer v.live.mu.Unlock()
		v.dropUpload()
	}
	return r
}

func (v *viewer) takePiece(msg []byte) *refusal {
	var p piece
	head, data, ok := splitPiece(msg)
	if !ok || json.Unmarshal(head, &p) != nil || p.File < 0 || p.Files < 1 || p.File >= p.Files || p.Size < 0 {
		return &refusal{"bad_message", "A piece of a file begins with two bytes of length and a JSON object that says what it is."}
	}
	u, r := v.uploadOf(p)
	if r != nil {
		return r
	}
	got, done, err := u.add(p, data)
	if err != nil {
		return &refusal{"upload_failed", "The file could not be taken: " + withoutPath(err) + "."}
	}
	v.send(map[string]any{"type": "uploaded", "chooser": p.Chooser, "name": p.Name, "received": got})
	if done {
		return v.finishUpload(u)
	}
	return nil
}

// uploadOf returns the upload that a piece belongs to, and begins it with the first piece.
func (v *viewer) uploadOf(p piece) (*upload, *refusal) {
	l := v.live
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.prompts[p.Chooser]
	switch {
	case l.holder != v:
		return nil, notInControl()
	case waiting.kind != "chooser":
		return nil, promptClosed()
	}
	if v.upload == nil || v.upload.chooser != p.Chooser {
		v.dropUpload()
		v.upload = &upload{chooser: p.Chooser, folder: l.uploadFolder(), quota: l.checkQuota, at: -1, files: p.Files}
	}
	if p.Files > maxFiles || p.Files > 1 && !waiting.many || p.Size > maxUpload {
		return nil, &refusal{"too_many", "The page takes one file here, or at most 100, of at most 1 GiB each."}
	}
	return v.upload, nil
}

// finishUpload gives the page the complete files, if it still waits for them.
func (v *viewer) finishUpload(u *upload) *refusal {
	l := v.live
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.prompts[u.chooser]
	if v.upload != u || waiting.kind != "chooser" {
		return promptClosed()
	}
	v.upload = nil // its files stay until the run ends, since the page may read them at any time
	l.command(l.session, "DOM.setFileInputFiles", map[string]any{"files": u.paths, "backendNodeId": waiting.node}, nil)
	l.closePrompt(u.chooser)
	return nil
}

// splitPiece splits a binary message into its header and the data: two bytes of length, a JSON object, data.
func splitPiece(msg []byte) (head, data []byte, ok bool) {
	if len(msg) < 2 {
		return nil, nil, false
	}
	n := int(msg[0])<<8 | int(msg[1])
	if len(msg) < 2+n {
		return nil, nil, false
	}
	return msg[2 : 2+n], msg[2+n:], true
}

// withoutPath returns the text of an error without paths of this machine.
func withoutPath(err error) string {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

func (l *View) uploadFolder() string { return filepath.Join(l.spec.TempDir, "uploads") }

// checkQuota fails when the viewers' uploads and the run's own files exceed the quota.
func (l *View) checkQuota() error {
	quota := l.spec.FilesQuota
	if quota == 0 || browser.SizeOf(l.uploadFolder())+browser.SizeOf(l.spec.FilesDir) <= quota {
		return nil
	}
	return fmt.Errorf("the run's uploads and downloads would be larger than --files-quota, which is %d bytes", quota)
}

// add writes a piece and returns how much of its file has been received. done means that the last file is complete.
func (u *upload) add(p piece, data []byte) (got int64, done bool, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.over {
		return 0, false, errors.New("the upload has ended")
	}
	if p.File != u.at {
		if err := u.begin(p); err != nil {
			return 0, false, err
		}
	}
	if err := u.write(p, data); err != nil {
		return 0, false, err
	}
	if !p.Last {
		return u.got, false, nil
	}
	err = u.file.Close()
	u.file = nil
	return u.got, err == nil && p.File == p.Files-1, err
}

// begin creates the file that a piece is the first of. u.mu is held.
func (u *upload) begin(p piece) (err error) {
	if p.File != u.at+1 || u.file != nil {
		return errors.New("a piece is missing")
	}
	if u.dir == "" {
		if err := os.MkdirAll(u.folder, 0o700); err != nil {
			return err
		}
		if u.dir, err = os.MkdirTemp(u.folder, ""); err != nil {
			return err
		}
	}
	dir := filepath.Join(u.dir, strconv.Itoa(p.File)) // two files may have the same name
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, browser.FileName(p.Name))
	if u.file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	u.at, u.size, u.got, u.paths = p.File, p.Size, 0, append(u.paths, path)
	return nil
}

// write appends a piece to the current file. u.mu is held.
func (u *upload) write(p piece, data []byte) error {
	u.got += int64(len(data))
	switch {
	case u.file == nil:
		return errors.New("the file has ended already")
	case p.Size != u.size || p.Files != u.files:
		return errors.New("its pieces do not belong together")
	case u.got > u.size || p.Last && u.got < u.size:
		return fmt.Errorf("%d bytes of it came, and not %d", u.got, u.size)
	}
	if _, err := u.file.Write(data); err != nil {
		return err
	}
	if u.left -= int64(len(data)); u.left > 0 && !p.Last {
		return nil
	}
	u.left = quotaStep
	return u.quota()
}

// drop deletes what was received, once the piece under way is written.
func (u *upload) drop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.over = true
	if u.file != nil {
		u.file.Close()
	}
	if u.dir != "" {
		os.RemoveAll(u.dir) //nolint:errcheck // the folder ends with the run
	}
}

// dropUpload drops a viewer's unfinished upload, and reports whether there was one. It closes the chooser too: a later piece would begin in
// the middle of a file. l.mu is held.
func (v *viewer) dropUpload() bool {
	u := v.upload
	if u == nil {
		return false
	}
	v.upload = nil
	v.live.closePrompt(u.chooser)
	go u.drop()
	return true
}
