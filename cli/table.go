package cli

import "slices"

// table returns every command. An operation that the server gains needs one or two lines here: TestEveryOperation says which are missing.
func table() []command {
	return slices.Concat(top(), profileCommands(), stateCommands(), proxyCommands(), keptCommands(), accessCommands(), webhookCommands(),
		nodeCommands(), serverCommands())
}

// without are the operations that need no command, each with the reason.
var without = map[string]string{
	"capabilityCdp":              "warren cdp prints its address; clients of CDP speak to it",
	"capabilityCdp_json_list":    "part of CDP: clients of CDP ask it",
	"capabilityCdp_json_version": "part of CDP: clients of CDP ask it",
	"profileCdp":                 "a WebSocket: warren cdp prints an address for clients of CDP",
	"profileCdp_json_list":       "part of CDP: clients of CDP ask it",
	"profileCdp_json_version":    "part of CDP: clients of CDP ask it",
	"capabilityLive":             "a WebSocket: warren view opens the page that speaks to it",
	"profileLive":                "a WebSocket: warren view opens the page that speaks to it",
	"capabilityLiveDownload":     "the live view's own; warren profile downloads get reads the same files",
	"profileLiveDownload":        "the live view's own; warren profile downloads get reads the same files",
	"createSessionKey":           "for pages; a command line has a key of its own",
	"endSession":                 "for pages; warren context rm and warren key revoke end what login began",
	"ip":                         "the server's answer to its own checks of proxies",
	"patchProfile":               "the same as updateProfile",
	"patchProxy":                 "the same as updateProxy",
	"patchTemplate":              "the same as updateTemplate",
	"patchSchedule":              "the same as updateSchedule",
	"metrics":                    "for Prometheus, which asks for them itself",
	"patchWebhook":               "the same as updateWebhook",
	"updateWorkspace":            "the same as putWorkspace",
}

const (
	profileCols = "ID=id NAME=name STATUS=status PROXY=proxyId WORKSPACE=workspaceId TAGS=tags LAST_START=lastStartedAt/never"
	proxyCols   = "ID=id TYPE=type ADDRESS=host:port NAME=name STATUS=status COUNTRY=lastCheck.country " +
		"LATENCY=lastCheck.latencyMs TAGS=tags"
	startCols = "RUN=runId PROFILE=profileId " + runState
	runCols   = "RUN=runId PROFILE=profileName " + runState
	runState  = "STATUS=status EXIT=proxy.exitIp COUNTRY=proxy.country STARTED=startedAt HEADLESS=headless"
	jobCols   = "ID=id ACTION=action STATUS=status DONE=done FAILED=failed TOTAL=total CREATED=createdAt"
)

var (
	inWorkspace = q("workspace=workspaceId", "Only of this workspace.")
	toWorkspace = b("workspace=workspaceId", "The workspace. Default: the key's only one, else default.")
	bySearch    = q("search", "Only those whose name or notes contain it.")
)

