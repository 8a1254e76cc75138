package browser

import (
	"fmt"
	"net/url"
	"strings"
)

// BlankPage is where a browser without a session starts: not on the New Tab Page, which talks to a search engine.
const BlankPage = "about:blank"

// settingsURL is a page that may change Chrome's preferences (settingsPrivate, for all of chrome://settings:
// chrome/common/extensions/api/_api_features.json). It is the settings' list of texts, a document without scripts, which loads ten times
// faster than the settings themselves.
const settingsURL = "chrome://settings/strings.m.js"

// normal is a URL as Chrome writes it, as far as that matters to compare two.
func normal(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// URLError is a URL that the browser is not asked to open.
type URLError struct{ URL string }

// Error satisfies error.
func (e *URLError) Error() string {
	return fmt.Sprintf("only http, https and about:blank can be opened: %q", e.URL)
}

// CheckURL accepts absolute http and https URLs with a host, and about:blank. It fails with a *URLError.
func CheckURL(address string) error {
	if address == BlankPage {
		return nil
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return &URLError{address}
	}
	return nil
}

// splitAddress reads an address as Chrome's parser does (WHATWG URL, 4.4): without control characters and spaces around it, and without
// tabs and line ends anywhere.
func splitAddress(address string) (scheme, rest string) {
	around := func(r rune) bool { return r <= ' ' }
	address = strings.TrimFunc(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(address), around)
	scheme, rest, found := strings.Cut(address, ":")
	if !found {
		return "", address
	}
	return strings.ToLower(scheme), rest
}

// isFile reports whether an address is a file's.
func isFile(address string) bool {
	scheme, rest := splitAddress(address)
	return scheme == "file" || scheme == "view-source" && isFile(rest)
}
