package api

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"warren/proxy"
	"warren/store"
)

func (s *API) listProfiles(ctx context.Context, in *profileList) (*listBody[profileJSON], error) {
	l, err := s.rowsOf(ctx, in, callerOf(ctx))
	if err != nil {
		return nil, err
	}
	found, err := s.store.ListProfiles(ctx, l)
	if err != nil {
		return nil, err
	}
	show, err := s.shownWith(ctx, found.Rows...)
	if err != nil {
		return nil, err
	}
	return answerList(found, in.Paging, show)
}

// ProxyFilter says which proxies a list or an export has.
type ProxyFilter struct {
	InWorkspace
	Tag     []string `query:"tag,explode" maxItems:"50" doc:"Proxies that have the tag, whatever its case; given several times, all of them."`
	Type    string   `query:"type" enum:"socks5,http,https,socks4,socks5h,socks,socks4a"`
	Status  string   `query:"status" enum:"unknown,alive,dead" doc:"As the last check found it."`
	Country string   `query:"country" pattern:"^[A-Za-z]{2}$" patternDescription:"two letters, such as DE" doc:"Proxies that came out there at the last good check: ISO 3166-1, two letters in any case." example:"DE"`
	Unused  optBool  `query:"unused" doc:"true: proxies that no profile uses. false: those that some do."`
	Search  string   `query:"search" maxLength:"200" doc:"Proxies whose name, notes, host or user name contain it, whatever the case. One or two letters are looked for where words begin. Eight or more also find an id that begins with them."`
}

// rows returns the filter of package store.
func (f ProxyFilter) rows(c *caller) store.ProxyFilter {
	typ, _ := proxy.ParseType(f.Type)
	return store.ProxyFilter{Workspaces: c.Sees.Filter(), WorkspaceID: f.WorkspaceID, Type: string(typ), Status: f.Status,
		Country: strings.ToUpper(f.Country), Search: f.Search, Tags: f.Tag, Unused: f.Unused.orNil()}
}

// proxyList are the parameters of a list of proxies. Without page, limit and after the list has every proxy.
type proxyList struct {
	ProxyFilter
	Paging
	ID    []string `query:"id,explode" maxItems:"200" doc:"These proxies, in this order; those that do not exist are left out. Filters, sort and pages do not apply."`
	Sort  string   `query:"sort" enum:"createdAt,updatedAt,name,host,country,latency,checkedAt" doc:"Default: createdAt. Proxies without a country, a latency or a check are last in both orders."`
	Order string   `query:"order" enum:"asc,desc" doc:"Default: desc, newest first."`
}

// Resolve checks both embedded parts: Go would call only the shallower one.
func (in *proxyList) Resolve(ctx huma.Context) []error {
	return append(in.InWorkspace.Resolve(ctx), in.Paging.Resolve(ctx)...)
}

func (s *API) listProxies(ctx context.Context, in *proxyList) (*listBody[proxyJSON], error) {
	if len(in.ID) > 0 {
		rows, err := s.store.ProxiesAt(ctx, in.ID, callerOf(ctx).Sees)
		if err != nil {
			return nil, err
		}
		return answerList(store.Page[store.Proxy]{Rows: rows, Total: int64(len(rows))}, Paging{Page: 1, Limit: len(in.ID)},
			s.shown(callerOf(ctx)))
	}
	l := store.ProxyList{ProxyFilter: in.rows(callerOf(ctx)), Sort: in.Sort, Ascending: in.Order == "asc",
		After: in.After, Limit: in.Limit, Offset: in.offset()}
	if in.all {
		l.Limit, l.Offset = -1, 0
	}
	found, err := s.store.ListProxies(ctx, l)
	if err != nil {
		return nil, err
	}
	out, err := answerList(found, in.Paging, s.shown(callerOf(ctx)))
	if err == nil && in.all {
		out.Body.Limit = max(1, len(out.Body.Data))
	}
	return out, err
}

// timeList is a list of rows of one kind, newest first, which are shown as J.
type timeList[R, J any] struct {
	kind  string                                                       // of the objects, as the store notes deleted ones
	at    func(R) (key int64, id string)                               // the place of a row: its time and id
	count func() (int64, error)                                        // of the whole list
	find  func(id string) (R, error)                                   // a row of the list
	rows  func(key int64, id string, limit, offset int64) ([]R, error) // those behind a place
	show  func(R) (J, error)
}

// listByTime answers a page. The object to go on from may be unknown, or of another workspace: nothing follows it.
func listByTime[R, J any](ctx context.Context, s *API, in Paging, l timeList[R, J]) (*listBody[J], error) {
	total, err := l.count()
	key, id := int64(math.MaxInt64), ""
	if err == nil && in.After != "" {
		key, id, err = s.goOn(ctx, in.After, l.kind, func(id string) (int64, error) {
			row, err := l.find(id)
			at, _ := l.at(row)
			return at, err
		})
	}
	var rows []R
	if err == nil {
		rows, err = l.rows(key, id, int64(in.Limit)+1, in.offset())
	}
	if err != nil && !errors.Is(err, store.ErrNoRow) {
		return nil, err
	}
	return answerList(pageOf(rows, total, in.Limit, l.at), in, l.show)
}

// byTime is the order of lists that have only one order: newest first.
const byTime = "time"

// goOn finds where a list by time continues after an object. find returns the time of an object by its id.
func (s *API) goOn(ctx context.Context, after, kind string, find func(id string) (at int64, err error)) (key int64, id string, err error) {
	p, err := s.store.After(ctx, after, byTime, kind, callerOf(ctx).Sees.Filter(), func(id string) (store.Place, error) {
		at, err := find(id)
		return store.Place{Number: at, ID: id}, err
	})
	return p.Number, p.ID, err
}

// pageOf makes a page of rows that were asked for with one more than the limit. at returns the time and the id of a row.
func pageOf[R any](rows []R, total int64, limit int, at func(R) (int64, string)) store.Page[R] {
	page := store.Page[R]{Rows: rows[:min(limit, len(rows))], Total: total, More: len(rows) > limit}
	if n := len(page.Rows); n > 0 {
		page.Next = store.Place{Order: byTime}
		page.Next.Number, page.Next.ID = at(page.Rows[n-1])
	}
	return page
}

// answerList puts a page of rows into the envelope of every list.
func answerList[R, J any](found store.Page[R], p Paging, show func(R) (J, error)) (*listBody[J], error) {
	out := &listBody[J]{list[J]{Data: make([]J, 0, len(found.Rows)), Total: found.Total, TotalIsExact: !found.TotalAtLeast,
		Page: p.Page, Limit: p.Limit, HasMore: found.More}}
	if found.More && found.Next.ID != "" {
		out.Body.Next = new(found.Next.String())
	}
	for _, row := range found.Rows {
		j, err := show(row)
		if err != nil {
			return nil, err
		}
		out.Body.Data = append(out.Body.Data, j)
	}
	return out, nil
}
