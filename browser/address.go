package browser

import (
	"fmt"
	"net/url"
	"strings"
)

// BlankPage is the page of a browser without a session. The New Tab Page would talk to a search engine.
const BlankPage = "about:blank"

// settingsURL is a page that may change Chrome's preferences (settingsPrivate, for all of chrome://settings:
// chrome/common/extensions/api/_api_features.json). It is the settings' list of texts, a document without scripts, which loads ten times
// faster than the settings themselves.
const settingsURL = "chrome://settings/strings.m.js"

// normal returns a URL as Chrome writes it, as far as comparisons need it.
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

// URLError says that an address must not be opened.
type URLError struct{ URL string }

// Error satisfies error.
func (e *URLError) Error() string {
	return fmt.Sprintf("only http, https and about:blank can be opened: %q", e.URL)
}

// CheckURL accepts about:blank, and absolute http and https URLs with a host. It fails with a *URLError.
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

// splitAddress splits an address as Chrome's parser does (WHATWG URL, 4.4). It ignores control characters and spaces around it, and tabs
// and newlines anywhere.
func splitAddress(address string) (scheme, rest string) {
	around := func(r rune) bool { return r <= ' ' }
	address = strings.TrimFunc(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(address), around)
	scheme, rest, found := strings.Cut(address, ":")
	if !found {
		return "", address
	}
	return strings.ToLower(scheme), rest
}

// isFile reports whether an address is one of a file.
func isFile(address string) bool {
	scheme, rest := splitAddress(address)
	return scheme == "file" || scheme == "view-source" && isFile(rest)
}
