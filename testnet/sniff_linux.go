package testnet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// Packet is a packet that left the machine.
type Packet struct {
	At       time.Time
	Proto    string // tcp, udp, igmp, icmp, icmp6, mld, arp, or the kernel's number
	Src, Dst netip.AddrPort
	What     string // its content, as far as one packet tells
	Kernel   bool   // sent by the machine's kernel itself: a neighbour look-up, or an answer
}

// sniff opens a raw socket at the world's end of the cable and records incoming packets.
func (w *World) sniff() error {
	link, err := net.InterfaceByName(worldEnd)
	if err != nil {
		return err
	}
	every := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL)) // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, int(every))
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "sniffer")
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return err
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 64<<20) //nolint:errcheck // lost packets are counted
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: every, Ifindex: link.Index}); err != nil {
		return err
	}
	w.closers = append(w.closers, func() { f.Close() })
	w.wg.Go(func() {
		frame := make([]byte, 128<<10)
		for {
			n, err := f.Read(frame)
			if errors.Is(err, unix.ENETDOWN) {
				continue // reported once, before the cable is up
			}
			if err != nil {
				return
			}
			p, ok := decode(frame[:n])
			if !ok {
				continue
			}
			w.mu.Lock()
			w.packets = append(w.packets, p)
			if s, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
				w.dropped += int(s.Drops)
			}
			w.notify()
			w.mu.Unlock()
		}
	})
	return nil
}

// decode parses an Ethernet frame.
func decode(b []byte) (Packet, bool) {
	p := Packet{At: time.Now()}
	if len(b) < 14 {
		return p, false
	}
	kind, b := binary.BigEndian.Uint16(b[12:]), b[14:]
	switch {
	case kind == unix.ETH_P_IP && len(b) >= 20:
		head := int(b[0]&15) * 4
		src, dst := netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		if len(b) < head {
			return p, false
		}
		p.transport(int(b[9]), src, dst, b[head:])
	case kind == unix.ETH_P_IPV6 && len(b) >= 40:
		next, rest := int(b[6]), b[40:]
		src, dst := netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		for next == unix.IPPROTO_HOPOPTS && len(rest) >= 8 && len(rest) >= int(rest[1]+1)*8 { // precedes reports of groups
			next, rest = int(rest[0]), rest[int(rest[1]+1)*8:]
		}
		p.transport(next, src, dst, rest)
	case kind == unix.ETH_P_ARP && len(b) >= 28:
		target := netip.AddrFrom4([4]byte(b[24:28]))
		p.Proto, p.Src, p.Dst = "arp", netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[14:18])), 0), netip.AddrPortFrom(target, 0)
		p.What = "who has " + target.String()
		p.Kernel = target == routerAddr() || b[7] == 2 // an answer
	default:
		p.Proto = fmt.Sprintf("ether %04x", kind)
	}
	return p, true
}

// transport parses the content of an IP packet.
func (p *Packet) transport(proto int, src, dst netip.Addr, b []byte) {
	p.Src, p.Dst = netip.AddrPortFrom(src, 0), netip.AddrPortFrom(dst, 0)
	if (proto == unix.IPPROTO_TCP || proto == unix.IPPROTO_UDP) && len(b) >= 8 {
		p.Src = netip.AddrPortFrom(src, binary.BigEndian.Uint16(b))
		p.Dst = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(b[2:]))
	}
	switch proto {
	case unix.IPPROTO_TCP:
		p.Proto = "tcp"
	case unix.IPPROTO_UDP:
		p.Proto = "udp"
		p.datagram(b[min(8, len(b)):])
	case unix.IPPROTO_IGMP:
		p.Proto, p.What = "igmp", "joins or leaves a group"
		if len(b) >= 16 && b[0] == 0x22 {
			p.What = "joins or leaves " + netip.AddrFrom4([4]byte(b[12:16])).String()
		}
	case unix.IPPROTO_ICMP:
		p.Proto = "icmp"
		p.Kernel = len(b) > 0 && b[0] == 3 // a datagram for a socket that was closed
	case unix.IPPROTO_ICMPV6:
		p.icmp6(b)
	default:
		p.Proto = fmt.Sprint("ip ", proto)
	}
}

