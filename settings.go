package main

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"warren/api"
)

// settings returns the flags of serve and the values given for them, for the server's page. It is called before resolve fills in
// what depends on the machine. A member without a flag is a secret.
func (c *serveConfig) settings() (out []api.Flag) {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		help := field.Tag.Get("help")
		if !field.IsExported() || field.Tag.Get("kong") == "-" || help == "" {
			continue
		}
		s := api.Flag{Name: field.Tag.Get("name"), Default: field.Tag.Get("default"), Help: help, Values: []string{}}
		if s.Name == "" {
			s.Name = flagName(field.Name)
		}
		if list, ok := v.Field(i).Interface().([]string); ok {
			s.Values = append(s.Values, list...)
		} else if text := fmt.Sprint(v.Field(i).Interface()); text != "" {
			s.Values = append(s.Values, text)
		}
		for i, text := range s.Values {
			s.Values[i] = withoutSecrets(text)
		}
		s.Values = slices.Clip(s.Values)
		s.Changed = strings.Join(s.Values, " ") != spelled(field.Type, s.Default)
		out = append(out, s)
	}
	return out
}

// flagName returns the flag that kong makes of a member's name: TLSCert is tls-cert. Those with more than one word have a name.
func flagName(member string) string { return strings.ToLower(member) }

// spelled returns a default as a value of its type is printed: 10s, 1m0s, false.
func spelled(t reflect.Type, byDefault string) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		d, _ := time.ParseDuration(byDefault)
		return d.String()
	case t.Kind() == reflect.Bool && byDefault == "":
		return "false"
	}
	return byDefault
}

// withoutSecrets returns an address without its user, password and query, where services expect tokens.
func withoutSecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "(not shown)"
	}
	u.User = nil
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}
