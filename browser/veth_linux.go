package browser

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// This file gives a namespace something that looks like a network: Chrome tells pages that they are offline (navigator.onLine) where no interface
// but loopback is up with an address (net/base/address_tracker_linux.cc). It is a pair of virtual Ethernet ends, both inside (veth(4)), with an
// address for documentation (RFC 5737) and without a route: what is sent there comes out at the other end, where nobody listens.

const (
	nearIndex, farIndex = 2, 3 // of the two ends; loopback is 1
	vethInfoPeer        = 1    // linux/veth.h
)

// insideAddress is what the browser takes for its own.
func insideAddress() []byte { return []byte{192, 0, 2, 1} }

// addVeth makes the pair. Where the kernel has none (it is a module), pages believe to be offline, and all else works.
func addVeth() error {
	// No IPv6 on the pair: it would announce itself at once. Where /proc/sys cannot be written, it does so to itself.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	peer := attribute(vethInfoPeer, append(linkMessage(farIndex, 0), attribute(unix.IFLA_IFNAME, []byte("far0\x00"))...))
	kind := append(attribute(unix.IFLA_INFO_KIND, []byte("veth\x00")), attribute(unix.IFLA_INFO_DATA, peer)...)
	link := append(linkMessage(nearIndex, 0), attribute(unix.IFLA_IFNAME, []byte("near0\x00"))...)
	if err := request(s, unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, append(link, attribute(unix.IFLA_LINKINFO, kind)...)); err != nil {
		return fmt.Errorf("make a pair of interfaces: %w", err)
	}
	for _, end := range []uint32{nearIndex, farIndex} {
		if err := request(s, unix.RTM_NEWLINK, 0, linkMessage(end, unix.IFF_UP)); err != nil {
			return fmt.Errorf("bring it up: %w", err)
		}
	}
	address := []byte{unix.AF_INET, 32, 0, 0} // struct ifaddrmsg (rtnetlink(7)): family, prefix length, flags, scope; index
	address = binary.NativeEndian.AppendUint32(address, nearIndex)
	address = append(address, attribute(unix.IFA_LOCAL, insideAddress())...)
	if err := request(s, unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, append(address, attribute(unix.IFA_ADDRESS, insideAddress())...)); err != nil {
		return fmt.Errorf("give it an address: %w", err)
	}
	return nil
}

// linkMessage is a struct ifinfomsg (rtnetlink(7)) that sets flags of an interface.
func linkMessage(index, set uint32) []byte {
	b := make([]byte, 4, unix.SizeofIfInfomsg)
	for _, v := range []uint32{index, set, set} { // index, flags, which of them to change
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

// attribute is a struct rtattr with its data, padded to four bytes.
func attribute(kind uint16, data []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(data)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), data...)
	return append(b, make([]byte, -len(b)&3)...)
}

// request sends one message and reads what the kernel says to it (netlink(7)).
func request(s int, kind, flags uint16, payload []byte) error {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(payload)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags)
	b = append(append(b, make([]byte, 8)...), payload...) // its number and whom it is for: there is but one
	if err := unix.Sendto(s, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4<<10)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel's answer is none")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
