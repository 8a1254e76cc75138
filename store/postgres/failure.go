package postgres

import (
	"database/sql"
	"errors"
	"sync"
)

// Failure is the first error of the statements of a transaction. After it PostgreSQL refuses all further ones, so that a function which
// passes over it has not done what it believes. Its methods are safe for concurrent use.
type Failure struct {
	mu  sync.Mutex
	err error
}

// Err returns the error; nil: no statement has failed.
func (f *Failure) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Forget is for what a ROLLBACK TO SAVEPOINT has undone.
func (f *Failure) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = nil
}

func (f *Failure) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// Watch makes the statements of a connection note their errors; nil ends that.
func Watch(conn *sql.Conn, f *Failure) error {
	return conn.Raw(func(c any) error {
		s, ok := c.(*session)
		if !ok {
			return errors.New("the connection is none of PostgreSQL")
		}
		s.failure = f
		return nil
	})
}
