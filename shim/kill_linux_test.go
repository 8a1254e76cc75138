package shim

import (
	"path/filepath"
	"testing"
	"time"

	"warren/testnet"
)

// A hanging shim is ended by the server that started it and by one that only watches it. Its browser ends with it.
func TestHangingShimIsEnded(t *testing.T) {
	for _, adopted := range []bool{false, true} {
		s := newSpec(t)
		c, state := launch(t, s)
		shim := c.cmd.Process.Pid
		testnet.Pause(t, shim)
		ends := c
		if adopted {
			ends = Hold(s.RunDir, s.Name, s.ProfileDir)
		}
		if err := ends.Abandon(100 * time.Millisecond); err != nil {
			t.Errorf("adopted %v: %v", adopted, err)
		}
		await(t, "the run's end", c.Done())
		if c.End().Outcome != Lost || ends.End().Outcome != Lost {
			t.Errorf("adopted %v: the run ended %+v, %+v", adopted, c.End(), ends.End())
		}
		if left := processesWith([]string{"--user-data-dir=" + userDataDir(s.ProfileDir)}); len(left) > 0 {
			t.Errorf("adopted %v: the browser %d goes on: %v", adopted, state.PID, left)
		}
		Forget(s.RunDir, s.Name)
		wantNothing(t, s)
	}
}

// A socket on which no process listens, and a missing one, kill no process.
func TestNobodyListens(t *testing.T) {
	if err := killListener(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a process was ended")
	}
}