// top are the commands that people type most. It has an entry for each command and reads best as one table.
func top() []command {
	return []command{
		{name: "start", op: "startProfile POST /profiles/{id}/start", help: "Start profiles.", many: true, cols: startCols,
			sample: "warren start shop-1 --dry-run", flags: startFlags()},
		{name: "stop", op: "stopProfile POST /profiles/{id}/stop", help: "Stop profiles.", many: true,
			cols:   "ID=id STATUS=status METHOD=method",
			sample: "warren stop shop-1", flags: []flag{b("force?", "Kill a browser that does not close.")}},
		{name: "restart", op: "restartProfile POST /profiles/{id}/restart", help: "Stop profiles and start them again.", many: true,
			cols: startCols, sample: "warren restart shop-1 --dry-run", flags: startFlags()},
		{name: "ps", op: "listRuns GET /runs", help: "List the profiles that run.", shape: listed, cols: runCols, sample: "warren ps",
			flags: []flag{inWorkspace}, events: "run.* profile.status"},
		{name: "open", op: "createLoginLink POST /login-links", also: "startProfile", args: "[profile:profile]", run: openPage,
			help:   "Open the page, logged in; or start a profile and open its live view.",
			sample: "warren open --print", flags: []flag{o("print?",
				"Print the address instead. A login link works once, within 10 minutes."),
				o("window?", "Start it with a window on the server's machine, instead of the live view.")}},
		{name: "view", op: "", also: "getProfile", args: "profile:profile", run: viewProfile,
			help:   "Open the live view of a profile that runs.",
			sample: "warren view shop-1 --print", flags: []flag{o("print?", "Print the address instead."), o("start?",
				"Start the profile first.")}},
		{name: "logs", op: "getRunLog GET /runs/{runId}/log", optional: true, run: showLogs, shape: lines, cols: "at source level text",
			help:   "Print what a run and its browser said last: of a run, of a profile, or of the only run.",
			sample: "warren logs shop-1", flags: []flag{o("lines#", "How many lines.").as("n").otherwise("100"),
				o("follow?", "Go on with what comes, until the run ends.").as("f")}},
		{name: "cdp", op: "", also: "getProfile startProfile", args: "profile:profile", run: printCDP, shape: raw,
			help:   "Print the address at which clients of CDP drive a running profile. It needs no key.",
			sample: "warren cdp shop-1", flags: []flag{o("start?", "Start the profile first."), o("socket?",
				"Print the WebSocket instead.")}},
		{name: "import", op: "importProfiles POST /profiles/import", args: "path", run: importProfiles,
			help: "Import profiles: an archive, another product's export, CSV, or a folder of Chrome's user data.",
			detail: "What seals an archive stands in WARREN_PASSPHRASE or WARREN_IDENTITY, or in the files that " +
				"WARREN_PASSPHRASE_FILE or WARREN_IDENTITY_FILE name.", sample: "warren import profiles.csv --dry-run",
			flags: importFlags()},
		{name: "events", op: "streamEvents GET /events", run: followEvents, shape: lines, help: "Show what happens, as it happens.",
			sample: "warren events --follow --type run.* --max 1", flags: []flag{o("follow?", "Go on until interrupted.").as("f"),
				o("type[]", "Only these types, such as run.* or proxy.died."), o("max#", "End after so many.")}},
		{name: "audit", op: "listAudit GET /audit", help: "List who read secrets and changed what.", shape: listed,
			cols:   "AT=at ACTION=action RESULT=result KEY=keyName OBJECT=objectId WORKSPACE=workspaceId FROM=remote",
			sample: "warren audit --max 20 --action profile.*", flags: []flag{
				q("action", "Only this action, such as proxy.secret, or profile.* for all of a kind."),
				q("result", "Only this result: ok, the code of a refusal, or refused for every one."),
				q("key=keyId", "What was done with this key.").of("key"),
				q("object=objectId", "What was done with the object of this id."),
				q("from", "From this time on, such as 2026-11-21T00:00:00Z."), q("to", "Before this time.")}},
		{name: "login", shape: local, args: "url", run: login, help: "Keep the address and the key of a server, under a name.",
			detail: "The key is read from WARREN_API_KEY, from --key-file, from the terminal without an echo, else from standard input. " +
				"The server must take it before it is kept.",
			sample: "warren login http://127.0.0.1:7777 --name local --key-file key.txt", flags: []flag{
				o("name", "The context's name. Default: the host."), o("ca",
					"A file with the authority of the server's certificate (PEM)."),
				o("key-file", "A file with the key; - reads standard input."), o("plain?",
					"Send the key unencrypted to another machine.")}},
		{name: "context list", shape: local, run: listContexts, help: "List the servers that you have logged in to.",
			cols: "NAME=name URL=url CURRENT=current", sample: "warren context list",
			flags: []flag{o("output", "table, json, jsonl, yaml, or go-template=TEXT.").as("o").otherwise("table"), o("quiet?",
				"Print names alone.").as("q")}},
		{name: "context use", shape: local, args: "name", run: useContext, help: "Make another server the one that commands call.",
			sample: "warren context use local"},
		{name: "context rm", shape: local, args: "name", run: removeContext, help: "Forget a server and its key.",
			sample: "warren context rm old"},
	}
}

