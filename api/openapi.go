package api

import (
	"cmp"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/store"
)

// Describes the API beyond what its types say: tags, errors, names of schemas, null values.

// describeAPI sets the head of the OpenAPI document.
func describeAPI(o *huma.OpenAPI) {
	o.Info.Description = "Warren keeps browser profiles and proxies. It runs each profile's Chrome behind its proxy, so that no traffic " +
		"bypasses the proxy.\n\n" +
		"Every request carries `Authorization: Bearer <API_KEY>`. Every error is `application/problem+json` (RFC 9457): `code` is for " +
		"programs and never changes, `detail` is for people, `errors` lists every fault."
	o.Servers = []*huma.Server{{URL: Prefix, Description: "this server"}}
	o.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer",
		Description: "An API key, as `warren key create` makes it."}}
	o.Security = []map[string][]string{{"key": {}}}
	o.Tags = []*huma.Tag{{Name: "profiles"}, {Name: "proxies"}, {Name: "audit"}, {Name: "runs"}, {Name: "browsers"}, {Name: "extensions"},
		{Name: "keys"},
		{Name: "session-keys"}, {Name: "login-links"}, {Name: "tickets"},
		{Name: "workspaces"}, {Name: "templates"}, {Name: "schedules"}, {Name: "webhooks"}, {Name: "nodes"},
		{Name: "jobs"}, {Name: "events"}, {Name: "server", Description: "Outside the API."}}
}

// describeOperation sets what every operation has: its tag, its description with the scope, its errors.
func describeOperation(op *huma.Operation, sc store.Right, where place) {
	op.Tags = []string{strings.Split(op.Path, "/")[1]}
	op.Description = strings.TrimSpace(descriptions[op.OperationID] + "\n\nScope: `" + string(sc) + "`.")
	if sc == scopeNone {
		op.Security = []map[string][]string{{}, {"key": {}}}
	}
	errs := map[int]bool{401: true, 403: true, 421: true, 422: true, 429: true, 500: true}
	if strings.Contains(op.Path, "{id}") {
		errs[404] = true
	}
	if op.Method == http.MethodPost || op.Method == http.MethodPut || op.Method == http.MethodPatch {
		errs[400], errs[413], errs[415] = true, true, true
	}
	if op.Method != http.MethodGet {
		errs[503], errs[507] = true, true
	}
	if where != anywhere {
		errs[409], errs[502] = true, true
	}
	for _, status := range moreErrors[op.OperationID] {
		errs[status] = true
	}
	op.Errors = slices.Sorted(maps.Keys(errs))
	if op.Method == http.MethodPost && op.OperationID[:6] == "create" || op.OperationID == "addProxy" || op.OperationID == "cloneProfile" {
		op.DefaultStatus = http.StatusCreated
	}
	if op.OperationID == "installBrowser" {
		op.DefaultStatus = http.StatusAccepted
	}
	if op.Method == http.MethodDelete {
		op.DefaultStatus = http.StatusNoContent
	}
}

// moreErrors are the statuses of single operations, beside those of all.
var moreErrors = map[string][]int{
	"createProfile": {409}, "createProfiles": {409}, "addProxy": {409}, "createKey": {409}, "createWorkspace": {409},
	"createTemplate": {409}, "updateTemplate": {409, 412}, "patchTemplate": {409, 412}, "deleteTemplate": {412},
	"createSchedule": {409}, "updateSchedule": {412}, "patchSchedule": {412}, "deleteSchedule": {412}, "listSchedules": {410},
	"createWebhook": {409}, "updateWebhook": {412}, "patchWebhook": {412}, "deleteWebhook": {412}, "listWebhooks": {410},
	"removeNode": {409}, "listDeliveries": {410}, "replayDelivery": {409},
	"updateWorkspace": {412}, "putWorkspace": {412}, "deleteWorkspace": {409, 412}, "listTemplates": {410},
	"importProxies": {409}, "restoreProfile": {409},
	"createSnapshot": {409}, "deleteSnapshot": {409}, "rollbackProfile": {409}, "cloneProfile": {409}, "deleteExtension": {409},
	"exportProfile": {409}, "exportProfiles": {409},
	"getCookies": {409, 503, 504, 507}, "getStorageState": {409, 503, 504, 507}, "deleteCookies": {409, 504}, "clearProfile": {409, 504},
	"listPasskeys": {409}, "deletePasskey": {409, 503, 504, 507},
	"updateProfile": {412}, "patchProfile": {412}, "deleteProfile": {412},
	"updateProxy": {409, 412}, "patchProxy": {409, 412}, "deleteProxy": {409, 412},
	"startProfile": {409, 429, 502, 504}, "restartProfile": {409, 429, 502, 504}, "stopProfile": {409}, "failbackProfile": {409},
	"createSessionKey": {410}, "endSession": {404},
	"createCapability": {409}, "revokeCapability": {409}, "createTicket": {429}, "leakTest": {409, 429, 504},
	"screenshotProfile": {409, 503, 504}, "printProfile": {409, 503, 504},
	"rotateProxy": {409, 429, 502}, "proxySecret": {409}, "deleteDownload": {409}, "listRunHosts": {404}, "getRunLog": {404},
	"installBrowser": {409}, "getInstallation": {404}, "cancelInstallation": {404},
	"listProfiles": {410}, "listProxies": {410}, "listProfileRuns": {410}, "listCapabilities": {410}, "listKeys": {410},
	"batchProfiles": {409}, "listJobs": {410}, "listWorkspaces": {410}, "listAudit": {410}, "listDownloads": {409, 410},
}

