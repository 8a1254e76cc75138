package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// fill makes a random argument of a query. Few values of each kind make rows meet.
func (e *twins) fill(v reflect.Value, query, field string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			e.fill(v.Field(i), query, v.Type().Field(i).Name)
		}
		e.settle(v)
	case reflect.Pointer:
		if e.rng.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			e.fill(v.Elem(), query, field)
		}
	case reflect.Slice:
		v.SetBytes(e.bytes(query, field))
	case reflect.Bool:
		v.SetBool(e.rng.IntN(2) == 0)
	case reflect.Int64:
		v.SetInt(e.number(query, field))
	case reflect.String:
		v.SetString(e.text(query, field))
	default:
		panic(fmt.Sprint(query, field, v.Kind()))
	}
}

// settle makes members fit each other, where a condition would refuse nearly all.
func (e *twins) settle(v reflect.Value) {
	set := func(name string, value any) {
		if f := v.FieldByName(name); f.IsValid() {
			f.Set(reflect.ValueOf(value).Convert(f.Type()))
		}
	}
	if f := v.FieldByName("TagsKey"); f.IsValid() {
		f.SetString("")
		if tags := v.FieldByName("Tags").String(); tags != "[]" {
			f.SetString(tags)
		}
	}
	if f := v.FieldByName("ProxyMissing"); f.IsValid() && v.FieldByName("ProxyID").IsValid() && !v.FieldByName("ProxyID").IsNil() {
		f.SetBool(false)
	}
	if f := v.FieldByName("EveryMs"); f.IsValid() {
		set("Cron", "* * * * *")
		set("TimeZone", "UTC")
		if !f.IsNil() {
			set("Cron", "")
			set("TimeZone", "")
		}
		set("ProfileIDs", (*string)(nil))
		if f := v.FieldByName("Tag"); f.IsNil() == v.FieldByName("ProxyIDs").IsNil() {
			f.SetZero()
			v.FieldByName("ProxyIDs").Set(reflect.ValueOf(ptr(`["a"]`)))
		}
	}
	if v.Type() == reflect.TypeFor[AppendAuditParams]() {
		set("ID", "abcBC"[v.FieldByName("Seq").Int():][:1]) // of one entry each
	}
	if f := v.FieldByName("OldUntil"); f.IsValid() && f.IsNil() != (v.FieldByName("OldSecret").Len() == 0) {
		f.SetZero()
		set("OldSecret", []byte(nil))
	}
}

func (e *twins) bytes(query, field string) []byte {
	if field == "Hash" || query == "GetKeyByHash" || query == "TakeTicket" {
		return []byte(strings.Repeat(e.one("a", "b", "c", "d"), 32))
	}
	if (field == "Password" || field == "RotateSealed" || field == "OldSecret" || field == "Answer") && e.rng.IntN(2) == 0 {
		return nil
	}
	return []byte(e.one("", "h", "\x00\xff"))
}

func (e *twins) number(query, field string) int64 {
	n := e.rng.Int64N(5)
	switch {
	case query == "ForgetDeleted":
		return n << 60
	case field == "Limit" || field == "" && strings.HasPrefix(query, "List"):
		if !strings.Contains(e.texts[query], "ORDER BY") || query == "ListPacksGoing" {
			return 1000 // else each database may choose which
		}
		return 1 + n
	case field == "Span": // it is over now, or never
		return n << 50
	case field == "Port":
		return 1 + n%2
	case field == "Revision":
		return 1 + n%2
	case field == "Ok":
		return n % 2
	case field == "AfterKey" || field == "Before" || field == "RevokedAt" || field == "":
		return n * 2
	case field == "Offset" || field == "Keep":
		return n % 3
	}
	return n
}

func (e *twins) one(of ...string) string { return of[e.rng.IntN(len(of))] }

func (e *twins) list() string {
	return e.one("[]", `["a"]`, `["b"]`, `["a","b"]`, `["b","a","a"]`, `["","B","ä"]`)
}

func (e *twins) id() string { return e.one("a", "b", "B", "ä") }

