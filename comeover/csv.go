package comeover

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"time"

	"warren/proxy"
)

// Reads lists of profiles in CSV. Its first line names the columns.

// columns are the names of the columns.
var columns = []string{"name", "proxy", "cookies", "tags", "notes", "os"}

func separatorOf(head []byte) rune {
	if i := bytes.IndexAny(head, ",;\t"); i >= 0 {
		return rune(head[i])
	}
	return ','
}

// isCSV reports whether a first line names the column name.
func isCSV(head []byte) bool {
	for cell := range strings.SplitSeq(string(head), string(separatorOf(head))) {
		if strings.EqualFold(strings.Trim(cell, " \r\""), "name") {
			return true
		}
	}
	return false
}

func readCSV(text []byte, now time.Time) (*File, error) {
	head, _, _ := bytes.Cut(text, []byte("\n"))
	file := csv.NewReader(bytes.NewReader(text))
	file.FieldsPerRecord, file.Comma = -1, separatorOf(head)
	header, err := file.Read()
	if err != nil {
		return nil, broken(1, "The line with the names of the columns is no CSV.")
	}
	seen := map[string]bool{}
	for i, name := range header {
		header[i] = strings.ToLower(strings.TrimSpace(name))
		if seen[header[i]] {
			return nil, broken(1, "A column stands twice.")
		}
		seen[header[i]] = true
	}
	out := &File{Format: CSV}
	for {
		cells, err := file.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if len(out.Profiles) == MaxProfiles {
			return nil, tooMany()
		}
		p := Profile{Number: len(out.Profiles) + 1}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			p.Line = bad.StartLine
			p.fault("It is no CSV from here on. Put a cell with quotes into quotes, and write each quote in it twice.")
			out.Profiles = append(out.Profiles, p)
			continue
		}
		if strings.TrimSpace(strings.Join(cells, "")) == "" {
			continue
		}
		p.Line, _ = file.FieldPos(0)
		p.readCells(header, cells, now)
		out.Profiles = append(out.Profiles, p)
	}
}

func (p *Profile) readCells(header, cells []string, now time.Time) {
	if len(cells) > len(header) {
		p.fault("The line has more cells than the first line. Check the separators.")
		return
	}
	v := map[string]string{}
	for i, cell := range cells {
		v[header[i]] = strings.TrimSpace(cell)
	}
	p.Name, p.Notes = v["name"], v["notes"]
	p.setOS(v["os"])
	p.addTags(strings.Split(v["tags"], ",")...)
	p.setProxyCell(v["proxy"])
	p.setCookies([]byte(v["cookies"]), now)
	var unknown []string
	for name, value := range v {
		if value != "" && !isColumn(name) {
			unknown = append(unknown, name)
		}
	}
	p.leaveUnknown(unknown)
	p.finish()
}

func isColumn(name string) bool {
	for _, c := range columns {
		if c == name {
			return true
		}
	}
	return false
}

// setProxyCell takes a proxy as one text, which must name its type and have one reading.
func (p *Profile) setProxyCell(text string) {
	if text == "" || strings.EqualFold(text, "none") || strings.EqualFold(text, "direct") {
		return
	}
	if !strings.Contains(text, "://") {
		p.missProxy("Write its type in front, such as socks5://.")
		return
	}
	found, err := proxy.ReadLine(text, proxy.SOCKS5)
	switch {
	case err != nil:
		p.missProxy(err.Error())
	case len(found) != 1:
		p.missProxy("It can be read in several ways. Write scheme://user:password@host:port.")
	default:
		p.takeProxy(found[0])
	}
}
