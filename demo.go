package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/go-json-experiment/json"

	"warren/api"
	"warren/cli"
	"warren/demonet"
	"warren/pool"
	"warren/runs"
)

type demoCommand struct {
	Browser string `env:"WARREN_BROWSER" placeholder:"PATH" help:"The browser to run."`
	Listen  string `default:"127.0.0.1:0" help:"Address to serve on."`
	Headed  bool   `help:"Show the browser's window."`
	Exit    bool   `help:"End after the steps, with 0 only if each worked."`
}

// demo is one demonstration: a server, a proxy with a password and a site, all on this machine.
type demo struct {
	*demoCommand
	out   io.Writer
	api   *cli.Client
	site  *demonet.Site
	proxy *demonet.Proxy

	proxyID, profileID string
	cdpURL, liveURL    string
}

// Run shows the product step by step without a network. Its files are in a temporary folder, which it removes.
func (d *demoCommand) Run(ctx context.Context, c *console) error {
	dir, err := os.MkdirTemp(shortTemp(), "warren-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	story := &demo{demoCommand: d, out: c.stdout}
	if story.site, err = demonet.NewSite(); err != nil {
		return err
	}
	defer story.site.Close()
	if story.proxy, err = demonet.NewProxy("127.0.0.1:0", story.site.Address()); err != nil {
		return err
	}
	defer func() { story.proxy.Close() }()
	cfg := &serveConfig{Listen: d.Listen, Data: dir, Browser: d.Browser, Headless: "always",
		CheckURL:     []string{"http://" + demonet.Host + "/ip"},
		CheckTimeout: 10 * time.Second, RotateEvery: 10 * time.Second, RotateTimeout: time.Minute, StartTimeout: 30 * time.Second,
		Warm:     1,
		MaxQueue: 1000, QueueTimeout: time.Minute, OrphanGrace: 5 * time.Second, TrashDays: 30, AllowPrivate: "auto", APIKey: api.NewKey()}
	if d.Headed {
		cfg.Headless = "never"
	}
	if err := cfg.resolve(); err != nil {
		return err
	}
	return story.run(ctx, cfg, c)
}

// shortTemp is a folder for temporary files whose path leaves room for a socket's.
func shortTemp() string {
	if t := os.TempDir(); len(t) < 40 || runtime.GOOS == "windows" {
		return t
	}
	return "/tmp"
}

// run serves, shows the steps, and serves on until the user ends it.
func (d *demo) run(ctx context.Context, cfg *serveConfig, c *console) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	told := make(chan error, 1)
	quiet := &console{c.stdin, io.Discard, io.Discard}
	err := serve(ctx, cfg, quiet, func(base string) {
		d.api = cli.NewClient(base, cfg.APIKey)
		go func() {
			err := d.tell(ctx)
			told <- err
			if err == nil && !d.Exit {
				fmt.Fprintf(d.out, "\nThe page, with everything in it:\n\n    %s/#key=%s\n\nThe browser that runs, to see and "+
					"work:\n\n    %s\n\nCtrl-C ends the demo and removes its folder.\n", base, cfg.APIKey, d.liveURL)
				return
			}
			stop()
		}()
	})
	select {
	case e := <-told:
		return errors.Join(e, err)
	default:
		return err
	}
}

// tell shows the steps. A step that did not work is an error.
func (d *demo) tell(ctx context.Context) error {
	fmt.Fprintf(d.out, "warren demo: everything on this machine, no network\n\n")
	steps := []struct {
		title string
		do    func(context.Context) (string, error)
	}{
		{"a SOCKS5 proxy with a password, and a site that shows what it sees", d.stage},
		{"add the proxy", d.addProxy},
		{"check it, through the very dialer that browsers go through", d.check},
		{"check it with a wrong password", d.checkWrong},
		{"create two profiles", d.createProfiles},
		{"start the first: its browser goes out through the proxy", d.start},
		{"a page inside cannot reach this machine's services", d.inside},
		{"the proxy dies: the page fails, nothing goes around it", d.killProxy},
		{"stop: the browser closes gracefully", d.stopProfile},
		{"start again: the cookie is still there", d.again},
	}
	for i, s := range steps {
		result, err := s.do(ctx)
		if err != nil {
			fmt.Fprintf(d.out, "%2d. %s\n    FAILED: %v\n", i+1, s.title, err)
			return fmt.Errorf("step %d (%s): %w", i+1, s.title, err)
		}
		fmt.Fprintf(d.out, "%2d. %s\n    %s\n", i+1, s.title, strings.ReplaceAll(result, "\n", "\n    "))
	}
	return nil
}

