package api

import (
	"context"
	"errors"

	"warren/problem"
	"warren/runs"
)

// Takes screenshots and prints pages to PDF.

// screenshotRequest is a profile and the screenshot to take.
type screenshotRequest struct {
	ProfilePath
	Format   string `query:"format" enum:"png,jpeg,webp" doc:"Default: png."`
	Quality  int    `query:"quality" minimum:"0" maximum:"100" default:"80" doc:"For jpeg and webp."`
	FullPage bool   `query:"fullPage" doc:"The whole scrollable page, at most 16384 pixels in each direction. The page may notice a change of its size."`
	Tab      string `query:"tab" maxLength:"100" doc:"A tab's id, as json/list and the live view have it. Default: the tab in front."`
	Size     string `query:"size" enum:"small" doc:"small: a JPEG of at most 320 x 240 pixels, at most some seconds old. It does not disturb the page. Cannot be combined with other parameters."`
}

// picture is an answer that is not JSON.
type picture struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (screenshotRequest) problems() []*problem.Error { return pictureProblems() }

func (s *API) screenshot(ctx context.Context, in *screenshotRequest) (*picture, error) {
	if in.Size != "" && (in.Format != "" || in.FullPage || in.Tab != "") {
		return nil, problem.NotValid(problem.Fault{Location: "query.size", Message: "Give size alone, without other parameters."})
	}
	client, err := s.runningClient(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if in.Size != "" {
		data, err := client.SmallPicture(ctx)
		return &picture{"image/jpeg", data}, pictureProblem(err)
	}
	if in.Format == "" {
		in.Format = "png"
	}
	data, err := client.Screenshot(ctx, runs.Shot{Tab: in.Tab, Format: in.Format, Quality: in.Quality, FullPage: in.FullPage})
	return &picture{"image/" + in.Format, data}, pictureProblem(err)
}

// pdfRequest is a profile and the PDF to print.
type pdfRequest struct {
	ProfilePath
	Tab        string  `query:"tab" maxLength:"100" doc:"A tab's id, as json/list and the live view have it. Default: the tab in front."`
	Paper      string  `query:"paper" enum:"a3,a4,a5,letter,legal,tabloid" doc:"Default: from the page's style, else the browser's."`
	Landscape  bool    `query:"landscape" doc:"Landscape orientation."`
	Background bool    `query:"background" default:"true" doc:"Print backgrounds."`
	Scale      float64 `query:"scale" minimum:"0.1" maximum:"2" default:"1" doc:"Scale of the content."`
}

// paperSizes returns width and height in inches by name (ISO 216 at 25.4 mm per inch; ANSI).
func paperSizes() map[string][2]float64 {
	return map[string][2]float64{"a3": {11.69, 16.54}, "a4": {8.27, 11.69}, "a5": {5.83, 8.27}, "letter": {8.5, 11}, "legal": {8.5, 14},
		"tabloid": {11, 17}}
}

func (pdfRequest) problems() []*problem.Error { return pictureProblems() }

func (s *API) pdf(ctx context.Context, in *pdfRequest) (*picture, error) {
	client, err := s.runningClient(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	size := paperSizes()[in.Paper]
	data, err := client.PDF(ctx, runs.Paper{Tab: in.Tab, Landscape: in.Landscape, Background: in.Background, Width: size[0],
		Height: size[1], Scale: in.Scale})
	return &picture{"application/pdf", data}, pictureProblem(err)
}

// runningClient returns the process of a profile's run. The error is a 409 when it does not run.
func (s *API) runningClient(ctx context.Context, id string) (*runs.Process, error) {
	row, err := s.profileRow(ctx, id, false)
	if err != nil {
		return nil, err
	}
	return s.runs.Process(row.ID)
}

// pictureProblem maps the error of a picture to its problem. Where the run's process did not answer, it ends or hangs.
func pictureProblem(err error) error {
	var missing *runs.PageError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &missing):
		return noPicture("refused").Because(err)
	case missing.Kind == "too_large":
		return problem.NotValid(problem.Fault{Location: "query.fullPage",
			Message: "The page is too large for one picture. Take the visible part: leave fullPage out."})
	}
	return noPicture(missing.Kind).Because(err)
}

// pictureProblems returns the errors of every operation that takes a picture.
func pictureProblems() []*problem.Error {
	return []*problem.Error{runs.NotRunning(), noPicture("no_tab"), noPicture("no_page"), noPicture("not_answering"), noPicture("refused")}
}

// noPicture returns the problem for a kind of runs.PageError.
func noPicture(kind string) *problem.Error {
	switch kind {
	case "no_tab":
		return problem.New(problem.NotFound, "tab_not_found", "The browser has no tab of this id. json/list below cdpUrl lists its tabs.")
	case "no_page":
		return problem.New(problem.Conflict, "no_page", "The browser has no page open now. Open one, then ask again.")
	case "not_answering":
		return problem.New(problem.Timeout, "page_not_answering",
			"The page was not drawn in time: a dialog may be open, or its scripts keep it busy. The live view shows it.")
	}
	return problem.New(problem.Unavailable, "browser_failed",
		"The browser did not take the picture. The log says why; asking again may help.")
}
