package tests

import (
	"os/exec"
	"strings"
	"testing"

	"warren/identity"
)

// A TZ that names no zone is said, and browsers get the zone of /etc/localtime, not one that nobody has.
func TestUnknownZone(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	g := newTestbed(t)
	g.under = func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "TZ=Mars/Phobos") }
	s := g.serve()
	if log := s.log.String(); strings.Count(log, "names no time zone") != 1 || !strings.Contains(log, "Mars/Phobos") {
		t.Errorf("the log says\n%s", log)
	}
	var run struct {
		Effective struct{ Timezone string }
		Warnings  []struct{ Code string }
	}
	s.do("POST", "/profiles/"+s.profile(nil)+"/start", nil, 200, &run)
	if !identity.IsZone(run.Effective.Timezone) || len(run.Warnings) > 0 {
		t.Errorf("pages are told %+v", run)
	}
	if _, out, _ := exitOf(t, g.command("doctor")); !strings.Contains(out, "Mars/Phobos") {
		t.Errorf("doctor says\n%s", out)
	}
}
