package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// route is an operation as the tests of access see it: the scope that it needs, and a valid request.
type route struct {
	scope string // "": no key at all
	kind  string // the kind of object of {id}: profile, proxy, key; "" for none
	body  any
	query string
}

// routeTable lists every operation of the API with its scope. A test fails for operations that are not in it. It reads
// best as one table.
func routeTable() map[string]route {
	const p = "/api/v1"
	return map[string]route{
		"GET " + p + "/profiles":                                     {scope: "read"},
		"POST " + p + "/profiles":                                    {scope: "write", body: `{"name":"x"}`},
		"GET " + p + "/profiles/{id}":                                {scope: "read", kind: "profile"},
		"PUT " + p + "/profiles/{id}":                                {scope: "write", kind: "profile", body: `{"notes":"changed"}`},
		"PATCH " + p + "/profiles/{id}":                              {scope: "write", kind: "profile", body: `{"notes":"changed"}`},
		"DELETE " + p + "/profiles/{id}":                             {scope: "write", kind: "profile"},
		"POST " + p + "/profiles/{id}/start":                         {scope: "run", kind: "profile", body: `{"dryRun":true}`},
		"POST " + p + "/profiles/{id}/restart":                       {scope: "run", kind: "profile", body: `{"dryRun":true}`},
		"POST " + p + "/profiles/{id}/stop":                          {scope: "run", kind: "profile"},
		"POST " + p + "/profiles/{id}/failback":                      {scope: "run", kind: "profile"},
		"GET " + p + "/runs/{runId}/hosts":                           {scope: "read"},
		"GET " + p + "/runs/{runId}/log":                             {scope: "run"},
		"GET " + p + "/proxies/{id}/traffic":                         {scope: "read", kind: "proxy"},
		"GET " + p + "/profiles/{id}/traffic":                        {scope: "read", kind: "profile"},
		"POST " + p + "/profiles/{id}/capabilities":                  {scope: "run", kind: "profile", body: `{"readonly":true}`},
		"GET " + p + "/profiles/{id}/capabilities":                   {scope: "read", kind: "profile"},
		"DELETE " + p + "/profiles/{id}/capabilities/{capabilityId}": {scope: "run", kind: "profile"},
		"GET " + p + "/profiles/{id}/live":                           {scope: "run", kind: "profile"},
		"GET " + p + "/profiles/{id}/live/downloads/{download}":      {scope: "run", kind: "profile"},
		"GET " + p + "/profiles/{id}/downloads":                      {scope: "run", kind: "profile"},
		"GET " + p + "/profiles/{id}/downloads/{name}":               {scope: "run", kind: "profile"},
		"DELETE " + p + "/profiles/{id}/downloads/{name}":            {scope: "run", kind: "profile"},
		"PUT " + p + "/profiles/{id}/uploads/{name}":                 {scope: "run", kind: "profile", body: "x"},
		"GET " + p + "/profiles/{id}/screenshot":                     {scope: "run", kind: "profile"},
		"GET " + p + "/profiles/{id}/pdf":                            {scope: "run", kind: "profile"},
		"POST " + p + "/profiles/{id}/leak-test":                     {scope: "run", kind: "profile"},
		"GET " + p + "/profiles/{id}/explain":                        {scope: "read", kind: "profile"},
		"POST " + p + "/profiles/{id}/restore":                       {scope: "write", kind: "profile"},
		"GET " + p + "/profiles/{id}/cdp":                            {scope: "run", kind: "profile"},
		"GET " + p + "/profiles/{id}/cdp/json/version":               {scope: "run", kind: "profile"},
		"GET " + p + "/profiles/{id}/cdp/json/list":                  {scope: "run", kind: "profile"},
		"GET " + p + "/runs":                                         {scope: "read"},
		"GET " + p + "/jobs":                                         {scope: "read"},
		"GET " + p + "/jobs/{id}":                                    {scope: "read"},
		"GET " + p + "/jobs/{id}/results":                            {scope: "read"},
		"DELETE " + p + "/jobs/{id}":                                 {scope: "read"},
		"GET " + p + "/proxies":                                      {scope: "read"},
		"POST " + p + "/proxies":                                     {scope: "write", body: `{"url":"socks5://h:1"}`},
		"POST " + p + "/proxies/import":                              {scope: "write", body: `{"proxies":[]}`},
		"GET " + p + "/proxies/export":                               {scope: "read"},
		"GET " + p + "/proxies/{id}/secret":                          {scope: "secrets", kind: "proxy"},
		"GET " + p + "/audit":                                        {scope: "admin"},
		"POST " + p + "/proxies/check":                               {scope: "run", body: `{"url":"socks5://127.0.0.1:1"}`},
		"POST " + p + "/proxies/{id}/rotate":                         {scope: "run", kind: "proxy"},
		"POST " + p + "/proxies/check-all":                           {scope: "run", body: `{"workspaceId":"nobody"}`},
		"GET " + p + "/proxies/{id}/checks":                          {scope: "read", kind: "proxy"},
		"GET " + p + "/proxies/{id}":                                 {scope: "read", kind: "proxy"},
		"PUT " + p + "/proxies/{id}":                                 {scope: "write", kind: "proxy", body: `{"notes":"changed"}`},
		"PATCH " + p + "/proxies/{id}":                               {scope: "write", kind: "proxy", body: `{"notes":"changed"}`},
		"DELETE " + p + "/proxies/{id}":                              {scope: "write", kind: "proxy"},
		"POST " + p + "/proxies/{id}/check":                          {scope: "run", kind: "proxy"},
		"GET " + p + "/keys":                                         {scope: "admin"},
		"POST " + p + "/keys":                                        {scope: "admin", body: `{"name":"x","scopes":["read"]}`},
		"DELETE " + p + "/keys/{id}":                                 {scope: "admin", kind: "key"},
		"POST " + p + "/tickets":                                     {scope: "any", body: `{"path":"/api/v1/profiles/x/live"}`},
		"POST " + p + "/session-keys":                                {body: `{"code":"wrong"}`},
		"DELETE " + p + "/session-keys/current":                      {scope: "any"},
		"POST " + p + "/login-links":                                 {scope: "any"},
		"GET " + p + "/summary":                                      {scope: "read"},
		"GET " + p + "/templates":                                    {scope: "read"},
		"POST " + p + "/templates":                                   {scope: "write", body: `{"name":"x"}`},
		"GET " + p + "/templates/{id}":                               {scope: "read", kind: "template"},
		"PUT " + p + "/templates/{id}":                               {scope: "write", kind: "template", body: `{"notes":"changed"}`},
		"PATCH " + p + "/templates/{id}":                             {scope: "write", kind: "template", body: `{"notes":"changed"}`},
		"DELETE " + p + "/templates/{id}":                            {scope: "write", kind: "template"},
		"GET " + p + "/schedules":                                    {scope: "read"},
		"POST " + p + "/schedules": {scope: "write",
			body: `{"name":"x","everyMs":31536000000,"action":"snapshot","tag":"t"}`},
		"GET " + p + "/schedules/{id}":                {scope: "read", kind: "schedule"},
		"PUT " + p + "/schedules/{id}":                {scope: "write", kind: "schedule", body: `{"name":"changed"}`},
		"PATCH " + p + "/schedules/{id}":              {scope: "write", kind: "schedule", body: `{"name":"changed"}`},
		"DELETE " + p + "/schedules/{id}":             {scope: "write", kind: "schedule"},
		"GET " + p + "/workspaces":                    {scope: "read"},
		"POST " + p + "/workspaces":                   {scope: "admin", body: `{"id":"made"}`},
		"GET " + p + "/workspaces/{id}":               {scope: "read"},
		"PUT " + p + "/workspaces/{id}":               {scope: "admin", body: `{"name":"renamed"}`},
		"PATCH " + p + "/workspaces/{id}":             {scope: "admin", body: `{"name":"renamed"}`},
		"DELETE " + p + "/workspaces/{id}":            {scope: "admin"},
		"GET " + p + "/server":                        {scope: "admin"},
		"GET " + p + "/browsers":                      {scope: "read"},
		"POST " + p + "/browsers":                     {scope: "admin", body: `{"version":"131"}`},
		"GET " + p + "/browsers/installation":         {scope: "admin"},
		"DELETE " + p + "/browsers/installation":      {scope: "admin"},
		"GET " + p + "/events":                        {scope: "read", query: "x=1"}, // refused before it streams
		"GET /openapi.json":                           {},
		"GET /metrics":                                {scope: "read"},
		"GET /healthz":                                {},
		"GET /readyz":                                 {},
		"GET /version":                                {},
		"GET /ip":                                     {},
		"GET /cdp/{capability}":                       {kind: "capability"},
		"GET /cdp/{capability}/json/version":          {kind: "capability"},
		"GET /cdp/{capability}/json/list":             {kind: "capability"},
		"GET /live/{capability}":                      {kind: "capability"},
		"GET /live/{capability}/downloads/{download}": {kind: "capability"},
		"POST " + p + "/webhooks/{id}/deliveries/{deliveryId}/replay": {
			scope: "admin"},
		"GET " + p + "/webhooks":                     {scope: "admin"},
		"POST " + p + "/webhooks":                    {scope: "admin", body: `{"url":"https://127.0.0.1:1/","events":["capability.*"]}`},
		"GET " + p + "/webhooks/{id}":                {scope: "admin", kind: "webhook"},
		"PUT " + p + "/webhooks/{id}":                {scope: "admin", kind: "webhook", body: `{"enabled":true}`},
		"PATCH " + p + "/webhooks/{id}":              {scope: "admin", kind: "webhook", body: `{"enabled":true}`},
		"DELETE " + p + "/webhooks/{id}":             {scope: "admin", kind: "webhook"},
		"POST " + p + "/webhooks/{id}/test":          {scope: "admin", kind: "webhook"},
		"POST " + p + "/webhooks/{id}/rotate-secret": {scope: "admin", kind: "webhook"},
		"GET " + p + "/webhooks/{id}/deliveries":     {scope: "admin", kind: "webhook"},
		// TestBatchFaults has the scopes of the actions
		"POST " + p + "/profiles/batch":                         {scope: "read", body: `{}`},
		"GET " + p + "/profiles/{id}/snapshots":                 {scope: "read", kind: "profile"},
		"POST " + p + "/profiles/{id}/snapshots":                {scope: "write", kind: "profile"},
		"PATCH " + p + "/profiles/{id}/snapshots/{snapshotId}":  {scope: "write", kind: "profile", body: `{"pinned":true}`},
		"DELETE " + p + "/profiles/{id}/snapshots/{snapshotId}": {scope: "write", kind: "profile"},
		"POST " + p + "/profiles/{id}/rollback":                 {scope: "write", kind: "profile", body: `{"snapshotId":"x"}`},
		"POST " + p + "/profiles/{id}/clone":                    {scope: "write", kind: "profile", body: `{"count":2}`},
		"GET " + p + "/profiles/{id}/export":                    {scope: "secrets", kind: "profile", query: "unsealed=true"},
		"GET " + p + "/profiles/export":                         {scope: "secrets", query: "unsealed=true&ids=none"},
		"POST " + p + "/profiles/import":                        {scope: "write", query: "x=1"}, // refused before secrets is asked for
		"GET " + p + "/profiles/{id}/cookies":                   {scope: "secrets", kind: "profile"},
		"PUT " + p + "/profiles/{id}/cookies":                   {scope: "write", kind: "profile", body: `[]`},
		"DELETE " + p + "/profiles/{id}/cookies":                {scope: "write", kind: "profile"},
		"GET " + p + "/profiles/{id}/storage-state":             {scope: "secrets", kind: "profile"},
		"PUT " + p + "/profiles/{id}/storage-state":             {scope: "write", kind: "profile", body: `{"origins":[]}`},
		"POST " + p + "/profiles/{id}/clear":                    {scope: "write", kind: "profile", body: `{"kinds":["cache"]}`},
		"POST " + p + "/profiles/batch-create":                  {scope: "write", body: `{"count":2,"name":"x"}`},
		"GET " + p + "/extensions":                              {scope: "read"},
		"GET " + p + "/extensions/{id}":                         {scope: "read"},
		"DELETE " + p + "/extensions/{id}":                      {scope: "write"},
		"POST " + p + "/extensions":                             {scope: "write", query: "x=1"}, // refused before it is read
		"GET " + p + "/pressure":                                {scope: "read"},
		"GET " + p + "/nodes":                                   {scope: "read"},
		"POST " + p + "/nodes/{id}/drain":                       {scope: "admin"},
		"POST " + p + "/nodes/{id}/undrain":                     {scope: "admin"},
		"DELETE " + p + "/nodes/{id}":                           {scope: "admin"},
		"GET " + p + "/profiles/{id}/passkeys":                  {scope: "read", kind: "profile"},
		"DELETE " + p + "/profiles/{id}/passkeys/{passkeyId}":   {scope: "write", kind: "profile"},
		"GET " + p + "/profiles/{id}/runs":                      {scope: "read", kind: "profile"},
	}
}

