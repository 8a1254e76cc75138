package api

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestWrongKeys: the 20th wrong key of an address within a minute gets 429. Valid keys still work from there. Requests without a key
// are not counted, and other addresses are not affected.
func TestWrongKeys(t *testing.T) {
	t.Parallel()
	a := newAPI(t, func(c *setup) { c.BehindProxy = []string{"127.0.0.0/8"} })
	from := func(key, address string) *answer {
		req := a.as(key).request(t, "GET", "/profiles", nil)
		req.Header.Set("X-Forwarded-For", "198.51.100.1, "+address) // the part from the client itself is ignored
		return a.send(t, req)
	}
	good, _ := a.newKey(t, "read")
	for i := range 40 {
		from("", "203.0.113.7").refused(t, 401, "unauthorized")
		r := from(fmt.Sprint("wrong", i), "203.0.113.7")
		if i < 19 {
			r.refused(t, 401, "unauthorized")
			continue
		}
		r.refused(t, 429, "rate_limited")
		if s, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || s < 1 || s > 61 {
			t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
		}
		from(good, "203.0.113.7").want(t, 200)
		from(a.key, "203.0.113.7").want(t, 200)
	}
	from("wrong", "203.0.113.8").refused(t, 401, "unauthorized")
	for i := range 20 { // one network of 64 bits is one address
		r := from(NewKey(), fmt.Sprintf("2001:db8:1:2:%x::1", i))
		if want := map[bool]int{true: 401, false: 429}[i < 19]; r.status != want {
			t.Errorf("the %d. wrong key of a network: got %s, want %d", i+1, r, want)
		}
	}
	from("wrong", "2001:db8:1:3::1").refused(t, 401, "unauthorized")
	if n := strings.Count(a.log.String(), "many wrong keys"); n != 2 {
		t.Errorf("the log tells of it %d times, want once for each of two", n)
	}
	for i := range 30 { // an expired ticket is not counted
		req := a.as("").request(t, "GET", "/profiles/x/live", nil)
		req.Header.Set("X-Forwarded-For", "203.0.113.9")
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "websocket")
		req.Header.Set("Sec-WebSocket-Protocol", fmt.Sprint("warren.ticket.wrong", i))
		a.send(t, req).refused(t, 401, "unauthorized")
	}
}

// TestAuthFailures: the window moves, and memory is bounded.
func TestAuthFailures(t *testing.T) {
	t.Parallel()
	g, at, here := newAuthFailures(), time.Now(), addressPrefix("192.0.2.1")
	for i := range 19 {
		if left, _ := g.record(here, at.Add(time.Duration(i)*time.Second)); left != 0 {
			t.Fatalf("the %d. is too many", i+1)
		}
	}
	// the second of them leaves the window then
	if left, first := g.record(here, at.Add(19*time.Second)); left != 42*time.Second || !first {
		t.Errorf("the 20th has to wait %v (first: %v), want 42s", left, first)
	}
	if left, first := g.record(here, at.Add(20*time.Second)); left != 42*time.Second || first {
		t.Errorf("the 21st has to wait %v (first: %v), want 42s", left, first)
	}
	if left, _ := g.record(here, at.Add(20*time.Second+authFailureWindow)); left != 0 {
		t.Errorf("a minute later it has to wait %v", left)
	}
	for i := range 3 * maxFailureAddresses {
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		g.record(addressPrefix(a.String()), at.Add(time.Duration(i)*time.Millisecond))
	}
	if len(g.byAddress) > maxFailureAddresses {
		t.Errorf("%d addresses are remembered, want %d at most", len(g.byAddress), maxFailureAddresses)
	}
	if a, b := addressPrefix("::ffff:192.0.2.1"), addressPrefix("fe80::1%eth0"); a.Bits() != 64 && a.Bits() != 32 || b.Bits() != 64 {
		t.Errorf("%v %v", a, b)
	}
}

// reset lets a test send more wrong keys than one address may.
func (g *authFailures) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.byAddress)
	g.order.Init()
}
