package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"
)

// Servers that somebody has logged in to, each with its key, under a name. They are in one file, which is its owner's alone.

// keptServer is one of them. CA is the text (PEM) of the authority that signs its certificate, "" for the system's own.
type keptServer struct {
	URL string `json:"url"`
	Key string `json:"key"`
	CA  string `json:"ca,omitempty"`
}

// contexts is the file.
type contexts struct {
	Current string                `json:"current,omitempty"`
	Servers map[string]keptServer `json:"contexts"`
}

// contextsPath returns where the file lies: warren/contexts.json in the user's configuration folder.
func contextsPath() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "warren", "contexts.json"), nil
}

// readContexts reads the file. There may be none. One that others may read is refused: it holds keys.
func readContexts() (*contexts, error) {
	c := &contexts{Servers: map[string]keptServer{}}
	path, err := contextsPath()
	if err != nil { // no home: nobody has logged in
		return c, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the contexts cannot be read: %w", err)
	}
	if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, refusef("%s holds keys, and others may read it: chmod 600 it, and revoke its keys if somebody may have", path)
	}
	if err := json.Unmarshal(text, c); err != nil || c.Servers == nil {
		return nil, misusef("%s is no file of contexts; move it away and log in again (%v)", path, err)
	}
	return c, nil
}

// write writes the file whole or not at all, for its owner alone.
func (c *contexts) write() error {
	path, err := contextsPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(c, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return replaceFile(path, func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// replaceFile writes a file that only its owner may read. It has its name when it is complete.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".warren-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has its name by then
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// kept returns the server of the context that is asked for, else of the current one. It is empty if there is none.
func (c *Connection) kept() (keptServer, error) {
	if c.URL != "" && c.Context == "" && os.Getenv("WARREN_API_KEY") != "" {
		return keptServer{}, nil // nothing of a context is needed
	}
	all, err := readContexts()
	if err != nil {
		return keptServer{}, err
	}
	name := cmp.Or(c.Context, all.Current)
	one, found := all.Servers[name]
	if c.Context != "" && !found {
		return one, misusef("there is no context %q; warren context list shows them, and warren login makes one", c.Context)
	}
	if c.Context == "" && c.URL != "" && strings.TrimSuffix(c.URL, "/") != one.URL {
		for _, other := range all.Servers { // --url of a server that somebody has logged in to
			if other.URL == strings.TrimSuffix(c.URL, "/") {
				return other, nil
			}
		}
	}
	return one, nil
}

// contextName is what a context may be called.
var contextName = regexp.MustCompile(`^[\pL\pN][\pL\pN._-]{0,63}$`)

// login keeps a server's address and key under a name, once the server has taken the key.
func login(s *session) error {
	address := strings.TrimSuffix(s.arg("url"), "/")
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" {
		return misusef("%q is no address such as https://warren.example:7777", s.arg("url"))
	}
	if at.Scheme == "http" && !loopback(at.Hostname()) && !s.yes("plain") {
		return refusef("the key would go to %s unencrypted; use https, or --plain in a network that you trust", at.Host)
	}
	name := cmp.Or(s.text("name"), at.Hostname())
	if !contextName.MatchString(name) {
		return misusef("--name %q: a context's name is 1 to 64 letters, digits, '.', '_' and '-'", name)
	}
	return s.keepServer(name, keptServer{URL: address})
}

// keepServer asks for the key of a server, tries it, and keeps both.
func (s *session) keepServer(name string, one keptServer) error {
	address := one.URL
	client := &Client{url: address, version: s.app.program.Version(), http: http.DefaultClient}
	if path := s.text("ca"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return misusef("--ca: %v", err)
		}
		one.CA = string(text)
		if client.http, err = trusting(one.CA); err != nil {
			return err
		}
	}
	var err error
	if one.Key, err = s.askKey(); err != nil {
		return err
	}
	client.secret = one.Key
	err = client.Call(s.ctx, http.MethodGet, "/profiles?limit=1", nil, nil)
	if r, ok := errors.AsType[*refused](err); ok && r.status == http.StatusForbidden { // a key that may not read is a key
		err = nil
	}
	if err != nil {
		return fmt.Errorf("nothing was kept: %w", err)
	}
	all, err := readContexts()
	if err != nil {
		return err
	}
	all.Servers[name], all.Current = one, name
	if err := all.write(); err != nil {
		return err
	}
	return s.say("logged in to %s (warren %s) as context %s", address, client.serverVersion(s.ctx), name)
}

// askKey reads the key: of the environment, of --key-file, of the terminal without an echo, else of standard input.
func (s *session) askKey() (string, error) {
	if k := os.Getenv("WARREN_API_KEY"); k != "" && s.text("key-file") == "" {
		return k, nil
	}
	var in io.Reader = s.in
	path := s.text("key-file")
	switch f := file(s.in); {
	case path != "" && path != "-":
		text, err := os.ReadFile(path)
		if err != nil {
			return "", misusef("--key-file: %v", err)
		}
		in = strings.NewReader(string(text))
	case path == "" && f != nil && term.IsTerminal(int(f.Fd())):
		fmt.Fprint(s.err, "API key: ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.err)
		if err != nil {
			return "", err
		}
		in = strings.NewReader(string(text))
	}
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	key := strings.TrimSpace(line)
	if key == "" || strings.ContainsAny(key, "\r\n\x00 ") {
		return "", misusef("no API key was given; `warren key create NAME` on the server's machine makes one")
	}
	return key, nil
}

// listContexts lists the contexts without their keys.
func listContexts(s *session) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	var rows []jsontext.Value
	for _, name := range slices.Sorted(maps.Keys(all.Servers)) {
		one := all.Servers[name]
		row, err := json.Marshal(map[string]any{"id": name, "name": name, "url": one.URL, "ca": one.CA != "",
			"current": name == all.Current},
			json.Deterministic(true))
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	return s.printList(rows)
}

// useContext makes another context the current one. removeContext forgets one, with its key.
func useContext(s *session) error {
	return changeContexts(s, func(all *contexts, name string) { all.Current = name }, "current")
}

func removeContext(s *session) error {
	return changeContexts(s, func(all *contexts, name string) {
		delete(all.Servers, name)
		if all.Current == name {
			all.Current = ""
		}
	}, "removed; its key is still valid until `warren key revoke`")
}

func changeContexts(s *session, change func(*contexts, string), done string) error {
	all, err := readContexts()
	if err != nil {
		return err
	}
	name := s.arg("name")
	if _, there := all.Servers[name]; !there {
		return misusef("there is no context %q; warren context list shows them", name)
	}
	change(all, name)
	if err := all.write(); err != nil {
		return err
	}
	return s.say("%s: %s", name, done)
}
