package packs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// fault is why an attempt failed.
type fault struct {
	status int    // of the answer; 0: there was none
	code   string // of S3, such as AccessDenied; empty: the server says none
	what   string // in words
	passes bool   // another attempt may succeed
	failed int    // attempts
	cause  error  // why there was no answer
}

func (f *fault) Error() string {
	var said []string
	if f.status != 0 {
		said = append(said, strings.TrimSpace(fmt.Sprintf("the server answered %d %s", f.status, f.code)))
	}
	if f.cause != nil {
		said = append(said, f.cause.Error())
	}
	if f.what != "" {
		said = append(said, f.what)
	}
	if f.failed > 1 {
		return fmt.Sprintf("%s (%d attempts)", strings.Join(said, ": "), f.failed)
	}
	return strings.Join(said, ": ")
}

func (f *fault) Unwrap() error { return f.cause }

// s3Code is what a code of S3 looks like. What is not of this shape comes from something else, and may repeat what it was sent.
var s3Code = regexp.MustCompile(`^[A-Z][A-Za-z]{2,39}$`)

// passing are codes that may pass, though their status does not say so.
var passing = regexp.MustCompile(`^(RequestTimeout|IncompleteBody|BadDigest|XAmzContentSHA256Mismatch|OperationAborted|` + skewed + `)$`)

const skewed = "RequestTimeTooSkewed"

// answered is the fault, or ErrNone, that a server's answer stands for.
func answered(status int, code, region string) error {
	if !s3Code.MatchString(code) {
		code = ""
	}
	if status == http.StatusNotFound && (code == "" || code == "NoSuchKey" || code == "NoSuchVersion" || code == "NotFound") {
		return ErrNone
	}
	f := &fault{status: status, code: code, what: advice(status, code)}
	f.passes = status >= 500 && status != http.StatusNotImplemented || status == http.StatusRequestTimeout ||
		status == http.StatusTooManyRequests || passing.MatchString(code)
	if f.what == otherRegion && len(region) < 40 && plainPath.MatchString(region) {
		f.what += ", " + region
	}
	return f
}

const (
	noBucket    = "NoSuchBucket"
	noKey       = "InvalidAccessKeyId"
	otherRegion = "the bucket is in another region: set the endpoint and the region to the bucket's"
)

// advice is what somebody can do about an answer.
func advice(status int, code string) string {
	switch code {
	case skewed: // explain knows more
		return ""
	case noBucket:
		return "there is no such bucket: create it, or correct its name"
	case noKey, "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken":
		return "check the access key, its secret key and, if there is one, the session token"
	case "AuthorizationHeaderMalformed":
		return otherRegion
	}
	switch status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect:
		return otherRegion
	case http.StatusUnauthorized, http.StatusForbidden:
		return "the key must be allowed s3:GetObject, s3:PutObject, s3:DeleteObject and s3:ListBucket for this bucket and prefix"
	}
	return ""
}

// unanswered is the fault that an error without an answer stands for.
func unanswered(err error) error {
	var at *url.Error
	if errors.As(err, &at) { // its text repeats the request
		err = at.Err
	}
	var unknown x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verify *tls.CertificateVerificationError
	if f := new(fault); errors.As(err, &f) {
		return f
	}
	f := &fault{cause: err, passes: true}
	switch {
	case errors.As(err, &unknown), errors.As(err, &wrongHost), errors.As(err, &invalid), errors.As(err, &verify):
		f.passes, f.what = false, "the server's certificate is not to be trusted: SSL_CERT_FILE can name the authority's"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		f.passes, f.what = false, "the endpoint must begin with http://, or the server needs a certificate"
	}
	return f
}

// errIdle ends an attempt in which nothing moves.
var errIdle = errors.New("nothing moved for too long")

// watch ends an attempt when nothing has moved for a while. Its context is the attempt's.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
}

func newWatch(ctx context.Context, idle time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(ctx)
	return &watch{ctx, cancel, time.AfterFunc(idle, func() { cancel(errIdle) }), idle}
}

// moved gives the attempt its time anew.
func (w *watch) moved() { w.timer.Reset(w.idle) }

// rest stops the clock while it is not the server's turn.
func (w *watch) rest() { w.timer.Stop() }

func (w *watch) end() {
	w.timer.Stop()
	w.cancel(nil)
}

// err says why the attempt was ended, nil if it was not.
func (w *watch) err() error {
	switch err := context.Cause(w.ctx); {
	case err == nil:
		return nil
	case errors.Is(err, errIdle):
		return &fault{cause: fmt.Errorf("%w (%v)", errIdle, w.idle), passes: true}
	default:
		return w.ctx.Err()
	}
}

// tries bounds the attempts of one operation.
type tries struct {
	limits
	failed int
	first  time.Time // when the first attempt failed
}

func (b *bucket) tries() *tries { return &tries{limits: b.limits} }

// run calls do until it succeeds, until its error is no fault that may pass, or until the bounds are reached.
func (t *tries) run(ctx context.Context, do func(w *watch) error) error {
	for {
		w := newWatch(ctx, t.idle)
		err := do(w)
		w.end()
		if err == nil {
			return nil
		}
		if err := t.again(ctx, err); err != nil {
			return err
		}
	}
}

// again waits before the next attempt. Its error says that there is none.
func (t *tries) again(ctx context.Context, err error) error {
	f := new(fault)
	if !errors.As(err, &f) || !f.passes {
		return err
	}
	if t.failed == 0 {
		t.first = time.Now()
	}
	t.failed++
	pause := min(t.pause<<min(t.failed-1, 16), longestPause)
	pause = pause/2 + rand.N(pause/2+1) //nolint:gosec // so that many do not come again at once
	most := t.attempts
	if f.code == skewed { // a machine that slept while it asked has the right time now
		most = min(most, 2)
	}
	if t.failed >= most || time.Since(t.first)+pause > t.total {
		f.failed = t.failed
		return f
	}
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// dated sends requests, and notes how the server's clock differs from this machine's.
type dated struct {
	base http.RoundTripper
	skew atomic.Int64 // nanoseconds that this machine is ahead of the server's last answer
}

// asksFirst is from how many bytes on a body waits for the server's word, so that a refusal is heard before it is sent.
const asksFirst = 1 << 20

// notS3 is said of a server that finds nothing, and not in the way of S3. That is no word on what a bucket holds.
const notS3 = "this is not how S3 answers: check the endpoint"

// RoundTrip is of http.RoundTripper.
func (d *dated) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.ContentLength >= asksFirst {
		r = r.Clone(r.Context())
		r.Header.Set("Expect", "100-continue")
	}
	answer, err := d.base.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	isXML := strings.Contains(answer.Header.Get("Content-Type"), "xml")
	if answer.StatusCode == http.StatusNotFound && r.Method == http.MethodGet && !isXML {
		return nil, errors.Join(&fault{status: answer.StatusCode, what: notS3}, answer.Body.Close())
	}
	if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		d.skew.Store(int64(time.Since(at)))
	}
	return answer, nil
}

// explain adds to a refused clock how wrong it is.
func (d *dated) explain(f *fault) error {
	if f.code != skewed {
		return f
	}
	told := *f
	skew, way := time.Duration(d.skew.Load()).Round(time.Second), "ahead of"
	if skew < 0 {
		skew, way = -skew, "behind"
	}
	told.what = fmt.Sprintf("this machine's clock is %v %s the server's: set it", skew, way)
	return &told
}
