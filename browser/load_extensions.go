package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Loads a run's extensions, and asks Chrome what became of them. extension_preferences.go says how Chrome keeps them.

// checkConfined refuses an extension that this run's isolation does not hold.
func (b *Browser) checkConfined() error {
	for _, e := range b.spec.Extensions {
		if e.Confined && b.Isolation().Network != InNamespace {
			return fmt.Errorf("the extension %s may change the proxy, or talk to programs of this machine, and this run has no "+
				"network namespace that would keep it on its proxy: switch the extension off for the profile, or let the run have a "+
				"namespace", e.ID)
		}
	}
	return nil
}

// loadExtensions loads the extensions that Chrome has not loaded itself. It reports whether there were any. It fails if one is not loaded,
// or has access to files.
func (b *Browser) loadExtensions(ctx context.Context) (loaded bool, err error) {
	if len(b.spec.Extensions) == 0 {
		return false, nil
	}
	ids := make([]string, len(b.spec.Extensions))
	for i, e := range b.spec.Extensions {
		ids[i] = e.ID
	}
	b.extensions.expect(ids)
	var there struct {
		Extensions []struct {
			ID      string `json:"id"`
			Enabled bool   `json:"enabled"`
		} `json:"extensions"`
	}
	_ = b.mux.call(ctx, "", "Extensions.getExtensions", nil, &there) //nolint:errcheck // older browsers have it not; then there are none
	for _, e := range b.spec.Extensions {
		var is struct {
			ID string `json:"id"`
		}
		for _, t := range there.Extensions {
			if t.ID == e.ID && t.Enabled {
				is.ID = t.ID
			}
		}
		if is.ID == "" {
			loaded = true
			if err := b.mux.call(ctx, "", "Extensions.loadUnpacked", map[string]string{"path": e.Path}, &is); err != nil {
				return false, fmt.Errorf("the browser does not load the extension %s: %w", e.ID, err)
			}
		}
		if is.ID != e.ID {
			return false, fmt.Errorf("the browser gives the extension %s the id %s", e.ID, is.ID)
		}
	}
	b.phases.Lap("extensions")
	return loaded, b.checkExtensions(ctx)
}

// checkExtensions asks Chrome whether the extensions run, and without access to files.
func (b *Browser) checkExtensions(ctx context.Context) error {
	session, leave, err := b.openSettings(ctx)
	defer leave()
	if err != nil {
		return err
	}
	if err := b.mux.call(ctx, session, "Page.navigate", map[string]string{"url": extensionsURL}, nil); err != nil {
		return fmt.Errorf("open the browser's list of extensions: %w", err)
	}
	text, err := b.setting(ctx, session, `JSON.stringify((await chrome.developerPrivate.getExtensionsInfo()).map(`+
		`(e) => ({id: e.id, state: e.state, files: e.fileAccess.isActive})))`)
	if err != nil {
		return fmt.Errorf("read the browser's list of extensions: %w", err)
	}
	var all []extensionState
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return fmt.Errorf("read the browser's list of extensions: %w", err)
	}
	for _, e := range b.spec.Extensions {
		at := slices.IndexFunc(all, func(i extensionState) bool { return i.ID == e.ID })
		switch {
		case at < 0 || all[at].State != "ENABLED":
			return fmt.Errorf("the browser does not run the extension %s", e.ID)
		case all[at].Files:
			return errors.New("the browser gives the extension " + e.ID + " access to files of this machine")
		}
	}
	return nil
}

// extensionState is what Chrome says of an extension (developerPrivate.ExtensionInfo).
type extensionState struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Files bool   `json:"files"`
}
