package main

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestManifestsVariables: what the manifests of a cluster set is a variable of serve, or one that commands in the container read. Their
// schemas are another test's (deploy/manifests).
func TestManifestsVariables(t *testing.T) {
	t.Parallel()
	parser, err := newParser(context.Background(), new(commands), &console{})
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"WARREN_URL", "WARREN_API_KEY", "WARREN_VERSION"} // the last one is of .env
	i := slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == "serve" })
	for _, flag := range parser.Model.Children[i].Flags {
		known = append(known, flag.Envs...)
	}
	variable := regexp.MustCompile(`\bWARREN_[A-Z0-9_]+`)
	for _, file := range []string{"deploy/kubernetes/warren.yaml", "deploy/compose.yaml", "deploy/compose-cluster.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := variable.FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s sets nothing", file)
		}
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s: serve does not read %s", file, name)
			}
		}
		if out, err := warren(t, "drain", "--timeout", "10m", "--help"); strings.Contains(string(text), "drain, --timeout, 10m") &&
			(err != nil || !strings.Contains(out, "--timeout")) {
			t.Errorf("%s: %s, %v", file, out, err)
		}
	}
}
