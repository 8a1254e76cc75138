package state

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Reads cookies in JSON. The shapes of Playwright, Puppeteer, CDP and the extensions differ in their members' names, so one reader takes
// all of them: no member means two things.

// member is a known member of a cookie.
type member int

const (
	mName member = iota
	mValue
	mDomain
	mPath
	mURL
	mExpires
	mExpirationDate
	mExpiry
	mHTTPOnly
	mSecure
	mSession
	mHostOnly
	mSameSite
	mPriority
	mSourceScheme
	mSourcePort
	mPartitionKey
	mOpaque
	mAncestor
	memberCount
)

// memberNames are the names in files. Selenium writes expiry.
var memberNames = [memberCount]string{"name", "value", "domain", "path", "url", "expires", "expirationDate", "expiry", "httpOnly", "secure",
	"session", "hostOnly", "sameSite", "priority", "sourceScheme", "sourcePort", "partitionKey", "partitionKeyOpaque",
	"_crHasCrossSiteAncestor"}

// ignored are members without a meaning for the cookie itself.
var ignored = []string{"id", "storeId", "size", "sameParty", "portable", "firstPartyDomain"}

// record is one cookie of a file, by its members as they stand there.
type record struct {
	raw [memberCount][]byte // empty: the cookie has no such member, or null
	set [memberCount]bool
}

func (r *record) reset() {
	for i := range r.raw {
		r.raw[i], r.set[i] = r.raw[i][:0], false
	}
}

// readJSON reads an array of cookies, or an object that has one as cookies.
func (c *collector) readJSON(src *source) error {
	d := newDecoder(src)
	if d.PeekKind() == '[' {
		if err := c.readArray(d); err != nil {
			return err
		}
		return ended(d)
	}
	found := map[string]bool{}
	err := eachMember(d, func(name string) error {
		switch name {
		case "cookies", "remove":
			if found[name] {
				return &FileError{Index: -1, Byte: d.InputOffset(), Message: "The member " + name + " is there twice."}
			}
			found[name] = true
			if name == "remove" {
				return c.readRemovals(d)
			}
			return c.readArray(d)
		case "origins", "credentials":
			if d.PeekKind() == '[' {
				c.lost["storage"]++
			}
		}
		return d.SkipValue()
	})
	if err != nil {
		return jsonError(d, c.next, err)
	}
	if len(found) == 0 {
		return broken("The JSON object has no member cookies. Send an array of cookies, or an object with one as cookies.")
	}
	return ended(d)
}

