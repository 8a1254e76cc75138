package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"warren/state"
)

// Reads and writes localStorage and IndexedDB of a profile, by visits without a request.

//go:embed storage.js
var storageScript string

// StorageFault is what could not be read or written of an origin.
type StorageFault struct {
	Origin string `json:"origin"`
	Reason string `json:"reason"` // a sentence
}

// OpenOrigins returns the origins of the documents that are open, also of frames.
func (b *Browser) OpenOrigins(ctx context.Context) (all []string) {
	for _, s := range b.mux.controllerSessions("") {
		if !hasFrames(s.kind) {
			continue
		}
		var got struct {
			Tree frameTree `json:"frameTree"`
		}
		if b.mux.call(ctx, s.id, "Page.getFrameTree", nil, &got) == nil {
			all = got.Tree.origins(all)
		}
	}
	return all
}

// frameTree is what is read of Page.FrameTree (CDP).
type frameTree struct {
	Frame struct {
		Origin string `json:"securityOrigin"`
	} `json:"frame"`
	Children []frameTree `json:"childFrames"`
}

func (t frameTree) origins(all []string) []string {
	if strings.HasPrefix(t.Frame.Origin, "http") {
		all = append(all, t.Frame.Origin)
	}
	for _, c := range t.Children {
		all = c.origins(all)
	}
	return all
}

// ReadStorage reads the storage of origins. Origins that have none are left out. The faults say what is missing.
func (b *Browser) ReadStorage(ctx context.Context, origins []string, local, databases bool) ([]state.Origin, []StorageFault, error) {
	all := make([]visit, len(origins))
	what, _ := json.Marshal(map[string]bool{"local": local, "databases": databases}) // always valid
	for i, o := range origins {
		all[i] = visit{origin: o, expression: scriptCall("read", string(what))}
	}
	if err := b.visitAll(ctx, all); err != nil {
		return nil, nil, err
	}
	var out []state.Origin
	var faults []StorageFault
	for _, v := range all {
		got, missing := v.outcome()
		faults = append(faults, missing...)
		if len(got.LocalStorage)+len(got.IndexedDB) > 0 {
			out = append(out, got)
		}
	}
	return out, faults, ctx.Err()
}

// outcome returns what a visit has read, if it was to read, and what it could not do.
func (v visit) outcome() (state.Origin, []StorageFault) {
	var got struct {
		state.Origin
		Faults []string `json:"faults"`
	}
	if v.err == nil {
		v.err = json.Unmarshal([]byte(v.result), &got)
	}
	if v.err != nil {
		got.Faults = []string{visitFault(v.err)}
	}
	var faults []StorageFault
	for _, f := range got.Faults {
		faults = append(faults, StorageFault{v.origin, f})
	}
	sortItems(got.LocalStorage)
	got.Origin.Origin = v.origin
	return got.Origin, faults
}

// WriteStorage writes the storage of origins. An entry or a database of the same name is replaced; with replace all others of the origin
// are removed. Each database is written in one transaction. The faults say what was not written.
func (b *Browser) WriteStorage(ctx context.Context, origins []state.Origin, replace bool) ([]StorageFault, error) {
	all := make([]visit, len(origins))
	for i, o := range origins {
		text, err := json.Marshal(struct {
			state.Origin
			Replace bool `json:"replace"`
		}{o, replace})
		if err != nil {
			return nil, err
		}
		all[i] = visit{origin: o.Origin, expression: scriptCall("write", string(text))}
	}
	if err := b.visitAll(ctx, all); err != nil {
		return nil, err
	}
	var faults []StorageFault
	for _, v := range all {
		_, failed := v.outcome()
		faults = append(faults, failed...)
	}
	return faults, ctx.Err()
}

// sortItems sorts by name: the order of pages has no meaning.
func sortItems(all []state.Item) {
	slices.SortFunc(all, func(a, b state.Item) int { return strings.Compare(a.Name, b.Name) })
}

// scriptCall is an expression that calls a function of storage.js. Its argument is JSON, as text: no member is taken for a prototype.
func scriptCall(function, argument string) string {
	quoted, _ := json.Marshal(argument)                // a string always is
	_, script, _ := strings.Cut(storageScript, "\n\n") // after its comment
	return fmt.Sprintf("(%s).%s(JSON.parse(%s)).then(r => JSON.stringify(r))", strings.TrimSpace(script), function, quoted)
}

// visitFault says why an origin could not be visited.
func visitFault(err error) string {
	if refused, ok := errors.AsType[*ProtocolError](err); ok {
		return "It could not be visited: " + refused.Message + "."
	}
	return "It could not be visited: " + err.Error() + "."
}
