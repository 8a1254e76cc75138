package cli

// proxyFilters select proxies.
func proxyFilters() []flag {
	return []flag{inWorkspace, q("tag[]", "Only with the tag; given several times, with all of them."),
		q("type", "Only of this type.").in("socks5,http,https,socks4"), q("status", "Only with this status: unknown, alive or dead."),
		q("country", "Only what comes out in this country (two letters)."), q("unused?", "Only those that no profile uses."),
		q("search", "Only those whose name, notes, host or user name contain it.")}
}

// proxySettings are the members of a proxy. A password stands on no command line: --file has it, or --password-file.
func proxySettings() []flag {
	return []flag{b("type", "Its type.").in("socks5,http,https,socks4"), b("host", "Its host."), b("port#", "Its port."),
		b("username", "The user."), b("name", "Its name."), toWorkspace, b("tag[]=tags", "Its tags; --tag= takes them away."), b("notes",
			"Notes."),
		b("rotate-url", "What it asks for another exit IP."), o("password-file", "A file with the password; - reads standard input.")}
}

func proxyCommands() []command {
	return []command{
		{name: "proxy list", op: "listProxies GET /proxies", help: "List proxies.", shape: listed, cols: proxyCols, events: "proxy.*",
			sample: "warren proxy list --status alive --sort latency", flags: append(proxyFilters(),
				q("sort", "The order.").in("createdAt,updatedAt,name,host,country,latency,checkedAt"), q("order",
					"Its direction.").in("asc,desc"))},
		{name: "proxy add", op: "addProxy POST /proxies", args: "[url]", help: "Add a proxy.", cols: proxyCols,
			sample: "warren proxy add socks5://de.proxy.example:1080 --tag de", flags: proxySettings()},
		{name: "proxy show", op: "getProxy GET /proxies/{id}", help: "Show proxies.", many: true, cols: proxyCols,
			sample: "warren proxy show proxy.example:1080"},
		{name: "proxy edit", op: "updateProxy PUT /proxies/{id}", help: "Change proxies: by flags, or in your editor.", many: true,
			cols:   proxyCols,
			sample: "warren proxy edit proxy.example:1080 --name berlin", run: edit,
			flags: append(proxySettings(), q("cut?", "End open connections of runs behind it."))},
		{name: "proxy rm", op: "deleteProxy DELETE /proxies/{id}", help: "Delete proxies.", many: true, done: "deleted",
			sample: "warren proxy rm old.proxy.example:1080"},
		{name: "proxy check", op: "checkProxy POST /proxies/{id}/check", also: "checkAllProxies", run: checkProxies, many: true,
			optional: true,
			help:     "Check proxies, or all of them.", sample: "warren proxy check --all --tag none-such", flags: []flag{
				o("all?", "Check every proxy, or those of --tag or --workspace."), o("tag", "With --all: those with this tag."),
				o("workspace", "With --all: those of this workspace."), o("fail?", "Exit with 1 if one is dead.")}},
		{name: "proxy try", op: "checkUnsavedProxy POST /proxies/check", args: "[url]", run: checkUnsaved,
			help:   "Check a proxy that is not saved.",
			sample: "warren proxy try http://127.0.0.1:9", flags: append(proxySettings(), o("fail?", "Exit with 1 if it is dead."))},
		{name: "proxy rotate", op: "rotateProxy POST /proxies/{id}/rotate", help: "Get another exit IP from proxies.", many: true,
			cols: "ID=id CHANGED=changed BEFORE=before EXIT=exitIp TOOK=durationMs", sample: "warren proxy rotate berlin"},
		{name: "proxy import", op: "importProxies POST /proxies/import", args: "file", run: importProxies,
			help:   "Import a list: .csv is CSV, .json is JSON, anything else has a proxy a line.",
			sample: "warren proxy import list.txt --dry-run", flags: []flag{q("workspace=workspaceId", "The workspace that gets them."),
				q("type", "The type of lines that name none.").in("socks5,http,https,socks4"), q("tag[]", "A tag for every proxy."),
				q("choice[]", "What an ambiguous line means: LINE:READING."), q("dry-run?", "Say what would be done, and do nothing.")}},
		{name: "proxy export", op: "exportProxies GET /proxies/export", help: "Export proxies, as import takes them.", shape: raw,
			sample: "warren proxy export --format csv", flags: append(proxyFilters(), q("format",
				"The format.").in("text,csv,json").otherwise("text"),
				q("secrets?", "With passwords. The key needs the scope secrets, and the server writes it down."))},
		{name: "proxy secret", op: "proxySecret GET /proxies/{id}/secret", help: "Read the password of a proxy.",
			sample: "warren proxy secret berlin"},
		{name: "proxy traffic", op: "proxyTraffic GET /proxies/{id}/traffic", help: "Show what went through a proxy.",
			sample: "warren proxy traffic berlin --by day", flags: trafficFlags("day,profile,run")},
		{name: "proxy checks", op: "listProxyChecks GET /proxies/{id}/checks", help: "List the last checks of a proxy.", shape: listed,
			cols:   "CHECKED=checkedAt STATUS=status EXIT=exitIp COUNTRY=country LATENCY=latencyMs CODE=error.code",
			sample: "warren proxy checks berlin --max 5"},
	}
}

