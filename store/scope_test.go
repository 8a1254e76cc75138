package store

import (
	"slices"
	"testing"
)

// TestScope: the zero value sees nothing, and only All gives queries no filter.
func TestScope(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope  Scope
		filter string
		sees   []bool // a, b
		all    bool
	}{
		{Scope{}, "[]", []bool{false, false}, false},
		{Only(nil), "[]", []bool{false, false}, false},
		{Only([]string{"a"}), `["a"]`, []bool{true, false}, false},
		{All(), "", []bool{true, true}, true},
	} {
		filter := ""
		if f := c.scope.Filter(); f != nil {
			filter = *f
		}
		got := []bool{c.scope.Sees("a"), c.scope.Sees("b")}
		if filter != c.filter || !slices.Equal(got, c.sees) || c.scope.SeesAll() != c.all {
			t.Errorf("%+v: filter %q, sees %v, all %v", c.scope, filter, got, c.scope.SeesAll())
		}
		if w := c.scope.Workspaces(); (w == nil) != c.all {
			t.Errorf("%+v: workspaces %v", c.scope, w)
		}
	}
}
