package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/format"
	"os"
	"strings"
	"testing"
)

var rewriteSamples = flag.Bool("rewrite-samples", false, "write testdata/samples.json anew")

// described answers with the API's real description, and otherwise like a server with one profile.
func described(t *testing.T) func(method, path string) (int, any) {
	t.Helper()
	text, err := os.ReadFile("../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(method, path string) (int, any) {
		switch {
		case path == "/openapi.json":
			return 200, json.RawMessage(text)
		case method == "DELETE":
			return 204, nil
		}
		return oneOfEach(method, path)
	}
}

// TestDocumentation reads the documentation like a person: operations are folded, and open by a click, a search, or an address. What
// deletes is sent after a question alone.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	dom, sent := useAt(t, "/docs", `
		const body = (id) => there('#' + id + '-body');
		const pressed = (within, text) => [...within.querySelectorAll('button')].find((it) => it.textContent.trim() === text).click();
		await there('#updateProxy');
		const elements = document.querySelectorAll('*').length;
		if (elements > 2000 || document.querySelector('.operation-body')) throw elements + ' elements at first';
		document.querySelector('#listProfiles button').click(); await body('listProfiles');
		document.querySelector('#listProfiles button').click(); await until(() => !document.querySelector('.operation-body'));
		const search = document.querySelector('input[type=search]');
		set(search, 'leak canaries'); await until(() => !document.querySelector('#listProfiles'));
		search.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })); await body('leakTest');
		await until(() => document.activeElement.closest('#leakTest'));
		if (location.hash !== '#leakTest') throw 'the address is ' + location.hash;
		location.hash = '#patchProfile';
		if (!(await body('updateProfile')).textContent.includes('PATCH does the same as PUT.')) throw 'PATCH is not with PUT';
		location.hash = '#createProfile';
		const create = await body('createProfile');
		if (!create.querySelector('.members p').textContent.includes('name string required')) throw 'name is not first';
		pressed(create, 'Go'); await until(() => create.textContent.includes('package main'));
		await until(() => document.querySelector('#leakTest-body').textContent.includes('package main'));
		if (localStorage.getItem('warren.docs.language') !== 'go') throw 'the language is forgotten';
		location.hash = '#getProfile';
		const get = await body('getProfile');
		pressed(get, 'Try it'); const id = await until(() => get.querySelector('input[name=id]'));
		pressed(get, 'Send'); await until(() => get.textContent.includes('Enter id first.'));
		set(id, 'p1'); await drawn(); pressed(get, 'Send'); await until(() => get.querySelector('.answer strong'));
		await until(() => get.querySelector('.answer pre')?.textContent.includes('"name": "Shop"'));
		location.hash = '#deleteProfile';
		const gone = await body('deleteProfile');
		pressed(gone, 'Try it'); set(await until(() => gone.querySelector('input[name=id]')), 'p2'); await drawn();
		pressed(gone, 'Send'); await until(() => gone.querySelector('[role=alertdialog]'));
		pressed(gone, 'Cancel'); await until(() => !gone.querySelector('[role=alertdialog]'));
		pressed(gone, 'Send'); await until(() => gone.querySelector('[role=alertdialog]'));
		pressed(gone, 'Send it'); await until(() => gone.querySelector('.answer strong'));
		sessionStorage.clear(); localStorage.removeItem('warren.key');
		location.hash = '#stopProfile';
		const stop = await body('stopProfile'); pressed(stop, 'Try it');`, described(t))
	wantSent(t, sent, "DELETE /api/v1/profiles/p2")
	for _, want := range []string{"warren open", "Leak test: try every way out"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

// sampled are the calls of testdata/samples.json: an operation, and what its parameters and its body are set to. A test of package
// api sends them to a server.
const sampled = `[
	['listProfiles', { search: 'It\'s "$HOME" \\', limit: '5' }],
	['createProfile', {}, 
		JSON.stringify({ name: 'It\'s "$HOME" \\ ü', notes: '\u0060\t<&>', headless: true, screen: null, tags: ['b&c "d"'] })],
	['deleteProfile', { id: 'ID', 'If-Match': '' }],
	['exportProxies', { tag: 'de,fr' }], ['importProxies', { tag: 'de' }, '@no JSON'],
	['checkAllProxies', {}], ['putUpload', { id: 'ID' }], ['screenshotProfile', { fullPage: 'true' }], ['stopProfile', {}], ['health', {}],
]`

// TestSamples: the samples of calls are those of testdata/samples.json. Go's are as gofmt writes them.
func TestSamples(t *testing.T) {
	t.Parallel()
	_, sent := useAt(t, "/docs", fmt.Sprintf(`
		const { LANGUAGES, requestOf, valuesOf } = await import('/source/docs/samples.js');
		const { named, operationsOf } = await import('/source/docs/catalog.js');
		const doc = await (await fetch('openapi.json', { headers: { Authorization: 'k' } })).json();
		const all = %s.map(([id, parameters, body]) => {
			const operation = named(operationsOf(doc), id);
			const values = { ...valuesOf(doc, operation), parameters, ...(body && { body }) };
			const request = requestOf(doc, operation, 'http://127.0.0.1:7777/', values);
			return { id, samples: Object.fromEntries(LANGUAGES.map((language) => [language.id, language.write(request)])) };
		});
		await fetch('/api/v1/samples', { method: 'POST', body: JSON.stringify(all) });`, sampled), described(t))
	if len(sent) != 1 {
		t.Fatalf("the script sent %q", sent)
	}
	var all []struct {
		ID      string            `json:"id"`
		Samples map[string]string `json:"samples"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(sent[0], "POST /api/v1/samples ")), &all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		program := []byte(one.Samples["go"] + "\n")
		if formatted, err := format.Source(program); err != nil || !bytes.Equal(formatted, program) {
			t.Errorf("%s: gofmt would change\n%s\n%v", one.ID, program, err)
		}
	}
	var text bytes.Buffer
	writer := json.NewEncoder(&text)
	writer.SetEscapeHTML(false)
	writer.SetIndent("", "  ")
	if err := writer.Encode(all); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/samples.json"
	if *rewriteSamples {
		if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, text.Bytes()) {
		t.Errorf("the samples are not those of %s (%v); if they should be others, run "+
			"go test ./web -run TestSamples -rewrite-samples", file, err)
	}
}
