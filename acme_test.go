package main

import (
	"net"
	"strings"
	"testing"
)

// TestACMESettings: names that no authority certifies, and a certificate of one's own beside, are refused, all at once.
func TestACMESettings(t *testing.T) {
	t.Parallel()
	var f faults
	c := serveConfig{ACME: []string{"warren.example.com", "192.0.2.1", "*.example.com", "warren", "a b.example", "2001:db8::1"},
		ACMEDirectory: "http://authority.example/", TLSCert: "cert.pem"}
	c.checkACME(&f)
	var said strings.Builder
	for _, err := range f {
		said.WriteString(err.Error() + "\n")
	}
	for _, want := range []string{"--tls-cert", `"192.0.2.1"`, `"*.example.com"`, `"warren"`, `"a b.example"`, `"2001:db8::1"`,
		"https://"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no word of %s in:\n%s", want, &said)
		}
	}
	if strings.Contains(said.String(), "warren.example.com\"") || len(f) != 7 {
		t.Errorf("%d faults:\n%s", len(f), &said)
	}
}

// TestOwnAddresses: the server answers at the ports of the API and of the metrics, and at 443 of the names that have certificates.
func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	c := serveConfig{Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0", ACME: []string{"Warren.example.com"}}
	at, err := c.listenAll()
	if err != nil {
		t.Fatal(err)
	}
	defer at.close()
	for what, target := range map[string]string{"the API": at.api.Addr().String(), "the metrics": at.metrics.Addr().String(),
		"a certified name": "warren.example.com:443", "what leads there": "127.0.0.1:443"} {
		host, port, err := net.SplitHostPort(target)
		if err != nil || !c.own(at).Leads(host, port) {
			t.Errorf("%s is not the server's own: %s (%v)", what, target, err)
		}
	}
	c.ACME = nil
	if c.own(at).Leads("127.0.0.1", "443") {
		t.Error("without certificates port 443 leads elsewhere")
	}
	busy := serveConfig{Listen: "127.0.0.1:0", MetricsListen: at.metrics.Addr().String()}
	if _, err := busy.listenAll(); err == nil || !strings.Contains(err.Error(), "--metrics-listen") {
		t.Errorf("a port that is taken: %v", err)
	}
}