// schemaName returns a type's name in the document. Clients are generated with these names, so a renamed type keeps its old one.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if list, ok := strings.CutPrefix(name, "List"); ok && oldNames[list] != "" {
		return "List" + oldNames[list]
	}
	return cmp.Or(oldNames[name], name)
}

// oldNames maps names of types to their names in the document.
var oldNames = map[string]string{
	"CPU": "CpuJSON", "Check": "CheckJSON", "CheckError": "CheckErrorJSON", "Difference": "DifferenceJSON", "Disk": "DiskJSON",
	"DryRun": "DryRunJSON", "Effective": "EffectiveJSON", "Egress": "ExitJSON", "End": "LastRunJSON", "Explanation": "ExplainJSON",
	"Host": "RunHostJSON", "Hosts": "RunHostsJSON", "ImportAnswer": "ImportJSON", "Info": "RunJSON", "Isolation": "IsolationJSON",
	"Latency": "LatencyJSON", "LeakChannel": "LeakChannelJSON", "LeakTest": "LeakTestJSON", "ListCheck": "ListCheckJSON",
	"ListedBrowser": "BrowserListJSON", "Memory": "MemoryJSON", "Mismatch": "FindingJSON", "PastRun": "PastRunJSON",
	"Pressure": "PressureJSON", "Requested": "RequestedJSON", "Setting": "SettingJSON", "Settings": "SettingsJSON", "Started": "StartJSON",
	"StopAnswer": "StopJSON", "Timings": "TimingsJSON", "UDP": "UdpJSON", "Usage": "UsageJSON", "UsedBrowser": "BrowserJSON",
	"Warning": "WarningJSON",
}

// describe completes the document and returns it as JSON.
func (s *API) describe() []byte {
	o := s.api.OpenAPI()
	for _, item := range o.Paths {
		for _, op := range operations(item) {
			if op != nil {
				for _, p := range op.Parameters {
					p.Schema.PatternDescription = "" // no member of OpenAPI; huma has used it for the message
				}
			}
		}
	}
	completeSchemas(o.Components.Schemas)
	root := []*huma.Server{{URL: "/"}}
	for _, b := range serverPaths {
		op := plainOperation(b.id, b.summary, "server", &huma.Schema{Type: "object", AdditionalProperties: true}, b.example)
		if b.open {
			op.Security = []map[string][]string{}
		}
		o.Paths[b.path] = &huma.PathItem{Servers: root, Get: op}
	}
	o.Paths["/ip"].Get.Responses["200"].Content["text/plain"] = &huma.MediaType{Schema: &huma.Schema{Type: "string"},
		Example: "203.0.113.7\n"}
	o.Paths["/metrics"] = &huma.PathItem{Servers: root, Get: metricsOperation()}
	o.Paths["/events"] = &huma.PathItem{Get: eventsOperation()}
	for _, suffix := range []string{"", "/json/version", "/json/list"} {
		o.Paths["/profiles/{id}/cdp"+suffix] = &huma.PathItem{Get: cdpOperation(suffix)}
		o.Paths["/cdp/{capability}"+suffix] = &huma.PathItem{Servers: root, Get: capabilityOperation(suffix)}
	}
	for _, suffix := range []string{"", "/downloads/{download}"} {
		o.Paths["/profiles/{id}/live"+suffix] = &huma.PathItem{Get: liveOperation(suffix)}
		o.Paths["/live/{capability}"+suffix] = &huma.PathItem{Servers: root, Get: capabilityLiveOperation(suffix)}
	}
	requireName(o.Paths["/profiles"].Post)
	requireName(o.Paths["/profiles/batch-create"].Post)
	requireName(o.Paths["/templates"].Post)
	requireName(o.Paths["/schedules"].Post)
	requireMembers(o.Paths["/webhooks"].Post, "url", "events")
	of := o.Components.Schemas.Map()["TemplateSettings"].Properties
	of["name"].Description = "1 to 200 characters, unique in the workspace."
	of["workspaceId"].Description = strings.Replace(of["workspaceId"].Description, "owns it", "owns it, and whose profiles it is for", 1)
	showPictures(o)
	showLists(o)
	showFiles(o)
	showArchives(o)
	showState(o)
	showExtensions(o)
	showJobs(o)
	showInstallation(o)
	doc, err := json.Marshal(o, json.Deterministic(true))
	if err != nil {
		panic(err) // a document of plain values cannot fail; a test reads it
	}
	return doc
}

// requireName says that a profile, a template or a schedule is not created without a name. Its schema is that of an update too, which needs
// none.
func requireName(op *huma.Operation) { requireMembers(op, "name") }

