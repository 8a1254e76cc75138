package main

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

	"warren/events"
	"warren/problem"
	"warren/shim"
	"warren/store"
)

// This file holds what opens one run without a key: capabilities, of 256 random bits. Each carries rights of the key that it was made for, and ends with
// that key and with its run. One is the key's own: start answers it, and answers the same one again. Others are made beside it, to be given away.
// Their SHA-256 is kept here and in the run's process, which gives them to the next server; the secret is kept of a key's own alone.

const (
	// maxCapabilities is how many capabilities a run may have that were made to be given away.
	maxCapabilities = 100
	// maxOwnCapabilities is how many keys may have one of their own to a run.
	maxOwnCapabilities = 1000
	// farewellTime is how long connections have to tell their clients how a run ended.
	farewellTime = 3 * time.Second
	// maxSpent is of how many capabilities that are over a run knows that it had them: a walk through the list goes on there.
	maxSpent = 1000
)

// capability opens one run.
type capability struct {
	shim.Capability
	run  *profileRun
	life context.Context // what it let in lives in it
	end  context.CancelFunc
}

// isOwn says whether start answers it to its key; then it is no object of the API.
func (c *capability) isOwn() bool { return c.Secret != "" }

// expired says whether its time is over, by the clock on the wall: timers stand still while a machine sleeps.
func (c *capability) expired() bool { return c.ExpiresAt != 0 && time.Now().UnixMilli() >= c.ExpiresAt }

// hold ties a request to the capability that let it in: it ends when that does. leave must be called.
func (c *capability) hold(ctx context.Context) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// withCapability finds what a secret opens. It is looked up by its hash, so that no comparison tells how near a guess was.
func (rs *runs) withCapability(secret string) *capability {
	if secret == "" {
		return nil
	}
	hash := sha256.Sum256([]byte(secret))
	rs.mu.Lock()
	c := rs.byCap[hash]
	rs.mu.Unlock()
	if c == nil || subtle.ConstantTimeCompare(c.Hash, hash[:]) != 1 || c.expired() || c.life.Err() != nil {
		return nil
	}
	return c
}

// open makes a capability open the run, unless the run is over or the capability's key does not stand any more.
func (rs *runs) open(ctx context.Context, r *profileRun, about shim.Capability) error {
	if len(about.Hash) != sha256.Size {
		return errors.New("no capability")
	}
	c := &capability{Capability: about, run: r}
	if about.ExpiresAt == 0 {
		c.life, c.end = context.WithCancel(context.Background())
	} else {
		c.life, c.end = context.WithDeadline(context.Background(), time.UnixMilli(about.ExpiresAt))
	}
	key := [sha256.Size]byte(about.Hash)
	rs.mu.Lock()
	taken := rs.byProfile[r.profileID] != r || rs.byCap[key] != nil
	if !taken {
		rs.byCap[key] = c
	}
	rs.mu.Unlock()
	if taken {
		c.end()
		return nil
	}
	_, err := rs.holderOf(ctx, about.Key) // not before: one that is revoked from now on takes what is there along
	if err != nil {
		rs.forgetCapability(c)
	}
	return err
}

func (rs *runs) forgetCapability(c *capability) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.spend([sha256.Size]byte(c.Hash), c)
}

// spend takes out a capability that is over, and keeps where it stood in the list of its run; the mutex is held.
func (rs *runs) spend(key [sha256.Size]byte, c *capability) {
	delete(rs.byCap, key)
	c.end()
	if c.isOwn() {
		return
	}
	if spent := c.run.spent; len(spent) == maxSpent {
		c.run.spent = append(spent[:0], spent[1:]...)
	}
	c.run.spent = append(c.run.spent, c.ID)
}

// holderOf is who has the key that a capability was made for. The error says that nobody has, any more.
func (rs *runs) holderOf(ctx context.Context, mark string) (store.Holder, error) {
	if mark == rs.cfg.EnvironmentKey && mark != "" {
		return store.Holder{KeyID: mark, Rights: store.AllRights(), Sees: store.All()}, nil
	}
	return rs.store.HolderOf(ctx, mark)
}

// readmit opens an adopted run to a capability that an earlier server made, with no more than its key may now.
func (rs *runs) readmit(ctx context.Context, r *profileRun, about shim.Capability) error {
	key, err := rs.holderOf(ctx, about.Key)
	if err != nil {
		return err
	}
	if !key.Has(store.MayRun) || !key.Sees.Sees(r.workspaceID) {
		return store.ErrNoRow
	}
	return rs.open(ctx, r, bounded(about, askerOf(key, about.Key)))
}

