package api

// descriptions hold the text of each operation in the document, beyond its summary.
var descriptions = map[string]string{
	"listProfiles": "Newest first. Filters combine. `total` is exact without filters, and with one of `tag`, `status`, " +
		"`proxyId`, `proxyStatus`, `country` and `neverStarted`. With other filters it is exact to 10,000; beyond that it is 10000 " +
		"and `totalIsExact` is false. For long walks use `after` with the `next` of the page before, instead of `page`. It costs " +
		"the same at every depth, and continues even if objects are deleted or trashed meanwhile.",
	"createProfile": "Settings that the request leaves out are taken from `templateId`, then from the workspace's `defaults`, then " +
		"from the server. The profile keeps these values when either changes later. `proxyId` null is a direct connection, also with " +
		"a template that has a proxy.\n\n" +
		"Takes `Idempotency-Key`: the same key and body within 24 hours gets the first answer again. Refusals (401, " +
		"403, 413, 415, 422), 409, 429 and 5xx are not stored. Answers of more than 64 KiB are not stored either. Of " +
		"one API key the newest 1,000 answers are stored.",
	"createProfiles": "In one transaction: all of them, or none. They share the settings of the request. `{n}` in `name` is each " +
		"profile's number, from `firstNumber`. The answer has all profiles on one page, in that order. `proxies` gives them " +
		"proxies: with `each` every one gets a proxy that no other profile uses, a list of ids has one for each. Too few are " +
		"422 `validation_failed`, which says how many there are.\n\n" +
		"At most 10,000 at once, and an answer of at most 16 MiB. Other writes wait for the transaction, 0.3 s with 10,000. One " +
		"event is published, `profile.batch_created`. Takes `Idempotency-Key`. An answer of more than 64 KiB is not " +
		"stored: the same request gets what is there of its profiles.",
	"updateProfile": updateProfileText,
	"patchProfile":  updateProfileText,
	"listTemplates": "Newest first. A template shows those settings alone that it has.",
	"createTemplate": "A template has any settings of a profile. `proxies` stands for a choice of each profile's own proxy. Names are " +
		"unique in a workspace (409 `duplicate`), which has at most 1,000 templates (409 `template_limit`). Takes `Idempotency-Key`.\n\n" +
		"`templateId` at the creation of a profile fills the settings that the request leaves out. The profile takes their values then. " +
		"Later changes of the template do not change it, nor does its deletion.",
	"updateTemplate": updateTemplateText,
	"patchTemplate":  updateTemplateText,
	"deleteTemplate": "Profiles that were created with it keep their settings.",
	"listSchedules":  "Newest first. `nextRuns` has the next five occurrences of each, `lastRun` what the last one came to.",
	"createSchedule": "At the times of `cron` in `timeZone`, or every `everyMs`, the server does `action` with the profiles or " +
		"proxies that are named or have the `tag` then. It acts with the rights of the workspace, not of the key. A key needs the " +
		"scope `run` too, but for snapshots. A workspace has at most 1,000 schedules (409 `schedule_limit`). Takes " +
		"`Idempotency-Key`.\n\n" +
		"A schedule never overlaps itself: an occurrence is `skipped` while the one before goes on. That of a start goes on until its " +
		"runs have ended. A profile that runs already is left as it is. Occurrences at which no server ran are `missed` and not made " +
		"up for, unless `catchUp` is true: then one runs.\n\n" +
		"At the change to summer time, a time that does not exist is due when the clocks are put forward. One that exists twice is " +
		"due once. An expression for every hour goes by the time that passes.",
	"updateSchedule": updateScheduleText,
	"patchSchedule":  updateScheduleText,
	"deleteSchedule": "An occurrence that goes on comes to its end.",
	"listWebhooks":   "Newest first.",
	"createWebhook": "Events of the workspace whose type fits one of `events` are sent to `url` by the rules of Standard Webhooks: a " +
		"POST with `{\"type\",\"timestamp\",\"data\"}`, signed with the `secret`, which only this answer has. An answer 2xx within 20 s " +
		"takes it. Otherwise it is tried ten times over three days. 410, or five days of failures, turn the webhook off " +
		"(`webhook.disabled`). Redirects are not followed.\n\n" +
		"An event may come twice: its header `webhook-id` is the same then. The order is not promised. Events of the server itself, " +
		"such as those of keys and backups, belong to no workspace and are not sent. A workspace has at most 50 webhooks (409 " +
		"`webhook_limit`). Takes `Idempotency-Key`.",
	"updateWebhook": updateWebhookText,
	"patchWebhook":  updateWebhookText,
	"deleteWebhook": "Its deliveries are deleted too. An attempt under way comes to its end.",
	"testWebhook": "Sends an event `webhook.test` once, also while the webhook is turned off, and answers with what came back. " +
		"It waits for the endpoint, at most 20 s.",
	"rotateWebhookSecret": "Answers the new secret, this once. The former one signs too for 24 hours, or for `keepOldMs`: each request " +
		"then has both signatures.",
	"listDeliveries": "Newest first: what is pending, and the last 10,000 of 30 days. Attempts have the time, the status and the " +
		"beginning of the answer.",
	"replayDelivery": "Sends it again with the `webhook-id` that it had, and with ten new attempts. The webhook must be turned on (409 " +
		"`webhook_disabled`).",
	"deleteProfile": "Moves the profile and its data to the trash. `permanent=true` deletes both now, also from the trash. A " +
		"running profile is stopped first: the answer comes when its browser has exited.",
	"startProfile": "Answers when the browser takes commands. No body is needed. Takes `Idempotency-Key`.\n\n" +
		"With `consistency` block the start is refused (422 `identity_mismatch`) if the profile contradicts its exit. " +
		"A profile that runs already answers the same run, with `reused`.\n\n" +
		"The addresses belong to the caller's key and carry its rights: another key gets other addresses. Without the " +
		"scope `files` uploads and downloads stay in the run's own folder. The addresses end with the key, with the " +
		"run, and with a server that no longer has the key.",
	"restartProfile": "Stops the browser gracefully and starts it again: tabs and cookies are kept, and the current settings apply. " +
		"What would refuse the start refuses it before anything is stopped. A profile that does not run is started. A " +
		"start or restart under way is joined, with `reused`. A stop during the restart wins: 409 `profile_busy`. The " +
		"restart keeps its place among `--max-running`. Takes `Idempotency-Key`.",
	"failbackProfile": "For a run that uses one of `fallbackProxyIds`: new connections use the profile's own proxy again. Only this " +
		"and a change of `proxyId` switch it back.",
	"listRunHosts": "For a run whose profile has `logHosts`. The hosts are available while it runs, and as long as the profile's history " +
		"keeps it. At most 1,000 names are kept; `notKept` counts requests for others. `logged` is false if nothing was kept.",
	"getRunLog": "Of a run that goes on: the last lines of its process, then what its browser has printed last (20 lines at most). " +
		"Of one that has ended only the browser's lines are left, as long as the history keeps the run. Addresses are left out of " +
		"the lines: a scheme and `…` stand for one.",
	"proxyTraffic": "Payload by day (UTC), profile or run, without the overhead of proxies and protocols. It is kept for 400 " +
		"days, also for deleted profiles. Running browsers are asked first.",
	"profileTraffic": "Payload by day (UTC), proxy or run, without the overhead of proxies and protocols. It is kept for 400 days. " +
		"Running browsers are asked first.",
	"listDownloads": "Newest first, with the browser's own ids. `after` takes such an id, or `next`. The downloads are those of " +
		"the current run, or of the last one: the profile's next start empties the folder. Files that a client with " +
		"the scope `files`, or a person at a window, saves elsewhere are not available once complete.",
	"deleteDownload": "Deletes the file. One that is `in_progress` is cancelled. This frees space of `--files-quota`.",
	"stopProfile":    "Closes the browser gracefully and answers when it has exited: cookies are on disk. `force` kills it.",
	"createCapability": "Creates addresses of one run, for clients without a key. They carry a secret of 256 bits. They work until " +
		"the capability expires or is revoked, or until the run or this key ends.\n\n" +
		"A capability has no more rights than this key. It uses files of the machine only with `files`, which needs " +
		"the scope of that name (403). With `readonly` it opens the live view alone, to watch. At most 100 exist at a " +
		"time. Only this answer has the addresses. No body is needed. Takes `Idempotency-Key`.",
	"listCapabilities": "Newest first, without their addresses. The addresses that start answers are not listed, nor are ended " +
		"capabilities. A profile that does not run has none.",
	"revokeCapability": "Its addresses stop working, and every connection through them is closed at once.",
	"screenshotProfile": "Of the tab in front, or of a named one, even behind another. No DevTools session is opened, and the tab " +
		"stays where it is.",
	"printProfile": "As the browser prints it to PDF.",
	"explainProfile": "For a running profile: what its pages see. For another: what they would see, as far as that is known without a " +
		"browser. The exit is then the proxy's last good check. `findings` are contradictions between the declared settings and the " +
		"exit; `consistency` says what start does with them. `differences` are what a page can detect all the same.\n\n" +
		"Where several servers share a database, one answers for a profile without data that a start would choose.",
	"leakTest": "Opens a bundled page in a throw-away profile with the same settings, headless. The page tries every way out, against " +
		"canaries on this machine. Each channel is judged by what reached them. The profile itself and its run are not touched. One test " +
		"runs at a time. A channel that could not be tried has not passed. A dead proxy is no leak.",
	"restoreProfile": "If its proxy was deleted meanwhile, the profile has `proxyMissing` and does not start until `proxyId` is set.",
	"listSnapshots": "Newest first, all on one page. A snapshot is made at each graceful stop, before a roll-back, before an older " +
		"browser opens the profile, and when it is asked for. Kept are the last 7, the newest of each of 14 days, and those that are " +
		"pinned. The one that the data go on from, and the newest of a closed browser, are kept in any case.",
	"createSnapshot": "Keeps cookies, storage, history, extensions and all else that the browser does not make anew, sealed. What " +
		"other snapshots have already is not written again. A profile that runs is refused (409 `profile_running`) unless `restart` " +
		"closes it first.",
	"updateSnapshot": "A pinned snapshot is kept until it is deleted.",
	"deleteSnapshot": "What no other snapshot needs is deleted from the disk a day later. The data of a clone that has not run yet are " +
		"in its first snapshot alone: that one is refused (409 `snapshot_in_use`).",
	"rollbackProfile": "The profile must not run. What its data are now is kept first, as a snapshot with the reason " +
		"`before_rollback`. If the snapshot cannot be read (409 `snapshot_damaged`), or the disk is full, the data stay as they are. " +
		"Settings do not change.",
	"cloneProfile": "Copies the settings, and with `withData` or `snapshotId` the data. No content is stored twice: a clone's data are " +
		"unpacked at its first start. The clones of one request are there together, or none of them is. One clone is answered by " +
		"itself, several as a list on one page. A clone of a profile without its proxy has `proxyMissing` too. Takes " +
		"`Idempotency-Key`.\n\ndocs/snapshots.md says which ids of Chrome's a clone shares with its original.",
	"exportProfile": exportText + "A profile that has never run is exported without data.",
	"exportProfiles": exportText + "An unknown id is 422, and says which. One that runs is 409 `profile_running`, with `profileIds`. For " +
		"many ids the address is long: a reverse proxy may take fewer than 1,000.",
	"addExtension": "The body is a zip of the extension's folder, or a CRX3 file: at most 100 MiB, 10,000 files and 100 MiB unpacked. It " +
		"is received whole and checked: manifest version 3, plain files only, no path that leaves the folder, no name twice. Each " +
		"signature of a CRX3 file must fit, and one must be of the id that the file names. 422 `validation_failed` names every fault. " +
		"A package without a key gets one, so that Chrome's id is the same in every profile.\n\nAn extension is code that sees pages. " +
		"Ask with `dryRun=true` first: `may` says in words what it can do. Each one added is recorded (GET /audit).",
	"deleteExtension": "409 `extension_in_use` names the profiles that have it. Profiles in the trash do not count. A browser that runs " +
		"with it loses its files.",
	"importProfiles": "The body is an archive, as an export makes it, or what another product exports: AdsPower's text export, " +
		"JSON of the APIs of AdsPower, GoLogin, Dolphin Anty, Multilogin X and BitBrowser, or CSV with a first line that " +
		"names its columns (name, proxy, cookies, tags, notes, os), or a zip, tar or tar.gz file of a folder of Chrome's user " +
		"data. The content decides, and not the media type. docs/coming-over.md says what is taken of each.\n\nProfiles of " +
		"another product get their proxies, of which equal ones that are here are used again, and cookies, which their first " +
		"start sets before any page loads. `warnings` say what is left out and why. A profile that cannot be read whole is " +
		"refused, and the others are made in one transaction. If none can be taken the answer is 422 `archive_refused`.\n\nAn " +
		"archive is received whole and verified to its last byte before anything is written. All its profiles are there " +
		"afterwards, or none. They come with settings and data, as new profiles, and are unpacked when they first start. " +
		"`temporary` does not travel: they are kept.\n\n`warnings` say for each profile what did not travel, such as a proxy " +
		"that this server does not have. Such a profile does not start before it has another. An archive that is damaged, cut " +
		"short or sealed otherwise is 422 `archive_refused`. Nothing is left of it, nor of an import that fails or is " +
		"cancelled.\n\nAn archive brings settings, extensions and logins into the workspace. Import only what you trust. Its " +
		"import is recorded (GET /audit). Of archives with a passphrase one is opened at a time. Takes `Idempotency-Key`.",
	"batchProfiles": "`start`, `stop` and `restart` need the scope `run`, the other actions `write`: `read` alone does nothing here. " +
		"Each profile is handled as by the single operation. Nothing is undone if others fail.\n\n" +
		"With `ids` the answer is 200: `results` has one entry per id, in the order given, with the HTTP status of the single " +
		"operation. The batch continues if the client disconnects.\n\n" +
		"With `filter` the answer is 202 with a job, for at most 100,000 profiles (422 says how many match). The profiles are fixed " +
		"then. Follow it with `GET /jobs/{id}` or its events, which this key alone receives: `job.created`, `job.progress` at most " +
		"4 times a second, `job.ended`. `profile.batch_changed` with a `count` stands for the profiles' own events. " +
		"`{\"failedIn\":\"<job>\"}` finds those that failed in a job. One key runs 8 jobs at a time (429 `too_many_jobs`).\n\n" +
		"`proxies` deals proxies before anything is changed: too few are 422, which says how many are missing. Takes " +
		"`Idempotency-Key`. An answer of more than 64 KiB is not stored: the same request is done again.",
	"listJobs": "Newest first. Jobs live in the server's memory: its end or restart ends and forgets them. The last 100 of all keys " +
		"are kept.",
	"getJob": "Its counts, and the first 1,000 profiles that failed with the reason. Jobs of other keys, forgotten ones and those of " +
		"an earlier server are 404 `job_not_found`.",
	"listJobResults": "The answer is a stream (`application/x-ndjson`): a line per profile that was handled so far, in the job's order.",
	"cancelJob":      "No further profile is begun. What has begun ends, and what is done stays done. A job that has ended stays as it is.",
	"listRuns": "The runs of the workspaces that the key may see, with what each uses of the machine. `usage` is null if the " +
		"run's process does not answer within a second.",
	"listProfileRuns": "Newest first, the current run included. The last 100 are kept. A failed start is not listed: the profile's " +
		"`lastRun` reports it.",
	"getPressure": "For clients that spread starts over several servers: counts are of the whole server. `accepting` says whether a " +
		"start would now run without waiting for others and without refusal. A start beyond `maxRunning` waits for a run to end, at most " +
		"`queue-timeout` (503 `capacity_exceeded`). Beyond `maxQueue` starts are refused at once (429 `start_queue_full`).",
	"checkAllProxies": "The answer is a stream (`application/x-ndjson`): a line per proxy as its check ends, each as the single " +
		"operation answers it. `X-Total-Count` is the number of lines; an answer with fewer is incomplete. A client " +
		"that disconnects ends the checks; finished ones are kept.\n\n" +
		"Workspaces take turns, and silent proxies delay no others (`--check-at-once`). Only changes are published as " +
		"events (`proxy.died`, `proxy.returned`, `proxy.exit_changed`), and `proxy.all_checked` at the end.",
	"rotateProxy": "Calls the proxy's `rotateUrl` (GET, directly from this machine). Then it waits until a check finds another " +
		"exit, at most `--rotate-timeout`, and answers the result. Errors: 409 `no_rotate_url` without one, 429 " +
		"within `--rotate-every` of the last call, 502 `rotate_failed` if the address does not answer with success.\n\n" +
		"Keys without `secrets` may call the address and do not see it. It may lead to this machine or a private " +
		"network only where proxies may be there (`--allow-private`). Running profiles follow the new exit.",
	"listProxyChecks": "Newest first; the last 100 are kept. A change of the address or the credentials deletes them.",
	"listNodes":       "By name, those that are gone too. A server with a database of its own is the only one.",
	"drainNode": "What runs there goes on, and so do starts that wait already; further starts and restarts are refused (409 " +
		"`node_draining`). The server that answers follows at once, another one within its beat of 5 s. It stays so over a restart, but " +
		"for a server with a database of its own, or with `untilRestart`. A key needs all workspaces.",
	"removeNode": "One whose beat moves is refused (409 `node_alive`). The runs that it has left are recorded as lost, and its profiles " +
		"are stopped. Their data are on its disk: a start elsewhere is refused (409 `node_unreachable`), also after the removal, since " +
		"the server may come back with them. `forget` gives them up: these profiles then start anew on any server. It can follow " +
		"later. A key needs all workspaces.",
	"undrainNode": "A key needs all workspaces.",
	"listBrowsers": "All that are found, the default first: it runs profiles that declare no `browserVersion`. A declared version " +
		"runs in the browser of that major version, else in the nearest newer, else in the newest. `browser.match` in " +
		"the answer of start says which. Administrators install builds (installBrowser). Only `warren browser add` and flags of serve " +
		"name other programs.",
	"installBrowser": "Downloads a build of Chrome for Testing, verifies it, and installs it in the server's data folder. A request " +
		"names a version alone. The mirror is `--browser-mirror` of serve, by default Chrome for Testing's own; with `off` the answer " +
		"is 403 `installation_not_allowed`. The key must see all workspaces, because their profiles run with the browsers.\n\n" +
		"The answer is 202 with the installation, which goes on without its client and its key. A build that is there already is done at " +
		"once. Follow the others with GET /browsers/installation, or with `browser.progress` (at most two a second and one for each " +
		"step), `browser.installed` and `browser.failed`. Their data is the installation.\n\n" +
		"One installation runs at a time: 409 `browsers_busy`, also while a `warren browser` command is at work. The request is recorded " +
		"(GET /audit).\n\n" +
		"`error` of one that failed says what to do. Its `code` is `mirror_unreachable`, `build_not_found`, `download_untrusted` " +
		"(such as a wrong checksum), `browser_unusable` (it does not run on the machine), `disk_full`, `installation_cancelled` or " +
		"`server_stopping`. Nothing of it stays.",
	"getInstallation":    "The last one since the server started, also after its end. 404 `installation_not_found` if there was none.",
	"cancelInstallation": "Answers when it has ended and nothing of it stays. One that has ended already stays as it is.",
	"listProxies": "Without `page`, `limit` and `after` all proxies that match the filters are answered. Passwords never are. " +
		"Filters combine; `total` is the number of matches, exact if `totalIsExact` is true. `page` and `after` work in every order.",
	"addProxy": "As fields, or as one `url`. The password is sealed at rest and never answered.",
	"importProxies": "As `text/plain`, one proxy a line: `host:port`, `host:port:user:pass`, `user:pass:host:port`, " +
		"`user:pass@host:port`, `host:port@user:pass`, each also with `scheme://` in front. IPv6 addresses are in brackets. Blank lines " +
		"and lines with `#` are skipped. As `text/csv` with `,` or `;`, and a header line of members (`type`, `host`, `port`, " +
		"`username`, `password`, `name`, `tags`, `notes`, `rotateUrl`, or `url`). As JSON, objects as addProxy takes them, or strings. A " +
		"call takes at most 10,000 lines and 16 MiB.\n\n" +
		"Nothing is guessed: a line that has two readings is `ambiguous` and adds nothing. `readings` has them, without passwords. A " +
		"line with the type, host, port and username of another proxy is a `duplicate`.\n\n" +
		"The call is not one transaction: it is written in parts of 1,000 lines. If it fails, some lines are stored, and the same call " +
		"again reports them as duplicates. It publishes one event, `proxy.imported`. Takes `Idempotency-Key`.",
	"exportProxies": "In the formats that import takes, oldest first, with the filters of the list. `text` has a URL per line, " +
		"`csv` a header line, `json` is `{\"proxies\":[…]}`. Without `secrets` passwords are left out (a comment line " +
		"of `text` says so). With them the scope `secrets` is needed too, and an import of the file gives the same " +
		"proxies. Each export with secrets is recorded (GET /audit) before it is answered.\n\n" +
		"A spreadsheet runs no cell of `csv` as a formula. An address with a part that begins with `=`, `+`, `-` or " +
		"`@` is in `url`, with %XX. Names, tags and notes that begin so get a `'` in front, which import removes.",
	"proxySecret": "The only way to a stored password except an export with `secrets`. The access is recorded (GET /audit) " +
		"before it is answered. If it cannot be recorded, nothing is answered.",
	"getCookies": "As Playwright and Puppeteer (`playwright`), CDP's Network.Cookie (`cdp`), Cookie-Editor and EditThisCookie " +
		"(`cookie-editor`) or curl and wget (`netscape`) write them. JSON formats are arrays. `X-Warren-Lost` has the codes of what the " +
		"format does not carry, with how many cookies each is about (`same_site=12, priority=3`). Cookies that are probably bound to " +
		"their device have `\"portable\":\"suspect\"`; nothing else says that a cookie works elsewhere.\n\n" +
		"The profile may run or not. A stopped one is opened without a network. Each read is recorded (GET /audit) before it is " +
		"answered. docs/state.md describes the formats.",
	"putCookies": putStateText + "The body is one of the formats of getCookies, and its content decides which, unless `format` or the " +
		"media type `text/plain` (Netscape) says so.\n\n" +
		"An object with `cookies` may have `remove` too: cookies that go in the same write, by `name`, `domain`, `path` and " +
		"`partitionKey` as a read tells them. Then the file is taken as a whole: if a cookie is refused, nothing is changed. So a cookie " +
		"gets another name, domain or path in one request.",
	"deleteCookies": "Those of the domains and of their subdomains; without `domain` all of them. Needs the scope `secrets` too. Each " +
		"deletion is recorded (GET /audit).",
	"listPasskeys": "Their sites and user names, by site. The list is current while the browser runs, too. Private keys are in " +
		"getStorageState and in exports alone.",
	"deletePasskey": "The site still knows the passkey: have another way to sign in before. Pages of a running browser do not have it " +
		"any more at once. Needs the scope `secrets` too. Each deletion is recorded (GET /audit).",
	"getStorageState": "Cookies, localStorage, IndexedDB and passkeys in the shape of Playwright's storageState. Playwright's " +
		"`browser.newContext({ storageState })` takes the file. `credentials` are the passkeys with their private keys; without any it " +
		"is absent. `failed` names origins that could not be read, and why; without failures it is absent. Headers and records are those " +
		"of getCookies.",
	"putStorageState": putStateText + "The body is a storageState of Playwright, with at most 1,000 origins and 1,000 passkeys " +
		"(`credentials`). A passkey is the same one if its id is. If the file has `credentials`, replace-domains removes other passkeys " +
		"of the same sites, and replace-all all others.",
	"clearProfile": "Removes data of a profile that runs or not. `storage` is localStorage, IndexedDB, caches of service workers and " +
		"the like. Each request is recorded (GET /audit).",
	"listAudit": "Newest first: every change, every reading of a secret, each client and viewer that connects, and what was refused to a " +
		"key. Entries are only appended, and `warren check` verifies that none was changed (docs/audit.md). With " +
		"`Accept: application/jsonl` or `format=jsonl` the answer is a stream of all that fits. A key that sees some workspaces only " +
		"sees their entries.",
	"updateProxy": updateProxyText,
	"patchProxy":  updateProxyText,
	"deleteProxy": "Refused while a profile uses the proxy: no deletion makes a profile connect directly.",
	"checkProxy": "The check uses the same dialer as browsers do. It answers 200 even if the proxy is dead: see `ok`, " +
		"`error.stage` and `error.code`. The result is kept as `lastCheck`.",
	"checkUnsavedProxy": "Checks a proxy that is not saved. Nothing is kept.",
	"createTicket": "For web pages, whose WebSockets cannot carry a key. A ticket replaces the key for one upgrade of exactly " +
		"this path, within 30 s. The page offers it as a subprotocol (`warren.ticket.<ticket>`) with `warren.live` or " +
		"`warren.cdp`, which the server selects. The socket ends with the key.",
	"createKey": "Only this answer has `key`.",
	"createSessionKey": "For web pages, which keep the session key in place of the key that a person has. Send a key as always, or no " +
		"key and the `code` of a login link. A code works once, within 10 minutes, and until the server restarts. Wrong codes count as " +
		"wrong keys.\n\n" +
		"The session key has the scopes and workspaces of its parent, the key that it came from. It expires 30 days after its last " +
		"use, or with its parent. Revoking the parent revokes it. It makes no session keys and no login links. A key has at most 100 " +
		"session keys; one more replaces the one that was unused for longest. Only this answer has `key`.",
	"endSession": "Revokes the session key that the request carries. Any other key gets 404.",
	"createLoginLink": "The page at `url` exchanges the code behind `#` for a session key of this key (createSessionKey). The link " +
		"works once, within 10 minutes, and until the server restarts. No body is needed.",
	"listWorkspaces":  "A workspace is created when a key that may see all workspaces first uses its id, or by POST /workspaces.",
	"createWorkspace": "Only an id that the key sees. The change is recorded (GET /audit).",
	"deleteWorkspace": "Only an empty one: `contents` of the refusal says what it has. The trash counts, and so do valid keys that name " +
		"it. What somebody makes in it at the same time makes the workspace anew, without its name, defaults and quotas.",
	"updateWorkspace": updateWorkspaceText,
	"putWorkspace":    updateWorkspaceText,
	"getServer": "What `serve` was started with, and what `warren doctor` finds on its machine now. Secrets are never part of it: " +
		"addresses are answered without user, password and query.",
}

