package packs

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// ErrNone says that there is no object of this name.
var ErrNone = errors.New("there is no such object")

// ErrDamaged says that an object is not what was written: its bytes, its seal or what it says of itself is wrong.
var ErrDamaged = errors.New("the object is damaged")

// Object is an object in a list.
type Object struct {
	Name string
	Size int64 // bytes
}

// Blobs holds immutable objects. Names are lower-case words, digits and dashes, in folders that slashes divide.
type Blobs interface {
	// Put keeps size bytes of body under a name. When it returns they are on the disk. If the name is there already, nothing
	// changes, and that is no error. What is half written is not seen.
	Put(ctx context.Context, name string, size int64, body io.Reader) error
	// Get reads length bytes from at on; a length of -1 reads to the end. The error is ErrNone if there is no such object.
	Get(ctx context.Context, name string, at, length int64) (io.ReadCloser, error)
	// Delete removes an object. One that is not there is no error. If it is a Syncer too, a power cut may bring it back.
	Delete(ctx context.Context, name string) error
	// List goes through the objects whose names begin so, in no order. It is slow: for checks and collection.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
}

// Sweeper is Blobs in which a writer that was killed leaves something.
type Sweeper interface {
	// Sweep removes what was not finished and has not been written to for this long. It returns how much it removed. A writer
	// that is slower than that gets an error, and its object is not there.
	Sweep(ctx context.Context, age time.Duration) (removed int, err error)
}

// Syncer is Blobs that do not wait for the disk when they delete.
type Syncer interface {
	// Sync waits until the disk knows which objects are gone from the folder of a prefix, such as backups/. It knows nothing of
	// the folders in that one.
	Sync(ctx context.Context, prefix string) error
}
