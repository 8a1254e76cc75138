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
	"slices"
	"strconv"
	"strings"
	"time"

	"warren/browser"
)

// Client is the server's connection to one run.
type Client struct {
	dir, name  string
	profileDir string
	http       *http.Client
	cancel     context.CancelFunc
	cmd        *exec.Cmd     // nil for an adopted run
	exited     chan struct{} // closed when cmd has exited

	notices chan Notice
	done    chan struct{}
	end     End
}

// slack is how much longer than its browser a shim may take. A shim that takes longer hangs and is killed. The
// DevTools pipe breaks then, and the browser exits by itself.
const slack = 15 * time.Second

// Launch starts a shim from exe and waits until its browser takes commands. exe is this program. The error is a
// *Failure when the start failed.
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
	log, err := os.OpenFile(logPath(spec.RunDir, spec.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd := command(exe, spec.RunDir)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	l := begin(spec, cmd)
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	return l.await(ctx, out)
}

// command is a shim that does not run yet.
func command(exe, runDir string) *exec.Cmd {
	cmd := exec.Command(exe, "shim")
	cmd.Dir, cmd.Env = runDir, environment()
	detach(cmd)
	return cmd
}

// starting is a start that goes on.
type starting struct {
	spec        Spec
	cmd         *exec.Cmd
	began       time.Time
	killsBefore int64 // as oomKills
}

func begin(spec Spec, cmd *exec.Cmd) starting { return starting{spec, cmd, time.Now(), oomKills()} }

// await waits for the shim's report on out. On failure nothing is left.
func (l starting) await(ctx context.Context, out io.Reader) (*Client, *State, error) {
	state, err := awaitReport(ctx, l.cmd, out)
	if err != nil {
		if l.cmd.Wait() != nil { // on success the shim has cleaned up after itself
			endLeftovers(l.spec.ProfileDir, l.spec.Name)
		}
		if f, ok := errors.AsType[*Failure](err); ok {
			f.Memory = oomKills() > l.killsBefore || l.spec.Group.OOMKills() > 0
			explainCrash(f, l.cmd.ProcessState, logPath(l.spec.RunDir, l.spec.Name))
		}
		Forget(l.spec.RunDir, l.spec.Name)
		return nil, nil, err
	}
	c := newClient(l.spec.RunDir, l.spec.Name, l.spec.ProfileDir)
	c.cmd = l.cmd
	go func() {
		l.cmd.Wait() //nolint:errcheck // the end report says it all
		close(c.exited)
	}()
	c.watch()
	state.Phases = append([]Phase{{Name: "process", Took: time.Since(l.began) - total(state.Phases)}}, state.Phases...)
	return c, state, nil
}

// logPath is the file of a shim's messages.
func logPath(runDir, name string) string { return filepath.Join(runDir, name+".log") }

// environment is the environment that a run inherits: ours without what only the server needs. WARREN_…, AWS_… and OTEL_… hold secrets.
// The rest is between a service and its manager (systemd.exec(5), sd_notify(3)).
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		return slices.ContainsFunc([]string{"WARREN_", "AWS_", "OTEL_", "NOTIFY_SOCKET=", "WATCHDOG_", "CREDENTIALS_DIRECTORY="},
			func(prefix string) bool { return strings.HasPrefix(v, prefix) })
	})
}

// awaitReport reads the one line that a shim reports. If ctx ends first, a signal asks the shim to close its browser.
func awaitReport(ctx context.Context, cmd *exec.Cmd, out io.Reader) (*State, error) {
	got := make(chan report, 1)
	go func() {
		var r report
		line, err := bufio.NewReader(out).ReadBytes('\n')
		if err != nil || json.Unmarshal(line, &r) != nil {
			r = report{Failure: &Failure{Kind: "internal", Message: noReport, ExitCode: -1}}
		}
		got <- r
	}()
	select {
	case r := <-got:
		if r.Failure != nil {
			return nil, r.Failure
		}
		return r.State, nil
	case <-ctx.Done():
		interrupt(cmd.Process)
		select {
		case <-got:
		case <-time.After(slack):
			cmd.Process.Kill() //nolint:errcheck // the process may have exited
			<-got
		}
		return nil, ctx.Err()
	}
}

