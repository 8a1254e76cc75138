package testnet

import (
	"os"
	"testing"
)

// Long skips a long trial unless WARREN_LONG is set. `make test` stays short; `make test-long` runs every test that calls this.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("WARREN_LONG") == "" {
		t.Skip("a long trial: make test-long runs it")
	}
}
