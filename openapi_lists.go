package main

import "github.com/danielgtaylor/huma/v2"

// This file describes the lists of proxies that go in and out, which are no JSON alone.

const importDescription = "As `text/plain`, one proxy a line: `host:port`, `host:port:user:pass`, `user:pass:host:port`, `user:pass@host:port`, `host:port@user:pass`, each also with `scheme://` before it; IPv6 in brackets; blank lines and lines with `#` are passed over. " +
	"As `text/csv` with a header line that names members (`type`, `host`, `port`, `username`, `password`, `name`, `tags`, `notes`, `rotateUrl`, or `url`), with `,` or `;`. As JSON, objects as add takes them, or strings. At most 10,000 lines and 16 MiB a call.\n\n" +
	"Nothing is guessed: a line that can be read in two ways is `ambiguous`, and makes nothing; `readings` has the ways, without passwords. The same type, host, port and username again is a `duplicate`.\n\n" +
	"The call is no transaction: it is written in parts of 1,000 lines. When it breaks off some lines are there, and the same call again finds them as duplicates. One event `proxy.imported` tells of it. Takes `Idempotency-Key`."

const exportDescription = "In the forms that import takes, oldest first, with the filters of the list. `text`: a URL a line. `csv`: with a header line. `json`: `{\"proxies\":[…]}`. Without `secrets` passwords are left out (a comment line of `text` says so). " +
	"With them it needs the scope `secrets` too, and what is imported again is the same. Each export with secrets is written down (GET /audit) before it is answered.\n\n" +
	"A spreadsheet runs no cell of `csv`: an address with a part that begins with `=`, `+`, `-` or `@` stands in `url`, with %XX, and name, tags and notes that do get a `'` before, which import takes away again."

// showLists says in which forms a list of proxies comes.
func showLists(o *huma.OpenAPI) {
	list := &huma.Schema{Type: huma.TypeObject, Required: []string{"proxies"}, Properties: map[string]*huma.Schema{"proxies": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}}}}
	plainText := &huma.Schema{Type: huma.TypeString}
	o.Paths["/proxies/export"].Get.Responses["200"].Content = map[string]*huma.MediaType{
		"text/plain":       {Schema: plainText, Example: "socks5://alice:secret@de.proxy.example:1080\n"},
		"text/csv":         {Schema: plainText, Example: "type,host,port,username,password,name,tags,notes,rotateUrl,url\nsocks5,de.proxy.example,1080,alice,secret,Berlin,de,,,\n"},
		"application/json": {Schema: list, Example: plain(map[string]any{"proxies": []any{map[string]any{"type": "socks5", "host": "de.proxy.example", "port": 1080, "username": "alice", "password": "secret", "tags": []string{"de"}}}})}}
	op := o.Paths["/proxies/import"].Post
	closed := huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"proxies"}, Properties: map[string]*huma.Schema{
		"workspaceId": {Type: huma.TypeString, Nullable: true, Description: "The workspace that gets the proxies."},
		"proxies":     {Type: huma.TypeArray, MaxItems: new(maxImportLines), Items: &huma.Schema{}, Description: "Each an object as add takes it (without workspaceId; type may be absent), or a string as a line of text/plain. What is neither is told in `results`."}}}
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: &closed, Example: plain(requestExample("importProxies"))},
		"text/plain":       {Schema: plainText, Example: "# two proxies\nde.proxy.example:1080:alice:secret\nhttp://fr.proxy.example:3128\n"},
		"text/csv":         {Schema: plainText, Example: "type,host,port,username,password,tags\nsocks5,de.proxy.example,1080,alice,secret,\"shop,de\"\n"}}}
}
