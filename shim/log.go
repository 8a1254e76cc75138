package shim

import (
	"context"
	"io"
	"os"
)

// maxLog bounds what is read of the end of a run's log.
const maxLog = 256 << 10

// LogTail returns the end of the log of a run's process: JSON lines of log/slog, and what a panic wrote. The first line may be cut. It is
// empty once the run's end is recorded.
func LogTail(runDir, name string) ([]byte, error) {
	f, err := os.Open(logPath(runDir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(info.Size(), maxLog))
	n, err := f.ReadAt(text, info.Size()-int64(len(text)))
	if err == io.EOF {
		err = nil
	}
	return text[:n], err
}

// Output asks the shim for the last lines that its browser has printed, at most 20 and 4 KiB.
func (c *Client) Output(ctx context.Context) ([]string, error) {
	return ask[[]string](ctx, c, "/output")
}