// bounded is a capability that goes not beyond what its key may, nor for longer.
func bounded(about shim.Capability, key asker) shim.Capability {
	about.Key, about.Files = key.Key, about.Files && key.Files
	if !key.Expires.IsZero() && (about.ExpiresAt == 0 || key.Expires.UnixMilli() < about.ExpiresAt) {
		about.ExpiresAt = key.Expires.UnixMilli()
	}
	return about
}

// askerOf is a key's holder as a start knows it. mark is what capabilities remember of the key.
func askerOf(h store.Holder, mark string) asker {
	return asker{Sees: h.Sees, Key: mark, Files: h.Has(store.MayFiles), Expires: h.Expires}
}

// endWithKey ends the capabilities of a key, which was revoked, and the ports for debuggers that were opened for it. Of capabilities the runs'
// processes need not know: the next server asks whether a key stands.
func (rs *runs) endWithKey(ctx context.Context, mark string) {
	rs.mu.Lock()
	for k, c := range rs.byCap {
		if c.Key == mark {
			rs.spend(k, c)
		}
	}
	live := slices.Collect(maps.Values(rs.byProfile))
	rs.mu.Unlock()
	var all sync.WaitGroup
	for _, r := range live {
		if r.opensFor(mark) {
			all.Go(func() { rs.closeDebugPort(ctx, r) })
		}
	}
	all.Wait()
}

// opensFor says whether a run's port for debuggers is open for a key.
func (r *profileRun) opensFor(mark string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mark != "" && r.debugKey == mark
}

// admitDebugger leaves a run's port for debuggers open as long as its key stands and may drive the run. It comes after the key was noted, so that one
// that is revoked meanwhile closes the port as well.
func (rs *runs) admitDebugger(ctx context.Context, r *profileRun) {
	r.mu.Lock()
	mark := r.debugKey
	r.mu.Unlock()
	if mark == "" {
		return
	}
	key, err := rs.holderOf(ctx, mark)
	switch {
	case err != nil || !key.Has(store.MayRun) || !key.Sees.Sees(r.workspaceID):
		rs.closeDebugPort(ctx, r)
	case !key.Expires.IsZero(): // the run's process closes it by itself, also where there is no server
		timer := time.AfterFunc(time.Until(key.Expires), func() {
			if !isClosed(r.gone) {
				rs.closeDebugPort(rs.ctx, r)
			}
		})
		go func() { // what waits for a key of ten years must not keep a run that is over
			<-r.gone
			timer.Stop()
		}()
	}
}

// closeDebugPort closes a run's port for debuggers, and tells of it no more.
func (rs *runs) closeDebugPort(ctx context.Context, r *profileRun) {
	client, err := r.process()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // half of it serves nobody
		defer cancel()
		err = client.CloseDebugPort(ctx)
	}
	if err != nil {
		rs.log.Error("a port for debuggers stays open after its key; stop the profile", "profile", r.profileID, "run", r.id, "cause", err)
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
	rs.publishUpdate(r)
}

// dropCapabilities takes out what opened a run that is over; the mutex is held. Connections have the time of an answer to tell their clients how
// the run ended.
func (rs *runs) dropCapabilities(r *profileRun) {
	for k, c := range rs.byCap {
		if c.run == r {
			delete(rs.byCap, k)
			time.AfterFunc(farewellTime, c.end)
		}
	}
}

// opening are the run's capabilities whose time is not over, newest first. The others are forgotten.
func (rs *runs) opening(r *profileRun) (out []*capability) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for k, c := range rs.byCap {
		switch {
		case c.run != r:
		case c.expired():
			rs.spend(k, c)
		default:
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *capability) int { return strings.Compare(b.ID, a.ID) })
	return out
}

// granted are those that were made to be given away.
func (rs *runs) granted(profileID string) []*capability {
	r := rs.of(profileID)
	if r == nil {
		return nil
	}
	return slices.DeleteFunc(rs.opening(r), (*capability).isOwn)
}

// keep has the run's process keep these capabilities.
func (r *profileRun) keep(ctx context.Context, all []*capability, more ...shim.Capability) error {
	client, err := r.process()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // half of it serves nobody
	defer cancel()
	for _, c := range all {
		more = append(more, c.Capability)
	}
	if err := client.SetCapabilities(ctx, more); err != nil {
		return capabilityBusy(err)
	}
	return nil
}

func capabilityLimit() *problem.Error {
	return problem.New(problem.Conflict, "capability_limit", "The run has as many capabilities as it may: 100 that were made, and one for each of 1,000 keys. Revoke those that nobody needs (GET lists those that were made), or have them expire (expiresInMs).")
}

func capabilityBusy(err error) *problem.Error {
	return problem.New(problem.Conflict, "profile_busy", "The run's process did not take the change. Try again; if that does not help, stop the profile.").Because(err)
}

