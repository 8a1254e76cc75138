package shim

import (
	"bytes"
	"os"
	"strings"
	"unicode"
)

// Explains how the processes of a failed start died.

// noReport is the message for a shim that exited without its report.
const noReport = "the run's process ended without a report"

// explainCrash adds to a failed start how the shim died, if it died without a report. A signal means that it was
// killed. logged is the path of the shim's log.
func explainCrash(f *Failure, state *os.ProcessState, logged string) {
	if f.Message != noReport {
		return
	}
	f.Lines = logTail(logged)
	if signal := exitSignal(state); signal != "" {
		f.Kind, f.Signal, f.Message = "killed", signal, "the run's process was ended by a signal ("+signal+")"
	}
}

// The size of a log's tail: lines, and bytes in all.
const (
	tailLines = 20
	tailBytes = 4 << 10
)

// logTail returns the last lines of a file, without characters that are harmful in terminals and logs.
func logTail(path string) (out []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	text = bytes.ToValidUTF8(text[max(0, len(text)-tailBytes):], nil)
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		clean := strings.Map(func(r rune) rune {
			if r == '\t' || unicode.IsPrint(r) {
				return r
			}
			return -1
		}, line)
		if clean != "" {
			out = append(out, clean)
		}
	}
	return out[max(0, len(out)-tailLines):]
}
