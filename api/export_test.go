package api

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"warren/proxy"
	"warren/store"
	"warren/testnet"
)

// oddProxies creates proxies with everything that a format could lose: formulas, separators, quotes, bytes that are not UTF-8.
func oddProxies(t testing.TB, a *testAPI) {
	t.Helper()
	for i, p := range []map[string]any{
		{"type": "socks5", "host": "plain.example", "port": 1080},
		{"type": "http", "host": "user.example", "port": 80, "username": "alice"},
		{"type": "https", "host": "2001:db8::1", "port": 443, "username": "alice", "password": "p:a@s/s %41,;\"'#"},
		{"type": "socks4", "host": "192.0.2.1", "port": 1, "username": "bob"},
		{"type": "socks5", "host": "formula.example", "port": 2, "username": "=1+1", "password": "-2+3", "name": "=HYPERLINK(\"x\")",
			"notes": "'@SUM(1)", "tags": []string{"+a", "b"}},
		{"type": "socks5", "host": "-dash.example", "port": 3, "username": " spaces ", "password": "\ttab\x01", "name": "''=x",
			"tags": []string{"with, comma", "[x", "Ü"}},
		{"type": "socks5", "host": "text.example", "port": 4, "username": "u", "password": "***", "name": "'quoted'",
			"notes": "two\nlines, \"quoted\"; and more\n", "rotateUrl": "https://r.example/?a=1&b=2"},
		{"type": "socks5", "host": "text.example", "port": 5, "username": "u", "password": "日本語", "notes": "  ", "tags": []string{"[a",
			"b"}},
		{"url": "socks5://u:%ff%00x@bytes.example:6"}, {"url": "socks5://u:%ff%fe@bytes.example:6"},
	} {
		p["workspaceId"] = "from"
		if r := a.do(t, "POST", "/proxies", p); r.status != 201 && i != 8 { // a NUL is no password
			t.Fatal(r)
		}
	}
}

// poolOf returns all proxies of a workspace with their passwords, as text.
func (a *testAPI) poolOf(t testing.TB, workspace string) (out []string) {
	t.Helper()
	r := a.do(t, "GET", "/proxies?sort=host&workspaceId="+workspace, nil).want(t, 200)
	for i, id := range r.each("id") {
		row, err := a.srv.proxyRow(adminContext(a), id)
		px := a.srv.pool.Open(row)
		p, err2 := px.Address, px.Usable()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		at := fmt.Sprintf("data.%d.", i)
		out = append(out, fmt.Sprintf("%q %q %q %q %q", p.URL(), r.at(at+"name"), r.at(at+"tags"), r.at(at+"notes"), r.at(at+"rotateUrl")))
	}
	slices.Sort(out)
	return out
}

// TestExportRoundTrip: an export with secrets is imported into another workspace as the same proxies. Without secrets only the
// passwords differ.
func TestExportRoundTrip(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	oddProxies(t, a)
	want := a.poolOf(t, "from")
	if len(want) != 9 {
		t.Fatalf("%d proxies", len(want))
	}
	for format, contentType := range map[string]string{"text": "text/plain", "csv": "text/csv", "json": "application/json"} {
		out := a.do(t, "GET", "/proxies/export?workspaceId=from&secrets=true&format="+format, nil).want(t, 200)
		if ct, d := out.header.Get("Content-Type"), out.header.Get("Content-Disposition"); !strings.HasPrefix(ct, contentType) ||
			!strings.HasPrefix(d, `attachment; filename="proxies.`) {
			t.Errorf("%s: %q %q", format, ct, d)
		}
		in := a.importList(t, "?workspaceId="+format, contentType, string(out.body))
		in.equal(t, "created", 9)
		got := a.poolOf(t, format)
		if format == "text" { // addresses alone
			for i := range got {
				got[i], _, _ = strings.Cut(got[i], " ")
				url, _, _ := strings.Cut(want[i], " ")
				if got[i] != url {
					t.Errorf("text: got %s, want %s", got[i], url)
				}
			}
		} else if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s\n%s", format, strings.Join(got, "\n"), strings.Join(want, "\n"), out.body)
		}
		again := a.do(t, "GET", "/proxies/export?workspaceId="+format+"&secrets=true&format="+format, nil).want(t, 200)
		if string(again.body) != string(out.body) {
			t.Errorf("%s: exported again it is\n%s\nwas\n%s", format, again.body, out.body)
		}
		bare := a.do(t, "GET", "/proxies/export?workspaceId=from&format="+format, nil).want(t, 200)
		for _, secret := range []string{"-2+3", "日本語", "%41", "***", "%FF", "%2525"} {
			if strings.Contains(string(bare.body), secret) {
				t.Errorf("%s without secrets has %q:\n%s", format, secret, bare.body)
			}
		}
		a.importList(t, "?workspaceId=bare-"+format, contentType, string(bare.body)).equal(t, "created", 9)
		for _, line := range a.poolOf(t, "bare-"+format) {
			url, _, _ := strings.Cut(line, " ")
			if strings.Contains(url[strings.Index(url, "//"):strings.LastIndex(url, ":")], ":%") || strings.Contains(url, "***") {
				t.Errorf("%s without secrets made %s", format, line)
			}
		}
	}
	if text := string(a.do(t, "GET", "/proxies/export", nil).body); !strings.HasPrefix(text,
		"# Passwords are left out.\nsocks5://plain.example:1080\n") {
		t.Errorf("text: %s", text)
	}
}

