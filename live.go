package main

import (
	"net/http"
	"strings"

	"warren/shim"
)

// This file lets viewers of the live view in: by a capability, or by the API key. What they see and send is the run's process's to handle.

// capabilityLive is /live/<capability>/…: who has the capability watches and works that run without a key, or watches alone when
// the capability is readonly.
func (s *server) capabilityLive(w http.ResponseWriter, r *http.Request) error {
	secret, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/live/"), "/")
	c := s.runs.withCapability(secret)
	if c == nil {
		return noSuchRun()
	}
	done, err := s.streams.enter(c.Key)
	if err != nil {
		return err
	}
	defer done()
	ctx, leave := c.hold(r.Context())
	defer leave()
	r = r.WithContext(ctx)
	return s.passLive(w, r, c.run, shim.Rights{Readonly: c.Readonly, Files: c.Files}, "/live/"+secret)
}

// profileLive is /api/v1/profiles/{id}/live/…: the same for who has a key.
func (s *server) profileLive(w http.ResponseWriter, r *http.Request) error {
	return s.withKey(r, func(r *http.Request, run *profileRun) error {
		return s.passLive(w, r, run, shim.Rights{Files: callerOf(r.Context()).has(scopeFiles)}, apiPrefix+"/profiles/"+r.PathValue("id")+"/live")
	})
}

func (s *server) passLive(w http.ResponseWriter, r *http.Request, run *profileRun, may shim.Rights, prefix string) error {
	client, err := run.process()
	if err != nil {
		return err
	}
	may.Readonly = may.Readonly || asksToWatch(r)
	client.Live(may, prefix, s.runIsOver).ServeHTTP(w, r)
	return nil
}

// asksToWatch says whether the viewer wants no more than to watch: ?readonly=1. Only a plain no means no.
func asksToWatch(r *http.Request) bool {
	for name, values := range r.URL.Query() {
		if name != "readonly" {
			continue
		}
		for _, v := range values {
			if v != "0" && v != "false" {
				return true
			}
		}
	}
	return false
}
