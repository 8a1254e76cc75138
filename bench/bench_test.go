package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/store"
)

func TestRatioIsOfTheRounds(t *testing.T) {
	f := figure{name: "n", unit: "ms", ours: []float64{10, 300, 21}, floor: []float64{10, 100, 5}, aim: 3}
	if got := f.ratio(); got != 3 { // of 1, 3 and 4.2; the ratio of the medians is 2.1
		t.Errorf("ratio %v", got)
	}
	want := []string{"n", "21 ms", "10 ms", "3.00", "≤ 3.00", "yes"}
	if got := f.cells(); !slices.Equal(got, want) {
		t.Errorf("cells %q", got)
	}
	f.aim, f.atLeast = 10, true
	if got := f.cells(); got[4] != "≥ 10.00" || got[5] != "no" {
		t.Errorf("cells %q", got)
	}
}

func TestSidesTakeTurns(t *testing.T) {
	var order []string
	sides := []side{}
	for _, name := range []string{"a", "b", "c"} {
		sides = append(sides, side{name, func(context.Context, int) ([]float64, error) {
			order = append(order, name)
			return []float64{float64(len(order))}, nil
		}})
	}
	got, err := (&bench{}).play(t.Context(), "test", 3, sides...)
	if err != nil {
		t.Fatal(err)
	}
	if o := strings.Join(order, ""); o != "abcbcacab" {
		t.Errorf("order %s", o)
	}
	if !slices.Equal(got[0][0], []float64{1, 6, 8}) {
		t.Errorf("values of a: %v", got[0][0])
	}
}

func TestDirectRequirements(t *testing.T) {
	const text = "module m\n\nrequire a v1\n\nrequire (\n\tb v1\n\tc v1\n)\n\nrequire (\n\td v1 // indirect\n)\n\nreplace e => e v2\n"
	if n := direct(text); n != 3 {
		t.Errorf("%d direct requirements, want 3", n)
	}
}

