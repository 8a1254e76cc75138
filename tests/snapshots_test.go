//go:build linux

package tests

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"warren/testnet"
)

// awaitSnapshot waits until the newest snapshot of a profile is another one, and returns it.
func (s *liveServer) awaitSnapshot(id, before string) (newest snapshotView) {
	s.t.Helper()
	eventually(s.t, "a snapshot", enough, func() bool {
		all := s.snapshots(id)
		if len(all) > 0 {
			newest = all[0]
		}
		return newest.ID != before
	})
	return newest
}

// A stop keeps a snapshot, and a roll-back brings back its logins and keeps what was there.
func TestRollback(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	s.refused("POST", "/profiles/"+id+"/snapshots", nil, 409, "profile_empty")
	s.withCookie(id, "first")
	s.refused("POST", "/profiles/"+id+"/snapshots", nil, 409, "profile_running")
	s.stop(id)
	first := s.awaitSnapshot(id, "")
	if first.Reason != "stop" || !first.Current || first.BrowserVersion == "" || first.Bytes == 0 || first.NewBytes == 0 {
		t.Errorf("after the stop: %+v", first)
	}
	s.refused("POST", "/profiles/"+id+"/rollback", map[string]any{"snapshotId": id}, 422, "validation_failed")
	s.withCookie(id, "second")
	s.refused("POST", "/profiles/"+id+"/rollback", map[string]any{"snapshotId": first.ID}, 409, "profile_running")
	s.stop(id)
	second := s.awaitSnapshot(id, first.ID)
	var back struct {
		Profile profileView
		Kept    snapshotView
	}
	if s.do("POST", "/profiles/"+id+"/rollback", map[string]any{"snapshotId": first.ID}, 200, &back); back.Profile.ID != id ||
		back.Kept.Reason != "before_rollback" {
		t.Errorf("the roll-back answered %+v", back)
	}
	s.hasCookie(id, "first")
	s.stop(id)
	s.awaitSnapshot(id, back.Kept.ID)
	s.do("POST", "/profiles/"+id+"/rollback", map[string]any{"snapshotId": second.ID}, 200, nil)
	s.hasCookie(id, "second")
}

// Clones have the logins of their original, all at once and each by itself, while the original's folder stays as it is. They are
// unpacked when they start. Temporary ones are gone when they have ended.
func TestClones(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	s.refused("POST", "/profiles/"+id+"/clone", map[string]any{"withData": true}, 409, "profile_empty")
	s.withCookie(id, "in")
	s.refused("POST", "/profiles/"+id+"/clone", map[string]any{"withData": true}, 409, "profile_running")
	s.stop(id)
	s.awaitSnapshot(id, "")
	before := g.filesOf(id)
	g.archived(s, id)
	var clones struct {
		Data []struct{ ID, Name string }
	}
	s.do("POST", "/profiles/"+id+"/clone", map[string]any{"name": "Clone {n}", "count": 4, "withData": true, "temporary": true}, 201,
		&clones)
	if len(clones.Data) != 4 || clones.Data[3].Name != "Clone 4" || exists(filepath.Join(g.data, "profiles", clones.Data[0].ID)) {
		t.Fatalf("clones %+v", clones)
	}
	var wg sync.WaitGroup
	for _, c := range clones.Data {
		wg.Go(func() { s.hasCookie(c.ID, "in") })
	}
	wg.Wait()
	if v := s.world.await(t, "/has-in", 2+4); !strings.Contains(v.cookie, "kept=in") {
		t.Errorf("the last clone's cookies are %q", v.cookie)
	}
	if after := g.filesOf(id); !slices.Equal(after, before) {
		t.Error("the original's folder has changed while its clones ran")
	}
	for _, c := range clones.Data {
		s.stop(c.ID)
		eventually(t, "a temporary clone is gone", enough, func() bool {
			r, err := s.try("GET", "/profiles/"+c.ID, nil)
			return err == nil && r.status == 404 && !exists(filepath.Join(g.data, "profiles", c.ID))
		})
	}
	var one struct{ ID, Name, Status string }
	if s.do("POST", "/profiles/"+id+"/clone", nil, 201, &one); !strings.HasSuffix(one.Name, " (copy)") || len(s.snapshots(one.ID)) > 0 {
		t.Errorf("a clone of the settings alone: %+v", one)
	}
}

