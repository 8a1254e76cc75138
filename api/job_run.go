package api

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"warren/events"
	"warren/store"
)

// Runs jobs.

// jobAtOnce is how many profiles of a job are handled at a time. Writes of others wait for so many.
const jobAtOnce = 32

// startJob finds the profiles of a filter, begins a job over them and answers it.
func (s *API) startJob(ctx context.Context, in *batchInput) (*batchBody, error) {
	by := callerOf(ctx)
	found, err := s.find(ctx, by, in.Filter)
	if err != nil {
		return nil, err
	}
	var dealt []string
	release := func() {}
	if in.Proxies.given() {
		if dealt, release, err = s.deals.deal(ctx, by, &in.Proxies.Value, found); err != nil {
			return nil, err
		}
	}
	j := newJob(by, in.Action, found)
	if at := s.nodes.Owner(); at != "" {
		j.id = at + "." + j.id // so that other servers know whom to ask
	}
	// What the job does is by the request: with its key, its id and the address that its client uses.
	req := requestOf(ctx)
	work := context.WithValue(context.Background(), requestKey{},
		&request{id: req.id, base: req.base, remote: req.remote, caller: by, api: s, changed: j.countChange,
			authorization: req.authorization, unusedProxy: in.Proxies.Value.Each})
	going, end := s.keyContexts.add(work, by)
	going, j.cancel = context.WithCancel(going)
	done, err := s.jobs.add(j)
	if err != nil {
		j.cancel()
		end()
		release()
		return nil, err
	}
	if err := s.keys.confirm(ctx, by); err != nil { // it may have been revoked before it was registered
		j.stop()
	}
	began := j.show()
	s.tellOfJob("job.created", j, began)
	nothingToRecord(ctx) // the job does, before its first profile
	go func() {
		defer done()
		if err := s.recordBatch(work, j.workspace, in, j.ids); err != nil {
			s.log.Error("a job is cancelled, since it cannot be recorded", "request", req.id, "cause", err)
			j.stop()
		}
		s.runJob(going, work, j, in, dealt)
		end()
		release()
	}()
	return &batchBody{Status: http.StatusAccepted, Location: Prefix + "/jobs/" + j.id, Body: batchAnswer{job: &began}}, nil
}

// runJob does the action to the profiles until there are no more, or going ends. What has begun ends in any case: it has the
// context work.
func (s *API) runJob(going, work context.Context, j *job, in *batchInput, dealt []string) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(jobAtOnce, len(j.ids)) {
		workers.Go(func() {
			for going.Err() == nil && !callerOf(work).Expired() { // the timer of the key does not run while the machine sleeps
				place := int(next.Add(1)) - 1
				if place >= len(j.ids) {
					return
				}
				result := s.batchOne(work, j.ids[place], in.with(dealt, place))
				j.record(place, result, s.nameOfFailed(work, result))
			}
		})
	}
	all := make(chan struct{})
	go func() {
		workers.Wait()
		close(all)
	}()
	for tick := time.NewTicker(jobStep); ; {
		select {
		case <-tick.C:
			s.tellOfProgress(j)
			continue
		case <-all:
		}
		tick.Stop()
		break
	}
	j.end()
	s.tellOfChanges(j)
	s.tellOfJob("job.ended", j, j.show())
	j.cancel()
}

// nameOfFailed is the name of a profile that failed, also in the trash; "": there is none that the key sees.
func (s *API) nameOfFailed(ctx context.Context, result batchResultJSON) string {
	if result.Error == nil {
		return ""
	}
	row, err := s.store.Read().GetProfileAny(ctx, store.GetProfileAnyParams{ID: result.ID, Workspaces: callerOf(ctx).Sees.Filter()})
	if err != nil {
		return ""
	}
	return row.Name
}

// profilesChanged is what the event profile.batch_changed says.
type profilesChanged struct {
	Action string `json:"action"`
	Count  int    `json:"count"`
}

// tellOfChanges tells those who see the profiles how many have changed since the last event.
func (s *API) tellOfChanges(j *job) {
	j.mu.Lock()
	changed := j.changed
	j.changed = map[string]int{}
	j.mu.Unlock()
	for workspace, count := range changed {
		s.events.Publish(events.Event{Type: "profile.batch_changed", Workspace: workspace, Data: profilesChanged{j.action, count}})
	}
}

// tellOfProgress tells of what has happened since the last event.
func (s *API) tellOfProgress(j *job) {
	s.tellOfChanges(j)
	shown := j.show()
	j.mu.Lock()
	news := shown.Done > j.published
	j.published = shown.Done
	j.mu.Unlock()
	if news {
		s.tellOfJob("job.progress", j, shown)
	}
}

// tellOfJob publishes an event of a job, for its key alone.
func (s *API) tellOfJob(kind string, j *job, shown JobJSON) {
	s.events.Publish(events.Event{Type: kind, Workspace: j.workspace, Key: j.keyID, Data: shown})
}
