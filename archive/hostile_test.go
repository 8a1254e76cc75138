package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/packs"
)

// part is a member as it stands in a tar.
type part struct {
	head [block]byte
	text []byte
}

func newPart(name, text string) part { return part{header(name, int64(len(text))), []byte(text)} }

func (p part) name() string {
	name, _, _ := strings.Cut(string(p.head[:100]), "\x00")
	return name
}

// with returns the part with a change of its header, whose sum is right again.
func (p part) with(change func(head []byte)) part {
	change(p.head[:])
	copy(p.head[148:], "        ")
	sum := 0
	for _, c := range p.head {
		sum += int(c)
	}
	copy(p.head[148:], fmt.Sprintf("%06o\x00 ", sum))
	return p
}

// parts takes an unsealed archive apart, as far as its headers can be read, without its manifest.
func parts(b []byte) (all []part) {
	for len(b) >= block {
		p := part{head: [block]byte(b)}
		var size int64
		if _, err := fmt.Sscanf(string(p.head[124:135]), "%o", &size); err != nil || size < 0 || size > int64(len(b)-block) {
			break
		}
		p.text = b[block : block+size]
		b = b[min(int64(len(b)), block+size+padding(size)):]
		if p.name() == "manifest.json" {
			break
		}
		all = append(all, p)
	}
	return all
}

// join is the reverse of parts, with the manifest that belongs to them.
func join(all ...part) []byte {
	list := fmt.Sprintf("{\"format\":%d,\"members\":[\n", format)
	var b bytes.Buffer
	for i, p := range all {
		b.Write(p.head[:])
		b.Write(p.text)
		b.Write(make([]byte, padding(int64(len(p.text)))))
		list += fmt.Sprintf("{\"name\":%q,\"size\":%d,\"sha256\":\"%x\"}", p.name(), len(p.text), sumOf(string(p.text)))
		list += []string{",\n", "\n]}\n"}[min(1, (i+1)/len(all))]
	}
	m := newPart("manifest.json", list)
	b.Write(m.head[:])
	b.Write(m.text)
	b.Write(make([]byte, padding(int64(len(m.text)))+2*block))
	return b.Bytes()
}

// refused fails if an archive opens.
func refused(t *testing.T, what string, b []byte, k Keys, want ...error) {
	t.Helper()
	a, err := open(t, b, k)
	if a != nil || err == nil {
		t.Errorf("%s: it opens", what)
	} else if !slices.ContainsFunc(want, func(w error) bool { return errors.Is(err, w) }) {
		t.Errorf("%s: %v", what, err)
	}
}

// small returns a small archive with all kinds of members.
func small(t testing.TB, o Options) []byte {
	t.Helper()
	from := vault(t)
	tree := save(t, from, "t1", map[string]string{"a": "x", "d/b": random(100)})
	return written(t, o, profile("p1", from, tree), profile("p2", nil, nil))
}

// TestEveryBit: a changed bit in any byte of an archive is found, and so is each length that it is cut to or that is added.
func TestEveryBit(t *testing.T) {
	t.Parallel()
	identity, err := age.GenerateX25519Identity()
	must(t, err)
	for name, c := range map[string]struct {
		o Options
		k Keys
	}{
		"unsealed": {Options{Unsealed: true}, Keys{}},
		"sealed":   {Options{Recipients: []string{identity.Recipient().String()}}, Keys{Identity: identity.String()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := small(t, c.o)
			_, err := open(t, good, c.k)
			must(t, err)
			for at := range good {
				if !c.o.Unsealed && at > block && at%5 > 0 { // age's own parts are large
					continue
				}
				bad := bytes.Clone(good)
				bad[at] ^= 1 << (at % 8)
				refused(t, fmt.Sprint("a bit in byte ", at), bad, c.k,
					ErrDamaged, ErrTruncated, ErrNoArchive, ErrIdentity, ErrNewer, ErrSealed)
				if at%7 == 0 {
					refused(t, fmt.Sprint("the first bytes: ", at), good[:at], c.k, ErrTruncated)
				}
			}
			for _, more := range []int{1, 511, 512, 1024, 1 << 17} {
				refused(t, fmt.Sprint("more bytes: ", more), append(bytes.Clone(good), make([]byte, more)...), c.k,
					ErrDamaged, ErrTruncated)
			}
			if _, err := Open(t.Context(), bytes.NewReader(good[:len(good)-1]), int64(len(good)), c.k); !errors.Is(err, ErrTruncated) {
				t.Errorf("the file is shorter than its size: %v", err)
			}
			if _, err := Open(t.Context(), bytes.NewReader(good), int64(len(good)-1), c.k); !errors.Is(err, ErrTruncated) {
				t.Errorf("the file is longer than its size: %v", err)
			}
		})
	}
}

