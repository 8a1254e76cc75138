package store

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// Scope says which workspaces a query may see. The zero value sees none.
type Scope struct {
	all  bool
	ids  []string
	list string // ids as a JSON array
}

// All sees every workspace. It is for work that no caller asked for.
func All() Scope { return Scope{all: true} }

// Only sees the workspaces of these ids. nil is none.
func Only(ids []string) Scope {
	b, err := json.Marshal(append([]string{}, ids...))
	if err != nil { // strings always marshal
		return Scope{}
	}
	return Scope{ids: ids, list: string(b)}
}

// Filter is what queries take as Workspaces: a JSON array of ids; nil is all.
func (s Scope) Filter() *string {
	if s.all {
		return nil
	}
	list := s.list
	if list == "" {
		list = "[]"
	}
	return &list
}

// SeesAll says whether every workspace is seen, also those that are still to come.
func (s Scope) SeesAll() bool { return s.all }

// Sees says whether a workspace is seen.
func (s Scope) Sees(id string) bool { return s.all || slices.Contains(s.ids, id) }

// Workspaces are the ids that are seen; nil is all.
func (s Scope) Workspaces() []string {
	if s.all {
		return nil
	}
	return append([]string{}, s.ids...)
}

// WorkspaceRule says in words what an id of a workspace is.
const WorkspaceRule = "must have 1 to 64 of A-Z a-z 0-9 . _ -"

// IsWorkspaceID says whether s can be the id of a workspace.
func IsWorkspaceID(s string) bool {
	return len(s) >= 1 && len(s) <= 64 &&
		strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// NewID makes an id: a UUIDv7 (RFC 9562), so that ids sort by time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
