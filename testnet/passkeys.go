package testnet

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
)

// RelyingParty is a site with passkeys: it verifies what WebAuthn says a site must (WebAuthn, 7.2).
type RelyingParty struct {
	mu      sync.Mutex
	keys    map[string]*ecdsa.PublicKey // by credential id
	counter map[string]uint32
	in      int // sign-ins
	onMade  func()
}

// passkeyPage is the site's page: make() makes a passkey, and use() signs in with any, or with one by its id in base64url.
const passkeyPage = `<!doctype html><title>passkeys</title><script>
const text = b => btoa(String.fromCharCode(...new Uint8Array(b)))
const post = async (path, v) => (await fetch(path, {method: 'POST', body: JSON.stringify(v)})).text()
const challenge = crypto.getRandomValues(new Uint8Array(32))
async function make(name) {
  const c = await navigator.credentials.create({publicKey: {rp: {name: 'site'}, challenge, user: {id: new TextEncoder().encode(name), name,
    displayName: name}, pubKeyCredParams: [{type: 'public-key', alg: -7}], authenticatorSelection: {residentKey: 'required',
    userVerification: 'required'}}})
  return post('/made', {id: text(c.rawId), key: text(c.response.getPublicKey())})
}
async function use(timeout = 60000, id = '') {
  const bytes = Uint8Array.from(atob(id.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt())
  const allowCredentials = id ? [{type: 'public-key', id: bytes}] : []
  const publicKey = {challenge, timeout, userVerification: 'required', allowCredentials}
  const c = await navigator.credentials.get({publicKey}).catch(e => e)
  if (c instanceof Error) return c.name
  return post('/used', {id: text(c.rawId), data: text(c.response.authenticatorData), client: text(c.response.clientDataJSON),
    signature: text(c.response.signature)})
}
</script>`

// NewRelyingParty adds the site to a server, with its page at /passkeys.
func NewRelyingParty(mux *http.ServeMux) *RelyingParty {
	r := &RelyingParty{keys: map[string]*ecdsa.PublicKey{}, counter: map[string]uint32{}}
	mux.HandleFunc("/passkeys", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(passkeyPage))
	})
	mux.HandleFunc("/made", r.made)
	mux.HandleFunc("/used", r.used)
	return r
}

// OnMade sets what runs the moment that the site has stored a passkey.
func (r *RelyingParty) OnMade(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onMade = f
}

// SignIns counts the sign-ins that were good.
func (r *RelyingParty) SignIns() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in
}

func (r *RelyingParty) made(w http.ResponseWriter, q *http.Request) {
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
	if r.onMade != nil {
		r.onMade()
	}
	w.Write([]byte("made"))
}

func (r *RelyingParty) used(w http.ResponseWriter, q *http.Request) {
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
		r.in++
		w.Write([]byte("in"))
	}
}

// KeyHash is the base64 SHA-256 of a server's public key, as Chrome's --ignore-certificate-errors-spki-list takes it.
func KeyHash(s *httptest.Server) string {
	sum := sha256.Sum256(s.Certificate().RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}