// TestOtherFiles: what is no archive is told so, and one of a newer format says what reads it.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", "PK\x03\x04 a zip file", "-----BEGIN AGE ENCRYPTED FILE-----\n", strings.Repeat("\x00", 2048)} {
		refused(t, text[:1], []byte(text), Keys{}, ErrNoArchive)
	}
	all := parts(small(t, Options{Unsealed: true}))
	all[0] = newPart("archive.json", `{"format":2,"warren":"v9.8","madeAt":"2030-01-02T03:04:05Z","secrets":{}}`)
	refused(t, "newer", join(all...), Keys{}, ErrNewer)
	if _, err := open(t, join(all...), Keys{}); !strings.Contains(err.Error(), "v9.8") {
		t.Errorf("%v", err)
	}
	broken := errors.New("the disk does not answer")
	good := small(t, Options{Unsealed: true})
	for _, at := range []int64{0, 600, 3000, int64(len(good)) - 1} {
		_, err := Open(t.Context(), breaking{bytes.NewReader(good), at, broken}, int64(len(good)), Keys{})
		if !errors.Is(err, broken) || errors.Is(err, ErrDamaged) {
			t.Errorf("%v, want %v", err, broken)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ended, bytes.NewReader(good), int64(len(good)-1), Keys{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// breaking fails where a byte is.
type breaking struct {
	r   io.ReaderAt
	at  int64
	err error
}

func (b breaking) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > b.at {
		return 0, b.err
	}
	return b.r.ReadAt(p, at)
}

// forger writes into an archive what Write would not.
type forger struct {
	*writer
	b bytes.Buffer
	v *packs.Vault
}

func newForger(t testing.TB) *forger {
	t.Helper()
	f := &forger{v: vault(t)}
	x, err := newWriter(t.Context(), &f.b, Options{})
	must(t, err)
	f.writer = x
	var h head
	must(t, json.Unmarshal(parts(f.b.Bytes())[0].text, &h))
	if f.vault, err = packs.NewVault(intoArchive{x}, h.Secret); err != nil { // without bounds
		t.Fatal(err)
	}
	return f
}

// TestHostileMembers: what has another shape than an archive is refused, also when its sums and its manifest are right.
func TestHostileMembers(t *testing.T) {
	t.Parallel()
	from := vault(t)
	f := newForger(t)
	for _, n := range []string{"1", "2"} {
		must(t, f.profile(t.Context(), profile("p"+n, from, save(t, from, "t"+n, map[string]string{n: random(100)}))))
	}
	must(t, f.profile(t.Context(), profile("p3", nil, nil)))
	must(t, f.end())
	good := parts(bytes.Clone(f.b.Bytes())) // archive, pack, tree 1, profile 1, pack, tree 2, profile 2, profile 3
	f.b.Reset()
	more := save(t, from, "t9", map[string]string{"c": random(100)})
	_, err := packs.Copy(t.Context(), from, more, f.vault, packs.CopyOptions{Subject: packs.Subject{ID: "9", Owner: "x"}})
	must(t, err)
	unneeded := parts(f.b.Bytes())[0]
	_, err = open(t, join(good...), Keys{})
	must(t, err)
	at := func(place int, p ...part) []part { return slices.Insert(slices.Clone(good), place, p...) }
	without := func(place int) []part { return slices.Delete(slices.Clone(good), place, place+1) }
	instead := func(place int, p part) []part { return slices.Insert(without(place), place, p) }
	text := func(place int, from, to string) []part {
		if !strings.Contains(string(good[place].text), from) {
			t.Fatalf("%s has no %s", good[place].text, from)
		}
		return instead(place, newPart(good[place].name(), strings.Replace(string(good[place].text), from, to, 1)))
	}
	typed := func(c byte) part { return newPart(good[4].name(), "x").with(func(b []byte) { b[156] = c }) }
	sized := func(size string) []part {
		return instead(7, good[7].with(func(b []byte) { copy(b[124:136], size) }))
	}
	cases := map[string][]part{
		"up": at(4, newPart("../x", "x")), "absolute": at(4, newPart("/etc/passwd", "x")), "up in it": at(4, newPart("packs/../../x", "x")),
		"unknown": at(4, newPart("readme.txt", "x")), "no name": at(4, newPart("", "x")), "no sum": at(4, newPart("packs/aa/aa", "x")),
		"other folder": instead(1, newPart("packs/-0"+good[1].name()[8:], string(good[1].text))),
		"number":       instead(2, newPart("trees/01", string(good[2].text))),
		"negative":     at(4, newPart("trees/-1", "x")), "zero": at(4, newPart("profiles/0.json", "{}")),
		"plus":      at(4, newPart("trees/+2", "x")),
		"hard link": at(4, typed('1')), "link": at(4, typed('2')), "device": at(4, typed('3')), "folder": at(4, typed('5')),
		"pax": at(4, typed('x')), "long name": at(4, typed('L')), "sparse": at(4, typed('S')), "old": at(4, typed(0)),
		"mode":         instead(7, good[7].with(func(b []byte) { b[103] = '4' })),
		"time":         instead(7, good[7].with(func(b []byte) { b[146] = '1' })),
		"behind name":  instead(7, good[7].with(func(b []byte) { b[99] = 'x' })),
		"end of head":  instead(7, good[7].with(func(b []byte) { b[511] = 'x' })),
		"prefix":       instead(7, good[7].with(func(b []byte) { copy(b[345:], "../..") })),
		"size of 0":    sized("00000000000\x00"),
		"size of less": sized("00000000001\x00"), "size of more": sized("00000007777\x00"), "size of GiB": sized("77777777777\x00"),
		"size in bits": sized("\x80\x00\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff"), "negative size": sized("-0000000001\x00"),
		"head twice": at(1, good[0]), "pack twice": at(4, good[1]), "tree twice": at(3, good[2]), "profile twice": at(4, good[3]),
		"no head": without(0), "no pack": without(1), "no tree": without(2), "no profile": without(3), "no last profile": without(6),
		"nothing": nil, "head only": good[:1], "packs only": good[:2], "tree without profile": good[:6],
		"head later":    append(slices.Clone(good[1:]), good[0]),
		"other order":   {good[0], good[1], good[4], good[5], good[6], good[2], good[3], good[7]},
		"other bytes":   instead(1, part{good[1].head, good[4].text}),
		"pack in front": {good[1], good[0], good[2], good[3], good[7]},
		"unneeded pack": at(4, unneeded), "other pack": instead(1, unneeded),
		"last tree without profile": {good[0], good[1], good[2], good[3], good[5]},
		"other's tree":              instead(2, newPart("trees/1", string(good[5].text))),
		"other's name":              text(3, `"id":"p1"`, `"id":"p9"`), "same name": text(7, `"id":"p3"`, `"id":"p1"`),
		"no ID":      text(7, `"id":"p3"`, `"id":""`),
		"more bytes": text(3, `"bytes":100`, `"bytes":101`), "more files": text(3, `"files":1`, `"files":2`),
		"other time": text(3, `"madeAt":"20`, `"madeAt":"19`), "no data": text(3, `"data"`, `"date"`),
		"unknown of profile": text(7, `"name"`, `"nom"`), "twice in it": text(7, `"name"`, `"id":"p3","name"`),
		"settings": text(7, `{"notes":"p3"}`, `[]`), "not JSON": text(7, `}`, ``), "not UTF-8": text(7, "Shop", "\xff"),
		"data without tree": text(7, `"name"`, `"data":{},"name"`),
		"other secret":      text(0, `"secret":"`, `"secret":"AAAA`), "short secret": text(0, `"secret":"`, `"secret":"","x":"`),
		"older format": text(0, `"format":1`, `"format":0`), "no format": text(0, `"format":1`, `"x":1`),
	}
	for name, all := range cases {
		refused(t, name, join(all...), Keys{}, ErrDamaged, ErrTruncated, ErrNoArchive)
	}
}

// TestHostileEnds: what does not end as an archive is refused.
func TestHostileEnds(t *testing.T) {
	t.Parallel()
	good := parts(small(t, Options{Unsealed: true}))
	whole := join(good...)
	end := len(whole) - 2*block
	list := bytes.Index(whole, []byte("manifest.json"))
	less := header("manifest.json", manifestLength(whole[list:])-block)
	for name, bad := range map[string][]byte{
		"manifest of less": slices.Concat(whole[:list], less[:], whole[list+block:]),
		"no end":           whole[:end], "half an end": whole[:end+block],
		"something at the end": append(bytes.Clone(whole[:len(whole)-1]), 1),
		"manifest of others":   bytes.Replace(whole, []byte(`"size":`), []byte(`"size":1`), 1),
		"shorter manifest":     bytes.Replace(whole, []byte("\n]}\n"), []byte("\n]}"), 1),
		"behind the manifest":  slices.Concat(whole[:end], join(good[1:]...)),
		"no manifest":          slices.Concat(whole[:list], make([]byte, 2*block)),
	} {
		refused(t, name, bad, Keys{}, ErrDamaged, ErrTruncated)
	}
}

// manifestLength is what the header of a manifest says.
func manifestLength(b []byte) int64 {
	_, size, _ := parseHeader([block]byte(b))
	return size
}

// TestHostileTrees: a tree that was sealed with the right secret, but leaves its folder, names what is not there, or says more
// than its bytes, is refused with little memory.
func TestHostileTrees(t *testing.T) {
	from := vault(t)
	good := save(t, from, "t1", map[string]string{"a": random(100), "b": random(100)})
	folders := func(n, length int) func(*packs.Tree) {
		return func(x *packs.Tree) {
			for i := range n {
				x.Folders = append(x.Folders, packs.Dir{Path: fmt.Sprintf("%0*d", length, i)})
			}
		}
	}
	for name, change := range map[string]func(*packs.Tree){
		"up":           func(x *packs.Tree) { x.Files[0].Path = "../a" },
		"absolute":     func(x *packs.Tree) { x.Files[0].Path = "/etc/passwd" },
		"link":         func(x *packs.Tree) { x.Links = []packs.Link{{Path: "l", Target: "../../x"}} },
		"twice":        func(x *packs.Tree) { x.Files[1].Path = "a" },
		"size":         func(x *packs.Tree) { x.Files[0].Size += 1 << 40 },
		"2^25 letters": folders(1<<13, 1<<12),
	} {
		f := newForger(t)
		bad := *good
		bad.Files = slices.Clone(good.Files)
		change(&bad)
		must(t, f.profile(t.Context(), profile("p1", from, &bad)))
		must(t, f.end())
		before := memory()
		refused(t, name, f.b.Bytes(), Keys{}, ErrDamaged)
		if took := memory() - before; took > 128<<20 {
			t.Errorf("%s: %d bytes of memory were taken for %d", name, took, f.b.Len())
		}
		if strings.HasPrefix(name, "2^") {
			err := Write(t.Context(), io.Discard, Options{Unsealed: true}, these(profile("p1", from, &bad)))
			if err == nil || !strings.Contains(err.Error(), "too many files") {
				t.Errorf("%s: it can be written: %v", name, err)
			}
		}
	}
}

// memory returns how many bytes were ever allocated.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// endless is a file that begins with some bytes, and goes on with what more returns for a place, in parts of one size.
type endless struct {
	start []byte
	step  int64
	more  func(place int64) []byte
}

func (e endless) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		from := e.start
		if at < int64(len(e.start)) {
			from = from[at:]
		} else {
			at -= int64(len(e.start))
			from = e.more(at / e.step)[at%e.step:]
			at += int64(len(e.start))
		}
		done := copy(p[n:], from)
		n, at = n+done, at+int64(done)
	}
	return n, nil
}

