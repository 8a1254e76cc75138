package packs

import (
	"os"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"warren/testnet"
)

// TestMain has the client of S3 wait little after a fault: it does so once more than we do.
func TestMain(m *testing.M) {
	minio.DefaultRetryUnit = time.Millisecond
	os.Exit(m.Run())
}

// The keys of the gateway, and one for a time.
const (
	testKey    = testnet.S3Access
	testSecret = testnet.S3Secret
	testToken  = "FwoGZXIvYXdzEExampleSessionToken0123456789"
)

// proxy stands before the gateway.
type proxy struct{ *testnet.S3Proxy }

// asked returns how many requests there were since Set.
func (p *proxy) asked() int { return len(p.Asked()) }

// options are good ones for the gateway behind the proxy.
func (p *proxy) options(prefix string) S3Options {
	return S3Options{Endpoint: p.URL, Bucket: testnet.S3Bucket, Prefix: prefix, AccessKey: testKey, SecretKey: testSecret}
}

// blobs returns the bucket behind the proxy. It waits little between attempts.
func (p *proxy) blobs(t *testing.T, o S3Options) *bucket {
	t.Helper()
	b, err := S3(o)
	must(t, err)
	b.(*bucket).limits.pause = time.Millisecond
	return b.(*bucket)
}
