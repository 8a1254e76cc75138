package state

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// Reads the text of a file: UTF-8, or UTF-16 with a byte order mark. Other encodings are refused, since guessing changes values.

// source is the text of a file as UTF-8, without a byte order mark.
type source struct {
	*bufio.Reader
	text *counter
}

// newSource reads text from r. Its limit is MaxBytes.
func newSource(r io.Reader) *source { return newSourceOf(r, MaxBytes) }

// ReadText returns the text of a whole file as UTF-8 without a byte order mark. It reads UTF-8, and UTF-16 with a byte order mark, of at
// most most bytes. Errors are a *FileError, or one of r.
func ReadText(r io.Reader, most int64) ([]byte, error) {
	src := newSourceOf(r, most)
	text, err := io.ReadAll(src)
	if errors.Is(err, errTooLarge) {
		return nil, &FileError{Index: -1, Large: true, Message: fmt.Sprintf("The file is larger than %d MiB.", most>>20)}
	}
	if err != nil {
		return nil, src.explain(err)
	}
	return text, nil
}

func newSourceOf(r io.Reader, most int64) *source {
	in := bufio.NewReader(&limited{r: r, left: most})
	text := &counter{r: decoded(in)}
	return &source{Reader: bufio.NewReader(text), text: text}
}

// decoded removes the byte order mark and decodes.
func decoded(in *bufio.Reader) io.Reader {
	head, err := in.Peek(3)
	switch {
	case err != nil && !isEnd(err): // Peek has taken it from the reader
		return failed{err}
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		in.Discard(3) //nolint:errcheck // it was peeked
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		in.Discard(2) //nolint:errcheck // it was peeked
		return &utf16Reader{r: in, order: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		in.Discard(2) //nolint:errcheck // it was peeked
		return &utf16Reader{r: in, order: binary.BigEndian}
	}
	return transform.NewReader(in, encoding.UTF8Validator)
}

// firstByte returns the first byte that is no white space, which it leaves, or 0 for an empty file.
func (s *source) firstByte() (byte, error) {
	for {
		b, err := s.ReadByte()
		switch {
		case isEnd(err):
			return 0, nil
		case err != nil:
			return 0, err
		case b != ' ' && b != '\t' && b != '\r' && b != '\n':
			return b, s.UnreadByte()
		}
	}
}

// errTooLarge is the error of a file over MaxBytes, and errUTF16 that of text that only seems to be UTF-16.
var (
	errTooLarge = errors.New("too large")
	errUTF16    = errors.New("not UTF-16")
)

// explain turns an error of reading into one that says what to do. The reader's own errors stay as they are.
func (s *source) explain(err error) error {
	var own *FileError
	if errors.As(err, &own) {
		return own
	}
	at := s.text.n - int64(s.Buffered())
	switch {
	case errors.Is(err, errTooLarge):
		return &FileError{Index: -1, Large: true, Message: "The file is larger than 64 MiB."}
	case errors.Is(err, encoding.ErrInvalidUTF8):
		return &FileError{Index: -1, Byte: s.text.n + 1,
			Message: "The text is not UTF-8 from here on; it may be Latin-1 (Windows-1252). Save the file as UTF-8 and send it again."}
	case errors.Is(err, errUTF16):
		return &FileError{Index: -1, Byte: at + 1,
			Message: "The file begins as UTF-16 and is none: it has half a character. Save it as UTF-8 and send it again."}
	}
	return err
}

// jsonError turns an error of the JSON decoder into one with a place. The decoder's own text may have a part of the file.
func jsonError(d *jsontext.Decoder, index int, err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), isEnd(err):
		return &FileError{Index: index, Byte: d.InputOffset() + 1, Message: "The JSON ends too early. The file may have been cut off."}
	case errors.As(err, &syntax):
		return &FileError{Index: index, Byte: syntax.ByteOffset + 1, Message: "The JSON breaks here."}
	}
	return err
}

// limited reads at most left bytes, and then errTooLarge.
type limited struct {
	r    io.Reader
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		n, err = int(l.left), errTooLarge
	}
	l.left -= int64(n)
	return n, err
}

// failed is a reader that has failed.
type failed struct{ err error }

// Read implements io.Reader.
func (f failed) Read([]byte) (int, error) { return 0, f.err }

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// utf16Reader decodes UTF-16. The decoder of golang.org/x/text replaces what is none by U+FFFD, which would change a value in silence.
type utf16Reader struct {
	r     *bufio.Reader
	order binary.ByteOrder
	rest  []byte // decoded and not yet read
}

// Read implements io.Reader.
func (u *utf16Reader) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(u.rest) > 0 {
			k := copy(p[n:], u.rest)
			u.rest, n = u.rest[k:], n+k
			continue
		}
		r, err := u.rune()
		if err != nil {
			return n, err
		}
		if r < utf8.RuneSelf {
			p[n] = byte(r)
			n++
			continue
		}
		u.rest = utf8.AppendRune(u.rest[:0], r)
	}
	return n, nil
}

func (u *utf16Reader) rune() (rune, error) {
	first, err := u.unit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	second, err := u.unit()
	if isEnd(err) {
		return 0, errUTF16
	}
	r := utf16.DecodeRune(first, second)
	if err == nil && r == utf8.RuneError {
		err = errUTF16
	}
	return r, err
}

// unit reads two bytes.
func (u *utf16Reader) unit() (rune, error) {
	var b [2]byte
	if _, err := io.ReadFull(u.r, b[:]); errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, errUTF16
	} else if err != nil {
		return 0, err
	}
	return rune(u.order.Uint16(b[:])), nil
}
