package cli

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// A command is declared once, in the table. Its flags, help, completion and man page follow from that, and the test that every operation
// has one.

// command is one command.
type command struct {
	name     string // "profile list"
	op       string // the operation, with its method and address: "listProfiles GET /profiles"
	also     string // ids of further operations that it calls, with blanks between
	help     string
	detail   string
	sample   string // an example that runs
	shape    shape  // of the operation's answer
	cols     string // columns of its table: "ID=id NAME=name"; see columnsOf
	args     string // its arguments, where they do not follow from the address: "[profile]", "file", "name…"
	many     bool   // the last argument may be given several times
	optional bool   // the last argument may be left out
	body     bool   // the operation takes a body, though no flag is a member of it
	done     string // what is said when the answer is empty
	flags    []flag
	events   string // the beginning of the types of events after which a list is another, for --watch
	run      func(*session) error
	hidden   bool
}

// shape is what an operation answers.
type shape int

const (
	one    shape = iota // an object
	listed              // a list, in pages or whole
	empty               // nothing
	raw                 // a file or text, as it is
	lines               // an object on each line, as it happens
	local               // nothing of a server: no flags of output or of a server
)

// flag is a flag of a command. Its value goes to the query or to the body under a member's name, or is read by the command.
type flag struct {
	name    string
	member  string // "proxyId"; may be dotted
	where   where
	kind    kind
	help    string
	short   string
	enum    string
	def     string
	object  string // what the value names: profile, proxy, template, …; its id is sent
	inverse bool   // no is sent for yes
}

type where byte

const (
	own where = iota
	query
	body
	header
)

type kind byte

const (
	text kind = iota
	list
	pairs // KEY=VALUE each; an object
	yes
	number
	duration // sent in milliseconds
)

// q, b and o declare flags of the query, of the body and of the command itself: name or name=member, with a mark of the kind behind it.
// "tag[]" is a list, "placement{}" an object of KEY=VALUE, "unused?" a yes or no, "limit#" a number, "max-run~=maxRunMs" a time.
func q(spec, help string) flag { return declare(query, spec, help) }
func b(spec, help string) flag { return declare(body, spec, help) }
func o(spec, help string) flag { return declare(own, spec, help) }

func declare(w where, spec, help string) flag {
	name, member, _ := strings.Cut(spec, "=")
	f := flag{where: w, help: help}
	for mark, k := range map[string]kind{"[]": list, "{}": pairs, "?": yes, "#": number, "~": duration} {
		if cut, ok := strings.CutSuffix(name, mark); ok {
			name, f.kind = cut, k
		}
	}
	f.name, f.member = name, member
	if member == "" {
		f.member = camel(name)
	}
	return f
}

// of says that the flag names an object, by its name, id or the beginning of its id.
func (f flag) of(object string) flag { f.object = object; return f }

// in bounds the flag to words.
func (f flag) in(words string) flag { f.enum = words; return f }

// as gives the flag a letter.
func (f flag) as(short string) flag { f.short = short; return f }

// otherwise gives the flag a default.
func (f flag) otherwise(value string) flag { f.def = value; return f }

// not says that the member is the opposite of the flag.
func (f flag) not() flag { f.inverse = true; return f }

