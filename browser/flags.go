package browser

import (
	"io/fs"
	"net"
	"os"
	"runtime"
)

// This file decides what Chrome is given. The list is fixed: the only values in it are the two folders' paths and the relay's address.
// Nothing that a user of the API types ever gets here; start pages are opened over DevTools.

// networkFlags keep every byte on the relay: names are not resolved here (also when an extension sets another proxy: then nothing works
// at all), loopback and link-local go through the relay too, WebRTC opens no UDP. Measured: with these no packet leaves beside the relay.
//
// With WebRTCDefault, WebRTC is as Chrome has it, and looks up the names of its servers itself.
func networkFlags(relay net.Addr, webrtc WebRTC) []string {
	host, _, _ := net.SplitHostPort(relay.String())
	off := "MediaRouter,DialMediaRouteProvider,OptimizationHints,NetworkTimeServiceQuerying,Translate,AutofillServerCommunication"
	flags := []string{
		"--proxy-server=socks5://" + relay.String(),
		"--proxy-bypass-list=<-loopback>",
	}
	if webrtc != WebRTCDefault {
		off = "WebRtcHideLocalIpsWithMdns," + off
		flags = append(flags,
			"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE "+host,
			"--webrtc-ip-handling-policy="+webrtcPolicy,
			"--force-webrtc-ip-handling-policy="+webrtcPolicy, // the same in older versions
		)
	}
	return append(flags, "--disable-features="+off) // one list only: a second one would replace the first
}

// quietFlags stop what Chrome does by itself: its own traffic, questions at the first start, the system's key ring.
func quietFlags() []string {
	flags := []string{
		"--disable-background-networking",
		"--disable-component-update",
		// What the flag above leaves still asks for updates, at the start and after a minute. It asks here: a port that Chrome itself refuses
		// (components/component_updater/component_updater_command_line_config_policy.cc; net/base/port_util.cc).
		"--component-updater=url-source=https://127.0.0.1:9/",
		"--disable-domain-reliability",
		"--disable-sync",
		"--no-pings",
		"--disable-breakpad",
		"--no-first-run",
		"--no-default-browser-check",
		"--disable-search-engine-choice-screen",
	}
	if runtime.GOOS == "linux" {
		flags = append(flags, "--password-store=basic")
	}
	return flags
}

// hasSession reports whether the profile has tabs to restore. Chrome opens a page of the command line beside the restored
// tabs, so that a blank one would be added at every start.
func hasSession(userDataDir string) bool {
	found, _ := fs.Glob(os.DirFS(userDataDir), profileFolder+"/Sessions/Session_*") // the pattern is well formed
	return len(found) > 0
}
