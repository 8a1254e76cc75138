package main

import (
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
