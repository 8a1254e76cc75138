package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Makes the bodies of requests: from flags, from --set, from a file, or in an editor.

// none, as a value of a flag that names an object, is null.
const none = "none"

// body returns the body of the operation, nil if it takes none.
func (s *session) body() ([]byte, error) {
	_, method, _ := s.cmd.operation()
	takes := len(s.cmd.bodied()) > 0
	if !takes {
		if method == http.MethodGet || method == http.MethodDelete {
			return nil, nil
		}
		return []byte("{}"), nil
	}
	value, err := s.members()
	if err != nil {
		return nil, err
	}
	if m, ok := value.(map[string]any); ok && len(m) == 0 && method == http.MethodPatch {
		return nil, misusef("nothing is to be changed: give flags, --set MEMBER=VALUE or --file FILE")
	}
	return json.Marshal(value, json.Deterministic(true))
}

// members returns the body as a value: that of --file, over it the flags, over these --set.
func (s *session) members() (any, error) {
	out := map[string]any{}
	if path := s.text("file"); path != "" {
		text, err := s.readFile(path)
		if err != nil {
			return nil, err
		}
		value, err := fromYAML(text)
		if err != nil {
			return nil, misusef("--file %s is neither JSON nor YAML: %v", path, err)
		}
		m, ok := value.(map[string]any)
		if !ok {
			return value, nil
		}
		out = m
	}
	if err := s.flagMembers(out); err != nil {
		return nil, err
	}
	if err := s.secrets(out); err != nil {
		return nil, err
	}
	if err := s.argumentMembers(out); err != nil {
		return nil, err
	}
	for _, word := range s.list("set") {
		path, text, ok := strings.Cut(word, "=")
		if !ok || path == "" {
			return nil, misusef("--set %q is not MEMBER=VALUE", harmless(word))
		}
		var value any = text
		if parsed, err := decode(jsontext.Value(text)); err == nil {
			value = parsed
		}
		if err := setMember(out, path, value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// flagMembers sets the members that flags have values for.
func (s *session) flagMembers(out map[string]any) error {
	for _, f := range s.cmd.flags {
		v, there := s.values[f.name]
		if !there || f.where != body {
			continue
		}
		value, err := s.value(f, v)
		if err != nil {
			return err
		}
		if err := setMember(out, f.member, value); err != nil {
			return err
		}
	}
	return nil
}

// argumentMembers sets the members that arguments are.
func (s *session) argumentMembers(out map[string]any) error {
	for _, a := range s.cmd.arguments() { // an argument that the address has no place for is a member
		given := s.args[a.name]
		if len(given) == 0 || !s.cmd.isMember(a.name) {
			continue
		}
		value, err := s.single(a.object, given[0], s.profile)
		if err != nil {
			return err
		}
		if err := setMember(out, a.name, value); err != nil {
			return err
		}
	}
	return nil
}

// secrets adds the password of --password-file: a secret stands on no command line. An address of - is read from standard input.
func (s *session) secrets(out map[string]any) error {
	if path := s.text("password-file"); path != "" {
		text, err := s.readFile(path)
		if err != nil {
			return err
		}
		out["password"] = strings.TrimRight(string(text), "\r\n")
	}
	if s.arg("url") == "-" {
		text, err := s.readFile("-")
		if err != nil {
			return err
		}
		s.args["url"] = []string{strings.TrimSpace(string(text))}
	}
	return nil
}

// isMember reports whether an argument is a member of the body.
func (c *command) isMember(name string) bool {
	for word := range strings.FieldsSeq(c.args) {
		if word, object, _ := strings.Cut(strings.Trim(word, "[]…"), ":"); word == name && object != name {
			return true
		}
	}
	return false
}

// value returns the value of a flag as a member: names of objects become ids, times milliseconds.
func (s *session) value(f flag, v any) (any, error) {
	switch x := v.(type) {
	case string:
		if f.object == "" {
			return x, nil
		}
		if x == none || x == "" {
			return nil, nil
		}
		return s.single(f.object, x, "")
	case []string:
		if f.kind == pairs {
			return pairsOf(f.name, x)
		}
		if len(x) == 1 && x[0] == "" { // --tag= takes all of them away
			return []string{}, nil
		}
		if f.object != "" {
			return s.resolveAll(f.object, x, "")
		}
		return x, nil
	case time.Duration:
		return x.Milliseconds(), nil
	case bool:
		return x != f.inverse, nil
	}
	return v, nil
}

// pairsOf makes an object of KEY=VALUE words. A single empty word is an empty object.
func pairsOf(flag string, words []string) (map[string]any, error) {
	out := map[string]any{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok && (word != "" || len(words) > 1) {
			return nil, misusef("--%s %q is not KEY=VALUE", flag, harmless(word))
		}
		if ok {
			out[key] = value
		}
	}
	return out, nil
}

// setMember sets a member by its dotted path.
func setMember(in map[string]any, path string, value any) error {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		in[name] = value
		return nil
	}
	child, ok := in[name].(map[string]any)
	if !ok {
		if in[name] != nil {
			return misusef("%s is no object, so that it has no member %s", name, rest)
		}
		child = map[string]any{}
		in[name] = child
	}
	return setMember(child, rest, value)
}

// readFile reads a file, or standard input for -.
func (s *session) readFile(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(s.in)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, misusef("%v", err)
	}
	return text, nil
}

// openFile opens a file to be sent, or standard input for -.
func (s *session) openFile(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(s.in), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, misusef("%v", err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(misusef("%s is a folder", path), f.Close())
	}
	return f, nil
}

// edit changes an object: by flags, or, without any on a terminal, in the person's editor.
func edit(s *session) error {
	for _, f := range append(s.cmd.flags, s.cmd.bodied()...) {
		if s.given[f.name] && (f.where == body || f.where == own) {
			return s.operate()
		}
	}
	if !terminal(s.in) || !terminal(s.out) {
		return misusef("nothing is to be changed: give flags, --set MEMBER=VALUE or --file FILE")
	}
	paths, err := s.paths()
	if err != nil {
		return err
	}
	if len(paths) != 1 {
		return misusef("an editor takes one object")
	}
	return s.editText(paths[0])
}

// editText lets the person edit an object as YAML, and sends the members that became others. What the server refuses is not lost.
func (s *session) editText(path string) error {
	res, err := s.client.open(s.ctx, request{method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return err
	}
	before, err := decode(text)
	if err != nil {
		return err
	}
	var shown bytes.Buffer
	if err := (&session{out: &shown}).printYAML(text); err != nil {
		return err
	}
	draft, after, err := s.inEditor(shown.Bytes())
	if err != nil {
		return err
	}
	old, _ := before.(map[string]any)
	changed := map[string]any{}
	for name, value := range after {
		if !reflect.DeepEqual(whole(value), old[name]) {
			changed[name] = value
		}
	}
	if len(changed) == 0 {
		return errors.Join(s.say("nothing was changed"), os.Remove(draft))
	}
	in, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	r := request{method: http.MethodPatch, path: path, body: bytes.NewReader(in), kind: "application/json", header: http.Header{}}
	if tag := res.Header.Get("ETag"); tag != "" {
		r.header.Set("If-Match", tag) // what somebody else changed meanwhile is not written over
	}
	answer, err := s.client.read(s.ctx, r)
	if err != nil {
		return fmt.Errorf("%w\nwhat you wrote is in %s; `%s --file` takes it", err, draft, s.cmd.name)
	}
	return errors.Join(s.printAnswer(answer), os.Remove(draft))
}

// inEditor runs VISUAL or EDITOR on a text. The draft stays until somebody removes it.
func (s *session) inEditor(text []byte) (draft string, after map[string]any, err error) {
	words := strings.Fields(os.Getenv("VISUAL"))
	if len(words) == 0 {
		words = strings.Fields(os.Getenv("EDITOR"))
	}
	if len(words) == 0 {
		words = []string{"vi"}
	}
	f, err := os.CreateTemp("", "warren-*.yaml") // 0600
	if err != nil {
		return "", nil, err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(s.ctx, words[0], append(words[1:], f.Name())...) //nolint:gosec // the person's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file(s.in), file(s.out), file(s.err)
	if err := cmd.Run(); err != nil {
		return "", nil, fmt.Errorf("the editor %s: %w; nothing was changed", words[0], errors.Join(err, os.Remove(f.Name())))
	}
	written, err := os.ReadFile(f.Name())
	if err != nil {
		return "", nil, err
	}
	value, err := fromYAML(written)
	after, ok := value.(map[string]any)
	if err != nil || !ok {
		return "", nil, misusef("%s is no YAML any more: %v; nothing was changed", f.Name(), err)
	}
	return f.Name(), after, nil
}
