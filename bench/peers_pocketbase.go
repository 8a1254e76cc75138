package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
)

// PocketBase, with its own defaults: rules that let everyone in, a log of requests, and no sync of a commit
// (synchronous NORMAL). Ours checks a key and syncs each group of creates.

// record is what both sides create.
const record = `"name":"Shop, Berlin","os":"linux","browserVersion":"156"`

// collection is the same profile as PocketBase keeps it: the eight members that every list needs.
const collection = `{"name":"profiles","type":"base","listRule":"","viewRule":"","createRule":"","fields":[
	{"name":"workspaceId","type":"text"},{"name":"name","type":"text"},{"name":"os","type":"text"},
	{"name":"browserVersion","type":"text"},{"name":"tags","type":"json"},{"name":"created","type":"autodate","onCreate":true},
	{"name":"updated","type":"autodate","onCreate":true,"onUpdate":true}],
	"indexes":["CREATE INDEX profiles_page ON profiles (workspaceId, created)"]}`

// recordsPath is the path of PocketBase's records.
const recordsPath = "/api/collections/profiles/records"

// slowSync is what a slow disk adds to each sync, in microseconds.
const slowSync = 2000

// slowDisk is the command that runs a program with slow syncs: strace(1) delays the return of each one. The program stays
// our child (-D). Other system calls run at full speed (--seccomp-bpf).
func slowDisk() []string {
	return []string{"strace", "-D", "-f", "--seccomp-bpf", "-e", "quiet=all", "-e", "signal=none", "-o", "/dev/null",
		"-e", "trace=fsync,fdatasync", "-e", fmt.Sprintf("inject=fsync,fdatasync:delay_exit=%d", slowSync)}
}

// reads compares reading one profile, and a page.
func (p *peers) reads(ctx context.Context) error {
	name := fmt.Sprintf("get one of %d profiles", p.rows)
	if p.lacks(name, p.pocketBase) {
		return nil
	}
	data, err := p.filled(ctx)
	if err != nil {
		return err
	}
	ours, err := p.serve(ctx, data)
	if err != nil {
		return err
	}
	defer ours.stop()
	theirs, err := p.servePocketBase(ctx, p.rows)
	if err != nil {
		return err
	}
	defer theirs.stop()
	ids, err := someIDs(ctx, ours)
	if err != nil {
		return err
	}
	read := func(server *child, key string, path func() string) trial {
		return func(ctx context.Context, _ int) ([]float64, error) {
			l, err := load(ctx, server, loadTime, http.StatusOK, func(int) []byte {
				return request("GET", server.address, path(), key, "")
			})
			return []float64{l.cpuMicros(), l.perSecond(), float64(memory(server.pid())) / (1 << 20)}, err
		}
	}
	page := func(more string) func() string {
		return func() string {
			return recordsPath + "?page=1&perPage=20&sort=-created&filter=(workspaceId='default')" + more
		}
	}
	ourPage := func() string { return "/api/v1/profiles?workspaceId=default&page=1&limit=20" }
	got, err := p.play(ctx, "reads", p.bench.rounds,
		side{"ours, one", read(ours.child, ours.key, func() string { return "/api/v1/profiles/" + ids[rand.IntN(len(ids))] })},
		side{"theirs, one", read(theirs, "", func() string { // among the newest, as ours
			return fmt.Sprintf("%s/r%014d", recordsPath, p.rows-1-rand.IntN(min(p.rows, 40_000)))
		})},
		side{"ours, page", read(ours.child, ours.key, ourPage)}, side{"theirs, page", read(theirs, "", page(""))},
		side{"theirs, page without total", read(theirs, "", page("&skipTotal=1"))})
	if err != nil {
		return err
	}
	list := fmt.Sprintf("list page 1 (20) of %d profiles, with their total", p.rows)
	p.compare(p.pocketBase, got[0], got[1], peerFigure{work: name + ": server CPU", unit: "µs"},
		peerFigure{work: name, unit: "/s", more: true})
	p.compare(p.pocketBase, got[2], got[3], peerFigure{work: list + ": server CPU", unit: "µs"},
		peerFigure{work: list, unit: "/s", more: true}, peerFigure{work: "  memory of the server under these loads", unit: "MiB"})
	p.compare(p.pocketBase, got[2], got[4], peerFigure{work: "  the same, theirs without a total: server CPU", unit: "µs"},
		peerFigure{work: "  the same, theirs without a total", unit: "/s", more: true})
	return nil
}

