package runs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/problem"
	"warren/shim"
	"warren/store"
)

// Manages capabilities: secrets of 256 random bits that open one run without a key. A capability carries rights of the
// key that it was made for, and ends with that key and with its run.
//
// Each key has at most one of its own per run, which every start returns. Others are granted to be given away. The
// server and the run's process keep the SHA-256 of each, and the next server reads it from the process. Only a key's own
// capability is kept with its secret.

const (
	// maxCapabilities is how many granted capabilities a run may have.
	maxCapabilities = 100
	// maxOwnCapabilities is how many keys may have a capability of their own to one run.
	maxOwnCapabilities = 1000
	// closeTime is how long connections may still report to their clients how a run ended.
	closeTime = 3 * time.Second
	// maxEndedCapabilities is how many ended capabilities a run remembers, so that paging through the list can continue
	// there.
	maxEndedCapabilities = 1000
)

// Capability opens one run.
type Capability struct {
	shim.Capability
	run    *run
	ctx    context.Context // connections that the capability opened end with it
	cancel context.CancelFunc
}

// Profile returns the profile of its run.
func (c *Capability) Profile() string { return c.run.profileID }

// Workspace returns the workspace of its run.
func (c *Capability) Workspace() string { return c.run.workspaceID }

// isOwn reports whether it is a key's own. Such a capability is no object of the API.
func (c *Capability) isOwn() bool { return c.Secret != "" }

// expired reports whether the capability has expired by the wall clock. Timers stop while a machine sleeps.
func (c *Capability) expired() bool { return c.ExpiresAt != 0 && time.Now().UnixMilli() >= c.ExpiresAt }

// Hold returns a context that ends with the capability. The caller must call leave.
func (c *Capability) Hold(ctx context.Context) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// OpenedBy returns the capability of a secret; nil: none. The lookup is by hash, so that its timing reveals nothing
// about near guesses.
func (m *Manager) OpenedBy(secret string) *Capability {
	if secret == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	m.mu.Lock()
	c := m.byCap[hash]
	m.mu.Unlock()
	if c == nil || subtle.ConstantTimeCompare(c.Hash, hash[:]) != 1 || c.expired() || c.ctx.Err() != nil {
		return nil
	}
	return c
}

// registerCapability makes a capability open the run, unless the run has ended or the capability's key is gone.
func (m *Manager) registerCapability(ctx context.Context, r *run, capability shim.Capability) error {
	if len(capability.Hash) != sha256.Size {
		return errors.New("no capability")
	}
	c := &Capability{Capability: capability, run: r}
	if capability.ExpiresAt == 0 {
		c.ctx, c.cancel = context.WithCancel(context.Background())
	} else {
		c.ctx, c.cancel = context.WithDeadline(context.Background(), time.UnixMilli(capability.ExpiresAt))
	}
	key := [sha256.Size]byte(capability.Hash)
	m.mu.Lock()
	taken := m.byProfile[r.profileID] != r || m.byCap[key] != nil
	if !taken {
		m.byCap[key] = c
	}
	m.mu.Unlock()
	if taken {
		c.cancel()
		return nil
	}
	_, err := m.keyHolder(ctx, capability.Key) // after the registration, so that a revocation from now on ends it
	if err != nil {
		m.removeCapability(c)
	}
	return err
}

func (m *Manager) removeCapability(c *Capability) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endCapability([sha256.Size]byte(c.Hash), c)
}

// endCapability removes a capability, and remembers its id for paging if it was granted. The mutex is held.
func (m *Manager) endCapability(key [sha256.Size]byte, c *Capability) {
	delete(m.byCap, key)
	c.cancel()
	if c.isOwn() {
		return
	}
	if ended := c.run.endedCapabilities; len(ended) == maxEndedCapabilities {
		c.run.endedCapabilities = append(ended[:0], ended[1:]...)
	}
	c.run.endedCapabilities = append(c.run.endedCapabilities, c.ID)
}

// keyHolder returns the holder of the key that a capability was made for. It fails if the key is gone.
func (m *Manager) keyHolder(ctx context.Context, mark string) (store.Holder, error) {
	if mark == m.cfg.EnvironmentKey && mark != "" {
		return store.Holder{KeyID: mark, Rights: store.AllRights(), Sees: store.All()}, nil
	}
	return m.store.HolderOf(ctx, mark)
}

// driver returns the holder of a key that may drive the run. It fails if the key may not, or is gone.
func (m *Manager) driver(ctx context.Context, r *run, mark string) (store.Holder, error) {
	key, err := m.keyHolder(ctx, mark)
	if err == nil && (!key.Has(store.MayRun) || !key.Sees.Sees(r.workspaceID)) {
		err = store.ErrNoRow
	}
	return key, err
}

// reopenCapability registers a capability of an earlier server. Its rights shrink to those that the key still has.
func (m *Manager) reopenCapability(ctx context.Context, r *run, capability shim.Capability) error {
	key, err := m.driver(ctx, r, capability.Key)
	if err != nil {
		return err
	}
	return m.registerCapability(ctx, r, limitToKey(capability, NewAsker(key, capability.Key)))
}