// TestRouteTable: the table and openapi.json have the same operations.
func TestRouteTable(t *testing.T) {
	t.Parallel()
	a, table := newAPI(t), routeTable()
	seen := map[string]bool{}
	for _, op := range a.doc.operations {
		name := op.method + " " + op.path
		seen[name] = true
		if _, ok := table[name]; !ok {
			t.Errorf("routeTable does not know %s: say who may call it", name)
		}
	}
	for name := range table {
		if !seen[name] {
			t.Errorf("%s is in routeTable and not in openapi.json", name)
		}
	}
}

// call sends a route's request for an id. A path with "//" counts from the root.
func (a *testAPI) call(t testing.TB, name string, r route, id string) *answer {
	t.Helper()
	method, path, _ := strings.Cut(name, " ")
	path = "/" + strings.NewReplacer("{id}", id, "{capability}", id, "{capabilityId}", "none", "{snapshotId}", "none",
		"{passkeyId}", "none", "{deliveryId}", "none", "{download}", "none", "{name}", "none").Replace(path)
	if r.query != "" {
		path += "?" + r.query
	}
	return a.do(t, method, path, r.body)
}

// TestScopes: every operation × every set of scopes. `run` and `write` contain `read`; `admin` contains all; `secrets` none.
func TestScopes(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	allows := map[string][]string{
		"read": {"read", "any"}, "run": {"run", "read", "any"}, "write": {"write", "read", "any"}, "secrets": {"secrets", "any"},
		"admin": {"read", "run", "write", "secrets", "admin", "any"}, "read,secrets": {"read", "secrets", "any"}, "run,write": {"run",
			"write", "read", "any"},
	}
	probes := 0
	for scopes, allowed := range allows {
		key, _ := a.newKey(t, scopes)
		for name, r := range routeTable() {
			id := "none"
			if name == "GET /api/v1/events" && !slices.Contains(allowed, "read") {
				r.query = ""
			}
			got := a.as(key).call(t, name, r, id)
			probes++
			switch {
			case r.scope == "" || slices.Contains(allowed, r.scope):
				if got.status == 401 || got.status == 403 || got.status >= 500 {
					t.Errorf("scopes %s: got %s, want it allowed", scopes, got)
				}
			case got.status != 403 || got.text("code") != "forbidden" || !strings.Contains(got.text("detail"), "`"+r.scope+"`"):
				t.Errorf("scopes %s: got %s, want 403 forbidden that names `%s`", scopes, got, r.scope)
			}
			if none := a.as("").call(t, name, r, id); r.scope != "" {
				none.refused(t, 401, "unauthorized")
			} else if none.status == 401 {
				t.Errorf("without a key: got %s", none)
			}
		}
	}
	t.Logf("%d probes with a key, as many without", probes)
}