// TestEndlessArchives: ten million members, and members of GiB, are refused with little memory and before they are read.
func TestEndlessArchives(t *testing.T) {
	good := parts(small(t, Options{Unsealed: true}))
	start := join(good...)[:block+len(good[0].text)+int(padding(int64(len(good[0].text))))]
	zeros, letters := make([]byte, 1<<20), bytes.Repeat([]byte("a"), 1<<20)
	nothing := func(int64) []byte { return zeros }
	record := func(place int64) []byte {
		text := fmt.Sprintf(`{"id":"p%09d","name":"","settings":{"a":%q}}`, place, strings.Repeat("a", 300))
		p := newPart(fmt.Sprintf("profiles/%d.json", place+1), text)
		return append(append(p.head[:], text...), make([]byte, padding(int64(len(text))))...)
	}
	large := func(name string) endless {
		h := header(name, 4<<30)
		return endless{append(bytes.Clone(start), h[:]...), 1 << 20, nothing}
	}
	for name, r := range map[string]endless{
		"profiles":      {start, 2 * block, record},
		"manifest":      {start: large("manifest.json").start, step: 1 << 20, more: nothing},
		"pack":          large(good[1].name()),
		"tree":          large("trees/1"),
		"profile":       large("profiles/1.json"),
		"unknown":       large("x"),
		"empty blocks":  {start, 1 << 20, nothing},
		"head of GiB":   {start: large("archive.json").start[len(start):], step: 1 << 20, more: nothing},
		"header of age": {start: []byte(intro + "-> scrypt "), step: 1 << 20, more: func(int64) []byte { return letters }},
	} {
		before := memory()
		if _, err := Open(t.Context(), r, 10_000_000*1024, Keys{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if took := memory() - before; took > 192<<20 {
			t.Errorf("%s: %d bytes of memory were taken", name, took)
		}
	}
}

// TestLimits: nothing is written that cannot be read, and what is larger than that is not read. Archives of that size would take
// minutes, so that each limit is almost reached before.
func TestLimits(t *testing.T) {
	t.Parallel()
	from := vault(t)
	p := profile("p1", from, save(t, from, "t1", map[string]string{"a": random(100), "b": random(100)}))
	for name, c := range map[string]struct {
		reach func(*writer)
		want  error
	}{
		"members":  {func(x *writer) { x.members = make([]member, maxMembers-3) }, nil},
		"members+": {func(x *writer) { x.members = make([]member, maxMembers-2) }, ErrLarge},
		"lists":    {func(x *writer) { x.lists = maxLists - 2000 }, nil},
		"lists+":   {func(x *writer) { x.lists = maxLists - 200 }, ErrLarge},
		"records":  {func(x *writer) { x.records = maxRecords - 1000 }, nil},
		"records+": {func(x *writer) { x.records = maxRecords - 10 }, ErrLarge},
	} {
		x, err := newWriter(t.Context(), io.Discard, Options{})
		must(t, err)
		c.reach(x)
		if err := x.profile(t.Context(), p); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	b := written(t, Options{Unsealed: true}, p)
	for name, c := range map[string]struct {
		reach func(*scanner)
		fault string
	}{
		"chunks":   {func(s *scanner) { s.chunks = maxChunks - 2 }, ""},
		"chunks+":  {func(s *scanner) { s.chunks = maxChunks - 1 }, "more than 2097152 chunks"},
		"records":  {func(s *scanner) { s.records = maxRecords - 1000 }, ""},
		"records+": {func(s *scanner) { s.records = maxRecords - 10 }, "more than the 10 that it may have"},
	} {
		a := &Archive{plain: bytes.NewReader(b), packs: map[[32]byte]int{}, trees: map[int]int{}}
		s := &scanner{archive: a, r: bufio.NewReader(bytes.NewReader(b)), size: int64(len(b))}
		c.reach(s)
		if err := s.all(t.Context()); (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v", name, err)
		}
		s.close()
	}
	s := &scanner{archive: &Archive{members: make([]member, maxMembers-1), packs: map[[32]byte]int{}}, now: member{kind: packKind}}
	must(t, s.follows())
	s.archive.members = append(s.archive.members, member{})
	if err := s.follows(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "more than") {
		t.Errorf("one member more than there may be: %v", err)
	}
}

// TestOnlyWhole: nothing of an archive is in the way of the system's files: Open writes nothing.
func TestOnlyWhole(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	from := vault(t)
	b := written(t, Options{Unsealed: true}, profile("p1", from, save(t, from, "t1", map[string]string{"a": random(1000)})))
	before, err := os.ReadDir(dir)
	must(t, err)
	_, err = open(t, b, Keys{})
	must(t, err)
	after, err := os.ReadDir(dir)
	must(t, err)
	if len(before) != len(after) {
		t.Errorf("%v, before %v", after, before)
	}
}

// mend makes headers, sums and the manifest of a changed archive right again, so that what is changed in its members is reached.
func mend(b []byte) []byte {
	all := parts(b)
	if len(all) == 0 {
		return b
	}
	for i, p := range all {
		all[i] = newPart(p.name(), string(p.text))
		if m, ok := memberOf(p.name()); ok && m.kind == packKind {
			all[i] = newPart(member{kind: packKind, sum: sumOf(string(p.text))}.name(), string(p.text))
		}
	}
	return join(all...)
}

// FuzzOpen: whatever a file holds, Open refuses it, or everything in it can be taken over.
func FuzzOpen(f *testing.F) {
	bare := Options{Unsealed: true}
	for _, b := range [][]byte{small(f, bare), written(f, bare, profile("p1", nil, nil)), []byte(intro)} {
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, right bool) {
		if right {
			b = mend(b)
		}
		a, err := open(t, b, Keys{})
		if err != nil {
			return
		}
		to, err := packs.NewVault(nowhere{}, make([]byte, packs.SecretSize))
		must(t, err)
		ids := map[string]jsontext.Value{}
		for i, p := range a.Profiles() {
			ids[p.ID] = p.Settings
			if p.Data == nil {
				continue
			}
			saved, err := a.CopyTo(t.Context(), i, to, packs.CopyOptions{Subject: packs.Subject{ID: "t", Owner: p.ID}})
			if err != nil || saved.Tree.Bytes() != p.Data.Bytes {
				t.Errorf("the profile %q cannot be taken over: %v", p.ID, err)
			}
		}
		if len(ids) != len(a.Profiles()) || slices.Contains(slices.Collect(maps.Keys(ids)), "") {
			t.Errorf("%q", ids)
		}
	})
}

// nowhere takes every object and keeps none.
type nowhere struct{ packs.Blobs }

func (nowhere) Put(_ context.Context, _ string, size int64, body io.Reader) error {
	if n, err := io.Copy(io.Discard, body); err != nil || n != size {
		return errors.Join(err, io.ErrUnexpectedEOF)
	}
	return nil
}
