package api

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"warren/shim"
)

// Tests concurrent changes of one profile.

// Tags that concurrent batches add to one profile are all stored, and none is refused: a conflict is retried.
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
			r := a.do(t, "POST", "/profiles/batch", map[string]any{"action": "tag", "ids": []string{id},
				"tags": []string{fmt.Sprint("tag ", i)}}).want(t, 200)
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

// If-Match is checked again at removal: a profile that changes while its browser closes is not deleted.
func TestDeleteLooksAgainAtIfMatch(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	for _, permanent := range []string{"", "?permanent=true"} {
		id := a.profile(t)
		tag := a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).header.Get("ETag")
		next, run := a.adopt(t, id, "default", "of "+id)
		a = next
		run.HoldStop()
		done := make(chan *answer)
		go func() {
			req := a.request(t, "DELETE", "/profiles/"+id+permanent, nil)
			req.Header.Set("If-Match", tag)
			done <- a.send(t, req)
		}()
		<-run.Stopping() // it has checked If-Match once, and waits for the browser
		a.do(t, "PUT", "/profiles/"+id, `{"notes":"changed meanwhile"}`).want(t, 200)
		run.End(shim.End{Outcome: shim.Stopped})
		(<-done).refused(t, http.StatusPreconditionFailed, "etag_mismatch")
		a.do(t, "GET", "/profiles/"+id, nil).want(t, 200).equal(t, "notes", "changed meanwhile")
	}
}
