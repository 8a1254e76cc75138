package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
)

// answer is a file as it is served. Its compressed forms are made once, when a browser first asks for one.
type answer struct {
	body        []byte
	contentType string
	cache       string

	brotli, gzip func() []byte // nil for what does not shrink
}

// brotliQuality is near the smallest that Brotli makes (11), in a tenth of the time.
const brotliQuality = 9

func newAnswer(body []byte, contentType, cache string) *answer {
	a := &answer{body: body, contentType: contentType, cache: cache}
	if contentType != "font/woff2" { // is compressed
		a.brotli = sync.OnceValue(func() []byte {
			return compressed(body, func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, brotliQuality) })
		})
		a.gzip = sync.OnceValue(func() []byte {
			return compressed(body, func(w io.Writer) io.WriteCloser {
				z, _ := gzip.NewWriterLevel(w, gzip.BestCompression) // fails for other levels alone
				return z
			})
		})
	}
	return a
}

// compressed returns the body behind a compressor. A buffer takes every write, so that nothing here fails.
func compressed(body []byte, through func(io.Writer) io.WriteCloser) []byte {
	var out bytes.Buffer
	w := through(&out)
	w.Write(body) //nolint:errcheck // to a buffer
	w.Close()     //nolint:errcheck // to a buffer
	return out.Bytes()
}

// serve answers with the smallest form that the client takes (RFC 9110, 12.5.3). Weights are not weighed: no browser
// sends any for these two.
func (a *answer) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", a.cache)
	h.Set("Content-Type", a.contentType)
	body := a.body
	if a.gzip != nil {
		h.Set("Vary", "Accept-Encoding")
		switch takes := r.Header.Get("Accept-Encoding"); {
		case accepts(takes, "br"):
			h.Set("Content-Encoding", "br")
			body = a.brotli()
		case accepts(takes, "gzip"):
			h.Set("Content-Encoding", "gzip")
			body = a.gzip()
		}
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// accepts says whether an Accept-Encoding header names a coding, and does not refuse it with a weight of 0.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		weight = strings.TrimRight(strings.ReplaceAll(weight, " ", ""), "0.")
		if strings.EqualFold(strings.TrimSpace(name), coding) && weight != "q=" {
			return true
		}
	}
	return false
}
