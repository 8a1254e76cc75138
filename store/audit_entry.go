package store

import "time"

// AuditEntry is an entry to append.
type AuditEntry struct {
	At          int64 // milliseconds since 1970
	KeyID       string
	KeyName     string
	Parent      string // of a session key: the key that it came from
	WorkspaceID string // "": several
	Action      string // such as profile.update
	ObjectID    string // "": several, or none
	Result      string // ok, or the code of a refusal
	Remote      string // the caller's address
	RequestID   string
	Detail      string // a JSON object
}

// ByServer returns an entry of what the server does by itself to an object. detail are texts that are no secret; nil: none.
func ByServer(action, workspace, object string, detail map[string]any) AuditEntry {
	text := "{}"
	if len(detail) > 0 {
		text = *jsonText(detail)
	}
	return AuditEntry{At: time.Now().UnixMilli(), KeyID: "server", KeyName: "server", WorkspaceID: workspace, Action: action,
		ObjectID: object, Result: "ok", Detail: text}
}

// auditQueue holds the entries of the functions of one transaction.
type auditQueue struct {
	entries []AuditEntry
	moved   bool // a function has moved the chain's beginning, so that the chain is read anew
}