// TestAuthorization: accepted and refused forms of the header.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, c := range []struct {
		values []string
		want   int
	}{
		{[]string{"Bearer " + a.key}, 200}, {[]string{"bearer " + a.key}, 200}, {[]string{"BEARER " + a.key}, 200},
		{nil, 401}, {[]string{""}, 401}, {[]string{"Bearer"}, 401}, {[]string{"Bearer "}, 401}, {[]string{a.key}, 401},
		{[]string{"Basic " + a.key}, 401},
		{[]string{"Bearer " + a.key + " x"}, 401}, {[]string{"Bearer  " + a.key}, 401}, {[]string{"Bearer\t" + a.key}, 401},
		{[]string{"Bearer " + a.key + "," + "Bearer " + a.key}, 401}, {[]string{"Bearer " + strings.ToUpper(a.key)}, 401},
		{[]string{"Bearer " + a.key, "Bearer " + a.key}, 401}, {[]string{"Bearer x", "Bearer " + a.key}, 401}, {[]string{"Bearer " + a.key,
			""}, 401},
	} {
		req := a.as("").request(t, "GET", "/profiles", nil)
		req.Header["Authorization"] = c.values
		if got := a.send(t, req); got.status != c.want {
			t.Errorf("Authorization %q: got %d, want %d", c.values, got.status, c.want)
		}
	}
	// never in an address
	for _, path := range []string{"/profiles?key=" + a.key, "/profiles?access_token=" + a.key, "/profiles?token=" + a.key} {
		a.as("").do(t, "GET", path, nil).refused(t, 401, "unauthorized")
	}
	req := a.as("").request(t, "GET", "/profiles", nil)
	req.AddCookie(&http.Cookie{Name: "key", Value: a.key}) // and never in a cookie
	a.send(t, req).refused(t, 401, "unauthorized")
}

