package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"

	"warren/api"
)

// apiClient calls the API for the client commands.
type apiClient struct {
	URL  string `name:"url" default:"http://127.0.0.1:7777" env:"WARREN_URL" help:"The server."`
	Data string `env:"WARREN_DATA" placeholder:"DIR" help:"The server's data folder, whose admin.key is taken where WARREN_API_KEY is not set."`
	JSON bool   `name:"json" env:"WARREN_JSON" help:"Print JSON."`

	secret string      // the key, where it is known already
	extra  http.Header // of requests, beside those of every one
}

// key is WARREN_API_KEY (or WARREN_API_KEY_FILE), else the admin key that the first serve left in the data folder.
func (c *apiClient) key() (string, error) {
	if c.secret != "" {
		return c.secret, nil
	}
	if k := os.Getenv("WARREN_API_KEY"); k != "" {
		return k, nil
	}
	file := os.Getenv("WARREN_API_KEY_FILE")
	if file == "" {
		dir, err := dataDir(c.Data)
		if err != nil {
			return "", err
		}
		file = filepath.Join(dir, "admin.key")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", misusef("no API key: set WARREN_API_KEY, or name the server's data folder with --data (%v)", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// call does one operation and decodes its answer into out, when there is one.
func (c *apiClient) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	kind := ""
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body, kind = bytes.NewReader(b), "application/json"
	}
	return c.callWith(ctx, method, path, kind, body, out)
}

// callWith is call with a body of any kind.
func (c *apiClient) callWith(ctx context.Context, method, path, kind string, body io.Reader, out any) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	res, err := c.open(ctx, method, path, kind, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err != nil {
		return err
	}
	if out == nil || len(answer) == 0 {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// open returns an answer whose body is read as it arrives, until ctx ends. A refusal is an error.
func (c *apiClient) open(ctx context.Context, method, path, kind string, body io.Reader) (*http.Response, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+api.Prefix+path, body)
	if err != nil {
		return nil, misusef("--url: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for name := range c.extra {
		req.Header.Set(name, c.extra.Get(name))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, fmt.Errorf("the server at %s does not answer: %w", c.URL, err)
	}
	if res.StatusCode < 400 {
		return res, nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	return nil, refusedBy(res.StatusCode, answer)
}

// refusedBy turns a problem answer into an error.
func refusedBy(status int, answer []byte) error {
	var p api.Problem
	if json.Unmarshal(answer, &p) != nil || p.Code == "" {
		return fmt.Errorf("the server answered %d", status)
	}
	text := p.Detail
	for _, f := range p.Errors {
		text += "\n  " + f.Location + ": " + f.Message
	}
	return fmt.Errorf("%s (%s)", text, p.Code)
}

func printJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(b))
	return err
}

// newTable returns a table for people that begins with head. Flush writes it to w.
func newTable(w io.Writer, head string) *tabwriter.Writer {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprint(t, head)
	return t
}
