package state

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Format is a way in which other programs write cookies.
type Format string

// The formats.
const (
	Playwright   Format = "playwright"    // an array of cookies, or a storageState; Puppeteer's arrays are read too
	CDP          Format = "cdp"           // an array of CDP's Network.Cookie, or an object with it as cookies
	CookieEditor Format = "cookie-editor" // the array of the extensions Cookie-Editor and EditThisCookie
	Netscape     Format = "netscape"      // cookies.txt, a line of seven fields for each cookie
)

// Limits of a file.
const (
	MaxBytes   = 64 << 20 // of any file
	MaxCookies = 200_000  // of a file, with those that are refused
	MaxRefused = 10_000   // refusals that are kept; further ones are counted
)

// Formats returns the names of all formats.
func Formats() []Format { return []Format{Playwright, Netscape, CookieEditor, CDP} }

// Note tells of a loss or of something that was done with cookies. It stands once for each kind.
type Note struct {
	Code    string `json:"code" doc:"For programs." example:"same_site_not_given"`
	Count   int    `json:"count" doc:"How many cookies, or members, it is about." example:"12"`
	Message string `json:"message" doc:"For people." example:"The file says nothing of SameSite: Chrome treats these cookies as Lax."`
}

// Refusal is a cookie or a part of a storageState that is not taken, and why.
type Refusal struct {
	Index  int    `json:"index" doc:"Among those of the file, from 0."`
	Line   int    `json:"line,omitzero" doc:"Of a text file, from 1."`
	Place  string `json:"place,omitzero" doc:"Of a part of a storageState that is no cookie." example:"origins[2].localStorage[0]"`
	Name   string `json:"name" example:"__Host-sid"`
	Domain string `json:"domain" doc:"The cookie's domain, or the origin." example:".shop.example"`
	Reason string `json:"reason" doc:"Sentences, without the cookie's value." example:"A __Host- cookie must be of one host: no domain."`
}

// Cookies are what a file of cookies has.
type Cookies struct {
	Format  Format // as told, or found
	Cookies []Cookie
	Index   []int // where in the file each of Cookies stands, from 0
	Remove  []Key // cookies that the file names to be removed; nil: it has no such member
	Refused []Refusal
	More    int    // refusals beyond those of Refused
	Lost    []Note // what the file has and a cookie cannot have
	Notices []Note // what was converted or assumed
}

// FileError says why a whole file cannot be read. Its text has none of the file's content.
type FileError struct {
	Line    int // of a text file, from 1; 0: not known
	Index   int // of the cookie or the origin at which it breaks; -1: not known
	Byte    int64
	Message string
	Large   bool // the file is over a limit
}

// Error returns the message with its place.
func (e *FileError) Error() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("Line %d: %s", e.Line, e.Message)
	case e.Index >= 0 && e.Byte > 0:
		return fmt.Sprintf("Entry %d, byte %d: %s", e.Index, e.Byte, e.Message)
	case e.Byte > 0:
		return fmt.Sprintf("Byte %d: %s", e.Byte, e.Message)
	}
	return e.Message
}

func broken(message string) *FileError { return &FileError{Index: -1, Message: message} }

// ReadCookies reads a file of cookies. An empty format means that the content decides. now decides which cookies have expired.
//
// A cookie that Chrome would not keep, or would keep as another one, is refused and told. Of two cookies with the same Key the later one
// stays. Errors are a *FileError, or one of r.
func ReadCookies(r io.Reader, format Format, now time.Time) (*Cookies, error) {
	if format != "" && !slices.Contains(Formats(), format) {
		return nil, broken(fmt.Sprintf("There is no format %q.", format))
	}
	src := newSource(r)
	first, err := src.firstByte()
	if err != nil {
		return nil, src.explain(err)
	}
	c := newCollector(now)
	json := first == '[' || first == '{'
	switch {
	case first == 0:
		err = broken("The file is empty.")
	case json && format == Netscape:
		err = broken("This is JSON, and not a Netscape cookies.txt. Name another format, or none.")
	case !json && format != "" && format != Netscape:
		err = broken("This is not JSON: it begins neither with [ nor with {. Name another format, or none.")
	case json:
		c.out.Format = format
		err = c.readJSON(src)
	default:
		c.out.Format = Netscape
		err = c.readNetscape(src)
	}
	if err != nil {
		return nil, src.explain(err)
	}
	return c.finish(), nil
}

