package packs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/signer"

	"warren/testnet"
)

// TestS3: a bucket of a real server is Blobs, also if the server does not know If-None-Match. Whatever breaks between them, an
// operation succeeds with the right bytes or fails in plain words, and nothing half-written is seen. It is a long trial because
// the server takes 90 s of processor time to build.
func TestS3(t *testing.T) {
	testnet.Long(t)
	t.Parallel()
	g := testnet.NewS3(t)
	for name, run := range map[string]func(*testing.T, *proxy, string){
		"as an interface":        func(t *testing.T, p *proxy, at string) { conforms(t, p.blobs(t, p.options(at))) },
		"without If-None-Match":  refusesCondition,
		"ignores If-None-Match":  ignoresCondition,
		"conflicts":              conflicts,
		"passing faults":         passingFaults,
		"lasting faults":         lastingFaults,
		"refusals":               refusals,
		"a wrong clock":          wrongClock,
		"a cut Put":              cutPut,
		"a lost answer":          lostAnswer,
		"a cut Get":              cutGet,
		"a stall":                stalls,
		"slow bytes":             slowBytes,
		"an ignored range":       ignoredRange,
		"pages":                  pages,
		"the end of the context": contextEnds,
		"a vault":                vaultOverFaults,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, &proxy{g.Proxy(t)}, strings.ReplaceAll(strings.ToLower(name), " ", "-"))
		})
	}
}

// plainly fails if an error is missing, lacks a word, or has a secret.
func plainly(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q lacks %q", err, word)
		}
	}
	for _, secret := range []string{testKey, testSecret, testToken, "Signature=", "X-Amz-"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q has a secret", err)
		}
	}
}

func refusesCondition(t *testing.T, p *proxy, at string) {
	p.Set(func(w http.ResponseWriter, r *http.Request) bool {
		return r.Header.Get("If-None-Match") != "" && testnet.S3Error(w, http.StatusNotImplemented, "NotImplemented", "unknown header")
	})
	conforms(t, p.blobs(t, p.options(at)))
}

// without takes a header out of a request, which was signed with it.
func without(r *http.Request, header string) bool {
	r.Header.Del(header)
	r.Header.Del("Authorization")
	r.Header = signer.SignV4(*r, testKey, testSecret, "", "us-east-1").Header
	return false
}

func ignoresCondition(t *testing.T, p *proxy, at string) {
	p.Set(func(_ http.ResponseWriter, r *http.Request) bool { return without(r, "If-None-Match") })
	b := p.blobs(t, p.options(at))
	for range 2 {
		must(t, b.Put(t.Context(), "packs/aa/x", 5, strings.NewReader("equal")))
	}
	if got, err := readAll(t.Context(), b, "packs/aa/x", 100); err != nil || string(got) != "equal" {
		t.Errorf("%q, %v", got, err)
	}
}

// conflicts: a 409 says that somebody else writes the object. It counts as written only when it is there.
func conflicts(t *testing.T, p *proxy, at string) {
	b := p.blobs(t, p.options(at))
	conflict := func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		return testnet.S3Error(w, http.StatusConflict, "ConditionalRequestConflict", "")
	}
	p.Set(testnet.First(2, http.MethodPut, conflict))
	must(t, b.Put(t.Context(), "trees/a", 5, strings.NewReader("bytes")))
	if got, err := readAll(t.Context(), b, "trees/a", 100); err != nil || string(got) != "bytes" {
		t.Errorf("%q, %v", got, err)
	}
	p.Set(testnet.First(9, http.MethodPut, conflict))
	must(t, b.Put(t.Context(), "trees/a", 5, strings.NewReader("other")))
	if got, err := readAll(t.Context(), b, "trees/a", 100); err != nil || string(got) != "bytes" {
		t.Errorf("%q, %v", got, err)
	}
	plainly(t, b.Put(t.Context(), "trees/b", 5, strings.NewReader("never")), "409", "6 attempts")
}

