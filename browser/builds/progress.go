package builds

import (
	"fmt"
	"net/url"
	"regexp"
)

// Step is a part of an installation.
type Step string

// The steps, in order. A build that is installed already has none of them, or only the first.
const (
	Looking     Step = "looking"     // the list of builds is read
	Downloading Step = "downloading" // the archive is fetched
	Unpacking   Step = "unpacking"
	Checking    Step = "checking" // the browser is run with --version, and written to disk
)

// Progress says how far an installation is. The bytes are those of the archive.
type Progress struct {
	Step       Step
	Address    string // of the archive, without user, password and query; "" before it is known
	DoneBytes  int64
	TotalBytes int64 // 0: not known
}

// tell passes progress on, if somebody listens.
func (in Installation) tell(p Progress) {
	if in.Progress != nil {
		in.Progress(p)
	}
}

// meter counts what is written to it, and tells so.
type meter struct {
	in  Installation
	now Progress
}

func (m *meter) Write(p []byte) (int, error) {
	m.now.DoneBytes += int64(len(p))
	m.in.tell(m.now)
	return len(p), nil
}

// Reason says for programs why an installation failed.
type Reason string

// The reasons that have a remedy of their own.
const (
	Unreachable Reason = "unreachable" // the mirror did not answer, or broke off
	NoBuild     Reason = "no_build"    // the mirror has no such build for this platform
	Untrusted   Reason = "untrusted"   // what came is not what was vouched for, or comes from a forbidden address
	Unusable    Reason = "unusable"    // the build does not run on this machine
)

// Failure is an installation that failed. Its text shows addresses without user, password and query, where mirrors keep tokens.
type Failure struct {
	Reason Reason
	cause  error
}

func fail(reason Reason, format string, args ...any) error {
	return &Failure{reason, fmt.Errorf(format, args...)}
}

// Error says what happened.
func (f *Failure) Error() string { return f.cause.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.cause }

// shown returns an address for people, without its secrets.
func shown(u *url.URL) string {
	plain := *u
	plain.User, plain.RawQuery, plain.Fragment = nil, "", ""
	return plain.String()
}

// IsVersion reports whether Install takes a version: a major, or all four numbers.
func IsVersion(version string) bool {
	return regexp.MustCompile(`^\d{1,5}(\.\d{1,5}\.\d{1,5}\.\d{1,5})?$`).MatchString(version)
}

// CheckMirror returns an error unless builds may be fetched from an address; "" is Chrome for Testing's own.
func CheckMirror(address string) error {
	_, err := openMirror(address)
	return err
}
