package proxy

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func FuzzReadRequest(f *testing.F) {
	for _, s := range []string{
		"\x05\x01\x00\x05\x01\x00\x01\x01\x02\x03\x04\x00\x50", "\x05\x02\x00\x02\x05\x01\x00\x03\x0bexample.com\x01\xbb",
		"\x05\x01\x00\x05\x01\x00\x04\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x50",
		"\x05\x01\x00\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50",
		"\x05\x00", "\x05\xff", "\x04\x01\x00\x50\x01\x02\x03\x04\x00", "GET / HTTP/1.1\r\n\r\n",
		"\x05\x01\x00\x05\x01\x00\x03\x00\x00\x00", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		rw := &oneSided{in: bytes.NewReader(in)}
		address, early, err := readRequest(rw)
		if rw.out.Len() > 2 {
			t.Fatalf("answered % x before the dial", rw.out.Bytes())
		}
		if err != nil {
			return
		}
		if !bytes.HasSuffix(in, append(early, rw.rest()...)) {
			t.Fatalf("% x: lost what came after: % x", in, early)
		}
		if in[0] != 5 || !strings.HasPrefix(rw.out.String(), "\x05\x00") {
			t.Fatalf("took % x", in)
		}
		target, fault := parseTarget(address)
		if fault == nil && (target.host == "" || target.port == "0" || strings.ContainsAny(target.address(), " \r\n\x00/@")) {
			t.Fatalf("% x: target %q", in, target.address())
		}
		p := Policy{}
		if fault == nil && target.addr.IsValid() && target.addr.IsLoopback() && p.refuses(target, &localCache{}) == "" {
			t.Fatalf("% x: loopback passes as %q", in, target.address())
		}
	})
}

type oneSided struct {
	in  *bytes.Reader
	out bytes.Buffer
}

func (o *oneSided) rest() []byte                { b, _ := io.ReadAll(o.in); return b }
func (o *oneSided) Read(b []byte) (int, error)  { return o.in.Read(b) }
func (o *oneSided) Write(b []byte) (int, error) { return o.out.Write(b) }
