package main

import (
	"context"
)

// The operation that explains what a profile's pages see.

func (s *server) explainProfile(ctx context.Context, in *struct{ ProfilePath }) (*struct{ Body explanation }, error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	out, err := s.runs.explain(ctx, callerOf(ctx).Sees, row)
	if err != nil {
		return nil, err
	}
	return &struct{ Body explanation }{*out}, nil
}
