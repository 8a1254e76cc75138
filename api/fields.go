package api

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// opt is a member of a request: absent (the object keeps its value), null (it gets the default) or a value.
type opt[T any] struct {
	Set   bool // the member is there
	Null  bool // and is null
	Value T
}

// UnmarshalJSON never fails: the schema has reported a member of the wrong type already, and the members after it are checked too.
func (o *opt[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		o.Set, o.Null = true, true
		return nil
	}
	if o.Set = json.Unmarshal(b, &o.Value) == nil; !o.Set {
		plain := jsontext.Value(b).Clone() // 1e3 and 1000.0 are the integer 1000 (RFC 8259, 6): the schema takes them
		o.Set = plain.Canonicalize() == nil && json.Unmarshal(plain, &o.Value) == nil
	}
	return nil
}

// Schema is that of T, or null.
func (o opt[T]) Schema(r huma.Registry) *huma.Schema {
	s := huma.SchemaFromType(r, reflect.TypeFor[T]())
	if s.Type != "" {
		s.Nullable = true
	}
	return s
}

// given says whether the member is there and not null.
func (o opt[T]) given() bool { return o.Set && !o.Null }

// merge sets dst to the member's value if it has one, and to the default if it is null.
func (o opt[T]) merge(dst *T, byDefault T) {
	switch {
	case o.Null:
		*dst = byDefault
	case o.Set:
		*dst = o.Value
	}
}

// membersOf names the members that a request has, for the events of updates.
func membersOf(input any) []string {
	names := []string{}
	v := reflect.ValueOf(input)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if f := v.Field(i); name != "" && f.Kind() == reflect.Struct && f.FieldByName("Set").IsValid() && f.FieldByName("Set").Bool() {
			names = append(names, name)
		}
	}
	return names
}

// optBool is a query parameter that may be absent.
type optBool struct {
	Value bool
	set   bool
}

// Receiver is where huma puts the value.
func (o *optBool) Receiver() reflect.Value { return reflect.ValueOf(&o.Value).Elem() }

// OnParamSet is told whether the parameter is there.
func (o *optBool) OnParamSet(isSet bool, _ any) { o.set = isSet }

// Schema is a boolean.
func (optBool) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeBoolean} }

// orNil returns the value; nil: absent.
func (o *optBool) orNil() *bool {
	if !o.set {
		return nil
	}
	return &o.Value
}

// noInput is the body of an operation that takes none: it may be absent or {}.
type noInput struct{}

func now() int64 { return time.Now().UnixMilli() }

// millisOrNil converts a time of a row, in milliseconds since 1970. nil stays nil.
func millisOrNil(ms *int64) *time.Time {
	if ms == nil {
		return nil
	}
	return new(runs.Millis(*ms))
}

// digits is a string of digits, such as a browser version. A JSON integer is taken too.
type digits string

// UnmarshalJSON takes a string or an integer.
func (d *digits) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, (*string)(d))
	}
	n, err := strconv.ParseFloat(string(b), 64) // 124.0 is the integer 124 (RFC 8259, 6)
	if err != nil || n != float64(int64(n)) {
		return fmt.Errorf("not an integer")
	}
	*d = digits(strconv.FormatInt(int64(n), 10))
	return nil
}

// Schema is a string of digits or an integer, as a browser version.
func (digits) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeString, Pattern: "^[1-9][0-9]{0,2}$"},
		{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(999.0)},
		nullSchema(),
	}}
}

// nullSchema takes null alone.
func nullSchema() *huma.Schema { return &huma.Schema{Type: "null", Enum: []any{nil}} }

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// faults collects what is wrong with a request.
type faults []problem.Fault

func (f *faults) add(location, message string, value any) {
	*f = append(*f, problem.Fault{Location: location, Message: message, Value: value})
}

func (f faults) errors() []error {
	out := make([]error, len(f))
	for i := range f {
		out[i] = f[i]
	}
	return out
}

// problem returns the faults as one error; nil without any.
func (f faults) problem() error {
	if len(f) == 0 {
		return nil
	}
	return problem.NotValid(f...)
}

// element is the location of a list's element.
func element(location string, i int) string { return fmt.Sprintf("%s[%d]", location, i) }

// cut returns a value that an error may repeat: nil for one of more than 100 bytes.
func cut(s string) any {
	if len(s) > 100 {
		return nil
	}
	return s
}

// line is plain for texts that lists show. It refuses invisible characters too.
func (f *faults) line(location, s string, minLen, maxLen int) string {
	s = f.plain(location, s, minLen, maxLen)
	if r, ok := findIgnorable(s); ok {
		f.add(location, fmt.Sprintf("Remove the invisible character %U from the %s.", r, nounOf(location)), nil)
	}
	return s
}

// plain trims s, normalises it to NFC, and wants min to max characters without control characters.
func (f *faults) plain(location, s string, minLen, maxLen int) string {
	s = norm.NFC.String(strings.TrimSpace(s))
	n := utf8.RuneCountInString(s)
	f.require(n >= minLen, location, fmt.Sprintf("Enter a %s of %d to %d characters.", nounOf(location), minLen, maxLen))
	f.atMost(maxLen, "characters", location, n)
	f.require(!strings.ContainsFunc(s, unicode.IsControl), location,
		"Remove line breaks and other control characters from the "+nounOf(location)+".")
	return s
}

