package browser

import (
	"encoding/json"
	"slices"
	"strings"
)

// refusal returns why a command is refused because of the address in it or the targets that it reaches, "" if it is not. wrapped is a
// command within another one, whose answers and events nobody inspects.
func (x *extensions) refusal(method string, params []byte, wrapped bool) string {
	domain, _, _ := strings.Cut(method, ".")
	switch {
	case domain == "Extensions":
		return notExtended
	case domain == "PWA":
		return notInstalled
	case method == "Target.setRemoteLocations" || domain == "Tethering" || domain == "Cast":
		return notDialed
	case wrapped && (domain == "Target" || method == "Page.getNavigationHistory"):
		return notWrapped
	}
	switch method {
	case "Page.navigate", "Target.createTarget", "Network.loadNetworkResource", "Fetch.continueRequest":
		return x.addressRefusal(texts(members(params)["url"]))
	case "Target.createBrowserContext": // the context would have its own way to the network
		all := members(params)
		if slices.ContainsFunc(
			append(all["proxyServer"], all["proxyBypassList"]...), func(v json.RawMessage) bool { return string(v) != "null" }) {
			return notElsewhere
		}
	}
	return ""
}

const (
	notOpened = "Cannot navigate to invalid URL: DevTools clients open http, https, data, blob, javascript and about:blank addresses " +
		"here, pages of extensions that the profile has installed, and no others"
	notExtended  = "Not allowed: DevTools clients cannot install, remove or work extensions here"
	notInstalled = "Not allowed: DevTools clients cannot install, start or change web apps here: they become programs of the machine's " +
		"user, which run beside the profile's proxy"
	notDialed    = "Not allowed: Chrome would connect to another place, or listen, beside the profile's proxy"
	notWrapped   = "Not allowed: this command is not taken within Target.sendMessageToTarget here: attach with flatten"
	notElsewhere = "Not allowed: every browser context goes through the profile's own proxy here: leave out proxyServer and proxyBypassList"
)

func (x *extensions) addressRefusal(addresses []string) string {
	if slices.ContainsFunc(addresses, func(a string) bool { return !x.mayOpen(a) }) {
		return notOpened
	}
	return ""
}
