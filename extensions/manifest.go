package extensions

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Manifest is what a package says of itself (manifest.json, version 3: developer.chrome.com/docs/extensions/reference/manifest).
type Manifest struct {
	Name, Description string // in the language that the package declares as its default
	Version           string // one to four numbers
	MinimumChrome     string // the oldest Chrome that it runs in; "": any
	// Permissions, Hosts and their optional ones are as they are written. Hosts has the pages of content scripts too.
	Permissions, OptionalPermissions, Hosts, OptionalHosts []string
	// Rules says that it brings lists of rules (declarativeNetRequest). Chrome writes beside them when it loads the extension.
	Rules bool
}

// written are the members of a manifest that are read.
type written struct {
	ManifestVersion     jsontext.Value `json:"manifest_version"`
	Name                string         `json:"name"`
	Version             string         `json:"version"`
	Description         string         `json:"description"`
	DefaultLocale       string         `json:"default_locale"`
	MinimumChrome       string         `json:"minimum_chrome_version"`
	Key                 string         `json:"key"`
	Permissions         []string       `json:"permissions"`
	OptionalPermissions []string       `json:"optional_permissions"`
	Hosts               []string       `json:"host_permissions"`
	OptionalHosts       []string       `json:"optional_host_permissions"`
	ContentScripts      []struct {
		Matches []string `json:"matches"`
	} `json:"content_scripts"`
	Rules struct {
		Resources []jsontext.Value `json:"rule_resources"`
	} `json:"declarative_net_request"`
}

// readManifest reads the manifest, computes the id, and checks that every file can be unpacked.
func (p *Package) readManifest() error {
	e, there := p.find(manifestName)
	if !there {
		return Faults{p.adviceWithoutManifest()}
	}
	text, err := e.read(maxManifest)
	if err != nil {
		return err
	}
	text = withoutComments(bytes.TrimPrefix(text, []byte("\ufeff")))
	var w written
	if err := json.Unmarshal(text, &w); err != nil {
		return Faults{"manifest.json cannot be read as JSON of a manifest: " + whatIsWrong(err) + ". Mend it."}
	}
	f := w.check()
	if err := f.err(); err != nil {
		return err
	}
	p.Manifest = Manifest{Name: w.Name, Description: w.Description, Version: w.Version, MinimumChrome: w.MinimumChrome,
		Permissions: once(w.Permissions), OptionalPermissions: once(w.OptionalPermissions), Hosts: once(w.hosts()),
		OptionalHosts: once(w.OptionalHosts), Rules: len(w.Rules.Resources) > 0}
	if err := p.translate(w.DefaultLocale); err != nil {
		return err
	}
	p.Name, p.Description = printable(p.Name), printable(p.Description)
	if err := p.takeKey(w); err != nil {
		return err
	}
	if p.manifest, err = withKey(text, p.key); err != nil {
		return err
	}
	return p.verify()
}

// adviceWithoutManifest says why there is no manifest, if the package shows it.
func (p *Package) adviceWithoutManifest() string {
	for _, e := range p.entries {
		if path.Base(e.name) == manifestName && strings.Count(e.name, "/") == 1 {
			return "manifest.json lies in the folder " + cut(path.Dir(e.name)) + ". Pack what is in that folder, and not the folder."
		}
	}
	return "There is no manifest.json. Pack the folder of the extension that has one."
}

// whatIsWrong shortens an error of the parser, which may quote the text.
func whatIsWrong(err error) string {
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// check returns the faults of the members.
func (w *written) check() (f Faults) {
	if v := string(w.ManifestVersion); v != "3" {
		f.add("", "manifest.json has manifest_version "+cut(v)+", and Chrome runs version 3 alone. Get a newer version of the extension.")
	}
	if w.Name == "" || len(w.Name) > 1000 {
		f.add("", "manifest.json has no name, or one of more than 1,000 bytes. Write one.")
	}
	if !isVersion(w.Version) {
		f.add("", "manifest.json has the version "+cut(w.Version)+". Write one to four numbers up to 65535 with dots between, not all 0.")
	}
	if !isLocaleFolder(w.DefaultLocale) {
		f.add("", "manifest.json has the default_locale "+cut(w.DefaultLocale)+". Name a folder of _locales.")
	}
	lists := map[string][]string{"permissions": w.Permissions, "optional_permissions": w.OptionalPermissions, "host_permissions": w.hosts(),
		"optional_host_permissions": w.OptionalHosts}
	for _, name := range []string{"permissions", "optional_permissions", "host_permissions", "optional_host_permissions"} {
		if len(lists[name]) > maxPermissions ||
			slices.ContainsFunc(lists[name], func(s string) bool { return len(s) > maxPart || !utf8.ValidString(s) }) {
			f.add("", fmt.Sprintf("%s in manifest.json has over %d entries, or one of over %d bytes.", name, maxPermissions, maxPart))
		}
	}
	return f
}

// maxPermissions is how many entries a list of permissions may have. There are about a hundred permissions.
const maxPermissions = 2000

// hosts returns the pages that the extension reads without asking again.
func (w *written) hosts() []string {
	all := slices.Clone(w.Hosts)
	for _, script := range w.ContentScripts {
		all = append(all, script.Matches...)
	}
	return all
}

// isVersion reports whether a text is a version (extensions/common/manifest_handlers; base/version.cc).
func isVersion(text string) bool {
	parts := strings.Split(text, ".")
	some := false
	for _, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || strconv.FormatUint(n, 10) != part {
			return false
		}
		some = some || n > 0
	}
	return some && len(parts) <= 4
}

