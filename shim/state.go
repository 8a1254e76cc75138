package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"warren/browser"
	"warren/state"
)

// Reads and writes the cookies and the storage of a profile, in the browser that has them open.
//
// A write is noted beside the profile's data before it begins, sealed, and the note goes when the browser has closed in order. After a kill
// in between, the next opening makes the write again. So there is the state before it or the state after it.

type (
	// StorageFault is what could not be read or written of an origin.
	StorageFault = browser.StorageFault

	// ClearOptions says what of a profile's data is cleared.
	ClearOptions = browser.ClearOptions

	// StateRead says what is read of a profile's state.
	StateRead struct {
		Cookies      bool     `json:"cookies"`
		LocalStorage bool     `json:"localStorage"`
		IndexedDB    bool     `json:"indexedDB"`
		Domains      []string `json:"domains"` // of the origins, with their subdomains; none: all
	}

	// ProfileState is the state of a profile.
	ProfileState struct {
		Cookies     []state.Cookie `json:"cookies"`
		Origins     []state.Origin `json:"origins"`
		Faults      []StorageFault `json:"faults"`
		Partitioned int            `json:"partitioned"` // stores within other sites' pages, which are left out
	}

	// StateWrite changes the state of a profile. A cookie, an entry or a database of the same name is replaced.
	StateWrite struct {
		Set     []state.Cookie `json:"set"`
		Remove  []state.Cookie `json:"remove"`
		Origins []state.Origin `json:"origins"`
		Replace bool           `json:"replace"` // what else the origins have is removed

		SetPasskeys    []state.Credential `json:"setPasskeys,omitempty"`    // in place of those with their ids
		RemovePasskeys []string           `json:"removePasskeys,omitempty"` // ids
	}

	// StateWritten says what came of a StateWrite.
	StateWritten struct {
		Refused map[int]string `json:"refused"` // why the browser did not take a cookie, by its index in Set
		Faults  []StorageFault `json:"faults"`
	}
)

// stateTimeout bounds a read or a write of many origins.
const stateTimeout = 10 * time.Minute

// maxStateBody bounds what the server sends, in bytes: 64 MiB of a person's, as JSON in JSON.
const maxStateBody = 256 << 20

// stateKeeper reads and writes the state of one run's profile.
type stateKeeper struct {
	browser *browser.Browser
	folder  string // of the profile
	profile string
	key     []byte // what notes are sealed with; none: there are no notes
	offline bool
	log     *slog.Logger

	passkeys *passkeyKeeper

	writing sync.Mutex // held during a write: a note goes on from the one before
}

func (k *stateKeeper) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /state/read", stateHandler(k.log, k.readState))
	mux.HandleFunc("POST /state/write", stateHandler(k.log, k.writeState))
	mux.HandleFunc("POST /state/redo", stateHandler(k.log, k.redoState))
	mux.HandleFunc("POST /state/clear", stateHandler(k.log, func(ctx context.Context, _ struct{}) (struct{}, error) {
		return struct{}{}, k.browser.ClearData(ctx)
	}))
}

// stateHandler serves a function of the state.
func stateHandler[In, Out any](log *slog.Logger, do func(context.Context, In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), stateTimeout) // a server that dies leaves no half
		defer cancel()
		var in In
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxStateBody)).Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			http.Error(w, "not a request for the state: "+err.Error(), http.StatusBadRequest)
			return
		}
		out, err := do(ctx, in)
		if err != nil {
			log.Warn("the state was not read or written", "what", r.URL.Path, "cause", err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		writeJSON(w, out)
	}
}

// readState reads what is asked for. Of a run that is offline localStorage comes from Chrome's files: nothing changes it.
func (k *stateKeeper) readState(ctx context.Context, r StateRead) (out ProfileState, err error) {
	if r.Cookies {
		if out.Cookies, err = k.browser.Cookies(ctx); err != nil {
			return out, err
		}
	}
	if !r.LocalStorage && !r.IndexedDB {
		return out, nil
	}
	err = k.readOrigins(ctx, r, &out)
	return out, err
}

