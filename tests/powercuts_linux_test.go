package tests

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"warren/events"
	"warren/packs"
	"warren/snapshots"
	"warren/store"
	"warren/testnet"
)

// Power cuts: the real server works on a disk that notes every change. Afterwards the power fails after some of them, and what was
// acknowledged by then must be there.

// fact is something that must hold after a power cut. It was acknowledged after so many steps of the disk, and holds until a request
// that changes it begins.
type fact struct {
	from, until int
	what        string
	holds       func(r *recovered) error
}

// powered is a server on a disk, and what it has acknowledged.
type powered struct {
	*liveServer
	disk *testnet.Disk
	dead bool // the disk does nothing at all

	lives bool // runs of Chromium are part of the work

	mu    sync.Mutex
	facts []*fact
}

// acknowledged notes a fact.
func (p *powered) acknowledged(what string, holds func(*recovered) error) *fact {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := &fact{from: p.disk.Steps(), until: math.MaxInt, what: what, holds: holds}
	p.facts = append(p.facts, f)
	return f
}

// ends says that facts may cease to hold from now on.
func (p *powered) ends(facts ...*fact) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range facts {
		if f != nil {
			f.until = min(f.until, p.disk.Steps())
		}
	}
}

// owned is a profile of a worker.
type owned struct {
	id                 string
	text               string // of its data
	row, trash, folder *fact  // what was acknowledged of it last
	runs               []*fact
	kept               map[string]*fact // by snapshot
	texts              map[string]string
	newest             string // snapshot
	trashed            bool
}

// newOwned notes a profile that was made.
func (p *powered) newOwned(id, text string) *owned {
	o := &owned{id: id, text: text, kept: map[string]*fact{}, texts: map[string]string{}}
	o.row = p.acknowledged("the profile "+id, func(r *recovered) error { return r.hasRow(id, "", false) })
	return o
}

// change changes the profile's notes.
func (p *powered) change(o *owned, notes string) {
	p.ends(o.row)
	p.do("PUT", "/profiles/"+o.id, map[string]any{"notes": notes}, 200, nil)
	o.row = p.acknowledged("the notes of "+o.id, func(r *recovered) error { return r.hasRow(o.id, notes, false) })
}

// write writes files of the profile, as a browser does that waits for nothing. Chrome knows neither of them, and leaves both alone.
func (p *powered) write(o *owned, text string) {
	p.ends(o.folder)
	o.text = text
	dir := filepath.Join(p.data, "profiles", o.id, "chrome", "Default")
	script := `mkdir -p "$0" && i=0 && while [ $i -lt 400 ]; do echo "$1"; i=$((i+1)); done >"$0/Text" && cp "$0/Text" "$0/Copy"`
	if out, err := exec.Command("sh", "-c", script, dir, text).CombinedOutput(); err != nil {
		p.t.Errorf("%v\n%s", err, out)
	}
}

// snapshot keeps the profile's data.
func (p *powered) snapshot(o *owned) {
	var s snapshotView
	p.do("POST", "/profiles/"+o.id+"/snapshots", map[string]any{"name": o.text, "pinned": true}, 201, &s)
	p.keeps(o, s.ID, o.text)
	p.hasFolder(o)
}

// keeps notes a snapshot, by its name.
func (p *powered) keeps(o *owned, id, name string) {
	o.texts[id], o.newest = o.text, id
	o.kept[id] = p.acknowledged("the snapshot "+id, func(r *recovered) error { return r.hasSnapshot(o.id, id, name) })
}

// hasFolder notes that the profile's folder is on the disk.
func (p *powered) hasFolder(o *owned) {
	text := o.text
	o.folder = p.acknowledged("the data of "+o.id, func(r *recovered) error { return r.hasData(o.id, text) })
}

// rollback goes back to a snapshot of the profile, if there is one.
func (p *powered) rollback(o *owned) {
	for id, text := range o.texts {
		p.ends(o.folder)
		p.do("POST", "/profiles/"+o.id+"/rollback", map[string]any{"snapshotId": id}, 200, nil)
		o.text = text
		p.hasFolder(o)
		return
	}
}

// clone makes two clones with the profile's data.
func (p *powered) clone(o *owned) (clones []*owned) {
	var many struct{ Data []struct{ ID string } }
	p.do("POST", "/profiles/"+o.id+"/clone", map[string]any{"count": 2, "withData": true}, 201, &many)
	for _, c := range many.Data {
		clone := p.newOwned(c.ID, o.text)
		text := o.text
		clone.folder = p.acknowledged("the data of the clone "+c.ID, func(r *recovered) error { return r.hasData(c.ID, text) })
		clones = append(clones, clone)
	}
	return clones
}

