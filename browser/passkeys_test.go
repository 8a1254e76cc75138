package browser

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"warren/state"
	"warren/testnet"
)

// openPasskeys opens the site's page.
func openPasskeys(t *testing.T, b *Browser) Page {
	t.Helper()
	var made struct{ TargetID string }
	where := map[string]string{"url": "http://app.localhost/passkeys"}
	if err := b.mux.call(t.Context(), "", "Target.createTarget", where, &made); err != nil {
		t.Fatal(err)
	}
	b.mux.controller.awaitOverrides(t.Context(), made.TargetID)
	p, _ := b.mux.controller.page(made.TargetID)
	testnet.Eventually(t, "the page has loaded", func() bool { return evaluate(t, b, p, "typeof use") == `"function"` })
	return p
}

func asked(t *testing.T, b *Browser, p Page, expression, want string) {
	t.Helper()
	call(t, b, p.Session, "Page.bringToFront", nil) // a page behind another one may not ask
	got := callText(t, b, p.Session, expression)
	if got != want {
		t.Errorf("%s is %q, want %q", expression, got, want)
	}
}

func callText(t *testing.T, b *Browser, session, expression string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testnet.Patience)
	defer cancel()
	text, err := evaluateText(ctx, b.mux, session, expression)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestPasskeys: a passkey that a page makes signs in from all pages, from frames and after a restart. A client's own authenticator wins
// while the client is there. In mode ask nothing happens without a person.
func TestPasskeys(t *testing.T) {
	t.Parallel()
	p := newProfile(t)
	testnet.NewRelyingParty(p.site.Mux)
	spec := p.spec()
	spec.Passkeys = PasskeysAuto
	b := p.startSpec(spec)
	first, second := openPasskeys(t, b), openPasskeys(t, b)
	asked(t, b, first, "make('ann')", "made")
	<-b.PasskeysChanged()
	asked(t, b, second, "use()", "in")
	asked(t, b, first, "use()", "in")
	frame := `new Promise(r => { const f = document.createElement('iframe'); f.allow = 'publickey-credentials-get'; f.src = '/passkeys'
		f.onload = () => r(f.contentWindow.use()); document.body.append(f) })`
	asked(t, b, second, frame, "in")

	client, err := b.mux.attachPageClient(t.Context(), first.Target)
	if err != nil {
		t.Fatal(err)
	}
	client.submitted(t, "WebAuthn.enable", `{"enableUI":false}`)
	client.submitted(t, "WebAuthn.addVirtualAuthenticator", `{"options":{"protocol":"ctap2","transport":"internal","hasResidentKey":true,`+
		`"hasUserVerification":true,"isUserVerified":true,"automaticPresenceSimulation":true}}`)
	asked(t, b, first, "use(1000)", "NotAllowedError")
	client.close()
	const available = "PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable().then(String)"
	testnet.Eventually(t, "the page has its passkeys again", func() bool { return callText(t, b, first.Session, available) == "true" })
	asked(t, b, first, "use()", "in")

	all := b.Passkeys()
	if len(all) != 1 || all[0].RPID != "app.localhost" || all[0].UserName != "ann" || all[0].PublicKey == "" {
		t.Fatalf("the passkeys are %+v", all)
	}
	for i := range 4 { // Chrome's authenticator has room for three
		asked(t, b, second, fmt.Sprintf("make('more%d')", i), "made")
	}
	asked(t, b, first, "use()", "in")
	id := all[0].ID
	asked(t, b, first, fmt.Sprintf("use(60000, %q)", id), "in")
	all = b.Passkeys()
	if at := slices.IndexFunc(all, func(c state.Credential) bool { return c.ID == id }); len(all) != 5 || all[at].UserHandle == "" ||
		all[at].UserName != "ann" {
		t.Fatalf("the passkeys are %+v", all)
	}
	b.Stop(t.Context(), false)
	all = all[:1]

	spec.TempDir, spec.Credentials, spec.Passkeys = tempDir(t), all, PasskeysAsk
	b = p.startSpec(spec)
	page := openPasskeys(t, b)
	asked(t, b, page, "use(1000)", "NotAllowedError")
	if !b.PermitPasskey(page.Target) {
		t.Error("nobody may permit it")
	}
	asked(t, b, page, "use()", "in")
	asked(t, b, page, "use(1000)", "NotAllowedError")
	if err := b.ChangePasskeys(nil, []string{all[0].ID}); err != nil || len(b.Passkeys()) > 0 {
		t.Errorf("%v, then there are %v", err, b.Passkeys())
	}
	b.PermitPasskey(page.Target)
	asked(t, b, page, "use(2000)", "NotAllowedError")

	many := make([]state.Credential, state.MaxCredentials)
	for i := range many {
		many[i] = all[0]
		many[i].ID, many[i].RPID = urlSafe(fmt.Sprintf("%08d", i)), "shop.example"
	}
	if err := b.ChangePasskeys(many, nil); err != nil {
		t.Fatal(err)
	}
	b.PermitPasskey(page.Target)
	asked(t, b, page, "make('one too many')", "made")
	b.PermitPasskey(page.Target)
	asked(t, b, page, "use(2000)", "NotAllowedError")
	if n := len(b.Passkeys()); n != state.MaxCredentials {
		t.Errorf("there are %d passkeys", n)
	}
}

// submitted sends a command of a client, and waits for its answer.
func (c *client) submitted(t *testing.T, method, params string) {
	t.Helper()
	if err := c.submit(t.Context(), fmt.Appendf(nil, `{"id":1,"method":%q,"params":%s}`, method, params)); err != nil {
		t.Fatal(err)
	}
	for {
		msg, err := c.out.dequeue(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(msg, []byte(`"id":1`)) {
			if !bytes.Contains(msg, []byte(`"result"`)) {
				t.Fatalf("%s: %s", method, msg)
			}
			return
		}
	}
}
