// Package postgres is what the store needs of PostgreSQL: the schema, the texts of the queries, the connection, and what an error of the
// server means. It knows nothing of the store.
package postgres

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed queries/*.sql
var queries embed.FS

// mark begins each query, here and in the code that sqlc makes.
const mark = "-- name: "

// Texts has the queries for PostgreSQL by their names, such as GetRun. A text begins with its mark, as sqlc's does, so that the server's
// log and its list of sessions tell the name.
type Texts map[string]string

// ReadTexts returns the texts that are part of the program. A query without a name and a second one of a name are errors.
func ReadTexts() (Texts, error) {
	files, err := queries.ReadDir("queries")
	if err != nil {
		return nil, fmt.Errorf("read the queries: %w", err)
	}
	texts := Texts{}
	for _, f := range files {
		text, err := queries.ReadFile("queries/" + f.Name())
		if err != nil {
			return nil, fmt.Errorf("read the queries: %w", err)
		}
		if err := texts.add(string(text)); err != nil {
			return nil, fmt.Errorf("queries/%s: %w", f.Name(), err)
		}
	}
	return texts, nil
}

// add takes the queries of a file.
func (t Texts) add(file string) error {
	before, rest, _ := strings.Cut("\n"+file, "\n"+mark)
	if text := withoutComments(before); text != "" {
		return fmt.Errorf("a query has no name: %.60s", text)
	}
	for query := range strings.SplitSeq(rest, "\n"+mark) {
		query = mark + strings.TrimRight(query, "; \n")
		name, ok := nameOf(query)
		switch {
		case !ok || withoutComments(query) == "":
			return fmt.Errorf("a query has no name or no text: %.60s", query)
		case t[name] != "":
			return fmt.Errorf("%s is there twice", name)
		case strings.Contains(query, ";"):
			return fmt.Errorf("%s is followed by a query without a name", name)
		}
		t[name] = query
	}
	return nil
}

// nameOf returns the name in a query's mark.
func nameOf(query string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(query, mark)
	if !ok {
		return "", false
	}
	name, _, ok = strings.Cut(rest, " :")
	return name, ok && name != "" && !strings.ContainsAny(name, " \n")
}

// withoutComments returns a text without the lines that are comments.
func withoutComments(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--") {
			out.WriteString(line)
		}
	}
	return strings.TrimSpace(out.String())
}

// Of returns the text for PostgreSQL of a query for SQLite: of a query of sqlc the text of its name, false if there is none. Any other
// query is itself with $1, $2, … in place of ?1, ?2, …. A parameter without a number has the one after the highest before it.
func (t Texts) Of(query string) (text string, ok bool) {
	if !strings.HasPrefix(query, mark) {
		return numbered(query), true
	}
	name, _ := nameOf(query)
	text, ok = t[name]
	return text, ok
}

// numbered writes parameters as PostgreSQL does. Quoted text stays as it is.
func numbered(query string) string {
	if !strings.Contains(query, "?") {
		return query
	}
	var out strings.Builder
	highest, quote := 0, byte(0)
	for i := 0; i < len(query); i++ {
		c := query[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '?':
			digits := len(query[i+1:]) - len(strings.TrimLeft(query[i+1:], "0123456789"))
			n, err := strconv.Atoi(query[i+1 : i+1+digits])
			if err != nil {
				n = highest + 1
			}
			highest = max(highest, n)
			out.WriteString("$" + strconv.Itoa(n))
			i += digits
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}
