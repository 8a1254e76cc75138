package browser

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// This file is the only one that knows chromedp. It drives the running browser through chromedp's own seams: the allocator below hands out
// a Transport that is one client of the multiplexer. chromedp never starts, ends or closes anything of ours.

// transport is a client of the multiplexer as chromedp's Transport.
type transport struct{ c *client }

// Read satisfies chromedp.Transport.
func (t transport) Read(ctx context.Context, msg *cdproto.Message) error {
	raw, err := t.c.next(ctx)
	if err != nil {
		return err
	}
	return jsonv2.Unmarshal(raw, msg, chromedp.DefaultUnmarshalOptions)
}

// Write satisfies chromedp.Transport.
func (t transport) Write(ctx context.Context, msg *cdproto.Message) error {
	raw, err := jsonv2.Marshal(msg, chromedp.DefaultMarshalOptions)
	if err != nil {
		return err
	}
	return t.c.submit(ctx, raw)
}

// Close satisfies chromedp.Transport. It ends the client, not the browser.
func (t transport) Close() error {
	t.c.close()
	return nil
}

// allocator is the chromedp.Allocator of a running browser.
type allocator struct {
	b    *Browser
	life context.Context // of the connection: it outlives the contexts of the tabs, so that these can detach
}

// Allocate satisfies chromedp.Allocator.
func (a *allocator) Allocate(ctx context.Context, opts ...chromedp.BrowserOption) (*chromedp.Browser, error) {
	m, err := a.b.running()
	if err != nil {
		return nil, err
	}
	c, err := m.attachClient(ctx)
	if err != nil {
		return nil, err
	}
	c.ownFolders = true // it is the run's own
	return chromedp.NewBrowserTransport(a.life, transport{c}, opts...)
}

// Wait satisfies chromedp.Allocator. There is nothing to wait for.
func (a *allocator) Wait() {}

// Attaches satisfies chromedp.Attacher: the browser runs already, and is not chromedp's to close.
func (a *allocator) Attaches() bool { return true }

// drive returns a chromedp context on the browser, without a tab yet. Its cancel function leaves all tabs open.
func (b *Browser) drive(ctx context.Context) (context.Context, context.CancelFunc) {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	alloc, cancelAlloc := chromedp.NewAllocatorContext(ctx, &allocator{b, life})
	debugf := func(format string, args ...any) { b.log.Debug("chromedp", "message", fmt.Sprintf(format, args...)) }
	root, cancelRoot := chromedp.NewContext(alloc, chromedp.WithLogf(debugf), chromedp.WithErrorf(debugf), chromedp.WithNewWindow(false))
	return root, func() {
		cancelRoot()
		cancelAlloc()
		end()
	}
}

// openTimeout is how long all start pages together may take to be taken.
const openTimeout = 20 * time.Second

// OpenPages opens the URLs, each in a tab: the first in a lone blank one, if that is all there is. A URL that a restored tab shows already is
// not opened again. It returns when each navigation has begun, not when it is loaded. Only http, https and about:blank
// are opened; any other URL fails the call before anything is opened.
func (b *Browser) OpenPages(ctx context.Context, urls []string) error {
	for _, u := range urls {
		if err := CheckURL(u); err != nil {
			return err
		}
	}
	if len(urls) == 0 {
		return nil
	}
	b.probedValues() // a page of the look would keep the lone tab from being one
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	root, leave := b.drive(ctx)
	defer leave()
	open, err := chromedp.Targets(root)
	if err != nil {
		return fmt.Errorf("open pages: %w", err)
	}
	open = slices.DeleteFunc(open, func(t *target.Info) bool { return t.Type != "page" })
	urls = slices.DeleteFunc(slices.Clone(urls), func(u string) bool { return shown(open, u) })
	var wg sync.WaitGroup
	errs := make([]error, len(urls))
	for i, u := range urls {
		var lone target.ID
		if i == 0 && len(open) == 1 && (open[0].URL == BlankPage || open[0].URL == "") { // "" while it is still on its way there
			lone = open[0].TargetID
		}
		wg.Go(func() { errs[i] = b.openPage(root, u, lone) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// openPage navigates the given tab, or a new one when there is none.
func (b *Browser) openPage(root context.Context, address string, lone target.ID) error {
	options := []chromedp.ContextOption{chromedp.WithDetachOnCancel(), chromedp.WithNewWindow(false)}
	if lone != "" {
		options = append(options, chromedp.WithTargetID(lone))
	}
	tab, cancel := chromedp.NewContext(root, options...)
	defer cancel()
	err := chromedp.Do(tab, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		return chromedp.Void{}, b.navigate(ctx, t, address)
	})
	if err != nil {
		return fmt.Errorf("open %s: %w", address, err)
	}
	return nil
}

// navigate waits until the owner has dressed the tab, and then until the navigation has begun. Chrome answers Page.navigate only
// when the server has sent its headers, which through a slow proxy takes long; the event comes at once.
func (b *Browser) navigate(ctx context.Context, t *chromedp.Target, address string) error {
	b.mux.controller.awaitOverrides(ctx, string(t.TargetID))
	begun, unsubscribe := t.Subscribe("Page.frameStartedNavigating")
	defer unsubscribe()
	answered := make(chan error, 1)
	go func() {
		r, err := cdp.Call(ctx, t, cdppage.Navigate, cdppage.NavigateParams{URL: address})
		if err == nil && r.ErrorText != "" {
			b.log.Debug("start page did not load", "error", r.ErrorText) // the tab shows it
		}
		answered <- err
	}()
	select {
	case err := <-answered:
		return err
	case <-begun:
		return nil
	}
}

// shown reports whether a tab shows the URL.
func shown(open []*target.Info, address string) bool {
	return address != BlankPage && slices.ContainsFunc(open, func(t *target.Info) bool { return normal(t.URL) == normal(address) })
}
