//go:build !windows

package service

import (
	"context"
	"os"
)

// Under runs the program. Only Windows has services that must answer their manager.
func Under(ctx context.Context, program func(context.Context) error) error { return program(ctx) }

func mayChangeSystem() bool { return os.Geteuid() == 0 }
