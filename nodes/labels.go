package nodes

import "strings"

// Says what a label of a server may be. A profile's placement asks for labels by the same rule.

// MaxLabels is how many labels a server may have, and how many a placement may ask for.
const MaxLabels = 32

// LabelRule is the rule of IsLabel in words.
const LabelRule = "letters, digits, '.', '_', '/' and '-', 63 each at most"

// IsLabel reports whether a server may have a label. A key begins with a letter or a digit, and so does a value. A value may be empty.
func IsLabel(key, value string) bool { return isPart(key) && (value == "" || isPart(value)) }

func isPart(s string) bool {
	const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return s != "" && len(s) <= 63 && strings.Trim(s, alphanumeric+"._/-") == "" && strings.ContainsAny(s[:1], alphanumeric)
}