// readOrigins adds what origins keep.
func (k *stateKeeper) readOrigins(ctx context.Context, r StateRead, out *ProfileState) error {
	stored, err := browser.ReadStoredOrigins(userDataDir(k.folder))
	if err != nil {
		return err
	}
	out.Partitioned = stored.Partitioned
	visits, local := k.placesToRead(ctx, r, stored)
	found, faults, err := k.browser.ReadStorage(ctx, visits, r.LocalStorage && !k.offline, r.IndexedDB)
	out.Faults = faults
	for _, o := range found {
		if have, both := local[o.Origin]; both {
			o.LocalStorage = have.LocalStorage
			delete(local, o.Origin)
		}
		out.Origins = append(out.Origins, o)
	}
	out.Origins = slices.AppendSeq(out.Origins, maps.Values(local))
	slices.SortFunc(out.Origins, func(a, b state.Origin) int { return strings.Compare(a.Origin, b.Origin) })
	return err
}

// placesToRead returns the origins to visit, and the localStorage that is known without a visit.
func (k *stateKeeper) placesToRead(ctx context.Context, r StateRead, stored browser.StoredOrigins) ([]string, map[string]state.Origin) {
	var visits []string
	if r.IndexedDB {
		visits = stored.Databases
	}
	local := map[string]state.Origin{}
	if r.LocalStorage && !k.offline {
		visits = append(visits, k.browser.OpenOrigins(ctx)...)
	}
	for _, o := range stored.Local {
		switch {
		case !r.LocalStorage || !within(o.Origin, r.Domains):
		case k.offline:
			local[o.Origin] = o
		default:
			visits = append(visits, o.Origin)
		}
	}
	slices.Sort(visits)
	return slices.DeleteFunc(slices.Compact(visits), func(o string) bool { return !within(o, r.Domains) }), local
}

// within reports whether an origin is of one of the domains, or of a subdomain; none: of any.
func within(origin string, domains []string) bool {
	_, host, _ := strings.Cut(origin, "://")
	host, _, _ = strings.Cut(host, ":")
	return len(domains) == 0 || slices.ContainsFunc(domains, func(d string) bool {
		return host == d || strings.HasSuffix(host, "."+d)
	})
}

// writeState notes a write, and makes it.
func (k *stateKeeper) writeState(ctx context.Context, w StateWrite) (out StateWritten, err error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	n, err := readStateNote(k.folder, k.profile, k.key)
	if errors.Is(err, errStateUnreadable) {
		n, err = nil, setAsideState(k.folder)
	}
	if err == nil && n != nil && n.Done.IsZero() { // it was cut off
		_, err = k.apply(ctx, n)
	}
	if err != nil {
		return out, fmt.Errorf("settle the write before: %w", err)
	}
	return k.apply(ctx, &stateNote{Write: w, Earlier: n.unwritten(userDataDir(k.folder))})
}

// apply makes the writes of a note, in their order. What came of the last one is returned.
func (k *stateKeeper) apply(ctx context.Context, n *stateNote) (out StateWritten, err error) {
	if err := k.noteState(*n); err != nil {
		return out, fmt.Errorf("note the write before it begins: %w", err)
	}
	if n.Tries > 0 {
		for _, e := range n.Earlier {
			if _, err := k.make(ctx, e.Write); err != nil {
				return out, err
			}
		}
	}
	if out, err = k.make(ctx, n.Write); err == nil {
		n.Write.SetPasskeys, n.Write.RemovePasskeys = nil, nil // they are on the disk, and may change before Chrome has written the rest
		n.Done = time.Now()
		err = k.noteState(*n)
	}
	return out, err
}

// make has the browser make a write.
func (k *stateKeeper) make(ctx context.Context, w StateWrite) (out StateWritten, err error) {
	if out.Refused, err = k.browser.WriteCookies(ctx, w.Set, w.Remove); err == nil {
		out.Faults, err = k.browser.WriteStorage(ctx, w.Origins, w.Replace)
	}
	if err == nil {
		err = k.passkeys.change(w.SetPasskeys, w.RemovePasskeys)
	}
	return out, err
}

// redoState makes noted writes again.
func (k *stateKeeper) redoState(ctx context.Context, _ struct{}) (StateWritten, error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	n, err := readStateNote(k.folder, k.profile, k.key)
	if err != nil || n == nil {
		return StateWritten{}, err
	}
	n.Earlier = notWritten(n.Earlier, userDataDir(k.folder))
	n.Tries, n.Done = n.Tries+1, time.Time{}
	return k.apply(ctx, n)
}

