package main

import (
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// This file describes the files of a run, which are no JSON.

const downloadsDescription = "Newest first, with the browser's own ids; `after` takes such an id, or `next`. Of the run that goes on, or of the last one: the profile's next start empties the folder. What a client with the scope `files`, or a person at a window, saves elsewhere is not there when it is complete."

const deleteDownloadDescription = "Removes the file; one that is `in_progress` is cancelled. It makes room within `--files-quota`."

// showFiles describes a download's bytes, and the way in.
func showFiles(o *huma.OpenAPI) {
	bytes := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}, Example: "the bytes"}
	get := plainOperation("getDownload", "Fetch a file that a profile's browser downloaded", "profiles", nil, nil)
	get.Description = "By the name in the list, whole or in part (`Range`, `If-Range`). It is always an attachment: no browser runs it as a page of this server. 409 `download_in_progress` before it is complete; 404 `download_not_found` where there is no such file (any more).\n\nScope: `run`."
	get.Parameters = []*huma.Param{pathParam("id", "The profile's id."), pathParam("name", "The download's name."),
		{Name: "Range", In: "header", Description: "A part of the file (RFC 9110, 14.2): 206.", Schema: &huma.Schema{Type: huma.TypeString}, Example: "bytes=0-1023"}}
	get.Responses["200"] = &huma.Response{Description: "OK", Content: map[string]*huma.MediaType{"application/octet-stream": bytes}}
	get.Responses["206"] = &huma.Response{Description: "The part that was asked for", Content: map[string]*huma.MediaType{"application/octet-stream": bytes}}
	o.Paths["/profiles/{id}/downloads/{name}"].Get = get
	put := plainOperation("putUpload", "Send a file that pages of a run can be given", "profiles", &huma.Schema{Ref: "#/components/schemas/UploadJSON"}, plain(exampleUpload()))
	o.Components.Schemas.Schema(reflect.TypeFor[UploadJSON](), true, "")
	put.Description = "The body is the file, of any type and `--upload-limit` at most (413; 1 GiB by default). It is there whole or not at all, in place of one of that name, until the profile starts the next time. `path` is what `DOM.setFileInputFiles` takes. 507 `files_quota` where it has no room; 409 `profile_not_running` where the profile does not run, since its start would empty the folder.\n\nScope: `run`."
	put.Parameters = []*huma.Param{pathParam("id", "The profile's id."), pathParam("name", "The file's name, as pages see it: at most 255 bytes, without folders.")}
	put.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/octet-stream": bytes}}
	o.Paths["/profiles/{id}/uploads/{name}"] = &huma.PathItem{Put: put}
}

func exampleDownload() DownloadJSON {
	return DownloadJSON{ID: "3089453d-32e6-4bc4-ae20-895f49d284df", Name: "report.pdf", Size: 48211, TotalBytes: new(int64(48211)), State: "complete", URL: "https://example.com/report",
		StartedAt: exampleTime(), EndedAt: new(exampleTime().Add(1200 * time.Millisecond)), Path: new("/var/lib/warren/profiles/" + exampleProfileID + "/files/downloads/3089453d-32e6-4bc4-ae20-895f49d284df")}
}

func exampleUpload() UploadJSON {
	return UploadJSON{Name: "photo.jpg", Size: 48211, Path: "/var/lib/warren/profiles/" + exampleProfileID + "/files/uploads/photo.jpg"}
}
