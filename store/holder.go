package store

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// Right is what a key allows. The API calls it a scope.
type Right string

// The rights.
const (
	MayRead    Right = "read"
	MayRun     Right = "run"
	MayWrite   Right = "write"
	MayFiles   Right = "files"
	MaySecrets Right = "secrets"
	MayAdmin   Right = "admin"

	MayAny Right = "any" // what every key allows
)

// AllRights are those that a key can have.
func AllRights() []Right {
	return []Right{MayRead, MayRun, MayWrite, MayFiles, MaySecrets, MayAdmin}
}

// Holder is who has a key.
type Holder struct {
	KeyID   string
	Name    string
	Rights  []Right
	Sees    Scope     // the workspaces
	Expires time.Time // zero: never

	read time.Time // when the key was read, with the monotonic clock; zero: it was not
}

// Has says whether the key allows want: admin contains the others, run and write contain read.
func (h Holder) Has(want Right) bool {
	return slices.ContainsFunc(h.Rights, func(r Right) bool {
		return r == want || want == MayAny || r == MayAdmin || want == MayRead && (r == MayRun || r == MayWrite)
	})
}

// Expired says whether the key's time is over.
func (h Holder) Expired() bool {
	now := time.Now()
	return h.expiredAt(now, now.Sub(h.read))
}

// expiredAt asks the wall clock, and what that would be if nobody had set it since the key was read. So a key that has expired does not
// become valid again when the clock is set back.
func (h Holder) expiredAt(wall time.Time, sinceRead time.Duration) bool {
	if h.Expires.IsZero() {
		return false
	}
	return wall.Round(0).After(h.Expires.Round(0)) || !h.read.IsZero() && h.read.Round(0).Add(sinceRead).After(h.Expires.Round(0))
}

// Holder reads what a key's row allows.
func (k Key) Holder() (Holder, error) {
	h := Holder{KeyID: k.ID, Name: k.Name, Sees: All(), read: time.Now()}
	if err := json.Unmarshal([]byte(k.Scopes), &h.Rights); err != nil {
		return Holder{}, err
	}
	if k.Workspaces != nil {
		var ids []string
		if err := json.Unmarshal([]byte(*k.Workspaces), &ids); err != nil {
			return Holder{}, err
		}
		h.Sees = Only(ids)
	}
	if k.ExpiresAt != nil {
		h.Expires = time.UnixMilli(*k.ExpiresAt)
	}
	return h, nil
}

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
	return Scope{ids: ids, list: *jsonText(append([]string{}, ids...))}
}

// Single returns the workspace that the scope sees, if it sees one alone.
func (s Scope) Single() string {
	if s.all || len(s.ids) != 1 {
		return ""
	}
	return s.ids[0]
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
const WorkspaceRule = "Use 1 to 64 letters from A to Z, digits, dots, hyphens or underscores."

// IsWorkspaceID says whether s can be the id of a workspace.
func IsWorkspaceID(s string) bool {
	return len(s) >= 1 && len(s) <= 64 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == ""
}

// NewID makes an id: a UUIDv7 (RFC 9562), so that ids sort by time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// NewIDs makes at most 65,536 ids that follow one another. No other id is between the first and the last.
func NewIDs(n int) []string {
	id := uuid.Must(uuid.NewV7())
	ids := make([]string, n)
	for i := range ids {
		binary.BigEndian.PutUint16(id[14:], uint16(i))
		ids[i] = id.String()
	}
	return ids
}
