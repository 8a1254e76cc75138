package shim

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"warren/browser"
	"warren/proxy"
	"warren/state"
)

// Keeps the passkeys of a running browser in the profile's file the moment that they change. The run's process does it, which lives on
// without a server.

// passkeyAgain is how long after a write that failed, such as on a full disk, another one is tried.
const passkeyAgain = time.Second

// passkeyKeeper keeps the passkeys of one run.
type passkeyKeeper struct {
	browser *browser.Browser
	log     *slog.Logger
	folder  string // of the profile
	key     []byte
	on      bool // pages have authenticators

	writing sync.Mutex // held while the file is written: an older list does not come after a newer one
}

// run keeps the passkeys until the browser has exited.
func (k *passkeyKeeper) run() {
	if !k.on {
		return
	}
	again := time.NewTimer(0)
	defer again.Stop()
	<-again.C
	for unkept := false; ; {
		select {
		case <-k.browser.PasskeysChanged():
			unkept = true
		case <-again.C:
		case <-k.browser.Done():
			select {
			case <-k.browser.PasskeysChanged():
				unkept = true
			default:
			}
			if unkept {
				k.warn(k.keep())
			}
			return
		}
		if err := k.keep(); err != nil {
			k.warn(err)
			again.Reset(passkeyAgain)
			continue
		}
		unkept = false
	}
}

// keep writes the passkeys that the browser has now.
func (k *passkeyKeeper) keep() error {
	k.writing.Lock()
	defer k.writing.Unlock()
	return writePasskeys(k.folder, k.key, k.browser.Passkeys())
}

func (k *passkeyKeeper) warn(err error) {
	if err != nil {
		k.log.Error("passkeys could not be kept", "cause", err)
	}
}

// change adds and removes passkeys. They are on the disk when it returns.
func (k *passkeyKeeper) change(set []state.Credential, remove []string) error {
	if len(set)+len(remove) == 0 {
		return nil
	}
	if !k.on {
		k.writing.Lock()
		defer k.writing.Unlock()
		return ChangePasskeys(k.folder, k.key, set, remove)
	}
	if err := k.browser.ChangePasskeys(set, remove); err != nil {
		return err
	}
	return k.keep()
}

// passkeyPatience bounds how long what pages send waits for a passkey to be on the disk.
const passkeyPatience = 5 * time.Second

// guard lets what a page sends wait until each passkey that it has made is on the disk, so that no site knows one that a crash loses.
func (k *passkeyKeeper) guard(relay *proxy.Relay) {
	if !k.on {
		return
	}
	k.browser.OnPasskeyMade(func() { k.warn(k.keep()) }) // run tries again what fails
	relay.BeforeSending(func() {
		ctx, cancel := context.WithTimeout(context.Background(), passkeyPatience)
		defer cancel()
		k.browser.AwaitPasskeys(ctx)
	})
}
