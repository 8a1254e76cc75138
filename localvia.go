package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// This file is about a profile's localhostVia: ports of this machine that pages reach beside the proxy, by localhost or by a name that the
// profile makes up.

// maxVia is how many a profile may name.
const maxVia = 20

// viaList is a list of "port" or "name:port"; an integer is taken for a port too.
type viaList []string

// UnmarshalJSON takes strings and integers.
func (v *viaList) UnmarshalJSON(b []byte) error {
	var items []digits
	if err := json.Unmarshal(b, &items); err != nil {
		return err
	}
	*v = make(viaList, len(items))
	for i, item := range items {
		(*v)[i] = string(item)
	}
	return nil
}

// Schema takes both.
func (viaList) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Nullable: true, Items: &huma.Schema{AnyOf: []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeInteger}}},
		Examples: []any{[]string{"3000", "app.test:3000"}}}
}

// checkVia normalises the entries and notes what is wrong with them.
func (in *profileInput) checkVia(s *server, f *faults) {
	entries := in.LocalhostVia.Value
	if !in.LocalhostVia.given() || len(entries) == 0 {
		return
	}
	if !s.cfg.allowPrivate() {
		f.add("body.localhostVia", "is refused: this server lets profiles reach no private network, nor this machine (--allow-private)", nil)
	}
	if len(entries) > maxVia {
		f.add("body.localhostVia", fmt.Sprintf("must have at most %d entries; it has %d", maxVia, len(entries)), nil)
	}
	normal := viaList{}
	for i, entry := range entries {
		name, port, ok := viaOf(entry)
		if name != "" {
			port = name + ":" + port
		}
		switch {
		case !ok:
			f.add(fmt.Sprintf("body.localhostVia[%d]", i), "must be a port of this machine such as 3000, or a name and a port such as app.test:3000 (localhost is meant by the port alone)", cut(entry))
		case strings.TrimPrefix(port, name+":") == s.port:
			f.add(fmt.Sprintf("body.localhostVia[%d]", i), "is this server's own port, which no page may reach", cut(entry))
		case !slices.Contains(normal, port):
			normal = append(normal, port)
		}
	}
	in.LocalhostVia.Value = normal
}
