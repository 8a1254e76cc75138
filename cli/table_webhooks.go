package cli

// webhookCommands are about endpoints that are told of events.
func webhookCommands() []command {
	const webhookCols = "ID=id URL=url EVENTS=events ENABLED=enabled WORKSPACE=workspaceId FAILING_SINCE=failingSince/-"
	const deliveryCols = "ID=id TYPE=type STATE=state NEXT=nextAt/- CREATED=createdAt"
	settings := []flag{b("event[]=events", "What it is told of, such as run.* or proxy.checked."), b("enabled?", "Whether it is told.")}
	return []command{
		{name: "webhook list", op: "listWebhooks GET /webhooks", help: "List webhooks.", shape: listed, cols: webhookCols,
			sample: "warren webhook list", flags: []flag{inWorkspace}},
		{name: "webhook show", op: "getWebhook GET /webhooks/{id}", help: "Show webhooks.", many: true, cols: webhookCols,
			sample: "warren webhook show https://hooks.example/warren"},
		{name: "webhook create", op: "createWebhook POST /webhooks", args: "url",
			help:   "Create a webhook. Its secret is printed this once.",
			sample: "warren webhook create https://other.example/hook --event run.ended --event proxy.*",
			flags: append(settings, b("workspace=workspaceId",
				"The workspace; * for all of them and the server itself. Default: the key's only one, else default."))},
		{name: "webhook edit", op: "updateWebhook PUT /webhooks/{id}", help: "Change webhooks: by flags, or in your editor.", many: true,
			cols:   webhookCols,
			sample: "warren webhook edit https://hooks.example/warren --no-enabled",
			flags:  append(settings, b("address=url", "Its address.")), run: edit},
		{name: "webhook rm", op: "deleteWebhook DELETE /webhooks/{id}", help: "Delete webhooks.", many: true, done: "deleted",
			sample: "warren webhook rm https://other.example/hook"},
		{name: "webhook test", op: "testWebhook POST /webhooks/{id}/test", help: "Send a webhook.test event, and print what came back.",
			sample: "warren webhook test https://hooks.example/warren"},
		{name: "webhook rotate-secret", op: "rotateWebhookSecret POST /webhooks/{id}/rotate-secret",
			help:   "Make a new secret and print it, this once. The old one signs too for a while.",
			sample: "warren webhook rotate-secret https://hooks.example/warren --keep-old 48h",
			flags:  []flag{b("keep-old~=keepOldMs", "How long the old one signs too.")}},
		{name: "webhook deliveries", op: "listDeliveries GET /webhooks/{id}/deliveries", shape: listed,
			help: "List what a webhook was sent.",
			cols: deliveryCols, sample: "warren webhook deliveries https://hooks.example/warren --state failed",
			flags: []flag{q("state", "Only those.").in("pending,delivered,failed")}},
		{name: "webhook replay", op: "replayDelivery POST /webhooks/{id}/deliveries/{deliveryId}/replay",
			help: "Send deliveries again.", many: true, cols: deliveryCols,
			sample: "warren webhook replay https://hooks.example/warren 0199a1c2-7d3e-7a10-8a55-01234567de11"},
	}
}
