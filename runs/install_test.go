package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"warren/problem"
)

// TestInstallProblem: a full disk says what to do. What has no remedy of its own is hidden, and its cause is for the log.
func TestInstallProblem(t *testing.T) {
	t.Parallel()
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := fmt.Errorf("unpacking: %w", &fs.PathError{Op: "write", Path: "x", Err: errno})
		if p := installProblem(err); p.Code != "disk_full" || p.Kind != problem.Storage || !errors.Is(p, errno) {
			t.Errorf("%v: %+v", errno, p)
		}
	}
	if p := installProblem(errors.New("secret")); p.Code != "internal" {
		t.Errorf("%+v", p)
	}
}
