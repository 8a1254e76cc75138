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

// This file takes pictures and papers of a run's pages, for the server.

type (
	// Shot says what a screenshot is to be.
	Shot = browser.ScreenshotOptions
	// Paper says what a PDF is to be.
	Paper = browser.PDFOptions
	// PageError is why there is no picture of a page.
	PageError = browser.PageError
)

// pictureTime is how long a page may take to be drawn or printed.
const pictureTime = 20 * time.Second

// pictureWish is what the server asks for: one of the members.
type pictureWish struct {
	Shot  *Shot  `json:"shot,omitempty"`
	Paper *Paper `json:"paper,omitempty"`
	Small bool   `json:"small,omitempty"`
}

// pictureFault is a PageError on its way over the socket.
type pictureFault struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// servePicture answers the picture, or with 409 why there is none.
func (p *process) servePicture(w http.ResponseWriter, r *http.Request) {
	var wish pictureWish
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&wish); err != nil {
		http.Error(w, "not a wish for a picture", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pictureTime)
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
	fault := pictureFault{Kind: "refused", Message: err.Error()}
	if known, ok := errors.AsType[*PageError](err); ok {
		fault = pictureFault{known.Kind, known.Err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusConflict)
	json.NewEncoder(w).Encode(fault) //nolint:errcheck // the server may be gone
}

// Screenshot takes a picture of a page of the run. A *PageError says why there is none.
func (c *Client) Screenshot(ctx context.Context, s Shot) ([]byte, error) {
	return c.picture(ctx, pictureWish{Shot: &s})
}

// PDF prints a page of the run. A *PageError says why not.
func (c *Client) PDF(ctx context.Context, s Paper) ([]byte, error) {
	return c.picture(ctx, pictureWish{Paper: &s})
}

// SmallPicture is a small JPEG of the tab in front, some seconds old at most, for which the page was not disturbed. A *PageError says why there is none.
func (c *Client) SmallPicture(ctx context.Context) ([]byte, error) {
	return c.picture(ctx, pictureWish{Small: true})
}

func (c *Client) picture(ctx context.Context, wish pictureWish) ([]byte, error) {
	res, err := c.ask(ctx, http.MethodPost, "/picture", wish)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusConflict {
		var fault pictureFault
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
