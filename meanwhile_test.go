package main

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"warren/shim"
)

// This file proves what becomes of a change when another one comes in the middle of it.

// A profile that changes while its browser is being closed is not deleted over that: If-Match is looked at again when it is removed.
func TestDeleteLooksAgainAtIfMatch(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, permanent := range []string{"", "?permanent=true"} {
		id := a.profile(t)
		tag := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).header.Get("ETag")
		run := newRun(id, "default", "running")
		close(run.ready)
		if _, mine, err := a.srv.runs.claim(run); !mine || err != nil {
			t.Fatal(mine, err)
		}
		done := make(chan *answer)
		go func() {
			req := a.request(t, "DELETE", "/profiles/"+id+permanent, nil)
			req.Header.Set("If-Match", tag)
			done <- a.send(t, req)
		}()
		<-run.halt // it has looked once, and waits for the browser
		a.do(t, "PUT", "/profiles/"+id, `{"notes":"changed meanwhile"}`).want(t, 200)
		a.srv.runs.leave(run)
		(<-done).refused(t, http.StatusPreconditionFailed, "etag_mismatch")
		a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "notes", "changed meanwhile")
	}
}

// Tags that many add to one profile at the same time are all there, and nobody is refused: who was overtaken tries again.
func TestTagsAtTheSameTime(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	id := a.profile(t)
	const people = 40
	var begin, wg sync.WaitGroup
	begin.Add(1)
	for i := range people {
		wg.Go(func() {
			begin.Wait()
			r := a.do(t, "POST", "/profiles/batch", map[string]any{"action": "tag", "ids": []string{id}, "tags": []string{fmt.Sprint("tag ", i)}}).want(t, 200)
			if status := r.at("results.0.status"); status != 200.0 {
				t.Errorf("tag %d: %s", i, r)
			}
		})
	}
	begin.Done()
	wg.Wait()
	if tags := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).at("tags").([]any); len(tags) != people {
		t.Errorf("%d tags are there, of %d: %v", len(tags), people, tags)
	}
}

// A capability is over in the millisecond in which its time is.
func TestCapabilityExpires(t *testing.T) {
	t.Parallel()
	at := now()
	for _, c := range []struct {
		expires int64
		over    bool
	}{{0, false}, {1, true}, {at, true}, {at + time.Hour.Milliseconds(), false}} {
		if got := (&capability{Capability: shim.Capability{ExpiresAt: c.expires}}).expired(); got != c.over {
			t.Errorf("one that expires at %d is over %v at %d", c.expires, got, at)
		}
	}
}
