package shim

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"syscall"
	"time"
)

// This file is how a server knows that a run is over. A line that breaks says nothing: a server that is short of descriptors, or an answer
// that cannot be read, is no end. A run is over when its shim says so, and when its shim is proved to be gone.

// The pauses between two tries of a line that broke.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// watch keeps the line open. When it breaks it is opened again, for as long as the shim may live.
func (c *Client) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	if c.cmd != nil {
		go func() {
			c.cmd.Wait() //nolint:errcheck // the end says it all
			close(c.exited)
		}()
	}
	go func() {
		defer cancel()
		e, over := c.await(ctx)
		if !over {
			return // this server lets go; the run goes on
		}
		switch {
		case c.cmd != nil:
			<-c.exited
		case e.Outcome != "":
			awaitUnlocked(ctx, c.profileDir)
		}
		if e.Outcome == "" {
			e = Remains(c.dir, c.name, c.profileDir)
		}
		c.end = e
		close(c.done)
	}()
}

// await follows the run to its end. over is false when ctx ended before. An end without an outcome is that of a shim which is gone.
func (c *Client) await(ctx context.Context) (e End, over bool) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		began := time.Now()
		e, err := c.follow(ctx)
		switch {
		case err == nil && e.Outcome != "":
			return e, true
		case ctx.Err() != nil:
			return End{}, false
		case c.cmd == nil && gone(c.reach(ctx), c.profileDir):
			return End{}, true
		}
		if time.Since(began) > longestPause { // it was open for a while
			pause = firstPause
		}
		wait := time.NewTimer(pause)
		select {
		case <-c.exited:
			wait.Stop()
			return End{}, true
		case <-ctx.Done():
			wait.Stop()
			return End{}, false
		case <-wait.C:
		}
	}
}

// reach connects to the shim's socket and says what came of it.
func (c *Client) reach(ctx context.Context) error {
	conn, err := c.dial(ctx)
	if err == nil {
		conn.Close()
	}
	return err
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", socketPath(c.dir, c.name))
}

// Gone says whether the shim of a run is gone, after Adopt has failed with err. Of a run whose profile nobody knows (profileDir is empty) the
// socket alone tells.
func Gone(err error, profileDir string) bool { return gone(err, profileDir) }

// gone takes what a connection to the shim's socket came to. Nobody listens on it any more, and nobody holds the profile: anything else may
// be a fault of this process' own, as the want of descriptors is.
func gone(err error, profileDir string) bool {
	return isUnheard(err) && isUnlocked(profileDir)
}

// wsaRefused is what Windows says of a socket that nobody listens on; no other system has this number.
const wsaRefused = syscall.Errno(10061)

func isUnheard(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, wsaRefused)
}

// isUnlocked says whether nobody holds a profile. Of a folder that is not there nobody does.
func isUnlocked(profileDir string) bool {
	if profileDir == "" {
		return true
	}
	lock := profileLock(profileDir)
	ok, err := lock.TryLock()
	if ok {
		err = lock.Unlock()
	}
	return ok && err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// awaitUnlocked returns when the shim of a profile has let go of it, which is the last thing that it does: it tells the end before that, and a
// start that came in between would find the profile in use. One that is killed lets go too; one that hangs is not waited for beyond its slack.
func awaitUnlocked(ctx context.Context, profileDir string) {
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	lock := profileLock(profileDir)
	if ok, _ := lock.TryLockContext(ctx, 10*time.Millisecond); ok { // on an error, the start says what is wrong
		lock.Unlock() //nolint:errcheck // the file is closed either way
	}
}

// follow reads the line to its end.
func (c *Client) follow(ctx context.Context) (End, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://shim/watch", nil)
	if err != nil {
		return End{}, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return End{}, err
	}
	defer res.Body.Close()
	for in := json.NewDecoder(res.Body); ; {
		var line watchLine
		if err := in.Decode(&line); err != nil || line.Notice == nil {
			return line.End, err
		}
		select {
		case c.notices <- *line.Notice:
		default: // nobody takes them: the end must come through
		}
	}
}