// archived exports a profile that does not run and imports it: here as a new one, and on another server, with another keyring, as itself.
// Both are signed in.
func (g *testbed) archived(s *liveServer, id string) {
	g.t.Helper()
	const passphrase = "correct horse"
	file := s.file("GET", "/profiles/"+id+"/export", nil, passphrase, 200)
	var made struct {
		Profiles []struct {
			ID       string
			Warnings []struct{ Code string }
		}
	}
	take := func(on *liveServer, query string) {
		g.t.Helper()
		reply{201, on.file("POST", "/profiles/import"+query, file, passphrase, 201)}.want(g.t, "import", 201, &made)
	}
	take(s, "")
	twin := made.Profiles[0]
	if twin.ID == id || len(twin.Warnings) > 0 {
		g.t.Errorf("made here: %+v", twin)
	}
	s.hasCookie(twin.ID, "in")
	s.stop(twin.ID)
	other := &testbed{t: g.t, dir: g.dir, data: filepath.Join(g.dir, "d2"), world: g.world, proxy: g.proxy}
	there := other.serve()
	take(there, "?as=same")
	if made.Profiles[0].ID != id || made.Profiles[0].Warnings[0].Code != "proxy_missing" {
		g.t.Errorf("made there: %+v", made)
	}
	there.refused("POST", "/profiles/"+id+"/start", nil, 409, "proxy_missing")
	there.do("PUT", "/profiles/"+id, map[string]any{"proxyId": there.addProxy(nil)}, 200, nil)
	there.hasCookie(id, "in")
	if v := s.world.await(g.t, "/has-in", 2); !strings.Contains(v.cookie, "kept=in") {
		g.t.Errorf("there the cookies are %q", v.cookie)
	}
	there.stop(id)
	if code := there.terminate(); code != 0 {
		g.t.Fatalf("the server ended with %d", code)
	}
	other.awaitEnds()
	s.do("DELETE", "/profiles/"+twin.ID+"?permanent=true", nil, 204, nil)
}

// file sends and receives files, which are no JSON.
func (s *liveServer) file(method, path string, body []byte, passphrase string, status int) []byte {
	s.t.Helper()
	req, err := http.NewRequest(method, s.base+apiPrefix+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+liveKey)
	req.Header.Set("X-Warren-Passphrase", passphrase)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		s.t.Fatalf("%s %s answered %d: %.200q, %v", method, path, res.StatusCode, got, err)
	}
	return got
}

// A person keeps a snapshot, names, pins and deletes it; a running browser is closed for it and started again.
func TestSnapshotByHand(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve("--snapshots", "off")
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	s.withCookie(id, "kept")
	s.stop(id)
	run := s.start(id, nil)
	var one, live snapshotView
	s.refused("POST", "/profiles/"+id+"/snapshots", map[string]any{"live": true, "restart": true}, 422, "validation_failed")
	s.do("POST", "/profiles/"+id+"/snapshots", map[string]any{"live": true, "pinned": true}, 201, &live)
	if p := s.get(id); p.Run == nil || p.Run.RunID != run.RunID || live.Reason != "live" || live.Current {
		t.Errorf("while the run goes on: %+v, %+v", live, p.Run)
	}
	s.do("POST", "/profiles/"+id+"/snapshots", map[string]any{"name": " Signed in ", "pinned": true, "restart": true}, 201, &one)
	if p := s.get(id); p.Status != "running" || one.Name != "Signed in" || !one.Pinned || one.Reason != "asked" {
		t.Errorf("the profile is %s; %+v", p.Status, one)
	}
	s.do("PATCH", "/profiles/"+id+"/snapshots/"+one.ID, map[string]any{"name": nil, "pinned": false}, 200, &one)
	if one.Name != "" || one.Pinned || !one.Current {
		t.Errorf("changed: %+v", one)
	}
	s.do("DELETE", "/profiles/"+id+"/snapshots/"+one.ID, nil, 204, nil)
	s.refused("DELETE", "/profiles/"+id+"/snapshots/"+one.ID, nil, 404, "snapshot_not_found")
	s.stop(id)
	if all := s.snapshots(id); len(all) != 1 || all[0].ID != live.ID {
		t.Errorf("with --snapshots off there are %+v", all)
	}
	var clone profileView
	s.do("POST", "/profiles/"+id+"/clone", map[string]any{"snapshotId": live.ID}, 201, &clone)
	s.hasCookie(clone.ID, "kept")
}