// TestFilledDatabase: the product accepts what fill wrote, including the counters, and the floor reads the same rows.
func TestFilledDatabase(t *testing.T) {
	dir := t.TempDir()
	if err := newDatabase(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, store.FileName)
	before, err := schemaOf(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(t.Context(), file, 1500); err != nil {
		t.Fatal(err)
	}
	if after, err := schemaOf(t.Context(), file); err != nil || after != before {
		t.Errorf("the schema is another after the filling (%v)", err)
	}
	s, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	page, err := s.ListProfiles(t.Context(), store.ProfileList{Limit: 20})
	if err != nil || page.Total != 1500 || len(page.Rows) != 20 || page.Rows[0].Name != "Shop 1499" {
		t.Fatalf("%d of %d profiles (%v)", len(page.Rows), page.Total, err)
	}
	for _, prefix := range []string{"/api/v1", "/whole/api/v1"} {
		var got struct{ Data []struct{ ID, Name string } }
		askFloor(t, file, prefix+"/profiles?workspaceId=default&page=1&limit=20", &got)
		for i, row := range page.Rows {
			if got.Data[i].ID != row.ID {
				t.Fatalf("%s: row %d is %s, the product has %s", prefix, i, got.Data[i].ID, row.ID)
			}
		}
		var one struct{ Name string }
		askFloor(t, file, prefix+"/profiles/"+page.Rows[3].ID, &one)
		if one.Name != page.Rows[3].Name {
			t.Errorf("%s: one is %q", prefix, one.Name)
		}
	}
}

func askFloor(t *testing.T, file, path string, out any) {
	t.Helper()
	f, err := newFloorServer(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.writer.Close()
	defer f.readers.Close()
	f.key = sha256.Sum256([]byte("key"))
	h, err := f.handler()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", path, nil)
	r.Header.Set("Authorization", "Bearer key")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		t.Fatal(err)
	}
}

// TestRelayFloorPassesBytes sends a download through the floor and the far side.
func TestRelayFloorPassesBytes(t *testing.T) {
	far, relay := listen(t), listen(t)
	go serveEach(far, func(c *net.TCPConn) error { return farServe(c, nil) })
	go serveEach(relay, func(c *net.TCPConn) error { return floorTunnel(c, []string{far.Addr().String()}) })
	if err := download(relay.Addr().String(), farName, 4, 8<<20); err != nil {
		t.Error(err)
	}
	c, err := openTunnel(relay.Addr().String(), farName)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := useOnce(c); err != nil {
		t.Error(err)
	}
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestInFolder: every variable for a browser's folder of temporary files points to the floor's folder. Other
// variables stay unchanged.
func TestInFolder(t *testing.T) {
	for in, want := range map[string]string{
		"TMPDIR=/tmp/warren-1": "TMPDIR=/t", "BREAKPAD_DUMP_LOCATION=/tmp/warren-1": "BREAKPAD_DUMP_LOCATION=/t",
		"MAC_CHROMIUM_TMPDIR=x": "MAC_CHROMIUM_TMPDIR=/t", "TEMP=x": "TEMP=/t", "TMP=x": "TMP=/t",
		"HOME=/tmp": "HOME=/tmp", "TMPDIRS=x": "TMPDIRS=x",
	} {
		if got := inFolder(in, "/t"); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// TestCheckFloorAndFar: both floors and the product find the far side's address as the exit. A list of three kinds is
// counted right.
func TestCheckFloorAndFar(t *testing.T) {
	far := listen(t)
	go serveEach(far, func(c *net.TCPConn) error { return checkServe(c) })
	later := listen(t)
	go serveEach(later, func(c *net.TCPConn) error { return checkServe(delayed(c, 20*time.Millisecond)) })
	b := make([]byte, 2048)
	for _, sequential := range []bool{true, false} {
		for _, l := range []net.Listener{far, later} {
			start := time.Now()
			exit, err := floorCheck(l.Addr().String(), 10*time.Second, sequential, b)
			trips := map[bool]time.Duration{true: 4, false: 2}[sequential]
			if took := time.Since(start); exit != "127.0.0.1" || err != nil || l == later && took < trips*20*time.Millisecond {
				t.Errorf("sequential %v: %q after %v, %v", sequential, exit, took, err)
			}
		}
	}
	exits := []string{"10.0.0.1", "10.0.0.9", ""}
	r := checkAll([]string{"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"}, pool(2), func(i int) (string, error) {
		if exits[i] == "" {
			return "", io.EOF
		}
		return exits[i], nil
	})
	if r.Live != 1 || r.Wrong != 1 || r.Dead != 1 {
		t.Errorf("got %+v", r)
	}
}

// TestFloorOfBulk: the floor makes as many profiles and proxies as it is asked for, and the product accepts them.
func TestFloorOfBulk(t *testing.T) {
	dir := t.TempDir()
	if err := newDatabase(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, store.FileName)
	if err := fill(t.Context(), file, 1); err != nil {
		t.Fatal(err)
	}
	f, err := newFloorServer(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.writer.Close()
	defer f.readers.Close()
	for _, kind := range []string{"profiles", "proxies"} {
		r, w := httptest.NewRequest("POST", "/", nil), httptest.NewRecorder()
		r.SetPathValue("kind", kind)
		f.serveBulk(w, r)
		var ids []string
		if err := json.Unmarshal(w.Body.Bytes(), &ids); err != nil || w.Code != http.StatusOK || len(ids) != bulkSize {
			t.Fatalf("%s: %d, %d ids (%v)", kind, w.Code, len(ids), err)
		}
	}
	s, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n, err := s.Read().Totals(t.Context(), nil); err != nil || n.Profiles != 1+bulkSize || n.Proxies != bulkProxies+bulkSize {
		t.Errorf("%+v (%v)", n, err)
	}
}

// TestPeerThatIsNotToBeHad: a peer that cannot be fetched is a row that says so, with the reason below the table.
func TestPeerThatIsNotToBeHad(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	b := &bench{dir: t.TempDir()}
	p := peers{bench: b, glider: peer{name: "glider", version: "1.2.3"}}
	p.glider.err = b.fetchGo("warren.example/none", "")(t.Context(), &p.glider)
	if p.glider.err == nil {
		t.Fatal("a module was fetched that does not exist")
	}
	if !p.lacks("relay", p.glider) || p.lacks("relay", peer{name: "curl"}) {
		t.Error("the wrong peer is lacking")
	}
	var out strings.Builder
	if err := writePeers(&out, b.peers); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "not to be had") || !strings.Contains(text, "\nglider 1.2.3: go get: ") ||
		!strings.Contains(text, "module lookup disabled") {
		t.Errorf("the table:\n%s", text)
	}
}

// TestWhoseIsBetter: more or less of a figure is better, and 3 % is no difference.
func TestWhoseIsBetter(t *testing.T) {
	for _, c := range []struct {
		ours float64
		more bool
		want string
	}{{1.02, true, "neither"}, {0.98, false, "neither"}, {2, true, "ours"}, {2, false, "theirs"}, {0.5, false, "ours"},
		{0.5, true, "theirs"}} {
		f := peerFigure{more: c.more, ours: []float64{c.ours}, theirs: []float64{1}}
		if got := f.cells()[5]; got != c.want {
			t.Errorf("%v, more is better: %v: %s, want %s", c.ours, c.more, got, c.want)
		}
	}
}

// TestTunnelByConnect: a download passes an HTTP proxy, and a refusal of it is an error.
func TestTunnelByConnect(t *testing.T) {
	relay := listen(t)
	go serveEach(relay, func(c *net.TCPConn) error {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return err
		}
		if r.Method != http.MethodConnect || r.Host != farName {
			_, err = io.WriteString(c, "HTTP/1.1 403 Forbidden\r\n\r\n")
			return err
		}
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return err
		}
		return farTarget(c)
	})
	if err := download("http://"+relay.Addr().String(), farName, 2, 1<<20); err != nil {
		t.Error(err)
	}
	if _, err := openTunnel("http://"+relay.Addr().String(), "other.bench.test:80"); err == nil {
		t.Error("a refused tunnel is open")
	}
}

// TestPretendedBrowserAnswers: events come before the answer that they belong to, and nothing comes after Browser.close.
func TestPretendedBrowserAnswers(t *testing.T) {
	in := strings.Join([]string{`{"id":1,"method":"Target.setAutoAttach"}`, `{"id":2,"sessionId":"SESSION","method":"Page.enable"}`,
		`{"id":3,"method":"Target.attachToBrowserTarget"}`, `{"id":4,"method":"Browser.close"}`, `{"id":5,"method":"Page.enable"}`, ""},
		"\x00")
	var out strings.Builder
	if err := answerCommands(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for text := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\x00"), "\x00") {
		var m struct {
			ID                int64
			SessionID, Method string
			Params            struct{ SessionID string }
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		got = append(got, fmt.Sprint(m.ID, m.SessionID, m.Method, m.Params.SessionID))
	}
	want := []string{"0Target.attachedToTargetSESSION", "1", "2SESSION", "0Target.attachedToTargetCLIENT1", "3", "4"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
