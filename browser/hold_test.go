package browser

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"testing"
)

func TestHold(t *testing.T) {
	if os.Getenv("HOLD") == "" {
		t.Skip()
	}
	in, _ := Find(t.Context(), "")
	tmp, _ := os.MkdirTemp("", "w")
	b, err := Open(Spec{Path: in.Path, UserDataDir: t.TempDir() + "/p", TempDir: tmp, Headless: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	go demoSocks(b.Listener())
	if err = b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, _ := net.Listen("tcp", "127.0.0.1:9333")
	h := b.Gateway()
	base := os.Getenv("HOLDBASE")
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if base != "" {
			r.Header.Set("X-Warren-Base", "ws://127.0.0.1:9333"+base)
			http.StripPrefix(base, h).ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}))
	fmt.Println("HOLDING", b.PID())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	select {
	case <-ctx.Done():
	case <-b.Done():
	}
	fmt.Println(b.Stop(context.Background(), false), b.Exit(), b.Clients())
	b.Close()
}
func demoSocks(l net.Listener) {
	n := &internet{mux: http.NewServeMux(), hits: make(chan string, 1000)}
	n.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<title>%s</title><iframe src=http://b.test/frame></iframe><script>new Worker(URL.createObjectURL(new Blob(['postMessage(1)']))).onmessage=()=>window.w=1</script><a id=x target=_blank rel=noopener href=/pop>x</a>%s", r.URL.Path, r.URL.Path)
	})
	n.mux.HandleFunc("/frame", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "frame") })
	n.site = httptest.NewServer(n.mux)
	n.relay(l)
}
