package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Describes downloads and uploads, which are not JSON.

// showFiles adds the operations on the bytes of files.
func showFiles(o *huma.OpenAPI) {
	bytes := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}, Example: "the bytes"}
	get := plainOperation("getDownload", "Get a downloaded file", "profiles", nil, nil)
	get.Description = "By its name in the list, whole or in part (`Range`, `If-Range`). It is always an attachment: no browser shows it " +
		"as a page of this server. 409 `download_in_progress` before it is complete. 404 `download_not_found` if there is no such " +
		"file.\n\nScope: `run`."
	get.Parameters = []*huma.Param{pathParam("id", "The profile's id."), pathParam("name", "The download's name."),
		{Name: "Range", In: "header", Description: "A range of the file (RFC 9110, 14.2). The answer is 206.",
			Schema: &huma.Schema{Type: huma.TypeString}, Example: "bytes=0-1023"}}
	get.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"application/octet-stream": bytes}}
	get.Responses["206"] = &huma.Response{Description: "The requested range",
		Content: map[string]*huma.MediaType{"application/octet-stream": bytes}}
	o.Paths["/profiles/{id}/downloads/{name}"].Get = get
	put := plainOperation("putUpload", "Upload a file for the pages of a run", "profiles",
		&huma.Schema{Ref: "#/components/schemas/UploadJSON"}, plain(UploadJSON{}.example()))
	o.Components.Schemas.Schema(reflect.TypeFor[UploadJSON](), true, "")
	put.Description = "The body is the file, of any type and at most `--upload-limit` (413; 1 GiB by default). The file appears once " +
		"it is complete, and replaces one of that name. The profile's next start deletes it. `path` is what `DOM.setFileInputFiles` " +
		"takes.\n\nErrors: 507 `files_quota` if it does not fit. 409 `profile_not_running` if the profile does not run, because its " +
		"start would delete the file.\n\nScope: `run`."
	put.Parameters = []*huma.Param{pathParam("id", "The profile's id."),
		pathParam("name", "The file's name, as pages see it: at most 255 bytes, without folders.")}
	put.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/octet-stream": bytes}}
	o.Paths["/profiles/{id}/uploads/{name}"] = &huma.PathItem{Put: put}
}
