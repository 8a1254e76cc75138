package webhooks

import (
	"slices"
	"strings"
)

// Kinds are the first words of the types of events that a workspace has.
func Kinds() []string {
	return []string{"profile", "run", "proxy", "capability", "template", "schedule", "extension", "workspace", "webhook", "snapshot"}
}

// CheckPattern returns what is wrong with a pattern of types, and what to do; "" for a good one: "*", "run.*" or "run.ended".
func CheckPattern(pattern string) string {
	kind, rest, dotted := strings.Cut(pattern, ".")
	switch {
	case pattern == "*":
		return ""
	case !dotted || rest != "*" && (rest == "" || strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz_") != ""):
		return `Enter a type such as "run.ended", a group such as "run.*", or "*" for all.`
	case !slices.Contains(Kinds(), kind):
		return "No event of a workspace begins so. Choose one of: " + strings.Join(Kinds(), ", ") + "."
	}
	return ""
}

// matches reports whether a type of events fits a pattern.
func matches(pattern, kind string) bool {
	group, all := strings.CutSuffix(pattern, "*")
	return pattern == kind || all && strings.HasPrefix(kind, group)
}
