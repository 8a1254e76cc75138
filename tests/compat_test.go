package tests

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"warren/testnet"
)

// vendorAPI is the local API of another product, as `warren compat` serves it.
type vendorAPI struct {
	t    testing.TB
	base string
}

// compat runs `warren compat` until the test ends.
func (s *liveServer) compat(product string) vendorAPI {
	s.t.Helper()
	cmd := s.command("compat", product, "--listen", "127.0.0.1:0", "--url", s.base)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, base, ok := strings.Cut(strings.TrimSpace(line), " on ")
	if err != nil || !ok {
		s.t.Fatalf("it prints %q, %v", line, err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt) //nolint:errcheck // Wait tells
		if err := cmd.Wait(); err != nil {
			s.t.Errorf("warren compat ends with %v", err)
		}
	})
	return vendorAPI{s.t, base}
}

// ask does an operation, and decodes its answer.
func (v vendorAPI) ask(status int, method, path, body string, out any, headers ...string) {
	v.t.Helper()
	req, err := http.NewRequest(method, v.base+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && out != nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil || res.StatusCode != status {
		v.t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, text, err)
	}
}

// adsAnswer is an answer of AdsPower's.
type adsAnswer struct {
	Code int
	Msg  string
	Data struct {
		ID, Status string
		Ws         struct{ Puppeteer, Selenium string }
		List       []struct {
			Name   string
			UserID string `json:"user_id"`
		}
	}
}

// TestCompat: scripts for other products create, list, start, drive, stop, change and delete profiles through a base URL alone. What
// Warren has not is an error in the product's own form. No page of a browser may use it, and no other machine.
func TestCompat(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	ads := s.compat("adspower")
	for header, value := range map[string]string{"Origin": ads.base, "Sec-Fetch-Site": "cross-site", "Referer": "http://a.example/",
		"Host": "a.example"} {
		ads.ask(403, "GET", "/api/v1/user/list", "", nil, header, value)
	}
	if code, _, stderr := exitOf(t, g.command("compat", "adspower", "--listen", "0.0.0.0:0")); code != 3 {
		t.Errorf("on all addresses it ends with %d: %s", code, stderr)
	}

	id := ads.creates(s)
	var a adsAnswer
	ads.ask(200, "GET", "/api/v1/user/list?page=1&page_size=10", "", &a)
	if len(a.Data.List) != 1 || a.Data.List[0].UserID != id {
		t.Errorf("%+v", a)
	}
	ads.ask(200, "GET", "/api/v1/browser/start?user_id="+id, "", &a)
	dialCDP(t, a.Data.Ws.Puppeteer, nil).open(s.world.url("/by-script"))
	if v := s.world.await(t, "/by-script", 1); v.cookie != "sid=in" {
		t.Errorf("the page sends %q", v.cookie)
	}
	ads.ask(200, "GET", "/api/v1/browser/active?user_id="+id, "", &a)
	if a.Data.Status != "Active" || a.Data.Ws.Puppeteer == "" || a.Data.Ws.Selenium != "" {
		t.Errorf("%+v", a)
	}
	ads.ask(200, "GET", "/api/v1/group/list", "", &a)
	if a.Code != -1 {
		t.Errorf("%+v", a)
	}

	s.drivesByOthers(id)
	ads.ask(200, "POST", "/api/v1/user/delete", `{"user_ids":["`+id+`"]}`, &a)
	ads.ask(200, "GET", "/api/v1/browser/start?user_id="+id, "", &a)
	if a.Code != -1 || a.Msg == "" {
		t.Errorf("%+v", a)
	}
}

// creates makes a profile with a proxy and a cookie. One whose proxy cannot be had is refused.
func (v vendorAPI) creates(s *liveServer) (id string) {
	v.t.Helper()
	var a adsAnswer
	v.ask(200, "POST", "/api/v1/user/create", `{"name":"A","group_id":"0","user_proxy_config":{"proxy_soft":"luminati"}}`, &a)
	if a.Code != -1 || !strings.Contains(a.Msg, "service") {
		v.t.Errorf("%+v", a)
	}
	v.ask(200, "POST", "/api/v1/user/create", `{"name":"A","group_id":"0","user_proxy_config":{"proxy_soft":"other",`+
		`"proxy_type":"socks5","proxy_host":"127.0.0.1","proxy_port":"`+strconv.Itoa(s.proxy.Port())+
		`","proxy_user":"`+s.proxy.User+`","proxy_password":"`+
		s.proxy.Password+`"},"cookie":"[{\"domain\":\"`+testnet.LocalSite+`\",\"name\":\"sid\",\"value\":\"in\",\"path\":\"/\"}]"}`, &a)
	id = a.Data.ID
	if a.Code != 0 || id == "" {
		v.t.Fatalf("%+v", a)
	}
	return id
}

// drivesByOthers drives, changes and stops the profile's run with the scripts of other products.
func (s *liveServer) drivesByOthers(id string) {
	s.t.Helper()
	t, bit, gologin, dolphin := s.t, s.compat("bitbrowser"), s.compat("gologin"), s.compat("dolphin")
	var b struct {
		Success bool
		Msg     string
		Data    struct{ Ws, HTTP, Name string }
	}
	bit.ask(200, "POST", "/browser/open", `{"id":"`+id+`"}`, &b)
	if res, err := http.Get("http://" + b.Data.HTTP + "/json/version"); err != nil || res.StatusCode != 200 || b.Data.Name != "A" {
		t.Errorf("%+v: %v, %v", b, res, err)
	}
	var d struct {
		Success    bool
		Automation struct {
			Port       int
			WsEndpoint string
		}
	}
	dolphin.ask(200, "GET", "/v1.0/browser_profiles/"+id+"/start?automation=1", "", &d)
	dialCDP(t, "ws://127.0.0.1:"+strconv.Itoa(d.Automation.Port)+d.Automation.WsEndpoint, nil).open(s.world.url("/by-dolphin"))
	s.world.await(t, "/by-dolphin", 1)
	var l struct{ WsURL string }
	gologin.ask(200, "POST", "/browser/start-profile", `{"profileId":"`+id+`"}`, &l)
	if l.WsURL != b.Data.Ws {
		t.Errorf("%q and %q are one run", l.WsURL, b.Data.Ws)
	}
	gologin.ask(204, "POST", "/browser/stop-profile", `{"profileId":"`+id+`"}`, nil)
	bit.ask(200, "POST", "/browser/update/partial", `{"ids":["`+id+`"],"name":"B","remark":"r"}`, &b)
	bit.ask(200, "POST", "/browser/update/partial", `{"ids":["`+id+`"],"proxyType":"http"}`, &b)
	if b.Success || !strings.Contains(b.Msg, "proxyType") {
		t.Errorf("%+v", b)
	}
	if p := s.get(id); p.Notes != "r" {
		t.Errorf("%+v", p)
	}
}
