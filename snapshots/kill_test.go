package snapshots

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warren/events"
	"warren/store"
	"warren/testnet"
)

// The test binary runs itself as the child that is killed. These variables name its data folder and its profile.
const (
	killDir     = "WARREN_TEST_KILL_DIR"
	killProfile = "WARREN_TEST_KILL_PROFILE"
)

// TestKilledChild is the child: it saves, rolls back, clones, exports, imports, deletes and collects until it is killed. It says each
// snapshot that it will not delete, with the text of all its files.
func TestKilledChild(t *testing.T) {
	dir, id := os.Getenv(killDir), os.Getenv(killProfile)
	if dir == "" {
		t.Skip("for TestKilled alone")
	}
	st, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{New(dir, slog.New(slog.DiscardHandler), st, events.New()), t}
	r.untouched, r.going = -time.Hour, -time.Hour
	var imported []string // snapshots
	for i := 0; ; i++ {
		text := fmt.Sprintf("%d of %d", i, os.Getpid())
		if _, err := r.Prepare(t.Context(), r.row(id)); err != nil {
			t.Fatal(err)
		}
		r.put(id, textFiles(text))
		s := r.save(id, Request{Reason: Stop, Pinned: i%2 == 0, Name: text})
		if s.Pinned {
			fmt.Printf("kept %s %s\n", s.ID, text)
		}
		for _, id := range imported { // said here, since a kill comes soon after a line, and put above is not made to bear one
			fmt.Printf("kept %s import\n", id)
		}
		imported = nil
		all, err := r.List(t.Context(), store.All(), id)
		if err != nil {
			t.Fatal(err)
		}
		to := all[rand.IntN(len(all))]
		if _, err := r.Rollback(t.Context(), id, to); err != nil {
			t.Fatal(err)
		}
		clone := store.NewID()
		if err := r.Clone(t.Context(), to, []string{clone}, func(q *store.Queries) error { return insertProfile(q, clone) }); err != nil {
			t.Fatal(err)
		}
		taken, err := r.take(r.export(id))
		if err != nil {
			t.Fatal(err)
		}
		imported = append(imported, *r.row(taken[0]).HeadID)
		for _, s := range all[min(3, len(all)):] {
			if !s.Pinned && s.ID != to.ID {
				if err := r.Delete(t.Context(), store.All(), r.row(id), s.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// textFiles are the files of a profile whose state is one text.
func textFiles(text string) map[string]string {
	files := map[string]string{}
	for i := range 5 {
		files[fmt.Sprint("chrome/", i)] = strings.Repeat(text+" ", 1000*i+1)
	}
	return files
}

// TestKilled: a process is killed again and again while it saves, rolls back, clones, exports, imports, deletes and collects.
// Afterwards each snapshot that it acknowledged is whole, the profile's folder is of one moment, and nothing is left over.
func TestKilled(t *testing.T) {
	t.Parallel()
	killAgain(t, 8)
}

// The same many times.
func TestKilledLong(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	killAgain(t, 20)
}

func killAgain(t *testing.T, times int) {
	dir := t.TempDir()
	r := newRigIn(t, dir)
	p := r.profile()
	r.put(p.ID, map[string]string{"files/downloads/mine": "mine"})
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	kept := map[string]string{} // text by snapshot
	for round := range times {
		runAndKill(t, dir, p.ID, kept)
		afterKill(t, dir, p.ID, kept)
		if t.Failed() {
			t.Fatalf("after kill %d", round+1)
		}
	}
	t.Logf("%d kills, %d snapshots acknowledged, none lost", times, len(kept))
}

// runAndKill kills the child a random while after its first words.
func runAndKill(t *testing.T, dir, id string, kept map[string]string) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
	cmd.Env = append(os.Environ(), killDir+"="+dir, killProfile+"="+id)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for range 1 + rand.IntN(4) {
		line, err := lines.ReadString('\n')
		note(kept, line)
		if err != nil {
			t.Fatalf("the child said %q and ended: %v", line, cmd.Wait())
		}
	}
	for late := time.Now().Add(rand.N(40 * time.Millisecond)); time.Now().Before(late); { // anywhere between two lines
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(rest)) {
		note(kept, line)
	}
	_ = cmd.Wait() //nolint:errcheck // it was killed
}

// note remembers a whole line of the child.
func note(kept map[string]string, line string) {
	words := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
	if strings.HasSuffix(line, "\n") && len(words) == 3 && words[0] == "kept" {
		kept[words[1]] = words[2]
	}
}

// afterKill opens the data folder as the next server does, and looks at everything.
func afterKill(t *testing.T, dir, id string, kept map[string]string) {
	st, err := store.Open(t.Context(), dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := &rig{New(dir, slog.New(slog.DiscardHandler), st, events.New()), t}
	r.untouched, r.going = -time.Hour, -time.Hour
	if _, err := r.Prepare(context.Background(), r.row(id)); err != nil {
		t.Fatal(err)
	}
	files := r.files(id)
	if files["files/downloads/mine"] != "mine" {
		t.Error("a download is lost")
	}
	oneMoment(t, files)
	r.whole(t)
	there := map[string]bool{}
	for _, s := range r.allSnapshots(t) {
		there[s.ID] = true
	}
	for snapshot, text := range kept {
		if !there[snapshot] {
			t.Errorf("the snapshot %s of %q is lost", snapshot, text)
		}
	}
	for range 2 {
		if err := r.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.nothingLeft(t)
	if err := r.RemoveUnfinished(); err != nil || len(r.hidden()) > 0 {
		t.Errorf("%v, and %q is left", err, r.hidden())
	}
	entries, err := os.ReadDir(filepath.Join(dir, "profiles"))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d folders of profiles, %v", len(entries), err)
	}
}

// oneMoment wants files that are all of one text. Those of a text that was being written when the child was killed are the child's own.
func oneMoment(t *testing.T, files map[string]string) {
	texts, empty := map[string]bool{}, 0
	for i := range 5 {
		text, _, _ := strings.Cut(files[fmt.Sprint("chrome/", i)], " of ")
		if text == "" {
			empty++
			continue
		}
		texts[text] = true
	}
	// The child empties and writes one file after another: two texts and an empty file, if it was killed there.
	if len(texts) > 2 || empty > 1 {
		t.Errorf("the folder is a mixture of %q, and %d files are empty", slices.Sorted(maps.Keys(texts)), empty)
	}
}
