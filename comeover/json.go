package comeover

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/state"
)

// Finds profiles in JSON, as the products' APIs answer them: one, a list, or an answer with a list in it. No value is decoded before it
// is known what it is, so that the memory is bounded by the file's size.

// maxMembers is how many members of an object are read. No product has a tenth of it.
const maxMembers = 1000

// object is a JSON object. Its values are raw.
type object map[string]jsontext.Value

// readObject reads an object's members.
func readObject(raw jsontext.Value) (object, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errors.Join(errors.New("no object"), err)
	}
	out := object{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		if len(out) == maxMembers {
			return nil, fmt.Errorf("more than %d members", maxMembers)
		}
		key := name.String()
		v, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		out[key] = v.Clone()
	}
	return out, nil
}

// text returns a member that is a text or a number; "" for others.
func (o object) text(name string) string {
	switch v := o[name]; v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return ""
		}
		return string(text)
	case '0':
		return string(v)
	}
	return ""
}

// first returns the first of several members that has a text.
func (o object) first(names ...string) string {
	for _, n := range names {
		if text := o.text(n); text != "" {
			return text
		}
	}
	return ""
}

// object returns a member that is an object; an empty one for others.
func (o object) object(name string) object {
	in, err := readObject(o[name])
	if err != nil {
		return object{}
	}
	return in
}

// list returns the texts of a member that is a list, or of the objects in it by one of their members; a text alone is a list of one.
func (o object) list(name string, members ...string) (out []string) {
	if text := o.text(name); text != "" {
		return []string{text}
	}
	var all []jsontext.Value
	if o[name].Kind() != '[' || json.Unmarshal(o[name], &all) != nil {
		return nil
	}
	for _, v := range all[:min(len(all), maxMembers)] {
		if v.Kind() == '{' {
			in := object{"": v}.object("")
			out = append(out, in.first(members...))
			continue
		}
		out = append(out, object{"": v}.text(""))
	}
	return out
}

// truth reports whether a member is true, 1 or "1".
func (o object) truth(name string) bool {
	return string(o[name]) == "true" || o.text(name) == "1"
}

// isEmpty reports whether a value says nothing.
func isEmpty(v jsontext.Value) bool {
	return slices.Contains([]string{"", "null", `""`, "[]", "{}", "0", "false"}, string(bytes.TrimSpace(v)))
}

// vendor reads the profiles of one product.
type vendor struct {
	format Format
	marks  []string // members of which each tells the product
	read   func(p *Profile, o object, now time.Time)
	kinds  map[string]string // of members: the kind of what is left out, or ofBookkeeping for what is taken or of no use
}

// vendors returns the products in the order in which they are tried.
func vendors() []vendor {
	return []vendor{
		{AdsPower, []string{"user_proxy_config", "fingerprint_config", "fakey", "serial_number", "profile_no"}, readAdsObject, adsMembers},
		{BitBrowser, []string{"browserFingerPrint", "proxyUserName", "proxyMethod"}, readBit, bitMembers},
		{GoLogin, []string{"navigator", "googleClientId", "geoProxyInfo"}, readGoLogin, goMembers},
		{Dolphin, []string{"useragent", "mainWebsite", "platformVersion"}, readDolphin, dolphinMembers},
		{Multilogin, []string{"browser_type", "os_type", "core_version"}, readMultilogin, multiMembers},
	}
}

