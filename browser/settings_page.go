package browser

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// selectLanguages has the running browser take other languages: all of its pages and workers have them at once, and what is sent from now on.
func (b *Browser) selectLanguages(ctx context.Context, languages []string) error {
	ctx, end := b.untilStop(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, settingsTimeout)
	defer cancel()
	session, leave, err := b.openSettings(ctx)
	defer leave()
	if err != nil {
		return err
	}
	var arrived struct {
		ErrorText string `json:"errorText"`
	}
	err = b.mux.call(ctx, session, "Page.navigate", map[string]string{"url": settingsURL}, &arrived)
	if err == nil && arrived.ErrorText != "" {
		err = errors.New(arrived.ErrorText)
	}
	if err != nil {
		return fmt.Errorf("open the browser's settings: %w", err)
	}
	was, err := b.setting(ctx, session, fmt.Sprintf(`(await chrome.settingsPrivate.getPref(%q)).value`, selectedLanguages))
	if err == nil { // before it is another: a crash in between leaves both
		err = saveOwnLanguages(b.spec.UserDataDir, was)
	}
	if err != nil {
		return fmt.Errorf("keep the browser's own languages: %w", err)
	}
	list := strings.Join(languages, ",")
	is, err := b.setting(ctx, session, fmt.Sprintf(`await chrome.settingsPrivate.setPref(%[1]q, %[2]q), (await chrome.settingsPrivate.getPref(%[1]q)).value`, selectedLanguages, list))
	if err == nil && is != list {
		err = fmt.Errorf("they are %q", is)
	}
	return err
}

// setting evaluates an expression that comes to a text on a page of the browser's settings.
func (b *Browser) setting(ctx context.Context, session, expression string) (string, error) {
	var r struct {
		Result struct {
			Value string `json:"value"`
		} `json:"result"`
		Exception *struct {
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := map[string]any{"expression": "(async () => (" + expression + "))()", "awaitPromise": true, "returnByValue": true}
	if err := b.mux.call(ctx, session, "Runtime.evaluate", params, &r); err != nil {
		return "", err
	}
	if r.Exception != nil {
		return "", errors.New(r.Exception.Exception.Description)
	}
	return r.Result.Value, nil
}

// settingsTimeout bounds the change of a preference: it takes a tenth of a second, and on a busy machine many times as long. It is not tried
// again before the profile's next change.
const settingsTimeout = 9 * time.Second

// settingsOpened is Chrome's answer to our asking for the page.
type settingsOpened struct {
	target   string
	detached []<-chan struct{} // closed when clients' sessions on it have ended
	err      error
}

// openSettings opens a blank page in the background and keeps clients off it. It may be sent to where it is to be when this has returned. leave closes
// it, and returns when it has gone; a stop waits for that.
func (b *Browser) openSettings(ctx context.Context) (session string, leave func(), err error) {
	m, answered := b.mux, make(chan settingsOpened, 1)
	address := BlankPage + "#" + rand.Text()
	if !b.settings.TryLock() {
		return "", func() {}, errors.New("the last page is still on its way")
	}
	select {
	case <-b.stopc:
		b.settings.Unlock()
		return "", func() {}, errors.New("the browser is being stopped")
	default:
	}
	m.mu.Lock()
	m.settings = settingsTab{url: address}
	m.mu.Unlock()
	m.send("", "Target.createTarget", map[string]any{"url": address, "background": true}, func(a answer) {
		var page struct {
			TargetID string `json:"targetId"`
		}
		if err := errors.Join(a.err(), json.Unmarshal(a.Result, &page)); err != nil {
			answered <- settingsOpened{err: fmt.Errorf("open a page: %w", err)}
			return
		}
		answered <- settingsOpened{target: page.TargetID, detached: m.detachFromSettings(page.TargetID)}
	})
	var made settingsOpened
	closed := func() {
		defer b.settings.Unlock()
		if made.target != "" {
			b.closeAndWait(made.target)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.settings.url == address {
			m.settings.url = "" // the id stays: its last event may be on its way
		}
	}
	select {
	case made = <-answered:
	case <-ctx.Done():
		go func() { // it may come all the same; the end of the pipe is an answer too
			made = <-answered
			closed()
		}()
		return "", func() {}, ctx.Err()
	}
	if made.err != nil {
		return "", closed, made.err
	}
	m.controller.awaitOverrides(ctx, made.target)
	for _, detached := range made.detached {
		select {
		case <-detached:
		case <-ctx.Done():
			return "", closed, ctx.Err()
		}
	}
	for _, s := range m.controllerSessions(made.target) {
		return s.id, closed, nil
	}
	return "", closed, errSessionGone
}
