package browser

import "sync/atomic"

// ClientTraffic counts the messages between DevTools clients and the browser since its start, and their bytes.
type ClientTraffic struct {
	Received, Sent           int64 // messages, from clients and to them
	BytesReceived, BytesSent int64
}

// clientTraffic counts while messages pass. Its methods take nil.
type clientTraffic struct {
	in, out, bytesIn, bytesOut atomic.Int64
}

func (t *clientTraffic) received(size int) {
	if t != nil {
		t.in.Add(1)
		t.bytesIn.Add(int64(size))
	}
}

func (t *clientTraffic) sent(size int) {
	if t != nil {
		t.out.Add(1)
		t.bytesOut.Add(int64(size))
	}
}
