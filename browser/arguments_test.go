//go:build !windows

package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAllowedArguments: each switch of the list is taken with the values that it may have, and with no others.
func TestAllowedArguments(t *testing.T) {
	with := map[string]string{"autoplay-policy": "no-user-gesture-required", "disk-cache-size": "104857600", "force-color-profile": "srgb"}
	var all []string
	for _, name := range AllowedArguments() {
		arg := "--" + name
		if with[name] != "" {
			if CheckArguments([]string{arg}) == nil || CheckArguments([]string{arg + "="}) == nil ||
				CheckArguments([]string{arg + "=x"}) == nil {
				t.Errorf("%s is taken without a value, or with any", arg)
			}
			arg += "=" + with[name]
		} else if CheckArguments([]string{arg + "="}) == nil || CheckArguments([]string{arg + "=1"}) == nil {
			t.Errorf("%s is taken with a value", arg)
		}
		all = append(all, arg)
	}
	if faults := CheckArguments(all); faults != nil || len(all) < 20 || len(all) > maxArguments {
		t.Errorf("%d switches: %v", len(all), faults)
	}
	for _, size := range []string{"0", "-1", "+1048576", "01048576", "1e9", "2147483648", "99999999999999999999", " 1048576"} {
		if CheckArguments([]string{"--disk-cache-size=" + size}) == nil {
			t.Errorf("a cache of %q is taken", size)
		}
	}
}

// TestRefusedArguments: what opens a hole is refused with its reason, and everything that nobody knows is too.
func TestRefusedArguments(t *testing.T) {
	for why, args := range map[string]string{
		"relay": "proxy-server=socks5://u:secret@h:1 proxy-pac-url=file:///x proxy-bypass-list=* no-proxy-server proxy-auto-detect " +
			"host-resolver-rules=x host-rules=x dns-over-https-mode enable-quic webrtc-ip-handling-policy=default " +
			"force-webrtc-ip-handling-policy=default winhttp-proxy-resolver component-updater=x",
		"other programs": "remote-debugging-port=9222 remote-debugging-address=0.0.0.0 remote-debugging-pipe remote-allow-origins=* " +
			"auto-open-devtools-for-tabs",
		"file or a folder": "user-data-dir=/tmp profile-directory=x disk-cache-dir=/tmp log-file=/tmp/x enable-logging=stderr " +
			"log-net-log=/tmp/x crash-dumps-dir=/tmp use-file-for-fake-video-capture=/etc/passwd",
		"sandbox": "no-sandbox disable-setuid-sandbox no-zygote single-process in-process-gpu disable-site-isolation-trials " +
			"disable-web-security renderer-cmd-prefix=xterm gpu-launcher=x browser-subprocess-path=/tmp/x disable-seccomp-filter-sandbox " +
			"allow-file-access-from-files renderer-process-limit=1 process-per-site",
		"extensions":   "load-extension=/tmp/x disable-extensions-except=/tmp/x disable-extensions allowlisted-extension-id=x",
		"certificates": "ignore-certificate-errors ignore-certificate-errors-spki-list=x allow-insecure-localhost ssl-key-log-file=/tmp/x",
		"features": "enable-features=x disable-features=MediaRouter enable-blink-features=x disable-blink-features=AutomationControlled " +
			"blink-settings=imagesEnabled=false js-flags=--logfile=/tmp/x force-fieldtrials=x enable-automation",
		"`locale`":         "lang=de accept-lang=de",
		"`os`":             "user-agent=x",
		"`screen`":         "window-size=1,1 window-position=0,0 force-device-scale-factor=2 screen-info={1x1} start-maximized kiosk app=x",
		"`headless`":       "headless headless=old",
		"without asking":   "use-fake-ui-for-media-stream",
		"not be kept":      "incognito guest",
		"none of them":     "zygote-cmd x mute-audi mute-audio2 no-startup-window make-default-browser type=renderer",
		"in small letters": "Mute-Audio MUTE-AUDIO mute_audio mute-audio\n -mute-audio mute-audio\x00 \u00e4",
	} {
		for _, arg := range strings.Split(args, " ") {
			arg = strings.NewReplacer(`\n`, "\n", `\x00`, "\x00", `\u00e4`, "ä").Replace("--" + arg)
			faults := CheckArguments([]string{"--mute-audio", arg})
			if len(faults) != 1 || faults[0].Index != 1 || !strings.Contains(faults[0].Message, why) {
				t.Errorf("%q: %+v, want one that says %q", arg, faults, why)
			} else if strings.Contains(faults[0].Message, "secret") || strings.Contains(faults[0].Message, "passwd") {
				t.Errorf("%q: the message repeats the value: %s", arg, faults[0].Message)
			}
			s := Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: "/c", Args: []string{arg}}
			if _, err := Open(s); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("a run opens with %q: %v", arg, err)
			}
		}
	}
	for _, arg := range []string{"", "--", "-", "mute-audio", "/mute-audio", "https://example.com/", "--=x",
		"--" + strings.Repeat("a", 61)} {
		if CheckArguments([]string{arg}) == nil {
			t.Errorf("%q is taken", arg)
		}
	}
	if faults := CheckArguments([]string{"--mute-audio", "--disable-gpu", "--mute-audio"}); len(faults) != 1 || faults[0].Index != 2 {
		t.Errorf("a switch that is there twice: %+v", faults)
	}
	many := make([]string, maxArguments+2)
	for i := range many {
		many[i] = fmt.Sprintf("--no-%d", i)
	}
	if faults := CheckArguments(many); len(faults) != maxArguments+1 || !strings.Contains(faults[maxArguments].Message, "at most") {
		t.Errorf("%d faults of too many", len(faults))
	}
}

// TestNoArgumentOfOurs: no switch that a profile may add is one that Warren sets.
func TestNoArgumentOfOurs(t *testing.T) {
	needIsolation(t)
	b, err := Open(Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: tempDir(t), Headless: true, TrustSPKI: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, arg := range b.Arguments() {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if slices.Contains(AllowedArguments(), name) {
			t.Errorf("%s is Warren's own, and on the list", name)
		}
	}
}
