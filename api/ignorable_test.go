package api

import (
	"fmt"
	"testing"

	"warren/store"
)

// hiding are texts with an invisible character that nothing needs.
func hiding() []string {
	out := []string{
		// which way to read
		"\u202egnp.exe", "a\u202ab", "a\u202bb", "a\u202cb", "a\u202db", "a\u2066b", "a\u2067b", "a\u2068b", "a\u2069b", "a\u200eb",
		"a\u200fb", "a\u061cb",
		// of no width
		"sh\u200bop", "shop\u200b", "\ufeffshop", "sh\u2060op", "sh\u00adop", "a\u180eb", "a\u206ab", "a\ufff9b", "a\U0001d173b",
		"a\U000e0001b",
		// joiners that join nothing
		"sh\u200cop", "ad\u200dmin", "\u200dshop", "shop\u200d", "1\u200d2", "a \u200c b", "при\u200dвет", "漢\u200d字",
		"shop\ufe0f", "a\ufe0eb", "1\ufe0f", "\ufe0fa", "❤\ufe0f\ufe0f", "a\U000e0100b", // selectors that select nothing
		// and the rest
		"a\u034fb", "\u3164", "a\u115fb", "\uffa0", "a\u2028b", "a\u2029b", "tag\U000e0061\U000e007f", "🏴\U000e0067\U000e0062",
		"🏴\U000e007f",
	}
	return out
}

// seen are names as people write them.
func seen() []string {
	// Persian, Hindi, Malayalam, Sinhala, Bengali
	return []string{"می\u200cخواهم", "خانه\u200cها", "क्\u200dष", "क्\u200cष", "ശ്രീ", "അവന്\u200d", "ශ්\u200dරී", "র\u200d্য",
		"👨\u200d👩\u200d👧\u200d👦", "🏳\ufe0f\u200d🌈", "❤\ufe0f\u200d🔥", "👩🏽\u200d💻", "🙂\u200d↔\ufe0f", "1\ufe0f⃣", "#\ufe0f⃣", "ℹ\ufe0f",
		"‼\ufe0f", "©\ufe0f", "❤\ufe0e", "㊙\ufe0f", "🏴\u200d☠\ufe0f",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "葛\U000e0100", "שלום", "مرحبا", "İstanbul", "ＡＢＣ", "a\u0301",
		"\u0600٤٢"}
}

// TestInvisible: names, tags and ids with invisible characters are refused, each with its location. Characters that a script needs
// are accepted.
func TestInvisible(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	profile, proxy := a.profile(t), a.proxy(t)
	for _, s := range hiding() {
		if _, ok := findIgnorable(s); !ok {
			t.Errorf("%q is taken", s)
		}
	}
	for _, s := range hiding()[:30] { // through the API; the others differ only in findIgnorable
		both := map[string]any{"name": s, "tags": []string{"fine", s + "x"}}
		a.do(t, "POST", "/profiles", both).invalid(t, "body.name", "body.tags[1]")
		a.do(t, "PUT", "/profiles/"+profile, both).invalid(t, "body.name", "body.tags[1]")
		a.do(t, "PUT", "/proxies/"+proxy, both).invalid(t, "body.name", "body.tags[1]")
		a.do(t, "POST", "/keys", map[string]any{"name": s, "scopes": []string{"read"}}).invalid(t, "body.name")
		a.do(t, "POST", "/profiles", map[string]any{"name": "x", "workspaceId": s}).invalid(t, "body.workspaceId")
		a.do(t, "POST", "/profiles/batch", map[string]any{"action": "tag", "ids": []string{profile}, "tags": []string{s}}).invalid(t,
			"body.tags[0]")
	}
	for i, s := range seen() {
		if r, ok := findIgnorable(s); ok {
			t.Errorf("%q is refused for %U", s, r)
		}
		// notes may have any
		a.do(t, "POST", "/profiles", map[string]any{"name": s, "tags": []string{s}, "notes": hiding()[i]}).want(t, 201)
	}
}

// TestInvisibleInOldNames: an object with such a name from before keeps it, and its other members can be changed.
func TestInvisibleInOldNames(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	old := "\u202egnp.exe"
	a.rewrite(t, "UPDATE profiles SET name = ?, search_key = ?, tags = ?, tags_key = ? WHERE id = ?", old, store.SearchKey(old, ""),
		fmt.Sprintf("[%q]", "a\u200bb"), "\na\u200bb\n", id)
	a.do(t, "PUT", "/profiles/"+id, `{"notes":"new"}`).want(t, 200).equal(t, "name", old)
	r := a.do(t, "GET", "/profiles?search=gnp", nil).want(t, 200)
	r.equal(t, "data.0.name", old)
	r.equal(t, "data.0.tags", []string{"a\u200bb"})
	a.do(t, "PUT", "/profiles/"+id, `{"tags":[],"name":"mended"}`).want(t, 200).equal(t, "name", "mended")
}

// TestWorkspaceOfAList: a list of a workspace with an invalid id is an error, not an empty list.
func TestWorkspaceOfAList(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, path := range []string{"/profiles", "/proxies", "/runs", "/proxies/export"} {
		for _, s := range []string{"a%20b", "a%2Fb", "%E2%80%AEa", "%00", "%C3%A9"} {
			a.do(t, "GET", path+"?workspaceId="+s, nil).invalid(t, "query.workspaceId")
		}
		a.do(t, "GET", path+"?workspaceId=nowhere", nil).want(t, 200)
	}
	a.do(t, "GET", "/profiles?workspaceId=a%20b&page=0&limit=999", nil).invalid(t, "query.limit", "query.page", "query.workspaceId")
}
