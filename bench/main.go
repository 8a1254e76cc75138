// Command bench measures Warren against floors: minimal programs that do only the necessary work. It is not part of
// the shipped binary. `make bench` runs it; docs/bench.md explains its table.
//
// Ours and the floor alternate within a round, on the same machine in the same minute, and the order changes with
// every round. The result is the median of the rounds' ratios, since absolute values depend on the machine and its
// load. All traffic stays on loopback.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"warren/browser"
)

func main() {
	if len(os.Args) > 1 {
		if role, ok := roles()[os.Args[1]]; ok {
			if err := role(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", os.Args[1]+":", err)
				os.Exit(1)
			}
			return
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// roles are what this program runs as a child of itself, so that each side's CPU and memory can be measured.
func roles() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"api-floor": apiFloor, "relay-floor": serves(floorTunnel), "copy": serves(copyFloor), "relay-ours": relayOurs,
		"far-side": serves(farServe), "copier": serves(copier), "plain-target": serves(plainTarget), "check-far": checkFar,
		"check-ours": checkOurs, "sites": serveSites,
		"check-floor-turn": checkFloor(true), "check-floor-write": checkFloor(false), "start-once": startOnceRole,
		"pretend": pretend, "pretend-browser": pretendBrowser, "without-groups": withoutGroups,
		browser.ChildArgument: func([]string) error { return browser.EnterNamespace() },
	}
}

// part is one group of figures.
type part struct {
	name    string
	measure func(*bench, context.Context) error
}

// peersPart is measured only if it is named: it fetches programs.
const peersPart = "peers"

func parts() []part {
	return []part{
		{"start", (*bench).measureStarts}, {"phases", (*bench).measurePhases}, {"isolation", (*bench).measureIsolation},
		{"identity", (*bench).measureIdentity}, {"crowd", (*bench).measureCrowd}, {"fifty", (*bench).measureFifty},
		{"lifecycle", (*bench).measureLifecycle}, {"warm", (*bench).measureWarm}, {"boot", (*bench).measureBoot},
		{"api", (*bench).measureReads}, {"lists", (*bench).measureLists}, {"create", (*bench).measureCreates},
		{"bulk", (*bench).measureBulk}, {"gateway", (*bench).measureGateway}, {"live", (*bench).measureLive},
		{"check", (*bench).measureCheck}, {"relay", (*bench).measureRelay}, {"small", (*bench).measureSmall},
		{"memory", (*bench).measureMemory}, {"snapshots", (*bench).measureSnapshots},
		{"state", (*bench).measureState}, {"webhooks", (*bench).measureWebhooks}, {"metrics", (*bench).measureScrapes},
		{"postgres", (*bench).measurePostgres}, {"cluster", (*bench).measureCluster}, {"audit", (*bench).measureAudit},
		{"commands", (*bench).measureCommands}, {"groups", (*bench).measureGroups}, {"freeze", (*bench).measureFreeze},
		{"size", (*bench).measureSize},
		{peersPart, (*bench).measurePeers},
	}
}

func run(ctx context.Context) error {
	warren := flag.String("warren", "./warren", "the binary under test")
	rounds := flag.Int("rounds", 7, "rounds of each figure")
	rows := flag.Int("rows", 1_000_000, "profiles in the database that is read")
	idle := flag.Int("idle", 30, "browsers of the part memory, on each side, and of the part freeze")
	only := flag.String("only", "", "some parts, with commas between them: "+
		"start, phases, isolation, identity, crowd, fifty, lifecycle, warm, boot, api, lists, create, bulk, gateway, live, check, relay, "+
		"small, memory, snapshots, state, webhooks, metrics, postgres, cluster, audit, commands, groups, freeze, size, peers")
	peer := flag.String("peers", "", "one of the parts of peers: reads, creates, relays, checks, launches")
	flag.Parse()
	if *peer != "" && !slices.ContainsFunc(peerParts(), func(p peerPart) bool { return p.name == *peer }) {
		return fmt.Errorf("-peers %q: it is reads, creates, relays, checks or launches", *peer)
	}
	b, err := newBench(*warren, *rounds, *rows, *idle)
	if err != nil {
		return err
	}
	b.peerPart = *peer
	defer b.close()
	for _, p := range parts() {
		if *only == "" && p.name == peersPart || *only != "" && !strings.Contains(","+*only+",", ","+p.name+",") {
			continue
		}
		before := len(b.cleanup)
		if err := p.measure(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		b.cleanUp(before) // the browsers of one part must not run during the next
	}
	progress("")
	if len(b.peers) > 0 {
		if err := writePeers(os.Stdout, b.peers); err != nil {
			return err
		}
	}
	if len(b.table) == 0 {
		return nil
	}
	return writeTable(os.Stdout, b.table)
}