func readJSON(text []byte, now time.Time) (*File, error) {
	out := &File{}
	unread := false
	err := eachProfile(text, func(raw jsontext.Value) error {
		if len(out.Profiles) == MaxProfiles {
			return tooMany()
		}
		p := Profile{Number: len(out.Profiles) + 1}
		o, err := readObject(raw)
		switch {
		case err != nil:
			unread = unread || raw.Kind() == '{'
			p.fault("It is no JSON object that can be read: a member stands twice, or there are too many.")
		default:
			format, err := p.readObject(o, now)
			if err != nil {
				return err
			}
			if out.Format == "" {
				out.Format = format
			}
		}
		out.Profiles = append(out.Profiles, p)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if out.Format == "" && len(out.Profiles) > 0 && !unread {
		return nil, broken(0, unknownFile)
	}
	return out, nil
}

// readObject reads a profile of whichever product it is. A file of cookies is an error.
func (p *Profile) readObject(o object, now time.Time) (Format, error) {
	has := func(name string) bool { return len(o[name]) > 0 }
	if has("domain") && has("value") {
		return "", broken(0, "This is a file of cookies. Write them into a profile with PUT /profiles/{id}/cookies.")
	}
	for _, v := range vendors() {
		if !slices.ContainsFunc(v.marks, has) {
			continue
		}
		v.read(p, o, now)
		var unknown []string
		for name, value := range o {
			if !isEmpty(value) {
				unknown = p.leaveMember(v.kinds, name, unknown)
			}
		}
		p.leaveUnknown(unknown)
		p.finish()
		return v.format, nil
	}
	p.Name = o.text("name")
	p.fault("It is a profile of no product that is known here.")
	return "", nil
}

// leaveMember notes the kind of a member that is left out, or adds its name to those that are unknown.
func (p *Profile) leaveMember(kinds map[string]string, name string, unknown []string) []string {
	kind, known := kinds[name]
	switch {
	case !known:
		return append(unknown, name)
	case kind != ofBookkeeping:
		p.leave(kind, whyLeftOut[kind])
	}
	return unknown
}

// leaveUnknown names members that nothing is known of. Names that are not words are only counted.
func (p *Profile) leaveUnknown(names []string) {
	const most, longest = 12, 40
	var words []string
	slices.Sort(names)
	for _, n := range names {
		word := !strings.ContainsFunc(n, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
		})
		if word && len(words) < most && len(n) <= longest {
			words = append(words, n)
		}
	}
	if len(names) > 0 {
		p.leave("members", fmt.Sprintf("Members that are not known here: %d (%s).", len(names), strings.Join(words, ", ")))
	}
}

// containers are the members that hold a list of profiles, or an object with one.
var containers = []string{"profiles", "list", "data", "items", "browserProfiles"}

// maxNesting is how deep the list of profiles may lie.
const maxNesting = 3

// eachProfile calls do with each profile of a text.
func eachProfile(text []byte, do func(jsontext.Value) error) error {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true)) // readObject refuses them
	found, err := walk(d, maxNesting, do)
	if err == nil {
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		} else if err == nil {
			err = broken(0, "There is more after the end of the JSON.")
		}
	}
	if err != nil {
		return whereJSON(d, err)
	}
	if !found { // it is one profile
		return do(jsontext.Value(text))
	}
	return nil
}

// walk reads one value, and calls do with the profiles in it. It reports whether there was a list of them.
func walk(d *jsontext.Decoder, nesting int, do func(jsontext.Value) error) (found bool, err error) {
	switch d.PeekKind() {
	case '[':
		return true, walkList(d, do)
	case '{':
	default:
		return false, d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return false, err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return found, err
		}
		if nesting == 0 || found || !slices.Contains(containers, name.String()) {
			err = d.SkipValue()
		} else {
			found, err = walk(d, nesting-1, do)
		}
		if err != nil {
			return found, err
		}
	}
	_, err = d.ReadToken()
	return found, err
}

func walkList(d *jsontext.Decoder, do func(jsontext.Value) error) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != ']' {
		v, err := d.ReadValue()
		if err == nil {
			err = do(v)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// whereJSON turns an error of the decoder into one with a place. The decoder's own text may have a part of the file.
func whereJSON(d *jsontext.Decoder, err error) error {
	var own *state.FileError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &state.FileError{Index: -1, Byte: d.InputOffset() + 1, Message: "The JSON ends too early. The file may have been cut off."}
	case errors.As(err, &syntax):
		return &state.FileError{Index: -1, Byte: syntax.ByteOffset + 1, Message: "The JSON breaks here."}
	}
	return err
}
