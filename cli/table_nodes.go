package cli

// nodeCommands are about the servers that share a database.
func nodeCommands() []command {
	const nodeCols = "ID=id NAME=name ADDRESS=address STATE=state DRAINING=draining RUNNING=running MAX=maxRunning/- " +
		"PRESSURE=pressure SEEN=seenSecondsAgo VERSION=version"
	return []command{
		{name: "drain", op: "", also: "listNodes drainNode getPressure", run: drainServer, sample: "warren drain --timeout 5m",
			help: "Let the server take no new starts until it restarts, and wait until its browsers have ended.",
			detail: "For those who are about to stop it, such as a preStop hook. It ends with 1 if browsers still run after --timeout. " +
				"`warren node undrain` takes it back.",
			flags: []flag{o("timeout~", "How long to wait.").otherwise("10m")}},
		{name: "node list", op: "listNodes GET /nodes", help: "List the servers that share the database.", shape: listed, cols: nodeCols,
			sample: "warren node list"},
		{name: "node drain", op: "drainNode POST /nodes/{id}/drain", help: "Let servers take no new starts. What runs goes on.", many: true,
			cols: nodeCols, sample: "warren node drain local", flags: []flag{q("until-restart?",
				"They take starts again after an end in order. Only the server that answers takes this.")}},
		{name: "node undrain", op: "undrainNode POST /nodes/{id}/undrain", help: "Let servers take starts again.", many: true,
			cols: nodeCols, sample: "warren node undrain local"},
		{name: "node remove", op: "removeNode DELETE /nodes/{id}", help: "Remove servers that are gone. Their runs count as lost.",
			many: true, done: "removed", sample: "warren node remove local", flags: []flag{q("forget?",
				"Give up the data of their profiles, which then start anew elsewhere.")}},
	}
}
