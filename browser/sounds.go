package browser

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// Asks pages, before they are frozen, whether a person may hear them, and for the memory that they do not need.

// audible is asked of a media element. Pages cannot tell that it was: it may have no side effect.
const audible = "function() { return !this.paused && !this.ended && !this.muted && this.volume > 0 }"

// sounding is what pages tell of their sound.
type sounding struct {
	players []player
	running bool // an AudioContext is
}

// player is a media element that has loaded something.
type player struct {
	session string
	node    int
}

// take takes an event of the domains Media and WebAudio (CDP).
func (s *sounding) take(e Event) {
	var p struct {
		Player struct {
			Node int `json:"domNodeId"`
		} `json:"player"`
		Context struct {
			Type  string `json:"contextType"`
			State string `json:"contextState"`
		} `json:"context"`
	}
	if e.Method != "Media.playerCreated" && e.Method != "WebAudio.contextCreated" || json.Unmarshal(e.Params, &p) != nil {
		return
	}
	if e.Method == "Media.playerCreated" {
		s.players = append(s.players, player{e.Session, p.Player.Node})
	}
	s.running = s.running || p.Context.Type == "realtime" && p.Context.State == "running"
}

// Sounds reports whether a page plays a sound: an element that is not muted, or an AudioContext that runs. Chrome tells of the players
// and contexts of a page when a domain is enabled (CDP Media.enable, WebAudio.enable). A page that does not answer until ctx ends counts
// as silent, and does not keep the browser from being frozen: it has crashed, or its script does not end. It is asked again when it has
// answered.
func (b *Browser) Sounds(ctx context.Context) (bool, error) {
	heard, err := b.listen(ctx)
	if err != nil || heard.running {
		return heard.running, err
	}
	for _, p := range heard.players {
		if loud, err := b.mux.isAudible(ctx, p); loud || err != nil {
			return loud, err
		}
	}
	return false, nil
}

// listen asks every page for its players and contexts. Those that do not answer until ctx ends are silent from then on.
func (b *Browser) listen(ctx context.Context) (heard sounding, err error) {
	sub, err := b.Subscribe()
	if err != nil {
		return heard, err
	}
	defer sub.Close()
	left := map[string]int{} // answers, by session
	methods := []string{"Media.enable", "WebAudio.enable", "Media.disable", "WebAudio.disable"}
	for _, session := range b.mux.answeringSessions() {
		left[session] = len(methods)
		for _, method := range methods {
			sub.Send(session, method, nil, session)
		}
	}
	for len(left) > 0 { // Chrome tells before it answers
		n, err := sub.Next(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			b.mux.takeForSilent(left)
			heard.forget(left)
			return heard, nil
		}
		switch n := n.(type) {
		case nil:
			return heard, err
		case Event:
			heard.take(n)
		case Answer:
			session, _ := n.Tag.(string)
			if left[session]--; left[session] == 0 {
				delete(left, session)
			}
		}
	}
	return heard, nil
}

// forget forgets the players of sessions, which could not be asked.
func (s *sounding) forget(sessions map[string]int) {
	s.players = slices.DeleteFunc(s.players, func(p player) bool { _, gone := sessions[p.session]; return gone })
}

// takeForSilent takes pages for silent that owe answers.
func (m *mux) takeForSilent(sessions map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for session := range sessions {
		m.silent[session] = true
	}
}

// answeringSessions returns the controller's sessions on pages, without those that are silent. One that owes nothing any more is not.
func (m *mux) answeringSessions() []string {
	ids := m.pageSessions()
	m.mu.Lock()
	defer m.mu.Unlock()
	owing := map[string]bool{}
	for _, p := range m.pending {
		owing[p.session] = true
	}
	maps.DeleteFunc(m.silent, func(session string, _ bool) bool { return !owing[session] })
	return slices.DeleteFunc(ids, func(session string) bool { return m.silent[session] })
}

// isAudible asks a media element. One that is gone is silent. One whose page would notice the question counts as audible.
func (m *mux) isAudible(ctx context.Context, p player) (bool, error) {
	var found struct {
		Object struct {
			ID string `json:"objectId"`
		} `json:"object"`
	}
	err := m.callPage(ctx, p.session, "DOM.resolveNode", map[string]any{"backendNodeId": p.node}, &found)
	if err != nil || found.Object.ID == "" {
		return false, err
	}
	var out struct {
		Result struct {
			Value bool `json:"value"`
		} `json:"result"`
		Exception json.RawMessage `json:"exceptionDetails"`
	}
	err = m.callPage(ctx, p.session, "Runtime.callFunctionOn", map[string]any{"objectId": found.Object.ID,
		"functionDeclaration": audible, "returnByValue": true, "throwOnSideEffect": true}, &out)
	if err != nil {
		return false, err
	}
	err = m.callPage(ctx, p.session, "Runtime.releaseObject", map[string]string{"objectId": found.Object.ID}, nil)
	return out.Result.Value || out.Exception != nil, err
}

// callPage is call for a page that may have gone, or that does not know what is asked for: then result stays as it is.
func (m *mux) callPage(ctx context.Context, session, method string, params, result any) error {
	err := m.call(ctx, session, method, params, result)
	if _, refused := errors.AsType[*ProtocolError](err); refused || errors.Is(err, errSessionGone) {
		return nil
	}
	return err
}

// pageSessions returns the controller's sessions on pages and on frames that have a process of their own.
func (m *mux) pageSessions() (ids []string) {
	for _, s := range m.controllerSessions("") {
		if s.kind == "page" || s.kind == "iframe" {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// GiveBack asks the browser and its pages for the memory that they do not need, before they are frozen. It pretends a moderate shortage,
// and has pages collect their garbage, but for those that did not answer Sounds. Nothing of a page is lost. A critical shortage, and
// Memory.forciblyPurgeJavaScriptMemory, would discard pages.
func (b *Browser) GiveBack(ctx context.Context) error {
	m, err := b.running()
	if err != nil {
		return err
	}
	if err := m.callPage(ctx, "", "Memory.simulatePressureNotification", map[string]string{"level": "moderate"}, nil); err != nil {
		return err
	}
	for _, s := range m.answeringSessions() {
		if err := m.callPage(ctx, s, "HeapProfiler.collectGarbage", nil, nil); err != nil {
			return err
		}
	}
	return nil
}
