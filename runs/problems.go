package runs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"warren/disk"
	"warren/identity"
	"warren/pool"
	"warren/problem"
	"warren/shim"
)

// Defines the errors of starts and runs.

// Messages of faults that the API finds too.
const (
	NotInWorkspace = "This proxy is not in the profile's workspace. Choose another."
	LeakingWebRTC  = "WebRTC's default mode shows this computer's addresses past the proxy. Choose another mode."
)

func browserNotFound(err error) *problem.Error {
	return problem.New(problem.Unavailable, "browser_not_found", err.Error()).Because(err)
}

// StartQueueFull refuses a start while --max-queue others wait.
func StartQueueFull() *problem.Error {
	return problem.New(problem.TooMany, "start_queue_full",
		"Too many starts wait for their turn. Try again in a moment.").After(5 * time.Second)
}

// CancelledStart is the error of a start whose profile was stopped or deleted meanwhile. cancelledStart tells it from the server's stop.
func CancelledStart() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy", "The start was given up, because the profile was stopped meanwhile.")
}

// cancelledStart returns why a start was cancelled: the server stops, or its profile was stopped or deleted meanwhile.
func (m *Manager) cancelledStart() *problem.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return pool.Stopping()
	}
	return CancelledStart()
}

// notAnswering is for an adopted run whose process has not answered yet.
func notAnswering() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy",
		"The run of an earlier server does not answer. Stop it, with force if it must be, then start again.")
}

// LastWords is the output of a browser that failed, and its exit code if it has ended. browser_failed and start_timeout
// carry it.
type LastWords struct {
	ExitCode *int
	Lines    []string
}

// startProblem maps the error of a launch to a code. It has one case per kind of failure and reads best as one table.
func (m *Manager) startProblem(err error) error {
	var f *shim.Failure
	switch {
	case errors.As(err, &f):
	case errors.Is(err, context.Canceled):
		return m.cancelledStart()
	case errors.Is(err, context.DeadlineExceeded): // the shim itself did not answer
		f = &shim.Failure{Kind: "timeout"}
	case disk.IsFull(err):
		f = &shim.Failure{Kind: "disk_full"}
	case disk.IsBroken(err):
		return problem.DiskFailed(err)
	default:
		return problem.Hidden(err)
	}
	var p *problem.Error
	output := LastWords{Lines: f.Lines}
	switch f.Kind {
	case "cancelled":
		return m.cancelledStart()
	case "disk_full":
		return problem.DiskFull(err)
	case "unwritable":
		p = problem.New(problem.Unavailable, "browser_failed",
			"The browser was not started, because the profile's folder cannot be written. Give warren's user the right to "+
				"write everything in the data folder, then start again.")
	case "taken":
		p = problem.New(problem.Unavailable, "browser_failed", "The browser was not started: "+f.Message+".")
	case "not_found":
		p = problem.New(problem.Unavailable, "browser_not_found", f.Message)
	case "isolation_refused":
		p = isolationUnavailable(f)
	case "isolation_failed":
		p = problem.New(problem.Unavailable, "isolation_unavailable",
			"The browser was not started, because its namespaces could not be made this time: "+f.Message+
				". Try again; where it fails again, the machine is short of memory or processes.")
	case "locked":
		p = problem.New(problem.Conflict, "profile_running", "Another browser holds the profile's folder. Close it, then start again.")
	case "timeout":
		p = problem.New(problem.Timeout, "start_timeout",
			"The browser did not take commands in time, and was ended. `lines` holds what it said; --start-timeout gives it longer.")
	case "folder_unusable":
		p = problem.New(problem.Unavailable, "browser_failed",
			"The browser was not started, because the profile's folder cannot be used: "+f.Message+
				". Something else is in its place below profiles in the data folder, or its disk is gone. Correct "+
				"that, then start again.")
	case "killed":
		p = problem.New(problem.Unavailable, "browser_failed", "The run's process was killed while the browser started"+killedBy(f)+
			" `lines` holds its last output.")
	case "failed":
		p = problem.New(problem.Unavailable, "browser_failed", "The browser ended while it started"+killedBy(f)+
			" `exitCode` and `lines` say how; `warren doctor` looks for the cause.")
		output.ExitCode = &f.ExitCode
	default:
		return problem.Hidden(err)
	}
	return p.With(output).Because(err)
}

// killedBy completes a message about a process that died during a start, with the signal and a hint at low memory. It knows what Chrome
// says that can make no sandbox (content/browser/zygote_host/zygote_host_impl_linux.cc), and where it has no word for the kernel's refusal,
// as AppArmor's (sandbox/linux/services/credentials.cc).
func killedBy(f *shim.Failure) string {
	lines := strings.Join(f.Lines, "\n")
	switch {
	case strings.Contains(lines, "No usable sandbox!"), strings.Contains(lines, ":FATAL:sandbox/linux/services/credentials.cc"):
		return ": Chrome can make no sandbox without user namespaces."
	case f.Memory:
		return ": the system has killed a process meanwhile, since memory ran short. Close something, or give the machine, its " +
			"control group or the profile's limits more memory, then start again."
	case f.Signal == "killed":
		return " (" + f.Signal + "). Is the machine short of memory?"
	case f.Signal != "":
		return " (" + f.Signal + ")."
	}
	return "."
}

