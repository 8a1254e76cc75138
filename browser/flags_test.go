//go:build !windows

package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestArguments is the golden list: Chrome gets these flags and no others.
func TestArguments(t *testing.T) {
	needIsolation(t)
	dir := filepath.Join(t.TempDir(), "[pro] file*") // a path that a careless pattern would not match
	b, err := Open(Spec{Path: "/bin/true", UserDataDir: dir, TempDir: tempDir(t), Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	want := []string{
		"--user-data-dir=" + dir,
		"--profile-directory=Default",
		"--remote-debugging-pipe",
		"--proxy-server=socks5://" + b.Listener().Addr().String(),
		"--proxy-bypass-list=<-loopback>",
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--disable-features=WebRtcHideLocalIpsWithMdns,MediaRouter,DialMediaRouteProvider,OptimizationHints," +
			"NetworkTimeServiceQuerying,Translate,AutofillServerCommunication,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
		"--disable-background-networking",
		"--disable-component-update",
		"--component-updater=url-source=https://127.0.0.1:9/",
		"--disable-domain-reliability",
		"--disable-sync",
		"--no-pings",
		"--disable-breakpad",
		"--no-first-run",
		"--no-default-browser-check",
		"--disable-search-engine-choice-screen",
		"--password-store=basic",
		"--restore-last-session",
		"--hide-crash-restore-bubble",
		"--headless=new",
		"--screen-info={1440x900 devicePixelRatio=1}",
		"--window-size=1440,900",
		"--window-position=0,0",
		"about:blank",
	}
	if extra := sharedMemoryFlags(); extra != nil { // in a container
		want = slices.Insert(want, slices.Index(want, "--restore-last-session"), extra...)
	}
	drop := func(flag string) { want = slices.DeleteFunc(want, func(a string) bool { return a == flag }) }
	if runtime.GOOS != "linux" {
		drop("--password-store=basic")
	}
	if got := b.Arguments(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// With tabs to restore there is no page on the command line, and headed means without a flag.
	b.spec.Headless, b.emulation.headful = false, true
	for _, flag := range []string{
		"--headless=new", "--screen-info={1440x900 devicePixelRatio=1}", "--window-size=1440,900", "--window-position=0,0"} {
		drop(flag)
	}
	drop("about:blank")
	sessions := filepath.Join(dir, "Default", "Sessions")
	if err := os.MkdirAll(sessions, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sessions, "Session_13400000000000000"), []byte("SNSS"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := b.Arguments(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRunningArguments: the process has the arguments that Arguments returns.
func TestRunningArguments(t *testing.T) {
	p := newProfile(t)
	s := p.spec()
	s.Args = []string{"--mute-audio", "--autoplay-policy=no-user-gesture-required"}
	b := p.open(s)
	want := b.Arguments()
	if !slices.Equal(want[:2], s.Args) {
		t.Fatalf("the profile's own switches do not come first, where Warren's win: %q", want)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw := strings.Join(commandLine(b.PID()), " ") // Chrome may join them itself
	if want := p.path + " " + strings.Join(want, " "); raw != want {
		t.Errorf("got\n%s\nwant\n%s", raw, want)
	}
	if got := b.Arguments(); !slices.Equal(got, want) {
		t.Errorf("Arguments of the running browser: %q", got)
	}
}

// TestEnvironment: our own secrets do not reach Chrome, and a run's additions win.
func TestEnvironment(t *testing.T) {
	needIsolation(t)
	for key, value := range map[string]string{
		"WARREN_API_KEY": "canary", "AWS_SECRET_ACCESS_KEY": "canary", "https_proxy": "http://canary", "SSLKEYLOGFILE": "canary",
		"LD_PRELOAD": "canary",
		"LANG":       "C.UTF-8", "TZ": "Europe/Berlin", "XDG_RUNTIME_DIR": "/run/user/1",
	} {
		t.Setenv(key, value)
	}
	temp := tempDir(t)
	b, err := Open(Spec{Path: "/bin/true", UserDataDir: "/a/b", TempDir: temp, ExtraEnv: []string{"TZ=Asia/Tokyo", "LANGUAGE=de"}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	env := b.Environment()
	path := os.Getenv("PATH")
	if runtime.GOOS == "linux" {
		path = filepath.Join(temp, programsFolder) + ":" + path
	}
	for _, want := range []string{
		"LANG=C.UTF-8", "TZ=Asia/Tokyo", "LANGUAGE=de", "XDG_RUNTIME_DIR=/run/user/1", "PATH=" + path, tempVariables()[0] + "=" + temp} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %v", want, env)
		}
	}
	if strings.Contains(strings.Join(env, " "), "canary") || slices.Contains(env, "TZ=Europe/Berlin") {
		t.Errorf("environment: %v", env)
	}
}

func TestExtraEnvReachesPages(t *testing.T) {
	p := newProfile(t)
	s := p.spec()
	s.ExtraEnv = []string{"TZ=Asia/Tokyo"}
	b := p.open(s)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.Timezone(); got != "Asia/Tokyo" {
		t.Errorf("time zone %q", got)
	}
}

func readJSON(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPreferencesAreMerged(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "Default", "Preferences")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	before := `{"big":13400000000000000123,` +
		`"webrtc":{"ip_handling_policy":"default","other":1},"spellcheck":{"dictionaries":["de"]},"alternate_error_pages":7,"name":"ü"}`
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeSettings(&Spec{UserDataDir: dir}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"alternate_error_pages":{"enabled":false},"big":13400000000000000123,"name":"ü","policy":{"url_blocklist":["file://` + dir +
		`/"]},"spellcheck":{"dictionaries":["de"]},"webrtc":{"ip_handling_policy":"disable_non_proxied_udp","other":1}}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := writeSettings(&Spec{UserDataDir: dir}); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.Stat(file); !os.SameFile(info, again) {
		t.Error("what needed no change was written again")
	}
}

func TestDamagedPreferencesAreSetAside(t *testing.T) {
	for _, damaged := range []string{``, `{"a":`, `[]`, `null`, "\x00\x00"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "Default", "Preferences")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeSettings(&Spec{UserDataDir: dir}); err != nil {
			t.Errorf("%q: %v", damaged, err)
		}
		if kept, _ := os.ReadFile(file + ".bad"); string(kept) != damaged {
			t.Errorf("%q was not kept", damaged)
		}
		if got := readJSON(t, file); got["webrtc"] == nil {
			t.Errorf("%q: got %v", damaged, got)
		}
	}
}

// TestPreferencesHold: Chrome accepts the preferences, and keeps them over a run.
func TestPreferencesHold(t *testing.T) {
	p := newProfile(t)
	p.start().Stop(t.Context(), false)
	all := readJSON(t, filepath.Join(p.dir, "Default", "Preferences"))
	webrtc, _ := all["webrtc"].(map[string]any)
	pages, _ := all["alternate_error_pages"].(map[string]any)
	if webrtc["ip_handling_policy"] != webrtcPolicy || pages["enabled"] != false || len(all) < 10 {
		t.Errorf("webrtc %v, alternate_error_pages %v, %d members", webrtc, pages, len(all))
	}
}
