package api

import (
	"fmt"
	"strings"
	"testing"
)

// What may stand in for a profile's proxy: others of its workspace, each once. They cannot be deleted, but for the trash's.
func TestFallbackFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	mine, one, two, theirs := a.proxy(t), a.proxy(t, "port", 1), a.proxy(t, "port", 2), a.proxy(t, "workspaceId", "other")
	list := func(ids ...string) string { return `["` + strings.Join(ids, `","`) + `"]` }
	id := a.profile(t, "proxyId", mine)
	for _, c := range []struct {
		body   string
		faults []string
	}{
		{`{"fallbackProxyIds":` + list(one, theirs, "nobody", one, mine) + `,"fallbackCountry":"near"}`,
			[]string{"body.fallbackCountry", "body.fallbackProxyIds[1]", "body.fallbackProxyIds[2]", "body.fallbackProxyIds[3]",
				"body.fallbackProxyIds[4]"}},
		{`{"fallbackProxyIds":` + list(strings.Split(strings.Repeat(one+",", 11), ",")[:11]...) + `}`, []string{"body.fallbackProxyIds"}},
		{`{"proxyId":"` + one + `","fallbackProxyIds":` + list(two, one) + `}`, []string{"body.fallbackProxyIds[1]"}},
	} {
		a.do(t, "PUT", "/profiles/"+id, c.body).invalid(t, c.faults...)
		a.do(t, "POST", "/profiles", strings.Replace(c.body, "{", `{"name":"x","proxyId":"`+mine+`",`, 1))
	}
	a.do(t, "PUT", "/profiles/"+id, `{"fallbackProxyIds":`+list(one, two)+`}`).want(t, 200).equal(t, "fallbackCountry", "same")
	a.do(t, "PUT", "/profiles/"+id, `{"proxyId":"`+two+`"}`).invalid(t, "body.proxyId")
	a.do(t, "PUT", "/profiles/"+id, `{"proxyId":"`+two+`","fallbackProxyIds":`+list(mine)+`}`).want(t, 200)
	a.do(t, "PUT", "/profiles/"+id, `{"proxyId":"`+mine+`","fallbackProxyIds":`+list(one)+`}`).want(t, 200)
	direct := a.profile(t, "fallbackProxyIds", []string{one}) // without effect, until it has a proxy
	r := a.do(t, "DELETE", "/proxies/"+one, nil).refused(t, 409, "proxy_in_use")
	if users := fmt.Sprint(r.at("profileIds")); !strings.Contains(users, id) || !strings.Contains(users, direct) {
		t.Errorf("it is in use by %s", users)
	}
	a.do(t, "DELETE", "/profiles/"+direct, nil).want(t, 204)
	a.do(t, "DELETE", "/proxies/"+one, nil).refused(t, 409, "proxy_in_use")
	a.do(t, "PUT", "/profiles/"+id, `{"fallbackProxyIds":null}`).want(t, 200).equal(t, "fallbackProxyIds", []any{})
	a.do(t, "DELETE", "/proxies/"+one, nil).want(t, 204)
	a.do(t, "POST", "/profiles/"+direct+"/restore", nil).want(t, 200) // it names one that is gone, which a start leaves out
	a.do(t, "PUT", "/profiles/"+direct, `{"proxyId":"`+mine+`"}`).want(t, 200)
}
