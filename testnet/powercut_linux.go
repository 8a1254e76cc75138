package testnet

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A power cut: of what was not waited for, any part is on the disk.

// The harshness of a cut.
const (
	sector = 512  // what a disk writes as a whole
	block  = 4096 // what a kernel writes at a time, in any order
)

// Remains is what a disk holds after a power cut.
type Remains struct {
	names map[uint64]map[string]uint64 // of each folder
	data  map[uint64][]byte
	nodes map[uint64]*node
}

// Cut returns what the disk would hold if the power had failed after so many steps. What a process had waited for is there (fsync(2)).
// Of the rest random decides: nothing of it is there, the first part of it, or any pages.
// Names are in one journal, as with ext4 and xfs: a wait for any file brings all of them. Or each folder has its own, and only a wait
// for the folder brings them.
func (d *Disk) Cut(steps int, random *rand.Rand) *Remains {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &Remains{names: map[uint64]map[string]uint64{root: {}}, data: map[uint64][]byte{}, nodes: map[uint64]*node{}}
	for id, n := range d.nodes {
		r.nodes[id] = n
	}
	r.cutNames(d.steps[:steps], random.IntN(2) == 0, random)
	r.cutData(d.steps[:steps], random)
	return r
}

// cutNames decides which names are there. It goes back over the steps and forth, and reads best as one.
func (r *Remains) cutNames(steps []step, journal bool, random *rand.Rand) {
	safe := make([]bool, len(steps))
	waited, all := map[uint64]bool{}, false // folders that were waited for later
	for i := len(steps) - 1; i >= 0; i-- {
		switch s := steps[i]; s.kind {
		case synced:
			waited[s.node], all = true, all || journal
		case moved:
			if all || waited[s.from] || waited[s.to] {
				safe[i] = true
				waited[s.from], waited[s.to] = true, true // what came before in the other folder is there too
				delete(waited, 0)
			}
		}
	}
	stopped, end := map[uint64]bool{}, false
	stay := random.Float64() // how likely it is that a change is there
	for i, s := range steps {
		if s.kind != moved {
			continue
		}
		if !safe[i] && (end || stopped[s.from] && s.from != 0 || stopped[s.to] && s.to != 0 || random.Float64() > stay) {
			stopped[s.from], stopped[s.to], end = true, true, journal
			continue
		}
		if s.from != 0 {
			delete(r.names[s.from], s.name)
		}
		if s.to != 0 {
			if r.names[s.to] == nil {
				r.names[s.to] = map[string]uint64{}
			}
			r.names[s.to][s.into] = s.node
		}
	}
}

// cutData decides what is in the files. It has a case for each way to lose a write, and reads best as one.
func (r *Remains) cutData(steps []step, random *rand.Rand) {
	safe := map[uint64]int{} // by file, the last step that was waited for
	for i, s := range steps {
		if s.kind == synced {
			safe[s.node] = i
		}
	}
	way, stay := random.IntN(3), random.Float64()
	ended := map[uint64]bool{}
	for i, s := range steps {
		if s.kind != wrote && s.kind != truncated {
			continue
		}
		last, waited := safe[s.node]
		certain := waited && i < last
		switch {
		case !certain && (way == 0 || ended[s.node]):
		case s.kind == truncated:
			if certain || way == 1 || random.Float64() < stay {
				r.data[s.node] = resize(r.data[s.node], s.at)
			}
		case certain:
			r.data[s.node] = overwrite(r.data[s.node], s.at, s.data)
		case way == 1: // the first part
			text := s.data
			if random.Float64() > stay {
				ended[s.node] = true
				text = text[:min(len(text), random.IntN(len(text)/sector+1)*sector)]
			}
			r.data[s.node] = overwrite(r.data[s.node], s.at, text)
		default: // any pages
			r.writePages(s, stay, random)
		}
	}
}

// writePages writes some of the pages of a write.
func (r *Remains) writePages(s step, stay float64, random *rand.Rand) {
	for at := int64(0); at < int64(len(s.data)); {
		end := min(at+block-(s.at+at)%block, int64(len(s.data)))
		if random.Float64() < stay {
			r.data[s.node] = overwrite(r.data[s.node], s.at+at, s.data[at:end])
		}
		at = end
	}
}

// WriteTo writes what remains to a folder, which must not exist.
func (r *Remains) WriteTo(dir string) error { return r.write(root, dir) }

func (r *Remains) write(folder uint64, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, id := range r.names[folder] {
		path, n := filepath.Join(dir, name), r.nodes[id]
		var err error
		switch n.mode & unix.S_IFMT {
		case unix.S_IFDIR:
			err = r.write(id, path)
		case unix.S_IFLNK:
			err = os.Symlink(n.target, path)
		case unix.S_IFREG:
			err = os.WriteFile(path, r.data[id], os.FileMode(n.mode&0o777)|0o600)
			err = errors.Join(err, os.Chtimes(path, n.modified, n.modified))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
