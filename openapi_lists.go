package main

import "github.com/danielgtaylor/huma/v2"

// This file describes the lists of proxies that go in and out, which are no JSON alone.

const importDescription = "As `text/plain`, one proxy a line: `host:port`, `host:port:user:pass`, `user:pass:host:port`, `user:pass@host:port`, `host:port@user:pass`, each also with `scheme://` before it; IPv6 in brackets; blank lines and lines with `#` are passed over. " +
	"As `text/csv` with a header line that names members (`type`, `host`, `port`, `username`, `password`, `name`, `tags`, `notes`, `rotateUrl`, or `url`), with `,` or `;`. As JSON, objects as add takes them, or strings. At most 10,000 lines and 16 MiB a call.\n\n" +
	"Nothing is guessed: a line that can be read in two ways is `ambiguous`, and makes nothing; `readings` has the ways, without passwords. The same type, host, port and username again is a `duplicate`.\n\n" +
	"The call is no transaction: it is written in parts of 1,000 lines. When it breaks off some lines are there, and the same call again finds them as duplicates. One event `proxies.imported` tells of it. Takes `Idempotency-Key`."

// showLists says in which forms a list of proxies comes.
func showLists(o *huma.OpenAPI) {
	for _, p := range o.Paths["/proxies"].Get.Parameters {
		p.Schema.PatternDescription = "" // the message is made of it already, and OpenAPI does not know it
	}
	op := o.Paths["/proxies/import"].Post
	closed := huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"proxies"}, Properties: map[string]*huma.Schema{
		"workspaceId": {Type: huma.TypeString, Nullable: true, Description: "The workspace that gets the proxies."},
		"proxies":     {Type: huma.TypeArray, MaxItems: ptr(maxImportLines), Items: &huma.Schema{}, Description: "Each an object as add takes it (without workspaceId; type may be absent), or a string as a line of text/plain. What is neither is told in `results`."}}}
	text := &huma.Schema{Type: huma.TypeString}
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: &closed, Example: plain(requestExample("importProxies"))},
		"text/plain":       {Schema: text, Example: "# two proxies\nde.proxy.example:1080:alice:secret\nhttp://fr.proxy.example:3128\n"},
		"text/csv":         {Schema: text, Example: "type,host,port,username,password,tags\nsocks5,de.proxy.example,1080,alice,secret,\"shop,de\"\n"}}}
}