// atMost notes a member with more than most parts, such as characters, and reports whether it has no more.
func (f *faults) atMost(most int, parts, location string, n int) bool {
	if n > most {
		f.add(location, fmt.Sprintf("Enter at most %s %s. There are %s.", thousands(most), parts, thousands(n)), nil)
	}
	return n <= most
}

// nounOf names the member at a location in words: "body.tags[3]" is a tag.
func nounOf(location string) string {
	name, _, isElement := strings.Cut(location[strings.LastIndexByte(location, '.')+1:], "[")
	if isElement {
		name = strings.TrimSuffix(name, "s")
	}
	return name
}

// thousands writes a number with a comma between its thousands.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// text wants at most maxLen characters. Line breaks and tabs are the only control characters.
func (f *faults) text(location, s string, maxLen int) string {
	f.atMost(maxLen, "characters", location, utf8.RuneCountInString(s))
	bad := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }
	f.require(!strings.ContainsFunc(s, bad), location, "Remove control characters. Line breaks and tabs may stay.")
	return s
}

// tags trims each tag, and drops those that differ from an earlier one in case alone.
func (f *faults) tags(location string, in []string) []string {
	out, seen := []string{}, map[string]bool{}
	for i, t := range in {
		t = f.line(element(location, i), t, 1, 64)
		if k := store.Fold(t); !seen[k] {
			seen[k] = true
			out = append(out, t)
		}
	}
	f.atMost(50, "tags", location, len(out))
	return out
}

// InWorkspace narrows a list to one workspace.
type InWorkspace struct {
	WorkspaceID string `query:"workspaceId" doc:"Only this workspace. Without it: all that the key may see." example:"default"`
}

// Resolve refuses what is no workspace id: the list of such a workspace would only be empty.
func (in *InWorkspace) Resolve(huma.Context) []error {
	var f faults
	f.require(in.WorkspaceID == "" || store.IsWorkspaceID(in.WorkspaceID), "query.workspaceId", store.WorkspaceRule)
	return f.errors()
}

// Paging is the part of a list that a request asks for.
type Paging struct {
	Page  int    `query:"page" minimum:"1" maximum:"1000000000" doc:"Counts from 1 (the default)."`
	Limit int    `query:"limit" minimum:"1" maximum:"200" doc:"Objects a page, 1 to 200; 20 where it is not given."`
	After string `query:"after" doc:"What follows: next of the page before, or the id of the last object that was seen. For long walks; it costs the same at every depth. With next the walk goes on also when that object was deleted meanwhile; its id alone is 410 cursor_gone then."`

	all bool // none of them is given
}

// offset is how many objects come before the page.
func (p *Paging) offset() int64 { return int64(p.Page-1) * int64(p.Limit) }

// Resolve sets the defaults. It refuses page=0 and limit=0, which the decoder takes for absent.
func (p *Paging) Resolve(ctx huma.Context) []error {
	var f faults
	u := ctx.URL()
	query := u.Query()
	for _, name := range []string{"page", "limit"} {
		if values, ok := query[name]; ok && (len(values) != 1 || values[0] == "") {
			f.add("query."+name, memberMessages[name], nil)
		}
	}
	f.require(p.After == "" || p.Page == 0, "query.after", "Give either after or page, not both.")
	p.all = p.Page == 0 && p.Limit == 0 && p.After == ""
	p.Page, p.Limit = cmp.Or(p.Page, 1), cmp.Or(p.Limit, 20)
	return f.errors()
}

// list is the envelope of every list.
type list[T any] struct {
	Data         []T   `json:"data"`
	Total        int64 `json:"total" doc:"How many there are in all; at least so many if totalIsExact is false." example:"137"`
	TotalIsExact bool  `json:"totalIsExact" doc:"false: more than 10,000 match the filters, and total is 10000." example:"true"`
	Page         int   `json:"page" example:"1"`
	Limit        int   `json:"limit" example:"20"`
	HasMore      bool  `json:"hasMore" doc:"Whether objects follow."`

	Next *string `json:"next" doc:"What after takes to go on, also when the last object here is deleted meanwhile; null: nothing follows."`
}

// lister is every list.
type lister interface{ isList() }

func (list[T]) isList() {}

func (list[T]) example() any {
	v, _ := exampleOf(reflect.TypeFor[T]()).(T)
	return exampleList(v)
}

func exampleList[T any](v T) list[T] {
	out := wholeList([]T{v})
	out.Limit = 20
	return out
}

// wholeList is a list of which every object is on one page.
func wholeList[T any](data []T) list[T] {
	return list[T]{Data: data, Total: int64(len(data)), TotalIsExact: true, Page: 1, Limit: max(1, len(data))}
}

// listBody is a list as an answer.
type listBody[T any] struct{ Body list[T] }
