package browser

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLimitedConn: frames of every size pass whole, however they come, until one announces more than it may have.
func TestLimitedConn(t *testing.T) {
	frame := func(head []byte, masked bool, payload int) []byte {
		if masked {
			head[1] |= 0x80
			head = append(head, 1, 2, 3, 4)
		}
		return append(head, bytes.Repeat([]byte{0xff}, payload)...)
	}
	good := bytes.Join([][]byte{frame([]byte{0x81, 0}, true, 0), frame([]byte{0x89, 5}, false, 5), frame([]byte{0x01, 126, 1, 0}, true, 256),
		frame([]byte{0x80, 127, 0, 0, 0, 0, 0, 1, 0, 0}, true, 1<<16), frame([]byte{0x82, 125}, true, 125)}, nil)
	for name, in := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "in halves": iotest.HalfReader} {
		for _, head := range [][]byte{nil, {0x81, 127, 0, 0, 0, 0, 0, 1, 0, 1}, {0x01, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0}, {0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}} {
			sent := bytes.Join([][]byte{good, head}, nil)
			all := io.Reader(bytes.NewReader(sent))
			if head != nil {
				all = io.MultiReader(all, strings.NewReader("more"))
			}
			var side net.Conn
			c := &limitedConn{Conn: side, in: in(all), limit: 1 << 16}
			got, err := io.ReadAll(c)
			if rest, err := c.Read(make([]byte, 100)); head != nil && (rest > 0 || !errors.Is(err, errFrameTooLarge)) {
				t.Errorf("%s, then % x: then %d bytes more, %v", name, head, rest, err)
			}
			if !bytes.Equal(got, sent) || errors.Is(err, errFrameTooLarge) != (head != nil) || head == nil && err != nil {
				t.Errorf("%s, then % x: %d bytes of %d, %v", name, head, len(got), len(sent), err)
			}
		}
	}
}
