// Package logs opens the log of the server: its level, its format and its file.
package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
)

// Options say what a log holds and where it goes.
type Options struct {
	Level    string    // debug, info, warn or error; "" is info
	Format   string    // text or json; auto and "": text on a terminal without a file, else JSON
	File     string    // the path of a regular file, which lines are appended to; "": they go to Stderr
	Stderr   io.Writer // takes the lines while the file cannot be written
	Terminal bool      // whether Stderr is a terminal
}

// Open returns a log and its output. No line stops the server, whatever becomes of standard error. A file that cannot be opened is no
// error: the lines go to Stderr, which says so once.
func Open(o Options) (*slog.Logger, *Output) {
	out := &Output{path: o.File, stderr: &steady{to: o.Stderr, patient: patience}}
	out.Reopen()
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if o.Format == "text" || o.Format != "json" && o.Terminal && o.File == "" {
		return slog.New(slog.NewTextHandler(out, options)), out
	}
	return slog.New(slog.NewJSONHandler(out, options)), out
}

// Output takes the lines of a log. It writes them to its file, or to standard error without one.
type Output struct {
	path   string
	stderr *steady

	mu   sync.Mutex
	file *os.File // nil: there is none, or it could not be opened
	said bool     // standard error knows that the file cannot be written
}

// Reopen closes the file and opens its path anew, as rotation asks for (logrotate(8)). Without a file it does nothing.
func (o *Output) Reopen() {
	if o.path == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	old := o.file
	var err error
	if o.file, err = openFile(o.path); err != nil {
		o.file = nil
	}
	if o.said = false; err != nil {
		o.complain(err)
	}
	if old != nil {
		old.Close() //nolint:errcheck // each line was written by a call of its own
	}
}

// openFile opens a file for appending, which only its owner may read. What is no regular file is refused: a pipe without a
// reader would hold the server up.
func openFile(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New(path + " is no regular file")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// complain says once on standard error that the file cannot be written. The mutex is held.
func (o *Output) complain(err error) {
	if o.said {
		return
	}
	o.said = true
	fmt.Fprintf(o.stderr, "warren: --log-file cannot be written, so the log goes to standard error: %v; SIGHUP opens it anew\n", err)
}

// Write writes one line. It goes to standard error if the file does not take it.
func (o *Output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil {
		n, err := o.file.Write(line)
		if err == nil {
			return n, nil
		}
		o.complain(err)
	}
	return o.stderr.Write(line)
}

// Close closes the file. Later lines go to standard error.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return nil
	}
	err := o.file.Close()
	o.file = nil
	return err
}
