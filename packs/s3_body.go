package packs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

// source is a body that can be sent again. Its hash is sent with it, so that the server refuses what arrives otherwise.
type source struct {
	from  io.ReadSeeker
	start int64
	size  int64
	sum   string // SHA-256, in hexadecimal
	spool *os.File
	// unsure says that an attempt had no answer: the server may have the object.
	unsure bool
}

// newSource reads a body of exactly size bytes once. A body that cannot be read again is copied to a temporary file.
func newSource(ctx context.Context, size int64, body io.Reader) (*source, error) {
	s := &source{size: size}
	hash := sha256.New()
	into := io.Writer(hash)
	if from, ok := body.(io.ReadSeeker); ok {
		start, err := from.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		s.from, s.start = from, start
	} else {
		spool, err := os.CreateTemp("", "warren-s3-")
		if err != nil {
			return nil, err
		}
		s.from, s.spool = spool, spool
		into = io.MultiWriter(hash, spool)
	}
	read, err := io.Copy(into, io.LimitReader(reading{ctx, body}, size+1))
	if err == nil && read != size {
		err = wrongSize(size)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	s.sum = hex.EncodeToString(hash.Sum(nil))
	return s, nil
}

// body returns the bytes for one attempt.
func (s *source) body(w *watch) (io.Reader, error) {
	_, err := s.from.Seek(s.start, io.SeekStart)
	return moving{w, io.LimitReader(s.from, s.size)}, err
}

// close removes the copy.
func (s *source) close() {
	if s.spool != nil {
		s.spool.Close()           //nolint:errcheck // it is removed
		os.Remove(s.spool.Name()) //nolint:errcheck // the system cleans its folder of temporary files
	}
}

// moving tells a watch of every read.
type moving struct {
	w *watch
	r io.Reader
}

func (m moving) Read(p []byte) (int, error) {
	m.w.moved()
	return m.r.Read(p)
}

// s3Reader reads an object, or a part of one. A cut connection is made anew where it was cut.
type s3Reader struct {
	ctx       context.Context
	b         *bucket
	name, key string
	at, end   int64 // what is left; an end of -1 is not known
	tries     *tries
	body      io.ReadCloser // nil between attempts
	watch     *watch
}

// open asks for what is left.
func (r *s3Reader) open() error {
	for {
		w := newWatch(r.ctx, r.b.limits.idle)
		body, end, err := r.b.openOnce(w, r.key, r.at, r.end)
		if err == nil {
			w.rest()
			r.body, r.end, r.watch = body, end, w
			return nil
		}
		w.end()
		if err := r.tries.again(r.ctx, err); err != nil {
			return r.b.tell("get", r.name, err)
		}
	}
}

// Read is of io.Reader.
func (r *s3Reader) Read(p []byte) (int, error) {
	for {
		if r.end >= 0 {
			if r.at >= r.end {
				return 0, io.EOF
			}
			p = p[:min(int64(len(p)), r.end-r.at)]
		}
		if r.body == nil {
			if err := r.open(); err != nil {
				return 0, err
			}
			continue // the end may be known now
		}
		r.watch.moved()
		n, err := r.body.Read(p)
		r.watch.rest()
		r.at += int64(n)
		if n > 0 || err == nil {
			return n, nil
		}
		if errors.Is(err, io.EOF) && r.end < 0 {
			return 0, io.EOF
		}
		if err = r.b.fault(r.watch, err); r.ctx.Err() != nil {
			return 0, r.b.tell("get", r.name, err)
		}
		r.Close() //nolint:errcheck // it is broken
		if err := r.tries.again(r.ctx, err); err != nil {
			return 0, r.b.tell("get", r.name, err)
		}
	}
}

// Close is of io.Closer.
func (r *s3Reader) Close() error {
	if r.body == nil {
		return nil
	}
	r.watch.end()
	err := r.body.Close()
	r.body = nil
	return err
}