// updateTemplateText is the description of PUT and PATCH.
const updateTemplateText = "Merges: an absent member stays, `null` takes a setting out of the template. `proxyId` and `proxies` replace " +
	"each other. Profiles that were created with the template stay as they are."

// updateWebhookText is the description of PUT and PATCH.
const updateWebhookText = "Merges: an absent member stays, `enabled` null turns it on. It is in force with the answer. What is pending " +
	"goes to the new `url`. A webhook that the server turned off is turned on with `enabled`."

// updateScheduleText is the description of PUT and PATCH.
const updateScheduleText = "Merges: an absent member stays, `null` resets it to its default. `cron` and `everyMs` replace each other, " +
	"and so do `profileIds`, `proxyIds` and `tag`. What is due next is planned anew if the request changes when. The ETag changes " +
	"with updates, not with occurrences. A key needs the scope `run` too, but for snapshots."

// updateWorkspaceText is the description of PUT and PATCH.
const updateWorkspaceText = "Merges: an absent member stays. The id stays: objects name their workspace by it. `defaults` are settings " +
	"as those of a template, and are replaced as a whole. Profiles that are there already stay as they are. What would exceed " +
	"one of `quotas` is refused with 409 `quota_exceeded`. The change is recorded (GET /audit)."

// updateProfileText is the description of PUT and PATCH.
const updateProfileText = "Merges: an absent member stays, `null` resets it to its default: what the profile's template has now, " +
	"else the workspace's `defaults`, else the server's. Where null is a value, as of `proxyId`, `screen` and `headless`, it is " +
	"that value. While the profile runs, a new timezone, " +
	"locale, geolocation, proxy or list of hosts takes effect at once. The locale `system` does not. `run.pending` names what waits for " +
	"the next start. Open connections stay on the old proxy; with `cut=true` they are closed."

