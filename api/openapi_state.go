package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"warren/state"
)

// Describes the operations on cookies and storage.

// exampleCookies are cookies in each kind of format.
func exampleCookies() (asJSON []any, asText string) {
	return []any{map[string]any{"name": "sid", "value": "31d4d96e", "domain": "shop.example", "path": "/", "expires": 1811419200,
			"httpOnly": true, "secure": true, "sameSite": "Lax"}},
		"# Netscape HTTP Cookie File\n#HttpOnly_shop.example\tFALSE\t/\tTRUE\t1811419200\tsid\t31d4d96e\n"
}

// exampleStorage is a storageState.
func exampleStorage() map[string]any {
	cookies, _ := exampleCookies()
	return map[string]any{"cookies": cookies, "origins": []any{map[string]any{"origin": "https://shop.example",
		"localStorage": []any{map[string]any{"name": "theme", "value": "dark"}}}}}
}

// showState describes the files of cookies and storage, and adds the operations that write them.
func showState(o *huma.OpenAPI) {
	anything := func(kind string) *huma.Schema {
		if kind == huma.TypeArray {
			return &huma.Schema{Type: kind, Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}
		}
		return &huma.Schema{Type: kind, AdditionalProperties: true}
	}
	text := &huma.Schema{Type: huma.TypeString}
	cookies, lines := exampleCookies()
	get := o.Paths["/profiles/{id}/cookies"].Get.Responses["200"]
	get.Content = map[string]*huma.MediaType{"application/json": {Schema: anything(huma.TypeArray), Example: cookies},
		"text/plain": {Schema: text, Example: lines}}
	headers := map[string]*huma.Param{
		"X-Warren-Lost":    {Schema: text, Description: "What the format does not carry: codes with counts.", Example: "same_site=12"},
		"X-Warren-Notices": {Schema: text, Description: "What else is to be known: codes with counts.", Example: "bound=2"}}
	get.Headers = headers
	storage := o.Paths["/profiles/{id}/storage-state"].Get.Responses["200"]
	storage.Content = map[string]*huma.MediaType{"application/json": {Schema: anything(huma.TypeObject), Example: exampleStorage()}}
	storage.Headers = headers
	put := putState(o, "putCookies", "Cookies: write those of a file to a profile")
	put.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{AnyOf: []*huma.Schema{anything(huma.TypeArray), anything(huma.TypeObject)}},
			Example: cookies},
		"text/plain": {Schema: text, Example: lines}}}
	put.Parameters = append(put.Parameters, &huma.Param{Name: "format", In: "query", Description: "The body's format. Without it: " +
		"netscape for text/plain, else the content decides.", Schema: &huma.Schema{Type: huma.TypeString, Enum: formatNames()}})
	o.Paths["/profiles/{id}/cookies"].Put = put
	put = putState(o, "putStorageState", "Storage: write a profile's cookies and storage")
	put.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: anything(huma.TypeObject), Example: exampleStorage()}}}
	o.Paths["/profiles/{id}/storage-state"].Put = put
}

func formatNames() (out []any) {
	for _, f := range state.Formats() {
		out = append(out, string(f))
	}
	return out
}

// putState returns the operation of a write, without its body.
func putState(o *huma.OpenAPI, id, summary string) *huma.Operation {
	schema := o.Components.Schemas.Schema(reflect.TypeFor[StateChange](), true, "")
	op := plainOperation(id, summary, "profiles", schema, plain(StateChange{}.example()))
	op.Description = descriptions[id] + "\n\nScope: `write`, and `secrets` too."
	boolean := &huma.Schema{Type: huma.TypeBoolean}
	op.Parameters = []*huma.Param{pathParam("id", "The profile's id."),
		{Name: "mode", In: "query", Description: "What is done with what the file does not have. Default: merge.",
			Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"merge", "replace-domains", "replace-all"}}},
		{Name: "confirm", In: "query", Schema: boolean, Description: "replace-all needs it."},
		{Name: "dryRun", In: "query", Schema: boolean, Description: "Changes nothing, and answers the counts."},
		{Name: "domain", In: "query", Description: "Only what belongs to this domain and to its subdomains. May be given several times.",
			Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}, Explode: new(true)}}
	return op
}
