package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/api"
)

type proxyCommands struct {
	Import proxyImport  `cmd:"" help:"Import a list of proxies."`
	Export proxyExport  `cmd:"" help:"Export proxies, as import takes them."`
	List   proxyListing `cmd:"" help:"List proxies."`
	Check  proxyCheck   `cmd:"" help:"Check one proxy, or all of them."`
}

// proxyFilters are the filters of the list.
type proxyFilters struct {
	Workspace string   `env:"WARREN_PROXY_WORKSPACE" help:"Only this workspace."`
	Tag       []string `env:"WARREN_PROXY_TAG" help:"Only proxies with the tag; given several times, with all of them."`
	Type      string   `env:"WARREN_PROXY_TYPE" help:"Only this type: socks5, http, https or socks4."`
	Status    string   `env:"WARREN_PROXY_STATUS" help:"Only this status: unknown, alive or dead."`
	Country   string   `env:"WARREN_PROXY_COUNTRY" help:"Only what comes out in this country (two letters)."`
	Search    string   `env:"WARREN_PROXY_SEARCH" help:"Only proxies whose name, notes, host or user name contain it."`
}

func (f *proxyFilters) query() url.Values {
	q := url.Values{"tag": f.Tag}
	setGiven(q, map[string]string{"workspaceId": f.Workspace, "type": f.Type, "status": f.Status, "country": f.Country, "search": f.Search})
	return q
}

// setGiven sets the parameters that have a value.
func setGiven(q url.Values, parameters map[string]string) {
	for name, value := range parameters {
		if value != "" {
			q.Set(name, value)
		}
	}
}

type proxyImport struct {
	apiClient
	File      string   `arg:"" help:"The list: .csv is CSV, .json is JSON, anything else has a proxy a line; - reads standard input."`
	Workspace string   `env:"WARREN_PROXY_WORKSPACE" help:"The workspace that gets them."`
	Type      string   `env:"WARREN_PROXY_TYPE" help:"The type of lines that name none: socks5 (the default), http, https or socks4."`
	Tag       []string `env:"WARREN_PROXY_TAG" help:"A tag for every proxy; may be given several times."`
	DryRun    bool     `env:"WARREN_PROXY_DRY_RUN" help:"Say what would be done, and do nothing."`
}

// Run imports a list and prints the lines that created nothing.
func (p *proxyImport) Run(ctx context.Context, c *console) error {
	list := c.stdin
	if p.File != "-" {
		f, err := os.Open(p.File)
		if err != nil {
			return misusef("%v", err)
		}
		defer f.Close()
		list = f
	}
	kind := "text/plain"
	switch strings.ToLower(filepath.Ext(p.File)) {
	case ".csv":
		kind = "text/csv"
	case ".json":
		kind = "application/json"
	}
	filter := proxyFilters{Workspace: p.Workspace, Type: p.Type, Tag: p.Tag}
	q := filter.query()
	if p.DryRun {
		q.Set("dryRun", "true")
	}
	var out api.ImportAnswer
	if err := p.callWith(ctx, http.MethodPost, "/proxies/import?"+q.Encode(), kind, list, &out); err != nil {
		return err
	}
	if err := p.print(c, out); err != nil {
		return err
	}
	if n := out.Invalid + out.Ambiguous; n > 0 {
		return fmt.Errorf("%d of %d lines could not be read as one proxy", n, len(out.Results))
	}
	return nil
}

