package proxy

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Writes small MMDB files (https://maxmind.github.io/MaxMind-DB/, version 2.0) for the tests. A file has a tree of 32-bit records over
// addresses, a data section, and metadata.

// mmdbValue encodes a string, a float64, a uint16, a slice of strings or a map.
func mmdbValue(v any) []byte {
	control := func(kind, size int) []byte {
		if size >= 29 { // up to 284 bytes: one more byte for the size
			return []byte{byte(kind<<5 | 29), byte(size - 29)}
		}
		if kind > 7 { // extended types: the type is in the second byte
			return []byte{byte(size), byte(kind - 7)}
		}
		return []byte{byte(kind<<5 | size)}
	}
	switch v := v.(type) {
	case string:
		return append(control(2, len(v)), v...)
	case float64:
		return binary.BigEndian.AppendUint64(control(3, 8), math.Float64bits(v))
	case int: // as uint32
		return binary.BigEndian.AppendUint32(control(6, 4), uint32(v))
	case []string:
		b := control(11, len(v))
		for _, s := range v {
			b = append(b, mmdbValue(s)...)
		}
		return b
	case map[string]any:
		b := control(7, len(v))
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			b = append(append(b, mmdbValue(k)...), mmdbValue(v[k])...)
		}
		return b
	}
	panic("mmdbValue: no such type")
}

// mmdb builds a file from networks to records.
func mmdb(records map[string]map[string]any) []byte {
	const none = -1
	tree := [][2]int{{none, none}} // a child: a node's number, none, or the offset of its data as -(offset+2)
	var data []byte
	for network, record := range records {
		p := netip.MustParsePrefix(network)
		bits := p.Addr().As16()
		length := p.Bits()
		if p.Addr().Is4() { // IPv4 lies at ::/96
			four := p.Addr().As4()
			bits, length = [16]byte{}, length+96
			copy(bits[12:], four[:])
		}
		node := 0
		for i := range length {
			side := int(bits[i/8]>>(7-i%8)) & 1
			if i == length-1 {
				tree[node][side] = -(len(data) + 2)
				break
			}
			if tree[node][side] < 0 {
				tree = append(tree, [2]int{none, none})
				tree[node][side] = len(tree) - 1
			}
			node = tree[node][side]
		}
		data = append(data, mmdbValue(record)...)
	}
	var out bytes.Buffer
	for _, n := range tree {
		for _, child := range n {
			switch {
			case child == none:
				child = len(tree)
			case child < 0:
				child = len(tree) + 16 + -child - 2
			}
			binary.Write(&out, binary.BigEndian, uint32(child))
		}
	}
	out.Write(make([]byte, 16))
	out.Write(data)
	out.WriteString("\xab\xcd\xefMaxMind.com")
	out.Write(mmdbValue(map[string]any{
		"node_count": len(tree), "record_size": 32, "ip_version": 6, "database_type": "Test", "languages": []string{"en"},
		"binary_format_major_version": 2, "binary_format_minor_version": 0, "build_epoch": 1700000000,
		"description": map[string]any{"en": "test"},
	}))
	return out.Bytes()
}

