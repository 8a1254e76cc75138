package archive

import "errors"

// What can be wrong with an archive, or with what it is opened with.
var (
	ErrNoArchive  = errors.New("this is no archive of Warren")
	ErrDamaged    = errors.New("the archive is damaged")
	ErrTruncated  = errors.New("the archive is cut short, or its end is damaged")
	ErrNewer      = errors.New("the archive has a newer format")
	ErrSealed     = errors.New("the archive is sealed")
	ErrUnsealed   = errors.New("the archive is not sealed: if you trust where it comes from, give no passphrase and no identity")
	ErrPassphrase = errors.New("the passphrase is wrong, or the beginning of the archive is damaged")
	ErrIdentity   = errors.New("the identity does not open the archive")
)

// What can be wrong with what is to be written.
var (
	ErrSeal    = errors.New("cannot seal the archive")
	ErrProfile = errors.New("cannot put the profile into an archive")
	ErrLarge   = errors.New("this is too much for one archive: make several")
)