func (d *demo) stage(context.Context) (string, error) {
	return fmt.Sprintf("proxy 127.0.0.1:%d, user demo; site http://%s/, a name that only the proxy knows", d.proxy.Port(),
		demonet.Host), nil
}

func (d *demo) addProxy(ctx context.Context) (string, error) {
	var p struct {
		ID          string `json:"id"`
		HasPassword bool   `json:"hasPassword"`
	}
	in := map[string]any{"type": "socks5", "host": "127.0.0.1", "port": d.proxy.Port(), "username": "demo",
		"password": d.proxy.Password, "name": "Demo proxy"}
	if err := d.api.Call(ctx, http.MethodPost, "/proxies", in, &p); err != nil {
		return "", err
	}
	d.proxyID = p.ID
	if !p.HasPassword {
		return "", errors.New("the password was not kept")
	}
	return "POST /proxies: " + p.ID + "; the password is sealed and never answered", nil
}

func (d *demo) check(ctx context.Context) (string, error) {
	var c pool.Check
	if err := d.api.Call(ctx, http.MethodPost, "/proxies/"+d.proxyID+"/check", nil, &c); err != nil {
		return "", err
	}
	if !c.OK || c.ExitIP == nil || *c.ExitIP != d.proxy.Exit {
		return "", fmt.Errorf("the check says %+v", c.Error)
	}
	country := "unknown"
	if c.CountryName != nil {
		country = *c.CountryName
	}
	return fmt.Sprintf("alive, exit %s in %s, %v", *c.ExitIP, country, time.Duration(c.DurationMs)*time.Millisecond), nil
}

func (d *demo) checkWrong(ctx context.Context) (string, error) {
	var c pool.Check
	in := map[string]any{"url": fmt.Sprintf("socks5://demo:wrong@127.0.0.1:%d", d.proxy.Port())}
	if err := d.api.Call(ctx, http.MethodPost, "/proxies/check", in, &c); err != nil {
		return "", err
	}
	if c.OK || c.Error == nil || c.Error.Code != "auth_failed" {
		return "", fmt.Errorf("the check says ok=%v %+v", c.OK, c.Error)
	}
	return fmt.Sprintf("dead, stage %s, code %s: %s", c.Error.Stage, c.Error.Code, c.Error.Message), nil
}

func (d *demo) createProfiles(ctx context.Context) (string, error) {
	var ids []string
	for _, in := range []map[string]any{
		{"name": "Shop, seen from elsewhere", "tags": []string{"demo"}, "proxyId": d.proxyID,
			"startUrls": []string{"http://" + demonet.Host + "/"}},
		{"name": "Second customer", "tags": []string{"demo"}, "proxyId": d.proxyID},
	} {
		var p struct {
			ID string `json:"id"`
		}
		if err := d.api.Call(ctx, http.MethodPost, "/profiles", in, &p); err != nil {
			return "", err
		}
		ids = append(ids, p.ID)
	}
	d.profileID = ids[0]
	return "POST /profiles: " + strings.Join(ids, ", "), nil
}

func (d *demo) start(ctx context.Context) (string, error) {
	var run runs.Started
	began := time.Now()
	if err := d.api.Call(ctx, http.MethodPost, "/profiles/"+d.profileID+"/start", nil, &run); err != nil {
		return "", err
	}
	took := time.Since(began)
	d.cdpURL = run.CdpURL
	seen, err := d.site.Await(ctx, "/")
	if err != nil {
		return "", err
	}
	if seen.Address != d.proxy.Exit {
		return "", fmt.Errorf("the site saw %s, not the proxy's exit %s", seen.Address, d.proxy.Exit)
	}
	var warnings []string
	for _, w := range run.Warnings {
		warnings = append(warnings, "\nwarning: "+w.Message)
	}
	return fmt.Sprintf("took commands after %d ms, pid %d\nthe site saw: address %s, %s\ncdpUrl %s%s",
		took.Milliseconds(), run.PID, seen.Address, seen.Agent, redactCapability(run.CdpURL), strings.Join(warnings, "")), nil
}

func redactCapability(u string) string {
	if i := strings.LastIndex(u, "/cdp/"); i >= 0 && len(u) > i+11 {
		return u[:i+11] + "…"
	}
	return u
}