// collector gathers what a file has.
type collector struct {
	out     Cookies
	now     time.Time
	at      map[Key]int // into out.Cookies
	next    int         // index in the file
	entry   []string    // codes of notices of the entry that is being read: they count if it is taken
	notices noteCounts
	lost    noteCounts
	members []string // names of unknown members
}

func newCollector(now time.Time) *collector {
	return &collector{now: now, at: map[Key]int{}, notices: noteCounts{}, lost: noteCounts{}}
}

// take adds a cookie, or refuses it for what is wrong with it. Every entry of the file is passed to it or to refuse once.
func (c *collector) take(cookie Cookie, line int, wrong faults) error {
	if path := canonicalPath(cookie.Path); path != cookie.Path {
		cookie.Path = path
		c.note("path_converted")
	}
	if cookie.Secure && cookie.SourceScheme == "NonSecure" { // Chrome has such cookies of http://localhost, and does not take them
		cookie.SourceScheme, cookie.SourcePort = "", 0
		c.note("source_converted")
	}
	notes := c.entry
	c.entry = c.entry[:0]
	wrong = append(wrong, faultsOf(cookie, c.now)...)
	if len(wrong) > 0 {
		return c.refuse(Refusal{Line: line, Name: cookie.Name, Domain: cookie.Domain, Reason: wrong.text()})
	}
	index, err := c.count(line)
	if err != nil {
		return err
	}
	for _, code := range notes {
		c.notices[code]++
	}
	if i, there := c.at[cookie.Key()]; there {
		c.notices["duplicates"]++
		c.out.Cookies[i], c.out.Index[i] = cookie, index
		return nil
	}
	c.at[cookie.Key()] = len(c.out.Cookies)
	c.out.Cookies = append(c.out.Cookies, cookie)
	c.out.Index = append(c.out.Index, index)
	return nil
}

// note notes something of the entry that is being read.
func (c *collector) note(code string) {
	if code != "" {
		c.entry = append(c.entry, code)
	}
}

// count counts an entry of the file, and returns its index.
func (c *collector) count(line int) (index int, err error) {
	if c.next == MaxCookies {
		return 0, &FileError{Line: line, Index: c.next, Large: true, Message: fmt.Sprintf("The file has more than %d cookies.", MaxCookies)}
	}
	c.next++
	return c.next - 1, nil
}

func (c *collector) refuse(r Refusal) (err error) {
	if r.Index, err = c.count(r.Line); err != nil {
		return err
	}
	if len(c.out.Refused) == MaxRefused {
		c.out.More++
		return nil
	}
	r.Name, r.Domain = excerpt(r.Name), excerpt(r.Domain)
	c.out.Refused = append(c.out.Refused, r)
	return nil
}

// excerpt shortens a text of the file for an answer.
func excerpt(s string) string {
	const most = 100
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.ToValidUTF8(strings.Clone(s), "\ufffd") // half a surrogate pair (wtf8.go)
}

func (c *collector) finish() *Cookies {
	c.noteLimits()
	c.out.Lost, c.out.Notices = c.lost.list(), c.notices.list()
	for i := range c.out.Lost {
		if n := &c.out.Lost[i]; n.Code == "members" && len(c.members) > 0 {
			n.Message = "Members of the file that no cookie has: " + strings.Join(c.members, ", ") + "."
		}
	}
	return &c.out
}

// Chrome's limits (net/cookies/cookie_monster.h, kDomainMaxCookies and kMaxCookies): beyond them it deletes the oldest cookies.
const (
	chromeDomainCookies = 180
	chromeCookies       = 3300
)

// noteLimits notes what Chrome will not keep for long.
func (c *collector) noteLimits() {
	if over := len(c.out.Cookies) - chromeCookies; over > 0 {
		c.notices["over_total"] = over
	}
	type place struct {
		site      string
		partition PartitionKey
	}
	count := map[place]int{}
	far := float64(c.now.Add(maxAge).Unix())
	for _, cookie := range c.out.Cookies {
		p := place{site: siteOf(cookie.Domain)}
		if cookie.PartitionKey != nil {
			p.partition = *cookie.PartitionKey
		}
		if count[p]++; count[p] > chromeDomainCookies {
			c.notices["over_domain"]++
		}
		if !cookie.Session && cookie.Expires > far {
			c.notices["over_400_days"]++
		}
	}
}

// maxAge is how long Chrome keeps a cookie at most (RFC 6265bis, 5.5).
const maxAge = 400 * 24 * time.Hour

