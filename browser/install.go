package browser

import (
	"context"
	"crypto/md5" //nolint:gosec // what Google's storage tells of its files; the connection is authentic by TLS
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
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Installation says what to fetch and where to put it.
type Installation struct {
	Mirror   string       // the address below which known-good-versions-with-downloads.json lies; "" is Chrome for Testing's own
	Version  string       // a major, "124": its newest build; or four numbers
	Folder   string       // gets a folder per version
	Progress func(string) // is told what is fetched; nil: nobody is
}

// The public place of Chrome for Testing's list of builds (https://github.com/GoogleChromeLabs/chrome-for-testing), and what may be fetched
// at most, in bytes.
const (
	chromeForTesting = "https://googlechromelabs.github.io/chrome-for-testing/"
	indexName        = "known-good-versions-with-downloads.json"
	maxIndex         = 64 << 20
	maxArchive       = 1 << 30
)

// indexTime is how long the list of builds may take to come, and stallTime how long nothing of a build may come before it is given up.
const (
	indexTime = time.Minute
	stallTime = time.Minute
)

// unfinishedPrefix begins the name of a folder while what it is to hold is made.
const unfinishedPrefix = ".new-"

// Install fetches a build of Chrome for Testing, checks it, and unpacks it into a folder of its version. fresh is false where that was
// there already. It takes https, and http from this machine alone; a build that nothing vouches for is refused. Whatever fails, nothing is
// left. Only one may work on a folder at a time.
func Install(ctx context.Context, in Installation) (found Installed, fresh bool, err error) {
	if !regexp.MustCompile(`^\d{1,5}(\.\d{1,5}\.\d{1,5}\.\d{1,5})?$`).MatchString(in.Version) {
		return found, false, fmt.Errorf("%q is no version: give a major such as 124, or a build such as 124.0.6367.207", in.Version)
	}
	if strings.Contains(in.Version, ".") && exists(filepath.Join(in.Folder, in.Version)) {
		return in.present(ctx, in.Version)
	}
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
		return in.present(ctx, build.version)
	}
	found, err = in.fetch(ctx, m, build)
	return found, err == nil, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// present is the build that was installed before.
func (in Installation) present(ctx context.Context, version string) (Installed, bool, error) {
	dir := filepath.Join(in.Folder, version)
	found, err := lookInto(ctx, dir)
	if err != nil {
		return found, false, fmt.Errorf("%s is there and does not work (%w); remove it with `warren browser remove %s`, then install it anew", dir, err, version)
	}
	return found, false, nil
}

// lookInto asks the build that lies below dir for its version.
func lookInto(ctx context.Context, dir string) (Installed, error) {
	programs := builds(dir)
	if len(programs) == 0 {
		return Installed{}, errors.New("there is no browser in it")
	}
	return inspect(ctx, programs[0])
}

// fetch downloads, checks and unpacks a build in a folder of its own beside the others, and gives it its name when it is whole.
func (in Installation) fetch(ctx context.Context, m *mirror, build download) (found Installed, err error) {
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
	if in.Progress != nil {
		in.Progress("fetching " + build.address.Redacted())
	}
	if err := m.download(ctx, build, archive); err != nil {
		return found, err
	}
	if err := unzip(ctx, archive, unpacked); err != nil {
		return found, fmt.Errorf("%s cannot be unpacked: %w", build.address.Redacted(), err)
	}
	if found, err = lookInto(ctx, unpacked); err != nil {
		return found, fmt.Errorf("the build was fetched and does not run on this machine, so nothing was installed: %w. A library may be missing; installing the distribution's Chromium brings what Chrome needs", err)
	}
	if found.Version != build.version {
		return found, fmt.Errorf("the build says that it is %s, and the list of builds that it is %s; nothing was installed", found.Version, build.version)
	}
	if err := syncAll(unpacked); err != nil {
		return found, err
	}
	final := filepath.Join(in.Folder, build.version)
	if err := os.Rename(unpacked, final); err != nil {
		return found, err
	}
	return lookInto(ctx, final)
}

// removeUnfinished deletes what was left half made in folder by who was killed.
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

// RemoveInstalled deletes a build from the folder that Install fills: what is its version, or a path in it. It says whether there was one.
func RemoveInstalled(folder, what string) (bool, error) {
	version := what
	if _, ok := versionNumbers(what); !ok {
		path, err := filepath.Abs(what)
		if err != nil {
			return false, err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil || !filepath.IsLocal(rel) {
			return false, nil //nolint:nilerr // it lies elsewhere
		}
		version, _, _ = strings.Cut(filepath.ToSlash(rel), "/")
	}
	if _, ok := versionNumbers(version); !ok {
		return false, nil
	}
	gone := filepath.Join(folder, unfinishedPrefix+version) // at once, and not half: the next installation ends what a kill leaves
	if err := os.Rename(filepath.Join(folder, version), gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	return true, os.RemoveAll(gone)
}

// platformName is this platform as Chrome for Testing calls it; "" where it has no builds.
func platformName() string {
	return map[string]string{"linux/amd64": "linux64", "darwin/arm64": "mac-arm64", "darwin/amd64": "mac-x64", "windows/amd64": "win64", "windows/386": "win32"}[runtime.GOOS+"/"+runtime.GOARCH]
}

// mirror is where builds come from.
type mirror struct {
	base   *url.URL
	plain  bool // http to this very machine, as tests and tunnels have it
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
	transport := http.DefaultTransport.(*http.Transport).Clone() // with HTTPS_PROXY
	transport.ResponseHeaderTimeout = indexTime
	m.client = &http.Client{Transport: transport, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 5 {
			return errors.New("it redirects without end")
		}
		return m.permits(req.URL)
	}}
	return m, nil
}

// permits says whether something may be fetched from u. A mirror with https leads to https alone.
func (m *mirror) permits(u *url.URL) error {
	if u.Scheme == "https" && u.Host != "" {
		return nil
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if here := u.Hostname() == "localhost" || err == nil && ip.IsLoopback(); u.Scheme == "http" && m.plain && here {
		return nil
	}
	return fmt.Errorf("%s is refused: browsers come over https, or over http from this machine", u.Redacted())
}

// get asks for u. Other answers than 200 are a *statusError.
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
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, &statusError{u.Redacted(), res.StatusCode}
	}
	return res, nil
}

type statusError struct {
	address string
	status  int
}

func (e *statusError) Error() string { return fmt.Sprintf("%s answered %d", e.address, e.status) }

// small reads a small file whole.
func (m *mirror) small(ctx context.Context, u *url.URL, limit int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, indexTime)
	defer cancel()
	res, err := m.get(ctx, u)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB", u.Redacted(), limit>>20)
	}
	return text, err
}