// passingFaults: two bad answers of any kind, then a good one.
func passingFaults(t *testing.T, p *proxy, at string) {
	b := p.blobs(t, p.options(at))
	for i, c := range []struct {
		status int
		code   string
	}{{500, "InternalError"}, {503, "SlowDown"}, {502, ""}, {400, "RequestTimeout"}, {429, "TooManyRequests"}} {
		name, text := fmt.Sprint("trees/", i), fmt.Sprint("bytes ", i)
		bad := func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			return testnet.S3Error(w, c.status, c.code, "")
		}
		p.Set(testnet.First(1, http.MethodPut, bad))
		must(t, b.Put(t.Context(), name, int64(len(text)), strings.NewReader(text)))
		p.Set(testnet.First(2, http.MethodGet, bad))
		if got, err := readAll(t.Context(), b, name, 100); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
		p.Set(testnet.First(2, http.MethodGet, bad))
		if names := list(t, b, name); len(names) != 1 {
			t.Errorf("%q", names)
		}
		p.Set(testnet.First(2, http.MethodDelete, bad))
		must(t, b.Delete(t.Context(), name))
		if p.asked() != 3 {
			t.Errorf("%d requests", p.asked())
		}
	}
}

// lastingFaults: the bounds hold.
func lastingFaults(t *testing.T, p *proxy, at string) {
	o := p.options(at)
	o.Attempts = 4
	b := p.blobs(t, o)
	always := func(w http.ResponseWriter, _ *http.Request) bool {
		return testnet.S3Error(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
	}
	for what, do := range map[string]func() error{
		"put":    func() error { return b.Put(t.Context(), "trees/a", 1, strings.NewReader("a")) },
		"get":    func() error { _, err := b.Get(t.Context(), "trees/a", 0, -1); return err },
		"delete": func() error { return b.Delete(t.Context(), "trees/a") },
		"list": func() error {
			for _, err := range b.List(t.Context(), "trees/") {
				return err
			}
			return nil
		},
	} {
		p.Set(always)
		plainly(t, do(), what, "trees/", "bucket bucket", "503 SlowDown", "4 attempts")
		if p.asked() != 4 {
			t.Errorf("%s: %d requests", what, p.asked())
		}
	}
	p.Set(always)
	b.limits.total = 0
	plainly(t, b.Delete(t.Context(), "trees/a"), "503 SlowDown")
	if p.asked() != 1 {
		t.Errorf("%d requests after the time was over", p.asked())
	}
	o.Endpoint = "http://127.0.0.1:1" // nobody listens
	plainly(t, p.blobs(t, o).Delete(t.Context(), "trees/a"), "127.0.0.1:1", "refused", "4 attempts")
}

// refusals are told at once, with what to do, and without what was sent.
func refusals(t *testing.T, p *proxy, at string) {
	do := func(o S3Options) error {
		p.Set(nil)
		return p.blobs(t, o).Put(t.Context(), "trees/a", 1, strings.NewReader("a"))
	}
	good := p.options(at)
	wrong, unknown, missing := good, good, good
	wrong.SecretKey, unknown.AccessKey, missing.Bucket = "wrong", "UNKNOWNUNKNOWNUNKNOW", "missing"
	plainly(t, do(wrong), "403 SignatureDoesNotMatch", "check the access key")
	plainly(t, do(unknown), "404 XAdminUserNotFound") // this server's own word
	plainly(t, do(missing), "404 NoSuchBucket", "create it")
	if p.asked() != 1 {
		t.Errorf("%d requests", p.asked())
	}
	if _, err := p.blobs(t, missing).Get(t.Context(), "trees/a", 0, -1); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("an object of a bucket that is not there: %v", err)
	}
	tells := good
	tells.SessionToken = testToken
	b := p.blobs(t, tells)
	for _, c := range []struct {
		status int
		code   string
		want   string
	}{{403, "AccessDenied", "s3:PutObject"}, {403, "", "s3:ListBucket"}, {401, "Unauthorized", "s3:PutObject"}, {400, testToken, "400"},
		{400, testSecret, "400"}, {301, "PermanentRedirect", "another region"}, {400, "InvalidRequest", "400 InvalidRequest"}} {
		p.Set(func(w http.ResponseWriter, r *http.Request) bool {
			var sent bytes.Buffer
			r.Header.Write(&sent) //nolint:errcheck // to memory
			return testnet.S3Error(w, c.status, c.code, sent.String())
		})
		plainly(t, b.Put(t.Context(), "trees/a", 1, strings.NewReader("a")), strconv.Itoa(c.status), c.want)
		_, err := b.Get(t.Context(), "trees/a", 0, -1)
		plainly(t, err, strconv.Itoa(c.status), c.want)
		if p.asked() != 2 {
			t.Errorf("%d %s: %d requests", c.status, c.code, p.asked())
		}
	}
	p.Set(func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true })
	plainly(t, b.Put(t.Context(), "trees/a", 1, strings.NewReader("a")), "404", "check the endpoint")
	if _, err := b.Get(t.Context(), "trees/a", 0, -1); errors.Is(err, ErrNone) {
		t.Errorf("a server of another kind: %v", err)
	}
	p.Set(nil)
	if names := list(t, p.blobs(t, good), ""); len(names) > 0 {
		t.Errorf("%q is there", names)
	}
}

