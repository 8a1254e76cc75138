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

// preference is one of Chrome's settings (chrome/common/pref_names.h).
type preference struct {
	path    string // members joined with dots
	value   any    // nil: it is taken away
	ifUnset bool   // only where Chrome or the user has not set it
}

// mergeInto sets preferences in a file of Chrome's. One that is not JSON is set aside as Chrome does it itself (Preferences.bad).
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
	in.UseNumber() // Chrome keeps 64-bit numbers in there
	if in.Decode(&all) != nil || all == nil {
		if err := os.Rename(file, file+".bad"); err != nil {
			return nil, fmt.Errorf("set the damaged preferences aside: %w", err)
		}
		return map[string]any{}, nil
	}
	return all, nil
}

// merge sets p in all, or takes it away, and reports whether that changed something.
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

// exists reports whether all has something for p, and makes nothing.
func (p preference) exists(all map[string]any) bool {
	names := strings.Split(p.path, ".")
	for _, name := range names[:len(names)-1] {
		all, _ = all[name].(map[string]any)
	}
	_, there := all[names[len(names)-1]]
	return there
}

// get is what all has for p, nil where there is nothing.
func (p preference) get(all map[string]any) any {
	all, name := p.locate(all)
	return all[name]
}

// locate is where p belongs: the object, which is made where there is none, and the member's name.
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

// writeFile replaces a file as a whole: a crash leaves the old or the new one.
func writeFile(file string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write the preferences: %w", err)
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing to remove
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("write the preferences: %w", err)
	}
	return os.Rename(tmp.Name(), file)
}
