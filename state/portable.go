package state

import (
	"slices"
	"strings"
	"time"
)

// Suspect marks a cookie that is probably bound to its device.
const Suspect = "suspect"

// shortLife is below what a site gives a cookie that stands for a login, but for one that the browser renews.
const shortLife = time.Hour

// boundNames are the cookies that Chrome renews for Google with a key of the device (Chromium:
// chrome/browser/signin/bound_session_credentials, BoundSessionCookieRefreshServiceImpl names __Secure-1PSIDTS and __Secure-3PSIDTS).
// The RTS ones stand beside these and live for ten minutes. The SIDCC ones are replaced by each answer, so that a copy is soon too old.
// No cookie says itself that it is bound.
var boundNames = []string{"__Secure-1PSIDTS", "__Secure-3PSIDTS", "__Secure-1PSIDRTS", "__Secure-3PSIDRTS", "SIDCC", "__Secure-1PSIDCC",
	"__Secure-3PSIDCC"}

// boundSites are sites that bind sessions to devices (Google Workspace Help, "Prevent cookie theft with session binding").
var boundSites = []string{"google.com", "youtube.com"}

// Portable returns Suspect for a cookie that probably does not work on another device (Device Bound Session Credentials). That is a
// secure one of a site that binds sessions, if its name is a known one or it ends within the hour. "" claims nothing. Other cookies may
// be bound too.
func Portable(c Cookie, now time.Time) string {
	if !c.Secure || !slices.Contains(boundSites, siteOf(c.Domain)) && !isGoogle(siteOf(c.Domain)) {
		return ""
	}
	short := !c.Session && c.Expires < secondsOf(now.Add(shortLife))
	if short || slices.Contains(boundNames, c.Name) {
		return Suspect
	}
	return ""
}

// isGoogle reports whether a site is Google's in a country, such as google.de or google.co.uk.
func isGoogle(site string) bool { return strings.HasPrefix(site, "google.") }
