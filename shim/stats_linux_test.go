package shim

import (
	"os"
	"testing"
)

// Where shares may not be read, what a process has of its own is told: at least what it took, and more with the race detector.
func TestPrivateMemory(t *testing.T) {
	before := privateOf(os.Getpid())
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	grown := privateOf(os.Getpid()) - before
	share, err := shareOf(os.Getpid())
	if grown < 60<<20 || grown > 1<<30 || err != nil || share < 60<<20 {
		t.Errorf("64 MiB more: private %d more, share %d, %v", grown, share, err)
	}
	block[0] = 0
}
