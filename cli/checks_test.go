package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"warren/testnet"
)

// runCommand runs a command against a server.
func runCommand(t *testing.T, ctx context.Context, base, key string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "admin.key"), []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs testnet.Buffer
	err = New(testProgram{}).Run(ctx, append(args, "--url", base, "--data", data), Streams{strings.NewReader(""), firstWrite{&out, ctx},
		&errs})
	return out.String(), errs.String(), err
}

// testProgram is a program without commands and without a folder of its own.
type testProgram struct{}

func (testProgram) Version() string          { return "test" }
func (testProgram) DataDir() (string, error) { return "", os.ErrNotExist }
func (testProgram) Pack(context.Context, io.Writer, string, []string) error {
	return os.ErrNotExist
}
func (testProgram) Others() (*kong.Kong, error) { return kong.New(new(struct{})) }

// firstWrite calls what the context carries when something is printed.
type firstWrite struct {
	io.Writer
	ctx context.Context
}

type printedKey struct{}

func (w firstWrite) Write(b []byte) (int, error) {
	if printed, ok := w.ctx.Value(printedKey{}).(context.CancelFunc); ok {
		printed()
	}
	return w.Writer.Write(b)
}

// aChecker is a server that streams checks as POST /proxies/check-all does.
func aChecker(t *testing.T, total string, stream func(w http.ResponseWriter, r *http.Request, body string)) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/proxies/check-all", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer the-key" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if total != "" {
			w.Header().Set("X-Total-Count", total)
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(200)
		stream(w, r, string(body))
	})
	mux.HandleFunc("GET /api/v1/proxies", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"p1","host":"2001:db8::1","port":1080}],"hasMore":false}`)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: mux}
	go s.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { s.Close() })
	return "http://" + l.Addr().String()
}

func aCheck(i int) string {
	if i%2 == 1 {
		return fmt.Sprintf(`{"id":"p%d","ok":false,"status":"dead",`+
			`"error":{"stage":"connect","code":"timed_out","message":"It did not answer."}}`+"\n", i)
	}
	return fmt.Sprintf(`{"id":"p%d","ok":true,"status":"alive","exitIp":"203.0.113.7","country":"DE","latencyMs":%d,"error":null}`+
		"\n", i, i)
}

// TestCheckCommand: a line for each tenth, the dead ones as a table, every line as it came with --json; a stream that breaks off is seen.
func TestCheckCommand(t *testing.T) {
	t.Parallel()
	var asked testnet.Buffer
	base := aChecker(t, "20", func(w http.ResponseWriter, _ *http.Request, body string) {
		fmt.Fprintln(&asked, body)
		for i := range 20 {
			io.WriteString(w, aCheck(i))
			w.(http.Flusher).Flush()
		}
	})
	out, errs, err := runCommand(t, t.Context(), base, "the-key", "proxy", "check", "--all", "--tag", "shop", "--workspace", "w")
	if err != nil || strings.Count(errs, "\n") != 10 || !strings.Contains(errs, "20/20 checked, 10 alive, 10 dead, ") ||
		!strings.Contains(errs, "2/20 checked, 1 alive, 1 dead") || strings.ContainsAny(errs, "\r\x1b") {
		t.Errorf("%v\n%s", err, errs)
	}
	if strings.Count(out, "\n") != 11 || !strings.Contains(out, "[2001:db8::1]:1080  connect  timed_out  It did not answer.") ||
		!strings.Contains(out, "p19") || strings.Contains(out, "p18") {
		t.Errorf("table:\n%s", out)
	}
	if got := asked.String(); got != `{"tag":"shop","workspaceId":"w"}`+"\n" && got != `{"workspaceId":"w","tag":"shop"}`+"\n" {
		t.Errorf("asked %s", got)
	}
	out, _, err = runCommand(t, t.Context(), base, "the-key", "proxy", "check", "--all", "--json")
	if err != nil || strings.Count(out, "\n") != 20 || !strings.HasPrefix(out, aCheck(0)+aCheck(1)) {
		t.Errorf("%v\n%s", err, out)
	}
	short := aChecker(t, "20", func(w http.ResponseWriter, _ *http.Request, _ string) { io.WriteString(w, aCheck(0)+"\n"+aCheck(1)) })
	if _, errs, err := runCommand(t, t.Context(), short, "the-key", "proxy", "check", "--all"); err == nil ||
		!strings.Contains(err.Error(), "2 of 20") || !strings.Contains(errs, "2/20 checked") {
		t.Errorf("a short stream: %v %s", err, errs)
	}
	broken := aChecker(t, "20", func(w http.ResponseWriter, _ *http.Request, _ string) { io.WriteString(w, aCheck(0)+"{\"id\n") })
	if _, _, err := runCommand(t, t.Context(), broken, "the-key", "proxy", "check", "--all"); err == nil ||
		!strings.Contains(err.Error(), "1 of 20") {
		t.Errorf("a broken stream: %v", err)
	}
	none := aChecker(t, "0", func(http.ResponseWriter, *http.Request, string) {})
	if out, errs, err := runCommand(t, t.Context(), none, "the-key", "proxy", "check", "--all"); err != nil || out != "" ||
		!strings.HasPrefix(errs, "0/0 checked") {
		t.Errorf("no proxies: %q %q %v", out, errs, err)
	}
	for _, args := range [][]string{{"proxy", "check"}, {"proxy", "check", "x", "--all"}} {
		if _, _, err := runCommand(t, t.Context(), base, "the-key", args...); ExitCode(err) != 2 {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestCheckCommandCancelled: when the caller stops, the connection ends, which is what cancels the checks.
func TestCheckCommandCancelled(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	base := aChecker(t, "1000", func(w http.ResponseWriter, r *http.Request, _ string) {
		io.WriteString(w, aCheck(0)+aCheck(1))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	_, _, err := runCommand(t, context.WithValue(ctx, printedKey{}, cancel), base, "the-key", "proxy", "check", "--all", "--json")
	if err == nil || !strings.Contains(err.Error(), "stopped after") || !strings.Contains(err.Error(), "of 1000") ||
		ExitCode(err) != 1 {
		t.Errorf("%v", err)
	}
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the connection stays")
	}
}

// TestTimesOfMilliseconds: what took less than a millisecond is not shown as if it had taken no time.
func TestTimesOfMilliseconds(t *testing.T) {
	for n, want := range map[int64]string{0: "< 1 ms", 1: "1 ms", 1200: "1200 ms", 12_400: "12s"} {
		if got := milliseconds(n); got != want {
			t.Errorf("%d is shown as %q, want %q", n, got, want)
		}
	}
}

// TestProgressBar: one line that is drawn over itself, ten times a second at most, with the last state at the end.
func TestProgressBar(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Unix(1000, 0)
	p := newProgress(&out, true, 200)
	p.verb, p.good, p.bad = "checked", "alive", "dead"
	p.now = func() time.Time { return at }
	p.began = at
	for i := range 200 {
		at = at.Add(10 * time.Millisecond)
		p.add(i%4 != 0)
	}
	p.end()
	drawn := strings.Split(out.String(), "\r\x1b[K")[1:]
	if n := len(drawn); n < 15 || n > 25 {
		t.Errorf("drawn %d times in 2 s", n)
	}
	if last := drawn[len(drawn)-1]; last != "["+strings.Repeat("#", 30)+"] 200/200 checked, 150 alive, 50 dead, 100.0/s\n" {
		t.Errorf("the last: %q", last)
	}
	if middle := drawn[len(drawn)/2]; !strings.HasPrefix(middle, "[####") || !strings.Contains(middle, "-]") ||
		strings.Contains(middle, "\n") {
		t.Errorf("the middle: %q", middle)
	}
}