// Adopt connects to a run that another server started. profileDir returns the folder of a profile. An error does not
// mean that the shim is gone: Gone decides that. For a shim that is gone, Remains returns the end; for any other,
// Hold returns a client.
func Adopt(ctx context.Context, dir, name string, profileDir func(profileID string) string) (*Client, *State, error) {
	c := newClient(dir, name, "")
	s, err := c.State(ctx)
	if err != nil {
		c.http.CloseIdleConnections()
		return nil, nil, err
	}
	c.profileDir = profileDir(s.ProfileID)
	c.watch()
	return c, s, nil
}

// Hold returns a client for a run whose shim does not answer now. The run is over when the shim is gone.
func Hold(dir, name, profileDir string) *Client {
	c := newClient(dir, name, profileDir)
	c.watch()
	return c
}

// Remains reads the end report of a shim that is gone. Without a report it waits until the browser has exited too,
// and returns Lost.
func Remains(dir, name, profileDir string) End {
	var e End
	b, err := os.ReadFile(endPath(dir, name))
	if err != nil || json.Unmarshal(b, &e) != nil {
		endLeftovers(profileDir, name)
		return End{Outcome: Lost, EndedAt: time.Now().UTC()}
	}
	return e
}

// Forget removes the files of a run whose end is recorded, or that did not start.
func Forget(dir, name string) {
	for _, ext := range []string{".sock", ".take", ".end", ".log", debugPortExt} {
		os.Remove(filepath.Join(dir, name+ext)) //nolint:errcheck // the file may not exist
	}
	removeTemp(name) //nolint:errcheck // the folder exists only if the shim was killed
}

func newClient(dir, name, profileDir string) *Client {
	c := &Client{dir: dir, name: name, profileDir: profileDir, exited: make(chan struct{}), notices: make(chan Notice, 8),
		done: make(chan struct{})}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) }
	c.http = &http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true, MaxIdleConnsPerHost: 4}}
	return c
}

// Notices announces that a limit is about to close the run, that the close is called off, and that the run continues
// through another proxy. A notice that nobody receives is dropped.
func (c *Client) Notices() <-chan Notice { return c.notices }

// Done is closed when the run is over.
func (c *Client) Done() <-chan struct{} { return c.done }

// End returns how the run ended. It is valid only after Done is closed.
func (c *Client) End() End { return c.end }

// Release disconnects from the run. Without a server the run continues for its grace period.
func (c *Client) Release() {
	c.cancel()
	c.http.CloseIdleConnections()
}

// Kill ends a shim that does not answer. Its browser exits when the pipe breaks. An adopted shim is no child of this
// process. It is killed only if the system proves which process holds the socket; otherwise Kill fails.
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

// Abandon ends the run in any case: gracefully within d, else by killing its shim.
func (c *Client) Abandon(d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if _, err := c.Stop(ctx, false); err == nil {
		return nil
	}
	if err := c.Kill(); err != nil {
		return err
	}
	<-c.done // the connection is gone, and the wait for the browser's exit is bounded
	return nil
}

// Stop ends the run and returns when its browser and its shim have exited. It may be called more than once.
func (c *Client) Stop(ctx context.Context, force bool) (End, error) {
	path := "/stop"
	if force {
		path += "?force=true"
	}
	err := c.call(ctx, http.MethodPost, path, nil, nil)
	if isClosed(c.done) {
		return c.end, nil
	}
	if err != nil && ctx.Err() != nil {
		return End{}, err
	}
	select { // the connection breaks when the shim exits
	case <-c.done:
		return c.end, nil
	case <-ctx.Done():
		return End{}, ctx.Err()
	}
}

// State asks the shim for the run's state.
func (c *Client) State(ctx context.Context) (*State, error) { return ask[*State](ctx, c, "/state") }

// Alive reports whether the run is not being closed and its browser answers. A browser that was killed a moment ago
// may not have been noticed yet. A run that does not answer in time counts as alive.
func (c *Client) Alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s, err := c.State(ctx)
	if err == nil && !s.Ending {
		err = c.call(ctx, http.MethodGet, "/cdp/json/version", nil, nil)
	}
	return err == nil && !s.Ending || ctx.Err() != nil
}

