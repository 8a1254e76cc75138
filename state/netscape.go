package state

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Reads and writes Netscape's cookies.txt: seven fields between TABs: domain, subdomains, path, secure, expiry, name and value.

const httpOnlyPrefix = "#HttpOnly_" // of a line that is no comment

// readNetscape reads lines. A line that is none is refused by its number. If no line is one, it is another kind of file.
func (c *collector) readNetscape(src *source) error {
	lines := lineReader{r: src.Reader}
	first, found := 0, false
	for {
		text, long, err := lines.next()
		if isEnd(err) {
			break
		}
		if err != nil {
			return err
		}
		line, httpOnly := strings.CutPrefix(text, httpOnlyPrefix)
		if !long && (strings.TrimSpace(line) == "" || !httpOnly && strings.HasPrefix(line, "#")) {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) == 6 { // the TAB in front of an empty value may have been cut off
			fields = append(fields, "")
		}
		switch {
		case long:
			err = c.refuse(Refusal{Line: lines.line, Reason: fmt.Sprintf("Line %d has more than %d bytes.", lines.line, maxLine)})
		case len(fields) != 7:
			first = cmp.Or(first, lines.line)
			err = c.refuse(Refusal{Line: lines.line, Reason: fmt.Sprintf(
				"Line %d has %d fields, and needs 7 with a TAB between each. A value has no TAB in it.", lines.line, len(fields))})
		default:
			found = true
			err = c.takeLine(fields, httpOnly, lines.line)
		}
		if err != nil {
			return err
		}
	}
	if first > 0 && !found {
		return &FileError{Line: first, Index: -1,
			Message: "This is neither JSON nor a Netscape cookies.txt, whose lines have 7 fields with a TAB between each."}
	}
	return nil
}

func (c *collector) takeLine(field []string, httpOnly bool, line int) error {
	var wrong faults
	cookie := Cookie{Name: field[5], Value: field[6], Path: field[2], HTTPOnly: httpOnly,
		Secure: truth(field[3], "Field 4 (secure) must be TRUE or FALSE.", &wrong)}
	domain := field[0]
	dotted := strings.HasPrefix(domain, ".")
	sub := truth(field[1], "Field 2 (subdomains) must be TRUE or FALSE.", &wrong)
	wrong.require(sub || !dotted || len(wrong) > 0, "Field 2 is FALSE, and the domain has a dot in front: which one is right?")
	if sub && !dotted && domain != "" {
		domain = "." + domain
		c.note("subdomains_assumed")
	}
	c.setDomain(domain, &cookie, &wrong)
	if when := field[4]; when == "" || when == "0" {
		cookie.Session, cookie.Expires = true, -1
	} else {
		seconds, note, ok := parseNumber(when)
		cookie.Expires, cookie.Session = seconds, !ok
		wrong.require(ok, "Field 5 (expiry) must be seconds since 1970 up to the year 9999, or 0 for a session cookie.")
		c.note(note)
	}
	c.note("same_site_not_given")
	return c.take(cookie, line, wrong)
}

func truth(field, complaint string, wrong *faults) bool {
	yes := strings.EqualFold(field, "TRUE")
	wrong.require(yes || strings.EqualFold(field, "FALSE"), complaint)
	return yes
}

// writeNetscape writes cookies. Lost says what it leaves out.
func writeNetscape(w io.Writer, cookies []Cookie) error {
	b := bufio.NewWriter(w)
	_, err := b.WriteString("# Netscape HTTP Cookie File\n")
	for _, c := range cookies {
		if leftOut(Netscape, c) != "" {
			continue
		}
		if c.HTTPOnly {
			b.WriteString(httpOnlyPrefix) //nolint:errcheck // Flush reports it
		}
		seconds := "0"
		if !c.Session {
			seconds = strconv.FormatInt(int64(math.Floor(c.Expires)), 10)
		}
		fields := []string{c.Domain, boolText(strings.HasPrefix(c.Domain, ".")), c.Path, boolText(c.Secure), seconds, c.Name, c.Value}
		_, err = b.WriteString(strings.Join(fields, "\t") + "\n")
		if err != nil {
			return err
		}
	}
	return errors.Join(err, b.Flush())
}

func boolText(b bool) string { return strings.ToUpper(strconv.FormatBool(b)) }
