package api

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOneTable: each route is one line of one table. Nothing else registers with the mux or huma.
func TestOneTable(t *testing.T) {
	t.Parallel()
	register := regexp.MustCompile(`huma\.(Register|Get|Post|Put|Patch|Delete)\(|mux\.Handle(Func)?\(`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(register.FindAll(text, -1)); n > 0 && f != "register.go" && !strings.HasSuffix(f, "_test.go") {
			t.Errorf("%s registers %d routes; the table is in routes.go", f, n)
		}
	}
	if n := len(registered(t)); n < 25 {
		t.Errorf("%d routes in the table", n)
	}
}