// TestUnknownPaths: without a key every path answers the same. With a key unknown paths get 404 or 405 in the form of all errors.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{"//nope", "/nope", "/profiles/", "/profiles//", "//api/v1", "//api/v2/profiles",
		"//api/v1/../v1/profiles", "//api/v1/./profiles",
		"///api/v1/profiles", "//api//v1/profiles", "/profiles/x/y/z", "//cdp", "//index.html", "//static/", "//static/../index.html",
		"//healthz/", "//.git/config",
		"//api/v1/profiles%2fx%2fstart", "//%2e%2e/%2e%2e/etc/passwd", "//api/v1/openapi.json", "//openapi.yaml/", "//debug/pprof/"} {
		a.as("").do(t, "GET", path, nil).refused(t, 401, "unauthorized")
		if r := a.do(t, "GET", path, nil); r.status != 404 {
			t.Errorf("got %s, want 404", r)
		}
	}
	for path, allow := range map[string]string{"/profiles": "GET, HEAD, POST", "/profiles/x": "DELETE, GET, HEAD, PATCH, PUT",
		"/profiles/x/start": "POST",
		"/proxies/x/check":  "POST", "/keys/x": "DELETE", "/runs": "GET, HEAD", "/events": "GET, HEAD",
		"//healthz": "GET, HEAD", "//readyz": "GET, HEAD", "//version": "GET, HEAD", "//ip": "GET, HEAD", "//openapi.json": "GET, HEAD",
		"//": "GET, HEAD", "//docs": "GET, HEAD"} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"} {
			if slices.Contains(strings.Split(allow, ", "), method) {
				continue
			}
			if path == "/runs" && method == "GET" {
				continue
			}
			r := a.do(t, method, path, nil).refused(t, 405, "method_not_allowed")
			got := strings.Split(r.header.Get("Allow"), ", ")
			slices.Sort(got)
			if strings.Join(got, ", ") != allow {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, got, allow)
			}
			a.as("").do(t, method, path, nil).refused(t, 401, "unauthorized")
		}
	}
}

