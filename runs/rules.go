package runs

import (
	"warren/shim"
	"warren/store"
)

func hostRules(row store.Profile) shim.Rules {
	return shim.Rules{Allow: StringsOf(row.AllowHosts), Deny: StringsOf(row.DenyHosts), Log: row.LogHosts}
}