// newDecoder returns a decoder that lets members stand twice and half surrogate pairs in escapes pass, so that one entry is refused for
// them and not the file. That the bytes are UTF-8 is checked before.
func newDecoder(src *source) *jsontext.Decoder {
	return jsontext.NewDecoder(src, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// ended reports an error if something follows the JSON value.
func ended(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err == nil {
		return &FileError{Index: -1, Byte: d.InputOffset(), Message: "Something follows the end of the JSON."}
	} else if !isEnd(err) {
		return jsonError(d, -1, err)
	}
	return nil
}

// eachMember reads an object. do must read the value of the member.
func eachMember(d *jsontext.Decoder, do func(name string) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() == '}' {
			return err
		}
		if err := do(t.String()); err != nil {
			return err
		}
	}
}

// eachElement reads an array. do must read one element.
func eachElement(d *jsontext.Decoder, do func() error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		if err := do(); err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

func (c *collector) readArray(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return &FileError{Index: -1, Byte: d.InputOffset() + 1, Message: "The cookies are not an array."}
	}
	var r record
	err := eachElement(d, func() error {
		if d.PeekKind() == '{' {
			return c.readRecord(d, &r)
		}
		if err := d.SkipValue(); err != nil {
			return err
		}
		return c.refuse(Refusal{Reason: "It is not an object."})
	})
	if err != nil {
		return jsonError(d, c.next, err)
	}
	return nil
}

func (c *collector) readRecord(d *jsontext.Decoder, r *record) error {
	var wrong faults
	if err := c.readMembers(d, r, &wrong); err != nil {
		return err
	}
	return c.take(c.cookieOf(r, &wrong), 0, wrong)
}

// readMembers reads the members of a cookie as they stand there.
func (c *collector) readMembers(d *jsontext.Decoder, r *record, wrong *faults) error {
	r.reset()
	return eachMember(d, func(name string) error {
		m := member(slices.Index(memberNames[:], name))
		if m < 0 {
			if !slices.Contains(ignored, name) && d.PeekKind() != 'n' {
				c.unknown(name)
			}
			return d.SkipValue()
		}
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		wrong.require(!r.set[m], "The member "+name+" is there twice.")
		r.set[m] = true
		if !bytes.Equal(v, []byte("null")) {
			r.raw[m] = append(r.raw[m][:0], v...)
		}
		return nil
	})
}

// unknown notes a member that no cookie has. Names that are not words are only counted.
func (c *collector) unknown(name string) {
	c.lost["members"]++
	const most, longest = 8, 40
	word := len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
	if word && len(c.members) < most && !slices.Contains(c.members, name) {
		c.members = append(c.members, strings.Clone(name))
	}
}

// cookieOf makes a cookie of a record, and adds to wrong what is wrong with the members.
func (c *collector) cookieOf(r *record, wrong *faults) Cookie {
	if c.out.Format == "" {
		c.out.Format = r.format()
	}
	cookie := Cookie{
		Name: r.text(mName, wrong), Value: r.text(mValue, wrong), Path: r.text(mPath, wrong),
		HTTPOnly: r.bool(mHTTPOnly, wrong), Secure: r.bool(mSecure, wrong), Opaque: r.bool(mOpaque, wrong),
		Priority:     r.word(mPriority, wrong, "Low", "Medium", "High"),
		SourceScheme: r.word(mSourceScheme, wrong, "Unset", "NonSecure", "Secure"),
	}
	wrong.require(len(r.raw[mName]) > 0, "The name is missing.")
	wrong.require(len(r.raw[mValue]) > 0, "The value is missing.")
	c.place(r, &cookie, wrong)
	c.setSameSite(r, &cookie, wrong)
	c.setExpiry(r, &cookie, wrong)
	c.setPartition(r, &cookie, wrong)
	if raw := r.raw[mSourcePort]; len(raw) > 0 {
		n, err := strconv.Atoi(string(raw))
		wrong.require(err == nil && (n == -1 || n >= 1 && n <= 65535), "The sourcePort must be -1 or 1 to 65535.")
		cookie.SourcePort = n
	}
	return cookie
}

// format tells the format by the members that only one has.
func (r *record) format() Format {
	switch {
	case r.set[mHostOnly] || r.set[mExpirationDate]:
		return CookieEditor
	case r.set[mSourceScheme] || r.set[mPriority] || r.set[mSourcePort]:
		return CDP
	}
	return Playwright
}

// text returns a member that is text.
func (r *record) text(m member, wrong *faults) string {
	raw := r.raw[m]
	if len(raw) == 0 {
		return ""
	}
	if raw[0] != '"' {
		wrong.require(false, "The member "+memberNames[m]+" must be text.")
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	wrong.require(err == nil, "The member "+memberNames[m]+" has half a character (a surrogate without its other half).")
	return string(text)
}

func (r *record) bool(m member, wrong *faults) bool {
	raw := string(r.raw[m])
	wrong.require(raw == "" || raw == "true" || raw == "false", "The member "+memberNames[m]+" must be true or false.")
	return raw == "true"
}

// word returns a member that is one of a few words.
func (r *record) word(m member, wrong *faults, words ...string) string {
	text := r.text(m, wrong)
	wrong.require(text == "" || slices.Contains(words, text),
		"The member "+memberNames[m]+" must be one of: "+strings.Join(words, ", ")+".")
	return text
}

// place sets domain and path. A domain without a dot in front is of one host, unless hostOnly says something else.
func (c *collector) place(r *record, cookie *Cookie, wrong *faults) {
	domain := r.text(mDomain, wrong)
	if domain == "" {
		domain = c.fromURL(r, cookie, wrong)
	}
	if cookie.Path == "" {
		cookie.Path = "/"
		c.note("path_assumed")
	}
	if len(r.raw[mHostOnly]) > 0 {
		only := r.bool(mHostOnly, wrong)
		dotted := strings.HasPrefix(domain, ".")
		wrong.require(!only || !dotted, "hostOnly is true, and the domain has a dot in front: which one is right?")
		if !only && !dotted && domain != "" && !isAddress(domain) {
			domain = "." + domain
		}
	}
	c.setDomain(domain, cookie, wrong)
}

func (c *collector) setDomain(domain string, cookie *Cookie, wrong *faults) {
	if domain == "" {
		wrong.require(false, "The domain is missing.")
		return
	}
	host, note, f := hostOf(domain)
	if cookie.Domain = host; len(f) > 0 {
		*wrong = append(*wrong, f...)
		cookie.Domain = domain // as the file has it, for who looks for it there
	}
	c.note(note)
}

// fromURL returns the host of the member url, which Playwright and Puppeteer take in place of domain and path.
func (c *collector) fromURL(r *record, cookie *Cookie, wrong *faults) string {
	text := r.text(mURL, wrong)
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		wrong.require(false, "The url must be one of http or https with a host.")
		return ""
	}
	if cookie.Path == "" {
		cookie.Path = u.EscapedPath()[:strings.LastIndexByte(u.EscapedPath(), '/')+1]
	}
	if len(r.raw[mSecure]) == 0 {
		cookie.Secure = u.Scheme == "https"
	}
	if strings.Contains(u.Hostname(), ":") {
		return "[" + u.Hostname() + "]"
	}
	return u.Hostname()
}

// sameSites are the words of CDP, in small letters, and those of the extensions' API (chrome.cookies.SameSiteStatus).
var sameSites = map[string]string{"strict": "Strict", "lax": "Lax", "none": "None", "no_restriction": "None", "unspecified": "", "": ""}

func (c *collector) setSameSite(r *record, cookie *Cookie, wrong *faults) {
	word := r.text(mSameSite, wrong)
	var known bool
	cookie.SameSite, known = sameSites[strings.ToLower(word)]
	wrong.require(known, "The sameSite must be Strict, Lax, None, no_restriction or unspecified.")
}

// setExpiry reads the date. Without one, and with -1, it is a session cookie.
func (c *collector) setExpiry(r *record, cookie *Cookie, wrong *faults) {
	var raw []byte
	for _, m := range []member{mExpires, mExpirationDate, mExpiry} {
		if len(r.raw[m]) > 0 {
			wrong.require(raw == nil || bytes.Equal(raw, r.raw[m]), "It has two dates: "+memberNames[m]+" and another one.")
			raw = r.raw[m]
		}
	}
	said := r.bool(mSession, wrong)
	zero := slices.Contains([]string{"0", "0.0", `""`}, string(raw)) && said
	if raw == nil || isMinusOne(raw) || zero {
		cookie.Session, cookie.Expires = true, -1
		wrong.require(said || len(r.raw[mSession]) == 0, "session is false, and there is no date.")
		return
	}
	var note string
	var ok bool
	if raw[0] == '"' {
		text, _ := jsontext.AppendUnquote(nil, raw) //nolint:errcheck // it is no date then
		cookie.Expires, note, ok = parseText(string(text))
	} else {
		cookie.Expires, note, ok = parseNumber(string(raw))
	}
	if !ok {
		cookie.Session = true // so that the date is complained about once
	}
	wrong.require(ok, badDate)
	wrong.require(!said, "session is true, and there is a date: which one is right?")
	c.note(note)
}

const badDate = "The date cannot be read. Write seconds since 1970 up to the year 9999, -1 for a session cookie, or RFC 3339 text."

func isMinusOne(raw []byte) bool {
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n == -1
}

// setPartition reads the partition key: text as Playwright writes it, or an object as CDP and the extensions' API write it. Puppeteer
// calls the site sourceOrigin.
func (c *collector) setPartition(r *record, cookie *Cookie, wrong *faults) {
	raw := r.raw[mPartitionKey]
	ancestor := len(r.raw[mAncestor]) > 0
	key := PartitionKey{HasCrossSiteAncestor: r.bool(mAncestor, wrong)}
	switch {
	case len(raw) == 0 || string(raw) == `""`:
		return
	case raw[0] == '"':
		key.TopLevelSite = r.text(mPartitionKey, wrong)
	case raw[0] == '{':
		ancestor = key.read(raw, wrong) || ancestor
		if key == (PartitionKey{}) && !ancestor {
			return // chrome.cookies: {} is not partitioned
		}
	default:
		wrong.require(false, "The partitionKey must be text or an object.")
		return
	}
	if site, ok := siteOfPage(key.TopLevelSite); ok && site != key.TopLevelSite {
		key.TopLevelSite = site
		c.note("partition_converted")
	}
	if !ancestor {
		key.HasCrossSiteAncestor = true
		c.note("ancestor_assumed")
	}
	cookie.PartitionKey = &key
}

// read reads the object of a partition key. It reports whether that says if there is an ancestor of another site.
func (k *PartitionKey) read(raw []byte, wrong *faults) (ancestor bool) {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true))
	err := eachMember(d, func(name string) error {
		v, err := d.ReadValue()
		if err != nil {
			return err
		}
		switch {
		case name == "topLevelSite" || name == "sourceOrigin":
			wrong.require(v.Kind() == '"' && k.TopLevelSite == "", "The partitionKey must have one site, as text.")
			text, _ := jsontext.AppendUnquote(nil, v) //nolint:errcheck // isSite refuses what is no text
			k.TopLevelSite = string(text)
		case name == "hasCrossSiteAncestor" && v.Kind() != 'n':
			wrong.require(v.Kind() == 't' || v.Kind() == 'f', "The member hasCrossSiteAncestor must be true or false.")
			ancestor, k.HasCrossSiteAncestor = true, v.Kind() == 't'
		}
		return nil
	})
	wrong.require(err == nil, "The partitionKey has a member twice.")
	return ancestor
}
