package builds

import (
	"context"
	"crypto/md5" //nolint:gosec // Google's storage publishes MD5 only; TLS authenticates the connection
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"warren/browser"
)

// Installation says what to fetch and where to put it.
type Installation struct {
	Mirror   string         // URL of the folder that holds known-good-versions-with-downloads.json; "": Chrome for Testing's own
	Version  string         // a major ("124": its newest build), or all four numbers
	Folder   string         // gets one folder per version
	Progress func(Progress) // is called at each step and with each part of a download; nil: nobody is told
}

// The list of Chrome for Testing's builds (https://github.com/GoogleChromeLabs/chrome-for-testing) and the limits of a download in bytes.
const (
	chromeForTesting = "https://googlechromelabs.github.io/chrome-for-testing/"
	indexName        = "known-good-versions-with-downloads.json"
	maxIndex         = 64 << 20
	maxArchive       = 1 << 30
)

// indexTime bounds the download of the list of builds. stallTime is how long a download may stand still.
const (
	indexTime = time.Minute
	stallTime = time.Minute
)

// unfinishedPrefix begins the name of a folder that is not complete yet.
const unfinishedPrefix = ".new-"

// Install downloads a build of Chrome for Testing, verifies it, and unpacks it into a folder named after its version. fresh is false if
// that folder existed already. It accepts https, and http from this machine only. It refuses a build without a checksum. A failed
// installation leaves nothing behind. Only one caller at a time may use a folder. An error with a remedy of its own is a *Failure.
func Install(ctx context.Context, in Installation) (found browser.Installed, fresh bool, err error) {
	if !IsVersion(in.Version) {
		return found, false, fmt.Errorf("%q is no version: give a major such as 124, or a build such as 124.0.6367.207", in.Version)
	}
	if strings.Contains(in.Version, ".") && exists(filepath.Join(in.Folder, in.Version)) {
		return in.installed(ctx, in.Version)
	}
	in.tell(Progress{Step: Looking})
	m, err := openMirror(in.Mirror)
	if err != nil {
		return found, false, err
	}
	defer m.client.CloseIdleConnections()
	build, err := m.find(ctx, in.Version, platformName())
	if err != nil {
		return found, false, err
	}
	if exists(filepath.Join(in.Folder, build.version)) {
		return in.installed(ctx, build.version)
	}
	found, err = in.fetch(ctx, m, build)
	return found, err == nil, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// installed returns a build that was installed earlier.
func (in Installation) installed(ctx context.Context, version string) (browser.Installed, bool, error) {
	dir := filepath.Join(in.Folder, version)
	found, err := inspectBelow(ctx, dir)
	if err != nil {
		return found, false, fail(Unusable,
			"%s is there and does not work (%w); remove it with `warren browser remove %s`, then install it anew", dir, err, version)
	}
	return found, false, nil
}

// inspectBelow asks the build below dir for its version.
func inspectBelow(ctx context.Context, dir string) (browser.Installed, error) {
	programs := builds(dir)
	if len(programs) == 0 {
		return browser.Installed{}, errors.New("there is no browser in it")
	}
	return browser.Inspect(ctx, programs[0])
}

// fetch downloads, verifies and unpacks a build beside the others, and renames its folder when it is complete.
func (in Installation) fetch(ctx context.Context, m *mirror, build download) (found browser.Installed, err error) {
	if err := os.MkdirAll(in.Folder, 0o700); err != nil {
		return found, err
	}
	if err := removeUnfinished(in.Folder); err != nil {
		return found, err
	}
	work, err := os.MkdirTemp(in.Folder, unfinishedPrefix)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	archive, unpacked := filepath.Join(work, "zip"), filepath.Join(work, "build")
	count := &meter{in, Progress{Step: Downloading, Address: shown(build.address)}}
	if err := m.download(ctx, build, archive, count); err != nil {
		return found, err
	}
	count.now.Step = Unpacking
	in.tell(count.now)
	if err := unzip(ctx, archive, unpacked); err != nil {
		return found, fail(Untrusted, "%s cannot be unpacked: %w", shown(build.address), err)
	}
	count.now.Step = Checking
	in.tell(count.now)
	if found, err = inspectBelow(ctx, unpacked); err != nil {
		return found, fail(Unusable, "the build was fetched and does not run on this machine, so nothing was installed: %w. A library "+
			"may be missing; installing the distribution's Chromium brings what Chrome needs", err)
	}
	if found.Version != build.version {
		return found, fail(Untrusted, "the build says that it is %s, and the list of builds that it is %s; nothing was installed",
			found.Version, build.version)
	}
	if err := syncAll(unpacked); err != nil {
		return found, err
	}
	final := filepath.Join(in.Folder, build.version)
	if err := os.Rename(unpacked, final); err != nil {
		return found, err
	}
	return inspectBelow(ctx, final)
}

// removeUnfinished deletes what a killed installation left in folder.
func removeUnfinished(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinishedPrefix) {
			if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove deletes a build from the folder that Install fills. what is a version, or a path within the folder. It reports whether there was
// such a build.
func Remove(folder, what string) (bool, error) {
	version := what
	if _, ok := browser.ParseVersion(what); !ok {
		path, err := filepath.Abs(what)
		if err != nil {
			return false, err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil || !filepath.IsLocal(rel) {
			return false, nil //nolint:nilerr // the path lies outside of folder
		}
		version, _, _ = strings.Cut(filepath.ToSlash(rel), "/")
	}
	if _, ok := browser.ParseVersion(version); !ok {
		return false, nil
	}
	// The rename removes the build at once. The next installation deletes what a killed process leaves.
	gone := filepath.Join(folder, unfinishedPrefix+version)
	if err := os.Rename(filepath.Join(folder, version), gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	return true, os.RemoveAll(gone)
}

// platformName is this platform's name in Chrome for Testing's list, "" where it has no builds.
func platformName() string {
	return map[string]string{"linux/amd64": "linux64", "darwin/arm64": "mac-arm64", "darwin/amd64": "mac-x64", "windows/amd64": "win64",
		"windows/386": "win32"}[runtime.GOOS+"/"+runtime.GOARCH]
}

// mirror is a server of builds.
type mirror struct {
	base   *url.URL
	plain  bool // http to this machine is allowed, as tests and tunnels need it
	client *http.Client
}

func openMirror(address string) (*mirror, error) {
	if address == "" {
		address = chromeForTesting
	}
	base, err := url.Parse(strings.TrimSuffix(address, "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("--browser-mirror: %w", err)
	}
	m := &mirror{base: base, plain: base.Scheme == "http"}
	if err := m.permits(base); err != nil {
		return nil, fmt.Errorf("--browser-mirror: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() // honours HTTPS_PROXY
	transport.ResponseHeaderTimeout = indexTime
	m.client = &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 5 {
			return errors.New("it redirects without end")
		}
		return m.permits(req.URL)
	}}
	return m, nil
}

// permits returns an error unless u may be fetched. A mirror on https may refer to https only.
func (m *mirror) permits(u *url.URL) error {
	if u.Scheme == "https" && u.Host != "" {
		return nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if here := u.Hostname() == "localhost" || err == nil && ip.IsLoopback(); u.Scheme == "http" && m.plain && here {
		return nil
	}
	return fail(Untrusted, "%s is refused: browsers come over https, or over http from this machine", shown(u))
}

// get requests u. A status other than 200 is a *statusError.
func (m *mirror) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	if err := m.permits(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := m.client.Do(req)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // the outer text has the whole address
		}
		if _, ok := errors.AsType[*Failure](err); ok { // a redirect that is refused
			return nil, err
		}
		return nil, fail(Unreachable, "%s cannot be read: %w", shown(u), err)
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, &Failure{Unreachable, &statusError{shown(u), res.StatusCode}}
	}
	return res, nil
}

type statusError struct {
	address string
	status  int
}

func (e *statusError) Error() string { return fmt.Sprintf("%s answered %d", e.address, e.status) }

// readSmall reads a file of at most limit bytes.
func (m *mirror) readSmall(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, indexTime)
	defer cancel()
	res, err := m.get(ctx, u)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, fail(Unreachable, "%s broke off: %w", shown(u), err)
	}
	if int64(len(text)) > limit {
		return nil, fail(Untrusted, "%s is larger than %d MiB", shown(u), limit>>20)
	}
	return text, nil
}

// download is a build that the mirror offers.
type download struct {
	version string
	address *url.URL
	sha256  string // hexadecimal; "" if the list has none
}

// find looks up a version in the mirror's list.
func (m *mirror) find(ctx context.Context, version, platform string) (best download, err error) {
	if platform == "" {
		return best, fail(NoBuild, "there are no builds of Chrome for Testing for %s/%s: install a Chromium with the system's package "+
			"manager, and name it with `warren browser add PATH`", runtime.GOOS, runtime.GOARCH)
	}
	text, err := m.readSmall(ctx, m.base.JoinPath(indexName), maxIndex)
	if err != nil {
		return best, fmt.Errorf("the list of builds could not be read: %w", err)
	}
	var index struct {
		Versions []struct {
			Version   string
			Downloads struct {
				Chrome []struct{ Platform, URL, SHA256 string }
			}
		}
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return best, fail(Untrusted, "%s is no list of builds: %w", shown(m.base)+indexName, err)
	}
	majors := []int{}
	for _, v := range index.Versions {
		numbers, ok := browser.ParseVersion(v.Version)
		for _, d := range v.Downloads.Chrome {
			if !ok || d.Platform != platform {
				continue
			}
			majors = append(majors, numbers[0])
			if v.Version != version && strconv.Itoa(numbers[0]) != version || best.address != nil && !newer(v.Version, best.version) {
				continue
			}
			address, err := m.base.Parse(d.URL)
			if err != nil {
				return best, fail(Untrusted, "the list of builds names no address of %s", v.Version)
			}
			best = download{v.Version, address, d.SHA256}
		}
	}
	if best.address == nil {
		if len(majors) == 0 {
			return best, fail(NoBuild, "the mirror has no build for %s", platform)
		}
		return best, fail(NoBuild, "the mirror has no build %s for %s; its majors are %d to %d", version, platform, slices.Min(majors),
			slices.Max(majors))
	}
	return best, nil
}

// download fetches a build to path and verifies its checksum. count is told of each part.
func (m *mirror) download(ctx context.Context, build download, path string, count *meter) error {
	want, err := m.checksum(ctx, build)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(indexTime+stallTime, func() { cancel(fmt.Errorf("nothing came for %v", stallTime)) })
	defer late.Stop()
	res, err := m.get(ctx, build.address)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var sum hash.Hash = sha256.New()
	if want == nil {
		if want = storedMD5(res.Header); want == nil {
			return fail(Untrusted, "nothing vouches for %s: neither a sha256 in the list of builds, nor a file of that name with "+
				".sha256, nor an x-goog-hash header; it is not taken", shown(build.address))
		}
		sum = md5.New() //nolint:gosec // see the import
	}
	if res.ContentLength > maxArchive {
		return fail(Untrusted, "%s is larger than %d MiB", shown(build.address), maxArchive>>20)
	}
	count.now.TotalBytes = max(0, res.ContentLength)
	count.in.tell(count.now)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(f, sum, count), io.LimitReader(steadyReader{res.Body, late}, maxArchive+1))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	err = errors.Join(err, f.Close())
	if disk, ok := errors.AsType[*fs.PathError](err); ok {
		return disk
	}
	switch {
	case err != nil:
		return fail(Unreachable, "%s broke off: %w", shown(build.address), err)
	case n > maxArchive:
		return fail(Untrusted, "%s is larger than %d MiB", shown(build.address), maxArchive>>20)
	case !slices.Equal(sum.Sum(nil), want):
		return fail(Untrusted, "%s is not what it should be: its checksum is %x, and should be %x; it is not taken",
			shown(build.address), sum.Sum(nil), want)
	}
	return nil
}

// steadyReader restarts the stall timer with every read.
type steadyReader struct {
	io.Reader
	late *time.Timer
}

func (r steadyReader) Read(p []byte) (int, error) {
	r.late.Reset(stallTime)
	return r.Reader.Read(p)
}

// checksum returns the SHA-256 of a build, from the list or from a file beside the build; nil if there is none.
func (m *mirror) checksum(ctx context.Context, build download) ([]byte, error) {
	text := build.sha256
	if text == "" {
		beside := *build.address
		beside.Path, beside.RawPath = beside.Path+".sha256", ""
		file, err := m.readSmall(ctx, &beside, 1<<16)
		if status, ok := errors.AsType[*statusError](err); ok && status.status >= 400 && status.status < 500 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		text, _, _ = strings.Cut(strings.TrimSpace(string(file)), " ") // the format of sha256sum: checksum, then name
	}
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != sha256.Size {
		return nil, fail(Untrusted, "the sha256 of %s is none: %.80q", shown(build.address), text)
	}
	return sum, nil
}

// storedMD5 is the MD5 that Google's storage tells of a file (https://cloud.google.com/storage/docs/xml-api/reference-headers#xgooghash).
func storedMD5(h http.Header) []byte {
	for _, line := range h.Values("X-Goog-Hash") {
		for part := range strings.SplitSeq(line, ",") {
			if text, ok := strings.CutPrefix(strings.TrimSpace(part), "md5="); ok {
				if sum, err := base64.StdEncoding.DecodeString(text); err == nil && len(sum) == md5.Size {
					return sum
				}
			}
		}
	}
	return nil
}