// isLocaleFolder reports whether a text names a folder of _locales, or is empty.
func isLocaleFolder(text string) bool {
	return len(text) <= 35 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-@") == ""
}

// printable returns a text in one line, without characters that hide or turn round others.
func printable(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text))
}

// once returns the values that are not empty, each once, and never nil.
func once(values []string) []string {
	out := []string{}
	for _, v := range values {
		if v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// takeKey decides the extension's key. That of a CRX3 file replaces one of the manifest, as in Chrome.
func (p *Package) takeKey(w written) (err error) {
	switch {
	case p.key != nil:
	case w.Key != "":
		if p.key, err = readKey(w.Key); err != nil {
			return Faults{"The key of manifest.json is no base64. Take it out, or copy it again."}
		}
	default:
		if p.key, err = makeKey(p.Name); err != nil {
			return err
		}
	}
	p.ID = ID(p.key)
	return nil
}

// withKey returns a manifest with a key.
func withKey(text, key []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, err
	}
	quoted, err := jsontext.AppendQuote(nil, base64.StdEncoding.EncodeToString(key))
	if err != nil {
		return nil, err
	}
	members["key"] = quoted
	return json.Marshal(members, json.Deterministic(true))
}

// translate replaces the placeholders of name and description by the texts of the default language
// (developer.chrome.com/docs/extensions/reference/api/i18n).
func (p *Package) translate(locale string) error {
	e, there := p.find("_locales/" + locale + "/messages.json")
	hasLocales := slices.ContainsFunc(p.entries, func(e entry) bool { return strings.HasPrefix(e.name, "_locales/") })
	switch {
	case locale != "" && !there:
		return Faults{"_locales has no messages.json for the default_locale " + cut(locale) + ". Pack the whole folder."}
	case locale == "" && hasLocales:
		return Faults{"The package has _locales, and manifest.json no default_locale. Write one: Chrome demands it."}
	case locale == "":
		return nil
	}
	text, err := e.read(maxManifest)
	if err != nil {
		return err
	}
	var messages map[string]struct {
		Message string `json:"message"`
	}
	text = withoutComments(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err := json.Unmarshal(text, &messages); err != nil {
		return Faults{cut(e.name) + " cannot be read: " + whatIsWrong(err) + ". Mend it."}
	}
	for _, text := range []*string{&p.Name, &p.Description} {
		name, placeholder := strings.CutPrefix(*text, "__MSG_")
		name, ends := strings.CutSuffix(name, "__")
		for key, m := range messages {
			if placeholder && ends && strings.EqualFold(key, name) {
				*text = m.Message
			}
		}
	}
	return nil
}

// withoutComments returns JSON without the comments that Chrome allows in manifests: from // to the end of the line, and within /* */.
func withoutComments(text []byte) []byte {
	var out []byte
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case text[i] == '"':
			end := 1
			for end < len(rest) && rest[end] != '"' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(rest))
			out = append(out, rest[:end]...)
			i += end - 1
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				return out
			}
			i += end - 1
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return out
			}
			i += end + 3
		default:
			out = append(out, text[i])
		}
	}
	return out
}

// verify reads every file once: what its list says of it must be true.
func (p *Package) verify() error {
	for _, e := range p.entries {
		if err := e.copyTo(io.Discard); err != nil {
			return err
		}
	}
	return nil
}

// copyTo writes a file's content, which has exactly the length that the list says.
func (e entry) copyTo(w io.Writer) error {
	r, err := e.open()
	if err != nil {
		return err
	}
	defer r.Close()
	size := int64(e.file.UncompressedSize64) //nolint:gosec // at most MaxBytes
	in := &source{Reader: io.LimitReader(r, size+1)}
	n, err := io.Copy(w, in)
	if in.err != nil || err == nil && n != size {
		return damaged(e.name)
	}
	return err
}

// source remembers the error of reading, to tell it from one of writing.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}
