package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
)

// The part "peers": programs that people would take instead of Warren, or of a part of it, with the same work in the
// same round. docs/bench.md says what each row compares.

// peers is the part with the peers that were fetched.
type peers struct {
	*bench
	drive string // the script that drives browsers, beside the libraries that it imports

	pocketBase, glider, gost, proxyChain, mubeng, curl, playwright, puppeteer, browserless, steel peer
}

// peer is a program beside ours.
type peer struct {
	name, version string
	program       string
	err           error // why it is not to be had
}

func (p peer) String() string { return p.name + " " + p.version }

// peerFigure is one row of the peers' table.
type peerFigure struct {
	work, unit string
	more       bool // more is better
	peer       peer
	ours       []float64 // one value per round
	theirs     []float64
}

// cells returns the row's columns: work, peer, ours, theirs, ratio, whose is better.
func (f peerFigure) cells() []string {
	if f.peer.err != nil {
		return []string{f.work, f.peer.String(), "", "not to be had", "", ""}
	}
	ratio := figure{ours: f.ours, floor: f.theirs}.ratio()
	better := "theirs"
	switch {
	case ratio > 0.97 && ratio < 1.03:
		better = "neither"
	case ratio > 1 == f.more:
		better = "ours"
	}
	return []string{f.work, f.peer.String(), number(median(f.ours)) + " " + f.unit, number(median(f.theirs)) + " " + f.unit,
		times(ratio), better}
}

// times formats a ratio, which may be far from 1.
func times(ratio float64) string {
	switch {
	case ratio < 0.1:
		return fmt.Sprintf("%.1g", ratio)
	case ratio >= 100:
		return fmt.Sprintf("%.0f", ratio)
	}
	return fmt.Sprintf("%.2f", ratio)
}

// writePeers writes the peers' table, and below it why peers are not to be had.
func writePeers(w io.Writer, figures []peerFigure) error {
	lines, reasons := [][]string{{"work", "peer", "ours", "theirs", "ratio", "better"}}, []string{""}
	for _, f := range figures {
		lines = append(lines, f.cells())
		if f.peer.err != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %v\n", f.peer, f.peer.err))
		}
	}
	if err := writeLines(w, lines); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.Join(slices.Compact(reasons), "\n"))
	return err
}

// peerPart is one group of the peers' rows.
type peerPart struct {
	name    string
	measure func(*peers, context.Context) error
}

func peerParts() []peerPart {
	return []peerPart{{"reads", (*peers).reads}, {"creates", (*peers).creates}, {"relays", (*peers).relays},
		{"checks", (*peers).checks}, {"launches", (*peers).launches}}
}

// measurePeers fetches the peers and compares each with ours.
func (b *bench) measurePeers(ctx context.Context) error {
	if runtime.GOOS != "linux" { // processor time of a process, and loopback addresses
		return nil
	}
	p, err := b.fetchPeers(ctx)
	if err != nil {
		return err
	}
	for _, m := range peerParts() {
		if b.peerPart != "" && b.peerPart != m.name {
			continue
		}
		if err := m.measure(p, ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	b.peers = append(b.peers, peerFigure{work: "session of a browser server", peer: p.steel})
	return nil
}

// lacks adds the row of a peer that is not to be had.
func (p *peers) lacks(work string, one peer) bool {
	if one.err != nil {
		p.bench.peers = append(p.bench.peers, peerFigure{work: work, peer: one})
	}
	return one.err != nil
}

// compare adds rows from the values of both sides. Names and units are those of rows, in the order of the values.
func (p *peers) compare(one peer, ours, theirs [][]float64, rows ...peerFigure) {
	for i, row := range rows {
		row.peer, row.ours, row.theirs = one, ours[i], theirs[i]
		p.bench.peers = append(p.bench.peers, row)
	}
}