// requireMembers says that an object is not created without some members, where its schema is that of an update too.
func requireMembers(op *huma.Operation, names ...string) {
	media := op.RequestBody.Content["application/json"]
	media.Schema = &huma.Schema{AllOf: []*huma.Schema{media.Schema}, Required: names}
}

// completeSchemas adds what huma leaves out. Pointers to objects or times may be null, and null is then one of the values of an
// enum. Positions and screens get their schemas inline.
func completeSchemas(schemas huma.Registry) {
	for name, s := range schemas.Map() {
		if t := schemas.TypeFromRef("#/components/schemas/" + name); t.Kind() == reflect.Struct {
			for _, f := range reflect.VisibleFields(t) {
				member, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				if p := s.Properties[member]; p != nil && f.Type.Kind() == reflect.Pointer && options == "" {
					s.Properties[member] = orNullSchema(p)
				}
			}
		}
		for _, p := range s.Properties {
			if p.Nullable && len(p.Enum) > 0 && p.Enum[len(p.Enum)-1] != nil {
				p.Enum = append(p.Enum, nil)
			}
		}
	}
	inline := func(object, member string, s *huma.Schema) {
		members := schemas.Map()[object].Properties
		s.Description = members[member].Description
		members[member] = s
	}
	inline("EffectiveJSON", "geolocation", geolocation("").Schema(schemas))
	inline("ChangedEffectiveJSON", "geolocation", geolocation("").Schema(schemas))
	inline("EffectiveJSON", "screen", screen{}.Schema(schemas)) // so that it can be null too
	delete(schemas.Map(), "Screen")
	inline("SettingJSON", "value", &huma.Schema{AnyOf: []*huma.Schema{{Type: huma.TypeString}, rawStrings("").Schema(schemas),
		{Type: huma.TypeObject, AdditionalProperties: true}, nullSchema()}})
}

// orNullSchema returns a schema for s or null.
func orNullSchema(s *huma.Schema) *huma.Schema {
	if s.Ref == "" {
		s.Nullable = true
		return s
	}
	return &huma.Schema{AnyOf: []*huma.Schema{{Ref: s.Ref}, nullSchema()}, Description: s.Description}
}

// refused is a type of requests that names the errors of its operation, beside those that every operation may have.
type refused interface{ problems() []*problem.Error }

// problemsOf returns the errors that an operation may answer with: in is the type of its requests.
func problemsOf(path string, in reflect.Type, idempotent bool) []*problem.Error {
	var own []*problem.Error
	if r, ok := withBody[refused](in); ok {
		own = r.problems()
	}
	if idempotent {
		own = append(own, idempotencyConflict())
	}
	return slices.Concat(own, generalProblems(path))
}

// problemExamples names the errors of a status by their code. Status 0 means any. The examples themselves are components of the document.
func problemExamples(problems []*problem.Error, status int) map[string]*huma.Example {
	out := map[string]*huma.Example{}
	for _, p := range problems {
		if statuses[p.Kind] == status || status == 0 && p.Code == "unauthorized" {
			out[p.Code] = &huma.Example{Ref: "#/components/examples/" + p.Code}
		}
	}
	return out
}

// addProblemExamples adds an example of each error to the document's components. The last one of a code stays.
func addProblemExamples(o *huma.OpenAPI, problems []*problem.Error) {
	if o.Components.Examples == nil {
		o.Components.Examples = map[string]*huma.Example{}
	}
	for _, p := range problems {
		answer := newProblem(p)
		answer.Instance = "urn:warren:request:0199a1c2-7d3e-7a10-8a55-00000000000a"
		o.Components.Examples[p.Code] = &huma.Example{Summary: p.Message, Value: plain(answer)}
	}
}

// generalProblems returns the errors that every operation at the path may have.
func generalProblems(path string) []*problem.Error {
	var out []*problem.Error
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType} {
		out = append(out, refusedByHuma(status))
	}
	out[0].Faults = []problem.Fault{{Location: "body",
		Message: "The JSON breaks: invalid character 'n' at start of value after offset 12."}}
	objects := map[string]string{"profiles": "profile", "proxies": "proxy", "keys": "key", "runs": "run",
		"templates": "template", "schedules": "schedule", "webhooks": "webhook", "workspaces": "workspace", "nodes": "node"}
	if object := objects[strings.Split(path, "/")[1]]; object != "" {
		out = append(out, problem.Missing(object))
	}
	if strings.Contains(path, "{snapshotId}") {
		out = append(out, problem.Missing("snapshot"))
	}
	return append(out, unauthorized(), tooManyWrongKeys(30*time.Second), (&caller{}).may(scopeWrite), foreignOrigin(), etagMismatch(),
		cursorGone(), foreignHost(), exampleFaults(), problem.Hidden(nil), databaseBusy(nil), databaseDamaged(nil), problem.DiskFull(nil))
}

func exampleFaults() *problem.Error {
	return problem.NotValid(
		problem.Fault{Location: "body.name", Message: enterName},
		problem.Fault{Location: "query.limit", Message: memberMessages["limit"], Value: 500})
}
