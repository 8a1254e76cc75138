package main

import (
	"context"
	"errors"

	"warren/problem"
	"warren/shim"
)

// This file shows what a profile's pages look like: pictures and papers.

// ScreenshotQuery says what a screenshot is to be.
type ScreenshotQuery struct {
	Format   string `query:"format" enum:"png,jpeg,webp" doc:"Default: png."`
	Quality  int    `query:"quality" minimum:"0" maximum:"100" default:"80" doc:"Of jpeg and webp."`
	FullPage bool   `query:"fullPage" doc:"All that can be scrolled to, at most 16384 pixels long and wide. The page may notice it as a change of its size."`
	Tab      string `query:"tab" maxLength:"100" doc:"A tab's id, as json/list and the live view have it. Default: the tab in front."`
	Size     string `query:"size" enum:"small" doc:"small: a JPEG of at most 320 x 240 pixels, some seconds old at most, for which the page is not disturbed. Goes with no other parameter."`
}

// picture is an answer that is no JSON.
type picture struct {
	ContentType string `header:"Content-Type"`
	Body        []byte
}

func (s *server) screenshot(ctx context.Context, in *struct {
	ProfilePath
	ScreenshotQuery
}) (*picture, error) {
	if in.Size != "" && (in.Format != "" || in.FullPage || in.Tab != "") {
		return nil, problem.NotValid(problem.Fault{Location: "query.size", Message: "goes with no other parameter"})
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
	data, err := client.Screenshot(ctx, shim.Shot{Tab: in.Tab, Format: in.Format, Quality: in.Quality, FullPage: in.FullPage})
	return &picture{"image/" + in.Format, data}, pictureProblem(err)
}

// PDFQuery says what a PDF is to be.
type PDFQuery struct {
	Tab        string  `query:"tab" maxLength:"100" doc:"A tab's id, as json/list and the live view have it. Default: the tab in front."`
	Paper      string  `query:"paper" enum:"a3,a4,a5,letter,legal,tabloid" doc:"Default: what the page's style asks for, else the browser's."`
	Landscape  bool    `query:"landscape" doc:"Lay the paper on its long side."`
	Background bool    `query:"background" default:"true" doc:"Print backgrounds too."`
	Scale      float64 `query:"scale" minimum:"0.1" maximum:"2" default:"1" doc:"Of what is printed."`
}

// papers are sizes in inches (ISO 216 at 25.4 mm to the inch; ANSI).
func papers() map[string][2]float64 {
	return map[string][2]float64{"a3": {11.69, 16.54}, "a4": {8.27, 11.69}, "a5": {5.83, 8.27}, "letter": {8.5, 11}, "legal": {8.5, 14}, "tabloid": {11, 17}}
}

func (s *server) pdf(ctx context.Context, in *struct {
	ProfilePath
	PDFQuery
}) (*picture, error) {
	client, err := s.runningClient(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	size := papers()[in.Paper]
	data, err := client.PDF(ctx, shim.Paper{Tab: in.Tab, Landscape: in.Landscape, Background: in.Background, Width: size[0], Height: size[1], Scale: in.Scale})
	return &picture{"application/pdf", data}, pictureProblem(err)
}

// runningClient is the hold on a profile's run; 409 when there is none.
func (s *server) runningClient(ctx context.Context, id string) (*shim.Client, error) {
	row, err := s.profileRow(ctx, id, false)
	if err != nil {
		return nil, err
	}
	run := s.runs.of(row.ID)
	if run == nil {
		return nil, notRunning()
	}
	return run.process()
}

// pictureProblem puts the reason why there is no picture into the API's words.
func pictureProblem(err error) error {
	var missing *shim.PageError
	if err == nil || !errors.As(err, &missing) {
		return err
	}
	if missing.Kind == "too_large" {
		return problem.NotValid(problem.Fault{Location: "query.fullPage", Message: missing.Err.Error() + ": take the part that is seen"})
	}
	return noPicture(missing.Kind).Because(err)
}

// noPicture says why there is none, by the kind of a shim.PageError.
func noPicture(kind string) *problem.Error {
	switch kind {
	case "no_tab":
		return problem.New(problem.NotFound, "tab_not_found", "The browser has no tab of this id. json/list below cdpUrl lists those that there are.")
	case "no_page":
		return problem.New(problem.Conflict, "no_page", "The browser has no page open now. Open one, then ask again.")
	case "not_answering":
		return problem.New(problem.Timeout, "page_not_answering", "The page did not get drawn in time: a dialog may wait in it, or its scripts keep it busy. The live view shows it.")
	}
	return problem.New(problem.Unavailable, "browser_failed", "The browser did not take the picture. The log says why; asking again may help.")
}
