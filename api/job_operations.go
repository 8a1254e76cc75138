package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/go-json-experiment/json"

	"warren/problem"
)

// The operations on jobs. A job is for the key that made it; to others it does not exist.

// JobJSON is a job as a list and events show it.
type JobJSON struct {
	ID        string     `json:"id" example:"0199a1c2-7d3e-7a10-8a55-0123456789ef"`
	Action    string     `json:"action" enum:"start,stop,restart,delete,restore,tag,untag,setProxy"`
	Status    string     `json:"status" enum:"running,done,cancelled" doc:"cancelled: by DELETE, or because its key ended. endedAt tells when the last profile that had begun ended."`
	Total     int        `json:"total" doc:"How many profiles it has. They are fixed when it begins." example:"1006"`
	Done      int        `json:"done" doc:"How many of them were handled, also those that failed." example:"1006"`
	Failed    int        `json:"failed" doc:"How many of these failed." example:"1"`
	CreatedAt time.Time  `json:"createdAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
	EndedAt   *time.Time `json:"endedAt,format:'2006-01-02T15:04:05.000Z07:00'" doc:"null: it goes on." example:"2026-11-21T14:06:09.000Z"`
}

const exampleJobID = "0199a1c2-7d3e-7a10-8a55-0123456789ef"

func (JobJSON) example() any {
	return JobJSON{ID: exampleJobID, Action: "tag", Status: jobDone, Total: 1006, Done: 1006, Failed: 1, CreatedAt: exampleTime(),
		EndedAt: new(exampleTime().Add(9 * time.Second))}
}

// jobWithFailures is a job as the operation on it shows it.
type jobWithFailures struct {
	JobJSON
	Failures     []jobFailureJSON `json:"failures" doc:"As they came, at most 1,000."`
	MoreFailures int              `json:"moreFailures" doc:"How many others failed. GET /jobs/{id}/results has the status of each."`
}

// jobFailureJSON is a profile that failed.
type jobFailureJSON struct {
	ID     string   `json:"id"`
	Name   string   `json:"name" doc:"Empty if there is no such profile."`
	Status int      `json:"status" doc:"The HTTP status that the single operation would have had." example:"422"`
	Error  *Problem `json:"error"`
}

func (jobWithFailures) example() any {
	p := newProblem(problem.Missing("profile"))
	return jobWithFailures{JobJSON{}.example().(JobJSON), []jobFailureJSON{{exampleProfileID, "", 404, p}}, 0}
}

// show returns the job as it is now.
func (j *job) show() JobJSON {
	j.mu.Lock()
	defer j.mu.Unlock()
	shown := JobJSON{ID: j.id, Action: j.action, Status: j.status, Total: len(j.ids), Done: j.done, Failed: j.failed,
		CreatedAt: j.created}
	if !j.ended.IsZero() {
		shown.EndedAt = new(j.ended)
	}
	return shown
}

// JobPath is the path parameter of operations on one job.
type JobPath struct {
	ID string `path:"id" doc:"The job's id."`
}

func (JobPath) problems() []*problem.Error { return []*problem.Error{noSuchJob()} }

type jobBody struct{ Body jobWithFailures }

func (s *API) getJob(ctx context.Context, in *struct{ JobPath }) (*jobBody, error) {
	j, err := s.jobs.find(callerOf(ctx).KeyID, in.ID)
	if err != nil {
		return nil, err
	}
	out := jobWithFailures{JobJSON: j.show(), Failures: []jobFailureJSON{}}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, f := range j.failures {
		out.Failures = append(out.Failures, jobFailureJSON{j.ids[f.place], f.name, f.err.Status, f.err})
	}
	out.MoreFailures = max(0, out.Failed-len(out.Failures))
	return &jobBody{out}, nil
}

// listJobs answers a page. A job to go on from that was forgotten meanwhile was older than all others: nothing follows it.
func (s *API) listJobs(ctx context.Context, in *struct{ Paging }) (*listBody[JobJSON], error) {
	all, err := s.jobsElsewhere(ctx)
	if err != nil {
		return nil, err
	}
	others := len(all)
	for _, j := range s.jobs.of(callerOf(ctx).KeyID) {
		all = append(all, j.show())
	}
	if others > 0 {
		newestFirst(all)
	}
	from := int(min(in.offset(), int64(len(all))))
	if in.After != "" {
		_, id, err := s.goOn(ctx, in.After, "job", func(string) (int64, error) { return 0, nil })
		if err != nil {
			return nil, err
		}
		if from = slices.IndexFunc(all, func(j JobJSON) bool { return j.ID == id }) + 1; from == 0 {
			from = len(all)
		}
	}
	page := pageOf(all[from:], int64(len(all)), in.Limit, func(j JobJSON) (int64, string) { return j.CreatedAt.UnixMilli(), j.ID })
	return answerList(page, in.Paging, func(j JobJSON) (JobJSON, error) { return j, nil })
}

func (s *API) cancelJob(ctx context.Context, in *struct{ JobPath }) (*struct{}, error) {
	j, err := s.jobs.find(callerOf(ctx).KeyID, in.ID)
	if err == nil {
		j.stop()
	}
	return nil, err
}

// jobResultJSON is a line of the results.
type jobResultJSON struct {
	ID     string   `json:"id"`
	Status int      `json:"status"`
	Error  *Problem `json:"error,omitempty"`
}

// linesBody is an answer of lines.
type linesBody struct {
	ContentType string `header:"Content-Type"`
	Total       int    `header:"X-Total-Count" doc:"How many lines there are."`
	Body        func(huma.Context)
}

// jobResults answers a line for each profile that was handled, in the job's order.
func (s *API) jobResults(ctx context.Context, in *struct{ JobPath }) (*linesBody, error) {
	j, err := s.jobs.find(callerOf(ctx).KeyID, in.ID)
	if err != nil {
		return nil, err
	}
	j.mu.Lock()
	results, total := slices.Clone(j.results), j.done
	reasons := make(map[int]*Problem, len(j.failures))
	for _, f := range j.failures {
		reasons[f.place] = f.err
	}
	j.mu.Unlock()
	return &linesBody{"application/x-ndjson", total, func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		var text []byte
		for i, status := range results {
			if status == 0 {
				continue
			}
			line, err := json.Marshal(jobResultJSON{j.ids[i], int(status), reasons[i]})
			if err != nil {
				panic(http.ErrAbortHandler) // a client must not take a part for the whole
			}
			if text = append(append(text, line...), '\n'); len(text) < 1<<15 && i < len(results)-1 {
				continue
			}
			if _, err := w.Write(text); err != nil {
				return
			}
			text = text[:0]
		}
		w.Write(text) //nolint:errcheck // the client may have disconnected
	}}, nil
}

// showJobs adds to the document what the types of the answers do not say.
func showJobs(o *huma.OpenAPI) {
	schema := o.Components.Schemas.Schema(reflect.TypeFor[JobJSON](), true, "")
	began := JobJSON{ID: exampleJobID, Action: "tag", Status: jobRuns, Total: 1006, CreatedAt: exampleTime()}
	o.Paths["/profiles/batch"].Post.Responses["202"] = &huma.Response{Description: "With `filter`: the job that goes on",
		Headers: map[string]*huma.Param{"Location": {Description: "The job.", Schema: &huma.Schema{Type: huma.TypeString}}},
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema, Example: plain(began)}}}
	line := *jsonText(jobResultJSON{ID: exampleProfileID, Status: http.StatusOK}) + "\n"
	o.Paths["/jobs/{id}/results"].Get.Responses["200"].Content = map[string]*huma.MediaType{"application/x-ndjson": {
		Schema: &huma.Schema{Type: huma.TypeString, Description: "A line for each profile: its id, the status of the single operation, " +
			"and the error of the first 1,000 that failed."}, Example: line}}
}
