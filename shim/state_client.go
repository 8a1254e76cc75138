package shim

import (
	"context"
	"net/http"
)

// ReadState reads the state of the run's profile.
func (c *Client) ReadState(ctx context.Context, r StateRead) (out ProfileState, err error) {
	err = c.call(ctx, http.MethodPost, "/state/read", r, &out)
	return out, err
}

// WriteState changes the state of the run's profile. With an error the next opening of the profile may make the same write.
func (c *Client) WriteState(ctx context.Context, w StateWrite) (out StateWritten, err error) {
	err = c.call(ctx, http.MethodPost, "/state/write", w, &out)
	return out, err
}

// RedoState makes the write again that a kill has cut off.
func (c *Client) RedoState(ctx context.Context) (out StateWritten, err error) {
	err = c.call(ctx, http.MethodPost, "/state/redo", nil, &out)
	return out, err
}

// ClearState clears what Spec.Clear says.
func (c *Client) ClearState(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/state/clear", nil, nil)
}
