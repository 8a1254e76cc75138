package webhooks

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxBody is how many bytes a body may have: the rules say less than 20 kB.
const maxBody = 20_000

// told is an event as its log writes it.
type told struct {
	ID   string         `json:"id"`
	Type string         `json:"type"`
	At   string         `json:"at"`
	Data jsontext.Value `json:"data"`

	WorkspaceID string `json:"workspaceId"`
}

// body returns what endpoints are sent: type, timestamp and data, and with whole the event's workspace, if it has one. Data that are too
// large are cut to the ids in them, and say so with "truncated": true.
func (e told) body(whole bool) (string, error) {
	if !whole {
		e.WorkspaceID = ""
	}
	text, err := write(e, e.Data)
	if err == nil && len(text) >= maxBody {
		text, err = write(e, idsOf(e.Data))
	}
	return text, err
}

func write(e told, data any) (string, error) {
	text, err := json.Marshal(struct {
		Type        string `json:"type"`
		Timestamp   string `json:"timestamp"`
		WorkspaceID string `json:"workspaceId,omitempty"`
		Data        any    `json:"data"`
	}{e.Type, e.At, e.WorkspaceID, data}, json.Deterministic(true))
	return string(text), err
}

// idsOf returns the members of an object that are ids, which lists of ids are not: those can be long.
func idsOf(data jsontext.Value) map[string]any {
	out, members := map[string]any{"truncated": true}, map[string]any{}
	if json.Unmarshal(data, &members) != nil {
		return out
	}
	for name, value := range members {
		if id, ok := value.(string); ok && len(id) <= 100 && (name == "id" || strings.HasSuffix(name, "Id")) {
			out[name] = id
		}
	}
	return out
}

// about reports whether an event is about an object.
func (e told) about(id string) bool {
	var data struct {
		ID string `json:"id"`
	}
	return json.Unmarshal(e.Data, &data) == nil && data.ID == id
}
