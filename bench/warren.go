package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// warren is a server under test and its key.
type warren struct {
	*child
	key string
}

// serve starts the binary under test on a data folder, with the far side as check service.
func (b *bench) serve(ctx context.Context, data string) (*warren, error) {
	w := &warren{key: "bench-" + rand.Text()}
	var err error
	w.child, err = b.spawn(ctx, "warren: listening on ", []string{"WARREN_API_KEY=" + w.key}, b.warren,
		"serve", "--listen=127.0.0.1:0", "--data="+data, "--headless=always", "--check-url=http://"+farName+"/ip")
	return w, err
}

// data creates an empty data folder.
func (b *bench) data() (string, error) {
	dir, err := os.MkdirTemp(b.dir, "data-")
	return filepath.Clean(dir), err
}

// call sends a request and reads the answer into out, which may be nil.
func (w *warren) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, w.address+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+w.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}