// TestExportHasNoFormulas: no CSV cell begins like a spreadsheet formula.
func TestExportHasNoFormulas(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	oddProxies(t, a)
	out := a.do(t, "GET", "/proxies/export?secrets=true&format=csv", nil).want(t, 200)
	rows, err := csv.NewReader(strings.NewReader(string(out.body))).ReadAll()
	if err != nil || len(rows) != 10 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	quoted := 0
	for _, row := range rows {
		for _, cell := range row {
			if strings.IndexAny(cell, formula) == 0 {
				t.Errorf("the cell %q is a formula", cell)
			}
			if strings.HasPrefix(cell, "'") {
				quoted++
			}
		}
	}
	if quoted < 4 {
		t.Errorf("%d cells with an apostrophe: the test is blind", quoted)
	}
	for _, p := range []proxy.Proxy{{Host: "-h"}, {Host: "h", Username: "=u"}, {Host: "h", Username: "u", Password: "+p"}} {
		for _, cell := range csvCells(store.Proxy{Tags: "[]"}, p) {
			if strings.IndexAny(cell, formula) == 0 {
				t.Errorf("%v: the cell %q is a formula", p, cell)
			}
		}
	}
	for _, s := range []string{"", "'", "''", "=", "'=", "''=", "a", "'a", "@x", "'+", "\tx", "＝1"} {
		if back := cellText(textCell(s)); back != s {
			t.Errorf("%q comes back as %q", s, back)
		}
	}
}

// TestExportForms: the format by parameter or Accept, the filters, the workspaces, a whole pool.
func TestExportForms(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for accept, want := range map[string]string{"": "text/plain", "*/*": "text/plain", "text/csv": "text/csv",
		"application/json;q=0.9, text/csv": "application/json", "text/html, text/plain": "text/plain",
		"TEXT/CSV; header=present": "text/csv", "image/png": "text/plain"} {
		req := a.request(t, "GET", "/proxies/export", nil)
		req.Header.Set("Accept", accept)
		if got := a.send(t, req).want(t, 200).header.Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("Accept %q: %s, want %s", accept, got, want)
		}
	}
	a.importList(t, "?tag=many&workspaceId=w", "text/plain", manyLines(1234))
	a.proxy(t, "workspaceId", "v", "type", "http")
	for query, want := range map[string]int{"": 1235, "?workspaceId=w": 1234, "?type=http": 1, "?tag=MANY&search=user123": 5,
		"?country=DE": 0} {
		if got := strings.Count(string(a.do(t, "GET", "/proxies/export"+query, nil).want(t, 200).body), "://"); got != want {
			t.Errorf("%s: %d proxies, want %d", query, got, want)
		}
	}
	key, _ := a.newKey(t, "read,secrets", "v")
	if text := string(a.as(key).do(t, "GET", "/proxies/export?secrets=true", nil).want(t, 200).body); strings.Count(text, "://") != 1 {
		t.Errorf("a key of another workspace sees %s", text)
	}
	lines := strings.Split(string(a.do(t, "GET", "/proxies/export?workspaceId=w&secrets=true", nil).body), "\n")
	if lines[0] != "socks5://user0:Password-0@10.0.0.0:1080" || lines[1233] != "socks5://user1233:Password-1233@10.0.4.209:1080" ||
		len(lines) != 1235 {
		t.Errorf("%d lines, %s … %s", len(lines), lines[0], lines[1233])
	}
	a.do(t, "GET", "/proxies/export?search=%ff&tag=a%fe", nil).invalid(t, "query.search", "query.tag")
	a.do(t, "GET", "/proxies/export?format=xml&type=ftp&country=x&nope=1", nil).invalid(t, "query.format", "query.type", "query.country",
		"query.nope")
}

