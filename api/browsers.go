package api

import (
	"context"

	"warren/runs"
)

// Lists the installed browsers.

// ListedBrowser is a browser in the list.
type ListedBrowser struct {
	Path    string `json:"path" example:"/usr/lib/chromium/chromium"`
	Product string `json:"product" example:"Chromium"`
	Version string `json:"version" example:"156.0.8078.79"`
	Major   int    `json:"major" example:"156"`
	Source  string `json:"source" enum:"default,path,usual,added,folder,installed" doc:"default: it runs profiles that declare no version. Else where it was found: by name on PATH, in a usual place, added or installed with warren browser, below a folder of --browsers."`
}

func (ListedBrowser) example() any {
	return ListedBrowser{Path: "/usr/lib/chromium/chromium", Product: "Chromium", Version: "156.0.8078.79", Major: 156, Source: "default"}
}

// ListedBrowsers converts browsers to their JSON form.
func ListedBrowsers(all []runs.ListedBrowser) []ListedBrowser {
	out := make([]ListedBrowser, 0, len(all))
	for _, b := range all {
		out = append(out, ListedBrowser{b.Path, b.Product, b.Version, b.Major, string(b.Source)})
	}
	return out
}

// listBrowsers answers all browsers on one page: a machine has a handful. Without any the list is empty. A configured default that
// is missing is no error.
func (s *API) listBrowsers(ctx context.Context, _ *struct{}) (*listBody[ListedBrowser], error) {
	all, err := s.runs.Browsers(ctx)
	if err != nil {
		return nil, err
	}
	return &listBody[ListedBrowser]{wholeList(ListedBrowsers(all))}, nil
}
