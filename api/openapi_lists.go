package api

import "github.com/danielgtaylor/huma/v2"

// Describes the formats of lists of proxies in import and export.

// showLists sets the media types of import and export.
func showLists(o *huma.OpenAPI) {
	list := &huma.Schema{Type: huma.TypeObject, Required: []string{"proxies"},
		Properties: map[string]*huma.Schema{"proxies": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject,
			AdditionalProperties: true}}}}
	plainText := &huma.Schema{Type: huma.TypeString}
	o.Paths["/proxies/export"].Get.Responses["200"].Content = map[string]*huma.MediaType{
		"text/plain": {Schema: plainText, Example: "socks5://alice:secret@de.proxy.example:1080\n"},
		"text/csv": {Schema: plainText,
			Example: "type,host,port,username,password,name,tags,notes,rotateUrl,url\n" +
				"socks5,de.proxy.example,1080,alice,secret,Berlin,de,,,\n"},
		"application/json": {Schema: list, Example: plain(map[string]any{"proxies": []any{map[string]any{"type": "socks5",
			"host": "de.proxy.example", "port": 1080, "username": "alice", "password": "secret", "tags": []string{"de"}}}})}}
	op := o.Paths["/proxies/import"].Post
	closed := huma.Schema{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"proxies"},
		Properties: map[string]*huma.Schema{
			"workspaceId": {Type: huma.TypeString, Nullable: true, Description: "The workspace that gets the proxies."},
			"proxies": {Type: huma.TypeArray, MaxItems: new(maxImportLines), Items: &huma.Schema{}, Description: "Each an object as " +
				"addProxy takes it (without workspaceId; type may be absent), or a line of text/plain. Others are invalid in `results`."}}}
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: &closed, Example: plain(importRequest{}.example())},
		"text/plain": {Schema: plainText,
			Example: "# two proxies\nde.proxy.example:1080:alice:secret\nhttp://fr.proxy.example:3128\n"},
		"text/csv": {Schema: plainText,
			Example: "type,host,port,username,password,tags\nsocks5,de.proxy.example,1080,alice,secret,\"shop,de\"\n"}}}
}
