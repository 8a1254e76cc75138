package browser

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Arguments that a profile adds to Chrome's command line: a list of those that are allowed, and why others are not
// (docs/arguments.md). A switch that nobody has looked at is refused, so that a new Chrome opens nothing by itself.

// maxArguments is how many arguments a profile may add.
const maxArguments = 30

// allowedArguments are the switches that a profile may add, without "--", and what their values may be; nil: they have none. No value
// names a file, an address or a feature. Each is in Chromium 156, in the file that the comment above it names.
var allowedArguments = map[string]func(value string) (rule string, ok bool){
	// content/public/common/content_switches.cc
	"disable-3d-apis":                        nil,
	"disable-accelerated-2d-canvas":          nil,
	"disable-accelerated-video-decode":       nil,
	"disable-back-forward-cache":             nil,
	"disable-background-timer-throttling":    nil,
	"disable-backgrounding-occluded-windows": nil,
	"disable-gpu":                            nil,
	"disable-gpu-compositing":                nil,
	"disable-notifications":                  nil,
	"disable-popup-blocking":                 nil,
	"disable-renderer-backgrounding":         nil,
	"disable-smooth-scrolling":               nil,
	"disable-software-rasterizer":            nil,
	"hide-scrollbars":                        nil,
	// chrome/common/chrome_switches.cc
	"deny-permission-prompts": nil,
	"disable-hang-monitor":    nil,
	"disk-cache-size":         between(1<<20, 1<<31-1), // bytes
	// media/base/media_switches.cc
	"autoplay-policy":                  oneOf("document-user-activation-required", "no-user-gesture-required", "user-gesture-required"),
	"mute-audio":                       nil,
	"use-fake-device-for-media-stream": nil,
	// ui/gfx/switches.cc, ui/base/ui_base_switches.h, cc/base/switches.cc
	"disable-lcd-text":             nil,
	"force-color-profile":          oneOf("display-p3-d65", "srgb"),
	"force-dark-mode":              nil,
	"force-prefers-reduced-motion": nil,
}

// refusedArguments say why switches are refused, by how they begin. The first that fits counts.
var refusedArguments = []struct {
	why      string
	prefixes []string
}{
	{"It decides where the browser connects, and a profile's browser connects through its relay alone. Set the profile's proxy.",
		[]string{"proxy", "no-proxy", "winhttp-", "host-", "dns-", "enable-quic", "disable-quic", "origin-to-force-quic", "webrtc-",
			"force-webrtc-", "no-pings", "component-updater", "enable-background-networking", "test-third-party"}},
	{"It opens the browser to other programs. Clients connect through the gateway, or the start's debugPort.",
		[]string{"remote-", "auto-open-devtools", "custom-devtools", "devtools-", "enable-devtools"}},
	{"It names a file or a folder. The profile's folders are Warren's own.",
		[]string{"user-data", "profile-", "disk-cache-dir", "crash-dumps", "log-", "enable-logging", "net-log", "log-net", "trace-",
			"use-file-", "download-", "homedir"}},
	{"It weakens the sandbox or the walls between sites.",
		[]string{"no-sandbox", "disable-setuid", "disable-namespace", "disable-seccomp", "disable-gpu-sandbox", "allow-sandbox",
			"no-zygote", "single-process", "in-process", "disable-site-isolation", "isolation", "process-per", "renderer-process",
			"gpu-launcher", "renderer-cmd", "utility-cmd", "browser-subprocess", "disable-web-security", "allow-file-access",
			"allow-running-insecure", "disable-ipc-flooding"}},
	{"It decides which extensions the browser loads.",
		[]string{"load-", "disable-extensions", "allowlisted-extension", "whitelisted-extension", "disable-component-ext",
			"extensions-", "install-"}},
	{"It makes the browser trust certificates or connections that it would refuse.",
		[]string{"ignore-", "allow-insecure", "ssl-", "tls", "cipher-", "unsafely-", "use-system-cert"}},
	{"It turns features on or off, and the browser's isolation relies on some of them.",
		[]string{"enable-features", "disable-features", "enable-blink", "disable-blink", "blink-settings", "force-fieldtrial",
			"enable-experimental", "js-flags", "variations", "field-trial", "enable-automation", "test-type"}},
	{"Languages are the profile's `locale`.", []string{"lang", "accept-lang"}},
	{"What pages are told of system and version are the profile's `os` and `browserVersion`.", []string{"user-agent", "force-ua"}},
	{"The window and the screen are the profile's `screen`.",
		[]string{"window-", "screen-", "start-maximized", "start-fullscreen", "kiosk", "force-device-scale", "device-scale", "app"}},
	{"Whether there are windows is the profile's `headless`.", []string{"headless"}},
	{"The profile's data would not be kept.", []string{"incognito", "guest", "bwsi"}},
	{"It lets pages use cameras and microphones without asking.", []string{"use-fake-ui", "auto-accept", "auto-select"}},
}