// creates compares creates per second, on this disk and on one with slow syncs.
func (p *peers) creates(ctx context.Context) error {
	const name = "create, 32 callers, ours synced, theirs not"
	if p.lacks(name, p.pocketBase) {
		return nil
	}
	if err := p.createsOn(ctx, name, nil); err != nil {
		return err
	}
	slow := fmt.Sprintf("  the same, each sync %d ms slower", slowSync/1000)
	if err := in(ctx, p.dir, nil, append(slowDisk(), "true")...); err != nil { // not installed, or not allowed
		p.lacks(slow, peer{name: "strace", err: err})
		return nil
	}
	return p.createsOn(ctx, slow, slowDisk())
}

// createsOn compares creates. The program before runs both servers.
func (p *peers) createsOn(ctx context.Context, name string, before []string) error {
	data, err := p.data()
	if err != nil {
		return err
	}
	ours, err := p.serve(ctx, data, before...)
	if err != nil {
		return err
	}
	defer ours.stop()
	theirs, err := p.servePocketBase(ctx, 0, before...)
	if err != nil {
		return err
	}
	defer theirs.stop()
	create := func(server *child, want int, message []byte) trial {
		return func(ctx context.Context, _ int) ([]float64, error) {
			l, err := load(ctx, server, loadTime, want, func(int) []byte { return message })
			return []float64{l.perSecond(), l.cpuMicros()}, err
		}
	}
	got, err := p.play(ctx, "creates", 2*p.bench.rounds,
		side{"ours", create(ours.child, http.StatusCreated, request("POST", ours.address, "/api/v1/profiles", ours.key, "{"+record+"}"))},
		side{"theirs", create(theirs, http.StatusOK, request("POST", theirs.address, recordsPath, "",
			`{"workspaceId":"default","tags":[],`+record+"}"))})
	if err != nil {
		return err
	}
	p.compare(p.pocketBase, got[0], got[1], peerFigure{work: name, unit: "/s", more: true},
		peerFigure{work: "  the same: server CPU", unit: "µs"})
	return nil
}

// servePocketBase starts PocketBase on a new folder with the collection and a number of records.
func (p *peers) servePocketBase(ctx context.Context, rows int, before ...string) (*child, error) {
	parent, err := p.data()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(parent, "data") // beside it, PocketBase writes migrations that it reads again
	const user, password = "bench@example.test", "a password of the bench"
	if err := in(ctx, parent, nil, p.pocketBase.program, "superuser", "upsert", user, password, "--dir="+dir); err != nil {
		return nil, err
	}
	serve := func(before ...string) (*child, error) {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		command := append(before, p.pocketBase.program, "serve", "--dir="+dir, "--http="+address)
		return p.spawnAt(ctx, address, exec.Command(command[0], command[1:]...))
	}
	first, err := serve()
	if err != nil {
		return nil, err
	}
	defer first.stop()
	var login struct{ Token string }
	entry, _ := json.Marshal(map[string]string{"identity": user, "password": password}) //nolint:errcheck // strings
	if err := post(ctx, first.address, "/api/collections/_superusers/auth-with-password", "", string(entry), &login); err != nil {
		return nil, err
	}
	if err := post(ctx, first.address, "/api/collections", login.Token, collection, nil); err != nil {
		return nil, err
	}
	first.stop()
	if err := fillPocketBase(ctx, filepath.Join(dir, "data.db"), rows); err != nil {
		return nil, err
	}
	return serve(before...)
}

// fillPocketBase writes the records that fill writes for ours. Their ids are r and 14 digits.
func fillPocketBase(ctx context.Context, file string, rows int) error {
	if rows == 0 {
		return nil
	}
	progress("filling PocketBase with %d records", rows)
	db, err := open(file, "&_pragma=synchronous(OFF)")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO profiles (id, workspaceId, name, os, browserVersion, tags, created, updated)
SELECT printf('r%%014d', i), 'default', 'Shop ' || i, CASE i %% 3 WHEN 0 THEN 'win' WHEN 1 THEN 'mac' ELSE 'linux' END, '156',
	'["shop","berlin"]', t, t
FROM (SELECT i, strftime('%%Y-%%m-%%d %%H:%%M:%%fZ', 1767225600 + i / 1000.0, 'unixepoch') AS t FROM n)`, rows-1))
	return err
}

// post sends JSON and reads the answer into out, which may be nil.
func post(ctx context.Context, address, path, token, body string, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, res.Status, text)
	}
	if err != nil || out == nil {
		return err
	}
	return json.NewDecoder(bytes.NewReader(text)).Decode(out)
}
