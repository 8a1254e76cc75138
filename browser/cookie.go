package browser

import (
	"strings"

	"warren/state"
)

// cookieParam is CDP's Network.CookieParam.
type cookieParam struct {
	Name         string              `json:"name"`
	Value        string              `json:"value"`
	URL          string              `json:"url,omitempty"`
	Domain       string              `json:"domain,omitempty"`
	Path         string              `json:"path"`
	Expires      *float64            `json:"expires,omitempty"`
	HTTPOnly     bool                `json:"httpOnly"`
	Secure       bool                `json:"secure"`
	SameSite     string              `json:"sameSite,omitempty"`
	Priority     string              `json:"priority,omitempty"`
	SourceScheme string              `json:"sourceScheme,omitempty"`
	SourcePort   int                 `json:"sourcePort,omitempty"`
	PartitionKey *state.PartitionKey `json:"partitionKey,omitempty"`
}

// paramOf returns what sets a cookie again. Chrome takes a domain for one with subdomains, so a host's own cookie is set by its address.
func paramOf(c state.Cookie) cookieParam {
	p := cookieParam{Name: c.Name, Value: c.Value, Path: c.Path, HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite,
		Priority: c.Priority, SourceScheme: c.SourceScheme, SourcePort: c.SourcePort, PartitionKey: c.PartitionKey}
	if strings.HasPrefix(c.Domain, ".") {
		p.Domain = c.Domain
	} else {
		p.URL = "http://" + c.Domain + "/"
		if c.Secure {
			p.URL = "https://" + c.Domain + "/"
		}
	}
	if !c.Session {
		p.Expires = &c.Expires
	}
	return p
}
