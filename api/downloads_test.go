package api

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDownloadsEndWithTheirKey: sending a file stops when the key is revoked.
func TestDownloadsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	file := filepath.Join(a.dir, "profiles", id, "files", "downloads", "large")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	if err := os.Truncate(file, size); err != nil {
		t.Fatal(err)
	}
	key, keyID := a.newKey(t, "run")
	req, err := http.NewRequest("GET", a.base+Prefix+"/profiles/"+id+"/downloads/large", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	a.do(t, "DELETE", "/keys/"+keyID, nil).want(t, 204)
	if n, err := io.Copy(io.Discard, res.Body); err == nil || n == size {
		t.Errorf("%d bytes came, %v", n, err)
	}
}

// TestBatchEndsWithItsKey: a batch stops when its key is revoked.
func TestBatchEndsWithItsKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.do(t, "POST", "/profiles", map[string]any{"name": "x"}).want(t, 201).text("id")
	key, keyID := a.newKey(t, "write", "default")
	req := a.as(key).request(t, "POST", "/profiles/batch", nil)
	caller, err := a.srv.keys.authenticate(req)
	if err != nil {
		t.Fatal(err)
	}
	a.do(t, "DELETE", "/keys/"+keyID, nil).want(t, 204)
	ctx := context.WithValue(t.Context(), requestKey{}, &request{caller: caller})
	out, err := a.srv.batch(ctx, &batchRequest{Body: batchInput{Action: "delete", IDs: []string{id}}})
	if err != nil || out.Body.results.Results[0].Status != 401 {
		t.Errorf("%v, %+v", err, out)
	}
	a.do(t, "GET", "/profiles/"+id, nil).want(t, 200)
}

// TestSlowOperationsOfAKey: what waits for a browser, a proxy or a reader counts for what a key holds open, and ends with the key.
func TestSlowOperationsOfAKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.CheckTimeout = enough }) // the check outlasts all that follows
	l, err := net.Listen("tcp", "127.0.0.1:0")                 // says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	proxy := map[string]any{"type": "socks5", "host": "127.0.0.1", "port": l.Addr().(*net.TCPAddr).Port}
	saved := a.do(t, "POST", "/proxies", proxy).want(t, 201).text("id")
	key, keyID := a.newKey(t, "admin", "default")
	b := a.as(key)
	a.srv.keyQuota.max = 1
	ended := make(chan error, 1)
	go func() {
		req := b.request(t, "POST", "/proxies/check-all", map[string]any{"ids": []string{saved}})
		res, err := b.client.Do(req)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		ended <- err
	}()
	silent, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, operation := range slowOperations() {
		method, path, _ := strings.Cut(operation, " ")
		b.do(t, method, strings.ReplaceAll(path, "{id}", saved), nil).refused(t, 429, "too_many_connections")
	}
	b.do(t, "GET", "/proxies/"+saved, nil).want(t, 200)
	a.do(t, "DELETE", "/keys/"+keyID, nil).want(t, 204)
	<-ended // by the key alone: the proxy says nothing still
	if a.srv.keyQuota.open[keyID] != 0 {
		waitFor(t, "the place is free", func() bool {
			a.srv.keyQuota.mu.Lock()
			defer a.srv.keyQuota.mu.Unlock()
			return a.srv.keyQuota.open[keyID] == 0
		})
	}
}
