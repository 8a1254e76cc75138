package shim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"warren/browser"
)

// Client is the server's hold on one run.
type Client struct {
	dir, name  string
	profileDir string
	http       *http.Client
	cancel     context.CancelFunc
	cmd        *exec.Cmd     // nil when the run was adopted
	exited     chan struct{} // closed when cmd has ended

	notices chan Notice
	done    chan struct{}
	end     End
}

// slack is what a shim may take beyond the times that its browser has. One that takes longer hangs, and is killed: then
// the pipe breaks and the browser goes by itself.
const slack = 15 * time.Second

// Launch starts a shim of this very binary and waits until its browser takes commands. A *Failure says why it does not.
func Launch(ctx context.Context, exe string, spec Spec) (*Client, *State, error) {
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout+slack)
	defer cancel()
	if err := os.MkdirAll(spec.RunDir, 0o700); err != nil {
		return nil, nil, err
	}
	in, err := json.Marshal(spec)
	if err != nil {
		return nil, nil, err
	}
	log, err := os.OpenFile(filepath.Join(spec.RunDir, spec.Name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd := exec.Command(exe, "shim")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), log
	cmd.Dir = spec.RunDir
	cmd.Env = environment()
	detach(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	killsBefore := memoryKills()
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	r, err := awaitReport(ctx, cmd, out)
	if err == nil && r.Failure != nil {
		err = r.Failure
	}
	if err != nil {
		if cmd.Wait() != nil { // else it has cleared up after itself
			awaitGone(spec.ProfileDir, spec.Name)
		}
		if f, ok := errors.AsType[*Failure](err); ok {
			f.Memory = memoryKills() > killsBefore
			explainDeath(f, cmd.ProcessState, log.Name())
		}
		removeFiles(spec.RunDir, spec.Name)
		return nil, nil, err
	}
	c := newClient(spec.RunDir, spec.Name, spec.ProfileDir)
	c.cmd = cmd
	c.watch()
	return c, r.State, nil
}

// environment is what a run inherits: nothing of ours.
func environment() []string {
	out := []string{}
	for _, kv := range os.Environ() {
		if len(kv) < 7 || kv[:7] != "WARREN_" {
			out = append(out, kv)
		}
	}
	return out
}

// awaitReport reads the shim's one line. When ctx ends first the shim is told by a signal, and closes its browser.
func awaitReport(ctx context.Context, cmd *exec.Cmd, out io.Reader) (report, error) {
	type result struct {
		r   report
		err error
	}
	got := make(chan result, 1)
	go func() {
		line, err := bufio.NewReader(out).ReadBytes('\n')
		var r report
		if err == nil {
			err = json.Unmarshal(line, &r)
		}
		got <- result{r, err}
	}()
	select {
	case g := <-got:
		if g.err != nil {
			return report{}, &Failure{Kind: "internal", Message: noReport, ExitCode: -1}
		}
		return g.r, nil
	case <-ctx.Done():
		interrupt(cmd.Process)
		late := time.NewTimer(slack)
		defer late.Stop()
		select {
		case <-got:
		case <-late.C:
			cmd.Process.Kill() //nolint:errcheck // it may be gone
			<-got
		}
		return report{}, ctx.Err()
	}
}

// Adopt takes hold of a run that another server started; profileDir tells the folder of a profile. That it fails does not say that the shim is
// gone: Gone does. Of one that is gone Remains has the end; Hold takes hold of any other.
func Adopt(ctx context.Context, dir, name string, profileDir func(profileID string) string) (*Client, *State, error) {
	c := newClient(dir, name, "")
	var s State
	if err := c.call(ctx, http.MethodGet, "/state", nil, &s); err != nil {
		c.http.CloseIdleConnections()
		return nil, nil, err
	}
	c.profileDir = profileDir(s.ProfileID)
	c.watch()
	return c, &s, nil
}

// Hold takes hold of a run whose shim does not answer now. The run is over when the shim is gone.
func Hold(dir, name, profileDir string) *Client {
	c := newClient(dir, name, profileDir)
	c.watch()
	return c
}

// Remains reads what a shim that is gone left behind. When it left no word, Remains waits until its browser has gone
// too, and says Lost.
func Remains(dir, name, profileDir string) End {
	var e End
	b, err := os.ReadFile(endPath(dir, name))
	if err != nil || json.Unmarshal(b, &e) != nil {
		awaitGone(profileDir, name)
		return End{Outcome: Lost, EndedAt: time.Now().UTC()}
	}
	return e
}

// Forget removes the files of a run whose end is recorded.
func Forget(dir, name string) { removeFiles(dir, name) }

func removeFiles(dir, name string) {
	for _, ext := range []string{".sock", ".take", ".end", ".log", debugPortExt} {
		os.Remove(filepath.Join(dir, name+ext)) //nolint:errcheck // it may not be there
	}
	removeTemp(name) //nolint:errcheck // there only when the shim was killed
}

func newClient(dir, name, profileDir string) *Client {
	c := &Client{dir: dir, name: name, profileDir: profileDir, exited: make(chan struct{}), notices: make(chan Notice, 8), done: make(chan struct{})}
	c.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
		DisableCompression: true, MaxIdleConnsPerHost: 4}}
	return c
}

