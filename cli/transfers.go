package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Commands that send files: imports, cookies, storage, extensions, uploads.

// send sends a file as the body of the command's operation and prints the answer. kind is the file's media type.
func (s *session) send(path, kind string, h http.Header) (jsontext.Value, error) {
	f, err := s.openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return s.sendFrom(f, kind, h)
}

func (s *session) sendFrom(from io.Reader, kind string, h http.Header) (jsontext.Value, error) {
	paths, err := s.paths()
	if err != nil {
		return nil, err
	}
	if len(paths) != 1 {
		return nil, misusef("this command takes one object")
	}
	q, own, err := s.parameters()
	if err != nil {
		return nil, err
	}
	for name := range h {
		own.Set(name, h.Get(name))
	}
	_, method, _ := s.cmd.operation()
	stop := s.waiting(s.cmd.name)
	defer stop()
	return s.client.read(s.ctx, request{method: method, path: paths[0], query: q, header: own, kind: kind, body: from})
}

// sendFile sends the argument file and prints the answer.
func sendFile(s *session) error {
	kind := "application/octet-stream"
	switch id, _, _ := s.cmd.operation(); id {
	case "putCookies", "putStorageState":
		kind = "application/json"
		if f := s.text("format"); f == "netscape" || strings.HasSuffix(s.arg("file"), ".txt") && f == "" {
			kind = "text/plain"
		}
	}
	answer, err := s.send(s.arg("file"), kind, nil)
	if err != nil {
		return err
	}
	return s.printAnswer(answer)
}

// importProxies imports a list and prints the lines that created nothing.
func importProxies(s *session) error {
	kind := "text/plain"
	switch strings.ToLower(filepath.Ext(s.arg("file"))) {
	case ".csv":
		kind = "text/csv"
	case ".json":
		kind = "application/json"
	}
	answer, err := s.send(s.arg("file"), kind, nil)
	if err != nil {
		return err
	}
	var out struct {
		Created   int `json:"created"`
		Duplicate int `json:"duplicate"`
		Invalid   int `json:"invalid"`
		Ambiguous int `json:"ambiguous"`
		Results   []struct {
			Line     int      `json:"line"`
			Result   string   `json:"result"`
			Reason   string   `json:"reason"`
			Readings []string `json:"readings"`
		} `json:"results"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return err
	}
	if !s.tabular() {
		err = s.printObject(answer)
	} else {
		cells := [][]string{}
		for _, r := range out.Results {
			if len(r.Readings) > 0 {
				r.Reason = "is " + strings.Join(r.Readings, " or ")
			}
			if r.Result != "created" {
				cells = append(cells, []string{fmt.Sprint(r.Line), r.Result, oneLine(r.Reason)})
			}
		}
		if len(cells) > 0 {
			cells = append([][]string{{"LINE", "RESULT", "REASON"}}, cells...)
		}
		err = errors.Join(s.grid(cells, true), s.say("%d created, %d duplicate, %d invalid, %d ambiguous%s", out.Created, out.Duplicate,
			out.Invalid, out.Ambiguous, s.dry()))
	}
	if n := out.Invalid + out.Ambiguous; n > 0 && err == nil {
		err = fmt.Errorf("%d of %d lines could not be read as one proxy", n, len(out.Results))
	}
	return err
}

func (s *session) dry() string {
	if s.yes("dry-run") {
		return " (a dry run: nothing was written)"
	}
	return ""
}

// importProfiles imports profiles and prints what became of each. What seals an archive stands in WARREN_PASSPHRASE or WARREN_IDENTITY, or
// in the files that WARREN_PASSPHRASE_FILE or WARREN_IDENTITY_FILE names: a secret stands on no command line.
func importProfiles(s *session) error {
	from, err := s.openImport(s.ctx)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	h, err := seals("X-Warren-Passphrase", "X-Warren-Identity")
	if err != nil {
		return err
	}
	answer, err := s.sendFrom(from, "application/octet-stream", h)
	if err != nil {
		return err
	}
	var out imported
	if err := json.Unmarshal(answer, &out); err != nil {
		return err
	}
	if !s.tabular() {
		err = s.printObject(answer)
	} else {
		err = s.printImported(out)
	}
	if err == nil && out.Refused > 0 {
		err = fmt.Errorf("%d of %d profiles were refused", out.Refused, len(out.Profiles))
	}
	return err
}

// imported is what became of the profiles of a file.
type imported struct {
	Created  int `json:"created"`
	Refused  int `json:"refused"`
	Proxies  int `json:"proxies"`
	Profiles []struct {
		Name     string `json:"name"`
		Result   string `json:"result"`
		Proxy    string `json:"proxy"`
		Cookies  int    `json:"cookies"`
		Reason   string `json:"reason"`
		Warnings []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"warnings"`
	} `json:"profiles"`
}

