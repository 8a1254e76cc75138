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

// upload is a viewer's files on their way to a page. Its viewer's reading goroutine uses it; live.mu guards the pointer to it.
type upload struct {
	chooser string
	dir     string
	file    *os.File
	got     int64
	room    func() error // whether the run's files are within the quota
	left    int64        // bytes until that is looked at again
	at      int          // the file that comes now
	paths   []string
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

// receiveFile takes a piece of a file. With the last one the page gets its files.
func (v *viewer) receiveFile(msg []byte) *denial {
	var p piece
	head, data, ok := splitPiece(msg)
	if !ok || json.Unmarshal(head, &p) != nil || p.File < 0 || p.Files < 1 || p.File >= p.Files {
		return &denial{"bad_message", "A piece of a file begins with two bytes of length and a JSON object that says what it is."}
	}
	l := v.live
	l.mu.Lock()
	waiting, held, session := l.prompts[p.Chooser], l.holder == v, l.session
	u := v.upload
	l.mu.Unlock()
	switch {
	case !held:
		return notInControl()
	case waiting.kind != "chooser":
		return answeredAlready()
	case p.Files > maxFiles || p.Files > 1 && !waiting.many || p.Size > maxUpload:
		return &denial{"too_many", "The page takes one file here, or at most 100, of at most 1 GiB each."}
	}
	if u == nil || u.chooser != p.Chooser {
		var err error
		if u, err = l.newUpload(p.Chooser); err != nil {
			return uploadFailed(err)
		}
		l.mu.Lock()
		v.dropUpload()
		v.upload = u
		l.mu.Unlock()
	}
	done, err := u.add(p, data)
	if err != nil {
		return uploadFailed(err)
	}
	v.tell(map[string]any{"type": "uploaded", "chooser": p.Chooser, "name": p.Name, "received": u.got})
	if !done {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	v.upload = nil // the files stay until the run ends: the page reads them when it likes
	l.ask(session, "DOM.setFileInputFiles", map[string]any{"files": u.paths, "backendNodeId": waiting.node}, nil)
	l.answered(p.Chooser)
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

func (l *live) newUpload(chooser string) (*upload, error) {
	dir := filepath.Join(l.b.spec.TempDir, "uploads")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(dir, "")
	return &upload{chooser: chooser, dir: dir, room: l.hasRoom, at: -1}, err
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

// add writes a piece. done says that the last file is there.
func (u *upload) add(p piece, data []byte) (done bool, err error) {
	if p.File != u.at {
		if p.File != u.at+1 || u.file != nil {
			return false, errors.New("a piece is missing")
		}
		dir := filepath.Join(u.dir, strconv.Itoa(p.File)) // two files may have one name
		if err := os.Mkdir(dir, 0o700); err != nil {
			return false, err
		}
		path := filepath.Join(dir, fileName(p.Name))
		if u.file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
			return false, err
		}
		u.at, u.got, u.paths = p.File, 0, append(u.paths, path)
	}
	if u.file == nil {
		return false, errors.New("the file has ended already")
	}
	if u.got += int64(len(data)); u.got > maxUpload {
		return false, fmt.Errorf("it is larger than %d bytes", maxUpload)
	}
	if _, err := u.file.Write(data); err != nil {
		return false, err
	}
	if u.left -= int64(len(data)); u.left <= 0 || p.Last {
		u.left = roomStep
		if err := u.room(); err != nil {
			return false, err
		}
	}
	if !p.Last {
		return false, nil
	}
	err = u.file.Close()
	u.file = nil
	return err == nil && p.File == p.Files-1, err
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

// dropUpload forgets a viewer's files that are not complete. l.mu is held.
func (v *viewer) dropUpload() {
	u := v.upload
	v.upload = nil
	if u != nil {
		go func() { // its piece may be under way
			if u.file != nil {
				u.file.Close()
			}
			os.RemoveAll(u.dir) //nolint:errcheck // the folder ends with the run
		}()
	}
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
