package shim

import (
	"bytes"
	"os"
	"strings"
	"unicode"
)

// This file says of a start that came to nothing how its processes died.

// noReport is the message of a shim that ended without its one line.
const noReport = "the run's process ended without a report"

// explainDeath adds to the failure of a start how the shim died, when it died without a word: by a signal, it was killed. logged is the shim's log.
func explainDeath(f *Failure, state *os.ProcessState, logged string) {
	if f.Message != noReport {
		return
	}
	f.Lines = lastLines(logged)
	if signal := signalOf(state); signal != "" {
		f.Kind, f.Signal, f.Message = "killed", signal, "the run's process was ended by a signal ("+signal+")"
	}
}

// The last words of a process: so many lines, of so many bytes in all.
const (
	wordLines = 20
	wordBytes = 4 << 10
)

// lastLines are the last lines of a file, made harmless for terminals and logs.
func lastLines(path string) (out []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	text = bytes.ToValidUTF8(text[max(0, len(text)-wordBytes):], nil)
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
	return out[max(0, len(out)-wordLines):]
}