// keptCommands are about what else the server keeps. It has an entry for each command and reads best as one table.
func keptCommands() []command {
	name := b("name", "Its name.")
	scheduled := []flag{toWorkspace, b("action", "What it does.").in("start,stop,check,snapshot,rotate"), b("cron",
		"When, as cron has it."),
		b("every~=everyMs", "How often."), b("time-zone", "The zone of cron."), b("tag", "What has this tag."),
		b("profile[]=profileIds", "These profiles.").of("profile"), b("proxy[]=proxyIds", "These proxies.").of("proxy"),
		b("max-run~=maxRunMs", "Stop what it has started after this time."), b("enabled?", "Whether it runs."),
		b("catch-up?", "Do what was missed while no server ran."), b("start-url[]=startUrls", "A page that opens.")}
	const scheduleCols = "ID=id NAME=name ACTION=action ENABLED=enabled CRON=cron EVERY=everyMs NEXT=nextRuns"
	const templateCols = "ID=id NAME=name WORKSPACE=workspaceId UPDATED=updatedAt"
	const extensionCols = "ID=id NAME=name VERSION=version EXTENSION=extensionId WORKSPACE=workspaceId"
	return []command{
		{name: "template list", op: "listTemplates GET /templates", help: "List templates.", shape: listed, cols: templateCols,
			sample: "warren template list", flags: []flag{inWorkspace, bySearch}},
		{name: "template show", op: "getTemplate GET /templates/{id}", help: "Show templates.", many: true, cols: templateCols,
			sample: "warren template show german"},
		{name: "template create", op: "createTemplate POST /templates", args: "name", help: "Create a template.", cols: templateCols,
			sample: "warren template create french --timezone Europe/Paris --set locale=[\"fr-FR\"]", flags: settings()},
		{name: "template edit", op: "updateTemplate PUT /templates/{id}", help: "Change a template: by flags, or in your editor.",
			cols:   templateCols,
			sample: "warren template edit german --notes new", flags: append(settings(), name), run: edit},
		{name: "template rm", op: "deleteTemplate DELETE /templates/{id}", help: "Delete templates.", many: true, done: "deleted",
			sample: "warren template rm german"},
		{name: "extension list", op: "listExtensions GET /extensions", help: "List extensions.", shape: listed, cols: extensionCols,
			sample: "warren extension list", flags: []flag{inWorkspace}},
		{name: "extension show", op: "getExtension GET /extensions/{id}", help: "Show extensions.", many: true, cols: extensionCols,
			sample: "warren extension show example"},
		{name: "extension add", op: "addExtension POST /extensions", args: "file", run: sendFile,
			help: "Add an extension: a zip or a CRX file.",
			cols: extensionCols, sample: "warren extension add extension.zip --dry-run",
			flags: []flag{q("workspace=workspaceId", "The workspace that gets it."), q("dry-run?",
				"Say what it may do, and add nothing.")}},
		{name: "extension rm", op: "deleteExtension DELETE /extensions/{id}", help: "Delete extensions.", many: true, done: "deleted",
			sample: "warren extension rm example"},
		{name: "schedule list", op: "listSchedules GET /schedules", help: "List schedules.", shape: listed, cols: scheduleCols,
			sample: "warren schedule list", flags: []flag{inWorkspace, bySearch}},
		{name: "schedule show", op: "getSchedule GET /schedules/{id}", help: "Show schedules.", many: true, cols: scheduleCols,
			sample: "warren schedule show nightly"},
		{name: "schedule create", op: "createSchedule POST /schedules", args: "name", help: "Create a schedule.", cols: scheduleCols,
			sample: "warren schedule create morning --action start --tag shop --cron '0 8 * * *' --time-zone Europe/Berlin",
			flags:  scheduled},
		{name: "schedule edit", op: "updateSchedule PUT /schedules/{id}", help: "Change schedules: by flags, or in your editor.",
			many: true,
			cols: scheduleCols, sample: "warren schedule edit nightly --no-enabled", flags: append(scheduled, name), run: edit},
		{name: "schedule rm", op: "deleteSchedule DELETE /schedules/{id}", help: "Delete schedules.", many: true, done: "deleted",
			sample: "warren schedule rm nightly"},
	}
}