// attempt is one combination of request headers that a browser sets.
type attempt struct{ host, origin, site, method, path string }

// TestHostAndOrigin: Host × Origin × Sec-Fetch-Site × method. The expectation is written out from the contract. A foreign Host is
// 421 before anything else. A change with a foreign Origin, or from another site, is 403 for every key.
func TestHostAndOrigin(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	_, port, _ := strings.Cut(a.hostPort(), ":")
	id := a.profile(t)
	ours := []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port, "LOCALHOST:" + port}
	foreign := []string{"evil.example", "evil.example:" + port, "0.0.0.0:" + port, "[::]:" + port, "127.0.0.1", "localhost", "127.0.0.1:1",
		"localhost.:" + port,
		"127.1:" + port, "2130706433:" + port, "0x7f.1:" + port, "127.0.0.2:" + port, "foo.localhost:" + port, "127.0.0.1.nip.io:" + port,
		"[::ffff:127.0.0.1]:" + port, "localhost:0" + port}
	ourOrigins := []string{"", "http://127.0.0.1:" + port, "http://localhost:" + port, "http://[::1]:" + port}
	foreignOrigins := []string{"null", "http://evil.example", "https://127.0.0.1:" + port, "http://127.0.0.1", "http://127.0.0.1:1",
		"http://localhost.:" + port,
		"chrome-extension://abcdef", "http://127.0.0.1:" + port + ".evil.example", "http://evil.example:" + port, "file://",
		"http://foo.localhost:" + port, "http://127.0.0.1:" + port + "/"}
	sites := []string{"", "same-origin", "none", "same-site", "cross-site"}
	routes := []struct{ method, path string }{{"GET", "/api/v1/profiles"}, {"PUT", "/api/v1/profiles/" + id},
		{"POST", "/api/v1/profiles/" + id + "/stop"},
		{"GET", "/healthz"}, {"GET", "/"}, {"GET", "/docs"}, {"HEAD", "/"}, {"OPTIONS", "/api/v1/profiles"}}
	n := 0
	for _, host := range slices.Concat(ours, foreign) {
		for i, origin := range slices.Concat(ourOrigins, foreignOrigins) {
			for j, site := range sites {
				for k, r := range routes {
					// all combinations for one host, a thirteenth for the others
					if !slices.Contains(ours[:1], host) && (i+j+k)%13 != 0 {
						continue
					}
					n++
					a.tryOrigin(t, attempt{host, origin, site, r.method, r.path}, slices.Contains(ours, host), slices.Contains(ourOrigins,
						origin))
				}
			}
		}
	}
	a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "notes", "by us")
	t.Logf("%d combinations", n)
}

