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

// Detects the end of a run. A broken connection proves nothing, and neither does an error such as too many open
// files. A run is over when its shim reports it, or when its shim is proved to be gone.

// The backoff between two attempts to reconnect.
const (
	minBackoff = 10 * time.Millisecond
	maxBackoff = time.Second
)

// watch keeps a connection to the shim open. It reconnects for as long as the shim may be alive.
func (c *Client) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		defer cancel()
		e, over := c.awaitEnd(ctx)
		if !over {
			return // Release was called; the run continues
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

// awaitEnd follows the run to its end. over is false if ctx ended first. An End without an outcome means that the
// shim is gone.
func (c *Client) awaitEnd(ctx context.Context) (e End, over bool) {
	for pause := minBackoff; ; pause = min(2*pause, maxBackoff) {
		began := time.Now()
		e, err := c.readWatch(ctx)
		switch {
		case err == nil && e.Outcome != "":
			return e, true
		case ctx.Err() != nil:
			return End{}, false
		case c.cmd == nil && Gone(c.probe(ctx), c.profileDir):
			return End{}, true
		}
		if time.Since(began) > maxBackoff { // the connection had been open for a while
			pause = minBackoff
		}
		select {
		case <-c.exited:
			return End{}, true
		case <-ctx.Done():
			return End{}, false
		case <-time.After(pause):
		}
	}
}

// probe connects to the shim's socket and returns the error.
func (c *Client) probe(ctx context.Context) error {
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

// Gone reports whether the shim of a run is gone, after Adopt has failed with err: nothing listens on the socket, and
// nothing holds the profile. With an unknown profile (profileDir is empty) the socket alone decides. Any other error may
// be this process's own, such as too many open files.
func Gone(err error, profileDir string) bool { return isNotListening(err) && isUnlocked(profileDir) }

// wsaRefused is WSAECONNREFUSED, which Windows returns for a socket without a listener. No other system has this
// number.
const wsaRefused = syscall.Errno(10061)

func isNotListening(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, wsaRefused)
}

// isUnlocked reports whether no process holds a profile. A missing folder is not held.
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

// awaitUnlocked returns when the shim has released its profile. The shim does that last, after it has sent the end,
// and a start in between would find the profile in use. A killed shim releases it too. A hanging one is awaited for
// slack at most. An unknown profile is not awaited.
func awaitUnlocked(ctx context.Context, profileDir string) {
	if profileDir == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, slack)
	defer cancel()
	lock := profileLock(profileDir)
	if ok, _ := lock.TryLockContext(ctx, 10*time.Millisecond); ok { // on an error, the next start reports it
		lock.Unlock() //nolint:errcheck // the file is closed either way
	}
}

// readWatch reads a watch connection to its end.
func (c *Client) readWatch(ctx context.Context) (End, error) {
	res, err := c.do(ctx, http.MethodGet, "/watch", nil)
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
		default: // nothing receives them, and the end must come through
		}
	}
}
