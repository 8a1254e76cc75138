package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Finds the objects that arguments and flags name: by a whole id, which costs no request, by a name, by the beginning of an id, by a tag.

// named is a kind of objects that have names.
type named struct {
	list   string // where they are listed; %s is the profile that they are of
	search bool   // the list has the parameter search, which finds ids that begin with eight characters or more
	tags   bool   // the list has the parameter tag
	id     string // the member with the id
	names  string // members with names, with blanks between
	whole  bool   // the list comes whole, and has no pages
}

// nameds are the kinds, by the words of arguments.
var nameds = map[string]named{
	"profile":    {list: "/profiles", search: true, tags: true, id: "id", names: "name"},
	"trashed":    {list: "/profiles?trashed=true", search: true, tags: true, id: "id", names: "name"},
	"proxy":      {list: "/proxies", search: true, tags: true, id: "id", names: "name host:port"},
	"key":        {list: "/keys", id: "id", names: "name"},
	"workspace":  {list: "/workspaces", id: "id", names: "name"},
	"template":   {list: "/templates", search: true, id: "id", names: "name"},
	"extension":  {list: "/extensions", id: "id", names: "name extensionId"},
	"schedule":   {list: "/schedules", search: true, id: "id", names: "name"},
	"node":       {list: "/nodes", whole: true, id: "id", names: "name"},
	"webhook":    {list: "/webhooks", id: "id", names: "url"},
	"job":        {list: "/jobs", id: "id", names: ""},
	"run":        {list: "/runs", id: "runId", whole: true},
	"snapshot":   {list: "/profiles/%s/snapshots", whole: true, id: "id", names: "name"},
	"capability": {list: "/profiles/%s/capabilities", id: "id", names: "name"},
	"passkey":    {list: "/profiles/%s/passkeys", whole: true, id: "id", names: "userName site"},
}

// wholeID is an id. beginning is what an id may begin with: four characters or more.
var (
	wholeID   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	beginning = regexp.MustCompile(`^[0-9a-f]{4}[0-9a-f-]{0,31}$`)
)

// pageSize is how many objects one request of a list asks for. It is the most that a server gives.
const pageSize = "200"

// each calls do with the objects of a list, page by page, until it returns false.
func (c *Client) each(ctx context.Context, path string, parameters url.Values, do func(jsontext.Value) (more bool, err error)) error {
	address, own, _ := strings.Cut(path, "?")
	q, err := url.ParseQuery(own)
	if err != nil {
		return err
	}
	for name, values := range parameters {
		q[name] = values
	}
	for {
		text, err := c.read(ctx, request{method: http.MethodGet, path: address, query: q})
		if err != nil {
			return err
		}
		var page struct {
			Data    []jsontext.Value `json:"data"`
			HasMore bool             `json:"hasMore"`
			Next    string           `json:"next"`
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return fmt.Errorf("the server's list cannot be read: %w", err)
		}
		for _, row := range page.Data {
			if more, err := do(row); err != nil || !more {
				return err
			}
		}
		if !page.HasMore || page.Next == "" {
			return nil
		}
		q.Set("after", page.Next)
	}
}

// found is an object that a name stands for.
type found struct{ id, name string }

func (f found) String() string {
	if f.name == "" || f.name == f.id {
		return f.id
	}
	return f.id + "  " + f.name
}

// resolve returns the ids of what a word names. A tag names many, in the order of the list.
func (s *session) resolve(object, word, profile string) ([]string, error) {
	k, ok := nameds[object]
	if !ok || object == "" || wholeID.MatchString(word) {
		return []string{word}, nil
	}
	if strings.Contains(k.list, "%s") {
		k.list = fmt.Sprintf(k.list, url.PathEscape(profile))
	}
	if word == "" {
		return nil, misusef("an empty text names no %s", object)
	}
	if tag, ok := strings.CutPrefix(word, "@"); ok && k.tags {
		return s.tagged(k, object, tag)
	}
	fits, err := s.fitting(k, word)
	switch {
	case err != nil:
		return nil, err
	case len(fits) == 1:
		return []string{fits[0].id}, nil
	case len(fits) == 0:
		return nil, fmt.Errorf("no %s is named %q, and no id of one begins so (%s_not_found)", kindWord(object), harmless(word),
			kindWord(object))
	}
	var lines strings.Builder
	for _, f := range fits {
		fmt.Fprintf(&lines, "\n  %s", harmless(f.String()))
	}
	return nil, misusef("%q names %d things; nothing was done. Give one of these ids:%s", harmless(word), len(fits), lines.String())
}

func kindWord(object string) string {
	if object == "trashed" {
		return "profile"
	}
	return object
}

// fitting returns the objects whose name the word is, or whose id begins with it.
func (s *session) fitting(k named, word string) (fits []found, err error) {
	begins := beginning.MatchString(word)
	q := url.Values{}
	if k.search && (!begins || len(word) >= 8) && !strings.Contains(k.names, ":") {
		q.Set("search", cutRunes(word, 200))
	}
	if !k.whole {
		q.Set("limit", pageSize)
	}
	err = s.client.each(s.ctx, k.list, q, func(row jsontext.Value) (bool, error) {
		v, err := decode(row)
		if err != nil {
			return false, err
		}
		f, fit := s.called(k, v, word)
		if fit || begins && strings.HasPrefix(f.id, word) {
			fits = append(fits, f)
		}
		return true, nil
	})
	if r, ok := errors.AsType[*refused](err); ok && r.status == http.StatusForbidden {
		return nil, fmt.Errorf("a name is looked up in a list, which this key may not read; give the whole id: %w", err)
	}
	return fits, err
}

// called returns the id and the first name of an object, and whether it is called so.
func (s *session) called(k named, v any, word string) (f found, fit bool) {
	f.id, _ = member(v, k.id).(string)
	fit = f.id == word
	for path := range strings.FieldsSeq(k.names) {
		name, _ := member(v, path).(string)
		if strings.Contains(path, ":") {
			name = s.cell(v, path)
		}
		if f.name == "" {
			f.name = name
		}
		fit = fit || name == word
	}
	return f, fit
}

func cutRunes(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n])
	}
	return text
}

// tagged returns the ids of what has a tag. Nothing is an error: it may be misspelled.
func (s *session) tagged(k named, object, tag string) (ids []string, err error) {
	err = s.client.each(s.ctx, k.list, url.Values{"tag": {tag}, "limit": {pageSize}}, func(row jsontext.Value) (bool, error) {
		v, err := decode(row)
		if err != nil {
			return false, err
		}
		id, _ := member(v, k.id).(string)
		ids = append(ids, id)
		return true, nil
	})
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("no %s has the tag %q", kindWord(object), harmless(tag))
	}
	return ids, err
}

// resolveAll returns the ids of several words, each once, before anything is done with one of them.
func (s *session) resolveAll(object string, words []string, profile string) (ids []string, err error) {
	for _, word := range words {
		some, err := s.resolve(object, word, profile)
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// single resolves a word that must name one object.
func (s *session) single(object, word, profile string) (string, error) {
	ids, err := s.resolve(object, word, profile)
	if err == nil && len(ids) != 1 {
		err = misusef("%q names %d things, and this command takes one", harmless(word), len(ids))
	}
	if err != nil {
		return "", err
	}
	return ids[0], nil
}
