package testnet

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// entry is a name's answers: one set after the other, the last for ever.
type entry struct {
	sets  [][]netip.Addr
	asked int
}

// Name gives a name its addresses. With more than one set, each question for an IPv4 address takes the next: a name that rebinds.
func (w *World) Name(name string, sets ...[]netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[strings.ToLower(name)] = &entry{sets: sets}
}

// namePool is where names get their addresses from that nobody gave any. They are public addresses to everybody on the machine.
func namePool() netip.Addr { return netip.MustParseAddr("93.184.0.0") }

// addresses is what a name has now. Every name has an address.
func (w *World) addresses(name string, four bool) []netip.Addr {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.names[name]
	if e == nil {
		b := namePool().As4()
		n := len(w.byAddr) + 1
		b[2], b[3] = byte(n>>8), byte(n)
		a := netip.AddrFrom4(b)
		w.byAddr[a] = name
		e = &entry{sets: [][]netip.Addr{{a}}}
		w.names[name] = e
	}
	set := e.sets[min(e.asked, len(e.sets)-1)]
	if four {
		e.asked++
	}
	return slices.DeleteFunc(slices.Clone(set), func(a netip.Addr) bool { return a.Is4() != four })
}

// NameOf is the name that was given the address, "" for none.
func (w *World) NameOf(a netip.Addr) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byAddr[a]
}

// Queries are the questions that the name server was asked, as "A name".
func (w *World) Queries() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.queries)
}

// nameDatagram answers a question.
func (w *World) nameDatagram(_ netip.AddrPort, in []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(in)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	w.mu.Lock()
	w.queries = append(w.queries, strings.TrimPrefix(q.Type.String(), "Type")+" "+name)
	w.tell()
	w.mu.Unlock()
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: head.ID, Response: true, RecursionDesired: true, RecursionAvailable: true})
	b.EnableCompression()
	if b.StartQuestions() != nil || b.Question(q) != nil || b.StartAnswers() != nil {
		return nil
	}
	record := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}
	switch q.Type {
	case dnsmessage.TypeA:
		for _, a := range w.addresses(name, true) {
			b.AResource(record, dnsmessage.AResource{A: a.As4()}) //nolint:errcheck // Finish tells
		}
	case dnsmessage.TypeAAAA:
		for _, a := range w.addresses(name, false) {
			b.AAAAResource(record, dnsmessage.AAAAResource{AAAA: a.As16()}) //nolint:errcheck // as above
		}
	}
	out, err := b.Finish()
	if err != nil {
		return nil
	}
	return out
}

// nameStream is the same over TCP (RFC 1035, 4.2.2).
func (w *World) nameStream(c net.Conn) {
	defer c.Close()
	w.note(c.RemoteAddr(), "DNS over TCP")
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		in := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, in); err != nil {
			return
		}
		out := w.nameDatagram(netip.AddrPort{}, in)
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}

// listenUDP answers datagrams at every address of the world. An answer has to come from the address that was asked, which the kernel
// tells beside each datagram, and takes back in the same form.
func (w *World) listenUDP(port uint16, reply func(from netip.AddrPort, in []byte) []byte) {
	w.t.Helper()
	var c *net.UDPConn
	tellAddress := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if e := raw.Control(func(fd uintptr) {
			if err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1); err == nil {
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1) //nolint:errcheck // where there is no IPv6
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1)    //nolint:errcheck // as above
			}
		}); e != nil {
			return e
		}
		return err
	}}
	err := w.do(func() error {
		l, err := tellAddress.ListenPacket(context.Background(), "udp", fmt.Sprintf(":%d", port))
		if err == nil {
			c = l.(*net.UDPConn)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.closers = append(w.closers, func() { c.Close() })
	w.wg.Go(func() {
		in, extra := make([]byte, 64<<10), make([]byte, 256)
		for {
			n, m, _, from, err := c.ReadMsgUDPAddrPort(in, extra)
			if err != nil {
				return
			}
			if out := reply(from, in[:n]); out != nil {
				c.WriteMsgUDPAddrPort(out, extra[:m], from) //nolint:errcheck // a datagram may be lost
			}
		}
	})
}