// SetIdentity changes the time zone, the position and the languages that pages see, at once. Other differences in id
// wait for another run. The returned languages are those that pages see now, since Chrome may refuse a change. They
// are nil for the host's, and for a shim that cannot change them.
func (c *Client) SetIdentity(ctx context.Context, id Identity) (languages []string, err error) {
	var got identityResult
	err = c.call(ctx, http.MethodPut, "/identity", id, &got)
	return got.Languages, err
}

// SetCapabilities has the shim keep the run's capabilities for the next server.
func (c *Client) SetCapabilities(ctx context.Context, all []Capability) error {
	return c.call(ctx, http.MethodPut, "/capabilities", all, nil)
}

// Yield makes the run's browser yield processor time to others for d, at most maxYield, or until a client or a viewer
// comes. Where the system does not offer that, nothing changes. A process of an older version refuses it, and one that
// does not answer within d is given up.
func (c *Client) Yield(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return c.call(ctx, http.MethodPut, "/yield?ms="+strconv.FormatInt(d.Milliseconds(), 10), nil, nil)
}

// do sends a request to the shim. The caller closes the response's body.
func (c *Client) do(ctx context.Context, method, path string, in any) (*http.Response, error) {
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
	setDeadline(ctx, req)
	return c.http.Do(req)
}

// ask returns what the shim says at a path.
func ask[T any](ctx context.Context, c *Client, path string) (out T, err error) {
	err = c.call(ctx, http.MethodGet, path, nil, &out)
	return out, err
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	res, err := c.do(ctx, method, path, in)
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

// Gateway proxies a client's CDP requests to the run. may holds the client's rights. base is the prefix of addresses
// in answers, such as ws://127.0.0.1:7777/cdp/CAPABILITY. prefix is removed from the path. over answers when the run
// has ended.
func (c *Client) Gateway(may Rights, base, prefix string, over http.HandlerFunc) http.Handler {
	return c.reverseProxy("/cdp", prefix, over, func(r *httputil.ProxyRequest) {
		may.setHeaders(r.Out.Header)
		r.Out.Header.Set("X-Warren-Base", base)
	})
}

// Live proxies a viewer's requests to the run's /live. may holds the viewer's rights. prefix is removed from the
// path. over answers when the run has ended. Origin is not forwarded: the caller has checked it.
func (c *Client) Live(may Rights, prefix string, over http.HandlerFunc) http.Handler {
	return c.reverseProxy("/live", prefix, over, func(r *httputil.ProxyRequest) {
		r.Out.Header.Del("Origin")
		may.setHeaders(r.Out.Header)
	})
}

// setHeaders sets the headers that tell the shim the client's rights. It removes those that the client sent.
func (may Rights) setHeaders(h http.Header) {
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

// reverseProxy proxies requests below prefix to the run, below place. It removes keys and tickets, which the run must
// not see.
func (c *Client) reverseProxy(place, prefix string, over http.HandlerFunc, change func(*httputil.ProxyRequest)) http.Handler {
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

// TicketProtocol is the prefix of the WebSocket subprotocol that carries a ticket.
const TicketProtocol = "warren.ticket."

// dropTickets removes the subprotocols that carry a ticket. An answer that echoes one would disclose a secret.
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

// Plan returns what a start would run, without starting: the browser's arguments and its additional environment. A
// *Failure says why the browser could not be isolated.
func Plan(s Spec) (arguments, env []string, warnings []browser.Warning, err error) {
	b, err := browser.Open(s.browser(nil))
	if err != nil {
		return nil, nil, nil, asFailure(err)
	}
	defer b.Close()
	return b.Arguments(), b.Environment(), b.Warnings(), nil
}

// ChildArgument is the argument with which this program starts itself as a run's browser inside its namespace. The
// program must then call EnterNamespace.
const ChildArgument = browser.ChildArgument

// EnterNamespace becomes the browser. It returns only on failure.
func EnterNamespace() error { return browser.EnterNamespace() }

// CheckIsolation creates a namespace like a run's and closes it again. A *Failure says why runs have none here.
func CheckIsolation() error { return asFailure(browser.CheckIsolation()) }

// CheckFiles returns a *Failure that says why the kernel cannot hide files from a run here.
func CheckFiles() error { return asFailure(browser.CheckFiles()) }

func asFailure(err error) error {
	if home, ok := errors.AsType[*browser.IsolationError](err); ok {
		return isolationFailure(home)
	}
	return err
}