func (p *proxyImport) print(c *console, out api.ImportAnswer) error {
	if p.JSON {
		return printJSON(c.stdout, out)
	}
	head := ""
	if len(out.Results) > out.Created {
		head = "LINE\tRESULT\tREASON\n"
	}
	w := newTable(c.stdout, head)
	for _, r := range out.Results {
		why := ""
		if r.Reason != nil {
			why = *r.Reason
		}
		if len(r.Readings) > 0 {
			why = "is " + strings.Join(r.Readings, " or ")
		}
		if r.Result != "created" {
			fmt.Fprintf(w, "%d\t%s\t%s\n", r.Line, r.Result, why)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	dry := ""
	if p.DryRun {
		dry = " (a dry run: nothing was written)"
	}
	_, err := fmt.Fprintf(c.stdout, "%d created, %d duplicate, %d invalid, %d ambiguous%s\n", out.Created, out.Duplicate,
		out.Invalid, out.Ambiguous, dry)
	return err
}

type proxyExport struct {
	apiClient
	proxyFilters
	Format  string `default:"text" enum:"text,csv,json" env:"WARREN_PROXY_FORMAT" help:"text, csv or json."`
	Secrets bool   `env:"WARREN_PROXY_SECRETS" help:"With passwords. The key needs the scope secrets, and the server writes it down."`
	Output  string `short:"o" default:"-" env:"WARREN_PROXY_OUTPUT" placeholder:"FILE" help:"Where to write it; the file is its owner's alone."`
}

// Run exports proxies. A file appears only when it is complete.
func (p *proxyExport) Run(ctx context.Context, c *console) error {
	q := p.query()
	q.Set("format", p.Format)
	q.Set("secrets", strconv.FormatBool(p.Secrets))
	res, err := p.open(ctx, http.MethodGet, "/proxies/export?"+q.Encode(), "", nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if p.Output == "-" {
		_, err = io.Copy(c.stdout, res.Body)
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(p.Output), ".warren-export-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name by then
	_, err = io.Copy(f, res.Body)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), p.Output)
}

// proxyListing lists proxies. proxyList is one request.
type proxyListing struct {
	apiClient
	proxyFilters
	Sort  string `env:"WARREN_PROXY_SORT" help:"createdAt (the default), updatedAt, name, host, country, latency or checkedAt."`
	Order string `env:"WARREN_PROXY_ORDER" help:"asc or desc (the default)."`
}

// listedProxy is the part of a proxy that the list shows.
type listedProxy struct {
	ID        string   `json:"id"`
	Type      string   `json:"type"`
	Host      string   `json:"host"`
	Port      int      `json:"port"`
	Name      string   `json:"name"`
	Status    string   `json:"status"`
	Tags      []string `json:"tags"`
	LastCheck *struct {
		Country   *string `json:"country"`
		LatencyMs *int64  `json:"latencyMs"`
	} `json:"lastCheck"`
}

func (p listedProxy) address() string { return net.JoinHostPort(p.Host, strconv.Itoa(p.Port)) }

// everyProxy walks the list.
func (c *apiClient) everyProxy(ctx context.Context, q url.Values) (proxies []jsontext.Value, err error) {
	proxies = []jsontext.Value{}
	q.Set("limit", "200")
	for {
		var page struct {
			Data    []jsontext.Value `json:"data"`
			HasMore bool             `json:"hasMore"`
		}
		if err := c.call(ctx, http.MethodGet, "/proxies?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		proxies = append(proxies, page.Data...)
		if !page.HasMore || len(page.Data) == 0 {
			return proxies, nil
		}
		var last listedProxy
		if err := json.Unmarshal(page.Data[len(page.Data)-1], &last); err != nil {
			return nil, err
		}
		q.Set("after", last.ID)
	}
}

// Run lists proxies.
func (p *proxyListing) Run(ctx context.Context, c *console) error {
	q := p.query()
	setGiven(q, map[string]string{"sort": p.Sort, "order": p.Order})
	all, err := p.everyProxy(ctx, q)
	if err != nil {
		return err
	}
	if p.JSON {
		return printJSON(c.stdout, map[string]any{"data": all, "total": len(all)})
	}
	w := newTable(c.stdout, "ID\tTYPE\tADDRESS\tNAME\tSTATUS\tCOUNTRY\tLATENCY\tTAGS\n")
	for _, raw := range all {
		var one listedProxy
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		country, latency := "", ""
		if one.LastCheck != nil && one.LastCheck.Country != nil {
			country = *one.LastCheck.Country
		}
		if one.LastCheck != nil && one.LastCheck.LatencyMs != nil {
			latency = inMilliseconds(*one.LastCheck.LatencyMs)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", one.ID, one.Type, one.address(), one.Name, one.Status, country, latency,
			strings.Join(one.Tags, ","))
	}
	return w.Flush()
}
