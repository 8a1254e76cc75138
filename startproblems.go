package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"warren/problem"
	"warren/shim"
)

// This file puts what a start can fail of into problems.

func browserNotFound(err error) *problem.Error {
	return problem.New(problem.Unavailable, "browser_not_found", err.Error()).Because(err)
}

func startQueueFull() *problem.Error {
	return problem.New(problem.TooMany, "start_queue_full", "Too many starts wait for their turn. Try again in a moment.").After(5 * time.Second)
}

func cancelledStart() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy", "The start was given up, because the profile was stopped meanwhile.")
}

// notAnswering is for a run of an earlier server whose process has not told of itself.
func notAnswering() *problem.Error {
	return problem.New(problem.Conflict, "profile_busy", "The run of an earlier server does not answer. Stop it, with force if it must be, then start again.")
}

// LastWords are what a browser said that failed, and its exit code where it ended. The errors browser_failed and start_timeout carry them.
type LastWords struct {
	ExitCode *int
	Lines    []string
}

// startProblem gives a failed launch its code.
func startProblem(err error) error {
	var f *shim.Failure
	switch {
	case errors.As(err, &f):
	case errors.Is(err, context.Canceled):
		return cancelledStart()
	case errors.Is(err, context.DeadlineExceeded): // not even the shim answered
		f = &shim.Failure{Kind: "timeout"}
	case errors.Is(err, syscall.ENOSPC):
		f = &shim.Failure{Kind: "disk_full"}
	default:
		return problem.Hidden(err)
	}
	var p *problem.Error
	said := LastWords{Lines: f.Lines}
	switch f.Kind {
	case "cancelled":
		return cancelledStart()
	case "disk_full":
		return problem.DiskFull(err)
	case "unwritable":
		p = problem.New(problem.Unavailable, "browser_failed", "The browser was not started, because the profile's folder cannot be written. Give warren's user the right to write everything in the data folder, then start again.")
	case "taken":
		p = problem.New(problem.Unavailable, "browser_failed", "The browser was not started: "+f.Message+".")
	case "not_found":
		p = problem.New(problem.Unavailable, "browser_not_found", f.Message)
	case "isolation_refused":
		p = isolationUnavailable(f)
	case "isolation_failed":
		p = problem.New(problem.Unavailable, "isolation_unavailable", "The browser was not started, because its namespaces could not be made this time: "+f.Message+". Try again; where it fails again, the machine is short of memory or processes.")
	case "locked":
		p = problem.New(problem.Conflict, "profile_running", "Another browser holds the profile's folder. Close it, then start again.")
	case "timeout":
		p = problem.New(problem.Timeout, "start_timeout", "The browser did not take commands in time, and was ended. `lines` holds what it said; --start-timeout gives it longer.")
	case "folder_unusable":
		p = problem.New(problem.Unavailable, "browser_failed", "The browser was not started, because the profile's folder cannot be used: "+f.Message+". Below profiles in the data folder stands something else in its place, or it is on a disk that has gone. Put it right, then start again.")
	case "killed":
		p = problem.New(problem.Unavailable, "browser_failed", "The run's process was killed while the browser started"+killedBy(f)+" `lines` holds its last words.")
	case "failed":
		p = problem.New(problem.Unavailable, "browser_failed", "The browser ended while it started"+killedBy(f)+" `exitCode` and `lines` say how; `warren doctor` looks for the cause.")
		said.ExitCode = &f.ExitCode
	default:
		return problem.Hidden(err)
	}
	return p.With(said).Because(err)
}

// killedBy ends a sentence about a process that died during a start: what killed it, and whether the machine is short of memory.
func killedBy(f *shim.Failure) string {
	switch {
	case f.Memory:
		return ": the system has killed a process meanwhile, since memory ran short. Close something, or give the machine or its control group more memory, then start again."
	case f.Signal == "killed":
		return " (" + f.Signal + "). Is the machine short of memory?"
	case f.Signal != "":
		return " (" + f.Signal + ")."
	}
	return "."
}

// isolationUnavailable says why a run that must be isolated by the kernel is not started, and what to do.
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