// wrongClock: a request that aged on its way is sent once more; a machine with a wrong clock is told how wrong it is.
func wrongClock(t *testing.T, p *proxy, at string) {
	b := p.blobs(t, p.options(at))
	skew := func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.Header().Set("Date", time.Now().Add(-20*time.Minute).UTC().Format(http.TimeFormat))
		return testnet.S3Error(w, http.StatusForbidden, "RequestTimeTooSkewed", "The difference is too large.")
	}
	p.Set(testnet.First(1, http.MethodPut, skew))
	must(t, b.Put(t.Context(), "trees/a", 1, strings.NewReader("a")))
	p.Set(testnet.First(9, http.MethodPut, skew))
	plainly(t, b.Put(t.Context(), "trees/b", 1, strings.NewReader("b")), "TooSkewed", "clock is 20m", "ahead of the server's")
	if p.asked() != 2 {
		t.Errorf("%d requests", p.asked())
	}
	p.Set(nil)
	if names := list(t, b, ""); len(names) != 1 {
		t.Errorf("%q", names)
	}
}

// large returns an object that takes several packets.
func large() []byte {
	b := make([]byte, 2<<20)
	rand.Read(b) //nolint:errcheck // it never fails
	return b
}

// cutPut: half of the bytes reach the server, then the connection is gone.
func cutPut(t *testing.T, p *proxy, at string) {
	b, body := p.blobs(t, p.options(at)), large()
	half := func(w http.ResponseWriter, r *http.Request, _ int) bool {
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, r.ContentLength/2), broken{}))
		p.Pass(testnet.Discards{ResponseWriter: w}, r)
		testnet.Cut()
		return true
	}
	p.Set(testnet.First(99, http.MethodPut, half))
	plainly(t, b.Put(t.Context(), "packs/aa/x", int64(len(body)), bytes.NewReader(body)), "6 attempts")
	if names := list(t, b, ""); len(names) > 0 {
		t.Errorf("half of %q is seen", names)
	}
	if _, err := b.Get(t.Context(), "packs/aa/x", 0, -1); !errors.Is(err, ErrNone) {
		t.Errorf("half of an object: %v", err)
	}
	p.Set(testnet.First(2, http.MethodPut, half))
	must(t, b.Put(t.Context(), "packs/aa/x", int64(len(body)), bytes.NewReader(body)))
	if got, err := readAll(t.Context(), b, "packs/aa/x", 4<<20); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// broken is a body that breaks off.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// lostAnswer: the server has the object, and the client does not hear of it.
func lostAnswer(t *testing.T, p *proxy, at string) {
	b, body := p.blobs(t, p.options(at)), large()
	p.Set(testnet.First(1, http.MethodPut, func(w http.ResponseWriter, r *http.Request, _ int) bool {
		p.Pass(testnet.Discards{ResponseWriter: w}, r)
		testnet.Cut()
		return true
	}))
	must(t, b.Put(t.Context(), "packs/aa/x", int64(len(body)), bytes.NewReader(body)))
	if got, err := readAll(t.Context(), b, "packs/aa/x", 4<<20); err != nil || !bytes.Equal(got, body) || p.asked() != 3 {
		t.Errorf("%d bytes, %v, %q", len(got), err, p.Asked())
	}
}

