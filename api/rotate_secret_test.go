package api

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"warren/store"
)

// rotateSecret is part of every rotateUrl in these tests, where sellers put the customer's token.
const rotateSecret = "S3cr3t-0f-the-seller"

// TestRotateURLIsASecret: only keys with the scope secrets see the whole URL, in every answer. At rest it is sealed.
func TestRotateURLIsASecret(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	writer, _ := a.newKey(t, "write")
	secrets, _ := a.newKey(t, "read,secrets")
	for address, shown := range map[string]string{
		"https://r.example/go?key=" + rotateSecret: "https://r.example/***", "https://u:" + rotateSecret +
			"@r.example": "https://r.example/***",
		"http://r.example:8080/" + rotateSecret: "http://r.example:8080/***", "https://r.example/#" +
			rotateSecret: "https://r.example/***", "https://r.example/": "https://r.example/", "http://[::1]:81": "http://[::1]:81",
	} {
		w := a.as(writer)
		made := w.do(t, "POST", "/proxies", map[string]any{"url": "socks5://" + store.NewID() + ":1", "rotateUrl": address}).want(t, 201)
		path := "/proxies/" + made.text("id")
		made.equal(t, "rotateUrl", shown)
		w.do(t, "GET", path, nil).want(t, 200).equal(t, "rotateUrl", shown)
		a.as(secrets).do(t, "GET", path, nil).want(t, 200).equal(t, "rotateUrl", address)
		w.do(t, "PUT", path, `{"notes":"changed"}`).want(t, 200).equal(t, "rotateUrl", shown)
		w.do(t, "PUT", path, map[string]any{"rotateUrl": shown}).want(t, 200).equal(t, "rotateUrl", shown) // as a form sends it back
		a.do(t, "GET", path, nil).want(t, 200).equal(t, "rotateUrl", address)
		w.do(t, "PUT", path, `{"rotateUrl":"https://other.example/***"}`).invalid(t, "body.rotateUrl")
		w.do(t, "PUT", path, `{"rotateUrl":"https://other.example/x"}`).want(t, 200).equal(t, "rotateUrl", "https://other.example/***")
		w.do(t, "PUT", path, map[string]any{"rotateUrl": address}).want(t, 200)
	}
	a.do(t, "POST", "/proxies", `{"url":"socks5://new:1","rotateUrl":"https://r.example/***"}`).invalid(t, "body.rotateUrl")
	a.importList(t, "", "text/csv", "host,port,rotateUrl\nimported.example,80,https://r.example/?k="+rotateSecret+"\n").equal(t, "created",
		1)
	for key, want := range map[string]int{writer: 0, secrets: 5} {
		r := a.as(key).do(t, "GET", "/proxies", nil).want(t, 200)
		if n := bytes.Count(r.body, []byte(rotateSecret)); n != want {
			t.Errorf("the list holds the secret %d times, want %d", n, want)
		}
	}
	for _, format := range []string{"csv", "json", "text"} {
		bare := a.do(t, "GET", "/proxies/export?format="+format, nil).want(t, 200)
		if strings.Contains(string(bare.body), rotateSecret) || strings.Contains(string(bare.body), "***") {
			t.Errorf("an export without secrets has a rotateUrl: %s", bare.body)
		}
		if whole := a.do(t, "GET", "/proxies/export?secrets=true&format="+format, nil).want(t, 200); format != "text" &&
			bytes.Count(whole.body, []byte(rotateSecret)) != 5 {
			t.Errorf("an export with secrets lacks one: %s", whole.body)
		}
	}
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	eachFile(t, a.dir, func(path string, b []byte) {
		if bytes.Contains(b, []byte(rotateSecret)) {
			t.Errorf("%s holds a rotateUrl in clear", path)
		}
	})
	if strings.Contains(a.log.String(), rotateSecret) {
		t.Error("the log holds a rotateUrl")
	}
}

// TestRotateURLIsNotLogged: if a call fails, the answer and the log have only the host of the URL.
func TestRotateURLIsNotLogged(t *testing.T) {
	t.Parallel()
	a := newAPI(t, checkingURL, func(c *setup) { c.RotateEvery = 0 })
	seller := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect/" + rotateSecret:
			http.Redirect(w, r, "http://169.254.169.254/"+rotateSecret, http.StatusFound)
		case "/scheme/" + rotateSecret:
			w.Header().Set("Location", "ftp://elsewhere.example/"+rotateSecret)
			w.WriteHeader(http.StatusFound)
		case "/unreadable/" + rotateSecret:
			w.Header().Set("Location", "http://[::1/"+rotateSecret)
			w.WriteHeader(http.StatusFound)
		case "/loop/" + rotateSecret:
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	seller.Start()
	t.Cleanup(seller.Close)
	secure := httptest.NewTLSServer(http.NotFoundHandler()) // signed by nobody
	t.Cleanup(secure.Close)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	id := a.do(t, "POST", "/proxies", `{"url":"socks5://127.0.0.1:1"}`).want(t, 201).text("id")
	for _, address := range []string{seller.URL + "/redirect/" + rotateSecret, seller.URL + "/scheme/" + rotateSecret, seller.URL +
		"/unreadable/" + rotateSecret, seller.URL + "/loop/" + rotateSecret,
		seller.URL + "/fails/" + rotateSecret, secure.URL + "/" + rotateSecret, "http://user:" + rotateSecret + "@" +
			closed.Addr().String() + "/?k=" + rotateSecret, "http://no-such-host.invalid/" + rotateSecret,
		a.base + "/healthz?" + rotateSecret} {
		a.do(t, "PUT", "/proxies/"+id, map[string]any{"rotateUrl": address}).want(t, 200)
		r := a.do(t, "POST", "/proxies/"+id+"/rotate", nil).refused(t, 502, "rotate_failed")
		if strings.Contains(string(r.body), rotateSecret) {
			t.Errorf("%s answers its secret: %s", address, r.body)
		}
	}
	log := a.log.String()
	if strings.Contains(log, rotateSecret) {
		t.Errorf("the log holds a rotateUrl: %s", log)
	}
	if !strings.Contains(log, closed.Addr().String()) || strings.Contains(log, `"level":"ERROR"`) {
		t.Errorf("the log says not whose fault it was: %s", log)
	}
}