// TestSecrets: who may read a password and what is recorded. If the record fails, nothing is answered.
func TestSecrets(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.BehindProxy = []string{"127.0.0.1"} })
	with, without := a.proxy(t, "username", "u", "password", canary, "workspaceId", "w"), a.proxy(t, "host", "b.example", "workspaceId",
		"v")
	reader, _ := a.newKey(t, "read,run,write")
	secrets, keyID := a.newKey(t, "read,secrets", "w")
	a.as(reader).do(t, "GET", "/proxies/"+with+"/secret", nil).refused(t, 403, "forbidden")
	r := a.as(reader).do(t, "GET", "/proxies/export?secrets=true", nil).refused(t, 403, "forbidden")
	if !strings.Contains(r.text("detail"), "`secrets`") {
		t.Error(r)
	}
	a.as(secrets).do(t, "GET", "/proxies/"+without+"/secret", nil).refused(t, 404, "proxy_not_found")
	a.do(t, "GET", "/audit?action=proxy.secret&result=ok", nil).want(t, 200).equal(t, "total", 0)

	req := a.as(secrets).request(t, "GET", "/proxies/"+with+"/secret", nil)
	req.Header.Set("X-Forwarded-For", "203.0.113.9")
	req.Header.Set("X-Request-Id", "the-request")
	a.send(t, req).want(t, 200).equal(t, "password", canary)
	a.do(t, "GET", "/proxies/"+without+"/secret", nil).want(t, 200).equal(t, "password", nil)
	a.as(secrets).do(t, "GET", "/proxies/export?secrets=true&format=csv&tag=x&search=y", nil).want(t, 200)
	list := a.do(t, "GET", "/audit?result=ok", nil).want(t, 200)
	for member, want := range map[string]any{"data.2.action": "proxy.secret", "data.2.objectId": with, "data.2.workspaceId": "w",
		"data.2.keyId": keyID, "data.2.keyName": "test", "data.2.remote": "203.0.113.9",
		"data.2.requestId": "the-request", "data.2.detail": map[string]any{}, "data.1.objectId": without, "data.1.keyId": "environment",
		"data.1.keyName": "WARREN_API_KEY", "data.1.remote": "127.0.0.1",
		"data.0.action": "proxies.export", "data.0.objectId": nil, "data.0.workspaceId": "w", "data.0.detail": map[string]any{"count": 0,
			"format": "csv", "secrets": true, "tag": []string{"x"}, "search": "y"}} {
		list.equal(t, member, want)
	}
	a.do(t, "GET", "/audit?result=ok&action=proxies.export", nil).want(t, 200).equal(t, "total", 1)
	bytes := a.do(t, "POST", "/proxies", `{"url":"socks5://u:%ff%fe@bytes.example:1"}`).want(t, 201).text("id")
	odd := a.do(t, "GET", "/proxies/"+bytes+"/secret", nil).want(t, 200)
	odd.equal(t, "password", nil)
	odd.equal(t, "base64", "//4=")
	a.do(t, "POST", "/proxies", `{"url":"socks5://%ff:x@bytes.example:1"}`).invalid(t, "body.username")
	a.importList(t, "", "text/plain", "socks5://%ff:x@bytes.example:2").equal(t, "invalid", 1)
	a.do(t, "GET", "/audit?action=nope", nil).invalid(t, "query.action")
	var walked []string
	for after := "first"; after != ""; {
		page := a.do(t, "GET", "/audit?result=ok&action=proxy.secret&limit=1"+
			map[bool]string{true: "", false: "&after=" + after}[after == "first"], nil).want(t, 200)
		walked = append(walked, page.each("id")...)
		if after = ""; page.at("hasMore") == true {
			after = walked[len(walked)-1]
		}
	}
	if len(walked) != 3 || !slices.Equal(walked[1:], list.each("id")[1:3]) {
		t.Errorf("walked %v", walked)
	}
	a.as(reader).do(t, "GET", "/audit", nil).refused(t, 403, "forbidden")
	admin, _ := a.newKey(t, "admin", "v")
	a.as(admin).do(t, "GET", "/audit?result=ok&action=proxy.secret", nil).want(t, 200).equal(t, "total", 1)
	if strings.Contains(string(list.body), canary) || strings.Contains(a.log.String(), canary) {
		t.Error("the audit or the log has the password")
	}

	if testnet.OnPostgres() { // where entries wait
		a.rewrite(t, "DROP TABLE audit_pending")
	} else {
		a.rewrite(t, "DROP TABLE audit")
	}
	for _, path := range []string{"/proxies/" + with + "/secret", "/proxies/export?secrets=true"} {
		res, err := a.client.Do(a.request(t, "GET", path, nil))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		text := string(body)
		if res.StatusCode != 503 || !strings.Contains(text, "database_damaged") || hasCanary(body) || strings.Contains(text, "example") {
			t.Errorf("%s with an audit that cannot be written: %d %s", path, res.StatusCode, text)
		}
	}
	a.do(t, "GET", "/proxies/export", nil).want(t, 200) // without secrets nothing is recorded, else requests could fill the disk
}
