package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// This file is what pages ask of a person, and Chrome shows outside of the page: dialogs, choosers of files, and lists.

// prompt is something that the page waits for.
type prompt struct {
	kind    string // dialog, chooser or options
	message any    // as viewers were told
	node    int64  // the chooser's element (DOM.BackendNodeId)
	many    bool   // the chooser takes several files
	accept  bool   // what a dialog is answered when nobody is there to do it
}

// asked tells viewers of a prompt. l.mu is held.
func (l *live) asked(id string, p prompt) {
	l.prompts[id] = p
	l.tellAll(p.message)
}

// answered tells them that it is over. l.mu is held.
func (l *live) answered(id string) {
	p, open := l.prompts[id]
	if !open {
		return
	}
	delete(l.prompts, id)
	l.tellAll(map[string]string{"type": p.kind + "Closed", "id": id})
}

// dialogOpening is Page.javascriptDialogOpening. It is left to others when no viewer can answer. l.mu is held.
func (l *live) dialogOpening(params []byte) (taken bool) {
	var p struct {
		URL     string `json:"url"`
		Message string `json:"message"`
		Type    string `json:"type"`
		Text    string `json:"defaultPrompt"`
	}
	if l.holder == nil || json.Unmarshal(params, &p) != nil {
		return false
	}
	id := newPromptID()
	l.asked(id, prompt{kind: "dialog", accept: p.Type == "alert" || p.Type == "beforeunload", message: map[string]string{
		"type": "dialog", "id": id, "tab": l.active, "kind": p.Type,
		"message": cut(p.Message, maxAsked), "text": cut(p.Text, maxAsked), "url": cut(p.URL, maxAddress)}})
	return true
}

// dialogClosed is Page.javascriptDialogClosed: somebody has answered. There is one dialog at a time. l.mu is held.
func (l *live) dialogClosed() {
	for id, p := range l.prompts {
		if p.kind == "dialog" {
			l.answered(id)
		}
	}
}

// answerDialog is a viewer's answer. l.mu is held.
func (l *live) answerDialog(id string, accept bool, text string) *denial {
	if l.prompts[id].kind != "dialog" {
		return answeredAlready()
	}
	l.ask(l.session, "Page.handleJavaScriptDialog", map[string]any{"accept": accept, "promptText": text}, nil)
	l.answered(id)
	return nil
}

func answeredAlready() *denial {
	return &denial{"answered", "The page does not wait for this any more."}
}

// dismiss answers what waits for a viewer where none is left to do it, as it would have been without viewers. l.mu is held.
func (l *live) dismiss() {
	for id, p := range l.prompts {
		if p.kind == "dialog" && !l.b.mux.hasClient(l.active) {
			l.ask(l.session, "Page.handleJavaScriptDialog", map[string]any{"accept": p.accept}, nil)
		}
		l.answered(id)
	}
}

// intercept has choosers of files come to the viewer that holds the controls, and to the window where nobody does (Page.setInterceptFileChooserDialog).
// l.mu is held.
func (l *live) intercept() {
	if l.session != "" {
		l.ask(l.session, "Page.setInterceptFileChooserDialog", map[string]any{"enabled": l.holder != nil}, nil)
	}
}

// chooserOpened is Page.fileChooserOpened. l.mu is held.
func (l *live) chooserOpened(params []byte) {
	var p struct {
		Mode string `json:"mode"`
		Node int64  `json:"backendNodeId"`
	}
	if l.holder == nil || json.Unmarshal(params, &p) != nil || p.Node == 0 {
		return
	}
	for id, open := range l.prompts {
		if open.kind == "chooser" {
			l.answered(id)
		}
	}
	id, many := newPromptID(), p.Mode == "selectMultiple"
	l.asked(id, prompt{kind: "chooser", node: p.Node, many: many, message: map[string]any{"type": "chooser", "id": id, "tab": l.active, "multiple": many}})
}

func (l *live) cancelChooser(id string) *denial {
	if l.prompts[id].kind != "chooser" {
		return answeredAlready()
	}
	l.answered(id)
	l.holder.dropUpload()
	return nil
}

