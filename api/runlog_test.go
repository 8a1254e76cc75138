package api

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"warren/runs"
)

// TestRunLog: the log of a run has the last lines of its process and of its browser, without addresses, for keys that see it. After its
// end nothing more comes, and an unknown run is none.
func TestRunLog(t *testing.T) {
	t.Parallel()
	a, run := newFakeRun(t)
	id := run.State().RunID
	log := `{"time":"2026-11-21T14:06:00Z","level":"INFO","msg":"first"}` + "\n" +
		`{"time":"2026-11-21T14:06:01Z","level":"WARN","msg":"a page went","url":"https://shop.example/?token=1"}` + "\n"
	if err := os.WriteFile(filepath.Join(a.dir, "run", runs.Name(id)+".log"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	var out runs.Log
	r := a.do(t, "GET", "/runs/"+id+"/log", nil).want(t, 200)
	if err := json.Unmarshal(r.body, &out); err != nil {
		t.Fatal(err)
	}
	if !out.Running || len(out.Data) != 3 || out.Data[0].Text != "first" || out.Data[1].Text != "a page went url=https:…" ||
		out.Data[1].Level != "warn" || out.Data[2].Source != "browser" || out.Data[2].At != nil {
		t.Errorf("%s", r.body)
	}
	a.do(t, "GET", "/runs/"+id+"/log?lines=1", nil).want(t, 200).equal(t, "data.0.level", "warn")
	a.do(t, "GET", "/runs/"+id+"/log?lines=0", nil).refused(t, 422, "validation_failed")
	a.do(t, "GET", "/runs/none/log", nil).refused(t, 404, "run_not_found")
	other := a.do(t, "POST", "/keys", `{"name":"other","scopes":["run"],"workspaces":["other"]}`).want(t, 201).text("key")
	a.as(other).do(t, "GET", "/runs/"+id+"/log", nil).refused(t, 404, "run_not_found")
	reader := a.do(t, "POST", "/keys", `{"name":"reader","scopes":["read"]}`).want(t, 201).text("key")
	a.as(reader).do(t, "GET", "/runs/"+id+"/log", nil).refused(t, 403, "forbidden")
	a.do(t, "POST", "/profiles/"+run.profileID+"/stop", nil).want(t, 200)
	a.do(t, "GET", "/runs/"+id+"/log", nil).want(t, 200).equal(t, "running", false)
}
