package api

import (
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Writes JSON without reflection for answers that are frequent or long, at a third of the cost. The API's description is made of the
// structs' tags; a test holds both to the same bytes.

// jsonAppender appends itself to b as JSON.
type jsonAppender interface {
	appendJSON(b []byte) ([]byte, error)
}

// body is an answer as JSON, from a pool.
type body []byte

var bodies = sync.Pool{New: func() any { return new(body) }}

// newBody writes v as JSON. writeTo must follow.
func newBody(v any) (*body, error) {
	b := bodies.Get().(*body)
	text, err := appendBody((*b)[:0], v)
	*b = text
	return b, err
}

// writeTo writes the body in one system call, and gives it back to the pool.
func (b *body) writeTo(w io.Writer) error {
	_, err := w.Write(*b)
	if cap(*b) <= maxBody { // larger buffers are rare
		bodies.Put(b)
	}
	return err
}

func appendBody(b []byte, v any) ([]byte, error) {
	if a, ok := v.(jsonAppender); ok {
		return a.appendJSON(b)
	}
	text, err := json.Marshal(v)
	return append(b, text...), err
}

// object writes the members of a JSON object one by one, and remembers the first error.
type object struct {
	b   []byte
	err error
}

func newObject(b []byte) *object { return &object{b: append(b, '{')} }

func (o *object) end() ([]byte, error) { return append(o.b, '}'), o.err }

func (o *object) failed(err error) {
	if o.err == nil {
		o.err = err
	}
}

func (o *object) name(name string) {
	o.b = appendName(o.b, name)
}

// appendName is apart, because it costs less where the slice is no member of an object.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] == '{' {
		b = append(b, '"')
	} else {
		b = append(b, ',', '"')
	}
	b = append(b, name...)
	return append(b, '"', ':')
}

func (o *object) text(name, v string) {
	o.name(name)
	b, err := jsontext.AppendQuote(o.b, v)
	o.b = b
	o.failed(err)
}

// raw writes a value that is JSON already.
func (o *object) raw(name, v string) {
	o.b = append(appendName(o.b, name), v...)
}

// word writes a column that holds a word, a list or an object (wordOr).
func (o *object) word(name, v string) {
	if isRaw(v) {
		o.raw(name, v)
		return
	}
	o.text(name, v)
}

func (o *object) bool(name string, v bool) {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
}

func (o *object) int(name string, v int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) time(name string, t time.Time) {
	o.name(name)
	o.b = append(appendTime(append(o.b, '"'), t), '"')
}

// orNullMember writes what v points at with write, or null.
func orNullMember[T any](o *object, name string, v *T, write func(*object, string, T)) {
	if v == nil {
		o.raw(name, "null")
		return
	}
	write(o, name, *v)
}

// rareMember writes what v points at by reflection, or null.
func rareMember[T any](o *object, name string, v *T) {
	if v == nil {
		o.raw(name, "null")
		return
	}
	text, err := json.Marshal(v)
	o.raw(name, string(text))
	o.failed(err)
}

// appendTime appends a time in UTC with milliseconds. The time package has a fast path for the layout RFC 3339 alone.
func appendTime(b []byte, t time.Time) []byte {
	b = t.UTC().AppendFormat(b, time.RFC3339)
	ms := t.Nanosecond() / 1e6
	return append(b[:len(b)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z')
}

func (l list[T]) appendJSON(b []byte) ([]byte, error) {
	o := newObject(b)
	o.raw("data", "[")
	for i := range l.Data {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		b, err := appendBody(o.b, &l.Data[i])
		o.b = b
		o.failed(err)
	}
	o.b = append(o.b, ']')
	o.int("total", l.Total)
	o.bool("totalIsExact", l.TotalIsExact)
	o.int("page", int64(l.Page))
	o.int("limit", int64(l.Limit))
	o.bool("hasMore", l.HasMore)
	orNullMember(o, "next", l.Next, (*object).text)
	return o.end()
}

func (p profileJSON) appendJSON(b []byte) ([]byte, error) {
	o := newObject(b)
	o.text("id", p.ID)
	o.text("workspaceId", p.WorkspaceID)
	o.text("name", p.Name)
	o.text("os", p.OS)
	o.text("browserVersion", p.BrowserVersion)
	o.raw("tags", string(p.Tags))
	o.text("notes", p.Notes)
	orNullMember(o, "proxyId", p.ProxyID, (*object).text)
	o.raw("fallbackProxyIds", string(p.FallbackProxyIDs))
	o.text("fallbackCountry", p.FallbackCountry)
	orNullMember(o, "templateId", p.TemplateID, (*object).text)
	o.bool("proxyMissing", p.ProxyMissing)
	o.raw("startUrls", string(p.StartURLs))
	o.text("timezone", p.Timezone)
	o.word("locale", string(p.Locale))
	o.word("geolocation", string(p.Geolocation))
	o.text("webrtc", p.WebRTC)
	rareMember(o, "screen", p.Screen)
	orNullMember(o, "headless", p.Headless, (*object).bool)
	orNullMember(o, "idleTimeoutMs", p.IdleTimeoutMs, (*object).int)
	orNullMember(o, "maxRunMs", p.MaxRunMs, (*object).int)
	o.text("backgroundTraffic", p.BackgroundTraffic)
	o.raw("allowLocal", string(p.AllowLocal))
	o.bool("logHosts", p.LogHosts)
	o.raw("localhostVia", string(p.LocalhostVia))
	o.raw("allowHosts", string(p.AllowHosts))
	o.raw("denyHosts", string(p.DenyHosts))
	o.text("consistency", p.Consistency)
	o.raw("args", string(p.Args))
	o.bool("temporary", p.Temporary)
	orNullMember(o, "snapshots", p.Snapshots, (*object).text)
	o.bool("startWithServer", p.StartWithServer)
	o.raw("extensions", string(p.Extensions))
	o.text("passkeys", p.Passkeys)
	rareMember(o, "limits", p.Limits)
	orNullMember(o, "freezeAfter", p.FreezeAfter, (*object).int)
	rareMember(o, "placement", p.Placement)
	orNullMember(o, "nodeId", p.NodeID, (*object).text)
	o.text("status", p.Status)
	rareMember(o, "run", p.Run)
	rareMember(o, "lastRun", p.LastRun)
	orNullMember(o, "lastStartedAt", p.LastStartedAt, (*object).time)
	o.int("diskBytes", p.DiskBytes)
	o.time("createdAt", p.CreatedAt)
	o.time("updatedAt", p.UpdatedAt)
	if p.TrashedAt != nil {
		o.time("trashedAt", *p.TrashedAt)
	}
	return o.end()
}
