package tests

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"warren/packs"
	"warren/snapshots"
	"warren/testnet"
)

// TestPowerCutWhileThinning: wherever the power fails while old backups are removed, every backup that is listed afterwards is whole,
// and the place is never without one.
func TestPowerCutWhileThinning(t *testing.T) {
	g := newTestbed(t)
	disk := testnet.NewDisk(t)
	place := filepath.Join(disk.Dir, "backups")
	p := &powered{liveServer: g.serve(), disk: disk}
	o := &owned{id: p.profile(nil), kept: map[string]*fact{}, texts: map[string]string{}}
	backup := func(text string, flags ...string) {
		t.Helper()
		before := o.newest
		p.write(o, text)
		p.snapshot(o)
		if before != "" { // only an older backup needs it from now on
			p.do("DELETE", "/profiles/"+o.id+"/snapshots/"+before, nil, 204, nil)
		}
		if out, err := p.command(append([]string{"backup", "--data", p.data, place}, flags...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	backup("first")
	backup("second")
	begin := disk.Steps()
	backup("third", "--keep", "1")
	if code := p.terminate(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	const cutsOfAStep = 4
	seed, seen := rand.Uint64(), map[int]int{}
	whole := map[string]bool{} // what was looked at before
	for at := begin; at <= disk.Steps(); at++ {
		for i := range cutsOfAStep {
			dir := filepath.Join(memory(t), "disk")
			if err := disk.Cut(at, rand.New(rand.NewPCG(seed, uint64(at*cutsOfAStep+i)))).WriteTo(dir); err != nil {
				t.Fatal(err)
			}
			here := filepath.Join(dir, "backups")
			if sum := sumOf(t, here); !whole[sum] {
				whole[sum] = true
				seen[wholeBackups(t, here, fmt.Sprintf("seed %d, cut %d after step %d of %d to %d", seed, i, at, begin, disk.Steps()))]++
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%d cuts at %d steps; so many places had so many backups: %v", cutsOfAStep*(disk.Steps()+1-begin), disk.Steps()+1-begin, seen)
	if seen[1] == 0 || seen[2] == 0 || seen[3] == 0 {
		t.Errorf("so many places had so many backups: %v", seen)
	}
}

// sumOf returns a sum of the names and the bytes of a place's objects. What is half written is none, and a mark has none.
func sumOf(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || strings.Contains(path, "/thinning/") {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d ", path[len(dir):], len(text))
		sum.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(sum.Sum(nil))
}

// wholeBackups wants every backup of a place to be whole, and returns how many there are.
func wholeBackups(t *testing.T, place, when string) int {
	t.Helper()
	from := packs.Folder(place)
	all, err := snapshots.Backups(t.Context(), from)
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %d backups, %v", when, len(all), err)
	}
	for _, b := range all {
		if err := noFaults(snapshots.Check(t.Context(), snapshots.CheckOptions{From: from, ID: b.ID, ReadAll: true})); err != nil {
			t.Errorf("%s, the backup %s: %v", when, b.ID, err)
		}
	}
	return len(all)
}