func (a *testAPI) tryOrigin(t *testing.T, c attempt, hostOurs, originOurs bool) {
	t.Helper()
	body := any(nil)
	if c.method == "PUT" {
		body = `{"notes":"by us"}`
		if !hostOurs || !originOurs || strings.HasSuffix(c.site, "-site") {
			body = `{"notes":"by them"}`
		}
	}
	req := a.request(t, c.method, "/"+c.path, body)
	req.Host = c.host
	if c.origin != "" {
		req.Header.Set("Origin", c.origin)
	}
	if c.site != "" {
		req.Header.Set("Sec-Fetch-Site", c.site)
	}
	got := a.send(t, req)
	change := c.method == "PUT" || c.method == "POST"
	want := map[string]int{"OPTIONS": 405}[c.method]
	if want == 0 {
		want = 200
	}
	switch {
	case !hostOurs:
		want = 421
	case change && (!originOurs || c.site == "cross-site" || c.site == "same-site"):
		want = 403
	}
	if got.status != want {
		t.Fatalf("%+v: got %s, want %d", c, got, want)
	}
	if want == 403 && got.text("code") != "origin_not_allowed" {
		t.Fatalf("%+v: got %s", c, got)
	}
}

// TestOriginComesBeforeTheKey: a foreign page gets the same answer for every key, and a foreign Host for every path.
func TestOriginComesBeforeTheKey(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, key := range []string{"", "wrong", a.key} {
		req := a.as(key).request(t, "POST", "/profiles", `{"name":"x"}`)
		req.Header.Set("Origin", "http://evil.example")
		a.send(t, req).refused(t, 403, "origin_not_allowed")
		req = a.as(key).request(t, "GET", "//nope", nil)
		req.Host = "evil.example"
		a.send(t, req).refused(t, 421, "host_not_allowed")
	}
	req := a.request(t, "POST", "/profiles", `{"name":"x"}`)
	req.Header["Origin"] = []string{a.base, a.base}
	a.send(t, req).refused(t, 403, "origin_not_allowed")
	// An upgrade is a GET, and still counts as a change.
	for _, path := range []string{"/profiles/x/cdp", "//cdp/x", "/events"} {
		for _, origin := range []string{"http://evil.example", "null", "HTTP://EVIL.EXAMPLE"} {
			req := a.request(t, "GET", path, nil)
			req.Header.Set("Connection", "Upgrade")
			req.Header.Set("Upgrade", "websocket")
			req.Header.Set("Origin", origin)
			a.send(t, req).refused(t, 403, "origin_not_allowed")
		}
	}
}

