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

// Name sets the addresses of a name. With more than one set, each query for an IPv4 address takes the next: a
// rebinding name.
func (w *World) Name(name string, sets ...[]netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[strings.ToLower(name)] = &entry{sets: sets}
}

// namePool is the first address for names without their own. The machine takes these for public addresses.
func namePool() netip.Addr { return netip.MustParseAddr("93.184.0.0") }

// addresses returns the current addresses of a name. Every name has one.
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

// NameOf returns the name that has the address, "" for none.
func (w *World) NameOf(a netip.Addr) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byAddr[a]
}

// Queries returns the queries to the name server, as "A name".
func (w *World) Queries() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.queries)
}

// nameDatagram answers a query.
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
	w.notify()
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
			b.AResource(record, dnsmessage.AResource{A: a.As4()}) //nolint:errcheck // Finish returns the error
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

// nameStream answers queries over TCP (RFC 1035, 4.2.2).
func (w *World) nameStream(c net.Conn) {
	defer c.Close()
	w.annotate(c.RemoteAddr(), "DNS over TCP")
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

// listenUDP answers datagrams at every address of the world. An answer must come from the address that was queried.
// The kernel reports that address beside each datagram, and takes it back in the same form.
func (w *World) listenUDP(port uint16, reply func(from netip.AddrPort, in []byte) []byte) {
	w.t.Helper()
	var c *net.UDPConn
	tellAddress := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if e := raw.Control(func(fd uintptr) {
			if err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1); err == nil {
				unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1) //nolint:errcheck // fails without IPv6
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
