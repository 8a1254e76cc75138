package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// TargetInfo is what is read of Target.TargetInfo (CDP).
type TargetInfo struct {
	TargetID string `json:"targetId"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	URL      string `json:"url"`
	ParentID string `json:"parentId"`
	// CanAccessOpener says that another page has opened this one, and that each can script the other.
	CanAccessOpener bool   `json:"canAccessOpener"`
	Context         string `json:"browserContextId"`
}

// answer is Chrome's answer to a command of the controller.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *ProtocolError  `json:"error"`
	lost   error           // why Chrome will not answer
}

// err returns why there is no result.
func (a answer) err() error {
	if a.lost != nil {
		return a.lost
	}
	if a.Error != nil {
		return a.Error
	}
	return nil
}

func parseAnswer(msg []byte) (a answer) {
	if err := json.Unmarshal(msg, &a); err != nil {
		a.lost = err
	}
	return a
}

// decode decodes the result into value, which may be nil. It fails with the reason why there is none.
func (a answer) decode(value any) error {
	if err := a.err(); err != nil || value == nil {
		return err
	}
	return json.Unmarshal(a.Result, value)
}

// reference is what answers and events of Chrome refer to.
type reference struct {
	TargetID   string     `json:"targetId"`
	SessionID  string     `json:"sessionId"`
	Context    string     `json:"browserContextId"`
	TargetInfo TargetInfo `json:"targetInfo"`
	Waits      bool       `json:"waitingForDebugger"`
}

// reference returns what the answer refers to.
func (a answer) reference() (r reference, err error) {
	err = a.decode(&r)
	return r, err
}

// ProtocolError is an error of Chrome's to a DevTools command. Its codes are those of JSON-RPC 2.0.
type ProtocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data,omitempty"`
}

// Error satisfies error.
func (e *ProtocolError) Error() string {
	if e.Data == "" {
		return fmt.Sprintf("%s (%d)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d): %s", e.Message, e.Code, e.Data)
}

// Error codes as Chrome uses them.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeServer         = -32000 // the command was not carried out
	codeNoSession      = -32001
)

// codeInvalidParams is the code for parameters that a command does not accept.
const codeInvalidParams = -32602

var (
	errPipeEnded   = errors.New("the browser has gone")
	errSessionGone = errors.New("the page has gone")
)

// hasFrames reports whether targets of this type have documents.
func hasFrames(kind string) bool {
	return slices.Contains([]string{"page", "iframe", "webview", "background_page", "other"}, kind)
}

// hasNavigator reports whether targets of this type take overrides. Worklets have no navigator, and share their process' time zone and
// locale.
func hasNavigator(kind string) bool {
	return slices.Contains([]string{"page", "iframe", "worker", "shared_worker", "service_worker", "background_page", "webview"}, kind)
}

// uncontrolledKinds are the target types that the controller does not attach to. They are the browser itself, Chrome's own pop-up windows,
// and tabs. The page in a tab is attached directly, since attaching through the tab has races.
func uncontrolledKinds() []string { return []string{"browser", "tab", "browser_ui"} }

func isControlled(kind string) bool { return !slices.Contains(uncontrolledKinds(), kind) }

// navigationHistory is what is read of the answer to Page.getNavigationHistory (CDP).
type navigationHistory struct {
	Current int            `json:"currentIndex"`
	Entries []historyEntry `json:"entries"`
}

type historyEntry struct {
	ID  int64  `json:"id"`
	URL string `json:"url"`
}

// current returns the entry that was committed last; false if there is none.
func (h navigationHistory) current() (historyEntry, bool) {
	if h.Current < 0 || h.Current >= len(h.Entries) {
		return historyEntry{}, false
	}
	return h.Entries[h.Current], true
}