// tidy closes every tab but those at one address, so that the live view begins with what the story ended with.
func (d *demo) tidy(ctx context.Context, keep string) error {
	type entry struct{ ID, Type, URL string }
	var tabs []entry
	is := func(tab entry) bool { return strings.HasSuffix(tab.URL, keep) }
	for !slices.ContainsFunc(tabs, is) { // the site has the request before the tab has the address
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		tabs = nil
		if err := d.devtools(ctx, http.MethodGet, "/json/list", &tabs); err != nil {
			return err
		}
	}
	for _, tab := range tabs {
		if tab.Type == "page" && !is(tab) {
			if err := d.devtools(ctx, http.MethodGet, "/json/close/"+tab.ID, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// devtools sends the browser a request of Chrome's own HTTP interface. into is nil, or takes the JSON answer.
func (d *demo) devtools(ctx context.Context, method, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, d.cdpURL+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s answered %s", path, res.Status)
	}
	if into == nil {
		return nil
	}
	return json.UnmarshalRead(res.Body, into, json.MatchCaseInsensitiveNames(true))
}

// visit opens a tab over CDP, as any client would, and navigates it. It returns when Chrome knows the outcome: failure is
// the reason why the page did not load, "" when it did.
func (d *demo) visit(ctx context.Context, address string) (failure string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var tab struct {
		WebSocketDebuggerURL string `json:"webSocketDebuggerUrl"`
	}
	if err := d.devtools(ctx, http.MethodPut, "/json/new", &tab); err != nil {
		return "", err
	}
	page, _, err := websocket.Dial(ctx, tab.WebSocketDebuggerURL, nil) //nolint:bodyclose // a socket has none
	if err != nil {
		return "", err
	}
	defer page.CloseNow() //nolint:errcheck // the tab stays
	if err := wsjson.Write(ctx, page, map[string]any{"id": 1, "method": "Page.navigate",
		"params": map[string]string{"url": address}}); err != nil {
		return "", err
	}
	var went struct {
		ID     int `json:"id"`
		Result struct {
			ErrorText string `json:"errorText"`
		} `json:"result"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	for went.ID == 0 { // events have none
		if err := wsjson.Read(ctx, page, &went); err != nil {
			return "", err
		}
	}
	if went.Error != nil {
		return "", errors.New(went.Error.Message)
	}
	return went.Result.ErrorText, nil
}

func (d *demo) inside(ctx context.Context) (string, error) {
	failure, err := d.visit(ctx, "http://"+d.site.Address()+"/secret")
	if err != nil {
		return "", err
	}
	if failure == "" || d.site.Count("/secret") != 0 {
		return "", fmt.Errorf("a page inside reached http://%s", d.site.Address())
	}
	return "http://" + d.site.Address() + "/ from inside: refused by the relay (" + failure + "), the site saw nothing", nil
}

func (d *demo) killProxy(ctx context.Context) (string, error) {
	d.proxy.Close()
	failure, err := d.visit(ctx, "http://"+demonet.Host+"/beside")
	if err != nil {
		return "", err
	}
	var c pool.Check
	if err := d.api.Call(ctx, http.MethodPost, "/proxies/"+d.proxyID+"/check", nil, &c); err != nil {
		return "", err
	}
	if c.OK || failure == "" || d.site.Count("/beside") != 0 {
		return "", errors.New("something got out beside the dead proxy")
	}
	p, err := demonet.NewProxy(fmt.Sprintf("127.0.0.1:%d", d.proxy.Port()), d.site.Address())
	if err != nil {
		return "", err
	}
	p.Password, d.proxy = d.proxy.Password, p
	return fmt.Sprintf("the page: %s; check: dead, %s; the site saw nothing. The proxy is back.", failure, c.Error.Code), nil
}

func (d *demo) stopProfile(ctx context.Context) (string, error) {
	var s api.StopAnswer
	if err := d.api.Call(ctx, http.MethodPost, "/profiles/"+d.profileID+"/stop", nil, &s); err != nil {
		return "", err
	}
	if !s.Stopped || s.Method != "close" {
		return "", fmt.Errorf("stopped %v by %q", s.Stopped, s.Method)
	}
	return fmt.Sprintf("by %s; %d bytes up, %d bytes down", s.Method, s.LastRun.BytesUp, s.LastRun.BytesDown), nil
}

func (d *demo) again(ctx context.Context) (string, error) {
	in := map[string]any{"startUrls": []string{"http://" + demonet.Host + "/again"}}
	var run runs.Started
	if err := d.api.Call(ctx, http.MethodPost, "/profiles/"+d.profileID+"/start", in, &run); err != nil {
		return "", err
	}
	d.cdpURL, d.liveURL = run.CdpURL, run.LiveURL
	seen, err := d.site.Await(ctx, "/again")
	if err != nil {
		return "", err
	}
	if !strings.Contains(seen.Cookie, "visitor=") {
		return "", fmt.Errorf("the site saw the cookie %q", seen.Cookie)
	}
	return "the site saw: " + seen.Cookie, d.tidy(ctx, demonet.Host+"/again")
}
