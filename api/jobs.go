package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"warren/problem"
	"warren/store"
)

// Holds jobs: actions on many profiles that go on after their request was answered. They live in memory. The end of the
// server ends them, and a later server does not know them.

const (
	// maxJobProfiles is how many profiles a job has at most.
	maxJobProfiles = 100_000
	// maxJobs is how many jobs are kept, and maxJobResults how many profiles they have altogether: each takes 18 bytes, and 40
	// more once the profile is gone.
	maxJobs       = 100
	maxJobResults = 1_000_000
	// maxJobsOfKey is how many jobs of one key run at a time.
	maxJobsOfKey = 8
	// maxJobFailures is how many failures of a job are kept with their reasons.
	maxJobFailures = 1000
	// jobStep is the time between two events of a job.
	jobStep = 250 * time.Millisecond
)

// job is one action on some profiles, which are fixed when it begins.
type job struct {
	id, action string
	keyID      string // whose it is
	workspace  string // of all profiles; "": they are of several
	created    time.Time
	ids        []string
	cancel     context.CancelFunc
	finished   chan struct{} // closed at its end

	mu        sync.Mutex
	status    string
	ended     time.Time
	done      int            // profiles that were handled, also those that failed
	failed    int            // of these
	results   []uint16       // the HTTP status of each profile; 0: it was not handled
	failures  []jobFailure   // the first maxJobFailures, as they came
	changed   map[string]int // changes that no event has told of, by workspace
	published int            // done as the last event has it
}

// The states of a job.
const (
	jobRuns      = "running"
	jobDone      = "done"
	jobCancelled = "cancelled"
)

// jobFailure is a profile that failed.
type jobFailure struct {
	place int // among ids
	name  string
	err   *Problem
}

func newJob(by *caller, action string, profiles []store.ProfileID) *job {
	j := &job{id: store.NewID(), action: action, keyID: by.KeyID, created: time.Now().UTC().Truncate(time.Millisecond),
		ids: make([]string, len(profiles)), finished: make(chan struct{}), status: jobRuns, results: make([]uint16, len(profiles)),
		changed: map[string]int{}}
	for i, p := range profiles {
		j.ids[i] = p.ID
		if i == 0 || j.workspace == p.Workspace {
			j.workspace = p.Workspace
			continue
		}
		j.workspace = ""
	}
	return j
}

// record keeps the result of a profile.
func (j *job) record(place int, result batchResultJSON, name string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.done++
	j.results[place] = uint16(result.Status) //nolint:gosec // three digits
	if result.Error == nil {
		return
	}
	j.failed++
	if len(j.failures) < maxJobFailures {
		j.failures = append(j.failures, jobFailure{place, name, result.Error})
	}
}

// countChange counts a change of a profile. An event for each of many would push all others out of the log, and end the streams
// of slow readers.
func (j *job) countChange(workspace string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changed[workspace]++
}

// stop makes the job begin with no further profile. What has begun ends.
func (j *job) stop() {
	j.mu.Lock()
	if j.status == jobRuns {
		j.status = jobCancelled
	}
	j.mu.Unlock()
	j.cancel()
}

// end is called once, when nothing of the job goes on.
func (j *job) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.status != jobRuns:
	case j.done < len(j.ids): // its key or the server has ended
		j.status = jobCancelled
	default:
		j.status = jobDone
	}
	j.ended = time.Now().UTC().Truncate(time.Millisecond)
	close(j.finished)
}

func (j *job) hasEnded() bool {
	select {
	case <-j.finished:
		return true
	default:
		return false
	}
}

// failedIDs returns the profiles that failed, and whether the job has ended.
func (j *job) failedIDs() (failed map[string]bool, ended bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	failed = make(map[string]bool, j.failed)
	for i, status := range j.results {
		if status >= 400 {
			failed[j.ids[i]] = true
		}
	}
	return failed, !j.ended.IsZero()
}

// jobs are those that run, and the last ones that have ended.
type jobs struct {
	most int // profiles of one

	mu     sync.Mutex
	all    []*job // oldest first
	closed bool
	group  sync.WaitGroup // of those that run
}

// noSuchJob is also the error for jobs of other keys.
func noSuchJob() *problem.Error {
	return problem.New(problem.NotFound, "job_not_found", "This key has no such job. Jobs live in the server's memory: its end or "+
		"restart ends and forgets them. Of those that have ended the last 100 are kept.")
}

func tooManyJobs() *problem.Error {
	return problem.New(problem.TooMany, "too_many_jobs", "Too many jobs are running. Wait for one to end, or cancel one.").
		After(5 * time.Second)
}

// find returns a job of a key.
func (k *jobs) find(keyID, id string) (*job, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, j := range k.all {
		if j.id == id && j.keyID == keyID {
			return j, nil
		}
	}
	return nil, noSuchJob()
}

// of returns the jobs of a key, newest first.
func (k *jobs) of(keyID string) (own []*job) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, j := range slices.Backward(k.all) {
		if j.keyID == keyID {
			own = append(own, j)
		}
	}
	return own
}

// add takes a job that is about to run, and forgets old ones for it. done must be called when it has ended.
func (k *jobs) add(j *job) (done func(), err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, problem.New(problem.Unavailable, "server_stopping", "The server is stopping. Ask again when it is back.")
	}
	running := 0
	for _, other := range k.all {
		if other.keyID == j.keyID && !other.hasEnded() {
			running++
		}
	}
	if running >= maxJobsOfKey {
		return nil, tooManyJobs()
	}
	for !k.fits(j) {
		if !k.forget() {
			return nil, tooManyJobs()
		}
	}
	k.all = append(k.all, j)
	k.group.Add(1)
	return k.group.Done, nil
}

func (k *jobs) fits(j *job) bool {
	results := len(j.ids)
	for _, other := range k.all {
		results += len(other.ids)
	}
	return len(k.all) < maxJobs && (results <= maxJobResults || len(k.all) == 0)
}

// forget drops the oldest ended job of the key that has the most of them, so that no key drops those of another. It reports
// whether there was one.
func (k *jobs) forget() bool {
	ended, oldest := map[string]int{}, -1
	for _, j := range k.all {
		if j.hasEnded() {
			ended[j.keyID]++
		}
	}
	for i, j := range k.all {
		if j.hasEnded() && (oldest < 0 || ended[j.keyID] > ended[k.all[oldest].keyID]) {
			oldest = i
		}
	}
	if oldest >= 0 {
		k.all = slices.Delete(k.all, oldest, oldest+1)
	}
	return oldest >= 0
}

// close stops all jobs, takes no more, and waits until what has begun has ended, at most until ctx ends.
func (k *jobs) close(ctx context.Context) {
	k.mu.Lock()
	k.closed = true
	for _, j := range k.all {
		j.stop()
	}
	k.mu.Unlock()
	all := make(chan struct{})
	go func() {
		k.group.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-ctx.Done():
	}
}