// NoteOf returns a note of a code that this package knows.
func NoteOf(code string, count int) Note {
	return Note{Code: code, Count: count, Message: noteMessages[code]}
}

// noteCounts counts notes by their code.
type noteCounts map[string]int

// list returns the notes, sorted by code.
func (n noteCounts) list() []Note {
	out := make([]Note, 0, len(n))
	for code, count := range n {
		out = append(out, NoteOf(code, count))
	}
	slices.SortFunc(out, func(a, b Note) int { return strings.Compare(a.Code, b.Code) })
	return out
}

// noteMessages says what each code means.
var noteMessages = map[string]string{
	"ancestor_assumed":    "A partition key did not say if a frame of another site is between: one is assumed, as Playwright does.",
	"bound":               "A cookie is probably bound to the device that it was made on: it may not work elsewhere.",
	"date_milliseconds":   "A date was in milliseconds since 1970 and is converted.",
	"date_microseconds":   "A date was in microseconds since 1970 and is converted.",
	"date_windows":        "A date was in microseconds since 1601, as Chrome's database has it, and is converted.",
	"date_text":           "A date was text and is converted.",
	"domain_converted":    "A domain was not in ASCII and is converted (IDNA).",
	"duplicate_items":     "An entry of localStorage stood more than once: the last one stays.",
	"duplicates":          "A cookie stood more than once: the last one stays.",
	"members":             "Members of the file that no cookie has are left out.",
	"outside_domains":     "A cookie is of none of the domains that were asked for and is left out.",
	"over_400_days":       "A cookie lasts longer than 400 days: Chrome keeps it for 400 days.",
	"over_domain":         "A site has more than 180 cookies: Chrome deletes its oldest ones.",
	"over_total":          "There are more than 3300 cookies: Chrome deletes the oldest ones.",
	"partition_converted": "A partition key was no site, and is converted: scheme and registrable domain.",
	"path_converted":      "A path had characters that Chrome writes with %XX, and is converted.",
	"source_converted":    "A secure cookie had a source that is not secure, which Chrome does not take: it gets the usual one.",
	"partitioned_storage": "A site keeps storage within another site's pages: no format has that, and it is left out.",
	"path_assumed":        "A cookie had no path: it gets /.",
	"subdomains_assumed":  "A line says that subdomains are included, and its domain has no dot in front: one is added.",
	"opaque_partition":    "A cookie of an opaque partition cannot be set again and is left out.",
	"opfs":                "Files of the origin private file system (opfs) are left out.",
	"passkeys_off":        "Passkeys are kept, and no page can use them while passkeys of the profile is off.",
	"partitioned":         "The format has no partition keys: a partitioned cookie is left out, since it would be another one.",
	"priority":            "The format has no priority.",
	"same_site":           "The format has no SameSite: such a cookie is read as one that does not say it.",
	"same_site_not_given": "The file says nothing of SameSite: Chrome treats these cookies as Lax.",
	"source":              "The format has no source scheme and port.",
	"storage":             "Storage and credentials of the file are left out: PUT storage-state takes them.",
	"sub_second":          "The format has whole seconds: a fraction of a date is cut off.",
	"unprintable":         "A cookie has a TAB or another control character, which the format cannot have, and is left out.",
}

// maxFaults is how many faults of one entry are told.
const maxFaults = 20

// faults are sentences that say what is wrong.
type faults []string

func (f *faults) require(ok bool, sentence string) {
	if !ok && len(*f) < maxFaults {
		*f = append(*f, sentence)
	}
}

// text joins the sentences, each once.
func (f faults) text() string {
	var b strings.Builder
	for i, s := range f {
		if slices.Contains(f[:i], s) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s)
	}
	return b.String()
}

// isEnd reports whether a reader has ended where it may.
func isEnd(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }

// lineReader reads lines of a text.
type lineReader struct {
	r    *bufio.Reader
	line int // the number of the line that was read last
}

// maxLine is how long a line of a text file may be, in bytes: more than any cookie that Chrome keeps.
const maxLine = 16 << 10

// next returns the next line without its end. A longer one than maxLine is skipped and told.
func (l *lineReader) next() (text string, long bool, err error) {
	var b []byte
	for {
		part, more, err := l.r.ReadLine()
		if err != nil {
			return "", false, err
		}
		if len(b)+len(part) > maxLine {
			long = true
		} else {
			b = append(b, part...)
		}
		if !more {
			break
		}
	}
	l.line++
	return string(b), long, nil
}
