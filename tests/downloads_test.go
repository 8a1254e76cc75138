package tests

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// send is a request with a body that is no JSON.
func (s *liveServer) send(method, path string, body io.Reader, header map[string]string) (int, http.Header, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.base+apiPrefix+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+liveKey)
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode, res.Header, readAll(s.t, res.Body)
}

// saves lets a page of the run download something by itself.
func (s *liveServer) saves(id string, run runView, files ...string) {
	s.t.Helper()
	c := dialCDP(s.t, run.WsEndpoint, nil)
	var made struct{ TargetID, SessionID string }
	c.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	c.call("", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	for i := 0; i < len(files); i += 2 {
		script := fmt.Sprintf(`{
			const a = document.createElement("a"); a.download = %q
			a.href = URL.createObjectURL(new Blob([%q])); a.click()}`, files[i], files[i+1])
		// Without a gesture Chrome asks a person about the third.
		c.call(made.SessionID, "Runtime.evaluate", map[string]any{"expression": script, "userGesture": true}, nil)
		s.awaits(id, files[i], "complete")
	}
	c.ws.CloseNow()
}

// downloadView is a file that a browser downloaded.
type downloadView struct {
	ID, Name, State, URL string
	Size                 int64
	EndedAt              *time.Time
	Path                 *string
}

type downloadsView struct {
	Data    []downloadView
	Total   int
	HasMore bool
}

// awaits reads the list until a download is in a state.
func (s *liveServer) awaits(id, name, state string) (one downloadView) {
	s.t.Helper()
	eventually(s.t, name+" is "+state, enough, func() bool {
		var all downloadsView
		s.do("GET", "/profiles/"+id+"/downloads?limit=200", nil, 200, &all)
		for _, d := range all.Data {
			if one = d; d.Name == name && d.State == state {
				return true
			}
		}
		return false
	})
	return one
}

// A run's downloads are listed, read in parts and deleted, while it goes on and after; the next start empties the folder.
func TestDownloads(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	path := "/profiles/" + id + "/downloads"
	var all downloadsView
	if s.do("GET", path, nil, 200, &all); all.Total != 0 {
		t.Errorf("before the first start: %+v", all)
	}
	const page = "<script>fetch('/api/v1/keys')</script>"
	s.saves(id, s.start(id, nil), "page.html", page, "a_b ü.txt", "second", "same.txt", "third")
	for _, when := range []string{"while it runs", "after it"} {
		if s.do("GET", path+"?limit=2", nil, 200, &all); all.Total != 3 || len(all.Data) != 2 || !all.HasMore ||
			all.Data[0].Name != "same.txt" || all.Data[0].Size != 5 || all.Data[0].EndedAt == nil {
			t.Errorf("%s: %+v", when, all)
		}
		if s.do("GET", path+"?limit=2&after="+all.Data[1].ID, nil, 200, &all); len(all.Data) != 1 || all.HasMore ||
			all.Data[0].Name != "page.html" || !strings.HasPrefix(all.Data[0].URL, "blob:") {
			t.Errorf("%s, further: %+v", when, all)
		}
		status, h, text := s.send("GET", path+"/page.html", nil, nil)
		if status != 200 || text != page || h.Get("Content-Type") != "text/html; charset=utf-8" ||
			h.Get("Content-Disposition") != "attachment; filename=page.html" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != "sandbox; default-src 'none'" {
			t.Errorf("%s: %d %v %q", when, status, h, text)
		}
		status, h, text = s.send("GET", path+"/page.html", nil, map[string]string{"Range": "bytes=1-6"})
		if status != 206 || text != page[1:7] || h.Get("Content-Range") != fmt.Sprintf("bytes 1-6/%d", len(page)) {
			t.Errorf("%s, a part: %d %v %q", when, status, h, text)
		}
		status, h, text = s.send("GET", path+"/"+url.PathEscape("a_b ü.txt"), nil, nil)
		if status != 200 || text != "second" || h.Get("Content-Disposition") != "attachment; filename*=utf-8''a_b%20%C3%BC.txt" {
			t.Errorf("%s: %d %v %q", when, status, h, text)
		}
		for name, want := range map[string]int{"none": 404, "..%2f..%2fadmin.key": 404, "%2e%2e%2fdownloads.json": 404, "x%2fy": 422,
			"a%00b": 422, strings.Repeat("x", 256): 422, "a%5Cb": 422, "%ff": 422, "a%E2%80%AEb": 422} {
			if status, _, text := s.send("GET", path+"/"+name, nil, nil); status != want {
				t.Errorf("%s, %s: %d %s", when, name, status, text)
			}
			if status, _, text := s.send("DELETE", path+"/"+name, nil, nil); status != want {
				t.Errorf("%s, delete %s: %d %s", when, name, status, text)
			}
		}
		if when == "while it runs" {
			s.stop(id)
		}
	}
	s.do("DELETE", path+"/same.txt", nil, 204, nil)
	s.refused("GET", path+"/same.txt", nil, 404, "download_not_found")
	run := s.start(id, nil)
	if s.do("GET", path, nil, 200, &all); all.Total != 0 {
		t.Errorf("after the next start: %+v", all)
	}
	s.saves(id, run, "again.txt", "again")
	s.do("DELETE", path+"/again.txt", nil, 204, nil)
	if s.do("GET", path, nil, 200, &all); all.Total != 0 {
		t.Errorf("after the deletion: %+v", all)
	}
	files := filepath.Join(s.data, "profiles", id, "files")
	s.do("DELETE", "/profiles/"+id, nil, 204, nil)
	s.refused("GET", path, nil, 404, "profile_not_found")
	if _, err := os.Stat(files); err != nil {
		t.Errorf("the trash lost the folder: %v", err)
	}
	s.do("DELETE", "/profiles/"+id+"?permanent=true", nil, 204, nil)
	if _, err := os.Stat(files); err == nil {
		t.Error("the folder of a profile that is gone stays")
	}
}

// What is in a link's place is not followed out of the folder.
func TestDownloadsFollowNoLink(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	s.saves(id, s.start(id, nil), "mine.txt", "mine")
	s.stop(id)
	file := *s.awaits(id, "mine.txt", "complete").Path
	canary := filepath.Join(s.dir, "canary")
	if err := os.WriteFile(canary, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{canary, "../../../../../canary", "/etc/hostname"} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, file); err != nil {
			t.Fatal(err)
		}
		if status, _, text := s.send("GET", "/profiles/"+id+"/downloads/mine.txt", nil, nil); status != 404 {
			t.Errorf("a link to %s: %d %s", to, status, text)
		}
	}
}

