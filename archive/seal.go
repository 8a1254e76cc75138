package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
)

const (
	// workFactor is the work of a passphrase: scrypt with N = 2^17, r = 8, p = 1, which takes 128 MiB and half a second of a
	// processor. (OWASP, Password Storage Cheat Sheet)
	workFactor = 17
	// maxWorkFactor is the most work that is done for an archive: what age itself asks for, 256 MiB and a second.
	maxWorkFactor = 18
	// intro begins an age file.
	intro = "age-encryption.org/v1\n"
)

// Turns limits how many keys are derived from passphrases at a time, each of which takes up to 256 MiB: as many as it has room
// for. nil is no limit.
type Turns chan struct{}

// take waits for a turn.
func (t Turns) take(ctx context.Context) (release func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t <- struct{}{}:
		return func() { <-t }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// CheckRecipients says why an archive cannot be sealed for these recipients of age. It repeats none of them.
func CheckRecipients(recipients []string) error {
	_, err := Options{Recipients: recipients}.seal(context.Background(), io.Discard)
	return err
}

// seal returns what seals what is written to it. It must be closed.
func (o Options) seal(ctx context.Context, w io.Writer) (io.WriteCloser, error) {
	ways := 0
	for _, given := range []bool{o.Passphrase != "", len(o.Recipients) > 0, o.Unsealed} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		return nil, fmt.Errorf("%w: give a passphrase, or recipients, or say that it is to be unsealed; one of the three", ErrSeal)
	}
	if o.Unsealed {
		return unsealed{w}, nil
	}
	to, err := o.recipients()
	if err != nil {
		return nil, err
	}
	if o.Passphrase != "" {
		release, err := o.Turns.take(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	sealed, err := age.Encrypt(w, to...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSeal, err)
	}
	return sealed, nil
}

// unsealed writes what it is given as it is.
type unsealed struct{ io.Writer }

func (unsealed) Close() error { return nil }

func (o Options) recipients() (to []age.Recipient, err error) {
	if o.Passphrase != "" {
		r, err := age.NewScryptRecipient(o.Passphrase)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSeal, err)
		}
		r.SetWorkFactor(workFactor)
		return []age.Recipient{r}, nil
	}
	var faults []error
	for i, text := range o.Recipients {
		r, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil || len(r) != 1 {
			// The text is not told: it may be the secret key.
			faults = append(faults, fmt.Errorf("%w: recipient %d is no age recipient, such as age1ql3z7hjy54pw3…", ErrSeal, i+1))
			continue
		}
		to = append(to, r[0])
	}
	return to, errors.Join(faults...)
}

// failure is an error of the file, which says nothing about what is in it.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// file tells its failures from damage.
type file struct{ r io.ReaderAt }

// ReadAt satisfies io.ReaderAt.
func (f file) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.r.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = failure{err}
	}
	return n, err
}

// explain says what an error of reading means: the failure of the file, or its end, or damage.
func explain(where string, err error) error {
	var f failure
	switch {
	case errors.As(err, &f):
		return fmt.Errorf("cannot read the archive: %w", f.error)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	}
	return fmt.Errorf("%w: %s: %w", ErrDamaged, where, err)
}

// unseal returns what an archive holds, and how many bytes that is.
func (k Keys) unseal(ctx context.Context, r file, size int64) (io.ReaderAt, int64, error) {
	start := make([]byte, len(intro))
	n, err := r.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, explain("its beginning", err)
	}
	if start = start[:min(int64(n), size)]; !bytes.Equal(start, []byte(intro)) {
		return k.bare(r, size, start)
	}
	header, err := age.ExtractHeader(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, 0, explain("its beginning", err)
	}
	key, err := k.open(ctx, header)
	if err != nil {
		return nil, 0, err
	}
	plain, length, err := age.DecryptReaderAt(r, size, age.NewInjectedFileKeyIdentity(key))
	var f failure
	switch {
	case errors.As(err, &f):
		return nil, 0, explain("", err)
	case err != nil: // the last part, which age reads first, is not the last, or is not as it was
		return nil, 0, ErrTruncated
	}
	return plain, length, nil
}

// bare is unseal for what is no age file.
func (k Keys) bare(r file, size int64, start []byte) (io.ReaderAt, int64, error) {
	first := member{kind: headKind}.name() + "\x00"
	switch {
	case len(start) == 0 || strings.HasPrefix(intro, string(start)) || strings.HasPrefix(first, string(start)):
		return nil, 0, ErrTruncated
	case !strings.HasPrefix(string(start), first):
		return nil, 0, ErrNoArchive
	case k.Passphrase != "" || k.Identity != "":
		return nil, 0, ErrUnsealed // what was to be sealed may have been replaced
	}
	return r, size, nil
}

// open returns the key of an age file with this header.
func (k Keys) open(ctx context.Context, header []byte) ([]byte, error) {
	identities, err := k.identities()
	if err != nil {
		return nil, err
	}
	byPassphrase := bytes.HasPrefix(header, []byte(intro+"-> scrypt "))
	switch {
	case byPassphrase && k.Passphrase == "":
		return nil, fmt.Errorf("%w: give its passphrase", ErrSealed)
	case !byPassphrase && k.Identity == "":
		return nil, fmt.Errorf("%w: give the identity of one of its recipients, which begins with AGE-SECRET-KEY-1", ErrSealed)
	}
	if byPassphrase {
		release, err := k.Turns.take(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	key, err := age.DecryptHeader(header, identities...)
	var none *age.NoIdentityMatchError
	switch {
	case err == nil:
		return key, nil
	case errors.As(err, &none) && slices.Contains(none.StanzaTypes, "scrypt"):
		return nil, ErrPassphrase
	case errors.As(err, &none):
		return nil, ErrIdentity
	}
	return nil, fmt.Errorf("%w: its beginning: %w", ErrDamaged, err)
}

// identities are what may open an age file.
func (k Keys) identities() (all []age.Identity, err error) {
	if k.Identity != "" {
		if all, err = age.ParseIdentities(strings.NewReader(k.Identity)); err != nil {
			return nil, fmt.Errorf("%w: it is no age identity, which begins with AGE-SECRET-KEY-1", ErrIdentity) // which is not told
		}
	}
	if k.Passphrase != "" {
		i, err := age.NewScryptIdentity(k.Passphrase)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPassphrase, err)
		}
		i.SetMaxWorkFactor(maxWorkFactor)
		all = append(all, i)
	}
	return all, nil
}