// Notices says when the run is about to be closed by one of its limits, when it is not any more, and that it goes on through another proxy.
// Those that nobody takes are lost.
func (c *Client) Notices() <-chan Notice { return c.notices }

// Done is closed when the run is over.
func (c *Client) Done() <-chan struct{} { return c.done }

// End is how the run ended; only after Done.
func (c *Client) End() End { return c.end }

// Release lets go of the run: it goes on without this server, for its grace.
func (c *Client) Release() {
	c.cancel()
	c.http.CloseIdleConnections()
}

// Kill ends a shim that does not answer; its browser goes when the pipe breaks. A shim that was adopted is no child of ours: it is
// ended where the system proves which process holds the socket. Else an error says so.
func (c *Client) Kill() error {
	if isClosed(c.done) {
		return nil
	}
	if c.cmd == nil {
		return killListener(socketPath(c.dir, c.name))
	}
	if err := c.cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// Abandon ends the run whatever comes: gracefully within d, or else with its shim.
func (c *Client) Abandon(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if _, err := c.Stop(ctx, false); err == nil {
		return nil
	}
	if err := c.Kill(); err != nil {
		return err
	}
	<-c.done // the line is cut, and what waits for the browser's end is bounded
	return nil
}

// Stop ends the run and returns when its browser and its shim are gone. It may be called twice.
func (c *Client) Stop(ctx context.Context, force bool) (End, error) {
	path := "/stop"
	if force {
		path += "?force=true"
	}
	err := c.call(ctx, http.MethodPost, path, nil, nil)
	select {
	case <-c.done:
		return c.end, nil
	default:
	}
	if err != nil && ctx.Err() != nil {
		return End{}, err
	}
	select { // the line breaks when the shim goes
	case <-c.done:
		return c.end, nil
	case <-ctx.Done():
		return End{}, ctx.Err()
	}
}

// State asks the shim how the run is.
func (c *Client) State(ctx context.Context) (*State, error) {
	var s State
	return &s, c.call(ctx, http.MethodGet, "/state", nil, &s)
}

// Alive asks whether the run goes on: it is not being closed, and its browser answers. A browser that was killed a moment ago
// may not have been missed yet. Of one that does not answer in time it is believed.
func (c *Client) Alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := c.State(ctx)
	if err == nil && !s.Ending {
		err = c.call(ctx, http.MethodGet, "/cdp/json/version", nil, nil)
	}
	return err == nil && !s.Ending || ctx.Err() != nil
}

// SetIdentity changes the time zone, the position and the languages that the run's pages are told, at once. What else differs in id waits for another run.
// It returns the languages that they are told now, which Chrome may not have taken; nil are the host's, or a process' that cannot change them.
func (c *Client) SetIdentity(ctx context.Context, id Identity) (languages []string, err error) {
	var told toldIdentity
	err = c.call(ctx, http.MethodPut, "/identity", id, &told)
	return told.Languages, err
}

// SetCapabilities has the run's process keep which capabilities the run has.
func (c *Client) SetCapabilities(ctx context.Context, all []Capability) error {
	return c.call(ctx, http.MethodPut, "/capabilities", all, nil)
}

// ask sends a request to the shim. The caller closes the answer's body.
func (c *Client) ask(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://shim"+path, body)
	if err != nil {
		return nil, err
	}
	sayUntil(ctx, req)
	return c.http.Do(req)
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	res, err := c.ask(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the run's process answered %s", res.Status)
	}
	if out == nil {
		_, err = io.Copy(io.Discard, res.Body)
		return err
	}
	return json.NewDecoder(res.Body).Decode(out)
}

