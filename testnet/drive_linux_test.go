package testnet

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
)

// driveClient is a machine's side of a Drive.
type driveClient struct {
	t    *testing.T
	conn net.Conn
}

func dialDrive(t *testing.T, d *Drive) *driveClient {
	t.Helper()
	conn, err := net.Dial("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	c := &driveClient{t, conn}
	c.read(18) // the greeting
	c.send(uint32(nbdFixedNewstyle|nbdNoZeroes), uint64(nbdOption), uint32(nbdGo), uint32(0))
	c.read(20 + 12 + 20) // information and acknowledgement
	return c
}

func (c *driveClient) send(parts ...any) {
	c.t.Helper()
	var out bytes.Buffer
	for _, p := range parts {
		if err := binary.Write(&out, binary.BigEndian, p); err != nil {
			c.t.Fatal(err)
		}
	}
	if _, err := c.conn.Write(out.Bytes()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *driveClient) read(n int) []byte {
	c.t.Helper()
	part := make([]byte, n)
	if _, err := io.ReadFull(c.conn, part); err != nil {
		c.t.Fatal(err)
	}
	return part
}

// do makes one request and waits for its answer.
func (c *driveClient) do(kind, flags uint16, at, length int, data []byte) []byte {
	c.t.Helper()
	c.send(uint32(nbdRequestMagic), flags, kind, uint64(7), uint64(at), uint32(length), data)
	if answer := c.read(16); binary.BigEndian.Uint32(answer[4:]) != 0 {
		c.t.Fatalf("request %d was answered with %x", kind, answer)
	}
	if kind == nbdRead {
		return c.read(length)
	}
	return nil
}

// A drive whose power fails has what was flushed, or went past its cache. Of the rest each sector is there or not, and a machine that
// comes back reads the same as the image holds.
func TestDriveLosesItsCache(t *testing.T) {
	t.Parallel()
	d := NewDrive(t, 1<<20, func(string) error { return nil })
	text := func(b byte) []byte { return bytes.Repeat([]byte{b}, block) }
	long := func(b byte) []byte { return bytes.Repeat([]byte{b}, 4*block) }
	lost, stayed, torn := 0, 0, 0
	for i := range 60 {
		c := dialDrive(t, d)
		c.do(nbdWrite, 0, 0, block, text('f'))
		c.do(nbdWrite, 0, 2*block, 4*block, long('.'))
		c.do(nbdFlush, 0, 0, 0, nil)
		c.do(nbdWrite, 0, block, block, text('o'))
		c.do(nbdWrite, 1, block, block, text('u')) // past the cache, over what is in it
		c.do(nbdWrite, 0, 2*block, 4*block, long('c'))
		if got := c.do(nbdRead, 0, 2*block, 4*block, nil); !bytes.Equal(got, long('c')) {
			t.Fatalf("the machine reads %.9q, which it has not written", got)
		}
		c.conn.Close()
		if n, err := d.Cut(rand.New(rand.NewPCG(18, uint64(i)))); err != nil || n != 3 {
			t.Fatalf("%d writes were in the cache, %v", n, err)
		}
		image, err := os.ReadFile(d.Image)
		if err != nil || !bytes.Equal(image[:block], text('f')) || !bytes.Equal(image[block:2*block], text('u')) {
			t.Fatalf("cut %d: what was flushed is %.9q, what went past the cache %.9q, %v", i, image, image[block:], err)
		}
		switch n := bytes.Count(image[2*block:6*block], []byte("c")); n {
		case 0:
			lost++
		case 4 * block:
			stayed++
		default:
			torn++
		}
		c = dialDrive(t, d)
		if got := c.do(nbdRead, 0, 0, 6*block, nil); !bytes.Equal(got, image[:6*block]) {
			t.Fatalf("cut %d: the machine reads other bytes than the image holds", i)
		}
		c.conn.Close()
	}
	if lost == 0 || stayed == 0 || torn == 0 {
		t.Errorf("%d writes were lost, %d stayed, %d were torn: want some of each", lost, stayed, torn)
	}
}

// A drive that fails answers nothing from then on.
func TestDriveFails(t *testing.T) {
	t.Parallel()
	d := NewDrive(t, 1<<20, func(string) error { return nil })
	c := dialDrive(t, d)
	dead := d.FailAfter(1)
	c.do(nbdWrite, 0, 0, block, make([]byte, block))
	c.send(uint32(nbdRequestMagic), uint16(0), uint16(nbdFlush), uint64(8), uint64(0), uint32(0))
	AwaitClosed(t, "the drive is dead", dead, Patience)
	c.conn.Close()
	if n, err := d.Cut(rand.New(rand.NewPCG(1, 1))); n != 1 || err != nil {
		t.Errorf("%d writes were in the cache, want the one before the flush; %v", n, err)
	}
}
