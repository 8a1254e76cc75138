package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"warren/events"
	"warren/snapshots"
	"warren/store"
)

// What happens on a machine whose power fails (TestMachineCuts). This binary is the machine's first process.

// Where things are on the machine.
const (
	machineInit    = "/init"
	machineEnds    = "/ends" // stands for a browser that ends at once
	machineWarren  = "/warren"
	machineModules = "/modules"
	machineDisk    = "/disk"
	machineWire    = "/dev/ttyS1" // to the test
	machineKnown   = "/dev/vdb"   // lines of deeds that it was told, ended by zeros
)

// playMachine is what this binary does where it is a machine's first process, or the machine's browser.
func playMachine(args []string) {
	if args[0] == machineEnds {
		if slices.Contains(args, "--version") {
			fmt.Println("Chromium 156.0.0.1")
			os.Exit(0)
		}
		os.Exit(1)
	}
	if os.Getpid() != 1 || args[0] != machineInit {
		return
	}
	if err := bringUp(); err != nil {
		fmt.Println("the machine does not come up:", err)
		os.Exit(1)
	}
	os.Args = []string{machineInit, "-test.run=^TestInsideMachine$", "-test.v", "-test.timeout=0"}
}

// bringUp makes a machine of what the kernel has started.
func bringUp() error {
	for name, value := range map[string]string{"WARREN_TEST_BINARY": machineWarren, "TMPDIR": "/tmp", "PATH": "/"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}} {
		if err := errors.Join(os.MkdirAll(m.at, 0o755), unix.Mount(m.kind, m.at, m.kind, 0, "")); err != nil {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	modules, err := os.ReadDir(machineModules) // named in the order of their needs
	if err != nil {
		return err
	}
	for _, m := range modules {
		file, err := os.Open(filepath.Join(machineModules, m.Name()))
		if err == nil {
			err = errors.Join(unix.FinitModule(int(file.Fd()), "", 0), file.Close())
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	if err := loopback(); err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := os.MkdirAll(machineDisk, 0o755); err != nil {
		return err
	}
	// The file system guesses nothing of what programs forgot to wait for, and itself writes seldom.
	if err := unix.Mount("/dev/vda", machineDisk, "ext4", 0, "noauto_da_alloc,commit=60"); err != nil {
		return fmt.Errorf("the disk: %w", err)
	}
	return nil
}

// loopback does what `ip link set lo up` does (netdevice(7)).
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// wire takes lines to the test, which outlive the machine.
type wire struct {
	mu   sync.Mutex
	line *os.File
}

func openWire() (*wire, error) {
	file, err := os.OpenFile(machineWire, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	mode, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	if err == nil {
		mode.Oflag &^= unix.OPOST
		mode.Lflag &^= unix.ECHO | unix.ICANON | unix.ISIG
		err = unix.IoctlSetTermios(int(file.Fd()), unix.TCSETS, mode)
	}
	return &wire{line: file}, err
}

// say sends a line, and waits until it has left the machine (tcdrain(3)).
func (w *wire) say(kind, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := fmt.Fprintf(w.line, "%s %s\n", kind, strings.ReplaceAll(text, "\n", "; ")); err != nil {
		return err
	}
	return unix.IoctlSetInt(int(w.line.Fd()), unix.TCSBRK, 1)
}

// readKnown reads what the machine was told of earlier boots.
func readKnown() (ledger, error) {
	l := ledger{profiles: map[string]*known{}}
	text, err := os.ReadFile(machineKnown)
	if err != nil {
		return l, err
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	for line := range bytes.Lines(text) {
		var d deed
		if err := json.Unmarshal(line, &d); err != nil {
			return l, err
		}
		l.note(d)
	}
	return l, nil
}

// TestInsideMachine looks for what was acknowledged before the power failed, and then works until it fails again.
func TestInsideMachine(t *testing.T) {
	if os.Getpid() != 1 || os.Args[0] != machineInit {
		t.Skip("the part of TestMachineCuts that runs on its machine")
	}
	w, err := openWire()
	if err != nil {
		t.Fatal(err)
	}
	l, err := readKnown()
	if err != nil {
		t.Fatal(err)
	}
	facts, lost := l.verify(t)
	for _, text := range lost {
		if err := w.say("lost", text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.say("facts", fmt.Sprint(facts)); err != nil {
		t.Fatal(err)
	}
	g := newTestbed(t)
	g.data = filepath.Join(machineDisk, "data")
	s := &machineServer{liveServer: g.serve("--browser", machineEnds), wire: w}
	if err := w.say("works", ""); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.clear(l.alive()) })
	for worker := range 3 {
		wg.Go(func() {
			for round := 0; !t.Failed(); round++ {
				s.lead(worker, round)
			}
		})
	}
	wg.Wait()
}

// verify looks at everything that was acknowledged. It returns how many facts there are, and which are lost.
func (l ledger) verify(t *testing.T) (facts int, lost []string) {
	data := filepath.Join(machineDisk, "data")
	if len(l.profiles) == 0 {
		return 0, nil // it may never have served
	}
	st, err := store.Open(t.Context(), data, store.Options{})
	if err != nil {
		return 1, []string{fmt.Sprint("the database does not open: ", err)}
	}
	defer st.Close()
	r := &recovered{t, machineDisk, st, snapshots.New(data, slog.New(slog.DiscardHandler), st, events.New())}
	holds := func(what string, err error) {
		if facts++; err != nil {
			lost = append(lost, fmt.Sprintf("%s: %v", what, err))
		}
	}
	for id, k := range l.profiles {
		k.holds(r, id, holds)
	}
	if l.backup != "" {
		holds("the backup "+l.backup, r.hasBackup(l.backup))
	}
	holds("the check", noFaults(snapshots.Check(t.Context(), snapshots.CheckOptions{Data: data, ReadAll: true})))
	return facts, lost
}

// machineServer is a server on a machine, and the wire on which it is told what was acknowledged.
type machineServer struct {
	*liveServer
	*wire
	backups sync.Mutex
}

// told does something that must not be lost. Its line before and the one after are on the wire when it begins and when it returns.
func (s *machineServer) told(d deed, do func(d *deed)) deed {
	s.t.Helper()
	send := func() {
		text, err := json.Marshal(d)
		if err == nil {
			err = s.say("deed", string(text))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	send()
	do(&d)
	d.Done = true
	send()
	return d
}

// clear deletes profiles of earlier boots, until a few are left.
func (s *machineServer) clear(ids []string) {
	for len(ids) > 8 && !s.t.Failed() {
		s.purge(ids[0])
		ids = ids[1:]
	}
}

// lead leads a profile through all that can happen to it. Each step is acknowledged before the next one begins.
func (s *machineServer) lead(worker, round int) {
	text := func(step string) string { return fmt.Sprintf("worker %d, round %d, %s", worker, round, step) }
	id := s.told(deed{What: didCreate, Text: text("made")}, func(d *deed) {
		d.Profile = s.profile(map[string]any{"notes": d.Text})
	}).Profile
	s.told(deed{What: didChange, Profile: id, Text: text("changed")}, func(d *deed) {
		s.do("PUT", "/profiles/"+id, map[string]any{"notes": d.Text}, 200, nil)
	})
	if (worker+round)%2 == 0 {
		s.told(deed{What: didStart, Profile: id}, func(d *deed) { s.startInVain(id) })
	}
	first := s.keep(id, text("first"))
	s.keep(id, text("second"))
	s.told(deed{What: didRollBack, Profile: id, Text: text("first")}, func(d *deed) {
		s.do("POST", "/profiles/"+id+"/rollback", map[string]any{"snapshotId": first}, 200, nil)
	})
	clones := s.told(deed{What: didClone, Profile: id, Text: text("first")}, func(d *deed) {
		var many struct{ Data []struct{ ID string } }
		s.do("POST", "/profiles/"+id+"/clone", map[string]any{"count": 2, "withData": true}, 201, &many)
		for _, c := range many.Data {
			d.Made = append(d.Made, c.ID)
		}
	}).Made
	s.told(deed{What: didImport, Profile: id, Text: text("first")}, func(d *deed) {
		file := s.file("GET", "/profiles/"+id+"/export?unsealed=true", nil, "", 200)
		var made struct{ Profiles []struct{ ID string } }
		reply{201, s.file("POST", "/profiles/import", file, "", 201)}.want(s.t, "import", 201, &made)
		d.Made = []string{made.Profiles[0].ID}
	})
	if worker == round%3 {
		s.backup()
	}
	s.told(deed{What: didTrash, Profile: id}, func(*deed) { s.do("DELETE", "/profiles/"+id, nil, 204, nil) })
	s.told(deed{What: didRestore, Profile: id}, func(*deed) { s.do("POST", "/profiles/"+id+"/restore", nil, 200, nil) })
	s.told(deed{What: didTrash, Profile: clones[0]}, func(*deed) { s.do("DELETE", "/profiles/"+clones[0], nil, 204, nil) })
	s.purge([]string{id, clones[0], clones[1]}[round%3])
}

// keep writes files of a profile, as a browser does that waits for nothing, and makes a snapshot of them.
func (s *machineServer) keep(id, text string) (snapshot string) {
	return s.told(deed{What: didKeep, Profile: id, Text: text}, func(d *deed) {
		dir := filepath.Join(s.data, "profiles", id, "chrome", "Default")
		err := os.MkdirAll(dir, 0o700)
		for _, name := range []string{"Text", "Copy"} {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat(text+"\n", 400)), 0o600))
		}
		if err != nil {
			s.t.Fatal(err)
		}
		var made snapshotView
		s.do("POST", "/profiles/"+id+"/snapshots", map[string]any{"name": text, "pinned": true}, 201, &made)
		d.Snapshot = made.ID
	}).Snapshot
}

// startInVain starts the profile's browser, which ends at once. The run is recorded.
func (s *machineServer) startInVain(id string) {
	r, err := s.try("POST", "/profiles/"+id+"/start", nil)
	if err != nil || r.status < 400 || s.get(id).LastRun == nil {
		s.t.Fatalf("a start of a browser that ends at once: %d %s, %v", r.status, r.body, err)
	}
}

// backup makes a backup on the machine's disk.
func (s *machineServer) backup() {
	s.backups.Lock()
	defer s.backups.Unlock()
	s.told(deed{What: didBackUp}, func(d *deed) {
		out, err := s.command("backup", "--json", "--data", s.data, filepath.Join(machineDisk, "backups")).CombinedOutput()
		var made struct{ ID string }
		if err != nil || json.Unmarshal(out, &made) != nil {
			s.t.Fatalf("backup: %v\n%s", err, out)
		}
		d.Backup = made.ID
	})
}

// purge deletes a profile for good.
func (s *machineServer) purge(id string) {
	s.told(deed{What: didPurge, Profile: id}, func(*deed) { s.do("DELETE", "/profiles/"+id+"?permanent=true", nil, 204, nil) })
}