func startFlags() []flag {
	return []flag{b("window?=headless", "Show a window on the server's machine.").not(),
		b("start-url[]=startUrls", "Open this page; may be given several times."),
		b("proxy=proxyId", "Another proxy for this run alone; none: direct.").of("proxy"),
		b("preflight", "What a check of the proxy may stop.").in("off,warn,require"), b("debug-port?", "Open a port for Selenium."),
		b("dry-run?", "Say what would be started, and start nothing."), b("repair?", "Open what is damaged as far as it goes."),
		b("set-aside?", "Set damaged data aside, and start without them."),
		b("allow-downgrade?", "Open data of a newer browser with an older one.")}
}

func importFlags() []flag {
	return []flag{o("profile[]", "Of a folder: which of its profiles, such as Default. Default: all."),
		q("workspace=workspaceId", "The workspace that gets the profiles."), q("dry-run?", "Say what would become of it, and do nothing."),
		q("as", "Of an archive: new, or same, to keep the profiles' ids.").in("new,same")}
}

// settings are the flags of what a profile is told; --set has the others.
func settings() []flag {
	return []flag{b("proxy=proxyId", "Its proxy; none: direct.").of("proxy"), toWorkspace, b("tag[]=tags",
		"Its tags; --tag= takes them away."),
		b("notes", "Notes."), b("os", "What pages see.").in("win,mac,linux"), b("browser-version",
			"The version of Chrome that pages see."),
		b("timezone", "auto, system, or a zone such as Europe/Berlin."), b("start-url[]=startUrls", "A page that opens at its start."),
		b("headless?", "Start without a window."), b("allow-host[]=allowHosts", "Only these hosts may be reached."),
		b("deny-host[]=denyHosts", "These hosts may not be reached."), b("max-run~=maxRunMs", "End a run after this time."),
		b("idle-timeout~=idleTimeoutMs", "End a run that nobody has driven for this time."),
		b("freeze-after#=freezeAfter", "Freeze a run that nobody has needed for so many seconds; 0: never."),
		b("placement{}=placement.labels", "Place it at its first start only on servers with this label, KEY=VALUE."),
		b("start-with-server?", "Start it with the server."), b("snapshots", "Keep snapshots of its data.").in("on,off")}
}

