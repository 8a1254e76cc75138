package cli

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// rooted calls an operation whose address has no prefix.
func rooted(s *session) error {
	_, method, address := s.cmd.operation()
	answer, err := s.client.read(s.ctx, request{method: method, path: address, root: true})
	if err != nil {
		return err
	}
	if s.cmd.shape == raw {
		_, err = s.out.Write(append(answer, '\n'))
		return err
	}
	return s.printObject(answer)
}

// leakTest tries every way out, and with --fail fails if something leaks.
func leakTest(s *session) error {
	paths, err := s.paths()
	if err != nil {
		return err
	}
	return s.forEach(paths, s.leakTestOf)
}

func (s *session) leakTestOf(ctx context.Context, path string) (jsontext.Value, error) {
	in, err := s.body()
	if err != nil {
		return nil, err
	}
	answer, err := s.client.read(ctx, request{method: http.MethodPost, path: path, kind: "application/json", body: bytes.NewReader(in)})
	if err != nil || !s.yes("fail") {
		return answer, err
	}
	var out struct {
		Passed bool `json:"passed"`
	}
	if err := json.Unmarshal(answer, &out); err == nil && !out.Passed {
		err = errors.Join(s.printObject(answer), errors.New("something leaks"))
		return nil, err
	}
	return answer, nil
}

// showRun shows a run of the list of runs.
func showRun(s *session) error {
	id, err := s.single("run", s.arg("run"), "")
	if err != nil {
		return err
	}
	var shown jsontext.Value
	err = s.client.each(s.ctx, "/runs", nil, func(row jsontext.Value) (bool, error) {
		v, err := decode(row)
		if member(v, "runId") == id {
			shown = row
		}
		return shown == nil, err
	})
	if err == nil && shown == nil {
		err = errors.New("no profile runs with this id; warren profile runs has the runs that have ended (run_not_found)")
	}
	if err != nil {
		return err
	}
	return s.printObject(shown)
}
