package cli

// nodeCommands are about the servers that share a database.
func nodeCommands() []command {
	const nodeCols = "ID=id NAME=name ADDRESS=address STATE=state DRAINING=draining RUNNING=running MAX=maxRunning/- SEEN=seenSecondsAgo " +
		"VERSION=version"
	return []command{
		{name: "node list", op: "listNodes GET /nodes", help: "List the servers that share the database.", shape: listed, cols: nodeCols,
			sample: "warren node list"},
		{name: "node drain", op: "drainNode POST /nodes/{id}/drain", help: "Let servers take no new starts. What runs goes on.", many: true,
			cols: nodeCols, sample: "warren node drain local"},
		{name: "node undrain", op: "undrainNode POST /nodes/{id}/undrain", help: "Let servers take starts again.", many: true,
			cols: nodeCols, sample: "warren node undrain local"},
		{name: "node remove", op: "removeNode DELETE /nodes/{id}", help: "Remove servers that are gone. Their runs count as lost.",
			many: true, done: "removed", sample: "warren node remove local", flags: []flag{q("forget?",
				"Give up the data of their profiles, which then start anew elsewhere.")}},
	}
}
