package api

import (
	"net/http"
	"strings"

	"warren/runs"
)

// Connects viewers with the live view of a run, by a capability or an API key. The process of the run handles frames and input.

// capabilityLive serves /live/<capability>/… without a key. A readonly capability only watches.
func (s *API) capabilityLive(w http.ResponseWriter, r *http.Request) error {
	secret, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/live/"), "/")
	c := s.runs.OpenedBy(secret)
	if c == nil {
		return noSuchRun()
	}
	done, err := s.keyQuota.acquire(c.Key)
	if err != nil {
		return err
	}
	defer done()
	ctx, release := c.Hold(r.Context())
	defer release()
	r = r.WithContext(ctx)
	process, err := c.Process()
	if err != nil {
		return err
	}
	return s.serveLive(w, r, process, runs.Rights{Readonly: c.Readonly, Files: c.Files}, "/live/"+secret)
}

// profileLive serves /api/v1/profiles/{id}/live/… for callers with a key.
func (s *API) profileLive(w http.ResponseWriter, r *http.Request) error {
	return s.withKey(r, func(r *http.Request, process *runs.Process) error {
		return s.serveLive(w, r, process, runs.Rights{Files: callerOf(r.Context()).has(scopeFiles)},
			Prefix+"/profiles/"+r.PathValue("id")+"/live")
	})
}

func (s *API) serveLive(w http.ResponseWriter, r *http.Request, process *runs.Process, may runs.Rights, prefix string) error {
	may.Readonly = may.Readonly || asksReadonly(r)
	process.Live(may, prefix, s.writeRunNotFound).ServeHTTP(w, r)
	return nil
}

// asksReadonly reports whether the viewer asks for ?readonly. Only 0 and false mean no.
func asksReadonly(r *http.Request) bool {
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