// accessCommands are about who may do what, and where. It has an entry for each command and reads best as one table.
func accessCommands() []command {
	name := b("name", "Its name.")
	const workspaceCols = "ID=id NAME=name PROFILES=profileCount PROXIES=proxyCount TRASHED=trashedCount"
	return []command{
		{name: "workspace list", op: "listWorkspaces GET /workspaces", help: "List workspaces.", shape: listed, cols: workspaceCols,
			sample: "warren workspace list"},
		{name: "workspace show", op: "getWorkspace GET /workspaces/{id}", help: "Show workspaces.", many: true, cols: workspaceCols,
			sample: "warren workspace show default"},
		{name: "workspace create", op: "createWorkspace POST /workspaces", args: "id", help: "Create a workspace.", cols: workspaceCols,
			sample: "warren workspace create team --name Team --quota-running 5", flags: append(quotas(), name)},
		{name: "workspace edit", op: "putWorkspace PUT /workspaces/{id}",
			help:   "Change a workspace: its name, its quotas, and defaults of its profiles.",
			cols:   workspaceCols,
			sample: "warren workspace edit default --set defaults.timezone=Europe/Berlin", flags: append(quotas(), name), run: edit},
		{name: "workspace rm", op: "deleteWorkspace DELETE /workspaces/{id}", help: "Delete empty workspaces.", many: true,
			done: "deleted", sample: "warren workspace rm team"},
		{name: "key create", op: "createKey POST /keys", args: "name", run: createKey, help: "Create a key and print it, this once.",
			sample: "warren key create reader --scope read --expires 720h", flags: []flag{
				o("scope[]", "What it may do; files are those of the machine, for clients of browsers.").
					in("read,run,write,files,secrets,admin").otherwise("read,run,write"),
				o("workspace[]", "Workspaces that it sees. Default: all."),
				o("expires~", "How long it lives, such as 720h. Default: for ever.")}},
		{name: "key list", op: "listKeys GET /keys", help: "List keys.", shape: listed, sample: "warren key list",
			cols: "ID=id NAME=name KEY=hint SCOPES=scopes WORKSPACES=workspaces/all LAST_USED=lastUsedAt/never STATE=@state"},
		{name: "key revoke", op: "revokeKey DELETE /keys/{id}", help: "Revoke keys.", many: true, done: "revoked",
			sample: "warren key revoke reader"},
		{name: "capability list", op: "listCapabilities GET /profiles/{id}/capabilities", help: "List the addresses of a run for others.",
			shape: listed,
			cols:  "ID=id NAME=name READONLY=readonly FILES=files EXPIRES=expiresAt/never", sample: "warren capability list shop-1"},
		{name: "capability create", op: "createCapability POST /profiles/{id}/capabilities", help: "Make addresses of a run for others.",
			sample: "warren capability create shop-1 --readonly --expires 1h", flags: []flag{name, b("readonly?", "Only to watch."),
				b("files?", "May use files of the machine."), b("expires~=expiresInMs", "How long they work.")}},
		{name: "capability revoke", op: "revokeCapability DELETE /profiles/{id}/capabilities/{capabilityId}",
			help: "Revoke addresses of a run.", many: true,
			done: "revoked", sample: "warren capability revoke shop-1 lyon"},
		{name: "ticket create", op: "createTicket POST /tickets", args: "path",
			help:   "Make a ticket that opens one WebSocket without a key.",
			sample: "warren ticket create /api/v1/profiles/0199a1c2-7d3e-7a10-8a55-0123456789ab/live", body: true},
	}
}

// quotas are the flags of how much a workspace may have.
func quotas() []flag {
	return []flag{b("quota-profiles#=quotas.profiles", "How many profiles it may have."),
		b("quota-running#=quotas.running", "How many browsers it may run at once."),
		b("quota-disk-mb#=quotas.diskMb", "How much its profiles' data may take, in MB."),
		b("quota-proxies#=quotas.proxies", "How many proxies it may have.")}
}