// camel converts a flag's name to a member's: start-urls to startUrls.
func camel(name string) string {
	words := strings.Split(name, "-")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// operation returns the id, the method and the address of the command's operation; "" if it has none.
func (c *command) operation() (id, method, address string) {
	f := strings.Fields(c.op)
	if len(f) != 3 {
		return "", "", ""
	}
	return f[0], f[1], f[2]
}

// argument is an argument of a command.
type argument struct {
	name     string // "profile"
	object   string // what it names, "" for text
	optional bool
	many     bool
}

// objects says what the parameters of addresses name.
var objects = map[string]string{"profiles": "profile", "proxies": "proxy", "keys": "key", "workspaces": "workspace",
	"templates":  "template",
	"extensions": "extension", "schedules": "schedule", "webhooks": "webhook", "nodes": "node", "jobs": "job", "runs": "run"}

// parameters says what the further parameters of addresses name.
var parameters = map[string]string{"snapshotId": "snapshot", "passkeyId": "passkey", "capabilityId": "capability", "runId": "run"}

// arguments returns the arguments: those of the address, then those that the command adds.
func (c *command) arguments() (out []argument) {
	_, _, address := c.operation()
	parts := strings.Split(strings.Trim(address, "/"), "/")
	for i, part := range parts {
		name, ok := strings.CutPrefix(part, "{")
		if name = strings.TrimSuffix(name, "}"); !ok {
			continue
		}
		a := argument{name: name, object: parameters[name]}
		switch {
		case name == "id":
			a.object = objects[parts[i-1]]
			a.name = a.object
		case a.object != "":
			a.name = a.object
		}
		out = append(out, a)
	}
	for _, word := range strings.Fields(c.args) {
		a := argument{}
		word, a.optional = strings.CutPrefix(word, "[")
		word = strings.TrimSuffix(word, "]")
		word, a.many = strings.CutSuffix(word, "…")
		a.name, a.object, _ = strings.Cut(word, ":")
		out = append(out, a)
	}
	if c.many && len(out) > 0 {
		out[len(out)-1].many = true
	}
	if c.optional && len(out) > 0 {
		out[len(out)-1].optional = true
	}
	return out
}

// common are the flags of every command that calls a server, by what it answers.
func (c *command) common() []flag {
	if c.shape == local {
		return nil
	}
	out := []flag{
		{name: "url", help: "The server. Default: that of the context, else " + defaultURL + ".", def: ""},
		{name: "context", help: "The context that warren login made. Default: the current one."},
		{name: "data", help: "The server's data folder, whose admin.key is taken where there is no other key."},
	}
	if c.shape == raw {
		return append(out, o("output", "Where to write it; the file is its owner's alone.").as("o").otherwise("-"))
	}
	out = append(out, o("output", "table, json, jsonl, yaml, or go-template=TEXT.").as("o").otherwise("table"),
		o("json?", "Short for --output json."), o("quiet?", "Print ids alone.").as("q"),
		o("columns[]", "Columns of the table: members of the answer, such as id,name,lastRun.reason."),
		o("no-headers?", "Leave out the first line of the table."))
	if c.shape == listed {
		out = append(out, o("max#", "At most so many objects. Default: all."))
	}
	if c.events != "" {
		out = append(out, o("watch?", "List again whenever something changes, until interrupted."))
	}
	return out
}

// bodied are the flags of every command that makes or changes an object.
func (c *command) bodied() []flag {
	takes := c.body
	for _, f := range c.flags {
		takes = takes || f.where == body
	}
	if !takes {
		return nil
	}
	return []flag{
		o("set[]", "Any member, as MEMBER=VALUE: text or JSON, null to reset; may be dotted."),
		o("file", "The whole body, as JSON or YAML; - reads standard input.").as("f"),
	}
}

// all returns every flag of the command.
func (c *command) all() []flag {
	out := append(append([]flag{}, c.flags...), c.bodied()...)
	for _, f := range c.common() {
		if !hasFlag(out, f.name) {
			out = append(out, f)
		}
	}
	return out
}

func hasFlag(flags []flag, name string) bool {
	for _, f := range flags {
		if f.name == name {
			return true
		}
	}
	return false
}

// environment are the variables that flags may stand in. Others have none: --name in the environment would name everything.
var environment = map[string]string{"url": "WARREN_URL", "context": "WARREN_CONTEXT", "data": "WARREN_DATA", "json": "WARREN_JSON"}

// parser returns kong's parser of this command alone: building one for all of them would take longer than most requests.
func (c *command) parser(options ...kong.Option) (*kong.Kong, reflect.Value, error) {
	var fields []reflect.StructField
	add := func(t reflect.Type, tag string) {
		name := "F" + strconv.Itoa(len(fields))
		fields = append(fields, reflect.StructField{Name: name, Type: t, Tag: reflect.StructTag(tag)})
	}
	for _, a := range c.arguments() {
		t, tag := reflect.TypeFor[string](), fmt.Sprintf(`arg:"" name:%q help:%q`, a.name, argumentHelp(a))
		if a.many {
			t, tag = reflect.TypeFor[[]string](), tag+` sep:"none"`
		}
		if a.optional {
			tag += ` optional:""`
		}
		add(t, tag)
	}
	for _, f := range c.all() {
		add(f.goType(), f.tag(c))
	}
	leaf := reflect.StructOf(fields)
	words := strings.Fields(c.name)
	for i := len(words) - 1; i >= 0; i-- {
		leaf = reflect.StructOf([]reflect.StructField{{Name: "C", Type: leaf, Tag: reflect.StructTag(fmt.Sprintf(`cmd:"" name:%q`,
			words[i]))}})
	}
	grammar := reflect.New(leaf)
	k, err := kong.New(grammar.Interface(), append([]kong.Option{kong.Name("warren"), kong.NoDefaultHelp()}, options...)...)
	return k, grammar, err
}

// goType returns the type of the flag's value.
func (f flag) goType() reflect.Type {
	switch f.kind {
	case list, pairs:
		return reflect.TypeFor[[]string]()
	case yes:
		return reflect.TypeFor[bool]()
	case number:
		return reflect.TypeFor[int64]()
	case duration:
		return reflect.TypeFor[time.Duration]()
	}
	return reflect.TypeFor[string]()
}

// tag returns the flag's tag for kong.
func (f flag) tag(c *command) string {
	tag := fmt.Sprintf(`name:%q help:%q`, f.name, f.help)
	if f.short != "" {
		tag += fmt.Sprintf(` short:%q`, f.short)
	}
	if f.enum != "" {
		tag += fmt.Sprintf(` enum:%q`, f.enum+",") // the empty word: not given
		if f.def == "" && f.kind == text {
			tag += ` default:""`
		}
	}
	if f.def != "" {
		tag += fmt.Sprintf(` default:%q`, f.def)
	}
	if f.kind == yes && f.where != own {
		tag += ` negatable:""`
	}
	if f.kind == pairs || f.kind == list && (f.where == body || f.name == "set") {
		tag += ` sep:"none"`
	}
	if env := environment[f.name]; env != "" && c.shape != local {
		tag += fmt.Sprintf(` env:%q`, env)
	}
	return tag
}

// argumentHelp says how an argument may be given.
func argumentHelp(a argument) string {
	switch a.object {
	case "":
		return ""
	case "profile", "proxy":
		if a.many {
			return "Its name, its id or how that begins, or @TAG for all with a tag."
		}
	}
	return "Its name, its id, or how that begins."
}
