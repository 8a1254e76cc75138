package browser

import (
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"warren/state"
)

// Gives every page a virtual authenticator (CDP WebAuthn) with the profile's passkeys. Frames have that of their page
// (content/browser/webauth/authenticator_environment.cc). What a page makes, changes or deletes is there in all others at once.

// PasskeyMode says what pages may do with passkeys.
type PasskeyMode string

// The values of PasskeyMode. The zero value is that the browser has what the machine has.
const (
	PasskeysAuto PasskeyMode = "auto" // pages make and use them by themselves
	PasskeysAsk  PasskeyMode = "ask"  // a person allows it before
)

// commander sends commands to Chrome.
type commander interface {
	send(session, method string, params any, done func(answer))
	call(ctx context.Context, session, method string, params, result any) error
}

// passkeys are the passkeys of a run, and the authenticators of its pages.
type passkeys struct {
	chrome  commander
	log     *slog.Logger
	mode    PasskeyMode   // "": pages have no authenticator
	changed chan struct{} // has a value when the list is another one
	onMade  func()        // runs when a page has made one, before what Chrome says later is handled; nil: nothing does

	mu    sync.Mutex
	all   []state.Credential
	pages map[string]*passkeyPage // by target
}

// passkeyPage is the authenticator of a page.
type passkeyPage struct {
	session       string // the controller's
	authenticator string // "": there is none yet, or a client has its own
	allowed       *time.Timer
	host          string          // of its address
	has           map[string]bool // the passkeys in its authenticator, by id: whether the page finds them without their ids
	changing      atomic.Int32    // commands of ours that Chrome has not answered; it tells of what they change too
}

func newPasskeys(chrome commander, log *slog.Logger) *passkeys {
	return &passkeys{chrome: chrome, log: log, changed: make(chan struct{}, 1), pages: map[string]*passkeyPage{}}
}

// authenticatorTimeout bounds the making of an authenticator. The browser process answers, which does not wait for pages.
const authenticatorTimeout = 5 * time.Second

// openPage gives a page its authenticator. The page must not run before openPage returns.
func (k *passkeys) openPage(target, session, address string) {
	if k.mode == "" {
		return
	}
	k.mu.Lock()
	k.pages[target] = &passkeyPage{session: session, host: hostOf(address)}
	k.mu.Unlock()
	k.equip(target)
}