// Uploads are there whole or not at all, within their limit and the quota.
func TestUploads(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve("--upload-limit", "20MiB", "--files-quota", "30MiB")
	id := s.profile(nil)
	path, files := "/profiles/"+id+"/uploads/", filepath.Join(s.data, "profiles", id, "files")
	put := func(name string, size int, chunked bool) (int, string) {
		body := io.Reader(bytes.NewReader(make([]byte, size)))
		if chunked {
			body = io.MultiReader(body)
		}
		status, _, text := s.send("PUT", path+name, body, nil)
		return status, text
	}
	lies := func() []string { return filesIn(t, files) }
	if status, text := put("a.txt", 1, false); status != 409 || !strings.Contains(text, "profile_not_running") {
		t.Errorf("of a profile that does not run: %d %s", status, text)
	}
	s.start(id, nil)
	for name, want := range map[string]int{"..%2f..%2fx": 404, "x%2fy": 422, "%2e%2e": 404, "a%0Ab": 422, strings.Repeat("x", 256): 422,
		"a%5Cb": 422} {
		if status, text := put(name, 1, false); status != want {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	for _, chunked := range []bool{false, true} {
		if status, text := put("big", 20<<20+1, chunked); status != 413 || !strings.Contains(text, "body_too_large") {
			t.Errorf("one byte too many, chunked %v: %d %s", chunked, status, text)
		}
		if status, text := put("most", 20<<20, chunked); status != 200 {
			t.Errorf("as many as may be, chunked %v: %d %s", chunked, status, text)
		}
		if status, text := put("more", 11<<20, chunked); status != 507 || !strings.Contains(text, "files_quota") {
			t.Errorf("over the quota, chunked %v: %d %s", chunked, status, text)
		}
		if got := lies(); len(got) != 1 || got[0] != "most" {
			t.Errorf("in the folder lie %v", got)
		}
		if err := os.Remove(filepath.Join(files, "uploads", "most")); err != nil {
			t.Error(err)
		}
	}
	if status, text := put("a%20b%C3%BC.txt", 3, true); status != 200 ||
		!strings.Contains(text, `"path":"`+filepath.Join(files, "uploads", "a bü.txt")+`"`) {
		t.Errorf("%d %s", status, text)
	}
}

// Files without a byte in them come to an end as well.
func TestUploadsOfNothing(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve("--files-quota", "32KiB")
	id := s.profile(nil)
	s.start(id, nil)
	for i := range 9 {
		want := 200
		if i == 8 {
			want = 507
		}
		if status, _, text := s.send("PUT", fmt.Sprintf("/profiles/%s/uploads/empty-%d", id, i), strings.NewReader(""),
			nil); status != want {
			t.Errorf("empty file %d: %d %s", i+1, status, text)
		}
	}
}

// filesIn lists what lies in a run's own folder, whole or not.
func filesIn(t *testing.T, files string) (out []string) {
	t.Helper()
	for _, dir := range []string{files, filepath.Join(files, "uploads")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		for _, e := range entries {
			if !e.IsDir() {
				out = append(out, e.Name())
			}
		}
	}
	return out
}

// An upload that breaks off leaves nothing, also when it is the server that breaks off.
func TestUploadsBreakOff(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(nil)
	path, files := "/profiles/"+id+"/uploads/", filepath.Join(s.data, "profiles", id, "files")
	lies := func() []string { return filesIn(t, files) }
	s.start(id, nil)
	if status, _, text := s.send("PUT", path+"whole", strings.NewReader("whole"), nil); status != 200 {
		t.Fatal(status, text)
	}
	begin := func() *io.PipeWriter {
		r, w := io.Pipe()
		req, err := http.NewRequest("PUT", s.base+apiPrefix+path+"half", r)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+liveKey)
		go func() {
			if res, err := http.DefaultClient.Do(req); err == nil {
				res.Body.Close()
			}
		}()
		if _, err := w.Write(make([]byte, 9<<20)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it comes", enough, func() bool { return len(lies()) == 2 })
		return w
	}
	begin().CloseWithError(io.ErrClosedPipe)
	eventually(t, "it is gone", enough, func() bool { return len(lies()) == 1 })
	w := begin()
	s.kill()
	w.Close()
	s = g.serve()
	if got := lies(); len(got) != 1 || s.get(id).Status != "running" {
		t.Errorf("after the server was killed lie %v", got)
	}
}

// TestUploadsEndWithTheirKey: what comes after a key was revoked is not taken, and nothing of the file is there.
func TestUploadsEndWithTheirKey(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(nil)
	s.start(id, nil)
	keyID, key := s.key(nil)
	r, w := io.Pipe()
	req, err := http.NewRequest("PUT", s.base+apiPrefix+"/profiles/"+id+"/uploads/late", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	status := make(chan int, 1)
	go func() {
		defer close(status)
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			status <- res.StatusCode
		}
	}()
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	s.do("DELETE", "/keys/"+keyID, nil, 204, nil)
	w.Write([]byte("the end")) //nolint:errcheck // it may be refused by now
	w.Close()                  //nolint:errcheck // a pipe's
	if got := <-status; got != http.StatusUnauthorized {
		t.Errorf("the answer is %d, want 401", got)
	}
	if left := filesIn(t, filepath.Join(s.data, "profiles", id, "files")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestUploadsAtOnce: of one profile as many files come in as may be at a time, and no more lie there than may be.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(nil)
	s.start(id, nil)
	const atOnce, most = 16, 10_000 // docs/access.md, docs/files.md
	path, files := "/profiles/"+id+"/uploads/", filepath.Join(s.data, "profiles", id, "files")
	answers := make(chan int, atOnce)
	var pipes []*io.PipeWriter
	for i := range atOnce {
		r, w := io.Pipe()
		pipes = append(pipes, w)
		go func() {
			status, _, _ := s.send("PUT", fmt.Sprint(path, i), r, nil)
			answers <- status
		}()
		if _, err := w.Write([]byte("some")); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all of them come", enough, func() bool { return len(filesIn(t, files)) == atOnce })
	if status, _, text := s.send("PUT", path+"more", strings.NewReader("x"), nil); status != 429 ||
		!strings.Contains(text, "too_many_connections") {
		t.Errorf("one more: %d %s", status, text)
	}
	for _, w := range pipes {
		w.Close() //nolint:errcheck // a pipe's
		if status := <-answers; status != 200 {
			t.Errorf("one of them: %d", status)
		}
	}
	for i := range most - atOnce - 1 {
		if err := os.WriteFile(filepath.Join(files, "uploads", fmt.Sprint("empty-", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{200, 507} {
		if status, _, text := s.send("PUT", fmt.Sprint(path, "of ", want), strings.NewReader("x"), nil); status != want {
			t.Errorf("%d, want %d: %s", status, want, text)
		}
	}
}
