package api

import (
	"testing"
)

// TestPickFaults: a pick without candidates is refused before anything is started, and never becomes a direct connection.
func TestPickFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	start := func(body string) *answer { return a.do(t, "POST", "/profiles/"+id+"/start", body) }
	start(`{"proxyId":{"tag":"none","pick":"random"}}`).refused(t, 409, "no_proxy_to_pick")
	start(`{"proxyId":{"tag":"none","pick":"random"},"dryRun":true}`).refused(t, 409, "no_proxy_to_pick")
	for _, body := range []string{`{"proxyId":{"tag":"de"}}`, `{"proxyId":{"pick":"random"}}`, `{"proxyId":{"tag":"de","pick":"best"}}`,
		`{"proxyId":{"tag":"","pick":"random"}}`,
		`{"proxyId":{"tag":"de","pick":"random","x":1}}`, `{"proxyId":7}`, `{"proxyId":[]}`} {
		start(body).want(t, 422)
	}
	start(`{"proxyId":"none"}`).invalid(t, "body.proxyId")
}
