package testnet

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// The rules by which the machine's kernel counts outgoing packets, whether or not the world's sniffer sees them. The
// counter kernel holds what the kernel sends about its own addresses and neighbours.
const counters = `table inet testnet {
	counter proxies {
	}
	counter names {
	}
	counter kernel {
	}
	counter others {
	}
	chain out {
		type filter hook output priority 0; policy accept;
		oifname "lo" accept
		ip daddr %s tcp dport %d counter name proxies accept
		ip daddr %s udp dport 53 counter name names accept
		icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, mld2-listener-report } counter name kernel accept
		icmp type destination-unreachable counter name kernel accept
		counter name others
	}
}
`

// startCounters sets up the counters.
func (m *Machine) startCounters() error {
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(counters, proxyRange(), proxyPort, routerAddr()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

// Counts are the packets that the machine's kernel sent, by destination.
type Counts struct {
	Proxies int // to the proxies of the world, over TCP
	Names   int // to the machine's name server, over UDP
	Others  int // anywhere else, without the kernel's own packets about addresses
}

// Counts reads the counters.
func (m *Machine) Counts() (c Counts) {
	m.t.Helper()
	out, err := exec.Command("nft", "-j", "list", "counters").Output()
	if err != nil {
		m.t.Fatalf("nft: %v", err)
	}
	var list struct {
		Nftables []struct {
			Counter *struct {
				Name    string
				Packets int
			}
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
		m.t.Fatalf("nft: %v: %s", err, out)
	}
	seen := 0
	for _, e := range list.Nftables {
		if e.Counter == nil {
			continue
		}
		seen++
		switch e.Counter.Name {
		case "proxies":
			c.Proxies = e.Counter.Packets
		case "names":
			c.Names = e.Counter.Packets
		case "others":
			c.Others = e.Counter.Packets
		}
	}
	if seen != 4 {
		m.t.Fatalf("nft lists %d counters: %s", seen, out)
	}
	return c
}
