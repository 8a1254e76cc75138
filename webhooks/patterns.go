package webhooks

import (
	"slices"
	"strings"
)

// Kinds are the first words of the types of events that a workspace has.
func Kinds() []string {
	return []string{"profile", "run", "proxy", "capability", "template", "schedule", "extension", "workspace", "webhook", "snapshot"}
}

// ServerKinds are those of the server itself, which belong to no workspace.
func ServerKinds() []string { return []string{"backup", "browser", "job", "key"} }

// CheckPattern returns what is wrong with a pattern of types, and what to do; "" for a good one: "*", "run.*" or "run.ended". whole is for
// a webhook of the whole server.
func CheckPattern(pattern string, whole bool) string {
	kinds := Kinds()
	if whole {
		kinds = append(kinds, ServerKinds()...)
	}
	kind, rest, dotted := strings.Cut(pattern, ".")
	switch {
	case pattern == "*":
		return ""
	case !dotted || rest != "*" && (rest == "" || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz_") != ""):
		return `Enter a type such as "run.ended", a group such as "run.*", or "*" for all.`
	case !whole && slices.Contains(ServerKinds(), kind):
		return `This event belongs to no workspace. Only a webhook with "workspaceId":"*" is told of it.`
	case !slices.Contains(kinds, kind):
		return "No event begins so. Choose one of: " + strings.Join(kinds, ", ") + "."
	}
	return ""
}

// matches reports whether a type of events fits a pattern.
func matches(pattern, kind string) bool {
	group, all := strings.CutSuffix(pattern, "*")
	return pattern == kind || all && strings.HasPrefix(kind, group)
}
