package api

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"warren/archive"
	"warren/problem"
	"warren/snapshots"
	"warren/state"
)

// TestArchivedPasskeys: of a stranger's archive only passkeys that Chrome takes are imported. Refusals repeat no key.
func TestArchivedPasskeys(t *testing.T) {
	t.Parallel()
	const good = `{"id":"AQID","rpId":"shop.example","userHandle":"dXNlcg","signCount":7,"userName":"ann",
		"privateKey":"MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f",
		"publicKey":"MCowBQYDK2VwAyEAA6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"}`
	of := func(text string, data *archive.Data) snapshots.Archived {
		return snapshots.Archived{About: archive.About{Passkeys: jsontext.Value(text)}, Data: data}
	}
	data := &archive.Data{}
	all, w, err := archivedPasskeys(of(`[`+good+`,{"id":"BAUG","rpId":"https://x","privateKey":"CANARY"}]`, data))
	if err != nil || len(all) != 1 || all[0].UserName != "ann" || w.Code != "left_out" || strings.Contains(w.Message, "CANARY") {
		t.Errorf("%+v, %+v, %v", all, w, err)
	}
	if all, w, err := archivedPasskeys(of(`[`+good+`]`, nil)); err != nil || all != nil || w.Code != "" {
		t.Errorf("settings alone: %+v, %+v, %v", all, w, err)
	}
	for _, text := range []string{`{}`, `7`, `[],"cookies":7`} {
		if _, _, err := archivedPasskeys(of(text, data)); !problem.HasCode(err, "archive_refused") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestTooManyPasskeys: a file that would give a profile more passkeys than it may have changes nothing.
func TestTooManyPasskeys(t *testing.T) {
	t.Parallel()
	have := make([]state.Credential, state.MaxCredentials)
	for i := range have {
		have[i] = state.Credential{ID: strconv.Itoa(i), RPID: "a.example"}
	}
	c := &stateChange{passkeys: []state.Credential{{ID: "one more", RPID: "b.example"}}, in: stateOptions{mode: state.Merge}}
	if set, remove, err := c.plannedPasskeys(have); !problem.HasCode(err, "validation_failed") || len(set)+len(remove) > 0 {
		t.Errorf("%v, %v, %v", set, remove, err)
	}
	if _, _, err := c.plannedPasskeys(have[1:]); err != nil {
		t.Error(err)
	}
}
