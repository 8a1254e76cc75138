package packs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// maxS3Object is the length in bytes of the largest object that S3 takes in one request.
const maxS3Object = 5 << 30

// bucket keeps objects in S3.
type bucket struct {
	o      S3Options
	host   string
	prefix string // of every key: empty, or with a slash at its end
	client minio.Core
	dated  *dated
	limits limits
	plain  atomic.Bool // the server refuses If-None-Match
}

// S3 keeps objects in a bucket of a server that speaks Amazon's protocol. It asks nothing of the server yet. The error names
// everything that is wrong with the options.
//
// A fault that may pass is tried again, within the bounds of the options. Any other is told at once, and a secret is in no error.
// Put sends If-None-Match, so that an object that is there stays. A server that refuses the header is asked for the object first.
// One that ignores it writes the object anew. That is harmless: equal names mean equal bytes.
func S3(o S3Options) (Blobs, error) {
	at, err := o.check()
	if err != nil {
		return nil, err
	}
	secure := at.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	b := &bucket{o: o, host: at.Host, dated: &dated{base: transport}, limits: o.limits()}
	if prefix := strings.Trim(o.Prefix, "/"); prefix != "" {
		b.prefix = prefix + "/"
	}
	core, err := minio.NewCore(at.Host, &minio.Options{Secure: secure, Transport: b.dated, BucketLookup: minio.BucketLookupPath,
		Creds: credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken),
		// With a region the client does not ask for the bucket's, which takes a right of its own.
		Region: cmp.Or(o.Region, defaultRegion), MaxRetries: 1})
	if err != nil {
		return nil, fmt.Errorf("the address of the S3 server %s cannot be used: %w", at.Host, err)
	}
	b.client = *core
	return b, nil
}

func (b *bucket) key(name string) (string, error) { return b.prefix + name, checkName(name) }

func (b *bucket) Put(ctx context.Context, name string, size int64, body io.Reader) error {
	key, err := b.key(name)
	if err != nil {
		return err
	}
	if size > maxS3Object {
		return fmt.Errorf("%s has %d bytes; S3 takes %d at most in one request", name, size, maxS3Object)
	}
	source, err := newSource(ctx, size, body)
	if err != nil {
		return err
	}
	defer source.close()
	err = b.tries().run(ctx, func(w *watch) error { return b.putOnce(w, key, source) })
	return b.tell("put", name, err)
}

// putOnce is one attempt. That the object is there, whoever wrote it, is success.
func (b *bucket) putOnce(w *watch, key string, source *source) error {
	if b.plain.Load() || source.unsure {
		if there, err := b.there(w, key); there || err != nil {
			return err
		}
	}
	body, err := source.body(w)
	if err != nil {
		return err
	}
	o := minio.PutObjectOptions{DisableContentSha256: true} // no signature for each part: there is one for the whole
	if !b.plain.Load() {
		o.SetMatchETagExcept("*")
	}
	_, err = b.client.PutObject(w.ctx, b.o.Bucket, key, body, source.size, "", source.sum, o)
	err = b.fault(w, err)
	f := new(fault)
	source.unsure = errors.As(err, &f) && f.status == 0
	switch {
	case errors.Is(err, ErrNone):
		return &fault{status: http.StatusNotFound, what: notS3}
	case f.status == http.StatusPreconditionFailed:
		return nil
	case f.status == http.StatusConflict: // somebody else writes it: they may fail
		if there, err := b.there(w, key); there || err != nil {
			return err
		}
		f.passes = true
		return f
	case f.status == http.StatusNotImplemented && !b.plain.Load():
		b.plain.Store(true)
		return b.putOnce(w, key, source)
	}
	return err
}

// there reports whether there is an object.
func (b *bucket) there(w *watch, key string) (bool, error) {
	_, err := b.client.StatObject(w.ctx, b.o.Bucket, key, minio.StatObjectOptions{})
	if err = b.fault(w, err); errors.Is(err, ErrNone) {
		return false, nil
	}
	return err == nil, err
}

