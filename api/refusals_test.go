package api

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"warren/store"
	"warren/testnet"
)

// Tests what a refusal may cost: no disk, no memory, no stored answer.

// kept returns how many pages of the database are in use, and how many answers it stores.
func (a *testAPI) kept(t testing.TB) (pages, answers int) {
	t.Helper()
	db := openDatabase(t, a.dir)
	defer db.Close()
	used := `(SELECT page_count FROM pragma_page_count) - (SELECT freelist_count FROM pragma_freelist_count)`
	if testnet.OnPostgres() { // whose pages have old rows too: what all rows take
		used = `(SELECT sum((xpath('/row/n/text()', query_to_xml(
			format('SELECT coalesce(sum(octet_length(t::text)), 0) / 4096 AS n FROM %I t', relname), false, true, '')))[1]::text::bigint)
			FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace)`
	}
	err := db.QueryRow("SELECT "+used+", (SELECT count(*) FROM idempotency)").Scan(&pages, &answers)
	if err != nil {
		t.Fatal(err)
	}
	return pages, answers
}

// TestRefusalsAreNotKept: 300 refusals of each kind, with an Idempotency-Key and the longest address, store nothing but
// a bounded number of entries of the audit log. The key stays free.
func TestRefusalsAreNotKept(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	reader, _ := a.newKey(t, "read")
	long := strings.Repeat("q", 20<<10)
	kinds := []struct {
		code, path, mime, body string
		status                 int
		who                    *testAPI
	}{
		{"forbidden", "/profiles?x=" + long, "application/json", `{"name":"x"}`, 403, a.as(reader)},
		{"unauthorized", "/profiles?x=" + long, "application/json", `{"name":"x"}`, 401, a.as("")},
		{"not_found", "/nothing/" + long, "application/json", `{"name":"x"}`, 404, a},
		{"unsupported_media_type", "/profiles", "text/plain", "x", 415, a},
		{"validation_failed", "/profiles?x=" + long, "application/json", `{"name":"x"}`, 422, a},
		{"validation_failed", "/profiles", "application/json", `{"name":""}`, 422, a},
	}
	a.once(t, "first", "POST", "/profiles", `{"name":"there"}`).want(t, 201)
	pages, answers := a.kept(t)
	began := time.Now()
	for i, k := range kinds {
		for n := range 300 {
			req := k.who.request(t, "POST", k.path, k.body)
			req.Header.Set("Content-Type", k.mime)
			req.Header.Set("Idempotency-Key", fmt.Sprint("refused ", i, n))
			k.who.send(t, req).refused(t, k.status, k.code)
		}
		entries := int(a.do(t, "GET", "/audit?result=refused", nil).want(t, 200).at("total").(float64)) // in the audit log, at most so many
		if p, n := a.kept(t); p > pages+4+entries/4 || n != answers || entries > 2*refusalsAMinute*(1+int(time.Since(began).Minutes())) {
			t.Errorf("after 300 answers %d %s the database has %d pages in use and %d answers; it had %d and %d", k.status, k.code, p, n,
				pages, answers)
		}
	}
	a.once(t, "big", "POST", "/profiles", strings.Repeat(" ", 1<<20+1)).refused(t, 413, "body_too_large")
	for _, key := range []string{"big", "refused 00", "refused 30", "refused 50"} {
		a.once(t, key, "POST", "/profiles", `{"name":"free"}`).want(t, 201)
	}
}