// words are the values of members that are not ids.
func words(field string) []string {
	return map[string][]string{
		"OS": {"win", "mac", "linux"}, "Status": {"stopped", "running", "failed"}, "FromStatus": {"running"},
		"ToStatus": {"failed", "stopped"},
		"WebRTC":   {"off"}, "Consistency": {"warn"}, "BackgroundTraffic": {"refuse"}, "FallbackCountry": {"same", "any"},
		"Passkeys": {"off", "ask"}, "Locale": {"auto", `["de"]`}, "Geolocation": {"auto", "off", `{"a":1}`}, "Type": {"http", "socks5"},
		"State": {"pending", "delivered", "failed"}, "InState": {"", "pending", "failed"}, "Reason": {"stop", "asked"},
		"OffReason": {"", "gone"}, "Snapshots": {"on", "off"}, "Due": {"on", "off"}, "Sources": {"", "{}"}, "Country": {"", "DE"},
		"ExitIP": {"", "1.1.1.1"}, "RotateURL": {"", "u"}, "Object": {"", "o"}, "Search": {"", "k", "z"}, "SearchKey": {"k", "kz"},
		"Action": {"start", "stop"}, "Kind": {"profile", "proxy", "run", "template"}, "InWorkspace": {"", "a", "*"},
		"Target": {"POST /a", "hashed", "x"}, "Mark": {"environment-1"}, "Parent": {"a", "b", "environment-1", "environment-2"},
		"Result": {"{}", `{"a":1}`}, "TimeZone": {"UTC"}, "Cron": {"* * * * *"}, "Tag": {"t", "u"}, "Username": {"", "a"},
		"Host":        {"h", "i"},
		"Extension":   {"a", "b"},
		"LastRun":     {`{"status":"running","a":[1,2]}`, `{"a":"é\"","status":"running"}`, `{"status":"done"}`, `[]`},
		"ExtensionID": {strings.Repeat("e", 32)}, "Sha256": {strings.Repeat("1", 64), strings.Repeat("2", 64)},
		"Extensions": {"[]", `[{"id":"a"}]`, `[{"id":"b","x":1},{"id":"a"}]`, `[{"x":1}]`},
		"Browsers":   {"[]", `[{"version":"1"}]`}, "Labels": {"{}", `{"a":"b"}`}, "Incarnation": {"a", "b"},
		"Numbers": {"[]", "[1,2]", "[3,1,9]"}, "Tries": {"[]", "[1]"},
	}[field]
}

func (e *twins) text(query, field string) string {
	if query == "SetProxyCheck" && field == "Status" {
		return e.one("alive", "dead", "unknown")
	}
	if field == "" { // the only argument has no name
		if strings.Contains(e.texts[query], "$1::text::json") {
			field = "Ids"
		} else if query == "HasPackage" {
			field = "Sha256"
		}
	}
	audit := query == "AppendAudit"
	if of := words(field); of != nil && (!audit || field == "Parent") && !(query == "InsertProxyCheck" && field != "Result") {
		return e.one(of...)
	}
	switch field {
	case "NodeID": // mostly, a schedule has not run on any server
		return e.one("", "a", "b")
	case "Ids", "Names", "Workspaces", "Except", "Tags", "StartURLs", "AllowLocal", "FallbackProxyIDs", "AllowHosts", "DenyHosts",
		"LocalhostVia", "Args", "Scopes", "Events", "ProxyIDs", "ProfileIDs", "Permissions", "OptionalPermissions", "Hosts",
		"OptionalHosts":
		return e.list()
	case "Settings", "Defaults", "Record", "Headers", "LastCheck", "Screen", "Limits", "Placement":
		return e.one("{}", `{"a":"b"}`)
	case "Profiles", "Proxies", "Addresses", "Deliveries":
		return e.many(field)
	case "Detail", "Body":
		return e.one("{}", "text")
	case "Action":
		return e.one("profile.update", "proxy.secret", "login", "")
	}
	if audit && field == "Result" {
		return e.one("ok", "not_found")
	}
	return e.id()
}

// many is the argument of a query that takes many rows.
func (e *twins) many(field string) string {
	rows := [][]any{}
	for range e.rng.IntN(4) {
		host, port := e.text("", "Host"), 1+e.rng.IntN(2)
		var nothing, proxy any
		if e.rng.IntN(2) == 0 {
			proxy = e.id()
		}
		rows = append(rows, map[string][]any{
			"Profiles":   {e.id(), e.id(), "k", proxy},
			"Proxies":    {e.id(), "http", host, port, e.text("", "Username"), e.one("", "00ff"), "n", e.list(), "", "", nothing},
			"Addresses":  {"http", host, port, e.text("", "Username")},
			"Deliveries": {e.id(), e.id(), e.id(), "run.ended", `{"a":"` + e.id() + `"}`},
		}[field])
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic(err)
	}
	return string(text)
}
