package state

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Writes cookies in the formats that are JSON.

// jsonCookie is a cookie as Playwright and CDP write it. Members that only one of them has are empty in the other.
type jsonCookie struct {
	Name         string  `json:"name"`
	Value        string  `json:"value"`
	Domain       string  `json:"domain"`
	Path         string  `json:"path"`
	Expires      float64 `json:"expires"` // -1: a session cookie
	Size         int     `json:"size,omitzero"`
	HTTPOnly     bool    `json:"httpOnly"`
	Secure       bool    `json:"secure"`
	Session      *bool   `json:"session,omitzero"`
	SameSite     string  `json:"sameSite,omitzero"`
	Priority     string  `json:"priority,omitzero"`
	SourceScheme string  `json:"sourceScheme,omitzero"`
	SourcePort   int     `json:"sourcePort,omitzero"`
	PartitionKey any     `json:"partitionKey,omitzero"` // text, or an object
	Ancestor     *bool   `json:"_crHasCrossSiteAncestor,omitzero"`
	Opaque       bool    `json:"partitionKeyOpaque,omitzero"`
	Portable     string  `json:"portable,omitzero"`
}

// editorCookie is a cookie as Cookie-Editor writes it: the extensions' API (chrome.cookies.Cookie), with null for a SameSite that is not
// given.
type editorCookie struct {
	Domain       string        `json:"domain"`
	Expiration   *float64      `json:"expirationDate,omitzero"`
	HostOnly     bool          `json:"hostOnly"`
	HTTPOnly     bool          `json:"httpOnly"`
	Name         string        `json:"name"`
	PartitionKey *PartitionKey `json:"partitionKey,omitzero"`
	Path         string        `json:"path"`
	SameSite     *string       `json:"sameSite"`
	Secure       bool          `json:"secure"`
	Session      bool          `json:"session"`
	StoreID      *string       `json:"storeId"`
	Value        string        `json:"value"`
	Portable     string        `json:"portable,omitzero"`
}

// WriteCookies writes cookies in a format: an array, or the lines of Netscape's. Lost tells what is lost. Cookies that Portable suspects
// at the time now are marked where the format has members.
func WriteCookies(w io.Writer, format Format, cookies []Cookie, now time.Time) error {
	switch format {
	case Netscape:
		return writeNetscape(w, cookies)
	case Playwright, CDP, CookieEditor:
		return writeArray(w, format, cookies, now)
	}
	return fmt.Errorf("there is no format %q", format)
}

func writeArray(w io.Writer, format Format, cookies []Cookie, now time.Time) error {
	e := jsontext.NewEncoder(w, jsontext.AllowInvalidUTF8(true))
	if err := e.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, c := range cookies {
		if leftOut(format, c) == "" {
			if err := json.MarshalEncode(e, shaped(format, c, now)); err != nil {
				return err
			}
		}
	}
	return e.WriteToken(jsontext.EndArray)
}

// shaped returns a cookie as the format has it.
func shaped(format Format, c Cookie, now time.Time) any {
	if format == CookieEditor {
		return shapedForEditor(c, now)
	}
	out := jsonCookie{Name: c.Name, Value: c.Value, Domain: c.Domain, Path: c.Path, Expires: c.Expires, HTTPOnly: c.HTTPOnly,
		Secure: c.Secure, SameSite: c.SameSite, Portable: Portable(c, now)}
	if c.Session {
		out.Expires = -1
	}
	switch key := c.PartitionKey; {
	case format == CDP:
		out.Size, out.Session = len(c.Name)+len(c.Value), &c.Session
		out.Priority, out.SourceScheme, out.SourcePort, out.Opaque = c.Priority, c.SourceScheme, c.SourcePort, c.Opaque
		if key != nil {
			out.PartitionKey = *key
		}
	case key != nil:
		out.PartitionKey, out.Ancestor = key.TopLevelSite, &key.HasCrossSiteAncestor
	}
	return out
}

func shapedForEditor(c Cookie, now time.Time) editorCookie {
	out := editorCookie{Domain: c.Domain, HostOnly: !strings.HasPrefix(c.Domain, "."), HTTPOnly: c.HTTPOnly, Name: c.Name,
		PartitionKey: c.PartitionKey, Path: c.Path, Secure: c.Secure, Session: c.Session, Value: c.Value, Portable: Portable(c, now)}
	if !c.Session {
		out.Expiration = &c.Expires
	}
	word := strings.ToLower(c.SameSite)
	switch word {
	case "":
		return out
	case "none":
		word = "no_restriction"
	}
	out.SameSite = &word
	return out
}

// leftOut returns the code of why a cookie is left out of a format, or "".
func leftOut(format Format, c Cookie) string {
	switch {
	case c.Opaque && format != CDP:
		return "opaque_partition"
	case c.PartitionKey != nil && format == Netscape:
		return "partitioned"
	case format == Netscape && (hasControl(c.Name) || hasControl(c.Value) || hasControl(c.Path)):
		return "unprintable"
	}
	return ""
}

// Lost tells what a format does not carry of cookies: each kind once, with how many of them it is about.
func Lost(format Format, cookies []Cookie) []Note {
	n := noteCounts{}
	for _, c := range cookies {
		if code := leftOut(format, c); code != "" {
			n[code]++
			continue
		}
		if format == CDP {
			continue
		}
		if !slices.Contains([]string{"", "Medium"}, c.Priority) {
			n["priority"]++
		}
		if !hasOwnSource(c) {
			n["source"]++
		}
		if format == Netscape && c.SameSite != "" {
			n["same_site"]++
		}
		if format == Netscape && !c.Session && c.Expires != math.Floor(c.Expires) {
			n["sub_second"]++
		}
	}
	return n.list()
}

// hasOwnSource reports whether a cookie's source is the one that Chrome gives it when it is set again: its scheme by secure, with that
// port.
func hasOwnSource(c Cookie) bool {
	if c.Secure {
		return (c.SourceScheme == "" || c.SourceScheme == "Secure") && (c.SourcePort == 0 || c.SourcePort == 443)
	}
	return (c.SourceScheme == "" || c.SourceScheme == "NonSecure") && (c.SourcePort == 0 || c.SourcePort == 80)
}
