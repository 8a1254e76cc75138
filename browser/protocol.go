package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// TargetInfo is what this package reads of CDP's Target.TargetInfo.
type TargetInfo struct {
	TargetID string `json:"targetId"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	URL      string `json:"url"`
	ParentID string `json:"parentId"`
	// CanAccessOpener: another page has opened this one, and each can reach the other.
	CanAccessOpener bool   `json:"canAccessOpener"`
	Context         string `json:"browserContextId"`
}

// answer is Chrome's answer to a command of the owner.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *ProtocolError  `json:"error"`
	lost   error           // Chrome will not answer; the reason is ours
}

// err is why there is no result.
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

// ProtocolError is an error that Chrome answered to a DevTools command (JSON-RPC 2.0 codes).
type ProtocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    string `json:"data,omitempty"`
}

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
	codeServer         = -32000 // a command that is not carried out
	codeNoSession      = -32001
)

// codeInvalidParams is Chrome's code for parameters that a command does not take.
const codeInvalidParams = -32602

var (
	errPipeEnded   = errors.New("the browser has gone")
	errSessionGone = errors.New("the page has gone")
)

// hasFrames reports whether targets of this kind have documents.
func hasFrames(kind string) bool {
	return slices.Contains([]string{"page", "iframe", "webview", "background_page", "other"}, kind)
}

// hasNavigator reports whether targets of this kind take the overrides. Worklets have no navigator, and their time zone and locale are their process'.
func hasNavigator(kind string) bool {
	switch kind {
	case "page", "iframe", "worker", "shared_worker", "service_worker", "background_page", "webview":
		return true
	}
	return false
}

// uncontrolledKinds are the kinds of target that the owner leaves alone: the browser itself, tabs (the page in them is attached; through the tab there
// are races), and Chrome's own pop-up windows.
func uncontrolledKinds() []string { return []string{"browser", "tab", "browser_ui"} }

func isControlled(kind string) bool { return !slices.Contains(uncontrolledKinds(), kind) }