// TestRefusedBeforeTheBody: a key without the scope is refused before its body arrives, and 30 bodies of 16 MiB take no memory.
func TestRefusedBeforeTheBody(t *testing.T) {
	// Not parallel: it measures the memory of the whole process.
	a := newAPI(t)
	reader, _ := a.newKey(t, "read")
	const connections, length = 30, 16 << 20
	open := make([]net.Conn, connections)
	for i := range open {
		c, err := net.Dial("tcp", a.hostPort())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open[i] = c
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil { // less than a body may take to come
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST /api/v1/proxies/import HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: "+
			"text/plain\r\nIdempotency-Key: k%d\r\nContent-Length: %d\r\n\r\n#",
			a.hostPort(), reader, i, length)
	}
	before := heap()
	chunk := []byte(strings.Repeat("#", 1<<20))
	for i, c := range open {
		for n := 0; n < length-2<<20; n += len(chunk) {
			if _, err := c.Write(chunk); err != nil {
				break // refused
			}
		}
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			if _, sent := err.(net.Error); sent && strings.Contains(err.Error(), "reset") {
				continue // the connection ended before the answer
			}
			t.Fatalf("connection %d had no answer while its body was unfinished: %v", i, err)
		}
		if res.StatusCode != 403 {
			t.Errorf("connection %d: %s, want 403", i, res.Status)
		}
	}
	if now := heap(); now > before+32<<20 {
		t.Errorf("30 unfinished bodies hold %d MiB", (now-before)>>20)
	}
	if _, answers := a.kept(t); answers != 0 {
		t.Errorf("%d answers are kept", answers)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestKeptAnswersAreFew: of one API key the newest 1,000 answers are stored, and no large one. What such a request created is not
// created again.
func TestKeptAnswersAreFew(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	keep := func(from, to int, keyID string) {
		if err := a.srv.store.Write(t.Context(), func(q *store.Queries) error {
			for i := from; i < to; i++ {
				target := store.IdempotencyTarget("POST", "/api/v1/profiles")
				if _, err := q.BeginIdempotency(t.Context(), store.BeginIdempotencyParams{KeyID: keyID, IdemKey: fmt.Sprint("old ", i),
					Target: target, BodyHash: make([]byte, 32), CreatedAt: now() - int64(2000-i)}); err != nil {
					return err
				}
				if _, err := q.FinishIdempotency(t.Context(), store.FinishIdempotencyParams{KeyID: keyID, IdemKey: fmt.Sprint("old ", i),
					Target: target, Status: 201, Headers: "{}"}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	keep(0, 1000, "environment")
	keep(0, 1000, "another")
	made := a.once(t, "new", "POST", "/profiles", `{"name":"new"}`).want(t, 201)
	if _, answers := a.kept(t); answers != 2000 {
		t.Errorf("%d answers are kept, want the thousand of another key and the newest thousand of this", answers)
	}
	a.once(t, "old 0", "POST", "/profiles", `{"name":"made anew"}`).want(t, 201) // the oldest is deleted
	a.once(t, "old 2", "POST", "/profiles", `{"name":"another"}`).refused(t, 409, "idempotency_conflict")
	sameAnswer(t, made, a.once(t, "new", "POST", "/profiles", `{"name":"new"}`))

	list := manyLines(2000)
	for i, created := range []int{2000, 0} { // an answer of more than 64 KiB: repeated, which finds duplicates
		req := a.request(t, "POST", "/proxies/import", list)
		req.Header.Set("Content-Type", "text/plain")
		req.Header.Set("Idempotency-Key", "large")
		r := a.send(t, req).want(t, 200)
		if r.equal(t, "created", created); len(r.body) <= maxSavedAnswer {
			t.Fatalf("import %d: an answer of %d bytes shows nothing", i, len(r.body))
		}
	}
	body := map[string]any{"name": "large", "notes": strings.Repeat("\u2603", 10000), "startUrls": make([]string, 20)}
	for i := range 20 {
		body["startUrls"].([]string)[i] = "https://large.example/" + strings.Repeat(string(rune('a'+i)), 2000)
	}
	large := a.once(t, "large", "POST", "/profiles", body).want(t, 201)
	if len(large.body) <= maxSavedAnswer {
		t.Fatalf("an answer of %d bytes shows nothing", len(large.body))
	}
	again := a.once(t, "large", "POST", "/profiles", body).want(t, 201)
	again.equal(t, "id", large.text("id"))
	a.do(t, "GET", "/profiles?search=large", nil).want(t, 200).equal(t, "total", 1)
}
