package main

import (
	"os"
	"path/filepath"
)

// bench is one run of the program.
type bench struct {
	exe      string // this program, which also runs the floors as child processes
	warren   string // the binary under test
	dir      string // for all files; removed at the end
	rounds   int
	rows     int
	browsers int
	peerPart string   // of peers, what is measured; "": all
	cleanup  []func() // run in reverse order at the end
	table    []figure
	peers    []peerFigure
}

func newBench(warren string, rounds, rows, idle int) (*bench, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if warren, err = filepath.Abs(warren); err != nil {
		return nil, err
	}
	b := &bench{exe: exe, warren: warren, rounds: max(1, rounds), rows: max(1000, rows), browsers: max(1, idle)}
	b.dir, err = b.shortDir("warren-bench-")
	return b, err
}

func (b *bench) close() { b.cleanUp(0) }

// cleanUp runs what was registered behind the first functions, in reverse order.
func (b *bench) cleanUp(first int) {
	for i := len(b.cleanup) - 1; i >= first; i-- {
		b.cleanup[i]()
	}
	b.cleanup = b.cleanup[:first]
}
