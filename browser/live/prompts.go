package live

import (
	"encoding/json"
	"time"

	"warren/browser"
)

// prompt is something that a page asks of a person and that Chrome shows outside of the page, where no frame shows it.
type prompt struct {
	kind    string // dialog, chooser or options
	message any    // as viewers were told
	node    int64  // the file chooser's element (DOM.BackendNodeId, CDP)
	many    bool   // the chooser takes several files
	accept  bool   // the answer to a dialog that nobody can answer
}

// openPrompt tells viewers of a prompt. l.mu is held.
func (l *View) openPrompt(id string, p prompt) {
	l.prompts[id] = p
	l.broadcast(p.message)
}

// closePrompt tells viewers that a prompt is over. l.mu is held.
func (l *View) closePrompt(id string) {
	if p, open := l.prompts[id]; open {
		delete(l.prompts, id)
		l.broadcast(map[string]string{"type": p.kind + "Closed", "id": id})
	}
}

// closePrompts closes the prompts of a kind, "" for all of them. l.mu is held.
func (l *View) closePrompts(kind string) {
	for id, p := range l.prompts {
		if kind == "" || p.kind == kind {
			l.closePrompt(id)
		}
	}
}

// onDialog handles Page.javascriptDialogOpening (CDP), and reports whether a viewer can answer the dialog. l.mu is held.
func (l *View) onDialog(e browser.Event) (handled bool) {
	var p struct {
		URL     string `json:"url"`
		Message string `json:"message"`
		Type    string `json:"type"`
		Text    string `json:"defaultPrompt"`
	}
	if !e.Claimed || l.holder == nil || json.Unmarshal(e.Params, &p) != nil {
		return false
	}
	id := newPromptID()
	l.openPrompt(id, prompt{kind: "dialog", accept: p.Type == "alert" || p.Type == "beforeunload", message: map[string]string{
		"type": "dialog", "id": id, "tab": l.active, "kind": p.Type,
		"message": truncate(p.Message, maxDialog), "text": truncate(p.Text, maxDialog), "url": truncate(p.URL, maxAddress)}})
	return true
}

// answerDialog passes a viewer's answer to Chrome. l.mu is held.
func (l *View) answerDialog(id string, accept bool, text string) *refusal {
	if l.prompts[id].kind != "dialog" {
		return promptClosed()
	}
	l.command(l.session, "Page.handleJavaScriptDialog", map[string]any{"accept": accept, "promptText": text}, nil)
	l.closePrompt(id)
	return nil
}

func promptClosed() *refusal {
	return &refusal{"answered", "The page does not wait for this any more."}
}

// dismissPrompts closes all prompts, since no viewer can answer them any more. Dialogs are answered as they are without viewers. l.mu is
// held.
func (l *View) dismissPrompts() {
	for id, p := range l.prompts {
		if p.kind == "dialog" && !l.chrome.HasClient(l.active) {
			l.command(l.session, "Page.handleJavaScriptDialog", map[string]any{"accept": p.accept}, nil)
		}
		l.closePrompt(id)
	}
}

// interceptChoosers makes Chrome pass file choosers to the viewer with the controls, or to the browser's window if there is none (CDP
// Page.setInterceptFileChooserDialog). l.mu is held.
func (l *View) interceptChoosers() {
	if l.session != "" {
		l.command(l.session, "Page.setInterceptFileChooserDialog", map[string]any{"enabled": l.holder != nil}, nil)
	}
}

// onChooser handles Page.fileChooserOpened (CDP). l.mu is held.
func (l *View) onChooser(params []byte) {
	var p struct {
		Mode string `json:"mode"`
		Node int64  `json:"backendNodeId"`
	}
	if l.holder == nil || json.Unmarshal(params, &p) != nil || p.Node == 0 {
		return
	}
	l.closePrompts("chooser")
	id, many := newPromptID(), p.Mode == "selectMultiple"
	message := map[string]any{"type": "chooser", "id": id, "tab": l.active, "multiple": many}
	l.openPrompt(id, prompt{kind: "chooser", node: p.Node, many: many, message: message})
}

// cancelChooser closes a file chooser without files. l.mu is held.
func (l *View) cancelChooser(id string) *refusal {
	if l.prompts[id].kind != "chooser" {
		return promptClosed()
	}
	l.closePrompt(id)
	l.holder.dropUpload()
	return nil
}

// listTimeout is how long a click waits for the answer whether it opens a drop-down list. A page that answers later would take the click no
// sooner.
const listTimeout = 2 * time.Second

// openOptions shows viewers the drop-down list at a position, and reports whether there is one.
func (l *View) openOptions(session string, x, y float64) bool {
	if l.hasDialog() {
		return false // the page neither answers nor takes a click before the dialog is closed
	}
	var list map[string]any
	if l.evaluate(session, listTimeout, call(listScript, x, y), &list) != nil || list == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != session {
		return false
	}
	l.closePrompts("options")
	id := newPromptID()
	list["type"], list["id"], list["multiple"] = "options", id, false
	l.openPrompt(id, prompt{kind: "options", message: list})
	return true
}

func (l *View) hasDialog() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.prompts {
		if p.kind == "dialog" {
			return true
		}
	}
	return false
}

// chooseOption selects an option of a drop-down list; no index closes the list. l.mu is held.
func (l *View) chooseOption(id string, indexes *[]int) *refusal {
	if l.prompts[id].kind != "options" {
		return promptClosed()
	}
	l.closePrompt(id)
	if indexes == nil || len(*indexes) == 0 {
		return nil
	}
	session := l.session
	go func() {
		var changed bool
		if err := l.evaluate(session, copyTimeout, call(chooseScript, (*indexes)[0]), &changed); err != nil {
			l.log.Debug("a list did not take a choice", "error", err)
		}
	}()
	return nil
}

// allowPasskey lets the tab that is shown make or use one passkey, and tells viewers for how long. l.mu is held.
func (l *View) allowPasskey() *refusal {
	if !l.chrome.PermitPasskey(l.active) {
		return &refusal{"no_passkeys", "This page waits for nobody: passkeys of the profile are not on ask, or a program has its own here."}
	}
	l.broadcast(map[string]any{"type": "passkey", "tab": l.active, "seconds": int(browser.PasskeyTime.Seconds())})
	return nil
}