// profileCommands has an entry for each command and reads best as one table.
func profileCommands() []command {
	template := b("template=templateId", "The template whose settings it begins with.").of("template")
	return []command{
		{name: "profile list", op: "listProfiles GET /profiles", help: "List profiles.", shape: listed, cols: profileCols,
			sample: "warren profile list --tag shop --columns name,status", events: "profile.* run.*", flags: []flag{inWorkspace, bySearch,
				q("tag[]", "Only with the tag; given several times, with all of them."),
				q("status", "Only in this state.").in("stopped,starting,running,stopping,failed"),
				q("proxy=proxyId", "Only behind this proxy; its id, none or missing."), q("country",
					"Only what comes out there (two letters)."),
				q("os", "Only with this system.").in("win,mac,linux"), q("node=nodeId",
					"Only those whose data this server has.").of("node"),
				q("never-started?", "Only those that never ran."),
				q("trashed?", "The trash instead."), q("sort", "The order.").in("createdAt,updatedAt,name,lastStartedAt"),
				q("order", "Its direction.").in("asc,desc")}},
		{name: "profile create", op: "createProfile POST /profiles", args: "name", help: "Create a profile.", cols: profileCols,
			sample: "warren profile create shop-2 --tag shop --timezone Europe/Berlin",
			flags:  append(settings(), template, b("start?", "Start it at once."), b("temporary?", "Remove it after its run."))},
		{name: "profile create-many", op: "createProfiles POST /profiles/batch-create", args: "name",
			help: "Create many profiles at once; {n} in the name is their number.", cols: profileCols,
			sample: "warren profile create-many farm-{n} --count 3 --tag farm",
			flags: append(settings(), template, b("count#", "How many."), b("first-number#", "The number of the first."),
				b("proxies", "each: a free proxy for each of them."))},
		{name: "profile show", op: "getProfile GET /profiles/{id}", help: "Show profiles.", many: true, cols: profileCols,
			sample: "warren profile show shop-1 -o yaml", flags: []flag{q("trashed?", "One in the trash.")}},
		{name: "profile edit", op: "updateProfile PUT /profiles/{id}", help: "Change profiles: by flags, or in your editor.", many: true,
			cols: profileCols, sample: "warren profile edit shop-1 --notes 'the Berlin shop'", run: edit,
			flags: append(settings(), b("name", "Its name."), q("cut?", "End open connections that the change forbids."))},
		{name: "profile clone", op: "cloneProfile POST /profiles/{id}/clone", help: "Copy a profile, with its data if asked.",
			cols:   profileCols,
			sample: "warren profile clone shop-1 --name shop-copy", flags: []flag{b("name", "Its name."), b("with-data?",
				"With cookies and storage."),
				b("count#", "How many."), b("temporary?", "Remove it after its run.")}},
		{name: "profile rm", op: "deleteProfile DELETE /profiles/{id}", help: "Move profiles to the trash.", many: true, done: "deleted",
			sample: "warren profile rm shop-copy", flags: []flag{q("permanent?",
				"Remove them and their data for good, also out of the trash.")}},
		{name: "profile restore", op: "restoreProfile POST /profiles/{id}/restore", help: "Take profiles out of the trash.", many: true,
			cols: profileCols, sample: "warren profile restore shop-copy"},
		{name: "profile export", op: "exportProfiles GET /profiles/export", also: "exportProfile", args: "profile:profile…", shape: raw,
			run: exportProfiles, help: "Write profiles, with their data, into an archive.",
			detail: "The passphrase stands in WARREN_PASSPHRASE, or in the file that WARREN_PASSPHRASE_FILE names.",
			sample: "warren profile export shop-1 --unsealed --output shop-1.warren",
			flags: []flag{q("recipient[]", "Seal it for this age recipient."), q("unsealed?",
				"Do not seal it: whoever has the file has the sessions.")}},
		{name: "profile import", op: "importProfiles POST /profiles/import", args: "path", run: importProfiles,
			help: "Import profiles, as warren import does.", sample: "warren profile import profiles.csv --dry-run", flags: importFlags()},
		{name: "profile batch", op: "batchProfiles POST /profiles/batch", args: "action [profile:profile…]", run: batch,
			cols:   "ID=id STATUS=status",
			help:   "Act on many profiles: start, stop, restart, delete, restore, tag, untag or setProxy.",
			detail: "Instead of profiles --filter-tag, --filter-search or --set filter.MEMBER=VALUE say which. The answer is a job then.",
			sample: "warren profile batch tag shop-1 --tags eu", flags: []flag{b("tags[]", "With tag and untag: the tags."),
				b("proxy=proxyId", "With setProxy: the proxy; none: direct.").of("proxy"), b("filter-tag[]=filter.tag",
					"Those with this tag."),
				b("filter-search=filter.search", "Those whose name or notes contain it."), o("wait?", "Wait for the end of the job.")}},
		{name: "profile explain", op: "explainProfile GET /profiles/{id}/explain", help: "Say what a profile's pages see, and why.",
			sample: "warren profile explain shop-1"},
		{name: "profile runs", op: "listProfileRuns GET /profiles/{id}/runs", help: "List a profile's runs.", shape: listed,
			cols:   "RUN=runId STATUS=status REASON=reason STARTED=startedAt TOOK=durationMs EXIT=proxy.exitIp DOWN=bytesDown UP=bytesUp",
			sample: "warren profile runs shop-1 --max 5"},
		{name: "profile traffic", op: "profileTraffic GET /profiles/{id}/traffic", help: "Show what a profile has sent and received.",
			sample: "warren profile traffic shop-1 --by proxy", flags: trafficFlags("day,proxy,run")},
		{name: "profile leak-test", op: "leakTest POST /profiles/{id}/leak-test", help: "Try every way out of a profile's browser.",
			sample: "warren profile leak-test shop-1 --timeout 20s", flags: []flag{b("timeout~=timeoutMs", "How long it may take."),
				o("fail?", "Exit with 1 if something leaks.")}, run: leakTest},
		{name: "profile failback", op: "failbackProfile POST /profiles/{id}/failback",
			help: "Return runs to their profiles' own proxies.", many: true,
			cols: startCols, sample: "warren profile failback shop-1"},
		{name: "profile screenshot", op: "screenshotProfile GET /profiles/{id}/screenshot", help: "Take a picture of a page.", shape: raw,
			sample: "warren profile screenshot shop-1 --output shop.png", flags: []flag{q("format",
				"The kind of picture.").in("png,jpeg,webp"),
				q("quality#", "For jpeg and webp."), q("full-page?", "The whole page."), q("tab",
					"A tab's id. Default: the one in front."),
				q("size", "small: a picture of at most 320 x 240.").in("small")}},
		{name: "profile pdf", op: "printProfile GET /profiles/{id}/pdf", help: "Print a page to PDF.", shape: raw,
			sample: "warren profile pdf shop-1 --paper a4 --output shop.pdf", flags: []flag{
				q("paper", "The paper.").in("a3,a4,a5,letter,legal,tabloid"), q("landscape?", "Landscape."), q("background?",
					"With backgrounds."),
				q("scale", "The scale, such as 0.8."), q("tab", "A tab's id. Default: the one in front.")}},
	}
}