// filesOf lists a profile's files that browsers write, with sizes and times.
func (g *testbed) filesOf(id string) (out []string) {
	g.t.Helper()
	err := filepath.WalkDir(filepath.Join(g.data, "profiles", id, "chrome"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out = append(out, strings.Join([]string{path, info.ModTime().Format(time.RFC3339Nano), info.Mode().String()}, " "))
		}
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

// A temporary profile is there until its run has ended, also when its server is killed meanwhile.
func TestTemporaryProfile(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	s := g.serve()
	var made struct {
		profileView
		Temporary bool
		Run       runView
	}
	s.do("POST", "/profiles", map[string]any{"name": "for once", "temporary": true, "start": true, "proxyId": s.addProxy(nil)}, 201, &made)
	if !made.Temporary || made.Status != "running" || made.Run.WsEndpoint == "" {
		t.Fatalf("made: %+v", made)
	}
	s.setCookie(made.Run, "x")
	s.refused("POST", "/profiles", map[string]any{"name": "never", "start": true, "proxyId": "none"}, 422, "validation_failed")
	folder := filepath.Join(g.data, "profiles", made.ID)
	s.kill()
	s = g.serve()
	if p := s.get(made.ID); p.Status != "running" || !exists(folder) {
		t.Fatalf("after the server's crash the profile is %s", p.Status)
	}
	kept := s.profile(map[string]any{"temporary": true})
	s.start(kept, nil)
	s.do("PUT", "/profiles/"+kept, map[string]any{"temporary": false}, 200, nil)
	s.stop(kept)
	s.stop(made.ID)
	eventually(t, "the temporary profile is gone", enough, func() bool {
		r, err := s.try("GET", "/profiles/"+made.ID, nil)
		return err == nil && r.status == 404 && !exists(folder)
	})
	if p := s.get(kept); p.Status != "stopped" {
		t.Errorf("the profile that is not temporary any more is %s", p.Status)
	}
}

// With --snapshots off a stop makes none, unless the profile says otherwise.
func TestSnapshotsOff(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	s := newTestbed(t).serve("--snapshots", "off")
	off, on := s.profile(nil), s.profile(map[string]any{"snapshots": "on"})
	for _, id := range []string{off, on} {
		s.start(id, nil)
		s.stop(id)
	}
	s.awaitSnapshot(on, "")
	if all := s.snapshots(off); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}

// A backup that is made while a browser runs brings everything back onto an empty machine: keys, proxies with their passwords,
// profiles and logins.
func TestBackupDrill(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	own := filepath.Join(g.dir, "own")
	s := g.serve("--backup-every", "24h", "--backup-to", own)
	id, other := s.profile(map[string]any{"proxyId": s.addProxy(nil)}), s.profile(nil)
	s.withCookie(id, "in")
	s.stop(id)
	s.awaitSnapshot(id, "")
	s.start(other, nil)
	place := filepath.Join(g.dir, "backups")
	says := func(code int, what string, args ...string) {
		t.Helper()
		cmd := g.command(append([]string{args[0], "--data", g.data}, args[1:]...)...)
		out, _ := cmd.CombinedOutput() //nolint:errcheck // the code says it
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), what) {
			t.Fatalf("%v ended with %d, want %d and %q\n%s", args, cmd.ProcessState.ExitCode(), code, what, out)
		}
	}
	for _, to := range []string{place, place + ".tar"} {
		says(0, "2 profiles, 1 snapshots", "backup", to)
		says(0, "0 faults", "check", "--read-all", to)
	}
	says(3, "is not empty", "restore", place)
	eventually(t, "the server's own backup", enough, func() bool {
		made, _ := filepath.Glob(filepath.Join(own, "backups", "*")) //nolint:errcheck // the pattern is right
		return len(made) == 1
	})
	says(0, " profiles, ", "restore", "--list", own)
	says(2, "go together", "serve", "--backup-every", "1h")
	if code := s.terminate(); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	says(0, "2 snapshots", "check", "--read-all") // the browser that was closed with the server has one
	for _, from := range []string{place, place + ".tar"} {
		if err := os.RemoveAll(g.data); err != nil {
			t.Fatal(err)
		}
		says(0, "2 profiles", "restore", from)
		s = g.serve()
		if testnet.OnPostgres() { // its rows tell of snapshots that were made since the backup
			s.start(id, map[string]any{"repair": true})
			s.stop(id)
		}
		s.hasCookie(id, "in")
		s.stop(id)
		if code := s.terminate(); code != 0 {
			t.Fatalf("the server ended with %d", code)
		}
	}
}

