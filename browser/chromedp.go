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

// Only this file imports chromedp. The allocator gives chromedp a Transport that is a client of the multiplexer. chromedp neither starts
// nor closes the browser.

// transport is a client of the multiplexer as a chromedp.Transport.
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
	life context.Context // of the connection; it outlives the contexts of the tabs, so that these can detach
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
	c.ownFolders = true // the run's own client
	return chromedp.NewBrowserTransport(a.life, transport{c}, opts...)
}

// Wait satisfies chromedp.Allocator.
func (a *allocator) Wait() {}

// Attaches satisfies chromedp.Attacher: chromedp must not close the browser.
func (a *allocator) Attaches() bool { return true }

// drive returns a chromedp context on the browser, without a tab. Its cancel function leaves all tabs open.
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

// openTimeout bounds the opening of all start pages together.
const openTimeout = 20 * time.Second

// OpenPages opens each URL in a tab; if a blank tab is the only one, it takes the first URL. It skips a URL that a restored tab shows. It
// returns when every navigation has begun, before the pages are loaded. Only http, https and about:blank are allowed: it refuses any other
// URL (CheckURL) before it opens anything.
func (b *Browser) OpenPages(ctx context.Context, urls []string) error {
	for _, u := range urls {
		if err := CheckURL(u); err != nil {
			return err
		}
	}
	if len(urls) == 0 {
		return nil
	}
	b.probedValues() // the page of a probe would be a second tab
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

// openPage navigates a tab; "": a new one.
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

// navigate waits for the tab's overrides, and then until the navigation has begun. Chrome answers Page.navigate only after the server's
// headers, which takes long through a slow proxy. The event comes at once.
func (b *Browser) navigate(ctx context.Context, t *chromedp.Target, address string) error {
	b.mux.controller.awaitOverrides(ctx, string(t.TargetID))
	begun, unsubscribe := t.Subscribe("Page.frameStartedNavigating")
	defer unsubscribe()
	answered := make(chan error, 1)
	go func() {
		r, err := cdp.Call(ctx, t, cdppage.Navigate, cdppage.NavigateParams{URL: address})
		if err == nil && r.ErrorText != "" {
			b.log.Debug("start page did not load", "error", r.ErrorText) // the tab shows the error
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

// shown reports whether a tab shows a URL.
func shown(open []*target.Info, address string) bool {
	return address != BlankPage && slices.ContainsFunc(open, func(t *target.Info) bool { return normal(t.URL) == normal(address) })
}