func (p *Packet) datagram(b []byte) {
	switch port := p.Dst.Port(); {
	case port == 53 || port == 5353 || port == 5355:
		p.What = "DNS"
		var d dnsmessage.Parser
		if _, err := d.Start(b); err == nil {
			if q, err := d.Question(); err == nil {
				p.What = "DNS " + strings.TrimPrefix(q.Type.String(), "Type") + " " + strings.TrimSuffix(q.Name.String(), ".")
			}
		}
	case isSTUN(b):
		p.What = "STUN"
	case port == 443:
		p.What = "QUIC"
	case port == 1900:
		p.What = "SSDP"
	}
}

// icmp6 separates what the kernel sends for its addresses from what a process caused. For its own addresses it joins
// the groups ff02::1:ff00:0/104 and the routers'. Other groups, such as mDNS, are joined by processes.
func (p *Packet) icmp6(b []byte) {
	p.Proto = "icmp6"
	if len(b) == 0 {
		return
	}
	switch b[0] {
	case 1:
		p.Kernel = true // as in ICMP: a datagram came too late
	case 133, 134, 135, 136:
		p.What, p.Kernel = "neighbours and routers", true
		if b[0] == 135 && len(b) >= 24 { // a look-up of another neighbour than the router precedes a packet to it
			target := netip.AddrFrom16([16]byte(b[8:24]))
			p.Kernel, p.What = target == routerAddr6(), "who has "+target.String()
		}
	case 131, 132, 143:
		p.Proto, p.Kernel = "mld", true
		own := netip.MustParsePrefix("ff02::1:ff00:0/104")
		for at := 8; b[0] == 143 && len(b) >= at+20; {
			group := netip.AddrFrom16([16]byte(b[at+4 : at+20]))
			p.What = strings.TrimSpace(p.What + " " + group.String())
			p.Kernel = p.Kernel && (own.Contains(group) || group == netip.MustParseAddr("ff02::2"))
			at += 20 + 16*int(binary.BigEndian.Uint16(b[at+2:])) + 4*int(b[at+1])
		}
	}
}

// Packets returns the packets that left the machine, without the kernel's own, with the notes on their connections.
// It waits until all packets that were sent have arrived.
func (w *World) Packets() []Packet {
	w.t.Helper()
	w.drain()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped > 0 {
		w.t.Errorf("the sniffer lost %d packets", w.dropped)
	}
	var out []Packet
	for _, p := range w.packets {
		if p.Kernel || p.Dst.Port() == markPort {
			continue
		}
		if note := w.notes[p.Src]; p.Proto == "tcp" && note != "" {
			p.What = note
		}
		out = append(out, p)
	}
	return out
}

// markPort is the destination of drain's mark: the discard service.
const markPort = 9

// drain sends a packet over the cable and waits for it. Packets that were sent earlier have arrived then.
func (w *World) drain() {
	w.t.Helper()
	c, err := net.Dial("udp", netip.AddrPortFrom(routerAddr(), markPort).String())
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	mine := netip.MustParseAddrPort(c.LocalAddr().String())
	if _, err := c.Write([]byte("mark")); err != nil {
		w.t.Fatal(err)
	}
	if !w.Await(10*time.Second, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.packets, func(p Packet) bool { return p.Dst.Port() == markPort && p.Src == mine })
	}) {
		w.t.Fatal("the sniffer is blind: a packet that was sent did not arrive")
	}
}

// Except leaves out the packets to the proxies.
func Except(packets []Packet, proxies ...*Proxy) []Packet {
	return slices.DeleteFunc(slices.Clone(packets), func(p Packet) bool {
		return p.Proto == "tcp" && slices.ContainsFunc(proxies, func(x *Proxy) bool { return x.Addr == p.Dst })
	})
}

// Summary describes packets: equal ones in one line with their number, with names beside the addresses of names.
func (w *World) Summary(packets []Packet) (lines []string) {
	type kind struct{ proto, dst, what string }
	count, first := map[kind]int{}, map[kind]int{}
	for i, p := range packets {
		dst := p.Dst.Addr().String()
		if p.Dst.Port() != 0 {
			dst = p.Dst.String()
		}
		if name := w.NameOf(p.Dst.Addr()); name != "" {
			dst += " (" + name + ")"
		}
		k := kind{p.Proto, dst, p.What}
		if count[k]++; count[k] == 1 {
			first[k] = i
		}
	}
	var kinds []kind
	for k := range count {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b kind) int { return cmp.Compare(first[a], first[b]) })
	for _, k := range kinds {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s to %s × %d %s", k.proto, k.dst, count[k], k.what)))
	}
	return lines
}
