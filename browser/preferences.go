package browser

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// preference is one of Chrome's preferences (chrome/common/pref_names.h).
type preference struct {
	path    string // member names, joined by dots
	value   any    // nil: removes the preference
	ifUnset bool   // sets it only if neither Chrome nor the user has
}

// mergeInto sets preferences in a file. A file that is not JSON is renamed to NAME.bad, as Chrome does.
func mergeInto(file string, preferences []preference) error {
	all, err := readPreferences(file)
	if err != nil {
		return err
	}
	changed := false
	for _, p := range preferences {
		changed = p.merge(all) || changed
	}
	if !changed {
		return nil
	}
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode the preferences: %w", err)
	}
	return writeFile(file, text)
}

func readPreferences(file string) (map[string]any, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]any{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the preferences: %w", err)
	}
	var all map[string]any
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber() // Chrome stores 64-bit numbers
	if in.Decode(&all) != nil || all == nil {
		if err := os.Rename(file, file+".bad"); err != nil {
			return nil, fmt.Errorf("set the damaged preferences aside: %w", err)
		}
		return map[string]any{}, nil
	}
	return all, nil
}

// merge sets or removes p in all, and reports whether that has changed anything.
func (p preference) merge(all map[string]any) bool {
	if p.value == nil && !p.exists(all) {
		return false
	}
	all, name := p.locate(all)
	old, there := all[name]
	if there && (p.ifUnset || reflect.DeepEqual(old, p.value)) || !there && p.value == nil {
		return false
	}
	if all[name] = p.value; p.value == nil {
		delete(all, name)
	}
	return true
}

// exists reports whether all has a value of p.
func (p preference) exists(all map[string]any) bool {
	names := strings.Split(p.path, ".")
	for _, name := range names[:len(names)-1] {
		all, _ = all[name].(map[string]any)
	}
	_, there := all[names[len(names)-1]]
	return there
}

// get returns the value of p in all, nil for none.
func (p preference) get(all map[string]any) any {
	all, name := p.locate(all)
	return all[name]
}

// locate returns the object that contains p, which it creates if necessary, and the name of the member.
func (p preference) locate(all map[string]any) (map[string]any, string) {
	names := strings.Split(p.path, ".")
	last := len(names) - 1
	for _, name := range names[:last] {
		below, ok := all[name].(map[string]any)
		if !ok {
			below = map[string]any{}
			all[name] = below
		}
		all = below
	}
	return all, names[last]
}

// writeFile replaces a file atomically.
func writeFile(file string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write the preferences: %w", err)
	}
	defer os.Remove(tmp.Name()) // fails after the rename
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write the preferences: %w", err)
	}
	return os.Rename(tmp.Name(), file)
}