// openImport opens what is to be imported: a file, or a folder of user data, which is packed as it is sent.
func (s *session) openImport(ctx context.Context) (io.ReadCloser, error) {
	path := s.arg("path")
	if path == "-" {
		return io.NopCloser(s.in), nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, misusef("%v", err)
	}
	switch {
	case info.IsDir():
		r, w := io.Pipe()
		go func() {
			err := s.app.program.Pack(ctx, w, path, s.list("profile"))
			w.CloseWithError(err) //nolint:errcheck // it never fails
		}()
		return r, nil
	case len(s.list("profile")) > 0:
		return nil, misusef("%s: --profile is for folders of user data", path)
	case !info.Mode().IsRegular():
		return nil, misusef("%s: it is no file", path)
	}
	return s.openFile(path)
}

// seals returns headers with secrets of the environment.
func seals(names ...string) (http.Header, error) {
	h := http.Header{}
	for _, name := range names {
		variable := "WARREN_" + strings.ToUpper(name[strings.LastIndexByte(name, '-')+1:])
		value := os.Getenv(variable)
		if path := os.Getenv(variable + "_FILE"); value == "" && path != "" {
			text, err := os.ReadFile(path)
			if err != nil {
				if at, ok := errors.AsType[*fs.PathError](err); ok {
					err = at.Err
				}
				return nil, misusef("%s_FILE: %v", variable, err)
			}
			value = strings.TrimSpace(string(text))
		}
		if value != "" {
			h.Set(name, value)
		}
	}
	return h, nil
}

// printImported writes a line for each profile, then each kind of what was left out once.
func (s *session) printImported(out imported) error {
	cells := [][]string{{"NAME", "RESULT", "PROXY", "COOKIES", "LEFT OUT"}}
	var kinds []string
	about, count := map[string]string{}, map[string]int{}
	for _, p := range out.Profiles {
		var words []string
		for _, warning := range p.Warnings {
			word, message := warning.Code, warning.Message
			if before, after, ok := strings.Cut(message, ": "); ok && word == "left_out" {
				word, message = before, after
			}
			if count[word]++; count[word] == 1 {
				kinds, about[word] = append(kinds, word), message
			}
			words = append(words, word)
		}
		why := cmp.Or(p.Reason, strings.Join(words, ", "))
		cells = append(cells, []string{oneLine(p.Name), p.Result, oneLine(p.Proxy), fmt.Sprint(p.Cookies), oneLine(why)})
	}
	if err := s.grid(cells, true); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := s.say("%s (%d): %s", kind, count[kind], about[kind]); err != nil {
			return err
		}
	}
	return s.say("%d created, %d refused, %d new proxies%s", out.Created, out.Refused, out.Proxies, s.dry())
}

// exportProfiles writes an archive of one profile or several. Its passphrase stands in WARREN_PASSPHRASE or in the file that
// WARREN_PASSPHRASE_FILE names.
func exportProfiles(s *session) error {
	ids, err := s.resolveAll("profile", s.args["profile"], "")
	if err != nil {
		return err
	}
	h, err := seals("X-Warren-Passphrase")
	if err != nil {
		return err
	}
	if len(h) == 0 && len(s.list("recipient")) == 0 && !s.yes("unsealed") {
		return refusef("an archive holds cookies and passwords: set WARREN_PASSPHRASE or name a --recipient, or say --unsealed")
	}
	q, _, err := s.parameters()
	if err != nil {
		return err
	}
	r := request{method: http.MethodGet, path: "/profiles/export", query: q, header: h}
	if len(ids) == 1 {
		r.path = "/profiles/" + url.PathEscape(ids[0]) + "/export"
	} else {
		q["ids"] = ids
	}
	stop := s.waiting("exporting")
	res, err := s.client.open(s.ctx, r)
	stop()
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return s.copyTo(res.Body, true)
}

// createKey creates a key and prints it alone.
func createKey(s *session) error {
	in := map[string]any{"name": s.arg("name"), "scopes": s.list("scope")}
	if all := s.list("workspace"); len(all) > 0 {
		in["workspaces"] = all
	}
	if d := s.duration("expires"); d > 0 {
		in["expiresAt"] = s.now.Add(d).UTC().Format("2006-01-02T15:04:05Z")
	}
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := s.client.read(s.ctx, request{method: http.MethodPost, path: "/keys", kind: "application/json",
		body: bytes.NewReader(text)})
	if err != nil || !s.tabular() {
		return errors.Join(err, s.printNotEmpty(answer))
	}
	var key struct {
		Key string `json:"key"`
	}
	if err := json.Unmarshal(answer, &key); err != nil {
		return err
	}
	return s.say("%s", key.Key)
}

func (s *session) printNotEmpty(answer jsontext.Value) error {
	if len(answer) == 0 {
		return nil
	}
	return s.printObject(answer)
}
