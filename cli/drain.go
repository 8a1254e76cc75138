package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// The command for those who are about to stop a server: it drains the server and waits for its browsers.

// drainPoll is how often the command looks whether browsers still run.
const drainPoll = time.Second

// drainServer drains the server that answers until that restarts, and waits until no browser runs there.
func drainServer(s *session) error {
	if err := s.drainOwn(); err != nil {
		return err
	}
	if err := s.untilEmpty(s.duration("timeout")); err != nil {
		return err
	}
	return s.say("drained")
}

// untilEmpty waits until no browser runs on the server that answers.
func (s *session) untilEmpty(timeout time.Duration) error {
	stop := s.waiting("draining")
	defer stop()
	for until := time.Now().Add(timeout); ; {
		left, err := s.browsersLeft()
		switch {
		case err != nil:
			return fmt.Errorf("the server drains, and does not say whether browsers run: %w", err)
		case left == 0:
			return nil
		case !time.Now().Before(until):
			return fmt.Errorf("the server drains, and %d of its browsers still run; a stop of the server closes them in order", left)
		}
		select {
		case <-time.After(min(drainPoll, time.Until(until))):
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}

// drainOwn drains the server that answers.
func (s *session) drainOwn() error {
	var all struct {
		Data []struct {
			ID   string `json:"id"`
			Self bool   `json:"self"`
		} `json:"data"`
	}
	if err := s.call(http.MethodGet, "/nodes", nil, &all); err != nil {
		return err
	}
	for _, n := range all.Data {
		if n.Self {
			return s.call(http.MethodPost, "/nodes/"+url.PathEscape(n.ID)+"/drain?untilRestart=true", nil, nil)
		}
	}
	return errors.New("the server is not in its own list of servers: it was removed from the database")
}

// browsersLeft returns how many browsers run on the server that answers, are being launched, or wait for their launch.
func (s *session) browsersLeft() (n int, err error) {
	var p struct {
		Running  int `json:"running"`
		Starting int `json:"starting"`
		Queued   int `json:"queued"`
	}
	err = s.call(http.MethodGet, "/pressure", nil, &p)
	return p.Running + p.Starting + p.Queued, err
}
