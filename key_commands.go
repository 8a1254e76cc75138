package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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

type keyList struct{ apiClient }

// listedKey is the part of a key that the list shows.
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

type keyRevoke struct {
	apiClient
	ID string `arg:"" help:"The key's id, as key list shows it."`
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
	w := newTable(c.stdout, "ID\tNAME\tKEY\tSCOPES\tWORKSPACES\tLAST USED\tSTATE\n")
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
		fmt.Fprintf(w, "%s\t%s\t%s…\t%s\t%s\t%s\t%s\n", key.ID, key.Name, key.Hint, strings.Join(key.Scopes, ","), workspaces, used,
			key.state())
	}
	return w.Flush()
}

// Run revokes a key.
func (k *keyRevoke) Run(ctx context.Context, c *console) error {
	if err := k.call(ctx, http.MethodDelete, "/keys/"+url.PathEscape(k.ID), nil, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.stdout, "revoked")
	return err
}
