package packs

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// S3Options say where a bucket is, and how patient S3 is with its server.
type S3Options struct {
	Endpoint string // http or https, host and port, such as https://s3.eu-central-1.amazonaws.com
	Region   string // empty: us-east-1, which servers other than Amazon's take as well
	Bucket   string
	Prefix   string // of all keys, without the slash at its end; empty: none

	AccessKey    string
	SecretKey    string
	SessionToken string // of keys for a time; empty: none

	// Plain lets a server beyond this machine be asked over http, where everybody on the way can read what is kept.
	Plain bool

	// Attempts is how often an operation is tried in all, Total for how long after its first fault; 0: 6 times, for 1 minute.
	Attempts int
	Total    time.Duration
	// Idle is for how long nothing may move before an attempt is given up; 0: 30 s.
	Idle time.Duration
}

// S3Scheme begins the address of a bucket, as in s3://bucket/prefix.
const S3Scheme = "s3://"

// S3Address returns the options for a bucket's address. The rest is in the variables that all tools for S3 read: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION or AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL. Without an
// endpoint the server is Amazon's. S3 checks them.
func S3Address(address string, getenv func(string) string) S3Options {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(address, S3Scheme), "/")
	o := S3Options{Bucket: bucket, Prefix: prefix, Region: cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION")),
		Endpoint:  cmp.Or(getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL")),
		AccessKey: getenv("AWS_ACCESS_KEY_ID"), SecretKey: getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: getenv("AWS_SESSION_TOKEN")}
	if o.Endpoint == "" {
		o.Endpoint = "https://s3." + cmp.Or(o.Region, defaultRegion) + ".amazonaws.com"
	}
	return o
}

// defaultRegion is Amazon's first one, which servers other than Amazon's take as well.
const defaultRegion = "us-east-1"

// validRegion is what a region may be called.
var validRegion = regexp.MustCompile(`^[a-zA-Z0-9-]{1,40}$`)

// validBucket is what Amazon lets a bucket be called, but for details.
var validBucket = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// plainPath is a path that no server, proxy or console reads in two ways.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// check returns where the server is. The error names all that is wrong, and no value that may hold a secret.
func (o S3Options) check() (*url.URL, error) {
	at, err := url.Parse(o.Endpoint)
	var faults []error
	fail := func(is bool, what string) {
		if is {
			faults = append(faults, errors.New(what))
		}
	}
	good := err == nil && isServer(at)
	fail(!good, "the endpoint (AWS_ENDPOINT_URL) must be http:// or https://, a host and no more, such as https://s3.example.com")
	fail(good && at.Scheme == "http" && !o.Plain && !onThisMachine(at.Hostname()),
		"the endpoint (AWS_ENDPOINT_URL) is http:// and not on this machine, so others could read all: use https://, or --s3-plain")
	fail(!validBucket.MatchString(o.Bucket),
		"the bucket's name must have 3 to 63 lower-case letters, digits, dots and dashes, as in s3://bucket/prefix")
	fail(o.Prefix != "" && !plainPath.MatchString(strings.Trim(o.Prefix, "/")),
		"the prefix must be made of letters, digits, dots, dashes and underscores, in parts that slashes divide")
	fail(o.Region != "" && !validRegion.MatchString(o.Region), "the region (AWS_REGION) must be a name such as eu-central-1")
	fail(o.AccessKey == "", "the access key is missing: set AWS_ACCESS_KEY_ID")
	fail(o.SecretKey == "", "the secret key is missing: set AWS_SECRET_ACCESS_KEY")
	fail(o.Attempts < 0 || o.Total < 0 || o.Idle < 0, "bounds cannot be negative")
	return at, errors.Join(faults...)
}

// onThisMachine reports whether a host is a loopback address.
func onThisMachine(host string) bool {
	at, err := netip.ParseAddr(host)
	return err == nil && at.IsLoopback() || host == "localhost"
}

// isServer reports whether an address names a server, and nothing on it.
func isServer(at *url.URL) bool {
	return (at.Scheme == "http" || at.Scheme == "https") && at.Host != "" && at.User == nil && strings.Trim(at.Path, "/") == "" &&
		at.RawQuery == "" && at.Fragment == ""
}

// limits are the bounds of what is done with a server.
type limits struct {
	attempts int
	total    time.Duration
	idle     time.Duration
	pause    time.Duration // before the second attempt; it doubles up to longestPause
	page     int           // objects of a page of a list; 0: as many as the server likes
}

// longestPause is the longest pause before an attempt.
const longestPause = 5 * time.Second

func (o S3Options) limits() limits {
	l := limits{attempts: o.Attempts, total: o.Total, idle: o.Idle, pause: 200 * time.Millisecond}
	if l.attempts == 0 {
		l.attempts = 6
	}
	if l.total == 0 {
		l.total = time.Minute
	}
	if l.idle == 0 {
		l.idle = 30 * time.Second
	}
	return l
}
