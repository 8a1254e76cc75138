package shim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"warren/browser"
)

// Takes screenshots and PDFs of a run's pages for the server.

type (
	// Shot describes a screenshot.
	Shot = browser.ScreenshotOptions
	// Paper describes a PDF.
	Paper = browser.PDFOptions
	// PageError is why there is no picture of a page.
	PageError = browser.PageError
)

// pictureTimeout bounds the drawing or printing of a page.
const pictureTimeout = 20 * time.Second

// pictureRequest is the server's request. One of its members is set.
type pictureRequest struct {
	Shot  *Shot  `json:"shot,omitempty"`
	Paper *Paper `json:"paper,omitempty"`
	Small bool   `json:"small,omitempty"`
}

// pictureError is a PageError as it is sent over the socket.
type pictureError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// servePicture answers with the picture, or with 409 and the reason why there is none.
func (p *process) servePicture(w http.ResponseWriter, r *http.Request) {
	var wish pictureRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&wish); err != nil {
		http.Error(w, "not a wish for a picture", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pictureTimeout)
	defer cancel()
	var data []byte
	var err error
	switch {
	case wish.Shot != nil:
		data, err = p.browser.Screenshot(ctx, *wish.Shot)
	case wish.Paper != nil:
		data, err = p.browser.PDF(ctx, *wish.Paper)
	default:
		data, err = p.view.Thumbnail(ctx)
	}
	if err == nil {
		w.Write(data) //nolint:errcheck // the server may be gone
		return
	}
	fault := pictureError{Kind: "refused", Message: err.Error()}
	if known, ok := errors.AsType[*PageError](err); ok {
		fault = pictureError{known.Kind, known.Err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusConflict)
	json.NewEncoder(w).Encode(fault) //nolint:errcheck // the server may be gone
}

// Screenshot takes a picture of a page of the run. A *PageError says why there is none.
func (c *Client) Screenshot(ctx context.Context, s Shot) ([]byte, error) {
	return c.picture(ctx, pictureRequest{Shot: &s})
}

// PDF prints a page of the run. A *PageError says why it cannot.
func (c *Client) PDF(ctx context.Context, s Paper) ([]byte, error) {
	return c.picture(ctx, pictureRequest{Paper: &s})
}

// SmallPicture returns a small JPEG of the tab in front, a few seconds old at most. It does not disturb the page. A
// *PageError says why there is none.
func (c *Client) SmallPicture(ctx context.Context) ([]byte, error) {
	return c.picture(ctx, pictureRequest{Small: true})
}

func (c *Client) picture(ctx context.Context, wish pictureRequest) ([]byte, error) {
	res, err := c.do(ctx, http.MethodPost, "/picture", wish)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusConflict {
		var fault pictureError
		if err := json.NewDecoder(res.Body).Decode(&fault); err != nil {
			return nil, err
		}
		return nil, &PageError{Kind: fault.Kind, Err: errors.New(fault.Message)}
	}
	if res.StatusCode != http.StatusOK {
		return nil, errors.New("the run's process answered " + res.Status)
	}
	return io.ReadAll(res.Body)
}