func TestOpenGeo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "geo.mmdb")
	file := mmdb(map[string]map[string]any{
		"203.0.113.0/24": { // the form of MaxMind and DB-IP
			"country":  map[string]any{"iso_code": "DE", "names": map[string]any{"de": "Deutschland", "en": "Germany"}},
			"location": map[string]any{"latitude": 52.5, "longitude": 13.4, "time_zone": "Europe/Berlin"},
		},
		// the form of IPinfo
		"198.51.100.0/24": {"country": "US", "country_name": "United States", "timezone": "America/Chicago", "lat": "41.9", "lng": "-87.6"},
		"192.0.2.0/24":    {"country_code": "JP"},
		"2001:db8::/32":   {"country": map[string]any{"iso_code": "FR"}},
		"10.0.0.0/8":      {"organisation": "nobody"},
	})
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	look, err := OpenGeo(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"203.0.113.9":        "DE Germany Europe/Berlin 52.5,13.4",
		"::ffff:203.0.113.9": "DE Germany Europe/Berlin 52.5,13.4",
		"198.51.100.7":       "US United States America/Chicago 41.9,-87.6",
		"192.0.2.1":          "JP   ",
		"2001:db8::1":        "FR   ",
		"10.1.2.3":           "none",
		"8.8.8.8":            "none",
		"2001:db9::1":        "none",
	} {
		p, ok := look(netip.MustParseAddr(address))
		got := strings.Join([]string{p.Country, p.CountryName, p.Timezone, where(p)}, " ")
		if !ok {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}

func TestOpenGeoRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenGeo(filepath.Join(dir, "none"), nil); err == nil {
		t.Error("a file that is not there was opened")
	}
	bad := filepath.Join(dir, "bad")
	os.WriteFile(bad, []byte("this is no database"), 0o600)
	if _, err := OpenGeo(bad, nil); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("got %v, want an error that names the file", err)
	}
	// A damaged file gives no place, or one of the right form, and never crashes.
	file := mmdb(map[string]map[string]any{"203.0.113.0/24": {"country": "DE", "timezone": "Europe/Berlin"}})
	for i := 0; i < len(file); i += 3 {
		damaged := slices.Clone(file)
		damaged[i] ^= 0xff
		os.WriteFile(bad, damaged, 0o600)
		if look, err := OpenGeo(bad, nil); err == nil {
			look(netip.MustParseAddr("203.0.113.9"))
		}
	}
}

// A look-up follows the file: replaced by renaming, rewritten in place, gone, broken, good again. Concurrent look-ups go on meanwhile.
func TestGeoFollowsItsFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "geo.mmdb")
	country := func(code string) []byte {
		return mmdb(map[string]map[string]any{"203.0.113.0/24": {"country_code": code}})
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("geo.mmdb", country("DE"))
	var said bytes.Buffer
	var clock atomic.Int64
	g, err := openGeo(path, slog.New(slog.NewTextHandler(&said, nil)), func() time.Time { return time.Unix(clock.Load(), 0) })
	if err != nil {
		t.Fatal(err)
	}
	here := netip.MustParseAddr("203.0.113.9")
	over := make(chan struct{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if p, ok := g.lookup(here); !ok || p.Country == "" {
					t.Error("a look-up found nothing while the file changed")
					return
				}
			}
		})
	}
	later := time.Now().Add(time.Hour)
	for i, s := range []struct {
		name   string
		change func()
		want   string
		words  int // lines in the log so far
	}{
		{"the same", func() {}, "DE", 0},
		{"renamed over, as long and as old", func() {
			was, _ := os.Stat(path)
			write("new", country("FR"))
			os.Chtimes(filepath.Join(dir, "new"), was.ModTime(), was.ModTime())
			os.Rename(filepath.Join(dir, "new"), path)
		}, "FR", 1},
		{"written in its place", func() { write("geo.mmdb", country("JP")); os.Chtimes(path, later, later) }, "JP", 2},
		{"cut short", func() { os.Truncate(path, 100) }, "JP", 3},
		{"still so", func() {}, "JP", 3},
		{"gone", func() { os.Remove(path) }, "JP", 4},
		{"still gone", func() {}, "JP", 4},
		{"there again", func() { write("geo.mmdb", country("AT")) }, "AT", 5},
	} {
		s.change()
		clock.Add(int64(geoStatInterval / time.Second))
		until(t, s.name+" is seen", func() bool {
			g.lookup(here)
			g.mu.Lock()
			defer g.mu.Unlock()
			return !g.nextStat.Before(time.Unix(clock.Load(), 0).Add(geoStatInterval))
		})
		p, _ := g.lookup(here)
		g.mu.Lock()
		lines := strings.Count(said.String(), "\n")
		g.mu.Unlock()
		if p.Country != s.want || lines != s.words {
			t.Errorf("%d, %s: got %s and %d lines, want %s and %d: %s", i, s.name, p.Country, lines, s.want, s.words, said.String())
		}
	}
	write("geo.mmdb", country("US"))
	if p, _ := g.lookup(here); p.Country != "AT" {
		t.Error("the file is looked at with every look-up")
	}
	close(over)
	all.Wait()
}
