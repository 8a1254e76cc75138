package main

import (
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

// floorProfile has the eight members that every list of profiles needs.
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

// wholeProfile has every member of the product's answers.
type wholeProfile struct {
	floorProfile
	Notes         string          `json:"notes"`
	ProxyID       *string         `json:"proxyId"`
	ProxyMissing  bool            `json:"proxyMissing"`
	StartURLs     json.RawMessage `json:"startUrls"`
	Timezone      string          `json:"timezone"`
	Locale        string          `json:"locale"`
	Geolocation   string          `json:"geolocation"`
	WebRTC        string          `json:"webrtc"`
	Screen        *string         `json:"screen"`
	Headless      *bool           `json:"headless"`
	IdleTimeoutMs *int64          `json:"idleTimeoutMs"`
	MaxRunMs      *int64          `json:"maxRunMs"`
	Status        string          `json:"status"`
	LastRun       *string         `json:"lastRun"`
	LastStartedAt int64           `json:"lastStartedAt"`
	DiskBytes     int64           `json:"diskBytes"`
	TrashedAt     *int64          `json:"trashedAt"`
}

const wholeColumns = floorColumns + `, notes, proxy_id, proxy_missing, start_urls, timezone, locale, geolocation, webrtc, screen, headless,
	idle_timeout_ms, max_run_ms, status, last_run, last_started_at, disk_bytes, trashed_at`

func (p *wholeProfile) fields() []any {
	return append(p.floorProfile.fields(), &p.Notes, &p.ProxyID, &p.ProxyMissing, (*[]byte)(&p.StartURLs), &p.Timezone,
		&p.Locale, &p.Geolocation, &p.WebRTC, &p.Screen, &p.Headless, &p.IdleTimeoutMs, &p.MaxRunMs, &p.Status, &p.LastRun,
		&p.LastStartedAt, &p.DiskBytes, &p.TrashedAt)
}

// rowOf is a pointer to a T that can be scanned into.
type rowOf[T any] interface {
	*T
	fields() []any
}

// floorServer is a minimal server of the same profiles: net/http, one key, prepared statements, encoding/json. It
// validates nothing, counts no total, and commits each created profile on its own.
type floorServer struct {
	readers, writer *sql.DB
	insert          *sql.Stmt
	key             [32]byte
	made            atomic.Int64
}

// apiFloor serves a database file on a free port until it is killed.
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
	h, err := f.handler()
	if err != nil {
		return err
	}
	fmt.Printf("up http://%s\n", l.Addr())
	return http.Serve(l, h) //nolint:gosec // a floor has no limits
}

func newFloorServer(file string) (f *floorServer, err error) {
	f = &floorServer{}
	escaped := (&url.URL{Path: file}).EscapedPath()
	if f.readers, err = open(escaped, "&mode=ro&_pragma=query_only(1)"); err != nil {
		return nil, err
	}
	f.readers.SetMaxOpenConns(4)
	f.readers.SetMaxIdleConns(4)
	if f.writer, err = open(escaped, "&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"); err != nil {
		return nil, err
	}
	f.writer.SetMaxOpenConns(1)
	f.insert, err = f.writer.Prepare(`INSERT INTO profiles (` + floorColumns + `, search_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	return f, err
}

// handler serves profiles with eight members below /api/v1, and with all members below /whole/api/v1.
func (f *floorServer) handler() (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/profiles", f.serveCreate)
	mux.HandleFunc("POST /api/v1/bulk/{kind}", f.serveBulk)
	err := errors.Join(reads[floorProfile](f, mux, "/api/v1", floorColumns, "?"),
		reads[wholeProfile](f, mux, "/whole/api/v1", wholeColumns, "CAST(? AS INTEGER)")) // without CAST SQLite plans it anew each time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		hash := sha256.Sum256([]byte(key))
		if subtle.ConstantTimeCompare(hash[:], f.key[:]) != 1 {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}), err
}

// reads adds the two read operations of one shape.
func reads[T any, P rowOf[T]](f *floorServer, mux *http.ServeMux, prefix, columns, limit string) error {
	get, err := f.readers.Prepare(`SELECT ` + columns + ` FROM profiles WHERE id = ?`)
	if err != nil {
		return err
	}
	list, err := f.readers.Prepare(`SELECT ` + columns + ` FROM profiles WHERE workspace_id = ? AND trashed = 0
		ORDER BY created_at DESC, id DESC LIMIT ` + limit + ` OFFSET ?`)
	mux.HandleFunc("GET "+prefix+"/profiles/{id}", func(w http.ResponseWriter, r *http.Request) {
		var p T
		err := get.QueryRowContext(r.Context(), r.PathValue("id")).Scan(P(&p).fields()...)
		floorAnswer(w, http.StatusOK, &p, err)
	})
	mux.HandleFunc("GET "+prefix+"/profiles", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		page, _ := strconv.Atoi(q.Get("page"))
		limit, _ := strconv.Atoi(q.Get("limit"))
		rows, err := list.QueryContext(r.Context(), q.Get("workspaceId"), limit, (page-1)*limit)
		if err != nil {
			floorAnswer(w, http.StatusOK, nil, err)
			return
		}
		all, err := scanAll[T, P](rows, limit)
		floorAnswer(w, http.StatusOK, map[string]any{"data": all}, err)
	})
	return err
}

func scanAll[T any, P rowOf[T]](rows *sql.Rows, limit int) ([]T, error) {
	defer rows.Close()
	all := make([]T, 0, limit)
	for rows.Next() {
		var p T
		if err := rows.Scan(P(&p).fields()...); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, rows.Err()
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

// serveBulk makes bulkSize profiles or proxies in one transaction, one statement each, and answers their ids.
func (f *floorServer) serveBulk(w http.ResponseWriter, r *http.Request) {
	at := time.Now().UnixMilli()
	statement := `INSERT INTO proxies (id, workspace_id, type, host, port, username, created_at, updated_at)
		VALUES (?1, 'default', 'socks5', ?1, 1080, 'alice', ?2, ?2)`
	if r.PathValue("kind") == "profiles" {
		statement = `INSERT INTO profiles (` + floorColumns + `, search_key)
			VALUES (?1, 'default', 'Shop', 'linux', '156', '[]', ?2, ?2, ?1)`
	}
	ids := make([]string, bulkSize)
	tx, err := f.writer.BeginTx(r.Context(), nil)
	if err != nil {
		floorAnswer(w, http.StatusOK, nil, err)
		return
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	insert, err := tx.PrepareContext(r.Context(), statement)
	for i := 0; err == nil && i < len(ids); i++ {
		ids[i] = fmt.Sprintf("%012x-%08x", at, f.made.Add(1))
		_, err = insert.ExecContext(r.Context(), ids[i], at)
	}
	if err == nil {
		err = tx.Commit()
	}
	floorAnswer(w, http.StatusOK, ids, err)
}