// TestOddRequests: requests that no client library sends.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	auth := "Authorization: Bearer " + a.key + "\r\nConnection: close\r\n"
	host := "Host: " + a.hostPort() + "\r\n"
	for name, c := range map[string]struct{ request, want string }{
		"fine":                      {"GET /api/v1/profiles HTTP/1.1\r\n" + host + auth + "\r\n", "200"},
		"no Host":                   {"GET /api/v1/profiles HTTP/1.1\r\n" + auth + "\r\n", "400"},
		"two Hosts":                 {"GET /api/v1/profiles HTTP/1.1\r\n" + host + host + auth + "\r\n", "400"},
		"HTTP/1.0 without Host":     {"GET /api/v1/profiles HTTP/1.0\r\n" + auth + "\r\n", "421"},
		"empty Host":                {"GET /healthz HTTP/1.1\r\nHost:\r\n" + auth + "\r\n", "421"},
		"user in Host":              {"GET /healthz HTTP/1.1\r\nHost: u@" + a.hostPort() + "\r\n" + auth + "\r\n", "4"},
		"absolute address, foreign": {"GET http://evil.example/healthz HTTP/1.1\r\n" + host + auth + "\r\n", "421"},
		"absolute address, ours":    {"GET " + a.base + "/healthz HTTP/1.1\r\nHost: evil.example\r\n" + auth + "\r\n", "200"},
		"OPTIONS *":                 {"OPTIONS * HTTP/1.1\r\n" + host + auth + "\r\n", "40"},
		"OPTIONS * foreign":         {"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n" + auth + "\r\n", "421"},
		"CONNECT":                   {"CONNECT " + a.hostPort() + " HTTP/1.1\r\n" + host + auth + "\r\n", "40"},
		"CONNECT foreign":           {"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n" + auth + "\r\n", "421"},
		"broken chunks": {"POST /api/v1/profiles HTTP/1.1\r\n" + host + auth +
			"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		"two Authorizations": {"GET /api/v1/profiles HTTP/1.1\r\n" + host + auth + auth + "\r\n", "401"},
		"NUL in the path":    {"GET /api/v1/profiles/%00 HTTP/1.1\r\n" + host + auth + "\r\n", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			status, rest := a.raw(t, c.request)
			if !strings.HasPrefix(status, "HTTP/1.1 "+c.want) && !strings.HasPrefix(status, "HTTP/1.0 "+c.want) {
				t.Errorf("got %q %s, want %s", status, rest, c.want)
			}
			ours := !strings.Contains(name, "Host") || strings.Contains(name, "empty") || strings.Contains(name, "1.0")
			if ours && !strings.Contains(status, " 200") && !strings.Contains(rest, "application/problem+json") {
				t.Errorf("no problem+json: %s %s", status, rest)
			}
			if strings.Contains(rest, "Access-Control") || strings.Contains(status, " 500") {
				t.Errorf("%s %s", status, rest)
			}
		})
	}
}

// TestBesideTheAPI: the answers that need no key.
func TestBesideTheAPI(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	open := a.as("")
	open.do(t, "GET", "//healthz", nil).want(t, 200).equal(t, "status", "ok")
	open.do(t, "GET", "//readyz", nil).want(t, 200).equal(t, "database", "ok")
	for _, member := range []string{"version", "commit", "go"} {
		if open.do(t, "GET", "//version", nil).want(t, 200).text(member) == "" {
			t.Errorf("/version lacks %s", member)
		}
	}
	for path, want := range map[string]string{"//": "text/html", "//docs": "text/html", "//favicon.ico": "image/svg+xml"} {
		r := open.do(t, "GET", path, nil).want(t, 200)
		if !strings.HasPrefix(r.header.Get("Content-Type"), want) || path != "//favicon.ico" &&
			r.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %v", path, r.header)
		}
	}
	open.do(t, "GET", "//openapi.json", nil).want(t, 200)
	open.do(t, "POST", "//openapi.json", nil).refused(t, 401, "unauthorized")
	req := a.request(t, "GET", "//healthz", nil)
	req.Header.Set("X-Request-Id", "mine-1.2_3")
	if got := a.send(t, req).header.Get("X-Request-Id"); got != "mine-1.2_3" {
		t.Errorf("X-Request-Id is %q, want the caller's", got)
	}
	for _, bad := range []string{"a b", "a\tb", strings.Repeat("x", 65), "<script>", "ü", "a,b"} {
		req.Header.Set("X-Request-Id", bad)
		if got := a.send(t, req).header.Get("X-Request-Id"); got == bad || !uuidV7.MatchString(got) {
			t.Errorf("X-Request-Id %q was answered with %q, want one made here", bad, got)
		}
	}
	a.loseBrowser(t)
	open.do(t, "GET", "//readyz", nil).refused(t, 503, "browser_not_found")
}

