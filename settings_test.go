package main

import (
	"fmt"
	"testing"
)

// TestSettings: what the server shows of its flags is in force, is told from the defaults, and has no secret.
func TestSettings(t *testing.T) {
	t.Parallel()
	cfg := serveConfig{Listen: "127.0.0.1:7777", CheckURL: []string{"https://me:hush@ip.example/json?token=hush"}, MaxRunning: 20,
		APIKey: "hush", Headless: "auto"}
	shown := map[string]string{}
	for _, s := range cfg.settings() {
		shown[s.Name] = fmt.Sprint(s.Values, s.Changed)
	}
	for name, want := range map[string]string{"listen": "[127.0.0.1:7777] false", "max-running": "[20] true", "headless": "[auto] false",
		"check-url": "[https://ip.example/json?…] true", "keep-browsers": "[false] false", "geoip": "[] false"} {
		if shown[name] != want {
			t.Errorf("%s is shown as %q, want %q", name, shown[name], want)
		}
	}
	if cfg.CheckURL[0] != "https://me:hush@ip.example/json?token=hush" {
		t.Error("what is shown changed the settings")
	}
}
