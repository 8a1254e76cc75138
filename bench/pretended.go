package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"warren/runs"
	"warren/shim"
	"warren/store"
)

// pretended is how many runs the part metrics pretends. One process answers as those of all of them would.
const pretended = 1000

// servePretended starts a server that adopts pretended runs.
func (b *bench) servePretended(ctx context.Context) (*warren, error) {
	data, err := b.shortDir("wbm") // unix sockets lie in it
	if err != nil {
		return nil, err
	}
	if err := newDatabase(ctx, data); err != nil {
		return nil, err
	}
	file := filepath.Join(data, store.FileName)
	if err := fill(ctx, file, pretended); err != nil {
		return nil, err
	}
	db, err := open(file, "")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for _, statement := range []string{
		`INSERT INTO runs (id, profile_id, workspace_id, started_at, record) SELECT id, id, workspace_id, 1, '{}' FROM profiles`,
		`UPDATE profiles SET status = 'running'`,
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, err
		}
	}
	if _, err := b.role(ctx, "pretend", data); err != nil {
		return nil, err
	}
	w, err := b.serve(ctx, data)
	if err != nil {
		return nil, err
	}
	for {
		text, err := w.scrape(ctx)
		if err != nil || strings.Contains(text, fmt.Sprintf("warren_runs{state=\"running\"} %d\n", pretended)) {
			return w, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond): // nobody tells it
		}
	}
}

// pretend answers for every run of a data folder as its process would, until it is killed.
func pretend(args []string) error {
	if len(args) != 1 {
		return errors.New("pretend DATA")
	}
	ids, err := idsIn(filepath.Join(args[0], store.FileName))
	if err != nil {
		return err
	}
	dir := filepath.Join(args[0], "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	failed := make(chan error, 1)
	for _, id := range ids {
		l, err := net.Listen("unix", filepath.Join(dir, runs.Name(id)+".sock"))
		if err != nil {
			return err
		}
		go func() { failed <- http.Serve(l, pretendedRun(id)) }() //nolint:gosec // for this program alone
	}
	fmt.Println("up", len(ids))
	return <-failed
}

func idsIn(file string) (ids []string, err error) {
	db, err := open(file, "&mode=ro")
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var list sql.NullString
	if err := db.QueryRow("SELECT json_group_array(id) FROM profiles").Scan(&list); err != nil {
		return nil, err
	}
	return ids, json.Unmarshal([]byte(list.String), &ids)
}

// pretendedRun answers what the server asks each run.
func pretendedRun(id string) http.Handler {
	mux := http.NewServeMux()
	answer := func(path string, v any) {
		text, err := json.Marshal(v)
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Write(text) //nolint:errcheck // the server sees the end
		})
	}
	answer("GET /state", shim.State{RunID: id, ProfileID: id, StartedAt: time.UnixMilli(1)})
	answer("GET /stats", shim.Stats{CPUMs: new(int64(1)), MemoryBytes: new(int64(200 << 20)), BytesUp: 1, BytesDown: 2})
	answer("GET /traffic", []shim.Traffic{})
	answer("PUT /upstreams", shim.Swap{Swapped: true})
	answer("PUT /", struct{}{})
	mux.HandleFunc("GET /watch", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush() //nolint:errcheck // as above
		<-r.Context().Done()
	})
	return mux
}