// limitToKey limits a capability to the rights and the lifetime of its key.
func limitToKey(capability shim.Capability, key Asker) shim.Capability {
	capability.Key, capability.Files = key.Key, capability.Files && key.Files
	if !key.Expires.IsZero() && (capability.ExpiresAt == 0 || key.Expires.UnixMilli() < capability.ExpiresAt) {
		capability.ExpiresAt = key.Expires.UnixMilli()
	}
	return capability
}

// EndWithKey ends the capabilities of a revoked key, and closes the debug ports that were opened for it. The runs'
// processes are not notified, because the next server checks every key.
func (m *Manager) EndWithKey(ctx context.Context, mark string) {
	m.mu.Lock()
	for k, c := range m.byCap {
		if c.Key == mark {
			m.endCapability(k, c)
		}
	}
	live := slices.Collect(maps.Values(m.byProfile))
	m.mu.Unlock()
	var all sync.WaitGroup
	for _, r := range live {
		if r.hasDebugPortFor(mark) {
			all.Go(func() { m.closeDebugPort(ctx, r) })
		}
	}
	all.Wait()
}

// Keys returns the marks of the keys that EndWithKey would end something for.
func (m *Manager) Keys() []string {
	marks := map[string]bool{}
	m.mu.Lock()
	for _, c := range m.byCap {
		marks[c.Key] = true
	}
	live := slices.Collect(maps.Values(m.byProfile))
	m.mu.Unlock()
	for _, r := range live {
		r.mu.Lock()
		marks[r.debugKey] = true
		r.mu.Unlock()
	}
	delete(marks, "")
	return slices.Collect(maps.Keys(marks))
}

// hasDebugPortFor reports whether the run's debug port is open for a key.
func (r *run) hasDebugPortFor(mark string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mark != "" && r.debugKey == mark
}

// watchDebugPort closes a run's debug port when its key expires, or at once if the key may not drive the run. The key is
// stored in the run before, so a concurrent revocation closes the port too.
func (m *Manager) watchDebugPort(ctx context.Context, r *run) {
	r.mu.Lock()
	mark := r.debugKey
	r.mu.Unlock()
	if mark == "" {
		return
	}
	key, err := m.driver(ctx, r, mark)
	switch {
	case err != nil:
		m.closeDebugPort(ctx, r)
	case !key.Expires.IsZero(): // the run's process also closes it by itself, without a server
		timer := time.AfterFunc(time.Until(key.Expires), func() {
			if !isClosed(r.done) {
				m.closeDebugPort(m.ctx, r)
			}
		})
		go func() { // a timer of years must not keep an ended run in memory
			<-r.done
			timer.Stop()
		}()
	}
}

// closeDebugPort closes a run's debug port and removes its address from the answer.
func (m *Manager) closeDebugPort(ctx context.Context, r *run) {
	client, err := r.process()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // a change is completed even without its caller
		defer cancel()
		err = client.CloseDebugPort(ctx)
	}
	if err != nil {
		m.log.Error("a port for debuggers stays open after its key; stop the profile", "profile", r.profileID, "run", r.id, "cause", err)
		return
	}
	r.mu.Lock()
	r.debugKey = ""
	if r.answer != nil {
		a := *r.answer
		a.DebuggerAddress = nil
		r.answer = &a
	}
	r.mu.Unlock()
	m.publishUpdate(r)
}

// dropCapabilities removes the capabilities of an ended run. The mutex is held. Their connections stay open for
// closeTime.
func (m *Manager) dropCapabilities(r *run) {
	for k, c := range m.byCap {
		if c.run == r {
			delete(m.byCap, k)
			time.AfterFunc(closeTime, c.cancel)
		}
	}
}

// liveCapabilities returns the run's capabilities that have not expired, newest first. Expired ones are removed.
func (m *Manager) liveCapabilities(r *run) (out []*Capability) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, c := range m.byCap {
		switch {
		case c.run != r:
		case c.expired():
			m.endCapability(k, c)
		default:
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *Capability) int { return strings.Compare(b.ID, a.ID) })
	return out
}

// Granted returns the capabilities that were made to be given away.
func (m *Manager) Granted(profileID string) []*Capability {
	r := m.runOf(profileID)
	if r == nil {
		return nil
	}
	return slices.DeleteFunc(m.liveCapabilities(r), (*Capability).isOwn)
}

// sendCapabilities replaces the capabilities that the run's process keeps.
func (r *run) sendCapabilities(ctx context.Context, all []*Capability, more ...shim.Capability) error {
	client, err := r.process()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // a change is completed even without its caller
	defer cancel()
	for _, c := range all {
		more = append(more, c.Capability)
	}
	if err := client.SetCapabilities(ctx, more); err != nil {
		return CapabilityBusy(err)
	}
	return nil
}

