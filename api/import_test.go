package api

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// importList sends a list and wants 200.
func (a *testAPI) importList(t testing.TB, query, contentType, body string) *answer {
	t.Helper()
	return a.sendList(t, query, contentType, body).want(t, 200)
}

func (a *testAPI) sendList(t testing.TB, query, contentType, body string) *answer {
	t.Helper()
	req := a.request(t, "POST", "/proxies/import"+query, body)
	req.Header.Set("Content-Type", contentType)
	return a.send(t, req)
}

// results are the lines of an import's answer, as "line result".
func (r *answer) results() (out []string) {
	list, _ := r.at("results").([]any)
	for i := range list {
		out = append(out, fmt.Sprintf("%v %s", r.at(fmt.Sprintf("results.%d.line", i)), r.text(fmt.Sprintf("results.%d.result", i))))
	}
	return out
}

const someLines = "\ufeff# bought in May\r\n" +
	"de.proxy.example:1080:alice:Canary1secret\r\n" +
	"\r\n" +
	"  http://bob:Canary2secret@fr.proxy.example:3128/  \r\n" +
	"192.0.2.1:1080:user:12345\r\n" + // two readings
	"DE.proxy.example.:1080:alice:other\r\n" + // line 2 again
	"no-port-Canary3secret\r\n" +
	"[2001:db8::1]:1080\r\n" +
	"u:Canary4secret@host\x00:1\r\n" +
	"bob:Canary5secret:198.51.100.7:8080"

// TestImportText: each line is told what came of it, in order; what is there now is what was read; nothing is told of a password.
func TestImportText(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	stream := a.listen(t, a.key)
	dry := a.importList(t, "?workspaceId=w&tag=May&dryRun=true", "text/plain", someLines)
	a.do(t, "GET", "/proxies", nil).want(t, 200).equal(t, "total", 0)
	a.do(t, "GET", "/workspaces", nil).want(t, 200).equal(t, "total", 0)
	r := a.importList(t, "?workspaceId=w&tag=May", "text/plain; charset=utf-8", someLines)
	want := []string{"2 created", "4 created", "5 ambiguous", "6 duplicate", "7 invalid", "8 created", "9 invalid", "10 created"}
	for _, r := range []*answer{dry, r} {
		if got := r.results(); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for member, n := range map[string]int{"created": 4, "duplicate": 1, "invalid": 2, "ambiguous": 1} {
			r.equal(t, member, n)
		}
		if strings.Contains(string(r.body), "secret") {
			t.Errorf("%s repeats a password", r)
		}
		r.equal(t, "results.2.readings", []string{"socks5://user:***@192.0.2.1:***", "socks5://192.0.2.1:***@user:***"})
	}
	dry.equal(t, "results.0.id", nil)
	dry.equal(t, "results.3.existingId", nil)
	r.equal(t, "results.3.existingId", r.text("results.0.id"))
	stream.until(t, "proxy.imported")
	if all := stream.all(); strings.Contains(all, "proxy.created") || !strings.Contains(all, `"created":4`) {
		t.Errorf("events: %s", all)
	}
	one := a.do(t, "GET", "/proxies/"+r.text("results.0.id"), nil).want(t, 200)
	for member, want := range map[string]any{"type": "socks5", "host": "de.proxy.example", "port": 1080, "username": "alice",
		"hasPassword": true, "tags": []string{"May"}, "workspaceId": "w", "status": "unknown", "name": ""} {
		one.equal(t, member, want)
	}
	row, err := a.srv.proxyRow(adminContext(a), r.text("results.7.id"))
	if px := a.srv.pool.Open(row); err != nil || px.Usable() != nil || px.Address.URL() != "socks5://bob:Canary5secret@198.51.100.7:8080" {
		t.Errorf("%v %v", px, err)
	}
	again := a.importList(t, "?workspaceId=w&dryRun=true", "text/plain", someLines) // now they are there, also in a dry run
	again.equal(t, "duplicate", 5)
	again.equal(t, "results.0.existingId", r.text("results.0.id"))
	again.equal(t, "results.3.existingId", r.text("results.0.id"))
	a.importList(t, "?workspaceId=other", "text/plain", someLines).equal(t, "created", 4)
	a.importList(t, "?type=http&workspaceId=third", "text/plain", "h.example:80\n").equal(t, "created", 1)
	a.do(t, "GET", "/proxies?workspaceId=third", nil).want(t, 200).equal(t, "data.0.type", "http")
	a.importList(t, "", "text/plain", "# nothing\n").equal(t, "results", []any{})
	if strings.Contains(a.log.String(), "secret") {
		t.Errorf("the log has a password: %s", a.log)
	}
}

