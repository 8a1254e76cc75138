package api

import (
	"cmp"
	"strconv"
	"strings"

	"warren/runs"
)

// The messages of faults that several operations have. A person reads them beside a field of a form: each says what to enter.

const (
	chooseType     = "Choose a type: socks5, http, https or socks4."
	enterHost      = "Enter a host name or an IP address."
	enterLabels    = `Enter labels such as {"labels":{"zone":"berlin"}}, or null.`
	enterName      = "Enter a name of 1 to 200 characters."
	enterPort      = "Enter a port from 1 to 65535."
	enterProxy     = "Enter a proxy such as host:1080:user:password or socks5://user:password@host:1080."
	isFallback     = "This proxy is one of the fallbacks. Choose another, or remove it there."
	manyReadings   = "This line can be read in more than one way. Write it as scheme://user:password@host:port."
	notInWorkspace = runs.NotInWorkspace
	reserved       = "Addresses in 127.77.0.0/16 are reserved for Warren. Use another address."
	unknownMember  = "Unknown member. Remove it, or check its spelling."
)

// memberMessages describe members for which the validator's own message says too little: it reports one limit of two, or that no type
// fits.
var memberMessages = map[string]string{
	"accuracy":          "Enter an accuracy from 0 to 100,000 metres.",
	"browserVersion":    `Enter a major version from "1" to "999".`,
	"deviceScaleFactor": "Enter a pixel ratio from 0.5 to 5.",
	"geolocation":       `Enter a latitude (-90 to 90), a longitude (-180 to 180) and an accuracy (0 to 100,000 m), or "auto" or "off".`,
	"freezeAfter":       "Enter a time from 0 to 2,592,000 seconds (30 days); 0: never.",
	"height":            "Enter a height from 240 to 4,320 pixels.",
	"host":              enterHost,
	"idleTimeoutMs":     "Enter a time from 1 second to 30 days, in milliseconds: 1,000 to 2,592,000,000.",
	"labels":            enterLabels,
	"latitude":          "Enter a latitude from -90 to 90 degrees.",
	"limit":             "Enter one whole number from 1 to 200.",
	"locale":            `Enter languages such as ["de-DE","en"], or "auto" or "system".`,
	"longitude":         "Enter a longitude from -180 to 180 degrees.",
	"maxRunMs":          "Enter a time from 1 second to 30 days, in milliseconds: 1,000 to 2,592,000,000.",
	"name":              "Enter a name.",
	"page":              "Enter one whole number from 1 to 1,000,000,000.",
	"placement":         enterLabels,
	"port":              enterPort,
	"proxies":           `Choose "each", {"tag","pick"} with pick random, leastUsed or roundRobin, a list of ids, or null.`,
	"proxyId":           `Choose a proxy by its id, null for none, or {"tag","pick"} with pick random, leastUsed, roundRobin or sticky.`,
	"version":           "Enter a major version such as 131, or a build such as 131.0.6778.204.",
	"width":             "Enter a width from 320 to 7,680 pixels.",
}

// schemaMessages are the messages of huma's validator (v2.37.2, validation/messages.go) and ours. % stands for what follows the prefix.
var schemaMessages = []struct{ prefix, words string }{
	{"expected number >= ", "Enter a number of at least %."},
	{"expected number <= ", "Enter a number of at most %."},
	{"expected length >= ", "Enter at least % characters."},
	{"expected length <= ", "Enter at most % characters."},
	{"expected array length >= ", "Give at least % of them."},
	{"expected array length <= ", "Give at most % of them."},
	{"expected value to be one of ", "Choose one of these: %."},
	{"expected array items to be unique", "Give each of them once."},
	{"expected value to match", "This has the wrong form."},
	{"expected string to be RFC 3339 date-time", "Enter a time such as 2027-01-31T00:00:00Z."},
	{"expected string to be ", "Enter %."},
	{"expected string to match pattern ", "This has the wrong form. The pattern is %."},
	{"expected boolean", "Choose true or false."},
	{"invalid boolean", "Choose true or false."},
	{"invalid integer", "Enter a whole number."},
	{"expected integer", "Enter a whole number."},
	{"expected number", "Enter a number."},
	{"expected string", "Enter a text."},
	{"expected array", "Give a list."},
	{"expected object", "Give an object."},
}

// schemaWords puts a message of huma's validator into words. A member with a message of its own gets it.
func schemaWords(location, message string) string {
	if message == "unexpected property" {
		return unknownMember
	}
	for _, m := range schemaMessages {
		if rest, ok := strings.CutPrefix(message, m.prefix); ok {
			last := location[strings.LastIndexByte(location, '.')+1:]
			return cmp.Or(memberMessages[last], strings.Replace(m.words, "%", plainNumber(rest), 1))
		}
	}
	message, _, _ = strings.Cut(strings.TrimPrefix(message, "jsontext: "), "\n")
	if location == "body" && message != "" && !strings.HasSuffix(message, ".") { // the decoder's
		return "The JSON breaks: " + withoutQuotes(message) + "."
	}
	return message
}

// plainNumber writes a limit such as 1e+09 in digits. Another text stays as it is, without quotes.
func plainNumber(s string) string {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strings.Trim(s, `"`)
}