const (
	// maxUpload is the largest file that a viewer may give to a page, in bytes, and maxFiles how many at once.
	maxUpload = 1 << 30
	maxFiles  = 100
)

// maxFileName is how long a file's name may be, in bytes.
const maxFileName = 200

// upload is a viewer's files on their way to a page.
type upload struct {
	chooser string
	folder  string       // of all uploads
	room    func() error // whether the run's files are within the quota

	mu    sync.Mutex // held while a piece is written: who drops the upload waits for that
	over  bool       // it was dropped
	dir   string
	file  *os.File
	size  int64 // of the file that comes now, as was said
	got   int64
	left  int64 // bytes until the quota is looked at again
	at    int   // the file that comes now
	files int
	paths []string
}

// piece is what stands before a piece of a file; docs/live.md.
type piece struct {
	Chooser string `json:"chooser"`
	File    int    `json:"file"`
	Files   int    `json:"files"`
	Name    string `json:"name"`
	Size    int64  `json:"size"`
	Last    bool   `json:"last"`
}

// receiveFile takes a piece of a file. With the last one the page gets its files. Where a piece is refused there would be a hole: that ends the upload,
// and its chooser with it.
func (v *viewer) receiveFile(msg []byte) *denial {
	r := v.takePiece(msg)
	if r != nil {
		v.live.mu.Lock()
		defer v.live.mu.Unlock()
		v.dropUpload()
	}
	return r
}

func (v *viewer) takePiece(msg []byte) *denial {
	var p piece
	head, data, ok := splitPiece(msg)
	if !ok || json.Unmarshal(head, &p) != nil || p.File < 0 || p.Files < 1 || p.File >= p.Files || p.Size < 0 {
		return &denial{"bad_message", "A piece of a file begins with two bytes of length and a JSON object that says what it is."}
	}
	u, r := v.uploadOf(p)
	if r != nil {
		return r
	}
	got, done, err := u.add(p, data)
	if err != nil {
		return uploadFailed(err)
	}
	v.tell(map[string]any{"type": "uploaded", "chooser": p.Chooser, "name": p.Name, "received": got})
	if done {
		return v.giveFiles(u)
	}
	return nil
}

// uploadOf is the upload that a piece belongs to: the one under way, or one that begins with it.
func (v *viewer) uploadOf(p piece) (*upload, *denial) {
	l := v.live
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.prompts[p.Chooser]
	switch {
	case l.holder != v:
		return nil, notInControl()
	case waiting.kind != "chooser":
		return nil, answeredAlready()
	}
	if v.upload == nil || v.upload.chooser != p.Chooser {
		v.dropUpload()
		v.upload = &upload{chooser: p.Chooser, folder: filepath.Join(l.b.spec.TempDir, "uploads"), room: l.hasRoom, at: -1, files: p.Files}
	}
	if p.Files > maxFiles || p.Files > 1 && !waiting.many || p.Size > maxUpload {
		return nil, &denial{"too_many", "The page takes one file here, or at most 100, of at most 1 GiB each."}
	}
	return v.upload, nil
}

// giveFiles gives the page the files that are complete, if it still waits for them.
func (v *viewer) giveFiles(u *upload) *denial {
	l := v.live
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.prompts[u.chooser]
	if v.upload != u || waiting.kind != "chooser" {
		return answeredAlready()
	}
	v.upload = nil // the files stay until the run ends: the page reads them when it likes
	l.ask(l.session, "DOM.setFileInputFiles", map[string]any{"files": u.paths, "backendNodeId": waiting.node}, nil)
	l.answered(u.chooser)
	return nil
}

// splitPiece takes a binary message apart: two bytes of length, a JSON object, data.
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

func uploadFailed(err error) *denial {
	return &denial{"upload_failed", "The file could not be taken: " + plain(err) + "."}
}