// carry exports the profile, and imports it as a new one.
func (p *powered) carry(o *owned) *owned {
	file := p.file("GET", "/profiles/"+o.id+"/export?unsealed=true", nil, "", 200)
	var made struct{ Profiles []struct{ ID string } }
	reply{201, p.file("POST", "/profiles/import", file, "", 201)}.want(p.t, "import", 201, &made)
	twin := p.newOwned(made.Profiles[0].ID, o.text)
	text := o.text
	twin.folder = p.acknowledged("the data of the import "+twin.id, func(r *recovered) error { return r.hasData(twin.id, text) })
	return twin
}

// live starts the profile's browser, which is Chromium, and stops it. The run is recorded, and a snapshot is made.
func (p *powered) live(o *owned) {
	before := ""
	if all := p.snapshots(o.id); len(all) > 0 {
		before = all[0].ID
	}
	if err := os.WriteFile(filepath.Join(p.dir, "lives-"+o.id), nil, 0o600); err != nil {
		p.t.Error(err)
	}
	p.ends(o.folder)
	p.ends(o.runs...)
	run := p.liveServer.start(o.id, nil)
	began := p.acknowledged("a start of "+o.id, func(r *recovered) error { return r.hasStarted(o.id) })
	p.stop(o.id)
	o.runs = []*fact{began, p.acknowledged("the run "+run.RunID, func(r *recovered) error { return r.hasStopped(o.id, run.RunID) })}
	if err := os.Remove(filepath.Join(p.dir, "lives-"+o.id)); err != nil {
		p.t.Error(err)
	}
	s := p.awaitSnapshot(o.id, before)
	p.do("PATCH", "/profiles/"+o.id+"/snapshots/"+s.ID, map[string]any{"pinned": true}, 200, nil)
	p.keeps(o, s.ID, "")
	p.hasFolder(o)
}

// trash moves the profile to the trash, or back.
func (p *powered) trash(o *owned) {
	p.ends(o.row, o.trash)
	if o.trashed = !o.trashed; o.trashed {
		p.do("DELETE", "/profiles/"+o.id, nil, 204, nil)
		o.trash = p.acknowledged("in the trash: "+o.id, func(r *recovered) error { return r.hasRow(o.id, "", true) })
		return
	}
	p.do("POST", "/profiles/"+o.id+"/restore", nil, 200, nil)
	o.row = p.acknowledged("back from the trash: "+o.id, func(r *recovered) error { return r.hasRow(o.id, "", false) })
}

// purge deletes the profile for good.
func (p *powered) purge(o *owned) {
	p.ends(o.row, o.trash, o.folder)
	p.ends(o.runs...)
	for _, f := range o.kept {
		p.ends(f)
	}
	p.do("DELETE", "/profiles/"+o.id+"?permanent=true", nil, 204, nil)
	p.acknowledged("deleted for good: "+o.id, func(r *recovered) error { return r.hasNothing(o.id) })
}

// start starts the profile's browser, which ends at once. The run is recorded.
func (p *powered) start(o *owned) {
	p.ends(o.folder)
	p.ends(o.runs...)
	before := p.disk.Steps()
	r, err := p.try("POST", "/profiles/"+o.id+"/start", nil)
	if err != nil || r.status < 400 {
		p.t.Errorf("%d %s, %v", r.status, r.body, err)
	}
	if seen := p.get(o.id); seen.LastRun == nil {
		p.t.Errorf("no run is recorded after %d steps: %s", before, r.body)
		return
	}
	o.runs = append(o.runs, p.acknowledged("a run of "+o.id, func(r *recovered) error { return r.hasRun(o.id) }))
}

// backup makes a backup on the same disk.
func (p *powered) backup() {
	place := filepath.Join(p.disk.Dir, "backups")
	out, err := p.command("backup", "--json", "--data", p.data, place).CombinedOutput()
	if err != nil {
		p.t.Errorf("%v\n%s", err, out)
		return
	}
	_, id, _ := strings.Cut(string(out), `"id":`)
	id = strings.Trim(strings.SplitN(id, ",", 2)[0], " \"")
	p.acknowledged("the backup "+id, func(r *recovered) error { return r.hasBackup(id) })
	restored := "restored-" + id
	if out, err := p.command("restore", "--data", filepath.Join(p.disk.Dir, restored), place).CombinedOutput(); err != nil {
		p.t.Errorf("%v\n%s", err, out)
		return
	}
	p.acknowledged("the restored "+id, func(r *recovered) error {
		return noFaults(snapshots.Check(r.t.Context(), snapshots.CheckOptions{Data: filepath.Join(r.dir, restored), ReadAll: true}))
	})
}

