package cli

import (
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/testnet"
)

func TestMain(m *testing.M) {
	if err := testnet.ForgetSettings(); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}

// anyServer answers as a server of another version may: with members that nobody knows, and without an operation that we know.
func anyServer(t *testing.T, asked *testnet.Buffer) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/profiles", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(asked, r.URL.String()+"\n")
		if r.Header.Get("Authorization") != "Bearer the-key" {
			w.WriteHeader(401)
			io.WriteString(w, `{"code":"unauthorized","detail":"No.","new":{}}`)
			return
		}
		io.WriteString(w, `{"data":[{"id":"01a22354-f870-73d8-81b2-a567a89d3a1c","name":"a\u001b[2Jb",
			"colour":{"deep":[1]},"status":"dreaming"},
			{"id":"01a22354-f886-776c-bba5-4fe654e576db","name":"c","status":7}],"hasMore":false,"mood":"good"}`)
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"version":"v0.0.9"}`) })
	mux.HandleFunc("GET /api/v1/schedules", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(404)
		io.WriteString(w, `{"code":"not_found","detail":"There is nothing at this address."}`)
	})
	mux.HandleFunc("DELETE /api/v1/profiles/{id}", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(asked, "DELETE "+r.URL.Path+"\n")
		w.WriteHeader(204)
	})
	return mux
}

// TestAnotherVersion: unknown members and values are shown as they are, and an operation that the server does not know is said to be one.
// What terminals obey does not reach them.
func TestAnotherVersion(t *testing.T) {
	t.Parallel()
	var asked testnet.Buffer
	s := httptest.NewServer(anyServer(t, &asked))
	defer s.Close()
	out, _, err := runCommand(t, t.Context(), s.URL, "the-key", "profile", "list")
	if err != nil || !strings.Contains(out, "dreaming") || strings.Contains(out, "\x1b") || !strings.Contains(out, "a�[2Jb") {
		t.Errorf("%v\n%q", err, out)
	}
	out, _, err = runCommand(t, t.Context(), s.URL, "the-key", "profile", "list", "-o", "jsonl", "--columns", "name")
	if err != nil || !strings.Contains(out, `"colour":{"deep":[1]}`) || strings.Contains(out, "\x1b") {
		t.Errorf("%v\n%q", err, out)
	}
	_, _, err = runCommand(t, t.Context(), s.URL, "the-key", "schedule", "list")
	if ExitCode(err) != ExitFailed || !strings.Contains(err.Error(), "it is warren v0.0.9, and this command line is test") {
		t.Errorf("an unknown operation: %v", err)
	}
	_, _, err = runCommand(t, t.Context(), s.URL, "wrong", "profile", "list")
	if ExitCode(err) != ExitFailed || err.Error() != "No. (unauthorized)" {
		t.Errorf("%v", err)
	}
}

// TestNamesCost: a whole id costs no request beside the operation's own.
func TestNamesCost(t *testing.T) {
	t.Parallel()
	var asked testnet.Buffer
	s := httptest.NewServer(anyServer(t, &asked))
	defer s.Close()
	const id = "01a22354-f870-73d8-81b2-a567a89d3a1c"
	if out, _, err := runCommand(t, t.Context(), s.URL, "the-key", "profile", "rm", id); err != nil || out != "deleted\n" {
		t.Errorf("%q, %v", out, err)
	}
	if got := asked.String(); got != "DELETE /api/v1/profiles/"+id+"\n" {
		t.Errorf("asked %q", got)
	}
	_, _, err := runCommand(t, t.Context(), s.URL, "the-key", "profile", "rm", "01a22354-f8")
	if ExitCode(err) != ExitMisused || !strings.Contains(err.Error(), "names 2 things") || strings.Count(asked.String(), "DELETE") != 1 {
		t.Errorf("a beginning of two: %v, %s", err, asked.String())
	}
}

// TestBrokenPipe: a reader that goes away, as head does, is no failure.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	var asked testnet.Buffer
	s := httptest.NewServer(anyServer(t, &asked))
	defer s.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "admin.key"), []byte("the-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = New(testProgram{}).Run(t.Context(), []string{"profile", "list", "--url", s.URL, "--data", data},
		Streams{strings.NewReader(""), w, io.Discard})
	if err == nil || ExitCode(err) != ExitDone {
		t.Errorf("%v has the exit code %d", err, ExitCode(err))
	}
}

// TestLinesAsTheyCome: lines of a list are out before its next page is read, so that no list is too long for them.
func TestLinesAsTheyCome(t *testing.T) {
	t.Parallel()
	var out testnet.Buffer
	seen := make(chan string, 2)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- out.String()
		if r.URL.Query().Get("after") == "" {
			io.WriteString(w, `{"data":[{"seq":2}],"hasMore":true,"next":"x"}`)
			return
		}
		io.WriteString(w, `{"data":[{"seq":1}],"hasMore":false}`)
	}))
	defer s.Close()
	data := t.TempDir()
	if err := os.WriteFile(filepath.Join(data, "admin.key"), []byte("the-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := New(testProgram{}).Run(t.Context(), []string{"audit", "-o", "jsonl", "--url", s.URL, "--data", data},
		Streams{strings.NewReader(""), &out, io.Discard})
	first, second := <-seen, <-seen
	if err != nil || first != "" || second != "{\"seq\":2}\n" || out.String() != second+"{\"seq\":1}\n" {
		t.Errorf("%v: %q, then %q, at the end %q", err, first, second, out.String())
	}
}

// TestPrivateAuthority: a server whose certificate a private authority has signed is refused until login has that authority. The context
// keeps it, and its key goes to no other server. It changes the environment, so that no other test runs beside it.
func TestPrivateAuthority(t *testing.T) {
	var asked testnet.Buffer
	s := httptest.NewTLSServer(anyServer(t, &asked))
	defer s.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("AppData", filepath.Join(home, "config"))
	ca := filepath.Join(home, "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(in string, args ...string) (string, error) {
		var out testnet.Buffer
		err := New(testProgram{}).Run(context.Background(), args, Streams{strings.NewReader(in), &out, io.Discard})
		return out.String(), err
	}
	if _, err := run("the-key\n", "login", s.URL); ExitCode(err) != ExitRefused || !strings.Contains(err.Error(), "--ca FILE") {
		t.Errorf("without the authority: %v", err)
	}
	if out, err := run("the-key\n", "login", s.URL, "--ca", ca, "--name", "private"); err != nil ||
		!strings.Contains(out, "(warren v0.0.9) as context private") {
		t.Fatalf("with it: %q, %v", out, err)
	}
	if out, err := run("", "profile", "list", "-q"); err != nil || strings.Count(out, "\n") != 2 {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := run("", "profile", "list", "--url", "https://127.0.0.1:1"); err == nil || strings.Contains(err.Error(), "the-key") {
		t.Errorf("another server: %v", err)
	}
}