// TestIP: the caller's address as JSON or text. X-Forwarded-For counts only from the networks of --behind-proxy.
func TestIP(t *testing.T) {
	t.Parallel()
	plain, behind := newAPI(t), newAPI(t, func(c *setup) { c.BehindProxy = []string{"127.0.0.0/8", "10.0.0.0/8"} })
	for _, c := range []struct {
		a         *testAPI
		forwarded []string
		want      string
	}{
		{plain, nil, "127.0.0.1"}, {plain, []string{"203.0.113.7"}, "127.0.0.1"}, {behind, nil, "127.0.0.1"},
		{behind, []string{"203.0.113.7"}, "203.0.113.7"}, {behind, []string{"198.51.100.1, 203.0.113.7"}, "203.0.113.7"},
		{behind, []string{"198.51.100.1, 203.0.113.7, 10.1.2.3"}, "203.0.113.7"}, {behind, []string{"198.51.100.1", "203.0.113.7"},
			"203.0.113.7"},
		{behind, []string{"2001:db8::1"}, "2001:db8::1"}, {behind, []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		{behind, []string{"garbage"}, "127.0.0.1"},
		{behind, []string{"203.0.113.7, garbage"}, "127.0.0.1"},
	} {
		for _, accept := range []string{"", "application/json", "text/plain", "*/*"} {
			req := c.a.as("").request(t, "GET", "//ip", nil)
			req.Header["X-Forwarded-For"] = c.forwarded
			if accept != "" {
				req.Header.Set("Accept", accept)
			}
			r := c.a.send(t, req).want(t, 200)
			got := r.text("ip")
			if accept == "text/plain" {
				got = strings.TrimSuffix(string(r.body), "\n")
			}
			if got != c.want {
				t.Errorf("forwarded %q, accept %q: got %q, want %q", c.forwarded, accept, got, c.want)
			}
		}
	}
}

// TestBehindProxy: a reverse proxy's scheme counts for its own requests, and --allow-host adds its name.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) {
		c.BehindProxy, c.AllowHost = []string{"127.0.0.1"}, []string{"warren.example"}
	})
	req := a.request(t, "POST", "/profiles", `{"name":"x"}`)
	req.Host = "warren.example"
	req.Header.Set("Origin", "https://warren.example")
	a.send(t, req).want(t, 201)
	for _, origin := range []string{"https://warren.example.evil.example", "https://evil.example"} {
		req := a.request(t, "POST", "/profiles", `{"name":"x"}`)
		req.Host = "warren.example"
		req.Header.Set("Origin", origin)
		a.send(t, req).refused(t, 403, "origin_not_allowed")
	}
	u, err := url.Parse(a.base)
	if err != nil {
		t.Fatal(err)
	}
	req = a.request(t, "GET", "/profiles", nil)
	req.Host = "warren.example.:" + u.Port()
	a.send(t, req).refused(t, 421, "host_not_allowed")
}

// TestPanicIsAnError: a panic is a 500 without its cause, and the server keeps serving.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.srv.needs["GET /api/v1/boom"] = scopeRead
	a.srv.mux.HandleFunc("GET /api/v1/boom", func(http.ResponseWriter, *http.Request) { panic("the-cause-of-it") })
	req := a.request(t, "GET", "/boom", nil)
	res, err := a.client.Do(req)
	if err != nil {
		t.Fatalf("the connection broke off: %v", err)
	}
	defer res.Body.Close()
	if res.StatusCode != 500 || res.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %v", res.StatusCode, res.Header)
	}
	if !strings.Contains(a.log.String(), "the-cause-of-it") || !strings.Contains(a.log.String(), res.Header.Get("X-Request-Id")) {
		t.Errorf("the log lacks the cause or the request:\n%s", a.log)
	}
	a.do(t, "GET", "/profiles", nil).want(t, 200)
}