// equip makes an authenticator for a page that has none.
func (k *passkeys) equip(target string) {
	k.mu.Lock()
	p := k.pages[target]
	k.mu.Unlock()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), authenticatorTimeout)
	defer cancel()
	var made struct {
		ID string `json:"authenticatorId"`
	}
	options := map[string]any{"protocol": "ctap2", "transport": "internal", "hasResidentKey": true, "hasUserVerification": true,
		"isUserVerified": true, "automaticPresenceSimulation": k.mode == PasskeysAuto, "defaultBackupEligibility": true,
		"defaultBackupState": true} // a passkey that travels is backed up (WebAuthn 3, 6.1.3)
	err := k.chrome.call(ctx, p.session, "WebAuthn.enable", map[string]bool{"enableUI": false}, nil)
	if err == nil {
		err = k.chrome.call(ctx, p.session, "WebAuthn.addVirtualAuthenticator", map[string]any{"options": options}, &made)
	}
	if err != nil {
		k.log.Warn("a page has no passkeys", "error", err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p.authenticator, p.has = made.ID, map[string]bool{}
	k.arrange(p)
}

// onVisit is called when a frame goes to an address, and when it is there. A page's own frame has the page's id. The counters of the site's
// passkeys are set to the time now before it loads: another copy of the profile may have signed in there meanwhile.
func (k *passkeys) onVisit(frame, address string, begins bool) {
	if k.mode == "" || address == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pages[frame]; p != nil {
		p.host = hostOf(address)
		var fresh []string
		for _, c := range k.all {
			if begins && p.isOf(c) {
				fresh = append(fresh, c.ID)
			}
		}
		k.arrange(p, fresh...)
	}
}

// isOf reports whether a page may use a passkey.
func (p *passkeyPage) isOf(c state.Credential) bool {
	return p.host == c.RPID || strings.HasSuffix(p.host, "."+c.RPID)
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// maxFound is how many passkeys a page finds without their ids, which WebAuthn calls discoverable. Chrome's authenticator makes no other
// one once it has three (resident_credential_storage, device/fido/virtual_ctap2_device.h). Sites that name the others can use them.
const maxFound = 2

// found returns the ids of the passkeys that a page finds: those of its site before others, and what was used last before that.
func (k *passkeys) found(p *passkeyPage) map[string]bool {
	all := slices.DeleteFunc(slices.Clone(k.all), func(c state.Credential) bool { return c.UserHandle == "" })
	slices.SortStableFunc(all, func(a, b state.Credential) int {
		if p.isOf(a) != p.isOf(b) {
			return map[bool]int{true: -1, false: 1}[p.isOf(a)]
		}
		return cmp.Compare(b.SignCount, a.SignCount)
	})
	out := map[string]bool{}
	for _, c := range all[:min(len(all), maxFound)] {
		out[c.ID] = true
	}
	return out
}

// arrange makes a page's authenticator have all passkeys as it should. fresh are the ids of those that it has in an older state. k.mu is
// held.
func (k *passkeys) arrange(p *passkeyPage, fresh ...string) {
	if p.authenticator == "" {
		return
	}
	found := k.found(p)
	for _, c := range k.all {
		was, there := p.has[c.ID]
		if there && was == found[c.ID] && !slices.Contains(fresh, c.ID) {
			continue
		}
		if there {
			k.remove(p, c)
		}
		p.has[c.ID] = found[c.ID]
		k.add(p, c)
	}
}

// add gives an authenticator a passkey. k.mu is held, so that a later change does not come before.
func (k *passkeys) add(p *passkeyPage, c state.Credential) {
	params := map[string]any{"authenticatorId": p.authenticator, "credential": chromeCredential(c, p.has[c.ID])}
	p.changing.Add(1)
	k.chrome.send(p.session, "WebAuthn.addCredential", params, func(a answer) {
		p.changing.Add(-1)
		if err := a.err(); err != nil {
			k.log.Warn("a page lacks a passkey", "error", err)
		}
	})
}

// remove takes a passkey from an authenticator. k.mu is held.
func (k *passkeys) remove(p *passkeyPage, c state.Credential) {
	p.changing.Add(1)
	k.chrome.send(p.session, "WebAuthn.removeCredential",
		map[string]string{"authenticatorId": p.authenticator, "credentialId": standard(c.ID)}, func(answer) { p.changing.Add(-1) })
}

// closePage forgets a page that has gone.
func (k *passkeys) closePage(target string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pages, target)
}

// onEvent handles an event of an authenticator (CDP WebAuthn.credentialAdded, -Asserted, -Updated, -Deleted).
func (k *passkeys) onEvent(target, method string, params []byte) {
	var e passkeyEvent
	if err := json.Unmarshal(params, &e); err != nil {
		k.log.Warn("an event of passkeys cannot be read", "error", err)
		return
	}
	if made := k.apply(target, method, e); made && k.onMade != nil {
		k.onMade()
	}
}

// passkeyEvent has the members of the events of CDP WebAuthn.
type passkeyEvent struct {
	Authenticator string     `json:"authenticatorId"`
	ID            string     `json:"credentialId"` // of a passkey that was deleted
	Credential    cdpPasskey `json:"credential"`
}

// apply changes the list by an event. It reports whether there is a new passkey.
func (k *passkeys) apply(target, method string, e passkeyEvent) (made bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	own := k.pages[target]
	if own == nil || own.authenticator != e.Authenticator {
		return false
	}
	c, known := k.whole(e.Credential.passkey())
	switch {
	case !known && len(k.all) >= state.MaxCredentials && method != "WebAuthn.credentialDeleted":
		k.log.Warn("a passkey is not kept: the profile has as many as it may", "site", c.RPID)
		k.remove(own, c)
		k.endAllowance(own)
	case method == "WebAuthn.credentialAdded" && known, method == "WebAuthn.credentialDeleted" && own.changing.Load() > 0: // by us
	case method == "WebAuthn.credentialDeleted":
		k.replace(state.Credential{ID: urlSafe(e.ID)}, false, own)
	case method == "WebAuthn.credentialAdded", method == "WebAuthn.credentialAsserted", method == "WebAuthn.credentialUpdated":
		if !known {
			own.has[c.ID] = e.Credential.Resident
		}
		k.replace(c, true, own)
		if method != "WebAuthn.credentialUpdated" {
			k.endAllowance(own)
		}
		return !known
	}
	return false
}

// whole returns a passkey that Chrome tells of with what is known of it: Chrome has less of one that pages do not find. known is false for
// a new one. k.mu is held.
func (k *passkeys) whole(c state.Credential) (out state.Credential, known bool) {
	at := slices.IndexFunc(k.all, func(h state.Credential) bool { return h.ID == c.ID })
	if at < 0 {
		c.SignCount = max(c.SignCount, time.Now().Unix()) // it is the one that was used last
		return c, false
	}
	had := k.all[at]
	had.SignCount, had.UserName = max(had.SignCount, c.SignCount), cmp.Or(c.UserName, had.UserName)
	return had, true
}

// replace puts a passkey in the place of the one with its id, or removes that. The page that has done so itself is left out (nil: none).
// k.mu is held.
func (k *passkeys) replace(c state.Credential, there bool, but *passkeyPage) {
	at := slices.IndexFunc(k.all, func(h state.Credential) bool { return h.ID == c.ID })
	k.all = slices.Clone(k.all)
	switch {
	case !there && at < 0:
		return
	case !there:
		k.all = slices.Delete(k.all, at, at+1)
	case at < 0:
		k.all = append(k.all, c)
	default:
		k.all[at] = c
	}
	for _, p := range k.pages {
		var fresh []string
		if p != but {
			fresh = []string{c.ID}
		}
		if !there {
			if _, has := p.has[c.ID]; has && p != but && p.authenticator != "" {
				k.remove(p, c)
			}
			delete(p.has, c.ID)
		}
		k.arrange(p, fresh...)
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// change adds and removes passkeys, in all pages.
func (k *passkeys) change(set []state.Credential, remove []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range remove {
		k.replace(state.Credential{ID: id}, false, nil)
	}
	for _, c := range set {
		k.replace(c, true, nil)
	}
}

// list returns the passkeys.
func (k *passkeys) list() []state.Credential {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all)
}

// yield leaves a page to a client that enables WebAuthn on its own session. Chrome handles what follows on the pipe afterwards.
func (k *passkeys) yield(target string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pages[target]; p != nil && p.authenticator != "" {
		p.authenticator = ""
		k.chrome.send(p.session, "WebAuthn.disable", nil, nil)
	}
}

// takeBack gives a page its authenticator again, whether it has one or not.
func (k *passkeys) takeBack(target string) {
	if k.mode == "" {
		return
	}
	k.yield(target)
	k.equip(target)
}

// PasskeyTime is how long a person's permission lasts that no page uses.
const PasskeyTime = time.Minute

// permit lets a page use or make one passkey, within PasskeyTime.
func (k *passkeys) permit(target string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pages[target]
	if k.mode != PasskeysAsk || p == nil || p.authenticator == "" {
		return false
	}
	k.allow(p, true)
	return true
}

// endAllowance ends a person's permission, which was for one passkey. k.mu is held.
func (k *passkeys) endAllowance(p *passkeyPage) {
	if k.mode == PasskeysAsk {
		k.allow(p, false)
	}
}

// allow begins or ends a person's permission. k.mu is held.
func (k *passkeys) allow(p *passkeyPage, yes bool) {
	if p.allowed != nil {
		p.allowed.Stop()
		p.allowed = nil
	}
	k.chrome.send(p.session, "WebAuthn.setAutomaticPresenceSimulation",
		map[string]any{"authenticatorId": p.authenticator, "enabled": yes}, nil)
	if yes {
		p.allowed = time.AfterFunc(PasskeyTime, func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.allow(p, false)
		})
	}
}

// cdpPasskey is WebAuthn.Credential (CDP). Its binary members are base64.
type cdpPasskey struct {
	ID          string `json:"credentialId"`
	Resident    bool   `json:"isResidentCredential"`
	RPID        string `json:"rpId"`
	PrivateKey  string `json:"privateKey"` // PKCS#8, DER
	UserHandle  string `json:"userHandle,omitempty"`
	SignCount   int64  `json:"signCount"`
	Eligible    bool   `json:"backupEligibility"`
	BackedUp    bool   `json:"backupState"`
	UserName    string `json:"userName,omitempty"`
	DisplayName string `json:"userDisplayName,omitempty"`
}

// chromeCredential is a passkey as Chrome takes it. Its counter begins at the time now: it grows over clones and roll-backs too, which a
// site would take for a stolen passkey otherwise (WebAuthn, 6.1.1).
func chromeCredential(c state.Credential, found bool) cdpPasskey {
	out := cdpPasskey{ID: standard(c.ID), Resident: found, RPID: c.RPID, PrivateKey: standard(c.PrivateKey),
		SignCount: max(c.SignCount, time.Now().Unix()), Eligible: true, BackedUp: true, UserName: c.UserName, DisplayName: c.UserName}
	if found {
		out.UserHandle = standard(c.UserHandle)
	}
	return out
}

func (c cdpPasskey) passkey() state.Credential {
	out := state.Credential{ID: urlSafe(c.ID), RPID: c.RPID, UserHandle: urlSafe(c.UserHandle), PrivateKey: urlSafe(c.PrivateKey),
		SignCount: c.SignCount, UserName: c.UserName}
	der, _ := base64.RawURLEncoding.DecodeString(out.PrivateKey) // urlSafe has made it
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			if public, err := x509.MarshalPKIXPublicKey(signer.Public()); err == nil {
				out.PublicKey = base64.RawURLEncoding.EncodeToString(public)
			}
		}
	}
	return out
}

// standard converts base64url without padding to base64, and urlSafe the reverse. A text that is neither becomes "".
func standard(s string) string {
	b, _ := base64.RawURLEncoding.DecodeString(s)
	return base64.StdEncoding.EncodeToString(b)
}

func urlSafe(s string) string {
	b, _ := base64.StdEncoding.DecodeString(s)
	return base64.RawURLEncoding.EncodeToString(b)
}
