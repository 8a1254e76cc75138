//go:build !windows

package browser

import (
	"strings"
	"testing"
)

// TestLongWordsOfAPage: a page's words reach viewers cut, however long the page made them.
func TestLongWordsOfAPage(t *testing.T) {
	b, address := liveBrowser(t)
	w := watch(t, b, address)
	w.sees(600, 300, red)
	w.page(`void (() => {
		const list = document.getElementById("list"), group = document.createElement("optgroup"), words = "&".repeat(2000);
		group.label = words;
		for (let i = 0; i < 3000; i++) group.append(new Option(words, words));
		list.replaceChildren(new Option("first", "1"), group);
	})()`)
	w.click(100, 160)
	list := w.hears("options", nil)
	all, options := 0, list["options"].([]any)
	for _, o := range options {
		for _, member := range []string{"text", "value", "group"} {
			words := o.(map[string]any)[member].(string)
			if all += len(words); len(words) > 500 {
				t.Fatalf("%s has %d bytes", member, len(words))
			}
		}
	}
	if first := options[1].(map[string]any)["group"]; len(options) != 3001 || first != strings.Repeat("&", 500) || all > 1<<19 {
		t.Errorf("%d options with %d bytes, the first group is %q", len(options), all, first)
	}

	// The mouse's shape is the page's word too.
	var shape string
	w.page(`void (document.getElementById("paint").style.cursor = 'url("a),' + "b".repeat(1e5) + '"), pointer')`)
	if err := b.live.evaluate(t.Context(), w.session(), called(cursorScript, 100, 100), &shape); err != nil || shape == "" || len(shape) > 40 {
		t.Errorf("the mouse's shape has %d bytes, %v", len(shape), err)
	}
}
