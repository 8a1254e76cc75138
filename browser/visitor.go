package browser

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// maxVisits is how many pages visit origins at once.
const maxVisits = 8

// visitTimeout bounds one visit. A database that a page keeps is given up earlier (storage.js).
const visitTimeout = time.Minute

// visitor is a page that visits one origin after the other.
type visitor struct {
	mux             *mux
	target, session string
}

// visit is what to do at an origin, and what came of it.
type visit struct {
	origin     string
	expression string // evaluated there; it may be a promise, and its result is a string
	result     string
	err        error
}

// visitAll makes visits, several at once. The error says that no page could be opened; each visit has its own.
func (b *Browser) visitAll(ctx context.Context, all []visit) error {
	if len(all) == 0 {
		return nil
	}
	ctx, end := b.untilStop(ctx)
	defer end()
	b.visiting.Lock()
	defer b.visiting.Unlock()
	return b.withoutPrediction(ctx, func() error { return b.visitAtOnce(ctx, all) })
}

func (b *Browser) visitAtOnce(ctx context.Context, all []visit) error {
	m := b.mux
	m.mu.Lock()
	m.visits.address, m.visits.origins = BlankPage+"#"+rand.Text(), map[string]string{}
	m.mu.Unlock()
	next := make(chan *visit)
	errs := make([]error, min(maxVisits, len(all)))
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = b.visitEach(ctx, next) })
	}
	for i := range all {
		next <- &all[i]
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// visitEach makes the visits that it receives, each in a page that works. Without a page they fail.
func (b *Browser) visitEach(ctx context.Context, next <-chan *visit) (err error) {
	var v *visitor
	for w := range next {
		for range 2 { // a page may crash
			if v == nil {
				v, err = b.openVisitor(ctx)
			}
			if w.err = err; err != nil {
				break
			}
			if w.result, w.err = v.make(ctx, w); w.err == nil || ctx.Err() != nil {
				break
			}
			b.closeVisitor(v)
			v = nil
		}
	}
	if v != nil {
		b.closeVisitor(v)
	}
	return err
}

// openVisitor opens a hidden page (CDP Target.createTarget, hidden) whose requests are all answered here.
func (b *Browser) openVisitor(ctx context.Context) (*visitor, error) {
	m := b.mux
	m.mu.Lock()
	params := map[string]any{"url": m.visits.address, "background": true, "hidden": true}
	m.mu.Unlock()
	var made reference
	err := m.call(ctx, "", "Target.createTarget", params, &made)
	if err != nil { // a browser without any window hides none
		delete(params, "hidden")
		err = m.call(ctx, "", "Target.createTarget", params, &made)
	}
	if err != nil {
		return nil, err
	}
	v := &visitor{mux: m, target: made.TargetID}
	m.controller.awaitOverrides(ctx, v.target)
	for _, s := range m.controllerSessions(v.target) {
		v.session = s.id
	}
	err = errSessionGone
	if v.session != "" {
		err = v.prepare(ctx)
	}
	if err != nil {
		b.closeVisitor(v)
		return nil, err
	}
	return v, nil
}

// prepare makes every request of the page come here first, past service workers.
func (v *visitor) prepare(ctx context.Context) error {
	for _, c := range []override{
		{"Fetch.enable", map[string]any{"patterns": []map[string]string{{"urlPattern": "*"}}}},
		{"Network.enable", nil},
		{"Network.setBypassServiceWorker", map[string]any{"bypass": true}},
	} {
		if err := v.mux.call(ctx, v.session, c.method, c.params, nil); err != nil {
			return err
		}
	}
	return nil
}

func (b *Browser) closeVisitor(v *visitor) {
	b.closeAndWait(v.target)
	b.mux.mu.Lock()
	defer b.mux.mu.Unlock()
	b.mux.visits.origins[v.target] = "" // it stays hidden: its last events may follow
}

// make visits an origin, and returns what the expression comes to there.
func (v *visitor) make(ctx context.Context, w *visit) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, visitTimeout)
	defer cancel()
	v.mux.mu.Lock()
	v.mux.visits.origins[v.target] = w.origin
	v.mux.mu.Unlock()
	var arrived struct {
		ErrorText string `json:"errorText"`
	}
	err := v.mux.call(ctx, v.session, "Page.navigate", map[string]string{"url": w.origin + "/"}, &arrived)
	if err == nil && arrived.ErrorText != "" {
		err = errors.New(arrived.ErrorText)
	}
	if err != nil {
		return "", err
	}
	return evaluateText(ctx, v.mux, v.session, fmt.Sprintf("location.origin === %q ? %s : Promise.reject(new Error(`the browser shows "+
		"${location.origin} in its place`))", w.origin, w.expression))
}

// withoutPrediction calls visits while Chrome predicts nothing.
func (b *Browser) withoutPrediction(ctx context.Context, visits func() error) error {
	if b.spec.Offline { // since its launch
		return visits()
	}
	own, err := b.setPrediction(ctx, predictionNever)
	if err == nil {
		err = saveOwnPrediction(b.spec.UserDataDir, json.RawMessage(own))
	}
	if err != nil {
		return fmt.Errorf("keep the browser from connecting ahead: %w", err)
	}
	err = visits()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settingsTimeout)
	defer cancel()
	if _, failed := b.setPrediction(ctx, json.RawMessage(own)); failed == nil {
		_ = os.Remove(ownPredictionFile(b.spec.UserDataDir)) // otherwise the next start does it
	}
	return err
}

// setPrediction changes the preference in the running browser, and returns what it was, as JSON.
func (b *Browser) setPrediction(ctx context.Context, value any) (own string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*settingsTimeout)
	defer cancel()
	session, leave, err := b.awaitSettingsPage(ctx)
	defer leave()
	if err != nil {
		return "", err
	}
	text, _ := json.Marshal(value)
	return b.setting(ctx, session, fmt.Sprintf(`await (async () => {
		const own = (await chrome.settingsPrivate.getPref(%[1]q)).value
		await chrome.settingsPrivate.setPref(%[1]q, %[2]s)
		const is = (await chrome.settingsPrivate.getPref(%[1]q)).value
		if (is !== %[2]s) throw new Error('it is ' + is)
		return JSON.stringify(own)
	})()`, predictionOptions, text))
}

// awaitSettingsPage opens the settings page, once whoever has it open has left it.
func (b *Browser) awaitSettingsPage(ctx context.Context) (session string, leave func(), err error) {
	for {
		session, leave, err = b.openSettingsURL(ctx)
		if !errors.Is(err, errSettingsOpen) {
			return session, leave, err
		}
		select { // there is no event
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return "", leave, ctx.Err()
		}
	}
}
