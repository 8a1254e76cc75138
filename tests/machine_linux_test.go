package tests

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"warren/testnet"
)

// Whole machines: a virtual one with a kernel of its own runs the server, and its power fails while it works.

// cutMachine is a virtual machine, and all that it said over its boots.
type cutMachine struct {
	t              *testing.T
	dir            string
	kernel, initrd string // files
	drive          *testnet.Drive
	deeds          bytes.Buffer // lines
	errs           testnet.Buffer
	facts, lost    int
}

// newCutMachine makes a machine with an empty disk. What it needs is installed, or said.
func newCutMachine(t *testing.T) *cutMachine {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("needs amd64: the machine runs this binary")
	}
	for tool, from := range map[string]string{"qemu-system-x86_64": "qemu-system-x86", "mkfs.ext4": "e2fsprogs"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s (Debian's package %s): %v", tool, from, err)
		}
	}
	// A kernel is installed, or unpacked into a folder.
	root := os.Getenv("WARREN_MACHINE_KERNEL")
	kernels, _ := filepath.Glob(filepath.Join(root, "/boot/vmlinuz-*"))
	if len(kernels) == 0 {
		t.Skipf("needs a kernel, %s/boot/vmlinuz-* with %s/lib/modules (Debian's package linux-image-cloud-amd64): make power-cuts "+
			"fetches one", root, root)
	}
	m := &cutMachine{t: t, dir: t.TempDir(), kernel: kernels[len(kernels)-1]}
	_, release, _ := strings.Cut(filepath.Base(m.kernel), "-")
	if err := m.pack(filepath.Join(root, "/lib/modules", release)); err != nil {
		t.Fatal(err)
	}
	m.drive = testnet.NewDrive(t, 1<<30, func(image string) error {
		out, err := exec.Command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", image).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("mkfs.ext4: %w: %s", err, out)
		}
		return err
	})
	return m
}

