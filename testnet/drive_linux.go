package testnet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Drive is a whole drive for a virtual machine, with a cache that loses its content when the power fails. A machine reaches it as a
// network block device (NBD) at Socket. What a flush was answered for is kept. Of the rest, Cut loses what it likes.
type Drive struct {
	Socket string // path
	Image  string // path of what the drive holds without its cache
	Size   int64  // bytes

	t      testing.TB
	kept   *os.File // Image
	seen   *os.File // what the machine reads: with the cache
	served sync.WaitGroup
	cached []driveWrite // since the last flush, in order

	mu   sync.Mutex
	left int           // changes until the power fails
	dead chan struct{} // closed then; nil: it does not
}

// driveWrite is a write that the drive has answered.
type driveWrite struct {
	at   int64
	data []byte
	safe bool // it went past the cache (FUA)
}

// The protocol of network block devices (github.com/NetworkBlockDevice/nbd, doc/proto.md), big-endian.
const (
	nbdMagic, nbdOption, nbdReplyMagic           = 0x4e42444d41474943, 0x49484156454f5054, 0x3e889045565a9
	nbdRequestMagic, nbdAnswerMagic              = 0x25609513, 0x67446698
	nbdFixedNewstyle, nbdNoZeroes                = 1, 2
	nbdGo, nbdAck, nbdInfo, nbdUnknown           = 7, 1, 3, 1<<31 + 1
	nbdRead, nbdWrite, nbdDisconnect, nbdFlush   = 0, 1, 2, 3
	nbdHasFlags, nbdSendsFlush, nbdSendsFUA      = 1, 4, 8
	nbdOptionLimit, nbdLengthLimit, nbdIOFailure = 1 << 16, 32 << 20, 5
)

// NewDrive returns a drive of zeros. Fill writes a file system to Image before the first boot.
func NewDrive(t testing.TB, size int64, fill func(image string) error) *Drive {
	t.Helper()
	dir := t.TempDir()
	d := &Drive{Socket: filepath.Join(dir, "nbd"), Image: filepath.Join(dir, "image"), Size: size, t: t}
	var err error
	if d.kept, err = os.Create(d.Image); err == nil {
		err = errors.Join(d.kept.Truncate(size), fill(d.Image))
	}
	if err == nil {
		if d.seen, err = os.Create(filepath.Join(dir, "seen")); err == nil {
			err = errors.Join(d.seen.Truncate(size), d.copyAll())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { errors.Join(l.Close(), d.kept.Close(), d.seen.Close()) }) //nolint:errcheck // its files go with the test
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			d.served.Go(func() { d.serve(conn) })
		}
	}()
	return d
}