// unknownArgument is why every other switch is refused.
const unknownArgument = "Only the switches in docs/arguments.md are allowed, and it is none of them."

// oneOf allows some values.
func oneOf(values ...string) func(string) (string, bool) {
	return func(value string) (string, bool) {
		return "one of " + strings.Join(values, ", "), slices.Contains(values, value)
	}
}

// between allows whole numbers, written plainly.
func between(low, high int64) func(string) (string, bool) {
	return func(value string) (string, bool) {
		n, err := strconv.ParseInt(value, 10, 64)
		return fmt.Sprintf("a whole number from %d to %d", low, high),
			err == nil && strconv.FormatInt(n, 10) == value && n >= low && n <= high
	}
}

// AllowedArguments returns the names of the switches that a profile may add, without "--", sorted.
func AllowedArguments() []string {
	names := make([]string, 0, len(allowedArguments))
	for name := range allowedArguments {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ArgumentFault says why an argument is refused.
type ArgumentFault struct {
	Index   int    // of the argument; the first one too many stands for all that follow
	Message string // names the switch and the reason, never its value
}

// CheckArguments returns why arguments are refused that a profile adds to Chrome's command line. Each is "--name" or "--name=value".
// None means that they may be used.
func CheckArguments(args []string) (faults []ArgumentFault) {
	seen := map[string]bool{}
	for i, arg := range args {
		if i == maxArguments {
			return append(faults, ArgumentFault{i, fmt.Sprintf("Give at most %d arguments.", maxArguments)})
		}
		name, why := checkArgument(arg)
		if why == "" && seen[name] {
			why = "--" + name + " is there twice. Remove one of them."
		}
		if seen[name] = true; why != "" {
			faults = append(faults, ArgumentFault{i, why})
		}
	}
	return faults
}

// aSwitch is the form of a switch's name. Chrome lowers names on Windows alone, and takes "-" and "/" for "--" there.
var aSwitch = regexp.MustCompile(`^--([a-z0-9]+(?:-[a-z0-9]+)*)(?:=(.*))?$`)

// checkArgument returns the name of an argument's switch, and why it is refused; "": it is allowed.
func checkArgument(arg string) (name, why string) {
	parts := aSwitch.FindStringSubmatch(arg)
	if parts == nil || len(parts[1]) > 60 {
		return arg, "Write a switch as --name or --name=value, in small letters."
	}
	name, value := parts[1], parts[2]
	valid, allowed := allowedArguments[name]
	switch {
	case !allowed:
		return name, "--" + name + " is refused. " + refusalOf(name)
	case valid == nil && strings.Contains(arg, "="):
		return name, "--" + name + " takes no value. Leave out = and what follows."
	case valid != nil:
		if rule, ok := valid(value); !ok {
			return name, "--" + name + " takes " + rule + "."
		}
	}
	return name, ""
}

// refusalOf returns why a switch is not on the list.
func refusalOf(name string) string {
	var found string
	for _, r := range refusedArguments {
		if slices.ContainsFunc(r.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			found = cmp.Or(found, r.why)
		}
	}
	return cmp.Or(found, unknownArgument)
}
