package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"filippo.io/age"

	"warren/packs"
	"warren/testnet"
)

// onDisk keeps packs one after another in a file, which nobody waits for.
type onDisk struct {
	packs.Blobs
	file *os.File
	end  int64
	at   map[string][2]int64 // place and length
}

func newOnDisk(t testing.TB) *onDisk {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "objects"))
	must(t, err)
	t.Cleanup(func() { f.Close() }) //nolint:errcheck // a temporary file
	return &onDisk{file: f, at: map[string][2]int64{}}
}

func (d *onDisk) Put(_ context.Context, name string, _ int64, body io.Reader) error {
	n, err := io.Copy(io.NewOffsetWriter(d.file, d.end), body)
	d.at[name] = [2]int64{d.end, n}
	d.end += n
	return err
}

func (d *onDisk) Get(_ context.Context, name string, at, length int64) (io.ReadCloser, error) {
	is, ok := d.at[name]
	if !ok {
		return nil, packs.ErrNone
	}
	if length < 0 || length > is[1]-at {
		length = is[1] - at
	}
	return io.NopCloser(io.NewSectionReader(d.file, is[0]+at, length)), nil
}

// noise is a folder of files of random bytes, 16 MiB each.
func noise(t testing.TB, size int) string {
	t.Helper()
	dir := t.TempDir()
	random := rand.NewChaCha8([32]byte{1})
	for i := range size >> 24 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		must(t, err)
		_, err = io.CopyN(f, random, 1<<24)
		must(t, errors.Join(err, f.Close()))
	}
	return dir
}

// peak is the largest heap that was seen.
type peak uint64

func (p *peak) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	*p = max(*p, peak(m.HeapAlloc))
}

// measured is a file that looks at the heap at each mebibyte that is written or read.
type measured struct {
	*os.File
	peak *peak
	left int
}

func (m *measured) count(n int) {
	if m.left -= n; m.left <= 0 {
		m.left = 1 << 20
		m.peak.look()
	}
}

func (m *measured) Write(p []byte) (int, error) {
	m.count(len(p))
	return m.File.Write(p)
}

func (m *measured) ReadAt(p []byte, at int64) (int, error) {
	m.count(len(p))
	return m.File.ReadAt(p, at)
}

// large writes, opens and takes over a sealed archive of size bytes, and fails if the heap is ever larger than most.
func large(t *testing.T, size int, most peak) {
	t.Helper()
	from, err := packs.NewVault(newOnDisk(t), []byte(random(packs.SecretSize)))
	must(t, err)
	dir := noise(t, size)
	saved, err := from.Save(t.Context(), dir, packs.SaveOptions{Subject: packs.Subject{ID: "t1", Owner: "w|p"}})
	must(t, err)
	must(t, os.RemoveAll(dir))
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	f, err := os.Create(filepath.Join(t.TempDir(), "archive"))
	must(t, err)
	defer f.Close() //nolint:errcheck // a temporary file
	runtime.GC()
	var p peak
	m := &measured{File: f, peak: &p}
	o := Options{Recipients: []string{identity.Recipient().String()}}
	must(t, Write(t.Context(), m, o, these(profile("p1", from, saved.Tree))))
	t.Logf("written with %d MiB of heap", p>>20)
	info, err := f.Stat()
	must(t, err)
	a, err := Open(t.Context(), m, info.Size(), Keys{Identity: identity.String()})
	must(t, err)
	t.Logf("and read: %d MiB", p>>20)
	to, err := packs.NewVault(nowhere{}, make([]byte, packs.SecretSize))
	must(t, err)
	copied, err := a.CopyTo(t.Context(), 0, to, packs.CopyOptions{Subject: packs.Subject{ID: "t2", Owner: "w|p2"}})
	must(t, err)
	if p.look(); p > most {
		t.Errorf("the heap was %d MiB, want %d at most", p>>20, most>>20)
	}
	if copied.Read != int64(size) || info.Size() < int64(size) {
		t.Errorf("%d bytes of %d, in an archive of %d", copied.Read, size, info.Size())
	}
}

// TestLargeArchive: the memory that an archive takes does not depend on its bytes. It measures, so that no other test runs beside.
func TestLargeArchive(t *testing.T) { large(t, 96<<20, 64<<20) }

// TestLargerArchive is TestLargeArchive with a quarter of a GiB.
func TestLargerArchive(t *testing.T) {
	testnet.Long(t)
	large(t, 256<<20, 64<<20)
}

// BenchmarkArchive writes and opens 200 MiB, of which half are random bytes and half are text.
func BenchmarkArchive(b *testing.B) {
	from, err := packs.NewVault(newOnDisk(b), []byte(random(packs.SecretSize)))
	must(b, err)
	dir := noise(b, 96<<20)
	words := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // any words do
	for i := range 104 {
		var text []byte
		for len(text) < 1<<20 {
			text = fmt.Appendf(text, `{"key":%d,"value":"some text","number":%d},`, words.IntN(1000), words.Int64())
		}
		must(b, os.WriteFile(filepath.Join(dir, fmt.Sprint("text", i)), text, 0o600))
	}
	saved, err := from.Save(b.Context(), dir, packs.SaveOptions{Subject: packs.Subject{ID: "t1", Owner: "w|p"}})
	must(b, err)
	identity, err := age.GenerateX25519Identity()
	must(b, err)
	f, err := os.Create(filepath.Join(b.TempDir(), "archive"))
	must(b, err)
	defer f.Close() //nolint:errcheck // a temporary file
	o := Options{Recipients: []string{identity.Recipient().String()}}
	write := func() {
		_, err := f.Seek(0, io.SeekStart)
		must(b, err)
		must(b, Write(b.Context(), f, o, these(profile("p1", from, saved.Tree))))
	}
	write()
	info, err := f.Stat()
	must(b, err)
	for name, do := range map[string]func(){"write": write, "open": func() {
		_, err := Open(b.Context(), f, info.Size(), Keys{Identity: identity.String()})
		must(b, err)
	}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(saved.Tree.Bytes())
			for b.Loop() {
				do()
			}
		})
	}
}