// work does so many rounds of requests.
func (p *powered) work(worker, rounds int) {
	random := rand.New(rand.NewPCG(uint64(worker), 18))
	var mine []*owned
	for i := range rounds {
		text := fmt.Sprintf("worker %d, round %d", worker, i)
		if len(mine) < 2 || random.IntN(6) == 0 {
			mine = append(mine, p.newOwned(p.profile(nil), ""))
		}
		place := random.IntN(len(mine))
		o := mine[place]
		if o.trashed {
			if random.IntN(2) == 0 {
				p.purge(o)
				mine = append(mine[:place], mine[place+1:]...)
			} else {
				p.trash(o)
			}
			continue
		}
		switch random.IntN(9) {
		case 0:
			p.change(o, text)
		case 1, 2:
			p.write(o, text)
			p.snapshot(o)
		case 3:
			p.rollback(o)
		case 4:
			if o.text != "" && len(mine) < 12 {
				mine = append(mine, p.clone(o)...)
			}
		case 5:
			p.trash(o)
		case 6:
			if p.lives && o.text != "" {
				p.live(o)
			} else if i%3 == 0 {
				p.start(o)
			}
		case 7:
			if worker == 0 && random.IntN(2) == 0 {
				p.backup()
			} else {
				p.write(o, text)
				p.snapshot(o)
				p.write(o, text+"!")
				p.rollback(o)
			}
		case 8:
			if o.text != "" && len(mine) < 12 {
				mine = append(mine, p.carry(o))
			}
		}
	}
}

// recovered is what the next server finds.
type recovered struct {
	t     testing.TB
	dir   string
	store *store.Store
	*snapshots.Keeper
}

func (r *recovered) hasRow(id, notes string, trashed bool) error {
	p, err := r.store.Read().GetProfileAny(r.t.Context(), store.GetProfileAnyParams{ID: id})
	if err == nil && (notes != "" && p.Notes != notes || p.Trashed != trashed) {
		err = fmt.Errorf("notes %q, in the trash: %v", p.Notes, p.Trashed)
	}
	return err
}

func (r *recovered) hasNothing(id string) error {
	if err := r.hasRow(id, "", false); !errors.Is(err, store.ErrNoRow) {
		return fmt.Errorf("its row is there: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(r.dir, "data", "profiles", id)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("its folder is there: %w", err)
	}
	return nil
}

func (r *recovered) hasSnapshot(profile, id, text string) error {
	s, err := r.Get(r.t.Context(), store.All(), profile, id)
	if err == nil && s.Name != text {
		err = fmt.Errorf("it is %q", s.Name)
	}
	return err
}

// hasData prepares a profile, as its next start does, and compares its files.
func (r *recovered) hasData(id, text string) error {
	p, err := r.store.Read().GetProfileAny(r.t.Context(), store.GetProfileAnyParams{ID: id})
	if err == nil {
		_, err = r.Prepare(r.t.Context(), p)
	}
	return errors.Join(err, r.holdsText(id, text))
}

// holdsText compares a profile's files.
func (r *recovered) holdsText(id, text string) (err error) {
	for _, name := range []string{"Text", "Copy"} {
		got, readErr := os.ReadFile(filepath.Join(r.dir, "data", "profiles", id, "chrome", "Default", name))
		if err = errors.Join(err, readErr); err == nil && string(got) != strings.Repeat(text+"\n", 400) {
			err = fmt.Errorf("%s has %d bytes, such as %.40q", name, len(got), got)
		}
	}
	return err
}

func (r *recovered) hasRun(id string) error {
	p, err := r.store.Read().GetProfileAny(r.t.Context(), store.GetProfileAnyParams{ID: id})
	if err == nil && p.LastRun == nil {
		err = errors.New("it has no last run")
	}
	return err
}

func (r *recovered) hasStarted(id string) error {
	p, err := r.store.Read().GetProfileAny(r.t.Context(), store.GetProfileAnyParams{ID: id})
	if err == nil && p.LastStartedAt == 0 {
		err = errors.New("it was never started")
	}
	return err
}

func (r *recovered) hasStopped(id, run string) error {
	p, err := r.store.Read().GetProfileAny(r.t.Context(), store.GetProfileAnyParams{ID: id})
	if err == nil && (p.LastRun == nil || !strings.Contains(*p.LastRun, run) || !strings.Contains(*p.LastRun, `"stopped"`)) {
		err = fmt.Errorf("its last run is %+v", p.LastRun)
	}
	return err
}

func (r *recovered) hasBackup(id string) error {
	place := packs.Folder(filepath.Join(r.dir, "backups"))
	return noFaults(snapshots.Check(r.t.Context(), snapshots.CheckOptions{From: place, ID: id, ReadAll: true}))
}

func noFaults(found *snapshots.Checked, err error) error {
	if err == nil && len(found.Faults) > 0 {
		err = fmt.Errorf("%q", found.Faults)
	}
	return err
}

// memory is a folder that no disk is waited for, where there is one.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "cut")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// cut fails the power after so many steps, and looks at what remains. It returns how many facts there were, and which are lost.
func (p *powered) cut(t *testing.T, steps int, random *rand.Rand) (facts int, lost []string) {
	dir := filepath.Join(memory(t), "disk")
	if err := p.disk.Cut(steps, random).WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "data")
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		return 1, []string{fmt.Sprint("the database does not open: ", err)}
	}
	defer st.Close()
	r := &recovered{t, dir, st, snapshots.New(data, slog.New(slog.DiscardHandler), st, events.New())}
	for _, f := range p.facts {
		if f.from > steps || f.until <= steps {
			continue
		}
		facts++
		if err := f.holds(r); err != nil {
			lost = append(lost, fmt.Sprintf("%s, acknowledged at %d: %v", f.what, f.from, err))
		}
	}
	if err := noFaults(snapshots.Check(t.Context(), snapshots.CheckOptions{Data: data, ReadAll: true})); err != nil {
		lost = append(lost, fmt.Sprint("the check: ", err))
	}
	return facts, lost
}