// The same with a bucket: the server keeps two backups there by itself, and commands make, check and restore others. The keys are
// in the environment alone.
func TestBackupDrillInS3(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	needBrowser(t)
	bucket := testnet.NewS3(t).Proxy(t)
	g := newTestbed(t)
	g.under = func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, bucket.Environment()...) }
	place, own := "s3://"+testnet.S3Bucket+"/mine", "s3://"+testnet.S3Bucket+"/own"
	s := g.serve("--backup-every", "24h", "--backup-to", own, "--backup-keep", "2")
	id := s.profile(map[string]any{"proxyId": s.addProxy(nil)})
	s.withCookie(id, "in")
	s.stop(id)
	s.awaitSnapshot(id, "")
	says := func(code int, what string, args ...string) {
		t.Helper()
		cmd := g.command(append([]string{args[0], "--data", g.data}, args[1:]...)...)
		out, _ := cmd.CombinedOutput() //nolint:errcheck // the code says it
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), what) || strings.Contains(string(out), testnet.S3Secret) {
			t.Fatalf("%v ended with %d, want %d and %q\n%s", args, cmd.ProcessState.ExitCode(), code, what, out)
		}
	}
	for range 3 {
		says(0, "1 profiles, 1 snapshots", "backup", "--keep", "2", place)
	}
	says(0, "0 faults", "check", "--read-all", place)
	eventually(t, "the server's own backup", enough, func() bool { return strings.Contains(s.log.String(), "a backup was made") })
	says(0, " profiles, ", "restore", "--list", own)
	bucket.Set(func(w http.ResponseWriter, _ *http.Request) bool {
		return testnet.S3Error(w, http.StatusForbidden, "AccessDenied", testnet.S3Secret)
	})
	says(1, "s3:PutObject", "backup", place)
	bucket.Set(nil)
	if code := s.terminate(); code != 0 || strings.Contains(s.log.String(), testnet.S3Secret) {
		t.Fatalf("the server ended with %d, or tells a secret", code)
	}
	if err := os.RemoveAll(g.data); err != nil {
		t.Fatal(err)
	}
	says(0, "1 profiles", "restore", place)
	s = g.serve()
	s.hasCookie(id, "in")
	s.stop(id)
}
