package main_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// maxWords is how many words a sentence of a comment or a document may have.
const maxWords = 30

// TestHousePutOff: nothing is put off, and no test of the product waits for the clock.
func TestHousePutOff(t *testing.T) {
	t.Parallel()
	keep(t, "put off", putOff(theHouse(t)), nil)
	bite(t, putOff,
		example{"note", map[string]string{"pool/a.go": "package pool // to" + "do: all of it"}, `pool/a.go:1 says "to` + `do"`},
		example{"sleep", map[string]string{"tests/a_test.go": "package tests\nfunc f() { time." + "Sleep(1) }"},
			"tests/a_test.go:2 sleeps"},
		example{"sleep of the product", map[string]string{"pool/a.go": "package pool\nfunc f() { time." + "Sleep(1) }"}, ""},
	)
}

// product are the packages whose tests see what the clock does to the whole product, so that waiting makes them slow or wrong.
var product = []string{"main", "api", "runs", "tests"}

// later matches words of things put off. They are written in parts, so that this file does not match.
var later = regexp.MustCompile(`(?i)\b(to` + `do|fix` + `me|x` + `xx|ha` + `ck|not ` + `implemented|st` + `ub)\b`)

func putOff(h *house) (out []complaint) {
	for _, f := range h.files {
		note := func(offset int, text string) {
			at := fmt.Sprintf("%s:%d", f.path, 1+bytes.Count(f.text[:offset], []byte("\n")))
			out = append(out, complaint{f.folder, at, at + text})
		}
		for _, m := range later.FindAllIndex(f.text, -1) {
			note(m[0], fmt.Sprintf(" says %q", f.text[m[0]:m[1]]))
		}
		if slept := bytes.Index(f.text, []byte("time."+"Sleep(")); slept >= 0 && f.test && slices.Contains(product, f.folder) {
			note(slept, " sleeps: wait for what it waits for")
		}
	}
	return out
}

// TestHouseDocumented: every exported name has a doc comment, in package main too.
func TestHouseDocumented(t *testing.T) {
	t.Parallel()
	keep(t, "documented", undocumented(theHouse(t)), nil)
	source := func(text string) map[string]string { return map[string]string{"pool/a.go": "package pool\n\n" + text} }
	bite(t, undocumented,
		example{"function", source("func F() {}"), "pool/a.go:3 F has no doc comment"},
		example{"method", source("// T is one.\ntype T struct{}\nfunc (*T) M() {}"), "M has no doc comment"},
		example{"method of an unexported type", source("type t struct{}\nfunc (t) M() {}"), ""},
		example{"generic method", source("// T is one.\ntype T[K any] struct{}\nfunc (T[K]) M() {}"), "M has no doc comment"},
		example{"type", source("type T struct{}"), "T has no doc comment"},
		example{"constant", source("const (\n\tc = 1\n\tD = 2\n)"), "D has no doc comment"},
		example{"group", source("// Limits.\nconst (\n\tc = 1\n\tD = 2\n)"), ""},
		example{"test", map[string]string{"pool/a_test.go": "package pool\nfunc F() {}"}, ""},
	)
}

func undocumented(h *house) (out []complaint) {
	for _, f := range h.files {
		if f.test || f.generated {
			continue
		}
		for _, d := range f.ast.Decls {
			for _, id := range undocumentedNames(d) {
				out = append(out, complaint{f.folder, f.folder + "." + id.Name, h.at(id.Pos()) + " " + id.Name + " has no doc comment"})
			}
		}
	}
	return out
}

func undocumentedNames(d ast.Decl) (out []*ast.Ident) {
	switch x := d.(type) {
	case *ast.FuncDecl:
		if x.Doc == nil && x.Name.IsExported() && (x.Recv == nil || ast.IsExported(typeName(x.Recv.List[0].Type))) {
			return []*ast.Ident{x.Name}
		}
	case *ast.GenDecl:
		for _, s := range x.Specs {
			switch y := s.(type) {
			case *ast.TypeSpec:
				if x.Doc == nil && y.Doc == nil && y.Name.IsExported() {
					out = append(out, y.Name)
				}
			case *ast.ValueSpec:
				for _, id := range y.Names {
					if x.Doc == nil && y.Doc == nil && y.Comment == nil && id.IsExported() {
						out = append(out, id)
					}
				}
			}
		}
	}
	return out
}

