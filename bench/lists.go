package main

import (
	"context"
	"fmt"
	"net/url"
)

// listed is a list beside the newest page, and what its processor time may be at most, as a ratio.
type listed struct {
	name, query string
	aim         float64
}

// lists are the mixtures of filters and orders that are measured. One that few profiles match may take five times the
// newest page, one that most match ten times, and a far page three times.
func (b *bench) lists() []listed {
	last := b.rows - 1
	far := fmt.Sprint("page=", b.rows/2/20)
	return []listed{
		{"search, one match", "search=" + url.QueryEscape(fmt.Sprint("shop ", last)), 5},
		{"search, no match", "search=nothing+has+this", 5},
		{"search of two letters, all match", "search=sh", 10},
		{"search, all match", "search=opened", 10},
		{"search of an id", "search=" + fmt.Sprintf("019b76da-%04x-7%03x-8000", last/2>>12, last/2&4095), 5},
		{"one tag, a thousandth", "tag=team-7", 5},
		{"one tag, all", "tag=shop", 10},
		{"two tags that exclude each other", "tag=team-7&tag=team-8", 5},
		{"one system, a third", "os=win", 10},
		{"one status, few", "status=failed", 5},
		{"one proxy, by name", "proxyId=019b76da-0000-7000-8000-000000000007&sort=name", 5},
		{"search, tag and system", "search=2007&tag=shop&os=win&sort=name&order=asc", 5},
		{fmt.Sprintf("page %d", b.rows/2/20), far, 3},
		{"by name, in the middle", far + "&sort=name&order=asc", 3},
		{"by last start, oldest first", "sort=lastStartedAt&order=asc", 3},
	}
}

// measureLists compares the server's processor time for lists with that for the newest page, in the same round.
func (b *bench) measureLists(ctx context.Context) error {
	data, err := b.filled(ctx)
	if err != nil {
		return err
	}
	server, err := b.serve(ctx, data)
	if err != nil {
		return err
	}
	defer server.stop()
	read := func(query string) trial {
		return func(ctx context.Context, _ int) ([]float64, error) {
			l, err := load(ctx, server.child, loadTime/2, 200, func(int) []byte {
				return request("GET", server.address, "/api/v1/profiles?workspaceId=default&limit=20&"+query, server.key, "")
			})
			return []float64{l.cpuMicros()}, err
		}
	}
	for _, l := range b.lists() { // the first list of an order sorts it
		if err := server.call(ctx, "GET", "/profiles?workspaceId=default&limit=1&"+l.query, nil, nil); err != nil {
			return err
		}
	}
	for _, l := range b.lists() {
		got, err := b.play(ctx, l.name, b.rounds, side{l.name, read(l.query)}, side{"the newest page", read("page=1")})
		if err != nil {
			return err
		}
		b.table = append(b.table, figure{name: "list of " + fmt.Sprint(b.rows) + ", " + l.name, unit: "µs", ours: got[0][0],
			floor: got[1][0], aim: l.aim})
	}
	return nil
}