// boot fails the power after so many steps, and starts the next server. What the power cut interrupted is finished or undone.
func (p *powered) boot(t *testing.T, steps int, random *rand.Rand) {
	dir := filepath.Join(memory(t), "disk")
	if err := p.disk.Cut(steps, random).WriteTo(dir); err != nil {
		t.Fatal(err)
	}
	p.data = filepath.Join(dir, "data")
	s := p.testbed.serve("--browser", filepath.Join(p.testbed.dir, "ends"))
	var list struct{ Total, TrashedCount int }
	s.do("GET", "/profiles?limit=1", nil, 200, &list)
	entries, err := os.ReadDir(filepath.Join(p.data, "profiles"))
	for _, e := range entries {
		if strings.Contains(e.Name(), ".") {
			t.Errorf("after step %d: %s is left over", steps, e.Name())
		}
	}
	if err != nil || len(entries) > list.Total+list.TrashedCount {
		t.Errorf("after step %d: %d folders of %d profiles, %v", steps, len(entries), list.Total+list.TrashedCount, err)
	}
	if code := s.terminate(); code != 0 {
		t.Errorf("after step %d: the server ended with %d", steps, code)
	}
}

// chosenBrowser is a script that is Chromium for profiles that live says so of, and else ends at once.
func chosenBrowser(dir, chromium string) string {
	return fmt.Sprintf(`for a; do case $a in --user-data-dir=*) d=${a#*=};; esac; done
d=${d%%/chrome}
[ -e %q"/lives-${d##*/}" ] && exec %q "$@"
exit 1`, dir, chromium)
}

// TestPowerCuts: after a power cut at any moment nothing is lost that was acknowledged, every database opens, and no head names a
// missing object. WARREN_POWER_CUTS is how many cuts there are; with it runs of Chromium are part of the work.
func TestPowerCuts(t *testing.T) {
	needFile(t)
	rounds, cuts, chromium := 30, 40, ""
	if n, err := strconv.Atoi(os.Getenv("WARREN_POWER_CUTS")); err == nil {
		rounds, cuts, chromium = 60, n, needBrowser(t)
	}
	g := newTestbed(t)
	disk := testnet.NewDisk(t)
	g.data = filepath.Join(disk.Dir, "data")
	g.script("ends", "exit 1") // of boot
	p := &powered{liveServer: g.serve("--browser", g.script("chosen", chosenBrowser(g.dir, chromium))), disk: disk, lives: chromium != ""}
	var wg sync.WaitGroup
	for worker := range 3 {
		wg.Go(func() { p.work(worker, rounds) })
	}
	wg.Wait()
	if code := p.terminate(); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	seed := rand.Uint64()
	checked, steps := 0, disk.Steps()
	for i := range cuts {
		at := rand.New(rand.NewPCG(seed, uint64(i))).IntN(steps + 1)
		facts, lost := p.cut(t, at, rand.New(rand.NewPCG(seed, uint64(i))))
		checked += facts
		for _, l := range lost {
			t.Errorf("seed %d, cut %d after step %d of %d: %s", seed, i, at, steps, l)
		}
	}
	for i := range 1 + cuts/50 {
		random := rand.New(rand.NewPCG(seed, uint64(cuts+i)))
		p.boot(t, random.IntN(steps+1), random)
	}
	kinds := map[string]int{}
	for _, f := range p.facts {
		kinds[strings.TrimRight(f.what, "0123456789abcdef-")]++
	}
	t.Logf("%d cuts over %d steps, %d acknowledged facts looked at, of these kinds: %v", cuts, steps, checked, kinds)
}
