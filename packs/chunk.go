package packs

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

const (
	// chunkSize is the length of a chunk in bytes; the last one of a file is shorter.
	chunkSize = 256 << 10
	// packSize is the length in bytes at which a pack is full.
	packSize = 8 << 20
)

// How a chunk's bytes are kept.
const (
	stored     = 0
	compressed = 1
)

// sealer turns chunks into the bytes that packs hold, and back. It is for one goroutine.
type sealer struct {
	keys keys
	zip  *zstd.Encoder
	text []byte // what is sealed: how it is kept, and the bytes
}

// newCompressor compresses one text at a time, at a level.
func newCompressor(level zstd.EncoderLevel) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(chunkSize))
}

// seal appends the sealed chunk to dst. What does not get smaller is stored as it is.
func (s *sealer) seal(dst []byte, name [nameSize]byte, plain []byte) []byte {
	s.text = s.zip.EncodeAll(plain, append(s.text[:0], compressed))
	if len(s.text) > len(plain) {
		s.text = append(append(s.text[:0], stored), plain...)
	}
	return s.keys.seal(dst, name[:], s.text, nil)
}

// reseal is seal for a chunk that another vault keeps as text, which spares compressing it again. Its key and its nonce are this
// vault's: the nonce follows from the text, so that it never meets another one. What the other vault made larger is stored.
func (s *sealer) reseal(dst []byte, name [nameSize]byte, text, plain []byte) []byte {
	if len(text) > 1+len(plain) {
		s.text = append(append(s.text[:0], stored), plain...)
		text = s.text
	}
	return s.keys.seal(dst, name[:], text, nil)
}

// newDecompressor decompresses texts of at most most bytes.
func newDecompressor(most uint64) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(most),
		zstd.WithDecoderMaxWindow(max(most, zstd.MinWindowSize)))
}

// opener opens chunks. It may be used by several goroutines.
type opener struct {
	keys  keys
	unzip *zstd.Decoder
}

// open returns the chunk of this name and length. The error is ErrDamaged.
func (o opener) open(c Chunk, sealed []byte) ([]byte, error) {
	_, plain, err := o.openText(c, sealed)
	return plain, err
}

// openText returns what was sealed, too: how the chunk is kept, and the bytes that are kept.
func (o opener) openText(c Chunk, sealed []byte) (text, plain []byte, err error) {
	if text, err = o.keys.open(c.Name[:], sealed, nil); err != nil {
		return nil, nil, err
	}
	plain = text[min(1, len(text)):]
	switch {
	case len(text) == 0 || text[0] > compressed:
		return nil, nil, fmt.Errorf("%w: it is kept in a way that this version does not know", ErrDamaged)
	case text[0] == compressed:
		if plain, err = o.unzip.DecodeAll(plain, make([]byte, 0, c.Size)); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	if int64(len(plain)) != c.Size || o.keys.nameOf(plain) != c.Name {
		return nil, nil, fmt.Errorf("%w: it holds other bytes than its name says", ErrDamaged)
	}
	return text, plain, nil
}
