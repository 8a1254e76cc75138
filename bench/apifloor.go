package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// floorProfile is a profile with the eight members that tell profiles apart: no list can show fewer.
type floorProfile struct {
	ID             string          `json:"id"`
	WorkspaceID    string          `json:"workspaceId"`
	Name           string          `json:"name"`
	OS             string          `json:"os"`
	BrowserVersion string          `json:"browserVersion"`
	Tags           json.RawMessage `json:"tags"`
	CreatedAt      int64           `json:"createdAt"`
	UpdatedAt      int64           `json:"updatedAt"`
}

const floorColumns = `id, workspace_id, name, os, browser_version, tags, created_at, updated_at`

func (p *floorProfile) fields() []any {
	return []any{&p.ID, &p.WorkspaceID, &p.Name, &p.OS, &p.BrowserVersion, (*[]byte)(&p.Tags), &p.CreatedAt, &p.UpdatedAt}
}

// floorServer is the least server of the same profiles: net/http, one key, prepared statements, encoding/json. It checks nothing that it
// is sent, counts no total, and commits each profile that is created on its own.
type floorServer struct {
	get, list, insert *sql.Stmt
	key               [32]byte
	made              atomic.Int64
}

// apiFloor serves a database file on a free port until its end.
func apiFloor(args []string) error {
	flags := flag.NewFlagSet("api-floor", flag.ContinueOnError)
	file := flags.String("db", "", "database file")
	key := flags.String("key", "", "the only key")
	if err := flags.Parse(args); err != nil {
		return err
	}
	f, err := newFloorServer(*file)
	if err != nil {
		return err
	}
	f.key = sha256.Sum256([]byte(*key))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("up http://%s\n", l.Addr())
	return http.Serve(l, f.handler()) //nolint:gosec // a floor has no limits
}

func newFloorServer(file string) (*floorServer, error) {
	escaped := (&url.URL{Path: file}).EscapedPath()
	readers, err := open(escaped, "&mode=ro&_pragma=query_only(1)")
	if err != nil {
		return nil, err
	}
	readers.SetMaxOpenConns(4)
	readers.SetMaxIdleConns(4)
	writer, err := open(escaped, "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	f := &floorServer{}
	errs := make([]error, 3)
	f.get, errs[0] = readers.Prepare(`SELECT ` + floorColumns + ` FROM profiles WHERE id = ?`)
	f.list, errs[1] = readers.Prepare(`SELECT ` + floorColumns + ` FROM profiles WHERE workspace_id = ? AND trashed = 0 ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`)
	f.insert, errs[2] = writer.Prepare(`INSERT INTO profiles (` + floorColumns + `, search_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	return f, errors.Join(errs...)
}

func (f *floorServer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/profiles/{id}", f.serveGet)
	mux.HandleFunc("GET /api/v1/profiles", f.serveList)
	mux.HandleFunc("POST /api/v1/profiles", f.serveCreate)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		hash := sha256.Sum256([]byte(key))
		if subtle.ConstantTimeCompare(hash[:], f.key[:]) != 1 {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func floorAnswer(w http.ResponseWriter, status int, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client may be gone
}

func (f *floorServer) serveGet(w http.ResponseWriter, r *http.Request) {
	var p floorProfile
	err := f.get.QueryRowContext(r.Context(), r.PathValue("id")).Scan(p.fields()...)
	floorAnswer(w, http.StatusOK, &p, err)
}

func (f *floorServer) serveList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	page, _ := strconv.Atoi(q.Get("page"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	all, err := f.page(r.Context(), q.Get("workspaceId"), page, limit)
	floorAnswer(w, http.StatusOK, map[string]any{"data": all}, err)
}

func (f *floorServer) page(ctx context.Context, workspace string, page, limit int) ([]floorProfile, error) {
	rows, err := f.list.QueryContext(ctx, workspace, limit, (page-1)*limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make([]floorProfile, 0, limit)
	for rows.Next() {
		var p floorProfile
		if err := rows.Scan(p.fields()...); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
}

func (f *floorServer) serveCreate(w http.ResponseWriter, r *http.Request) {
	var p floorProfile
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	now := time.Now()
	p.ID = fmt.Sprintf("%012x-%08x", now.UnixMilli(), f.made.Add(1))
	p.WorkspaceID, p.Tags, p.CreatedAt, p.UpdatedAt = "default", json.RawMessage("[]"), now.UnixMilli(), now.UnixMilli()
	_, err := f.insert.ExecContext(r.Context(), p.ID, p.WorkspaceID, p.Name, p.OS, p.BrowserVersion, "[]", p.CreatedAt, p.UpdatedAt, p.Name)
	floorAnswer(w, http.StatusCreated, &p, err)
}
