package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"warren/store/postgres"
	"warren/testnet"
)

// laterVersion builds the program with one migration of PostgreSQL more, as a later version has it.
func (g *testbed) laterVersion(name, migration string) string {
	g.t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		g.t.Fatal(err)
	}
	file, overlay, program := filepath.Join(g.dir, name+".sql"), filepath.Join(g.dir, name+".json"), filepath.Join(g.dir, name)
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "store", "postgres", "migrations", "9000_later.sql"): file}})
	if err != nil {
		g.t.Fatal(err)
	}
	for path, text := range map[string]string{file: migration, overlay: string(text)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			g.t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-ldflags", "-X main.version=9.0", "-o", program, "warren")
	if out, err := build.CombinedOutput(); err != nil {
		g.t.Fatalf("go build: %v\n%s", err, out)
	}
	if err := os.Chmod(program, 0o755); err != nil { //nolint:gosec // tests run the program as another user too
		g.t.Fatal(err)
	}
	return program
}

// TestVersions: two versions of the program on one database. The later one adds to the schema, and the server of this version goes on and
// is started again. One that changes more is refused with exit code 3 while that server lives, and names it.
func TestVersions(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil || testing.Short() {
		t.Skip("builds two later versions of the program, with go")
	}
	g, other := newTestbed(t), newTestbed(t)
	adds := g.laterVersion("adds", fmt.Sprint("-- compatible since ", postgres.Known().Newest(),
		"\nCREATE TABLE later (id BIGINT PRIMARY KEY);\nALTER TABLE profiles ADD COLUMN later TEXT NOT NULL DEFAULT 'x';\n"))
	breaks := g.laterVersion("breaks", "ALTER TABLE profiles RENAME COLUMN notes TO remarks;\n")
	serve := []string{"--store", testnet.Postgres(t)}
	key := []string{"--secret-key-file", filepath.Join(g.data, "secret.key")}
	s := g.serve(append(serve, "--node", "one")...)
	first := s.profile(nil)
	later := func(program string) (*liveServer, error) {
		other.under = func(cmd *exec.Cmd) { cmd.Path = program }
		return other.tryServe(append(append(serve, "--node", "two"), key...)...)
	}

	_, err := later(breaks)
	said := `exit code 3\n(?s:.*)servers of an older warren use the database \(one at ` + regexp.QuoteMeta(s.base)
	if err == nil || !regexp.MustCompile(said).MatchString(err.Error()) {
		t.Errorf("a version that this one cannot live with: %v", err)
	}
	s.get(first)
	two, err := later(adds)
	if err != nil {
		t.Fatalf("a version that this one can live with: %v", err)
	}
	two.get(first) // each server shows what the other has made
	s.get(two.profile(nil))
	second := s.profile(nil)
	if code := s.terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s = g.serve(append(serve, "--node", "one")...)
	s.get(first)
	s.get(second)
	s.profile(nil)
	two.get(second)
}
