package browser

import (
	"context"

	"warren/state"
)

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

// OnPasskeyMade sets what runs when a page has made a passkey. AwaitPasskeys and the clients wait for it.
func (b *Browser) OnPasskeyMade(f func()) { b.onPasskeyMade.Store(&f) }

func (b *Browser) passkeyMade() {
	if f := b.onPasskeyMade.Load(); f != nil {
		(*f)()
	}
}

// AwaitPasskeys returns when all is handled that Chrome has said by now, or with ctx: what pages send after that is of no passkey that
// OnPasskeyMade has not kept. Chrome tells of a passkey before it answers the page (VirtualFidoDevice, device/fido). Outside Linux what
// lies in the pipe is not waited for.
func (b *Browser) AwaitPasskeys(ctx context.Context) {
	if m, err := b.running(); err == nil {
		m.pipe.answers.await(ctx)
	}
}

// PermitPasskey lets a page use or make one passkey, within PasskeyTime. It reports whether it needs that permission.
func (b *Browser) PermitPasskey(target string) bool {
	m, err := b.running()
	return err == nil && m.passkeys.permit(target)
}
