package configfile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parse reads TOML (toml.io, v1.1): keys at the top are flags' names. It returns every fault with its line. go-toml's
// decoder would stop at the first value of a wrong type, and tells no line of a good one. Its parser does.
func parse(path, text string, flags map[string]*kong.Flag) (map[string]entry, []error) {
	out := map[string]entry{}
	var faults []error
	fault := func(line int, format string, a ...any) {
		faults = append(faults, fmt.Errorf("%s:%d: "+format, append([]any{path, line}, a...)...))
	}
	var p unstable.Parser
	p.Reset([]byte(text))
	inTable := false
	for p.NextExpression() {
		expression := p.Expression()
		name, line := keyOf(&p, expression)
		if expression.Kind != unstable.KeyValue {
			fault(line, "[%s] is a table; write the flags' names at the top, without tables", name)
			inTable = true
			continue
		}
		if inTable {
			continue // told with its table
		}
		flag, known := flags[name]
		before, twice := out[name]
		switch {
		case !known:
			fault(line, "%s is no setting%s", name, suggestion(name, flags))
		case twice:
			fault(line, "%s is set a second time, after line %d", name, before.line)
		default:
			value, err := convert(expression.Value(), flag)
			if err != nil {
				fault(line, "%s %w", name, err)
			}
			out[name] = entry{value, line} // a nil one leaves the default
		}
	}
	if err := p.Error(); err != nil {
		fault(lineOf(&p, err, text), "this is not TOML: %w", err)
	}
	return out, faults
}

// keyOf returns the key of an expression, with its dots, and the line of its first letter.
func keyOf(p *unstable.Parser, expression *unstable.Node) (name string, line int) {
	var parts []string
	for it := expression.Key(); it.Next(); {
		if line == 0 {
			line = p.Shape(it.Node().Raw).Start.Line
		}
		parts = append(parts, string(it.Node().Data))
	}
	return strings.Join(parts, "."), line
}

// lineOf is the line of a syntax error.
func lineOf(p *unstable.Parser, err error, text string) int {
	if e, ok := err.(*unstable.ParserError); ok && len(e.Highlight) > 0 { //nolint:errorlint // the parser returns no other
		return p.Shape(p.Range(e.Highlight)).Start.Line
	}
	return strings.Count(text, "\n") + 1
}

// suggestion is the name that was meant, if underscores and capitals are all that is wrong with it.
func suggestion(name string, flags map[string]*kong.Flag) string {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	for known := range flags {
		if plain(known) == plain(name) {
			return "; write " + known
		}
	}
	return "; `warren config print` lists them"
}

// convert returns a value as kong's mappers take it, or what it must be.
func convert(v *unstable.Node, flag *kong.Flag) (any, error) {
	kind := flag.Target.Type()
	switch {
	case kind == reflect.TypeFor[time.Duration]():
		return duration(v)
	case kind.Kind() == reflect.Slice:
		return list(v, flag)
	case kind.Kind() == reflect.Bool:
		if v.Kind != unstable.Bool {
			return nil, fmt.Errorf("must be true or false")
		}
		return string(v.Data) == "true", nil
	case kind.Kind() == reflect.Int:
		return integer(v)
	case v.Kind == unstable.Integer && kind != reflect.TypeFor[string](): // a size in bytes
		n, err := integer(v)
		return fmt.Sprint(n), err
	case v.Kind != unstable.String:
		return nil, fmt.Errorf(`must be a text, such as "…"`)
	}
	return word(string(v.Data), flag)
}

func duration(v *unstable.Node) (any, error) {
	if v.Kind == unstable.String {
		if _, err := time.ParseDuration(string(v.Data)); err == nil {
			return string(v.Data), nil
		}
	}
	return nil, fmt.Errorf(`must be a duration, such as "10s", "5m" or "24h"`)
}

func integer(v *unstable.Node) (any, error) {
	n, err := strconv.ParseInt(string(v.Data), 0, 64) // TOML's 0x, 0o, 0b and underscores are Go's
	if v.Kind != unstable.Integer || err != nil {
		return nil, fmt.Errorf("must be a whole number, without quotes")
	}
	return n, nil
}

func list(v *unstable.Node, flag *kong.Flag) (any, error) {
	fault := fmt.Errorf(`must be a list of texts, such as ["…", "…"]`)
	if v.Kind != unstable.Array {
		return nil, fault
	}
	out := []any{}
	for it := v.Children(); it.Next(); {
		if it.Node().Kind == unstable.Comment {
			continue
		}
		if it.Node().Kind != unstable.String {
			return nil, fault
		}
		text, err := word(string(it.Node().Data), flag)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, nil
}

// word returns a text, which must be one of those that the flag takes if it takes only some.
func word(text string, flag *kong.Flag) (any, error) {
	if some := flag.EnumSlice(); flag.Enum != "" && !slices.Contains(some, text) {
		return nil, fmt.Errorf("%q must be one of %s", text, strings.Join(some, ", "))
	}
	return text, nil
}