// isolationUnavailable explains why the kernel cannot isolate a run that requires it, and what to do.
func isolationUnavailable(f *shim.Failure) *problem.Error {
	text := "The browser was not started, because it cannot be isolated by the kernel as it must be: " + f.Message + "."
	if f.Advice != "" {
		text += " What helps: " + f.Advice + "."
	}
	if os.Geteuid() == 0 {
		text += " Or run warren as an ordinary user: then Chrome's flags isolate it, and start warns of that."
	} else {
		text += " Without --require-isolation Chrome's flags isolate it, and start warns of that."
	}
	return problem.New(problem.Unavailable, "isolation_unavailable", text)
}

// CannotEnd is the error of a stop whose process does not react.
func CannotEnd() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy",
		"The run's process does not answer and could not be ended. The log says which one it is: end it by hand, then stop again.")
}

// NotRunning refuses an operation that needs a running browser.
func NotRunning() *problem.Error {
	return problem.New(problem.Conflict, "profile_not_running", "The profile does not run. Start it first.")
}

// CapabilityLimit refuses one more capability of a run.
func CapabilityLimit() *problem.Error {
	return problem.New(problem.Conflict, "capability_limit",
		"The run has as many capabilities as it may: 100 that were made, and one for each of 1,000 keys. Revoke those that "+
			"nobody needs (GET lists those that were made), or have them expire (expiresInMs).")
}

// CapabilityBusy is the error of a capability change that the run's process refused.
func CapabilityBusy(err error) *problem.Error {
	return problem.New(problem.Conflict, "profile_busy",
		"The run's process did not take the change. Try again; if that does not help, stop the profile.").Because(err)
}

// StartsJustNow refuses operations on files while a start empties their folder.
func StartsJustNow() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy",
		"The profile is starting, which empties its folder, or stops just now. Ask again in a moment.")
}

// NoDownload is the error for an unknown download.
func NoDownload() *problem.Error {
	return problem.New(problem.NotFound, "download_not_found",
		"There is no file of this name. GET /profiles/{id}/downloads lists what there is; "+
			"it is kept until the profile starts the next time.")
}

func tooLargeUpload(most int64) *problem.Error {
	return problem.New(problem.TooLarge, "body_too_large", fmt.Sprintf("The file is larger than %d bytes. Nothing was stored.", most))
}

// NoProxyToPick refuses a start if all proxies with its tag are dead or gone.
func NoProxyToPick() *problem.Error {
	return problem.New(problem.Conflict, "no_proxy_to_pick",
		"No proxy of the profile's workspace has this tag and is not known to be dead. Check them again, or name another tag; "+
			"nothing is started directly.")
}

func proxyMissing() *problem.Error {
	return problem.New(problem.Conflict, "proxy_missing", "The profile's proxy was deleted while it was in the trash. "+
		"Set proxyId to a proxy, or to null for a direct connection, then start again.")
}

// BrowserTooOld refuses a browser older than the one that last opened the profile.
func BrowserTooOld(last string, major int, b shim.Installed) *problem.Error {
	return problem.New(problem.Conflict, "browser_too_old",
		fmt.Sprintf("The profile was last opened with version %s, and would now be with %s %s, which would damage what the newer one "+
			"wrote. Let browserVersion name a version from %d on, and install one where there is none (`warren browser install %d`), or "+
			"start with {\"allowDowngrade\":true}: then the profile's data are copied first.", last, b.Product, b.Version, major, major))
}

func capacityExceeded(cfg Config) *problem.Error {
	return problem.New(problem.Unavailable, "capacity_exceeded",
		fmt.Sprintf("As many browsers run as this server may have (%d, --max-running), and none of them ended within %v. Stop "+
			"one, or try again later.", cfg.MaxRunning, cfg.QueueTimeout)).After(10 * time.Second)
}

// abandonedStart is returned when every waiting client has left. A client that joins at that moment retries.
func abandonedStart() *problem.Error {
	return problem.New(problem.Cancelled, "cancelled", "The start was cancelled, because no client waited for it any more.")
}

// IdentityMismatch refuses a start whose profile contradicts its proxy's exit.
func IdentityMismatch(found []identity.Mismatch) *problem.Error {
	p := problem.New(problem.Invalid, "identity_mismatch",
		"The browser was not started, because the profile's consistency is block and what it declares does not fit where its "+
			"proxy comes out. `errors` names each contradiction and what to do.")
	for _, f := range found {
		p.Faults = append(p.Faults, problem.Fault{Location: f.Location, Message: f.Message})
	}
	return p
}