// download is a build that the mirror has.
type download struct {
	version string
	address *url.URL
	sha256  string // in hexadecimal digits; "" where the list says none
}

// find looks a version up in the mirror's list.
func (m *mirror) find(ctx context.Context, version, platform string) (best download, err error) {
	if platform == "" {
		return best, fmt.Errorf("there are no builds of Chrome for Testing for %s/%s: install a Chromium with the system's package manager, and name it with `warren browser add PATH`", runtime.GOOS, runtime.GOARCH)
	}
	text, err := m.small(ctx, m.base.JoinPath(indexName), maxIndex)
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
		return best, fmt.Errorf("%s is no list of builds: %w", m.base.Redacted()+indexName, err)
	}
	majors := []int{}
	for _, v := range index.Versions {
		numbers, ok := versionNumbers(v.Version)
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
				return best, fmt.Errorf("the list of builds: %w", err)
			}
			best = download{v.Version, address, d.SHA256}
		}
	}
	if best.address == nil {
		if len(majors) == 0 {
			return best, fmt.Errorf("the mirror has no build for %s", platform)
		}
		return best, fmt.Errorf("the mirror has no build %s for %s; its majors are %d to %d", version, platform, slices.Min(majors), slices.Max(majors))
	}
	return best, nil
}

// download fetches a build to path and checks it.
func (m *mirror) download(ctx context.Context, build download, path string) error {
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
			return fmt.Errorf("nothing vouches for %s: neither a sha256 in the list of builds, nor a file of that name with .sha256, nor an x-goog-hash header; it is not taken", build.address.Redacted())
		}
		sum = md5.New() //nolint:gosec // as above
	}
	if res.ContentLength > maxArchive {
		return fmt.Errorf("%s is larger than %d MiB", build.address.Redacted(), maxArchive>>20)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(steadyReader{res.Body, late}, maxArchive+1))
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	switch err = errors.Join(err, f.Close()); {
	case err != nil:
		return fmt.Errorf("%s broke off: %w", build.address.Redacted(), err)
	case n > maxArchive:
		return fmt.Errorf("%s is larger than %d MiB", build.address.Redacted(), maxArchive>>20)
	case !slices.Equal(sum.Sum(nil), want):
		return fmt.Errorf("%s is not what it should be: its checksum is %x, and should be %x; it is not taken", build.address.Redacted(), sum.Sum(nil), want)
	}
	return nil
}

// steadyReader puts off the end of a download as long as something comes.
type steadyReader struct {
	io.Reader
	late *time.Timer
}

func (r steadyReader) Read(p []byte) (int, error) {
	r.late.Reset(stallTime)
	return r.Reader.Read(p)
}

// checksum is the build's SHA-256, of the list or of a file beside the build; nil when there is none.
func (m *mirror) checksum(ctx context.Context, build download) ([]byte, error) {
	text := build.sha256
	if text == "" {
		beside := *build.address
		beside.Path, beside.RawPath = beside.Path+".sha256", ""
		file, err := m.small(ctx, &beside, 1<<16)
		if status, ok := errors.AsType[*statusError](err); ok && status.status >= 400 && status.status < 500 {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		text, _, _ = strings.Cut(strings.TrimSpace(string(file)), " ") // as sha256sum writes it: the sum, then the name
	}
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != sha256.Size {
		return nil, fmt.Errorf("the sha256 of %s is none: %.80q", build.address.Redacted(), text)
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
