package packs

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// A pack is chunks one after another, the sealed table of them, the table's length in 4 bytes, most significant first, and magic.

const (
	packMagic = "warrenp1"
	packTail  = 4 + len(packMagic)
	// maxTable is the length in bytes of the longest table that is read.
	maxTable = 16 << 20
	// maxEntries is how many chunks are put into a pack: their table is then within maxTable.
	maxEntries = maxTable / 128
	// minEntry is less than the length in bytes of an entry of a table.
	minEntry = 64
)

// MaxPack is the length in bytes of the longest pack that is read.
const MaxPack = 2*packSize + maxTable

// tableLabel is the label under which tables are sealed.
func tableLabel() []byte { return []byte("table") }

// entry is a chunk in a pack's table.
type entry struct {
	Name   []byte `json:"n"`
	At     int64  `json:"a"`
	Length int64  `json:"l"` // sealed
	Size   int64  `json:"s"` // plain
}

// PackPrefix and TreePrefix begin the names of objects. A tree's name ends in its ID, a pack's in its own name.
const (
	PackPrefix = "packs/"
	TreePrefix = "trees/"
)

// PackName is the name of a pack's object.
func PackName(pack string) string { return PackPrefix + pack[:2] + "/" + pack }

// treeName is the name of a tree's object.
func treeName(id string) string { return TreePrefix + id }

// packer gathers chunks, and puts a pack when it is full.
type packer struct {
	blobs   Blobs
	keys    keys
	full    int // bytes at which a pack is put
	bytes   []byte
	table   []entry
	filling *filling
	sum     int64 // bytes of all packs that were put
}

// filling is a pack whose name is not known yet.
type filling struct{ pack Pack }

// add appends a sealed chunk. The pack's name is known after the next flush.
func (p *packer) add(ctx context.Context, name [nameSize]byte, size int64, seal func(dst []byte) []byte) (*filling, int64, int64, error) {
	if p.filling == nil {
		p.filling = new(filling)
	}
	at := int64(len(p.bytes))
	p.bytes = seal(p.bytes)
	length := int64(len(p.bytes)) - at
	p.table = append(p.table, entry{name[:], at, length, size})
	into := p.filling
	if len(p.bytes) < p.full && len(p.table) < maxEntries {
		return into, at, length, nil
	}
	return into, at, length, p.flush(ctx)
}

// flush puts what was gathered.
func (p *packer) flush(ctx context.Context) error {
	if p.filling == nil {
		return nil
	}
	table, err := json.Marshal(p.table)
	if err != nil {
		return err
	}
	before := len(p.bytes)
	p.bytes = p.keys.seal(p.bytes, tableLabel(), table, nil)
	p.bytes = binary.BigEndian.AppendUint32(p.bytes, uint32(len(p.bytes)-before)) //nolint:gosec // a table of 8 MiB of chunks is small
	p.bytes = append(p.bytes, packMagic...)
	pack := Pack{hex.EncodeToString(sum(p.bytes)), int64(len(p.bytes)), int64(before)}
	if err := p.blobs.Put(ctx, PackName(pack.Name), pack.Size, bytes.NewReader(p.bytes)); err != nil {
		return fmt.Errorf("cannot write a pack: %w", err)
	}
	p.filling.pack = pack
	p.sum += pack.Size
	p.bytes, p.table, p.filling = p.bytes[:0], p.table[:0], nil
	return nil
}

// readAll reads a whole object of at most most bytes.
func readAll(ctx context.Context, blobs Blobs, name string, most int64) ([]byte, error) {
	body, err := blobs.Get(ctx, name, 0, -1)
	if err != nil {
		return nil, err
	}
	defer body.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(body, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%w: %s has more than %d bytes", ErrDamaged, name, most)
	}
	return b, err
}

// verifyPack reads a pack and returns its bytes. The error is ErrDamaged if they are not what the name says.
func verifyPack(ctx context.Context, blobs Blobs, pack string) ([]byte, error) {
	b, err := readAll(ctx, blobs, PackName(pack), MaxPack)
	if err != nil {
		return nil, err
	}
	return b, isPack(pack, b)
}

// isPack compares the bytes of a pack with its name.
func isPack(pack string, b []byte) error {
	if hex.EncodeToString(sum(b)) != pack {
		return fmt.Errorf("%w: the pack %s has other bytes than its name says", ErrDamaged, pack)
	}
	return nil
}

// tableAt returns where the table of a whole pack begins, by what its end says.
func tableAt(b []byte) int64 {
	end := len(b) - packTail
	return int64(end) - int64(binary.BigEndian.Uint32(b[end:]))
}

// tableOf reads the table of a whole pack.
func (k keys) tableOf(b []byte) (table []entry, err error) {
	if len(b) < packTail || string(b[len(b)-len(packMagic):]) != packMagic {
		return nil, fmt.Errorf("%w: it does not end as a pack", ErrDamaged)
	}
	end := int64(len(b) - packTail)
	length := end - tableAt(b)
	if length > end || length > maxTable {
		return nil, fmt.Errorf("%w: its table is longer than the pack", ErrDamaged)
	}
	plain, err := k.open(tableLabel(), b[end-length:end], nil)
	if err != nil {
		return nil, err
	}
	if err := isDense(plain, minEntry); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(plain, &table); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	for _, e := range table {
		if len(e.Name) != nameSize || e.At < 0 || e.Length < 0 || e.At > end-length-e.Length || e.Size < 0 || e.Size > chunkSize {
			return nil, fmt.Errorf("%w: its table names bytes that it does not have", ErrDamaged)
		}
	}
	return table, nil
}
