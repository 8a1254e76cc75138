package main

import (
	"context"
	"os"
	"strings"
)

// measureSize reports the size of the binary and the number of direct requirements.
func (b *bench) measureSize(context.Context) error {
	info, err := os.Stat(b.warren)
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "binary", unit: "MiB", ours: []float64{float64(info.Size()) / (1 << 20)}})
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	b.table = append(b.table, figure{name: "direct requirements in go.mod", ours: []float64{float64(direct(string(text)))}})
	return nil
}

// direct counts the requirements of a go.mod that are not marked as indirect (go.dev/ref/mod, go.mod files).
func direct(text string) (n int) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "require (":
			inside = true
		case line == ")":
			inside = false
		case line == "" || strings.HasSuffix(line, "// indirect"):
		case inside || strings.HasPrefix(line, "require "):
			n++
		}
	}
	return n
}
