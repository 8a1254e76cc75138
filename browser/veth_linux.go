package browser

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Chrome tells pages that they are offline (navigator.onLine) if no interface except loopback is up with an address
// (net/base/address_tracker_linux.cc). So a namespace gets a pair of virtual Ethernet ends (veth(4)), with an address for documentation
// (RFC 5737) and no route. Packets sent to one end come out at the other, where nobody listens.

const (
	nearIndex, farIndex = 2, 3 // of the two ends; loopback is 1
	vethInfoPeer        = 1    // linux/veth.h
)

// insideAddress is the address that the browser takes for its own.
func insideAddress() []byte { return []byte{192, 0, 2, 1} }

// addVeth creates the pair. If the kernel lacks the veth module, pages believe that they are offline, and everything else works.
func addVeth() error {
	// Without IPv6 the ends do not announce themselves. Where /proc/sys cannot be written they do, but only to each other.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	change := func(kind, flags uint16, payload []byte) error {
		_, err := askKernel(unix.NETLINK_ROUTE, kind, unix.NLM_F_ACK|flags, payload)
		return err
	}
	peer := attribute(vethInfoPeer, append(linkMessage(farIndex, 0), attribute(unix.IFLA_IFNAME, []byte("far0\x00"))...))
	kind := append(attribute(unix.IFLA_INFO_KIND, []byte("veth\x00")), attribute(unix.IFLA_INFO_DATA, peer)...)
	link := append(linkMessage(nearIndex, 0), attribute(unix.IFLA_IFNAME, []byte("near0\x00"))...)
	if err := change(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL,
		append(link, attribute(unix.IFLA_LINKINFO, kind)...)); err != nil {
		return fmt.Errorf("make a pair of interfaces: %w", err)
	}
	for _, end := range []uint32{nearIndex, farIndex} {
		if err := change(unix.RTM_NEWLINK, 0, linkMessage(end, unix.IFF_UP)); err != nil {
			return fmt.Errorf("bring it up: %w", err)
		}
	}
	address := []byte{unix.AF_INET, 32, 0, 0} // struct ifaddrmsg (rtnetlink(7)): family, prefix length, flags, scope; index
	address = binary.NativeEndian.AppendUint32(address, nearIndex)
	address = append(address, attribute(unix.IFA_LOCAL, insideAddress())...)
	if err := change(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL,
		append(address, attribute(unix.IFA_ADDRESS, insideAddress())...)); err != nil {
		return fmt.Errorf("give it an address: %w", err)
	}
	return nil
}

// linkMessage returns a struct ifinfomsg (rtnetlink(7)) that sets flags of an interface.
func linkMessage(index, set uint32) []byte {
	b := make([]byte, 4, unix.SizeofIfInfomsg)
	for _, v := range []uint32{index, set, set} { // index, flags, mask of flags
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

// attribute returns a struct rtattr with its data, padded to four bytes.
func attribute(kind uint16, data []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(unix.SizeofRtAttr+len(data)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), data...)
	return append(b, make([]byte, -len(b)&3)...)
}

// askKernel sends one netlink request and returns the payload of the answer (netlink(7)). An error of the kernel's is an Errno.
func askKernel(protocol int, kind, flags uint16, payload []byte) ([]byte, error) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil, err
	}
	defer unix.Close(s)
	if err := unix.SetsockoptTimeval(s, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return nil, err
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(payload)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|flags)
	b = append(append(b, make([]byte, 8)...), payload...) // sequence number and port id, both 0
	if err := unix.Sendto(s, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer := make([]byte, 4<<10)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return nil, err
	}
	if n < unix.SizeofNlMsghdr+4 {
		return nil, errors.New("the kernel's answer is too short")
	}
	if binary.NativeEndian.Uint16(answer[4:]) == unix.NLMSG_ERROR { // code 0 acknowledges the request
		if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
			return nil, unix.Errno(-code)
		}
	}
	return answer[unix.SizeofNlMsghdr:n], nil
}
