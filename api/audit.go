package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/pool"
	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Lists the audit log, and answers the password of a proxy.

// auditJSON is one record of the audit log.
type auditJSON struct {
	ID          string      `json:"id"`
	Seq         int64       `json:"seq" doc:"Its number: no number is left out." example:"4711"`
	At          time.Time   `json:"at,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	KeyID       string      `json:"keyId" doc:"The key that was used; environment: WARREN_API_KEY; server: the server did it by itself."`
	KeyName     string      `json:"keyName" example:"ci"`
	ParentID    *string     `json:"parentId" doc:"With a session key: the key that it came from. null: no session key."`
	WorkspaceID *string     `json:"workspaceId" doc:"null: several workspaces, or none."`
	Action      string      `json:"action" doc:"The kind of object and what was done, as docs/audit.md lists them." example:"proxy.secret"`
	ObjectID    *string     `json:"objectId" doc:"The object, or the version of a browser; null: several, or none."`
	Result      string      `json:"result" doc:"ok, or the code of the refusal." example:"ok"`
	Remote      string      `json:"remote" doc:"The caller's address, as GET /ip answers it." example:"203.0.113.7"`
	RequestID   string      `json:"requestId"`
	Detail      auditDetail `json:"detail" doc:"What was requested, and how many there were. Of a change: changed, the members of the request, and from and to, their values where they differ and are no secret."`
}

func (auditJSON) example() any {
	return auditJSON{ID: exampleRunID, Seq: 4711, At: exampleTime(), KeyID: exampleProfileID, KeyName: "ci", WorkspaceID: new("default"),
		Action: "proxies.export", Result: "ok", Remote: "203.0.113.7", RequestID: exampleRunID,
		Detail: auditDetail{"count": 12, "format": "csv", "secrets": true, "tag": []string{"shop"}}}
}

// auditDetail are the details of an entry. Each action has its own.
type auditDetail map[string]any

// Schema is any object.
func (auditDetail) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// auditFrom returns an entry as the API shows it.
func auditFrom(a store.Audit) (auditJSON, error) {
	detail := auditDetail{}
	err := json.Unmarshal([]byte(a.Detail), &detail)
	return auditJSON{a.ID, a.Seq, runs.Millis(a.At), a.KeyID, a.KeyName, orNull(a.Parent), orNull(a.WorkspaceID), a.Action,
		orNull(a.ObjectID), a.Result, a.Remote, a.RequestID, detail}, err
}

// auditList holds the query parameters of the audit log.
type auditList struct {
	Paging
	From     string `query:"from" format:"date-time" doc:"Entries from this time on." example:"2026-11-21T00:00:00Z"`
	To       string `query:"to" format:"date-time" doc:"Entries before this time." example:"2026-11-22T00:00:00Z"`
	KeyID    string `query:"keyId" maxLength:"64" doc:"What was done with this key. server: what the server did by itself."`
	ObjectID string `query:"objectId" maxLength:"200" doc:"What was done with this object."`
	Action   string `query:"action" maxLength:"64" pattern:"^[a-z_]+[.]([a-z_]+|[*])$" patternDescription:"an action such as profile.update, or profile.* for all of a kind" doc:"Such as profile.update, or profile.* for all of a kind." example:"profile.*"`
	Result   string `query:"result" maxLength:"64" doc:"ok, the code of a refusal such as forbidden, or refused for every code."`
	Format   string `query:"format" enum:"json,jsonl" doc:"jsonl: everything that fits, newest first, one JSON object a line. page, limit and after do not apply. Default: from Accept, else json."`

	from, to time.Time
}

// Resolve checks the times.
func (in *auditList) Resolve(ctx huma.Context) []error {
	var f faults
	in.check(&f)
	return append(in.Paging.Resolve(ctx), f.errors()...)
}

func (in *auditList) check(f *faults) {
	for _, t := range []struct {
		name, text string
		to         *time.Time
	}{{"query.from", in.From, &in.from}, {"query.to", in.To, &in.to}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		f.require(err == nil, t.name, "Enter a time such as 2026-11-21T14:06:00Z.")
		*t.to = at
	}
}

// of returns the list for package store, of what the caller sees.
func (in *auditList) of(c *caller) store.AuditList {
	return store.AuditList{Workspaces: c.Sees.Filter(), From: in.from, To: in.to, KeyID: in.KeyID, ObjectID: in.ObjectID,
		Action: in.Action, Result: in.Result, After: in.After, Limit: in.Limit, Offset: in.offset()}
}

func (s *API) listAudit(ctx context.Context, in *auditList) (*listBody[auditJSON], error) {
	found, err := s.store.ListAudit(ctx, in.of(callerOf(ctx)))
	if err != nil {
		return nil, err
	}
	return answerList(found, in.Paging, auditFrom)
}

// auditRoute is the pattern of the log. huma serves its pages; lines are written as they are read.
const auditRoute = "GET " + Prefix + "/audit"

// auditLines is the media type of lines (https://jsonlines.org).
const auditLines = "application/jsonl"

// asksForLines reports whether a request of the log wants lines.
func asksForLines(r *http.Request) bool {
	if format := r.URL.Query().Get("format"); format != "" {
		return format == "jsonl"
	}
	first, _, _ := strings.Cut(requestOf(r.Context()).accept, ",")
	kind, _, _ := strings.Cut(first, ";")
	return strings.EqualFold(strings.TrimSpace(kind), auditLines)
}

// auditQuery reads the filters of a request for lines as huma reads those of a page.
func auditQuery(r *http.Request) (in auditList, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	var f faults
	f.require(err == nil, "query", "The query cannot be read. Write & between parameters, and % as %25.")
	known := map[string]*string{"from": &in.From, "to": &in.To, "keyId": &in.KeyID, "objectId": &in.ObjectID, "action": &in.Action,
		"result": &in.Result, "format": &in.Format}
	for name, values := range query {
		into, ok := known[name]
		switch {
		case !ok:
			f.add("query."+strings.ToValidUTF8(name, ""), "Unknown parameter of an export. Remove it, or check its spelling.", nil)
		case len(values) > 1:
			f.add("query."+name, "Give this parameter once.", nil)
		default:
			*into = values[0]
		}
	}
	in.check(&f)
	return in, f.problem()
}

// auditPart is how many entries are read at a time.
const auditPart = 500

// exportAudit streams every entry that fits, newest first. Later ones do not disturb it.
func (s *API) exportAudit(w http.ResponseWriter, r *http.Request) error {
	in, err := auditQuery(r)
	if err != nil {
		return err
	}
	ctx, release, err := s.longLived(r.Context())
	if err != nil {
		return err
	}
	defer release()
	l := in.of(callerOf(ctx))
	l.Limit, l.Offset, l.Uncounted = auditPart, 0, true
	page, err := s.store.ListAudit(ctx, l)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", auditLines)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	rc := http.NewResponseController(w)
	defer rc.SetWriteDeadline(time.Time{}) //nolint:errcheck // without a deadline there is none to remove
	for {
		var text []byte
		for _, row := range page.Rows {
			entry, err := auditFrom(row)
			if err == nil {
				var line []byte
				line, err = json.Marshal(entry, json.Deterministic(true))
				text = append(append(text, line...), '\n')
			}
			if err != nil {
				s.log.Warn("export failed", "request", requestID(ctx), "cause", err)
				panic(http.ErrAbortHandler) // the client must see that the answer is incomplete
			}
		}
		rc.SetWriteDeadline(time.Now().Add(s.writeTime)) //nolint:errcheck // as above
		if _, err := w.Write(text); err != nil || !page.More {
			return nil // the client has disconnected, or has everything
		}
		l.After = page.Next.String()
		if page, err = s.store.ListAudit(ctx, l); err != nil {
			s.log.Warn("export failed", "request", requestID(ctx), "cause", err)
			panic(http.ErrAbortHandler)
		}
	}
}

type secretJSON struct {
	Password *string `json:"password" doc:"null: the proxy has none, or it is not UTF-8." example:"secret"`
	Base64   string  `json:"base64,omitempty" doc:"A password that is not UTF-8, which JSON cannot hold."`
}

func (secretJSON) example() any { return secretJSON{Password: new("secret")} }

// secretRequest names the proxy whose password is read.
type secretRequest struct{ ProxyPath }

func (secretRequest) problems() []*problem.Error {
	return []*problem.Error{pool.PasswordUnreadable(nil)}
}

// proxySecret answers the password of one proxy. No other operation but an export with secrets does.
func (s *API) proxySecret(ctx context.Context, in *secretRequest) (*struct{ Body secretJSON }, error) {
	row, err := s.pool.Get(ctx, callerOf(ctx).Sees, in.ID)
	if err != nil {
		return nil, err
	}
	if err := row.Usable(); err != nil {
		return nil, err
	}
	if err := s.audit(ctx, "proxy.secret", row.WorkspaceID, row.ID, map[string]any{}); err != nil {
		return nil, err
	}
	password := row.Address.Password
	out := secretJSON{Password: orNull(password)}
	if !utf8.ValidString(password) {
		out = secretJSON{Base64: base64.StdEncoding.EncodeToString([]byte(password))}
	}
	return &struct{ Body secretJSON }{out}, nil
}
