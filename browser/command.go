package browser

import (
	"io/fs"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Arguments returns Chrome's command line without the program: the actual one after the launch, else the planned one. On Windows the start
// adds the handles of --remote-debugging-io-pipes. The flags are those of Chromium's switch lists (chrome_switches.cc, headless_switches,
// network_switches, content_switches).
func (b *Browser) Arguments() []string {
	if p := b.process(); p != nil {
		return slices.Clone(p.cmd.Args[1:])
	}
	// Of two switches with one name Chrome takes the later (base/command_line.cc): Warren's own count.
	args := slices.Concat(b.spec.Args, []string{
		"--user-data-dir=" + b.spec.UserDataDir,
		"--profile-directory=" + profileFolder, // not the one that a person opened last: only this one is prepared
		"--remote-debugging-pipe",
	}, networkFlags(b.Listener().Addr(), b.spec.WebRTC), quietFlags(), sharedMemoryFlags(),
		[]string{"--restore-last-session", "--hide-crash-restore-bubble"})
	if b.spec.Headless {
		args = append(args, "--headless=new")
	}
	args = append(args, b.emulation.flags()...)
	if b.spec.TrustSPKI != "" {
		args = append(args, "--ignore-certificate-errors-spki-list="+b.spec.TrustSPKI)
	}
	if b.spec.Offline { // no site's code runs, so that sites share processes; that halves the time of a visit
		args = append(args, b.withoutExtensions(), "--disable-site-isolation-trials", "--renderer-process-limit=2")
	}
	if len(b.spec.Extensions) > 0 || b.spec.Clear != nil {
		args = append(args, "--enable-unsafe-extension-debugging") // Chrome before 139 has CDP's domain Extensions only with it
	}
	if !hasSession(b.spec.UserDataDir) {
		args = append(args, BlankPage)
	}
	return args
}

// withoutExtensions keeps the profile's extensions from an offline run, but for the one that clears data.
func (b *Browser) withoutExtensions() string {
	if b.spec.Clear != nil {
		return "--disable-extensions-except=" + clearerFolder(&b.spec)
	}
	return "--disable-extensions"
}

// Environment returns Chrome's environment as "KEY=value". It passes on only what a browser needs, since this process' environment may hold
// secrets.
func (b *Browser) Environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		if key, _, ok := strings.Cut(entry, "="); ok && passedOn(key) {
			env = append(env, entry)
		}
	}
	for _, key := range tempVariables() {
		env = setVariable(env, key+"="+b.spec.TempDir)
	}
	if b.spec.HomeDir != "" && runtime.GOOS == "linux" {
		env = ownHome(env, b.spec.HomeDir)
	}
	env = withoutPrograms(env, b.spec.TempDir)
	env = b.emulation.environment(env)
	for _, entry := range b.spec.ExtraEnv {
		env = setVariable(env, entry)
	}
	slices.Sort(env)
	return env
}

// Warren's own flags are a fixed list. The only variable values are the folders' paths, the relay's address, and those of the emulation.
// Of what a user of the API enters only Spec.Args gets here, from a list (arguments.go). Start pages are opened through DevTools.

// networkFlags keep all traffic on the relay. Names are not resolved locally; if an extension sets another proxy, nothing loads. Loopback
// and link-local addresses use the relay too, and WebRTC opens no UDP. With these flags no packet leaves beside the relay (measured).
//
// With WebRTCDefault, WebRTC is unrestricted and resolves the names of its servers itself.
func networkFlags(relay net.Addr, webrtc WebRTC) []string {
	host, _, _ := net.SplitHostPort(relay.String())
	// The last two are lists below the address bar, which Chrome would draw as pages of its own: two renderers more at each start.
	off := "MediaRouter,DialMediaRouteProvider,OptimizationHints,NetworkTimeServiceQuerying,Translate,AutofillServerCommunication," +
		"WebUIOmniboxPopup,WebUIOmniboxAimPopup"
	flags := []string{
		"--proxy-server=socks5://" + relay.String(),
		"--proxy-bypass-list=<-loopback>",
	}
	if webrtc != WebRTCDefault {
		off = "WebRtcHideLocalIpsWithMdns," + off
		flags = append(flags,
			"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE "+host,
			"--webrtc-ip-handling-policy="+webrtcPolicy,
			"--force-webrtc-ip-handling-policy="+webrtcPolicy, // its name in older versions
		)
	}
	return append(flags, "--disable-features="+off) // a second such flag would replace the first
}

// quietFlags disable what Chrome does by itself: its own traffic, questions at the first start, the system's key ring.
func quietFlags() []string {
	flags := []string{
		"--disable-background-networking",
		"--disable-component-update",
		// Update checks that the previous flag leaves, at the start and a minute later, go to a port that Chrome itself refuses
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

// hasSession reports whether the profile has tabs to restore. Chrome opens a page of the command line beside them, so a blank page would be
// added at every start.
func hasSession(userDataDir string) bool {
	found, _ := fs.Glob(os.DirFS(userDataDir), profileFolder+"/Sessions/Session_*") // the pattern is well formed
	return len(found) > 0
}