// grant makes another capability open the run: its process knows first, so that the next server does too.
func (rs *runs) grant(ctx context.Context, r *profileRun, about shim.Capability) error {
	r.granting.Lock()
	defer r.granting.Unlock()
	have, most := rs.opening(r), maxCapabilities
	if about.Secret != "" {
		most = maxOwnCapabilities
	}
	alike := 0
	for _, c := range have {
		if c.isOwn() == (about.Secret != "") {
			alike++
		}
	}
	if alike >= most {
		return capabilityLimit()
	}
	if err := r.keep(ctx, have, about); err != nil {
		return err
	}
	return rs.open(ctx, r, about)
}

// ownSecret is what opens the run to a key: the capability that it has, or a new one.
func (rs *runs) ownSecret(ctx context.Context, started *startJSON, key asker) (string, error) {
	r := started.run
	r.owning.Lock() // one for a key
	defer r.owning.Unlock()
	for _, c := range rs.opening(r) {
		if c.isOwn() && c.Key == key.Key {
			return c.Secret, nil
		}
	}
	about, secret := newShimCapability(), newCapability()
	hash := sha256.Sum256([]byte(secret))
	about.Hash, about.Secret, about.Files = hash[:], secret, true
	return secret, rs.grant(ctx, r, bounded(about, key))
}

// newCapability makes 256 random bits that open one run.
func newCapability() string {
	var b [32]byte
	rand.Read(b[:]) //nolint:errcheck // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func newShimCapability() shim.Capability {
	return shim.Capability{ID: store.NewID(), CreatedAt: time.Now().UnixMilli()}
}

// revoke ends a capability and what it let in. It is over here at once, and gone when the run's process has forgotten it too.
func (rs *runs) revoke(ctx context.Context, profileID, id string) error {
	r := rs.of(profileID)
	if r == nil {
		return problem.Missing("capability")
	}
	r.granting.Lock()
	defer r.granting.Unlock()
	have := rs.opening(r)
	i := slices.IndexFunc(have, func(c *capability) bool { return c.ID == id && !c.isOwn() })
	if i < 0 {
		return problem.Missing("capability")
	}
	c := have[i]
	c.end()
	if err := r.keep(ctx, slices.Delete(have, i, i+1)); err != nil {
		return err
	}
	rs.forgetCapability(c)
	rs.publishCapability("capability.revoked", r, id)
	return nil
}

// grantedOnce says whether a capability was made for a profile's run, though it may be over. Ids sort by time: the place of one that is over is known.
func (rs *runs) grantedOnce(profileID, id string) (int64, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.byProfile[profileID]
	for _, c := range rs.byCap {
		if c.run == r && !c.isOwn() && c.ID == id {
			return c.CreatedAt, nil
		}
	}
	if r != nil && slices.Contains(r.spent, id) {
		return 0, nil
	}
	return 0, store.ErrNoRow
}

// goesOn says whether the run has begun and is not on its way out.
func (r *profileRun) goesOn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status == "running" && r.client != nil
}

// process is the hold on the run's process.
func (r *profileRun) process() (*shim.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil {
		return nil, problem.New(problem.Conflict, "profile_not_running", "The profile's browser is not ready yet.")
	}
	return r.client, nil
}

// grantOptions say what a capability is to be that is given away.
type grantOptions struct {
	Name     string
	Readonly bool
	Files    bool          // who has it may use files of the machine, if the key may
	Life     time.Duration // 0: until the run ends
}

// grantNew makes a capability that opens a profile's run, and gives its secret, this once.
func (rs *runs) grantNew(ctx context.Context, profileID string, key asker, o grantOptions) (*capability, string, error) {
	r := rs.of(profileID)
	if r == nil || !r.goesOn() {
		return nil, "", notRunning()
	}
	about, secret := newShimCapability(), newCapability()
	hash := sha256.Sum256([]byte(secret))
	about.Hash, about.Name, about.Readonly, about.Files = hash[:], o.Name, o.Readonly, o.Files
	if o.Life > 0 {
		about.ExpiresAt = about.CreatedAt + o.Life.Milliseconds()
	}
	about = bounded(about, key)
	if err := rs.grant(ctx, r, about); err != nil {
		return nil, "", err
	}
	rs.publishCapability("capability.created", r, about.ID)
	return &capability{Capability: about, run: r}, secret, nil
}

func (rs *runs) publishCapability(kind string, r *profileRun, id string) {
	rs.events.Publish(events.Event{Type: kind, Workspace: r.workspaceID, Data: map[string]any{"id": id, "profileId": r.profileID, "runId": r.id}})
}

func notRunning() *problem.Error {
	return problem.New(problem.Conflict, "profile_not_running", "The profile does not run. Start it first.")
}