// typeName returns the name of a receiver's type without pointer and type parameters.
func typeName(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// TestHouseCommentSentences: a sentence of a comment has maxWords at most.
func TestHouseCommentSentences(t *testing.T) {
	t.Parallel()
	keep(t, "comment sentences", longComments(theHouse(t)), nil)
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	source := func(text string) map[string]string { return map[string]string{"pool/a.go": "package pool\n" + text} }
	bite(t, longComments,
		example{"at the limit", source("// " + words(maxWords) + "."), ""},
		example{"one more", source("// " + words(maxWords+1) + "."), "pool/a.go:2 has a sentence of 31 words"},
		example{"over lines", source("// " + words(20) + "\n// " + words(11) + "."), "31 words"},
		example{"two sentences", source("// " + words(20) + ". " + words(20) + "."), ""},
		example{"a colon ends none", source("// " + words(20) + ": " + words(20) + "."), "40 words"},
		example{"a list", source("// " + words(20) + "\n//   - " + words(20) + "\n//   - " + words(20)), ""},
		example{"an example", source("// It:\n//\n//\t" + words(40) + "\nfunc f() {}"), ""},
		example{"within a function", source("func f() {\n\t_ = 1 // " + words(31) + "\n}"), "31 words"},
		example{"in a test", map[string]string{"pool/a_test.go": "package pool\n// " + words(31)}, "31 words"},
	)
}

func longComments(h *house) (out []complaint) {
	for _, f := range h.files {
		if f.generated {
			continue
		}
		for _, g := range f.ast.Comments {
			for _, s := range sentences(withoutCode(g.Text())) {
				if n := wordCount(s); n > maxWords {
					out = append(out, complaint{f.folder, f.path, tooLong(h.at(g.Pos()), n, s)})
				}
			}
		}
	}
	return out
}

func tooLong(at string, words int, sentence string) string {
	return fmt.Sprintf("%s has a sentence of %d words, want %d at most: %.70s…", at, words, maxWords,
		strings.Join(strings.Fields(sentence), " "))
}

// withoutCode removes the indented lines of a comment, which are code or tables; indented list items stay (go doc comments).
func withoutCode(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "\t") && !listItem.MatchString(line) {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

var (
	listItem = regexp.MustCompile(`^\s*([-*+•]|\d+[.)])\s`)
	ending   = regexp.MustCompile(`[.?!]["')*_”’]*(\s+|$)|\n\s*\n|\n\s*([-*+•]|\d+[.)])\s`)
)

// sentences splits prose at the ends of sentences, at empty lines and before list items. A colon or semicolon ends no sentence.
func sentences(text string) []string { return ending.Split(text, -1) }

// wordCount counts the fields of a sentence that have a letter or a digit.
func wordCount(sentence string) (n int) {
	for _, w := range strings.Fields(sentence) {
		if strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// TestHouseDocumentSentences: a sentence of README.md or docs/ has maxWords at most. Code and addresses count as one word.
func TestHouseDocumentSentences(t *testing.T) {
	t.Parallel()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	var found []complaint
	seen := 0
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".md") {
			if err == nil && d.IsDir() && p != root && skipped(d.Name()) {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(root, p)
		seen++
		found = append(found, longProse(filepath.ToSlash(short), string(text))...)
		return err
	})
	if err != nil || seen < 10 {
		t.Fatalf("%d documents, %v", seen, err)
	}
	keep(t, "document sentences", found, nil)
	t.Run("examples", proseExamples)
}

func proseExamples(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for _, x := range []struct{ name, text, want string }{
		{"at the limit", words(30), ""},
		{"one more", "# Title\n\n" + words(31), "docs/a.md:3 has a sentence of 31 words"},
		{"over lines", words(20) + "\n" + words(11), "a.md:1 has"},
		{"list item", "- " + words(20) + "\n- " + words(31), "a.md:2 has"},
		{"number", "1. " + words(20) + "\n2. " + words(20), ""},
		{"cells", "| " + words(20) + " | " + words(20) + " |\n|---|---|\n| a | " + words(31) + " |", "a.md:3 has"},
		{"code block", "```\n" + words(40) + "\n```\n", ""},
		{"inline code", words(29) + " `" + words(10) + "`", ""},
		{"a pipe in code", "| `a \\| b` | " + words(30) + " |", ""},
		{"address", "[" + words(30) + "](https://example.com/a.b?c=d \"" + words(5) + "\")", ""},
		{"bold", "**" + words(20) + ".** " + words(20), ""},
	} {
		found := longProse("docs/a.md", x.text)
		if (x.want == "") != (len(found) == 0) || len(found) > 1 || x.want != "" && !strings.Contains(found[0].text, x.want) {
			t.Errorf("%s: got %v, want %q", x.name, found, x.want)
		}
	}
}

var (
	inlineCode = regexp.MustCompile("``[^\n]+?``|`[^`]+`")
	linkTarget = regexp.MustCompile(`\]\([^)]*\)`)
	address    = regexp.MustCompile(`<?https?://\S+`)
	htmlTag    = regexp.MustCompile(`(?s)<!--.*?-->|</?[a-zA-Z][^>]*>`)
	cellEnd    = regexp.MustCompile(`[^\\]\|`)
)

// longProse complains about the long sentences of a Markdown document: of paragraphs, list items and table cells.
func longProse(name, text string) (out []complaint) {
	folder := path.Dir(name)
	if folder == "." {
		folder = name
	}
	for _, b := range blocks(text) {
		for _, s := range sentences(b.text) {
			if n := wordCount(s); n > maxWords {
				out = append(out, complaint{folder, name, tooLong(fmt.Sprintf("%s:%d", name, b.line), n, s)})
			}
		}
	}
	return out
}

// block is a paragraph, a list item or a table cell. Its code and its addresses are one word each.
type block struct {
	line int
	text string
}

func blocks(text string) (out []block) {
	fenced := false
	fresh := true // the next line of prose begins a block
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced, fresh = !fenced, true
			continue
		}
		if fenced || trimmed == "" {
			fresh = true
			continue
		}
		if strings.HasPrefix(trimmed, "|") {
			for _, cell := range cellEnd.Split(trimmed, -1) {
				out = append(out, block{i + 1, cell})
			}
			fresh = true
			continue
		}
		if heading := strings.HasPrefix(trimmed, "#"); fresh || heading || listItem.MatchString(line) {
			out, fresh = append(out, block{i + 1, trimmed}), heading
			continue
		}
		out[len(out)-1].text += "\n" + trimmed
	}
	for i := range out {
		out[i].text = plain(out[i].text)
	}
	return out
}

func plain(text string) string {
	text = inlineCode.ReplaceAllString(text, "code")
	text = linkTarget.ReplaceAllString(text, "]")
	text = address.ReplaceAllString(text, "address")
	return htmlTag.ReplaceAllString(text, "")
}

// placeName is a function as docs/architecture.md names it: file and name.
var placeName = regexp.MustCompile("`([a-z0-9_/]+\\.go):([A-Za-z]\\w*)`")

// TestHouseArchitecture: every function that docs/architecture.md names is declared in the file that it names.
func TestHouseArchitecture(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := placeName.FindAllStringSubmatch(string(text), -1)
	if len(named) < 25 {
		t.Fatalf("only %d functions are named", len(named))
	}
	declared := map[string]bool{}
	for _, f := range theHouse(t).files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				declared[f.path+":"+fn.Name.Name] = true
			}
		}
	}
	for _, n := range named {
		if !declared[n[1]+":"+n[2]] {
			t.Errorf("docs/architecture.md names %s:%s, which is not there", n[1], n[2])
		}
	}
}