// Gateway passes CDP requests on to the run, of a client with these rights. base is what addresses in answers begin with, such as
// ws://127.0.0.1:7777/cdp/CAPABILITY; prefix is the part of the path that is ours; over answers when the run has ended.
func (c *Client) Gateway(may Rights, base, prefix string, over http.HandlerFunc) http.Handler {
	return c.passOn("/cdp", prefix, over, func(r *httputil.ProxyRequest) {
		may.tell(r.Out.Header)
		r.Out.Header.Set("X-Warren-Base", base)
	})
}

// Live passes requests for the live view on to the run, whose /live it is, of a viewer with these rights. prefix is the part of the path that is ours; over
// answers when the run has ended. The caller has looked at Origin, which is not passed on.
func (c *Client) Live(may Rights, prefix string, over http.HandlerFunc) http.Handler {
	return c.passOn("/live", prefix, over, func(r *httputil.ProxyRequest) {
		r.Out.Header.Del("Origin")
		may.tell(r.Out.Header)
	})
}

// tell says to the run's process what the client may, and takes away whatever the client says of that itself.
func (may Rights) tell(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "X-Warren-") {
			delete(h, name)
		}
	}
	if may.Readonly {
		h.Set("X-Warren-Readonly", "1")
	}
	if may.Files {
		h.Set("X-Warren-Files", "1")
	}
}

// passOn passes requests below prefix on to the run, below place, without what lets in here: keys and tickets are not the run's to see.
func (c *Client) passOn(place, prefix string, over http.HandlerFunc, change func(*httputil.ProxyRequest)) http.Handler {
	target := &url.URL{Scheme: "http", Host: "shim"}
	rewrite := func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		path := place + r.In.URL.Path[len(prefix):]
		if path == place {
			path += "/"
		}
		r.Out.URL.Path, r.Out.URL.RawPath = path, ""
		r.Out.Header.Del("Authorization")
		r.Out.Header.Del("Cookie")
		r.Out.Header.Del("Sec-Websocket-Extensions")
		dropTickets(r.Out.Header)
		change(r)
	}
	pass := &httputil.ReverseProxy{Transport: c.http.Transport, FlushInterval: -1, Rewrite: rewrite,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, _ error) { over(w, r) }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.handOver(w, r, rewrite) {
			pass.ServeHTTP(w, r)
		}
	})
}

// TicketProtocol is how the WebSocket subprotocol begins that carries a ticket in.
const TicketProtocol = "warren.ticket."

// dropTickets leaves the subprotocols that are none: an answer that repeats one would repeat a secret.
func dropTickets(h http.Header) {
	const name = "Sec-Websocket-Protocol"
	var rest []string
	for p := range strings.SplitSeq(strings.Join(h[name], ","), ",") {
		if p = strings.TrimSpace(p); p != "" && !strings.HasPrefix(p, TicketProtocol) {
			rest = append(rest, p)
		}
	}
	if h.Del(name); len(rest) > 0 {
		h.Set(name, strings.Join(rest, ", "))
	}
}

// Plan says what a start would run, without starting: the browser's arguments and what its environment gains. A *Failure says why
// it could not be isolated.
func Plan(s Spec) (arguments, env []string, warnings []browser.Warning, err error) {
	b, err := browser.Open(s.browser(nil))
	if home, ok := errors.AsType[*browser.IsolationError](err); ok {
		err = isolationFailure(home)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	defer b.Close()
	return b.Arguments(), b.Environment(), b.Warnings(), nil
}

// ChildArgument is what this program is called with to become a run's browser inside its namespace; it must then call EnterNamespace.
const ChildArgument = browser.ChildArgument

// EnterNamespace is the whole life of such a program. It returns only when it failed.
func EnterNamespace() error { return browser.EnterNamespace() }

// CheckIsolation makes a namespace as a run's and closes it again. A *Failure says why runs have none here.
func CheckIsolation() error {
	return asFailure(browser.CheckIsolation())
}

// CheckFiles says as a *Failure why the kernel cannot hide files from a run here.
func CheckFiles() error { return asFailure(browser.CheckFiles()) }

func asFailure(err error) error {
	if home, ok := errors.AsType[*browser.IsolationError](err); ok {
		return isolationFailure(home)
	}
	return err
}
