package shim

import (
	"os"
	"testing"
)

// Where PSS cannot be read, private memory is at least what the process allocated. The race detector adds to it.
func TestPrivateMemory(t *testing.T) {
	before := privateBytes(os.Getpid())
	block := make([]byte, 64<<20)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	grown := privateBytes(os.Getpid()) - before
	share, err := pssOf(os.Getpid())
	if grown < 60<<20 || grown > 1<<30 || err != nil || share < 60<<20 {
		t.Errorf("64 MiB more: private %d more, share %d, %v", grown, share, err)
	}
	block[0] = 0
}