// updateProxyText is the description of PUT and PATCH.
const updateProxyText = "Merges. A new address or new credentials clear `lastCheck`. Running profiles use them for new connections, and " +
	"`runs` says what became of each. With `cut=true` connections through the old address are closed.\n\n" +
	"Another `type`, `host` or `port` needs the `password` again (or null), unless the key has the scope `secrets`. A stored password is " +
	"only sent to the server that it was given for."

// putStateText begins the description of both writes.
const putStateText = "What can be taken is taken. What Chrome would refuse, or keep as another cookie, is in `refused` with all its " +
	"reasons. `lost` and `notices` say what the file has and no profile can have, and what was converted. A file that cannot be read as " +
	"a whole is 400 `malformed_json` and changes nothing.\n\n" +
	"`mode=merge` keeps what the file does not have. `replace-domains` removes it for the domains of the file and their subdomains. " +
	"`replace-all` removes all of it, and needs `confirm=true`. A replacement by a file of which no cookie can be taken is 422. " +
	"`dryRun=true` changes nothing and answers the counts.\n\n" +
	"At most 64 MiB and 200,000 cookies, of which Chrome keeps 3,300. The profile may run or not. Needs the scope `secrets` too. Each " +
	"change is recorded (GET /audit).\n\n"

// exportText begins the description of both exports.
const exportText = "One file with settings and data: cookies, storage, history, extensions and saved passwords, as they are now. Proxies " +
	"are in it as ids alone, and their passwords not at all. Older snapshots, uploads and downloads stay here.\n\n" +
	"The file is an age file (https://age-encryption.org/v1), sealed with a passphrase or for recipients. With `unsealed=true` it is a " +
	"plain tar. Without one of the three the answer is 422, which says so. The profiles must not run, and may start once the answer has " +
	"begun. An answer that breaks off is no archive. Each export is recorded (GET /audit) before it is answered.\n\n"
