package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"warren/api"
	"warren/configfile"
	"warren/proxy"
)

// The settings of serve as a whole: what is in force, where it comes from, and what is wrong with it.

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

// flagGroups are the groups in which the help of serve shows its flags.
func flagGroups() (out []kong.Group) {
	for _, name := range []string{"Basics", "Browsers", "Checks", "Limits", "Data", "Security"} {
		out = append(out, kong.Group{Key: name, Title: name + ":"})
	}
	return out
}

// resolveWith is resolve for values that may come from a file. The error has the file's faults too, and the line of each value.
func (c *serveConfig) resolveWith(file *configfile.Source) error {
	if c.APIKey == "" {
		c.APIKey = os.Getenv("WARREN_API_KEY")
	}
	c.configFile = file.Path()
	all := file.Faults()
	if err := c.resolve(); err != nil {
		list := []error{err}
		if several, ok := errors.AsType[joined](err); ok {
			list = several.Unwrap()
		}
		for _, fault := range list {
			all = append(all, file.Place(fault))
		}
	}
	if err := errors.Join(all...); err != nil {
		return misuse{err}
	}
	return nil
}

// joined is what errors.Join returns.
type joined interface {
	error
	Unwrap() []error
}

type configCommands struct {
	Check configCheck `cmd:"" help:"Check a configuration file as serve would: with the environment, and flags if given. Exit code 2 tells of faults."`
	Print configPrint `cmd:"" help:"Print what would be in force, and where each value comes from. Secrets are hidden."`
}

// configCheck takes serve's flags, which may stand in the file.
type configCheck struct {
	File string `arg:"" optional:"" name:"config-file" help:"The file. Default: the one that serve would read."`
	serveConfig
}

// Run checks what can be known without the data folder, all at once.
func (c *configCheck) Run(out *console, file *configfile.Source) error {
	err := c.resolveWith(file)
	if more := errors.Join(c.laterFaults(file)...); more != nil {
		err = misuse{errors.Join(err, more)}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out.stdout, "%s: ok\n", orNone(file.Path()))
	return err
}

// laterFaults are what serve would find after it has looked at the flags: a file of places that cannot be read, and a way in without
// encryption.
func (c *serveConfig) laterFaults(file *configfile.Source) (out []error) {
	if c.Geoip != "" {
		if _, err := proxy.OpenGeo(c.Geoip, nil); err != nil {
			out = append(out, file.Place(fmt.Errorf("--geoip: %w", err)))
		}
	}
	if !c.onLoopback() {
		if err := c.checkEncryption(); err != nil {
			out = append(out, file.Place(err))
		}
	}
	return out
}

// configPrint takes serve's flags too, to show what they would change.
type configPrint struct {
	JSON bool `name:"json" env:"WARREN_JSON" help:"Print JSON."`
	serveConfig
}

// inForce is one setting as config print shows it.
type inForce struct {
	Name   string   `json:"name"`
	Values []string `json:"values"` // more than one for a list; without secrets
	From   string   `json:"from"`   // default, file, environment or flag
	Source string   `json:"source"` // the file or the variable; "" else
	Line   int      `json:"line"`   // in the file; 0: none
}

// Run prints every setting, in the order of the help. The error has the faults that serve would find.
func (c *configPrint) Run(out *console, file *configfile.Source) error {
	faults := c.resolveWith(file)
	var rows []inForce
	for _, s := range c.settings() {
		o := file.Origin(s.Name)
		rows = append(rows, inForce{s.Name, s.Values, o.From, o.Name, o.Line})
	}
	if c.APIKey != "" && c.APIKeyFile == "" { // it has no flag
		rows = append(rows, inForce{"api-key", []string{"(not shown)"}, configfile.FromEnvironment, "WARREN_API_KEY", 0})
	}
	if c.JSON {
		return errors.Join(printJSON(out.stdout, map[string]any{"file": file.Path(), "settings": rows}), faults)
	}
	t := newTable(out.stdout, "SETTING\tVALUE\tFROM\n")
	for _, row := range rows {
		o := configfile.Origin{From: row.From, Name: row.Source, Line: row.Line}
		fmt.Fprintf(t, "%s\t%s\t%s\n", row.Name, orNone(strings.Join(row.Values, " ")), o)
	}
	return errors.Join(t.Flush(), faults)
}

// orNone is a text, or a dash where there is none.
func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