// stateNote is a write that the browser may not have on the disk, and those shortly before it.
type stateNote struct {
	Write   StateWrite  `json:"write"`
	Done    time.Time   `json:"done"`  // when the browser had it all; zero: not yet
	Tries   int         `json:"tries"` // how often it was begun again
	Earlier []pastWrite `json:"earlier,omitempty"`

	AtStart bool `json:"atStart,omitempty"` // of cookies alone, which the next start sets (PendCookies)
}

// pastWrite is a write that the browser had all of.
type pastWrite struct {
	Write StateWrite `json:"write"`
	Done  time.Time  `json:"done"`
}

// unwritten returns the writes of a note, oldest first, that Chrome may not have written. There may be no note.
func (n *stateNote) unwritten(chrome string) (all []pastWrite) {
	if n == nil {
		return nil
	}
	return notWritten(append(slices.Clone(n.Earlier), pastWrite{n.Write, n.Done}), chrome)
}

func notWritten(all []pastWrite, chrome string) []pastWrite {
	written := ownCookiesFile(chrome).modified
	return slices.DeleteFunc(all, func(w pastWrite) bool { return written.After(w.Done.Add(chromeFlushes)) })
}

// noteState keeps a note of a write. A profile without a key has none: it is temporary, and ends with its run.
func (k *stateKeeper) noteState(n stateNote) error {
	if len(k.key) == 0 {
		return nil
	}
	seal, err := cookieCipher(k.key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return writeDurably(stateFile(k.folder), seal.Seal(nil, nil, text, stateSealedFor(k.profile)))
}

func stateFile(profileDir string) string { return filepath.Join(profileDir, "state.sealed") }

func stateSealedFor(profileID string) []byte { return []byte("warren state " + profileID) }

func readStateNote(profileDir, profileID string, key []byte) (*stateNote, error) {
	sealed, err := os.ReadFile(stateFile(profileDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	seal, err := cookieCipher(key)
	if err != nil {
		return nil, err
	}
	text, err := seal.Open(nil, nil, sealed, stateSealedFor(profileID))
	n := &stateNote{}
	if err == nil {
		err = json.Unmarshal(text, n)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStateUnreadable, err)
	}
	return n, nil
}

// errStateUnreadable is the error for a note that another key sealed, or that is damaged.
var errStateUnreadable = errors.New("the note of a write cannot be opened")

// setAsideState puts a note aside that is of no use. Nothing reads it any more; the next one takes its place.
func setAsideState(profileDir string) error {
	return os.Rename(stateFile(profileDir), stateFile(profileDir)+".old")
}

// maxStateTries is how often a write is begun again that kills its browser.
const maxStateTries = 3

// chromeFlushes is when Chrome has written a change of the cookies at the latest: 30 seconds after it (net/extras/sqlite,
// sqlite_persistent_cookie_store.cc, kCommitInterval), and a second for the disk.
const chromeFlushes = 31 * time.Second

// PendingState reports whether a write was cut off that must be made again before the profile is used. The error says why it is not: its
// note cannot be read, or it was begun too often. A note that is of no use is set aside.
func PendingState(profileDir, profileID string, key []byte) (bool, error) {
	n, err := readStateNote(profileDir, profileID, key)
	switch {
	case errors.Is(err, errStateUnreadable):
		return false, errors.Join(err, setAsideState(profileDir))
	case err != nil || n == nil:
		return false, err
	case n.Tries >= maxStateTries:
		return false, errors.Join(errors.New("the browser has failed at each try"), setAsideState(profileDir))
	case !n.Done.IsZero() && len(n.unwritten(userDataDir(profileDir))) == 0:
		return false, ForgetState(profileDir) // Chrome has it, and may have newer values
	}
	return true, nil
}

// ForgetState removes the note of a write.
func ForgetState(profileDir string) error {
	if err := os.Remove(stateFile(profileDir)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// settle ends a run in order as far as the state goes. What Chrome has written is on the disk, and a whole write is not made again.
func (k *stateKeeper) settle() error {
	n, err := readStateNote(k.folder, k.profile, k.key)
	if err != nil || n == nil || n.Done.IsZero() {
		return err
	}
	if err := browser.SyncState(userDataDir(k.folder)); err != nil {
		return err
	}
	return ForgetState(k.folder)
}
