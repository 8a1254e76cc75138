package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"warren/shim"
	"warren/testnet"
)

// TestMain makes the test's own binary a run's process, or the child that enters a namespace, when it is called like one, as the server's
// is. Otherwise a server in a test, which keeps a spare process, would run all tests again, each with a server.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == shim.ChildArgument {
		os.Exit(exitCode(shim.EnterNamespace(), os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == "shim" {
		os.Exit(exitCode(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr), os.Stderr))
	}
	if err := testnet.ForgetSettings(); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}

// TestLibrariesWriteNoLog: what a server of a run's proxy says unasked, libraries write to the standard logger. From the program's first
// step on it goes nowhere.
func TestLibrariesWriteNoLog(t *testing.T) {
	before := log.Writer()
	defer log.SetOutput(before)
	for _, args := range [][]string{{"shim"}, {"no-such-command"}} {
		var got bytes.Buffer
		log.SetOutput(&got)
		if err := run(t.Context(), args, strings.NewReader("no spec"), io.Discard, io.Discard); err == nil {
			t.Fatalf("%q was taken", args)
		}
		if log.Print("what a proxy sent"); got.Len() > 0 {
			t.Errorf("after %q the standard logger writes %q", args, &got)
		}
	}
}
