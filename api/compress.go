package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// worthCompressing is the length in bytes from which an answer is compressed.
const worthCompressing = 2048

// compressors keeps gzip writers, whose tables are large.
type compressors struct{ pool sync.Pool }

func (c *compressors) get(to *bytes.Buffer) *gzip.Writer {
	if z, ok := c.pool.Get().(*gzip.Writer); ok {
		z.Reset(to)
		return z
	}
	z, _ := gzip.NewWriterLevel(to, gzip.BestSpeed) // fails for other levels alone
	return z
}

// compress makes a long list of the page's shorter: gzip at its fastest, a tenth of the bytes. Only a browser gets it, which says
// so by Fetch metadata (Sec-Fetch-Mode): programs on the same machine would pay for bytes that cost them nothing. Lists have no ETag,
// which would be of the bytes (RFC 9110, 8.8.1).
func (c *compressors) compress(ctx huma.Context, b *body) *body {
	isPage := ctx.Method() == http.MethodGet && ctx.Header("Sec-Fetch-Mode") != ""
	if len(*b) < worthCompressing || !isPage || !takesGzip(ctx.Header("Accept-Encoding")) {
		return b
	}
	out := bodies.Get().(*body)
	to := bytes.NewBuffer((*out)[:0])
	z := c.get(to)
	z.Write(*b) //nolint:errcheck // to a buffer
	z.Close()   //nolint:errcheck // to a buffer
	c.pool.Put(z)
	bodies.Put(b)
	*out = to.Bytes()
	ctx.SetHeader("Content-Encoding", "gzip")
	ctx.SetHeader("Vary", "Accept-Encoding, Sec-Fetch-Mode")
	return out
}

// takesGzip says whether an Accept-Encoding header names gzip. Browsers send no weights.
func takesGzip(header string) bool {
	return slices.Contains(strings.Split(strings.ReplaceAll(header, " ", ""), ","), "gzip")
}
