package service

import (
	"context"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
)

// Under runs the program. As a service it answers the service manager, whose stop ends ctx, and what it writes goes to server.log in the
// service's folder, since nobody reads its standard streams.
func Under(ctx context.Context, program func(context.Context) error) error {
	if is, err := svc.IsWindowsService(); err != nil || !is {
		return program(ctx)
	}
	path := filepath.Join(os.Getenv("ProgramData"), "warren", "server.log")
	if log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
		os.Stdout, os.Stderr = log, log
	}
	h := &handler{ctx: ctx, program: program}
	if err := svc.Run("warren", h); err != nil {
		return err
	}
	return h.err
}

// handler is svc.Handler over a program.
type handler struct {
	ctx     context.Context
	program func(context.Context) error
	err     error
}

// Execute is svc.Handler's. It answers until the program has ended.
func (h *handler) Execute(_ []string, asked <-chan svc.ChangeRequest, says chan<- svc.Status) (specific bool, code uint32) {
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- h.program(ctx) }()
	now := svc.Status{State: svc.Running, Accepts: svc.AcceptStop | svc.AcceptShutdown}
	says <- now
	for {
		select {
		case h.err = <-ended:
			if h.err != nil {
				return true, 1
			}
			return false, 0
		case request := <-asked:
			if request.Cmd == svc.Stop || request.Cmd == svc.Shutdown {
				now = svc.Status{State: svc.StopPending, WaitHint: 60_000}
				cancel()
			}
			says <- now
		}
	}
}

func mayChangeSystem() bool { return windows.GetCurrentProcessToken().IsElevated() }
