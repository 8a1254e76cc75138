package api

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/runs"
	"warren/store"
)

// Reports the traffic of proxies and profiles by day, run, profile or proxy.

// TrafficSums are totals of bytes and connections.
type TrafficSums struct {
	BytesUp     int64 `json:"bytesUp" doc:"From browsers to targets."`
	BytesDown   int64 `json:"bytesDown"`
	Connections int64 `json:"connections" doc:"Connections opened to targets."`
}

// trafficRowJSON is one group of the traffic. One of its members names the group.
type trafficRowJSON struct {
	Day       string  `json:"day,omitempty" format:"date" doc:"With by=day: in UTC."`
	RunID     string  `json:"runId,omitempty" doc:"With by=run."`
	ProfileID string  `json:"profileId,omitempty" doc:"With by=profile. The profile may be deleted."`
	ProxyID   *string `json:"proxyId,omitzero" doc:"With by=proxy. The proxy may be deleted; empty: direct."`
	TrafficSums
}

// trafficJSON is the total traffic and its groups.
type trafficJSON struct {
	TrafficSums
	Data []trafficRowJSON `json:"data" doc:"Ordered by day."`
}

func (trafficJSON) example() any {
	sums := TrafficSums{48213, 1903422, 61}
	return trafficJSON{sums, []trafficRowJSON{{Day: "2026-11-21", TrafficSums: sums}}}
}

// TrafficDays is the period of a traffic report.
type TrafficDays struct {
	From string `query:"from" doc:"The first day (UTC), as 2026-11-01. Default: the first that is kept." example:"2026-11-01"`
	To   string `query:"to" doc:"The last day, included." example:"2026-11-30"`

	first, last int64
}

// Resolve implements huma.Resolver. It parses the days.
func (d *TrafficDays) Resolve(huma.Context) []error {
	var f faults
	d.first, d.last = f.day("query.from", cmp.Or(d.From, "1970-01-01")), math.MaxInt32
	if d.To != "" {
		d.last = f.day("query.to", d.To)
	}
	f.require(len(f) > 0 || d.first <= d.last, "query.to", "The last day is before the first. Choose a later one.")
	return f.errors()
}

// day reads a day (UTC), and counts it since 1970.
func (f *faults) day(location, text string) int64 {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		f.add(location, "Enter a day such as 2026-11-01.", cut(text))
	}
	return runs.DayOf(at)
}

func (s *API) proxyTraffic(ctx context.Context, in *struct {
	ProxyPath
	TrafficDays
	By string `query:"by" enum:"day,profile,run" doc:"Default: day."`
}) (*struct{ Body trafficJSON }, error) {
	row, err := s.proxyRow(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	s.runs.RecordTraffic(ctx, row.WorkspaceID, "")
	rows, err := s.store.Read().ListTrafficOfProxy(ctx, store.ListTrafficOfProxyParams{ProxyID: row.ID, FromDay: in.first, ToDay: in.last,
		Workspaces: callerOf(ctx).Sees.Filter()})
	return sumTraffic(rows, in.By), err
}

func (s *API) profileTraffic(ctx context.Context, in *struct {
	ProfilePath
	TrafficDays
	By string `query:"by" enum:"day,proxy,run" doc:"Default: day."`
}) (*struct{ Body trafficJSON }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	s.runs.RecordTraffic(ctx, "", row.ID)
	rows, err := s.store.Read().ListTrafficOfProfile(ctx, store.ListTrafficOfProfileParams{ProfileID: row.ID, FromDay: in.first,
		ToDay: in.last, Workspaces: callerOf(ctx).Sees.Filter()})
	return sumTraffic(rows, in.By), err
}

// sumTraffic adds up the rows of each group.
func sumTraffic(rows []store.Traffic, by string) *struct{ Body trafficJSON } {
	out := trafficJSON{Data: []trafficRowJSON{}}
	at := map[string]int{}
	for _, row := range rows {
		var part trafficRowJSON
		var key string
		switch by {
		case "run":
			part.RunID, key = row.RunID, row.RunID
		case "profile":
			part.ProfileID, key = row.ProfileID, row.ProfileID
		case "proxy":
			part.ProxyID, key = &row.ProxyID, row.ProxyID
		default:
			key = time.Unix(row.Day*runs.DayLength, 0).UTC().Format(time.DateOnly)
			part.Day = key
		}
		i, there := at[key]
		if !there {
			i, at[key] = len(out.Data), len(out.Data)
			out.Data = append(out.Data, part)
		}
		for _, sums := range []*TrafficSums{&out.TrafficSums, &out.Data[i].TrafficSums} {
			sums.BytesUp += row.BytesUp
			sums.BytesDown += row.BytesDown
			sums.Connections += row.Connections
		}
	}
	return &struct{ Body trafficJSON }{out}
}
