package browser

import "warren/state"

// Passkeys returns the passkeys of the run. It returns nil before the browser is launched.
func (b *Browser) Passkeys() []state.Credential {
	if m, err := b.running(); err == nil {
		return m.passkeys.list()
	}
	return nil
}

// ChangePasskeys adds passkeys, in place of those with their ids, and removes others by their ids, in all pages.
func (b *Browser) ChangePasskeys(set []state.Credential, remove []string) error {
	m, err := b.running()
	if err == nil {
		m.passkeys.change(set, remove)
	}
	return err
}

// PasskeysChanged returns a channel that has a value when the list of passkeys is another one. The browser must be launched.
func (b *Browser) PasskeysChanged() <-chan struct{} { return b.mux.passkeys.changed }

// PermitPasskey lets a page use or make one passkey, within PasskeyTime. It reports whether it needs that permission.
func (b *Browser) PermitPasskey(target string) bool {
	m, err := b.running()
	return err == nil && m.passkeys.permit(target)
}
