package main

import (
	"warren/shim"
	"warren/store"
)

func rulesOf(row store.Profile) shim.Rules {
	return shim.Rules{Allow: stringsOf(row.AllowHosts), Deny: stringsOf(row.DenyHosts), Log: row.LogHosts}
}