// copyAll lets the machine see what is kept. Zeros are there already.
func (d *Drive) copyAll() error {
	part := make([]byte, 1<<20)
	for at := int64(0); at < d.Size; at += int64(len(part)) {
		n, err := d.kept.ReadAt(part, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for _, b := range part[:n] {
			if b != 0 {
				if _, err := d.seen.WriteAt(part[:n], at); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// serve answers one machine until it is gone.
func (d *Drive) serve(conn net.Conn) {
	defer conn.Close()
	in, out := bufio.NewReaderSize(conn, 1<<20), bufio.NewWriterSize(conn, 1<<20)
	err := d.greet(in, out)
	for err == nil {
		err = d.answer(in, out)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !isGone(err) {
		d.t.Errorf("the drive: %v", err)
	}
}

// isGone reports whether a connection's other end is not there any more.
func isGone(err error) bool {
	var op *net.OpError
	return errors.As(err, &op)
}

// greet agrees with a machine on the drive's size and flags.
func (d *Drive) greet(in *bufio.Reader, out *bufio.Writer) error {
	binary.Write(out, binary.BigEndian, struct { //nolint:errcheck // Flush says it
		Magic, Option uint64
		Flags         uint16
	}{nbdMagic, nbdOption, nbdFixedNewstyle | nbdNoZeroes})
	var flags uint32
	if err := errors.Join(out.Flush(), binary.Read(in, binary.BigEndian, &flags)); err != nil {
		return err
	}
	for {
		var option struct {
			Magic          uint64
			Option, Length uint32
		}
		if err := binary.Read(in, binary.BigEndian, &option); err != nil {
			return err
		}
		if option.Magic != nbdOption || option.Length > nbdOptionLimit {
			return fmt.Errorf("no option: %+v", option)
		}
		if _, err := in.Discard(int(option.Length)); err != nil {
			return err
		}
		reply := func(kind uint32, body any) {
			length := max(binary.Size(body), 0)
			binary.Write(out, binary.BigEndian, struct { //nolint:errcheck // Flush says it
				Magic                uint64
				Option, Kind, Length uint32
			}{nbdReplyMagic, option.Option, kind, uint32(length)})
			if length > 0 {
				binary.Write(out, binary.BigEndian, body) //nolint:errcheck // Flush says it
			}
		}
		if option.Option != nbdGo {
			reply(nbdUnknown, nil)
		} else {
			reply(nbdInfo, struct {
				Kind  uint16
				Size  uint64
				Flags uint16
			}{0, uint64(d.Size), nbdHasFlags | nbdSendsFlush | nbdSendsFUA})
			reply(nbdAck, nil)
		}
		if err := out.Flush(); err != nil || option.Option == nbdGo {
			return err
		}
	}
}

// answer does one request. Requests come one after the other, so that a flush keeps all writes that were answered before.
func (d *Drive) answer(in *bufio.Reader, out *bufio.Writer) error {
	var request struct {
		Magic       uint32
		Flags, Kind uint16
		Handle, At  uint64
		Length      uint32
	}
	if err := binary.Read(in, binary.BigEndian, &request); err != nil {
		return err
	}
	if request.Magic != nbdRequestMagic || request.Length > nbdLengthLimit {
		return fmt.Errorf("no request: %+v", request)
	}
	if request.Kind != nbdRead && d.fails() {
		_, err := io.Copy(io.Discard, in) // nothing is answered any more
		return errors.Join(io.EOF, err)
	}
	var data []byte
	var failed error
	switch request.Kind {
	case nbdDisconnect:
		return io.EOF
	case nbdFlush:
		failed = d.flush()
	case nbdRead:
		data = make([]byte, request.Length)
		_, failed = d.seen.ReadAt(data, int64(request.At))
	case nbdWrite:
		written := make([]byte, request.Length)
		if _, err := io.ReadFull(in, written); err != nil {
			return err
		}
		d.cached = append(d.cached, driveWrite{int64(request.At), written, request.Flags&1 != 0})
		_, failed = d.seen.WriteAt(written, int64(request.At))
	default:
		failed = fmt.Errorf("unknown request %d", request.Kind)
	}
	var code uint32
	if failed != nil {
		d.t.Errorf("the drive: %v", failed)
		code, data = nbdIOFailure, nil
	}
	binary.Write(out, binary.BigEndian, struct { //nolint:errcheck // Flush says it
		Magic, Code uint32
		Handle      uint64
	}{nbdAnswerMagic, code, request.Handle})
	out.Write(data) //nolint:errcheck // Flush says it
	if in.Buffered() > 0 {
		return nil // the next answer goes with this one
	}
	return out.Flush()
}

// FailAfter fails the drive's power after so many writes and flushes from now on. Then it answers nothing, and the channel is closed.
func (d *Drive) FailAfter(changes int) <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left, d.dead = changes, make(chan struct{})
	return d.dead
}

// fails counts a change, and reports whether the power fails before it.
func (d *Drive) fails() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead == nil {
		return false
	}
	if d.left--; d.left >= 0 {
		return false
	}
	close(d.dead)
	d.dead = nil
	return true
}

// flush empties the cache.
func (d *Drive) flush() (err error) {
	for _, w := range d.cached {
		_, failed := d.kept.WriteAt(w.data, w.at)
		err = errors.Join(err, failed)
	}
	d.cached = d.cached[:0]
	return err
}

// Cut fails the power of the drive, whose machine is gone already. Of what was in the cache nothing is kept, the first part, or any
// sectors of 4096 bytes. It returns how many writes were in the cache. With sectors of 512 bytes ext4 found its journal damaged
// after such a cut and did not mount: probably a torn block that commits a transaction.
func (d *Drive) Cut(random *rand.Rand) (lost int, err error) {
	d.served.Wait()
	way, stay, ended := random.IntN(3), random.Float64(), false
	for _, w := range d.cached {
		ended = ended || way == 1 && random.Float64() > stay // the whole rest is lost
		for at, next := 0, 0; at < len(w.data); at = next {
			next = min(at+block-int((w.at+int64(at))%block), len(w.data))
			if w.safe || way == 1 && !ended || way == 2 && random.Float64() < stay {
				_, failed := d.kept.WriteAt(w.data[at:next], w.at+int64(at))
				err = errors.Join(err, failed)
			}
		}
	}
	for _, w := range d.cached {
		part := make([]byte, len(w.data))
		_, failed := d.kept.ReadAt(part, w.at)
		_, again := d.seen.WriteAt(part, w.at)
		err = errors.Join(err, failed, again)
	}
	lost = len(d.cached)
	d.cached, d.dead = nil, nil
	return lost, err
}
