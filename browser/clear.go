package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Clears data of a profile in a run that is offline, by an extension of our own. chrome.browsingData is Chrome's only way to clear what is
// newer than a moment. The extension is gone when the run ends.

// clearTimeout bounds the clearing of a large profile.
const clearTimeout = 5 * time.Minute

// ClearData clears what Chrome keeps, but for permissions: those are preferences, which the start has cleared (Spec.Clear).
func (b *Browser) ClearData(ctx context.Context) error {
	if !b.spec.Offline || b.spec.Clear == nil {
		return errors.New("the run was not started to clear data")
	}
	o := *b.spec.Clear
	types := o.browsingData()
	if len(types) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, clearTimeout)
	defer cancel()
	dir := clearerFolder(&b.spec)
	var is struct {
		ID string `json:"id"`
	}
	if err := b.mux.call(ctx, "", "Extensions.loadUnpacked", map[string]string{"path": dir}, &is); err != nil {
		return fmt.Errorf("this browser clears no data: %w", err)
	}
	defer b.mux.send("", "Extensions.uninstall", map[string]string{"id": is.ID}, nil)
	session, leave, err := b.openSettings(ctx)
	defer leave()
	if err != nil {
		return err
	}
	where := map[string]string{"url": "chrome-extension://" + is.ID + "/page.html"}
	if err := b.mux.call(ctx, session, "Page.navigate", where, nil); err != nil {
		return err
	}
	what := map[string]any{"since": 0}
	if !o.Since.IsZero() {
		what["since"] = o.Since.UnixMilli()
	}
	if len(o.Origins) > 0 {
		what["origins"] = o.Origins
	}
	options, _ := json.Marshal(what) // always valid
	kinds, _ := json.Marshal(types)
	_, err = b.setting(ctx, session, fmt.Sprintf("(await chrome.browsingData.remove(%s, %s), '')", options, kinds))
	return err
}