// TestImportChoice: a choice makes a proxy of an ambiguous line, in a dry run too; a wrong one makes nothing of the list.
func TestImportChoice(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	dry := a.importList(t, "?dryRun=true&choice=5:2&results=failed", "text/plain", someLines)
	dry.equal(t, "created", 5)
	if got, want := dry.results(), []string{"6 duplicate", "7 invalid", "9 invalid"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for choice, faults := range map[string][]string{"2:1": {"query.choice[0]"}, "5:3": {"query.choice[0]"}, "99:1": {"query.choice[0]"},
		"5:2&choice=x&choice=5:0": {"query.choice[1]", "query.choice[2]"}} {
		a.sendList(t, "?choice="+choice, "text/plain", someLines).invalid(t, faults...)
	}
	a.importList(t, "?dryRun=true&choice=*:1", "text/plain", someLines).equal(t, "created", 5)
	a.do(t, "GET", "/proxies", nil).want(t, 200).equal(t, "total", 0)
	r := a.importList(t, "?choice=5:1", "text/plain", someLines)
	r.equal(t, "ambiguous", 0)
	one := a.do(t, "GET", "/proxies/"+r.text("results.2.id"), nil).want(t, 200)
	one.equal(t, "host", "192.0.2.1")
	one.equal(t, "port", 1080)
	r = a.importList(t, "?choice=5:2", "text/plain", someLines)
	r.equal(t, "created", 1)
	a.do(t, "GET", "/proxies/"+r.text("results.2.id"), nil).want(t, 200).equal(t, "port", 12345)
	r = a.importList(t, "?results=failed", "text/plain", strings.Repeat("no-port\n", 201))
	r.equal(t, "invalid", 201)
	if got := r.results(); len(got) != maxFailedLines {
		t.Errorf("%d results", len(got))
	}
}

// TestImportCSV: columns by their names, in any order, with quotes, with either separator.
func TestImportCSV(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.importList(t, "?tag=all", "text/csv", "\ufeffport,Host,name,password,username,tags,notes,rotateUrl,type\r\n"+
		"1080,a.example,\"Berlin, \"\"1\"\"\",\"p,\"\"=w \",=u,\"Shop, de\",\"two\nlines\",https://r.example/x,\r\n"+
		"\r\n"+
		"3128,b.example,'=name,,,\"[\"\"x,y\"\"]\",,,http\r\n"+
		"0,c.example,,,,,,,\r\n"+
		"1,d.example,,,,,,,ftp,more\r\n"+
		"1080,A.example,,other,=u,,,,\r\n"+
		"1,e.example,,p,,,,,\r\n"+
		"1,f.ex\"ample,,,,,,,\r\n"+
		"1,g.example\r\n")
	if got, want := r.results(), []string{"2 created", "5 created", "6 invalid", "7 invalid", "8 duplicate", "9 invalid",
		"10 invalid", "11 created"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v\n%s", got, want, r)
	}
	one := a.do(t, "GET", "/proxies/"+r.text("results.0.id"), nil).want(t, 200)
	for member, want := range map[string]any{"type": "socks5", "host": "a.example", "port": 1080, "username": "=u",
		"name": `Berlin, "1"`, "tags": []string{"Shop", "de", "all"}, "notes": "two\nlines", "rotateUrl": "https://r.example/x"} {
		one.equal(t, member, want)
	}
	row, _ := a.srv.proxyRow(adminContext(a), r.text("results.0.id"))
	if p := a.srv.pool.Open(row).Address; p.Password != `p,"=w ` {
		t.Errorf("password %q", p.Password)
	}
	two := a.do(t, "GET", "/proxies/"+r.text("results.1.id"), nil).want(t, 200)
	two.equal(t, "name", "=name")
	two.equal(t, "tags", []string{"x,y", "all"})
	a.importList(t, "", "text/csv", "url;name\nsocks5://u:p@x.example:1;\"a;b\"\n").equal(t, "created", 1)
	a.do(t, "GET", "/proxies?search=a;b", nil).refused(t, 422, "validation_failed")
	a.do(t, "GET", "/proxies?search=a%3Bb", nil).want(t, 200).equal(t, "total", 1)
	for _, body := range []string{"a.example,1080\n", "\n", "host,username\nx,y\n", "\"", "h.example:80\n"} {
		if r := a.sendList(t, "", "text/csv", body).refused(t, 422, "validation_failed"); !strings.Contains(string(r.body), "rotateUrl") {
			t.Errorf("%q: %s does not name the columns", body, r)
		}
	}
	a.sendList(t, "", "text/csv", "host,port,country,host\n").invalid(t, "body.header[2]", "body.header[3]")
}

// TestImportJSON: objects as for add and strings, one by one.
func TestImportJSON(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	r := a.do(t, "POST", "/proxies/import?tag=x", `{"workspaceId":"w","proxies":["h.example:1080:u:p",
		{"type":"http","host":"i.example","port":80,"tags":["y"],"name":"n"},
		{"url":"socks4://j.example:1"},
		{"host":"k.example","port":8.5},{"host":"k.example","port":1,"nope":1},"",7,null,{"host":"l.example","port":1,"workspaceId":"v"},
		{"host":"h.example","port":1080,"username":"u"},
		{"type":"http","host":"m.example","port":80,"password":"Canarysecret"},
		{"url":"http://u:Canary%secret@h:1"},{"host":5,"port":1}]}`).want(t, 200)
	want := []string{"1 created", "2 created", "3 created", "4 invalid", "5 invalid", "6 invalid", "7 invalid", "8 invalid",
		"9 invalid", "10 duplicate", "11 invalid", "12 invalid", "13 invalid"}
	if got := r.results(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v\n%s", got, want, r)
	}
	if strings.Contains(string(r.body), "secret") || !strings.Contains(r.text("results.4.reason"), "nope") ||
		!strings.Contains(r.text("results.3.reason"), "port") {
		t.Errorf("%s", r)
	}
	a.do(t, "GET", "/proxies/"+r.text("results.1.id"), nil).want(t, 200).equal(t, "tags", []string{"y", "x"})
	a.do(t, "POST", "/proxies/import", `{"proxies":`).refused(t, 400, "malformed_json")
	a.do(t, "POST", "/proxies/import", `{"proxies":[],"proxies":[]}`).refused(t, 400, "malformed_json")
	a.do(t, "POST", "/proxies/import", `[]`).invalid(t, "body")
	a.do(t, "POST", "/proxies/import?type=ftp&dryRun=maybe", `{"proxies":{},"x":1,"workspaceId":5}`).invalid(t, "query.type",
		"query.dryRun", "body.proxies", "body.x", "body.workspaceId")
	a.do(t, "POST", "/proxies/import?workspaceId=v", `{"proxies":[],"workspaceId":"w"}`).invalid(t, "body.workspaceId")
}

// TestImportBounds: what is too much, of the wrong kind, or of another workspace makes nothing.
func TestImportBounds(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, contentType := range []string{"application/x-www-form-urlencoded", "text/html", "multipart/form-data; boundary=x",
		"text/plain; charset=utf-16", "nonsense"} {
		a.sendList(t, "", contentType, "h.example:80").refused(t, 415, "unsupported_media_type")
	}
	lines := manyLines(10001)
	for contentType, body := range map[string]string{"text/plain": lines, "text/csv": "url\n" + lines,
		"application/json": `{"proxies":["` + strings.ReplaceAll(strings.TrimSuffix(lines, "\n"), "\n", `","`) + `"]}`} {
		if r := a.sendList(t, "", contentType, body); r.text("code") != "validation_failed" ||
			!strings.Contains(r.text("errors.0.message"), "10,000") {
			t.Errorf("%s: %s", contentType, r)
		}
	}
	full := strings.Repeat("#", maxImportBody-1) + "\n"
	a.importList(t, "", "text/plain", full).equal(t, "created", 0)
	a.sendList(t, "", "text/plain", full+"\n").refused(t, 413, "body_too_large")
	key, _ := a.newKey(t, "write", "w")
	a.as(key).sendList(t, "?workspaceId=v", "text/plain", "h.example:80").invalid(t, "query.workspaceId")
	a.as(key).importList(t, "", "text/plain", "h.example:80").equal(t, "created", 1)
	a.do(t, "GET", "/proxies", nil).want(t, 200).equal(t, "data.0.workspaceId", "w")
	a.sendList(t, "?tag="+url.QueryEscape(strings.Repeat("t", 65)), "text/plain", "h.example:80").invalid(t, "query.tag[0]")
	a.do(t, "GET", "/proxies", nil).want(t, 200).equal(t, "total", 1)
	for range 2 { // the same key and body: the first answer, also of a body over 1 MiB
		req := a.request(t, "POST", "/proxies/import", strings.Repeat("# 1\n", 1<<18)+"i.example:80\n")
		req.Header.Set("Content-Type", "text/plain")
		req.Header.Set("Idempotency-Key", "once")
		a.send(t, req).want(t, 200).equal(t, "created", 1)
	}
}

func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "10.%d.%d.%d:1080:user%d:Password-%d\n", i>>16, i>>8&255, i&255, i, i)
	}
	return b.String()
}

// TestImportOfTenThousand prints what a full list costs.
func TestImportOfTenThousand(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("is about the cost of ten thousand rows, which the race detector multiplies; make test has it")
	}
	a := newAPI(t)
	lines := manyLines(10000)
	for _, what := range []string{"a dry run", "new", "all there"} {
		query := ""
		if what == "a dry run" {
			query = "?dryRun=true"
		}
		began := time.Now()
		r := a.importList(t, query, "text/plain", lines)
		t.Logf("10,000 lines, %s: %v", what, time.Since(began))
		if n := r.at("created").(float64) + r.at("duplicate").(float64); n != 10000 {
			t.Errorf("%s: %v of 10,000", what, n)
		}
	}
	a.do(t, "GET", "/proxies?limit=1", nil).want(t, 200).equal(t, "total", 10000)
}
