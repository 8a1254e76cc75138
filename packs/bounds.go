package packs

import "fmt"

// isDense refuses a text of JSON that would take many times its length in memory, such as millions of empty objects. It must be
// as Marshal writes it, without null, true, false and space, and have at least least bytes for each object.
func isDense(text []byte, least int) error {
	objects, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted, c >= '0' && c <= '9', c == ',', c == ':', c == '-', c == '[', c == ']', c == '}':
		case c == '{':
			objects++
		default:
			return fmt.Errorf("%w: its list has %q in a place where none is written", ErrDamaged, c)
		}
	}
	if objects*least > len(text)+least { // the list itself is an object
		return fmt.Errorf("%w: its list has more members than its length has room for", ErrDamaged)
	}
	return nil
}
