package events

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func all(string, string) bool { return true }

// heard returns the types of the events that a subscription has received.
func heard(s *Subscription) (types []string) {
	for {
		select {
		case e, ok := <-s.C:
			if !ok {
				return append(types, "closed")
			}
			types = append(types, e.Type)
		default:
			return types
		}
	}
}

// TestBacklogIsBounded: the log keeps only the last events.
func TestBacklogIsBounded(t *testing.T) {
	t.Parallel()
	l := New()
	for range 3 * Backlog {
		l.Publish(Event{Type: "x"})
		if n := len(l.recent); n > Backlog {
			t.Fatalf("%d events are kept, want at most %d", n, Backlog)
		}
	}
}

// TestSlowSubscriber: a subscriber that reads nothing is disconnected, and the others receive everything.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	l := New()
	slow, quick := l.Subscribe(all, ""), l.Subscribe(all, "")
	n := 0
	for range Backlog + 1 {
		l.Publish(Event{Type: "x"})
		n += len(heard(quick))
	}
	if got := heard(slow); len(got) != Backlog+1 || got[Backlog] != "closed" {
		t.Errorf("the slow one heard %d, the last %q", len(got), got[len(got)-1])
	}
	if n != Backlog+1 || l.Subscribers() != 1 {
		t.Errorf("the quick one heard %d; %d listen", n, l.Subscribers())
	}
	quick.Close()
	l.Close()
	if got := heard(l.Subscribe(all, "")); !slices.Equal(got, []string{"closed"}) {
		t.Errorf("after the end one hears %v", got)
	}
}

// TestResumeEqualsAModel: a returning subscriber receives each event of its workspaces once and in order, or learns that
// it lost some.
func TestResumeEqualsAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := New()
		mine := func(w, _ string) bool { return w == "a" }
		s := l.Subscribe(mine, "")
		var model, got, known []string // expected, received, and what it can read again after a loss
		place := ""
		take := func() {
			for {
				select {
				case e := <-s.C:
					if place = e.Place; e.Type == Lost {
						got = known
						continue
					}
					got = append(got, e.Type)
				default:
					return
				}
			}
		}
		for i := range rapid.IntRange(1, 40).Draw(t, "steps") {
			for j := range rapid.SampledFrom([]int{1, 3, Backlog / 2}).Draw(t, "events") {
				w, kind := rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "workspace"), fmt.Sprint(i, ".", j)
				if l.Publish(Event{Type: kind, Workspace: w}); w == "a" {
					model = append(model, kind)
				}
			}
			if rapid.Bool().Draw(t, "listens") {
				take()
				continue
			}
			take()
			s.Close()
			for j := range rapid.SampledFrom([]int{0, 2, 2 * Backlog}).Draw(t, "missed") {
				kind := fmt.Sprint(i, ".missed.", j)
				l.Publish(Event{Type: kind, Workspace: "a"})
				model = append(model, kind)
			}
			known = slices.Clone(model)
			if s = l.Subscribe(mine, place); place == "" {
				got = slices.Clone(model)
			}
		}
		take()
		if !slices.Equal(got, model) {
			t.Fatalf("heard %d, want %d", len(got), len(model))
		}
	})
}

// TestTextIsOfTheEvent: an event is written when it is read, and tells when it happened.
func TestTextIsOfTheEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New()
		s := l.Subscribe(all, "")
		at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		l.Publish(Event{Type: "x", Workspace: "w", Data: map[string]int{"n": 1}})
		e := <-s.C
		time.Sleep(time.Hour) // of the bubble's clock
		want := fmt.Sprintf(`{"id":%q,"type":"x","at":%q,"workspaceId":"w","data":{"n":1}}`, e.Place, at)
		if first, again := string(e.Text()), string(e.Text()); first != want || again != want {
			t.Errorf("the event is %s, then %s, want %s", first, again, want)
		}
	})
}
