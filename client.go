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
	"github.com/go-json-experiment/json/jsontext"
)

// apiClient is what the client commands have in common: they speak the API.
type apiClient struct {
	URL  string `name:"url" default:"http://127.0.0.1:7777" env:"WARREN_URL" help:"The server."`
	Data string `env:"WARREN_DATA" placeholder:"DIR" help:"The server's data folder, whose admin.key is taken where WARREN_API_KEY is not set."`
	JSON bool   `name:"json" env:"WARREN_JSON" help:"Print JSON."`

	secret string // the key, where it is known already
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
		dir := c.Data
		if dir == "" {
			var err error
			if dir, err = dataDir(); err != nil {
				return "", err
			}
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

// open asks for an answer that is read as it comes, for as long as ctx. What is refused is an error.
func (c *apiClient) open(ctx context.Context, method, path, kind string, body io.Reader) (*http.Response, error) {
	key, err := c.key()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+apiPrefix+path, body)
	if err != nil {
		return nil, misusef("--url: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
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

// refusedBy puts a problem into words.
func refusedBy(status int, answer []byte) error {
	var p Problem
	if json.Unmarshal(answer, &p) != nil || p.Code == "" {
		return fmt.Errorf("the server answered %d", status)
	}
	text := p.Detail
	for _, f := range p.Errors {
		text += "\n  " + f.Location + " " + f.Message
	}
	return fmt.Errorf("%s (%s)", text, p.Code)
}

type keyCommands struct {
	Create keyCreate `cmd:"" help:"Create a key and print it, this once."`
	List   keyList   `cmd:"" help:"List the keys."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key."`
}

type keyCreate struct {
	apiClient
	Name      string        `arg:"" help:"What the key is for."`
	Scope     []string      `default:"read,run,write" enum:"read,run,write,files,secrets,admin" env:"WARREN_KEY_SCOPE" help:"What it may do: read, run, write, files (of the machine, for clients of browsers), secrets, admin."`
	Workspace []string      `env:"WARREN_KEY_WORKSPACE" help:"Workspaces that it sees. Default: all."`
	Expires   time.Duration `env:"WARREN_KEY_EXPIRES" help:"How long it lives, such as 720h. Default: for ever."`
}

// Run creates a key.
func (k *keyCreate) Run(ctx context.Context, c *console) error {
	in := map[string]any{"name": k.Name, "scopes": k.Scope}
	if len(k.Workspace) > 0 {
		in["workspaces"] = k.Workspace
	}
	if k.Expires > 0 {
		in["expiresAt"] = time.Now().Add(k.Expires).UTC().Format(time.RFC3339)
	}
	var out map[string]any
	if err := k.call(ctx, http.MethodPost, "/keys", in, &out); err != nil {
		return err
	}
	if k.JSON {
		return printJSON(c.stdout, out)
	}
	_, err := fmt.Fprintln(c.stdout, out["key"])
	return err
}

type keyList struct{ apiClient }

// listedKey is what the list shows of a key.
type listedKey struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Hint       string     `json:"hint"`
	Scopes     []string   `json:"scopes"`
	Workspaces []string   `json:"workspaces"`
	LastUsedAt *string    `json:"lastUsedAt"`
	RevokedAt  *string    `json:"revokedAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
}

func (k listedKey) state() string {
	switch {
	case k.RevokedAt != nil:
		return "revoked"
	case k.ExpiresAt != nil && !k.ExpiresAt.After(time.Now()):
		return "expired"
	}
	return "active"
}

// Run lists the keys.
func (k *keyList) Run(ctx context.Context, c *console) error {
	all := struct {
		Data    []jsontext.Value `json:"data"`
		HasMore bool             `json:"hasMore"`
	}{HasMore: true}
	keys := []jsontext.Value{}
	for page := 1; all.HasMore; page++ {
		all.Data, all.HasMore = nil, false
		if err := k.call(ctx, http.MethodGet, fmt.Sprintf("/keys?limit=200&page=%d", page), nil, &all); err != nil {
			return err
		}
		keys = append(keys, all.Data...)
	}
	if k.JSON {
		return printJSON(c.stdout, map[string]any{"data": keys, "total": len(keys)})
	}
	w := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tKEY\tSCOPES\tWORKSPACES\tLAST USED\tSTATE")
	for _, raw := range keys {
		var key listedKey
		if err := json.Unmarshal(raw, &key); err != nil {
			return err
		}
		workspaces, used := "all", "never"
		if key.Workspaces != nil {
			workspaces = strings.Join(key.Workspaces, ",")
		}
		if key.LastUsedAt != nil {
			used = *key.LastUsedAt
		}
		fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\t%s\t%s\n", key.ID, key.Name, key.Hint, strings.Join(key.Scopes, ","), workspaces, used, key.state())
	}
	return w.Flush()
}

type keyRevoke struct {
	apiClient
	ID string `arg:"" help:"The key's id, as key list shows it."`
}

// Run revokes a key.
func (k *keyRevoke) Run(ctx context.Context, c *console) error {
	if err := k.call(ctx, http.MethodDelete, "/keys/"+url.PathEscape(k.ID), nil, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.stdout, "revoked")
	return err
}

func printJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, string(b))
	return err
}
