package leaks

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Canaries are listeners on this machine's own addresses that nothing in a profile may reach. Every connection and
// datagram is recorded. A connection counts before a byte of it is read.
type Canaries struct {
	addresses []netip.Addr
	ports     map[string]int // by kind
	tls       *tls.Config
	closers   []interface{ Close() error }
	work      sync.WaitGroup

	mu    sync.Mutex
	hits  []Hit
	conns map[net.Conn]bool // nil when closed
}

// readTimeout bounds the wait for the first bytes.
const readTimeout = 2 * time.Second

// The kinds of canaries. Each has its own port, which is the same on every address.
func tcpKinds() []string {
	return []string{"web", "tls", "preconnect", "turn_tcp", "turn_tls", "dns", "doh"}
}
func udpKinds() []string {
	return []string{"stun_udp", "turn_udp", "webtransport", "quic", "dns"}
}

func newCanaries(cert tls.Certificate) (*Canaries, error) {
	t := &Canaries{addresses: ownAddresses(), ports: map[string]int{}, conns: map[net.Conn]bool{},
		tls: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}}
	if len(t.addresses) == 0 {
		return nil, errors.New("this machine has no address to listen at")
	}
	for _, kind := range slices.Concat(tcpKinds(), udpKinds()) {
		if t.ports[kind] != 0 { // a kind of both protocols
			continue
		}
		if err := t.open(kind); err != nil {
			t.Close()
			return nil, fmt.Errorf("a canary cannot listen: %w", err)
		}
	}
	return t, nil
}

// open listens for a kind on one port of every address. If the port is in use on one of them, it tries another port.
func (t *Canaries) open(kind string) error {
	var err error
	for range 20 {
		var streams []net.Listener
		var packets []net.PacketConn
		if streams, packets, err = listenAll(t.addresses, slices.Contains(tcpKinds(), kind),
			slices.Contains(udpKinds(), kind)); err == nil {
			t.watch(kind, streams, packets)
			return nil
		}
	}
	return err
}

func (t *Canaries) watch(kind string, streams []net.Listener, packets []net.PacketConn) {
	for _, l := range streams {
		t.ports[kind] = l.Addr().(*net.TCPAddr).Port
		t.closers = append(t.closers, l)
		t.work.Go(func() { t.accept(kind, l) })
	}
	for _, c := range packets {
		t.ports[kind] = c.LocalAddr().(*net.UDPAddr).Port
		t.closers = append(t.closers, c)
		t.work.Go(func() { t.receive(kind, c) })
	}
}

// listenAll listens at one free port on every address, or on none.
func listenAll(addresses []netip.Addr, tcp, udp bool) (streams []net.Listener, packets []net.PacketConn, err error) {
	var port uint16
	for _, a := range addresses {
		if tcp {
			l, e := net.Listen("tcp", netip.AddrPortFrom(a, port).String())
			if err = e; err != nil {
				break
			}
			streams, port = append(streams, l), uint16(l.Addr().(*net.TCPAddr).Port) //nolint:gosec // a port
		}
		if udp {
			c, e := net.ListenPacket("udp", netip.AddrPortFrom(a, port).String())
			if err = e; err != nil {
				break
			}
			packets, port = append(packets, c), uint16(c.LocalAddr().(*net.UDPAddr).Port) //nolint:gosec // a port
		}
	}
	if err != nil {
		for _, l := range streams {
			l.Close()
		}
		for _, c := range packets {
			c.Close()
		}
	}
	return streams, packets, err
}

// Hits returns the hits so far.
func (t *Canaries) Hits() []Hit {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.hits)
}

// Close ends the canaries and returns when they have stopped.
func (t *Canaries) Close() {
	t.mu.Lock()
	for c := range t.conns {
		c.Close()
	}
	t.conns = nil
	t.mu.Unlock()
	for _, c := range t.closers {
		c.Close()
	}
	t.work.Wait()
}

// add stores a hit and returns its index.
func (t *Canaries) add(h Hit) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.At = time.Now()
	t.hits = append(t.hits, h)
	return len(t.hits) - 1
}

// amend adds to a hit what was read later.
func (t *Canaries) amend(i int, change func(*Hit)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.hits[i])
}

func (t *Canaries) accept(kind string, l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors: the connection counts all the same
			t.add(Hit{Kind: kind, Local: l.Addr().String(), First: "a connection that could not be taken: " + err.Error()})
			return
		}
		i := t.add(Hit{Kind: kind, Local: c.LocalAddr().String(), Remote: c.RemoteAddr().String(), First: "a connection"})
		t.mu.Lock()
		open := t.conns != nil
		if open {
			t.conns[c] = true
		}
		t.mu.Unlock()
		if !open {
			c.Close()
			return
		}
		t.work.Go(func() {
			t.read(i, c)
			c.Close()
			t.mu.Lock()
			delete(t.conns, c)
			t.mu.Unlock()
		})
	}
}