// cutGet: the answer breaks off, again and again. What is read goes on where it broke off.
func cutGet(t *testing.T, p *proxy, at string) {
	b, body := p.blobs(t, p.options(at)), large()
	must(t, b.Put(t.Context(), "packs/aa/x", int64(len(body)), bytes.NewReader(body)))
	short := func(bytes int) func(w http.ResponseWriter, r *http.Request, n int) bool {
		return func(w http.ResponseWriter, r *http.Request, n int) bool {
			if n > 1 && !strings.HasPrefix(r.Header.Get("Range"), fmt.Sprintf("bytes=%d-", (n-1)*bytes)) {
				t.Errorf("attempt %d asks for %q", n, r.Header.Get("Range"))
			}
			p.Pass(&testnet.Shortened{ResponseWriter: w, Left: bytes}, r)
			return true
		}
	}
	p.Set(testnet.First(3, http.MethodGet, short(500_000)))
	if got, err := readAll(t.Context(), b, "packs/aa/x", 4<<20); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	p.Set(testnet.First(99, http.MethodGet, short(1000)))
	got, err := readAll(t.Context(), b, "packs/aa/x", 4<<20)
	plainly(t, err, "packs/aa/x", "6 attempts")
	if !bytes.HasPrefix(body, got) {
		t.Error("the bytes before the error are others")
	}
}

// stalls: a server that says nothing is left, and asked anew.
func stalls(t *testing.T, p *proxy, at string) {
	o := p.options(at)
	o.Idle = time.Second / 2
	b, body := p.blobs(t, o), large()
	hold := func(w http.ResponseWriter, r *http.Request, _ int) bool {
		<-r.Context().Done()
		return true
	}
	p.Set(testnet.First(1, http.MethodPut, func(w http.ResponseWriter, r *http.Request, n int) bool {
		io.ReadFull(r.Body, make([]byte, 1000)) //nolint:errcheck // the server sees an end only when it reads
		<-p.gone(r)
		return true
	}))
	must(t, b.Put(t.Context(), "packs/aa/x", int64(len(body)), bytes.NewReader(body)))
	p.Set(testnet.First(1, http.MethodGet, hold))
	if got, err := readAll(t.Context(), b, "packs/aa/x", 4<<20); err != nil || !bytes.Equal(got, body) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	b.limits.attempts = 1
	p.Set(testnet.First(1, http.MethodGet, hold))
	_, err := b.Get(t.Context(), "packs/aa/x", 0, -1)
	plainly(t, err, "nothing moved for too long (500ms)")
}

// gone is closed when the client has left, whatever it had still to send.
func (p *proxy) gone(r *http.Request) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // until it ends
		<-r.Context().Done()
		close(gone)
	}()
	return gone
}

// trickle sends an answer in small pieces.
type trickle struct{ http.ResponseWriter }

// Write is of io.Writer.
func (s trickle) Write(b []byte) (int, error) {
	for at := 0; at < len(b); at += 512 {
		if _, err := s.ResponseWriter.Write(b[at:min(at+512, len(b))]); err != nil {
			return at, err
		}
		s.ResponseWriter.(http.Flusher).Flush()
		time.Sleep(50 * time.Microsecond)
	}
	return len(b), nil
}

// slowBytes: what is slow but moves is waited for.
func slowBytes(t *testing.T, p *proxy, at string) {
	b, body := p.blobs(t, p.options(at)), large()[:256<<10]
	p.Set(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Body != nil {
			r.Body = io.NopCloser(small{r.Body})
		}
		p.Pass(trickle{w}, r)
		return true
	})
	must(t, b.Put(t.Context(), "packs/aa/x", int64(len(body)), bytes.NewReader(body)))
	if got, err := readAll(t.Context(), b, "packs/aa/x", 4<<20); err != nil || !bytes.Equal(got, body) || p.asked() != 2 {
		t.Errorf("%d bytes, %v, %d requests", len(got), err, p.asked())
	}
}