// plain is an error without the paths of this machine.
func plain(err error) string {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// hasRoom says whether what viewers have sent and the run's own files are within the quota.
func (l *live) hasRoom() error {
	quota := l.b.spec.FilesQuota
	if quota == 0 || SizeOf(filepath.Join(l.b.spec.TempDir, "uploads"))+SizeOf(l.b.spec.FilesDir) <= quota {
		return nil
	}
	return fmt.Errorf("the run's uploads and downloads would be larger than --files-quota, which is %d bytes", quota)
}

// roomStep is after how many bytes of uploads the quota is looked at again.
const roomStep = 8 << 20

// add writes a piece, and says how much of its file is there. done: the last file is whole.
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
	u.got += int64(len(data))
	switch {
	case u.file == nil:
		return 0, false, errors.New("the file has ended already")
	case p.Size != u.size || p.Files != u.files:
		return 0, false, errors.New("its pieces do not belong together")
	case u.got > u.size || p.Last && u.got < u.size:
		return 0, false, fmt.Errorf("%d bytes of it came, and not %d", u.got, u.size)
	}
	if _, err := u.file.Write(data); err != nil {
		return 0, false, err
	}
	if u.left -= int64(len(data)); u.left <= 0 || p.Last {
		u.left = roomStep
		if err := u.room(); err != nil {
			return 0, false, err
		}
	}
	if !p.Last {
		return u.got, false, nil
	}
	err = u.file.Close()
	u.file = nil
	return u.got, err == nil && p.File == p.Files-1, err
}

// begin makes the file that a piece is the first of. u.mu is held.
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
	dir := filepath.Join(u.dir, strconv.Itoa(p.File)) // two files may have one name
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, fileName(p.Name))
	if u.file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	u.at, u.size, u.got, u.paths = p.File, p.Size, 0, append(u.paths, path)
	return nil
}

// drop takes away what came, when the piece that is under way is written.
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

// fileName is a name as a file may have it: no folders, nothing that cannot be seen, and short.
func fileName(name string) string {
	name = strings.ToValidUTF8(name, "_")
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)
	if name = strings.Trim(name, " ."); name == "" {
		name = "file"
	}
	if len(name) > maxFileName {
		name = strings.ToValidUTF8(name[:maxFileName], "")
	}
	return name
}

// dropUpload forgets a viewer's files that are not complete, and says whether there were any. Their chooser is over too: pieces that are still to come
// would begin in the midst of a file. Who wants to can have the page ask again. l.mu is held.
func (v *viewer) dropUpload() bool {
	u := v.upload
	if u == nil {
		return false
	}
	v.upload = nil
	v.live.answered(u.chooser)
	go u.drop()
	return true
}

// openOptions tells viewers of the list at a place, where there is one: Chrome would open it outside of the page, where no frame shows it. It says
// whether there is one.
func (l *live) openOptions(session string, x, y float64) bool {
	if l.hasDialog() {
		return false // the page tells nothing, and takes no click, before that is answered
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	var list map[string]any
	if l.evaluate(ctx, session, called(listScript, x, y), &list) != nil || list == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != session {
		return false
	}
	for id, open := range l.prompts {
		if open.kind == "options" {
			l.answered(id)
		}
	}
	id := newPromptID()
	list["type"], list["id"], list["multiple"] = "options", id, false
	l.asked(id, prompt{kind: "options", message: list})
	return true
}

func (l *live) hasDialog() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, open := range l.prompts {
		if open.kind == "dialog" {
			return true
		}
	}
	return false
}

// choose is a viewer's choice from a list, nil for none. l.mu is held.
func (l *live) choose(id string, indexes *[]int) *denial {
	if l.prompts[id].kind != "options" {
		return answeredAlready()
	}
	l.answered(id)
	if indexes == nil || len(*indexes) == 0 {
		return nil
	}
	session := l.session
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), copyTimeout)
		defer cancel()
		var changed bool
		if err := l.evaluate(ctx, session, called(pickScript, (*indexes)[0]), &changed); err != nil {
			l.b.log.Debug("a list did not take a choice", "error", err)
		}
	}()
	return nil
}