// read records the first bytes of a connection, also inside of TLS. It sends no answer.
func (t *Canaries) read(i int, c net.Conn) {
	c.SetDeadline(time.Now().Add(readTimeout)) //nolint:errcheck // fails on a closed connection, as does the read
	in := bufio.NewReader(c)
	first, err := in.Peek(1)
	if err != nil {
		return
	}
	if first[0] == 22 { // a TLS handshake (RFC 8446, 5.1)
		t.amend(i, func(h *Hit) { h.First = "a TLS handshake" })
		inside := tls.Server(&peeked{c, in}, t.tls)
		if inside.Handshake() != nil {
			return
		}
		in = bufio.NewReader(inside)
	}
	var b [2048]byte
	n, _ := in.Read(b[:])
	if n == 0 {
		return
	}
	t.amend(i, func(h *Hit) { h.describe(b[:n]) })
}

// peeked is a connection whose first bytes are buffered.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.in.Read(b) }

// describe sets the hit's description from the first bytes.
func (h *Hit) describe(b []byte) {
	if kind := stunKind(b); kind != "" {
		h.First = kind
		return
	}
	if len(b) > 5 && h.Kind != "stun_udp" && (b[0]&0xc0 == 0xc0) {
		h.First = "a QUIC packet"
		return
	}
	line, rest, _ := strings.Cut(string(b), "\r\n")
	method, target, ok := strings.Cut(strings.TrimSuffix(line, " HTTP/1.1"), " ")
	if !ok || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		h.First = fmt.Sprintf("%d bytes: %.16x", len(b), b)
		return
	}
	target, query, _ := strings.Cut(target, "?")
	h.First = fmt.Sprintf("%s %.100s", method, target)
	h.Channel, h.Nonce = channelOf(target)
	for line := range strings.SplitSeq(rest, "\r\n") {
		if name, value, _ := strings.Cut(line, ":"); strings.EqualFold(name, "Host") {
			h.Host = strings.TrimSpace(value)
		}
	}
	if name := askedName(query); name != "" {
		h.First, h.Host = "a look-up of "+name, name
	}
}

func (t *Canaries) receive(kind string, c net.PacketConn) {
	var b [2048]byte
	for {
		n, from, err := c.ReadFrom(b[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // Windows reports earlier answers that were not received
			continue
		}
		h := Hit{Kind: kind, Local: c.LocalAddr().String(), Remote: from.String()}
		h.describe(b[:n])
		t.add(h)
		if answer := answerSTUN(b[:n], from); answer != nil {
			c.WriteTo(answer, from) //nolint:errcheck // the sender may be gone
		}
	}
}

// askedName returns the name in a DNS query of DNS over HTTPS (RFC 8484, 4.1; RFC 1035, 4.1), "" if there is none.
func askedName(query string) (name string) {
	text, ok := strings.CutPrefix(query, "dns=")
	b, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(b) < 13 {
		return ""
	}
	for b = b[12:]; len(b) > int(b[0]) && b[0] > 0; b = b[1+int(b[0]):] {
		name += string(b[1:1+int(b[0])]) + "."
	}
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '?'
		}
		return r
	}, name)
}

// stunCookie is part of every STUN message (RFC 8489, 5).
const stunCookie = 0x2112a442

// stunKind names a STUN or TURN message, "" for anything else (RFC 8489, 5; RFC 8656, 17).
func stunKind(b []byte) string {
	if len(b) < 20 || binary.BigEndian.Uint32(b[4:]) != stunCookie {
		return ""
	}
	switch binary.BigEndian.Uint16(b) {
	case 0x0001:
		return "a STUN binding request"
	case 0x0003:
		return "a TURN allocate request"
	}
	return "a STUN message"
}

// answerSTUN answers a binding request with the sender's address (RFC 8489, 14.2), so that a browser reveals what it
// would reveal to any such server. Other messages get no answer.
func answerSTUN(b []byte, from net.Addr) []byte {
	udp, ok := from.(*net.UDPAddr)
	if !ok || stunKind(b) == "" || binary.BigEndian.Uint16(b) != 1 {
		return nil
	}
	a := udp.AddrPort().Addr().Unmap()
	ip, family := a.AsSlice(), byte(1)
	if a.Is6() {
		family = 2
	}
	out := binary.BigEndian.AppendUint16(nil, 0x0101)
	out = binary.BigEndian.AppendUint16(out, uint16(8+len(ip))) //nolint:gosec // 12 or 24
	out = append(out, b[4:20]...)
	out = binary.BigEndian.AppendUint16(out, 0x0020)
	out = binary.BigEndian.AppendUint16(out, uint16(4+len(ip))) //nolint:gosec // 8 or 20
	out = append(out, 0, family)
	out = binary.BigEndian.AppendUint16(out, udp.AddrPort().Port()^(stunCookie>>16))
	for i := range ip {
		ip[i] ^= b[4+i]
	}
	return append(out, ip...)
}