// small reads little at a time.
type small struct{ io.Reader }

// Read is of io.Reader.
func (s small) Read(b []byte) (int, error) { return s.Reader.Read(b[:min(len(b), 1000)]) }

// ignoredRange: bytes from another place are not taken for those that were asked for.
func ignoredRange(t *testing.T, p *proxy, at string) {
	b := p.blobs(t, p.options(at))
	must(t, b.Put(t.Context(), "trees/a", 5, strings.NewReader("bytes")))
	p.Set(func(_ http.ResponseWriter, r *http.Request) bool { return without(r, "Range") })
	_, err := b.Get(t.Context(), "trees/a", 2, 2)
	plainly(t, err, "Range")
	body, err := b.Get(t.Context(), "trees/a", 0, 2) // it begins where it was asked to
	must(t, err)
	if got, err := io.ReadAll(body); err != nil || string(got) != "by" {
		t.Errorf("%q, %v", got, err)
	}
	must(t, body.Close())
}

// pages: a list of several pages is whole and without repetition, also if one in two requests fails.
func pages(t *testing.T, p *proxy, at string) {
	b := p.blobs(t, p.options(at))
	b.limits.page = 2
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprint("packs/0", i, "/x"))
		must(t, b.Put(t.Context(), want[i], 1, strings.NewReader("x")))
	}
	var n atomic.Int32
	p.Set(func(w http.ResponseWriter, _ *http.Request) bool {
		return n.Add(1)%2 == 0 && testnet.S3Error(w, http.StatusInternalServerError, "InternalError", "")
	})
	if names := list(t, b, ""); strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("%q", names)
	}
	if p.asked() < 6 {
		t.Errorf("%d requests for pages of 2", p.asked())
	}
	p.Set(nil)
	for range b.List(t.Context(), "") { // one who has seen enough is asked nothing
		break
	}
	if p.asked() != 1 {
		t.Errorf("%d requests for one object", p.asked())
	}
}