// grant adds a capability to the run. The run's process stores it first, so that the next server knows it too.
func (m *Manager) grant(ctx context.Context, r *run, capability shim.Capability) error {
	r.capabilitiesMu.Lock()
	defer r.capabilitiesMu.Unlock()
	have, left := m.liveCapabilities(r), maxCapabilities
	if capability.Secret != "" {
		left = maxOwnCapabilities
	}
	for _, c := range have {
		if c.isOwn() == (capability.Secret != "") {
			left--
		}
	}
	if left <= 0 {
		return CapabilityLimit()
	}
	if err := r.sendCapabilities(ctx, have, capability); err != nil {
		return err
	}
	return m.registerCapability(ctx, r, capability)
}

// OwnSecret returns the secret of the key's own capability to the run, which it makes if there is none.
func (m *Manager) OwnSecret(ctx context.Context, started *Started, key Asker) (string, error) {
	r := started.run
	r.ownSecretMu.Lock() // one per key
	defer r.ownSecretMu.Unlock()
	for _, c := range m.liveCapabilities(r) {
		if c.isOwn() && c.Key == key.Key {
			return c.Secret, nil
		}
	}
	capability, secret := newShimCapability()
	capability.Secret, capability.Files = secret, true
	return secret, m.grant(ctx, r, limitToKey(capability, key))
}

// NewCapability makes a secret of 256 random bits.
func NewCapability() string {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// newShimCapability makes a capability with a new secret.
func newShimCapability() (c shim.Capability, secret string) {
	secret = NewCapability()
	hash := sha256.Sum256([]byte(secret))
	return shim.Capability{ID: store.NewID(), CreatedAt: time.Now().UnixMilli(), Hash: hash[:]}, secret
}

// Revoke ends a capability and the connections that it opened. It takes effect at once. It fails if the run's process
// does not confirm it.
func (m *Manager) Revoke(ctx context.Context, profileID, id string) error {
	r := m.runOf(profileID)
	if r == nil {
		return problem.Missing("capability")
	}
	r.capabilitiesMu.Lock()
	defer r.capabilitiesMu.Unlock()
	have := m.liveCapabilities(r)
	i := slices.IndexFunc(have, func(c *Capability) bool { return c.ID == id && !c.isOwn() })
	if i < 0 {
		return problem.Missing("capability")
	}
	c := have[i]
	c.cancel()
	if err := r.sendCapabilities(ctx, slices.Delete(have, i, i+1)); err != nil {
		return err
	}
	m.removeCapability(c)
	m.publish(r, "capability.revoked", capabilityEvent{id, r.profileID, r.id})
	return nil
}

// WasGranted returns when a capability of the profile's run was made, in milliseconds since 1970. For an ended one it
// returns 0, because ids sort by time. An unknown id is store.ErrNoRow.
func (m *Manager) WasGranted(profileID, id string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byProfile[profileID]
	for _, c := range m.byCap {
		if c.run == r && !c.isOwn() && c.ID == id {
			return c.CreatedAt, nil
		}
	}
	if r != nil && slices.Contains(r.endedCapabilities, id) {
		return 0, nil
	}
	return 0, store.ErrNoRow
}

// ProfileID returns the profile whose run the capability opens.
func (c *Capability) ProfileID() string { return c.run.profileID }

// RunID returns the run that the capability opens.
func (c *Capability) RunID() string { return c.run.id }

// Process returns the connection to the run's process. The error is profile_not_running before the browser is ready.
func (c *Capability) Process() (*Process, error) { return c.run.process() }

// Process returns the connection to the process of a profile's run. The error is profile_not_running if there is none or
// the browser is not ready.
func (m *Manager) Process(profileID string) (*Process, error) {
	r := m.runOf(profileID)
	if r == nil {
		return nil, NotRunning()
	}
	return r.process()
}

// GrantOptions describe a capability that is to be given away.
type GrantOptions struct {
	Name     string
	Readonly bool
	Files    bool          // clients may use files of the machine, if the key may
	Life     time.Duration // 0: until the run ends
}

// Grant makes a capability that opens a profile's run. The secret is returned only here.
func (m *Manager) Grant(ctx context.Context, profileID string, key Asker, o GrantOptions) (*Capability, string, error) {
	r := m.runOf(profileID)
	if r == nil || !r.isRunning() {
		return nil, "", NotRunning()
	}
	capability, secret := newShimCapability()
	capability.Name, capability.Readonly, capability.Files = o.Name, o.Readonly, o.Files
	if o.Life > 0 {
		capability.ExpiresAt = capability.CreatedAt + o.Life.Milliseconds()
	}
	capability = limitToKey(capability, key)
	if err := m.grant(ctx, r, capability); err != nil {
		return nil, "", err
	}
	m.publish(r, "capability.created", capabilityEvent{capability.ID, r.profileID, r.id})
	return &Capability{Capability: capability, run: r}, secret, nil
}
