package proxy

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oschwald/maxminddb-golang/v2"
)

//go:generate make -C .. zones

// geoStatInterval is how often look-ups check whether the file has changed.
const geoStatInterval = 5 * time.Second

// OpenGeo reads an MMDB file (https://maxmind.github.io/MaxMind-DB/) and returns a look-up for Checker.Geo, safe for concurrent use.
// It takes the field names of several makers, such as MaxMind, DB-IP and IPinfo.
//
// A file that is replaced or rewritten is read again within geoStatInterval. While the new one cannot be read, the old one stays in use,
// and log, which may be nil, says so. The file is read into memory: if it were mapped, truncating it would crash the program.
func OpenGeo(path string, log *slog.Logger) (func(netip.Addr) (Place, bool), error) {
	g, err := openGeo(path, log, time.Now)
	if err != nil {
		return nil, err
	}
	return g.lookup, nil
}

type geo struct {
	path string
	log  *slog.Logger
	now  func() time.Time
	db   atomic.Pointer[maxminddb.Reader]

	mu       sync.Mutex  // held by the look-up that checks the file
	file     os.FileInfo // of the file when it was read last; nil when it was gone
	nextStat time.Time   // when the file is checked again
}

func openGeo(path string, log *slog.Logger, now func() time.Time) (*geo, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	g := &geo{path: path, log: log, now: now, nextStat: now().Add(geoStatInterval)}
	info, err := os.Stat(path)
	if err == nil {
		err = g.load(info)
	}
	if err != nil {
		return nil, fmt.Errorf("proxy: the geo database %s cannot be read: %w", path, err)
	}
	return g, nil
}

// load reads the file, which had the given info a moment before. A file that changes meanwhile has another info at the next check.
func (g *geo) load(info os.FileInfo) error {
	g.file = info
	text, err := os.ReadFile(g.path)
	if err != nil {
		return err
	}
	db, err := maxminddb.OpenBytes(text)
	if err != nil {
		return err
	}
	g.db.Store(db)
	return nil
}

func (g *geo) lookup(a netip.Addr) (Place, bool) {
	g.refresh()
	var m map[string]any
	if r := g.db.Load().Lookup(a.Unmap()); !r.Found() || r.Decode(&m) != nil {
		return Place{}, false
	}
	p := placeOf(m)
	return p, p != Place{}
}

// refresh reads the file again when it has changed. Other look-ups do not wait for that.
func (g *geo) refresh() {
	if !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	now := g.now()
	if now.Before(g.nextStat) {
		return
	}
	g.nextStat = now.Add(geoStatInterval)
	info, err := os.Stat(g.path)
	if err == nil && g.file != nil &&
		os.SameFile(info, g.file) && info.ModTime().Equal(g.file.ModTime()) && info.Size() == g.file.Size() {
		return
	}
	if err != nil && g.file == nil {
		return // it is still gone
	}
	if g.file = nil; err == nil {
		err = g.load(info)
	}
	if err != nil {
		g.log.Warn("the geo database cannot be read; the one read before stays", "file", g.path, "error", err)
		return
	}
	g.log.Info("the geo database was read again", "file", g.path)
}