// contextEnds: each operation ends with its context, whatever the server does.
func contextEnds(t *testing.T, p *proxy, at string) {
	b := p.blobs(t, p.options(at))
	must(t, b.Put(t.Context(), "trees/a", 1, strings.NewReader("a")))
	for what, do := range map[string]func(ctx context.Context) error{
		"put":    func(ctx context.Context) error { return b.Put(ctx, "trees/b", 1, strings.NewReader("b")) },
		"get":    func(ctx context.Context) error { _, err := b.Get(ctx, "trees/a", 0, -1); return err },
		"delete": func(ctx context.Context) error { return b.Delete(ctx, "trees/a") },
		"list": func(ctx context.Context) error {
			for _, err := range b.List(ctx, "") {
				return err
			}
			return nil
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		p.Set(func(_ http.ResponseWriter, r *http.Request) bool {
			cancel()
			<-p.gone(r)
			return true
		})
		if err := do(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	p.Set(nil)
	if names := list(t, b, ""); len(names) != 1 {
		t.Errorf("%q", names)
	}
}

// vaultOverFaults saves, checks and loads while one in three requests breaks, each in another way.
func vaultOverFaults(t *testing.T, p *proxy, at string) {
	v, err := NewVault(p.blobs(t, p.options(at)), secret())
	must(t, err)
	dir := filepath.Join(t.TempDir(), "tree")
	files := map[string]string{"a": "small", "b": string(large()), "c/": "", "c/d": strings.Repeat("text", 100_000)}
	write(t, dir, files)
	var n atomic.Int32
	p.Set(func(w http.ResponseWriter, r *http.Request) bool {
		switch n.Add(1) % 12 {
		case 1:
			return testnet.S3Error(w, http.StatusInternalServerError, "InternalError", "")
		case 4:
			testnet.Cut()
		case 7:
			p.Pass(testnet.Discards{ResponseWriter: w}, r)
			testnet.Cut()
		case 10:
			p.Pass(&testnet.Shortened{ResponseWriter: w, Left: 100}, r)
			return true
		}
		return false
	})
	subject := Subject{"t1", "w|p"}
	_, err = v.Save(t.Context(), dir, SaveOptions{Subject: subject})
	must(t, err)
	tree, err := v.Tree(t.Context(), subject)
	must(t, err)
	must(t, v.Check(t.Context(), tree, false))
	must(t, v.Check(t.Context(), tree, true))
	to := filepath.Join(t.TempDir(), "to")
	must(t, v.Load(t.Context(), tree, to, LoadOptions{}))
	same(t, read(t, to), files)
}

// TestS3Options: all that is wrong is said at once, and nothing of a secret.
func TestS3Options(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"s3.example.com", "ftp://s3.example.com", "https://" + testKey + ":" + testSecret + "@s3.x.com",
		"https://s3.example.com/bucket", "https://s3.example.com?x=" + testToken, "https://%zz" + testToken, "http://"} {
		_, err := S3(S3Options{Endpoint: endpoint, Bucket: "B", Prefix: "../x", Region: "a.b/c", AccessKey: testKey, Attempts: -1})
		plainly(t, err, "AWS_ENDPOINT_URL", "bucket's name", "prefix", "AWS_REGION", "AWS_SECRET_ACCESS_KEY", "negative")
	}
	for _, endpoint := range []string{"http://s3.example.com", "http://10.0.0.1:9000", "http://[2001:db8::1]", "http://localhost.x.com",
		"http://127.0.0.1.x.com"} {
		o := S3Options{Endpoint: endpoint, AccessKey: testKey, Plain: false}
		_, err := S3(o)
		plainly(t, err, "others could read all", "bucket's name", "AWS_SECRET_ACCESS_KEY")
		o.Bucket, o.SecretKey, o.Plain = "bucket", testSecret, true
		if _, err := S3(o); err != nil {
			t.Errorf("%s, as asked for: %v", endpoint, err)
		}
	}
	for _, endpoint := range []string{"https://s3.example.com", "http://127.0.0.1:9000/", "https://[::1]:9000", "http://localhost:9000"} {
		for _, prefix := range []string{"", "a", "Warren/packs.1_2/"} {
			o := S3Options{Endpoint: endpoint, Bucket: "my.bucket-1", Prefix: prefix, AccessKey: "a", SecretKey: "b"}
			if _, err := S3(o); err != nil {
				t.Errorf("%s %s: %v", endpoint, prefix, err)
			}
		}
	}
}

// TestS3Address: an address and the environment say everything.
func TestS3Address(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c",
		"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2", "AWS_ENDPOINT_URL": "https://one",
		"AWS_ENDPOINT_URL_S3": "https://two"}
	of := func(address string) S3Options {
		return S3Address(address, func(name string) string { return variables[name] })
	}
	want := S3Options{Endpoint: "https://two", Region: "eu-west-1", Bucket: "my-bucket", Prefix: "a/b/", AccessKey: "a", SecretKey: "b",
		SessionToken: "c"}
	if got := of("s3://my-bucket/a/b/"); got != want {
		t.Errorf("%+v", got)
	}
	delete(variables, "AWS_ENDPOINT_URL_S3")
	delete(variables, "AWS_REGION")
	if got := of("s3://my-bucket"); got.Endpoint != "https://one" || got.Region != "eu-west-2" || got.Prefix != "" {
		t.Errorf("%+v", got)
	}
	delete(variables, "AWS_ENDPOINT_URL")
	if got := of("s3://my-bucket/"); got.Endpoint != "https://s3.eu-west-2.amazonaws.com" {
		t.Errorf("%+v", got)
	}
	clear(variables)
	_, err := S3(of("s3://" + testKey + ":" + testSecret + "@bucket/x?y=" + testToken))
	plainly(t, err, "bucket's name", "prefix", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
	if got := of("s3://"); got.Endpoint != "https://s3.us-east-1.amazonaws.com" || got.Bucket != "" {
		t.Errorf("%+v", got)
	}
}