// serverCommands are about runs, jobs and the server itself.
func serverCommands() []command {
	return []command{
		{name: "run list", op: "listRuns GET /runs", help: "List the profiles that run, as ps does.", shape: listed, cols: runCols,
			sample: "warren run list -o json", flags: []flag{inWorkspace}, events: "run.*"},
		{name: "run show", op: "", also: "listRuns", args: "run:run", help: "Show a run.",
			sample: "warren run show 0199a1c2-7d3e-7a10-8a55-0123456789ef", run: showRun},
		{name: "run hosts", op: "listRunHosts GET /runs/{runId}/hosts", help: "List what a run connected to.", shape: listed,
			cols:   "HOST=host CONNECTIONS=connections DOWN=bytesDown UP=bytesUp REFUSED=refused LAST=lastAt",
			sample: "warren run hosts 0199a1c2-7d3e-7a10-8a55-0123456789ef"},
		{name: "job list", op: "listJobs GET /jobs", help: "List the jobs of this key.", shape: listed, cols: jobCols,
			sample: "warren job list", events: "job.*"},
		{name: "job show", op: "getJob GET /jobs/{id}", help: "Say how far a job is, and what failed.",
			sample: "warren job show 0199a1c2-7d3e-7a10-8a55-0123456789ab --wait",
			flags:  []flag{o("wait?", "Wait for its end.")}, run: waitJob},
		{name: "job results", op: "listJobResults GET /jobs/{id}/results", help: "Print the results of a job.", shape: lines,
			cols: "ID=id STATUS=status CODE=error.code", sample: "warren job results 0199a1c2-7d3e-7a10-8a55-0123456789ab"},
		{name: "job cancel", op: "cancelJob DELETE /jobs/{id}", help: "Cancel jobs.", many: true, done: "cancelled",
			sample: "warren job cancel 0199a1c2-7d3e-7a10-8a55-0123456789ab"},
		{name: "server show", op: "getServer GET /server", help: "Show the server's settings and the findings of its doctor.",
			sample: "warren server show -o yaml"},
		{name: "server summary", op: "getSummary GET /summary", help: "Count profiles and proxies.", sample: "warren server summary",
			flags: []flag{inWorkspace}},
		{name: "server pressure", op: "getPressure GET /pressure", help: "Show the load of the server.", sample: "warren server pressure"},
		{name: "server version", op: "version GET /version", help: "Show the version of the server.", sample: "warren server version",
			run: rooted},
		{name: "server health", op: "health GET /healthz", help: "Ask whether the server answers.", sample: "warren server health",
			run: rooted},
		{name: "server ready", op: "ready GET /readyz", help: "Ask whether the server can start profiles.", sample: "warren server ready",
			run: rooted},
		{name: "server openapi", op: "openapi GET /openapi.json", help: "Print the description of the API.",
			sample: "warren server openapi", shape: raw, run: rooted},
		{name: "server browsers", op: "listBrowsers GET /browsers", help: "List the browsers of the server's machine.", shape: listed,
			cols: "PRODUCT=product VERSION=version SOURCE=source PATH=path", sample: "warren server browsers"},
		{name: "server install-browser", op: "installBrowser POST /browsers", args: "version",
			help:   "Install a build of Chrome for Testing on the server's machine.",
			sample: "warren server install-browser 140 --wait", body: true, flags: []flag{o("wait?", "Wait for its end.")}, run: install},
		{name: "server installation", op: "getInstallation GET /browsers/installation",
			help:   "Show how far an installation is, or how it ended.",
			sample: "warren server installation"},
		{name: "server cancel-installation", op: "cancelInstallation DELETE /browsers/installation", help: "Cancel an installation.",
			done:   "cancelled",
			sample: "warren server cancel-installation"},
		{name: "completion", shape: local, args: "shell", run: completion,
			help: "Print the completion of a shell: bash, zsh, fish or powershell.",
			detail: "For bash: `source <(warren completion bash)` in ~/.bashrc. " +
				"For the others the first lines of the output say where it goes.",
			sample: "warren completion bash"},
		{name: "man", shape: local, args: "[dir]", run: manual, help: "Write the man pages to a folder, or print that of all commands.",
			sample: "warren man man1"},
		{name: "__complete", shape: local, args: "[word…]", run: complete, hidden: true},
	}
}
