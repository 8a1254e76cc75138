package browser

import (
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
	args := []string{
		"--user-data-dir=" + b.spec.UserDataDir,
		"--profile-directory=" + profileFolder, // not the one that a person opened last: only this one is prepared
		"--remote-debugging-pipe",
	}
	args = append(args, networkFlags(b.Listener().Addr(), b.spec.WebRTC)...)
	args = append(args, quietFlags()...)
	args = append(args, sharedMemoryFlags()...)
	args = append(args, "--restore-last-session", "--hide-crash-restore-bubble")
	if b.spec.Headless {
		args = append(args, "--headless=new")
	}
	args = append(args, b.emulation.flags()...)
	if b.spec.TrustSPKI != "" {
		args = append(args, "--ignore-certificate-errors-spki-list="+b.spec.TrustSPKI)
	}
	if !hasSession(b.spec.UserDataDir) {
		args = append(args, BlankPage)
	}
	return args
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
