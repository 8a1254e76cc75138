package browser

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"warren/testnet"
)

// relyingParty is a site with passkeys: it verifies what WebAuthn says a site must (WebAuthn, 7.2).
type relyingParty struct {
	mu      sync.Mutex
	keys    map[string]*ecdsa.PublicKey // by credential id
	counter map[string]uint32
}

// passkeyPages is the site's page: make() makes a passkey, and use() signs in with any.
const passkeyPages = `<!doctype html><title>passkeys</title><script>
const text = b => btoa(String.fromCharCode(...new Uint8Array(b)))
const post = async (path, v) => (await fetch(path, {method: 'POST', body: JSON.stringify(v)})).text()
const challenge = crypto.getRandomValues(new Uint8Array(32))
async function make(name) {
  const c = await navigator.credentials.create({publicKey: {rp: {name: 'site'}, challenge, user: {id: new TextEncoder().encode(name), name,
    displayName: name}, pubKeyCredParams: [{type: 'public-key', alg: -7}], authenticatorSelection: {residentKey: 'required',
    userVerification: 'required'}}})
  return post('/made', {id: text(c.rawId), key: text(c.response.getPublicKey())})
}
async function use(timeout = 60000) {
  const c = await navigator.credentials.get({publicKey: {challenge, timeout, userVerification: 'required'}}).catch(e => e)
  if (c instanceof Error) return c.name
  return post('/used', {id: text(c.rawId), data: text(c.response.authenticatorData), client: text(c.response.clientDataJSON),
    signature: text(c.response.signature)})
}
</script>`

func newRelyingParty(site *testnet.Site) *relyingParty {
	r := &relyingParty{keys: map[string]*ecdsa.PublicKey{}, counter: map[string]uint32{}}
	site.Mux.HandleFunc("/passkeys", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(passkeyPages))
	})
	site.Mux.HandleFunc("/made", r.made)
	site.Mux.HandleFunc("/used", r.used)
	return r
}

func (r *relyingParty) made(w http.ResponseWriter, q *http.Request) {
	var in struct{ ID, Key string }
	der := []byte(nil)
	if json.NewDecoder(q.Body).Decode(&in) == nil {
		der, _ = base64.StdEncoding.DecodeString(in.Key)
	}
	key, err := x509.ParsePKIXPublicKey(der)
	public, ok := key.(*ecdsa.PublicKey)
	if err != nil || !ok {
		w.Write([]byte("no key"))
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[in.ID] = public
	w.Write([]byte("made"))
}

func (r *relyingParty) used(w http.ResponseWriter, q *http.Request) {
	var in struct {
		ID                      string
		Data, Client, Signature []byte
	}
	err := json.NewDecoder(q.Body).Decode(&in)
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.keys[in.ID]
	if err != nil || key == nil || len(in.Data) < 37 {
		w.Write([]byte("unknown"))
		return
	}
	client := sha256.Sum256(in.Client)
	signed := sha256.Sum256(append(in.Data, client[:]...))
	counter := binary.BigEndian.Uint32(in.Data[33:37])
	switch {
	case !ecdsa.VerifyASN1(key, signed[:], in.Signature):
		w.Write([]byte("wrong signature"))
	case counter <= r.counter[in.ID]:
		w.Write([]byte("a copy"))
	default:
		r.counter[in.ID] = counter
		w.Write([]byte("in"))
	}
}

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
	newRelyingParty(p.site)
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
	b.Stop(t.Context(), false)

	spec.TempDir, spec.Credentials, spec.Passkeys = tempDir(t), all, PasskeysAsk
	b = p.startSpec(spec)
	page := openPasskeys(t, b)
	asked(t, b, page, "use(1000)", "NotAllowedError")
	if !b.PermitPasskey(page.Target) {
		t.Error("nobody may permit it")
	}
	asked(t, b, page, "use()", "in")
	asked(t, b, page, "use(1000)", "NotAllowedError")
	if err := b.SetPasskeys(nil); err != nil || len(b.Passkeys()) > 0 {
		t.Errorf("%v, then there are %v", err, b.Passkeys())
	}
	b.PermitPasskey(page.Target)
	asked(t, b, page, "use(2000)", "NotAllowedError")
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
