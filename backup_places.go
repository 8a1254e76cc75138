package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"warren/packs"
	"warren/snapshots"
)

// Where backups are: a folder, a bucket or a tar file.

// bucketFlags are about places that begin with s3://.
type bucketFlags struct {
	S3Plain bool `name:"s3-plain" env:"WARREN_S3_PLAIN" help:"Speak http, which others can read, with an S3 server that is not on this machine."`
}

// isBucket reports whether a place is in S3.
func isBucket(place string) bool { return strings.HasPrefix(place, packs.S3Scheme) }

// isTar reports whether a place is one file.
func isTar(place string) bool { return !isBucket(place) && strings.HasSuffix(place, ".tar") }

// openBlobs opens a place of many objects. The environment says how to get into a bucket: a secret has no place on a command line.
func openBlobs(place string, plain bool, getenv func(string) string) (packs.Blobs, error) {
	if !isBucket(place) {
		return packs.Folder(place), nil
	}
	o := packs.S3Address(place, getenv)
	o.Plain = plain
	blobs, err := packs.S3(o)
	if err != nil {
		return nil, misusef("the bucket cannot be used:\n%w", err)
	}
	return blobs, nil
}

// openPlace opens where a backup goes to. finish must be called with how it went.
func openPlace(place string, plain bool) (to packs.Blobs, finish func(error) error, err error) {
	if !isTar(place) {
		to, err = openBlobs(place, plain, os.Getenv)
		return to, func(err error) error { return err }, err
	}
	tar, err := snapshots.NewTar(place)
	if err != nil {
		return nil, nil, err
	}
	return tar, tar.Finish, nil
}

// openBackups opens where backups are.
func openBackups(place string, plain bool) (packs.Blobs, io.Closer, error) {
	if isTar(place) {
		return snapshots.OpenTar(place)
	}
	from, err := openBlobs(place, plain, os.Getenv)
	return from, io.NopCloser(nil), err
}

// removed says what a thinning has removed, for people.
func removed(t *snapshots.Thinned) string {
	return fmt.Sprintf("%d old backups removed, and %d objects that none needs: %s", t.Backups, t.Objects, size(t.Bytes))
}