func trafficFlags(by string) []flag {
	return []flag{q("from", "The first day, such as 2026-11-01."), q("to", "The last day."), q("by", "What the rows are.").in(by)}
}

// stateCommands are about the data of profiles.
func stateCommands() []command {
	return []command{
		{name: "profile cookies get", op: "getCookies GET /profiles/{id}/cookies", help: "Read a profile's cookies.", shape: raw,
			sample: "warren profile cookies get shop-1 --format netscape --output cookies.txt", flags: []flag{
				q("domain[]", "Only of this domain."), q("format", "The format.").in("playwright,netscape,cookie-editor,cdp")}},
		{name: "profile cookies set", op: "putCookies PUT /profiles/{id}/cookies", args: "file", run: sendFile,
			help:   "Write the cookies of a file to a profile.",
			sample: "warren profile cookies set shop-1 cookies.json --dry-run", flags: append(writeFlags(),
				q("format", "The file's format. Default: what it looks like.").in("playwright,netscape,cookie-editor,cdp"))},
		{name: "profile cookies clear", op: "deleteCookies DELETE /profiles/{id}/cookies", help: "Delete a profile's cookies.",
			done:   "deleted",
			sample: "warren profile cookies clear shop-1 --domain example.com", flags: []flag{q("domain[]", "Only of this domain.")}},
		{name: "profile storage get", op: "getStorageState GET /profiles/{id}/storage-state",
			help:  "Read a profile's cookies and storage.",
			shape: raw, sample: "warren profile storage get shop-1 --output state.json", flags: []flag{q("domain[]",
				"Only of this domain."),
				q("indexed-db?=indexedDB", "With IndexedDB.")}},
		{name: "profile storage set", op: "putStorageState PUT /profiles/{id}/storage-state", args: "file", run: sendFile,
			help: "Write cookies and storage to a profile.", sample: "warren profile storage set shop-1 state.json --dry-run",
			flags: writeFlags()},
		{name: "profile clear", op: "clearProfile POST /profiles/{id}/clear", help: "Remove data of profiles.", many: true,
			sample: "warren profile clear shop-1 --kind cache", flags: []flag{
				b("kind[]=kinds", "cache, cookies, history, storage, downloads or permissions."),
				b("origin[]=origins", "Only of this origin."), b("since", "Only from this time on (RFC 3339).")}},
		{name: "profile downloads list", op: "listDownloads GET /profiles/{id}/downloads", help: "List what a profile has downloaded.",
			shape: listed,
			cols:  "NAME=name STATE=state SIZE=size STARTED=startedAt FROM=url", sample: "warren profile downloads list shop-1"},
		{name: "profile downloads get", op: "getDownload GET /profiles/{id}/downloads/{name}", help: "Get a downloaded file.", shape: raw,
			sample: "warren profile downloads get shop-1 report.pdf --output report.pdf"},
		{name: "profile downloads rm", op: "deleteDownload DELETE /profiles/{id}/downloads/{name}",
			help: "Delete downloads, or cancel them.",
			many: true, done: "deleted", sample: "warren profile downloads rm shop-1 report.pdf"},
		{name: "profile upload", op: "putUpload PUT /profiles/{id}/uploads/{name}", args: "file", run: sendFile,
			help: "Give a file to the pages of a run, under a name.", sample: "warren profile upload shop-1 photo.jpg photo.jpg"},
		{name: "profile passkeys list", op: "listPasskeys GET /profiles/{id}/passkeys", help: "List a profile's passkeys.", shape: listed,
			cols: "ID=id SITE=site USER=userName", sample: "warren profile passkeys list shop-1"},
		{name: "profile passkeys rm", op: "deletePasskey DELETE /profiles/{id}/passkeys/{passkeyId}",
			help: "Delete passkeys of a profile.",
			many: true, done: "deleted", sample: "warren profile passkeys rm shop-1 alice@example.com"},
		{name: "snapshot list", op: "listSnapshots GET /profiles/{id}/snapshots", help: "List the snapshots of a profile.", shape: listed,
			cols:   "ID=id NAME=name REASON=reason PINNED=pinned CURRENT=current BYTES=bytes CREATED=createdAt",
			sample: "warren snapshot list shop-1"},
		{name: "snapshot create", op: "createSnapshot POST /profiles/{id}/snapshots", help: "Keep the data of profiles.", many: true,
			sample: "warren snapshot create shop-1 --name before", cols: "ID=id NAME=name BYTES=bytes", flags: []flag{b("name",
				"Its name."),
				b("pinned?", "Never remove it by itself."), b("live?", "Of a running profile, while it runs."),
				b("restart?", "Of a running profile: stop it, and start it again.")}},
		{name: "snapshot edit", op: "updateSnapshot PATCH /profiles/{id}/snapshots/{snapshotId}", help: "Rename, pin or unpin a snapshot.",
			cols: "ID=id NAME=name PINNED=pinned", sample: "warren snapshot edit shop-1 before --pinned",
			flags: []flag{b("name", "Its name."), b("pinned?", "Never remove it by itself.")}},
		{name: "snapshot rm", op: "deleteSnapshot DELETE /profiles/{id}/snapshots/{snapshotId}", help: "Delete snapshots.", many: true,
			done: "deleted", sample: "warren snapshot rm shop-1 before"},
		{name: "snapshot rollback", op: "rollbackProfile POST /profiles/{id}/rollback", args: "snapshotId:snapshot",
			help:   "Return a profile's data to a snapshot.",
			sample: "warren snapshot rollback shop-1 before", body: true},
	}
}

func writeFlags() []flag {
	return []flag{q("mode", "What is done with what the file does not have.").in("merge,replace-domains,replace-all"),
		q("confirm?", "replace-all needs it."), q("dry-run?", "Change nothing, and say the counts."), q("domain[]",
			"Only of this domain.")}
}