// pack writes the machine's first file system: the programs and the kernel's modules, in the order of their needs.
func (m *cutMachine) pack(modules string) error {
	program, own := filepath.Join(m.dir, "warren"), filepath.Join(m.dir, "own")
	for _, args := range [][]string{{"build", "-o", program, "warren"}, {"test", "-c", "-o", own, "warren/tests"}} {
		cmd := exec.Command("go", append(args[:len(args)-1:len(args)-1], "-ldflags=-s -w", args[len(args)-1])...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // the machine has no library of C
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	names, err := modulesFor(modules, "virtio_pci", "virtio_blk")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	files := map[string]string{machineInit: own, machineWarren: program}
	for i, name := range names {
		files[fmt.Sprintf("%s/%02d-%s", machineModules, i, filepath.Base(name))] = name
	}
	addToArchive(&out, machineModules, 0o040755, nil)
	addToArchive(&out, machineEnds, 0o120777, []byte(machineInit))
	for name, from := range files {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		addToArchive(&out, name, 0o100755, text)
	}
	addToArchive(&out, "TRAILER!!!", 0, nil)
	m.initrd = filepath.Join(m.dir, "initrd")
	return errors.Join(os.WriteFile(m.initrd, out.Bytes(), 0o600), os.Remove(program), os.Remove(own))
}

// addToArchive adds a file to an archive as kernels read it (the kernel's driver-api/early-userspace/buffer-format.rst).
func addToArchive(out *bytes.Buffer, name string, mode int, text []byte) {
	name = strings.TrimPrefix(name, "/")
	pad := func() { out.Write(make([]byte, -out.Len()&3)) }
	out.WriteString("070701")
	for _, field := range []int{out.Len(), mode, 0, 0, 1, 0, len(text), 0, 0, 0, 0, len(name) + 1, 0} {
		fmt.Fprintf(out, "%08X", field)
	}
	out.WriteString(name + "\x00")
	pad()
	out.Write(text)
	pad()
}

// modulesFor returns the files of kernel modules and of those that they need, which come first. What is built in is none.
func modulesFor(dir string, names ...string) (out []string, err error) {
	files := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(d.Name(), ".ko"); ok {
			files[strings.ReplaceAll(name, "-", "_")] = path
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no kernel modules, or compressed ones", dir)
	}
	for _, name := range names {
		out, err = addModule(out, files, name, err)
	}
	return out, err
}

func addModule(before []string, files map[string]string, name string, failed error) ([]string, error) {
	path := files[name]
	if failed != nil || path == "" || slices.Contains(before, path) {
		return before, failed
	}
	file, err := elf.Open(path)
	if err != nil {
		return before, err
	}
	defer file.Close()
	section := file.Section(".modinfo")
	if section == nil {
		return before, fmt.Errorf("%s tells nothing of itself", path)
	}
	text, err := section.Data()
	for entry := range strings.SplitSeq(string(text), "\x00") {
		needs, ok := strings.CutPrefix(entry, "depends=")
		for need := range strings.SplitSeq(needs, ",") {
			if ok {
				before, err = addModule(before, files, need, err)
			}
		}
	}
	return append(before, path), err
}

// command is the machine, powered on.
func (m *cutMachine) command() *exec.Cmd {
	told := append(bytes.Clone(m.deeds.Bytes()), 0)
	known := filepath.Join(m.dir, "known")
	if err := os.WriteFile(known, append(told, make([]byte, -len(told)&511)...), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return exec.Command("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "1024", "-smp", "2", "-nodefaults",
		"-no-reboot", "-display", "none", "-nic", "none", "-kernel", m.kernel, "-initrd", m.initrd,
		"-append", "console=ttyS0 quiet mitigations=off panic=-1 rdinit="+machineInit,
		"-serial", "file:"+filepath.Join(m.dir, "console"), "-serial", "stdio",
		"-drive", "if=virtio,format=raw,cache=writeback,file=nbd+unix:///?socket="+m.drive.Socket,
		"-drive", "if=virtio,format=raw,readonly=on,file="+known)
}

// boot powers the machine on, and off at a random moment of its work. With last it is off once it works.
func (m *cutMachine) boot(random *rand.Rand, last bool) {
	cmd := m.command()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = &m.errs
	out, err := cmd.StdoutPipe()
	if err == nil {
		runtime.LockOSThread() // the machine dies with this thread
		defer runtime.UnlockOSThread()
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	defer cmd.Wait()         //nolint:errcheck // it was killed
	defer cmd.Process.Kill() //nolint:errcheck // it may be gone
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			lines <- in.Text()
		}
	}()
	clock, drive := time.After(testnet.Patience), (<-chan struct{})(nil)
	switch moment := random.IntN(8); {
	case last:
		m.await(lines, "works", 1)
		clock = time.After(0)
	case moment == 0: // while the machine sets right what the last cut has left, or soon after
		drive = m.drive.FailAfter(random.IntN(200))
	case moment < 6: // of the drive: then more is in its cache
		m.await(lines, "works", 1)
		m.await(lines, "deed", random.IntN(80))
		drive = m.drive.FailAfter(random.IntN(100))
	default: // of the clock
		m.await(lines, "works", 1)
		m.await(lines, "deed", random.IntN(80))
		clock = time.After(time.Duration(random.IntN(2000)) * time.Millisecond)
	}
	m.until(lines, clock, drive)
	if err := cmd.Process.Kill(); err != nil {
		m.t.Fatal(err)
	}
	for line := range lines { // what it said before
		m.hear(line)
	}
}

// await hears a machine until it has said so many lines of a kind.
func (m *cutMachine) await(lines <-chan string, kind string, n int) {
	late := time.NewTimer(testnet.Patience)
	defer late.Stop()
	for n > 0 {
		select {
		case line, open := <-lines:
			if !open {
				m.ended()
			}
			if m.hear(line) == kind {
				n--
			}
		case <-late.C:
			m.ended()
		}
	}
}

// until hears a machine until its moment has come.
func (m *cutMachine) until(lines <-chan string, clock <-chan time.Time, drive <-chan struct{}) {
	for {
		select {
		case line, open := <-lines:
			if !open {
				m.ended()
			}
			m.hear(line)
		case <-clock:
			return
		case <-drive:
			return
		}
	}
}

// ended fails the test: the machine should work until it is cut off.
func (m *cutMachine) ended() {
	m.t.Helper()
	console, err := os.ReadFile(filepath.Join(m.dir, "console"))
	m.t.Fatalf("the machine has ended, or hangs: %v %s\n%s", err, &m.errs, console[max(0, len(console)-8000):])
}

// hear takes a line of the machine, and returns its kind.
func (m *cutMachine) hear(line string) (kind string) {
	kind, text, _ := strings.Cut(line, " ")
	switch kind {
	case "lost":
		m.lost++
		m.t.Error(text)
	case "facts":
		n, err := strconv.Atoi(text)
		if err != nil {
			m.t.Error(err)
		}
		m.facts += n
	case "deed":
		if !json.Valid([]byte(text)) {
			return "" // the last line may be torn
		}
		fmt.Fprintln(&m.deeds, text)
	}
	return kind
}

// TestMachineCuts: a whole machine whose power fails at a random moment has lost nothing, at its next boot, that it had acknowledged. Its
// database opens, and no profile goes on from a snapshot that is not there. WARREN_MACHINE_CUTS is how many cuts there are, on one disk.
func TestMachineCuts(t *testing.T) {
	cuts, err := strconv.Atoi(os.Getenv("WARREN_MACHINE_CUTS"))
	if err != nil {
		t.Skip("minutes of a virtual machine: make power-cuts runs it")
	}
	m := newCutMachine(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	began, dropped := time.Now(), 0
	for i := range cuts + 1 {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		before, facts, up := m.deeds.Len(), m.facts, time.Now()
		m.boot(random, i == cuts)
		writes, err := m.drive.Cut(random)
		if err != nil {
			t.Fatal(err)
		}
		dropped += writes
		t.Logf("boot %d, %.1f s: %d facts held; then %d lines, and %d writes in the drive's cache", i, time.Since(up).Seconds(),
			m.facts-facts, bytes.Count(m.deeds.Bytes()[before:], []byte("\n")), writes)
		if t.Failed() {
			t.Fatalf("found after cut %d", i)
		}
	}
	t.Logf("%d cuts, %d facts looked at, %d lost; %d writes were in the drive's cache; %.0f s", cuts, m.facts, m.lost, dropped,
		time.Since(began).Seconds())
}
