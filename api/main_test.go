package api

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"

	"warren/shim"
)

// TestMain lets the test binary be the child process that enters a namespace, as the server's binary is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == shim.ChildArgument {
		if shim.EnterNamespace() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.FileBodyDecoder) // a text, to the validator
	flag.Parse()
	if at := flag.Lookup("test.parallel"); at.Value.String() == at.DefValue {
		at.Value.Set("6") //nolint:errcheck // a number; many tests wait for a timer
	}
	debug.SetGCPercent(400)       // the schemas of the document are compiled for each answer
	debug.SetMemoryLimit(3 << 30) // package testing keeps what clean-ups refer to until all tests have ended: each API, 10 MB
	os.Exit(m.Run())
}
