package api

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"warren/runs"
	"warren/snapshots"
	"warren/state"
	"warren/store"
)

// Carries passkeys in archives. The file in a profile's data is sealed with a key of the server, so that an archive has them as a list,
// which its own seal protects.

// passkeysToExport returns the passkeys of a snapshot as an archive has them; nil: there are none.
func (s *API) passkeysToExport(ctx context.Context, data store.Snapshot) (jsontext.Value, error) {
	all, err := s.runs.PasskeysIn(ctx, data)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return json.Marshal(all)
}

// archivedPasskeys returns the passkeys of a profile in an archive, which a stranger may have written. The warning says which were
// refused. Settings alone have none.
func archivedPasskeys(p snapshots.Archived) (all []state.Credential, w runs.Warning, err error) {
	if p.Data == nil || len(p.Passkeys) == 0 {
		return nil, w, nil
	}
	text := io.MultiReader(strings.NewReader(`{"credentials":`), strings.NewReader(string(p.Passkeys)), strings.NewReader(`}`))
	file, err := state.ReadStorageState(text, time.Now())
	if err != nil {
		return nil, w, refusedFile("The passkeys of a profile in the archive cannot be read. Export it again.")
	}
	if n := len(file.Cookies.Refused); n > 0 {
		first := file.Cookies.Refused[0]
		w = runs.Warning{Code: "left_out", Message: fmt.Sprintf("%d passkeys were left out. The first is of %q: %s", n, first.Domain,
			first.Reason)}
	}
	return file.Credentials, w, nil
}