func (b *bucket) Get(ctx context.Context, name string, at, length int64) (io.ReadCloser, error) {
	key, err := b.key(name)
	if err != nil {
		return nil, err
	}
	if at < 0 {
		return nil, fmt.Errorf("%s: an object has no byte %d", name, at)
	}
	r := &s3Reader{ctx: ctx, b: b, name: name, key: key, at: at, end: -1, tries: b.tries()}
	if length >= 0 {
		r.end = at + length
	}
	if length != 0 {
		err = r.open()
	} else { // a range cannot be empty
		err = b.tell("get", name, r.tries.run(ctx, func(w *watch) error { return b.mustBe(w, key) }))
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// mustBe returns ErrNone if there is no object.
func (b *bucket) mustBe(w *watch, key string) error {
	there, err := b.there(w, key)
	if err == nil && !there {
		err = ErrNone
	}
	return err
}

// openOnce asks for the bytes of an object from at on, to end or, if that is -1, to its own end. It returns where they end: -1
// means that the server did not say.
func (b *bucket) openOnce(w *watch, key string, at, end int64) (io.ReadCloser, int64, error) {
	var o minio.GetObjectOptions
	if end >= 0 {
		o.Set("Range", fmt.Sprintf("bytes=%d-%d", at, end-1))
	} else if at > 0 {
		o.Set("Range", fmt.Sprintf("bytes=%d-", at))
	}
	body, info, header, err := b.client.GetObject(w.ctx, b.o.Bucket, key, o)
	err = b.fault(w, err)
	if f := new(fault); errors.As(err, &f) && f.status == http.StatusRequestedRangeNotSatisfiable {
		return http.NoBody, at, nil // the object ends before at
	}
	if err != nil {
		return nil, 0, err
	}
	if at > 0 && !strings.HasPrefix(header.Get("Content-Range"), fmt.Sprintf("bytes %d-", at)) {
		return nil, 0, errors.Join(&fault{what: "the server ignores the Range header"}, body.Close())
	}
	if info.Size >= 0 && (end < 0 || at+info.Size < end) {
		end = at + info.Size
	}
	return body, end, nil
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	key, err := b.key(name)
	if err != nil {
		return err
	}
	err = b.tries().run(ctx, func(w *watch) error {
		err := b.fault(w, b.client.RemoveObject(w.ctx, b.o.Bucket, key, minio.RemoveObjectOptions{}))
		if errors.Is(err, ErrNone) {
			err = nil
		}
		return err
	})
	return b.tell("delete", name, err)
}

func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		l := listing{b: b, prefix: b.prefix + prefix, yield: yield}
		for before := "\x00"; before != l.after && !l.stopped; { // a list that went on may be interrupted as often again
			before = l.after
			if err := b.tell("list", prefix, b.tries().run(ctx, l.once)); err == nil || l.stopped {
				return
			} else if before == l.after || ctx.Err() != nil {
				yield(Object{}, err)
				return
			}
		}
	}
}

// listing is one List.
type listing struct {
	b       *bucket
	prefix  string // of keys
	after   string // the key of the object that was yielded last
	yield   func(Object, error) bool
	stopped bool // nobody wants more
}

// once is one attempt: from the last object on, page by page.
func (l *listing) once(w *watch) error {
	no := false
	o := minio.ListObjectsOptions{Prefix: l.prefix, Recursive: true, StartAfter: l.after, FetchOwner: &no, MaxKeys: l.b.limits.page}
	for info := range l.b.client.ListObjectsIter(w.ctx, l.b.o.Bucket, o) {
		if info.Err != nil {
			return l.b.fault(w, info.Err)
		}
		l.after = info.Key
		name := strings.TrimPrefix(info.Key, l.b.prefix)
		if strings.HasSuffix(name, "/") { // what consoles show as a folder
			continue
		}
		w.rest()
		if l.stopped = !l.yield(Object{name, info.Size}, nil); l.stopped {
			return nil
		}
		w.moved()
	}
	return w.err() // the client says nothing when the context ends
}

// fault says what an error of the client is.
func (b *bucket) fault(w *watch, err error) error {
	if err == nil {
		return nil
	}
	if ended := w.err(); ended != nil {
		return ended
	}
	answer := minio.ToErrorResponse(err)
	if answer.StatusCode == 0 {
		return unanswered(err)
	}
	return answered(answer.StatusCode, answer.Code, answer.Region)
}

// tell says what callers are told. A secret is in none of its parts: what a server says in its own words is left out.
func (b *bucket) tell(doing, name string, err error) error {
	f := new(fault)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNone):
		return fmt.Errorf("%s: %w", name, ErrNone)
	case errors.As(err, &f):
		return fmt.Errorf("cannot %s %q in the bucket %s of %s: %w", doing, name, b.o.Bucket, b.host, b.dated.explain(f))
	}
	return fmt.Errorf("cannot %s %q in the bucket %s of %s: %w", doing, name, b.o.Bucket, b.host, err)
}
