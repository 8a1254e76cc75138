package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"warren/api"
	"warren/cli"
	"warren/nodes"
	"warren/packs"
	"warren/pool"
	"warren/proxy"
	"warren/runs"
	"warren/schedules"
	"warren/shim"
	"warren/store"
	"warren/tally"
	"warren/webhooks"
)

// serveConfig holds the settings of `warren serve`. A flag overrides the environment, which overrides the file and the default.
type serveConfig struct {
	Listen           string        `default:"127.0.0.1:7777" env:"WARREN_LISTEN" group:"Basics" help:"Address to serve on. Port 0 picks a free one."`
	Data             string        `env:"WARREN_DATA" placeholder:"DIR" group:"Basics" help:"Data folder. Default: the platform's data folder."`
	Browser          string        `env:"WARREN_BROWSER" placeholder:"PATH" group:"Browsers" help:"The browser to run. Default: the first one found."`
	Browsers         []string      `name:"browsers" env:"WARREN_BROWSERS" placeholder:"DIR" group:"Browsers" help:"Folders below which more builds lie, such as Chrome for Testing's, for profiles that declare a version."`
	BrowserMirror    string        `name:"browser-mirror" env:"WARREN_BROWSER_MIRROR" placeholder:"URL" group:"Browsers" help:"Where administrators install browsers from over the API: the folder of known-good-versions-with-downloads.json. off: not at all. Default: Chrome for Testing's own."`
	Headless         string        `default:"auto" enum:"auto,always,never" env:"WARREN_HEADLESS" group:"Browsers" help:"Where a profile does not say: auto is headed where there is a display."`
	CheckURL         []string      `name:"check-url" env:"WARREN_CHECK_URL" placeholder:"URL" group:"Checks" help:"Service that tells a caller's address, for checks; several are tried in turn."`
	CheckURL6        []string      `name:"check-url6" env:"WARREN_CHECK_URL6" placeholder:"URL" group:"Checks" help:"The same for a proxy's exit over IPv6: a service that has no IPv4 address. Default: not asked."`
	CheckUDPURL      string        `name:"check-udp-url" env:"WARREN_CHECK_UDP_URL" placeholder:"stun://HOST:PORT" group:"Checks" help:"STUN server that checks ask through a SOCKS5 proxy's UDP. Default: not asked."`
	CheckTimeout     time.Duration `name:"check-timeout" default:"10s" env:"WARREN_CHECK_TIMEOUT" group:"Checks" help:"Deadline of one proxy check."`
	CheckAtOnce      int           `name:"check-at-once" default:"0" env:"WARREN_CHECK_AT_ONCE" group:"Checks" help:"Proxies that are checked at the same time; those that keep a check waiting do not count, up to four times as many. 0: 2048, or fewer where this process may not have so many connections."`
	CheckEvery       []string      `name:"check-every" env:"WARREN_CHECK_EVERY" placeholder:"TIME" group:"Checks" help:"Check each proxy again and again after so long, such as 30m; WORKSPACE=10m for one workspace, where 0 means never. Default: only when asked."`
	RotateEvery      time.Duration `name:"rotate-every" default:"10s" env:"WARREN_ROTATE_EVERY" group:"Checks" help:"The shortest time between two calls of a proxy's rotateUrl."`
	RotateTimeout    time.Duration `name:"rotate-timeout" default:"60s" env:"WARREN_ROTATE_TIMEOUT" group:"Checks" help:"How long to wait for a proxy's exit to change, after its rotateUrl was called."`
	Geoip            string        `name:"geoip" env:"WARREN_GEOIP" placeholder:"FILE" group:"Checks" help:"An MMDB file that tells an exit's country."`
	MaxStarting      int           `name:"max-starting" default:"0" env:"WARREN_MAX_STARTING" group:"Limits" help:"Browsers that start at the same time; the rest queue. 0: one per core, and no more than 512 MiB of memory each allow."`
	MaxRunning       int           `name:"max-running" default:"0" env:"WARREN_MAX_RUNNING" group:"Limits" help:"Browsers that run at the same time; further starts wait until one ends. 0: no limit."`
	Warm             int           `name:"warm" default:"0" env:"WARREN_WARM" group:"Browsers" help:"Browsers that are kept ready for profiles that were never started. 0: none."`
	MaxQueue         int           `name:"max-queue" default:"1000" env:"WARREN_MAX_QUEUE" group:"Limits" help:"Starts that may wait for their turn; further ones are refused."`
	QueueTimeout     time.Duration `name:"queue-timeout" default:"60s" env:"WARREN_QUEUE_TIMEOUT" group:"Limits" help:"How long a start waits for one of --max-running to end."`
	StartTimeout     time.Duration `name:"start-timeout" default:"30s" env:"WARREN_START_TIMEOUT" group:"Browsers" help:"Until a started browser must take commands."`
	OrphanGrace      time.Duration `name:"orphan-grace" default:"60s" env:"WARREN_ORPHAN_GRACE" group:"Browsers" help:"How long browsers wait for a server that died before they close."`
	KeepBrowsers     bool          `name:"keep-browsers" env:"WARREN_KEEP_BROWSERS" group:"Browsers" help:"Leave browsers running when the server is told to stop; the next server adopts them."`
	Store            string        `name:"store" env:"WARREN_STORE" placeholder:"postgres://HOST/NAME" group:"Data" help:"The PostgreSQL database that keeps the state, as postgres://USER@HOST:PORT/NAME. PGPASSWORD, ~/.pgpass or the configuration file give the password: a command line can be read by others. Default: warren.db in the data folder."`
	Node             string        `name:"node" env:"WARREN_NODE" placeholder:"NAME" group:"Data" help:"With --store: what this server is called among those that share the database. Default: the machine's name."`
	Advertise        string        `name:"advertise" env:"WARREN_ADVERTISE" placeholder:"URL" group:"Data" help:"With --store: the address at which the other servers reach this one itself, not through a proxy that ends TLS. Default: where it listens."`
	Label            []string      `name:"label" env:"WARREN_LABELS" placeholder:"KEY=VALUE" group:"Data" help:"With --store: what this server is labelled with, for the choice of a server, such as zone=berlin."`
	Snapshots        string        `default:"on" enum:"on,off" env:"WARREN_SNAPSHOTS" group:"Data" help:"Whether a profile that does not say keeps a snapshot of its data at each graceful stop."`
	BackupEvery      time.Duration `name:"backup-every" default:"0s" env:"WARREN_BACKUP_EVERY" group:"Data" help:"Back the data folder up to --backup-to after so long, again and again, such as 24h. 0: never."`
	BackupTo         string        `name:"backup-to" env:"WARREN_BACKUP_TO" placeholder:"DIR|s3://BUCKET/PREFIX" group:"Data" help:"The folder of these backups, best on another disk, or a bucket. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL say how to get into it."`
	BackupKeep       int           `name:"backup-keep" default:"0" env:"WARREN_BACKUP_KEEP" group:"Data" help:"How many of these backups stay: the newest good ones. What only older ones need is removed. 0: all."`
	BackupNoKey      bool          `name:"backup-no-key" env:"WARREN_BACKUP_NO_KEY" group:"Data" help:"Leave secret.key out of them: keep it elsewhere, since nobody can read passwords and snapshots without it."`
	S3Plain          bool          `name:"s3-plain" env:"WARREN_S3_PLAIN" group:"Data" help:"Speak http, which others can read, with an S3 server that is not on this machine."`
	NoBackupBefore   bool          `name:"no-backup-before-migration" env:"WARREN_NO_BACKUP_BEFORE_MIGRATION" group:"Data" help:"Do not keep a copy of the database below the data folder (backups) before a new version changes its schema. Without one there is no way back to the old version, but for another backup."`
	RequireIsolation bool          `name:"require-isolation" env:"WARREN_REQUIRE_ISOLATION" group:"Security" help:"Refuse to start a browser that the kernel does not isolate in a namespace of its own."`
	ClientFiles      []string      `name:"client-files" env:"WARREN_CLIENT_FILES" placeholder:"DIR" group:"Security" help:"Folders that browsers may write, beside their own, where the server runs as root or listens beyond loopback: everything else is read-only there. Clients whose key has the scope files save downloads in them."`
	AuditDays        int           `name:"audit-days" default:"400" env:"WARREN_AUDIT_DAYS" group:"Data" help:"Days that entries of the audit log are kept. 0: for ever."`
	RunMemory        byteSize      `name:"run-memory" default:"0" env:"WARREN_RUN_MEMORY" group:"Limits" help:"How much memory a run may have whose profile does not say, 256MiB at least. The run that needs more ends, and no other. 0: no limit."`
	RunCPU           int           `name:"run-cpu" default:"0" env:"WARREN_RUN_CPU" group:"Limits" help:"How much processor time such a run may have, in percent of one core. 0: no limit."`
	FreezeAfter      time.Duration `name:"freeze-after" default:"0" env:"WARREN_FREEZE_AFTER" placeholder:"10m" group:"Limits" help:"Stop the processes of a run where they are when nobody has needed it for so long, and give its memory back; runs without a window alone. It goes on at once when somebody comes; websites may have closed its connections. 0: never. Profiles may say otherwise."`
	RunPIDs          int           `name:"run-pids" default:"16384" env:"WARREN_RUN_PIDS" group:"Limits" help:"How many processes and threads such a run may have, 300 at least. 0: no limit."`
	TrashDays        int           `name:"trash-days" default:"30" env:"WARREN_TRASH_DAYS" group:"Data" help:"Days that deleted profiles stay in the trash."`
	FilesQuota       byteSize      `name:"files-quota" default:"5GiB" env:"WARREN_FILES_QUOTA" group:"Limits" help:"How much a profile's uploads and downloads may have together, in bytes, KiB, MiB or GiB. 0: no quota."`
	UploadLimit      byteSize      `name:"upload-limit" default:"1GiB" env:"WARREN_UPLOAD_LIMIT" group:"Limits" help:"How large a file may be that is sent for a page, 1GiB at most."`
	AllowPrivate     string        `name:"allow-private" default:"auto" enum:"auto,yes,no" env:"WARREN_ALLOW_PRIVATE" group:"Security" help:"Whether profiles reach private networks, and proxies may stand there or on this machine. auto: yes when the server listens on loopback only."`
	WebhookPrivate   string        `name:"webhook-allow-private" default:"auto" enum:"auto,yes,no" env:"WARREN_WEBHOOK_ALLOW_PRIVATE" group:"Security" help:"Whether webhooks reach this machine and private networks. auto: yes when --allow-private is yes."`
	AllowHost        []string      `name:"allow-host" env:"WARREN_ALLOW_HOST" placeholder:"NAME" group:"Security" help:"Further host names that requests may use."`
	BehindProxy      []string      `name:"behind-proxy" env:"WARREN_BEHIND_PROXY" placeholder:"CIDR" group:"Security" help:"Networks of the reverse proxies whose X-Forwarded headers are believed."`
	TLSCert          string        `name:"tls-cert" env:"WARREN_TLS_CERT" placeholder:"FILE" group:"Security" help:"TLS certificate (PEM)."`
	TLSKey           string        `name:"tls-key" env:"WARREN_TLS_KEY" placeholder:"FILE" group:"Security" help:"TLS key (PEM)."`
	ACME             []string      `name:"acme" env:"WARREN_ACME" placeholder:"NAME" group:"Security" help:"Get TLS certificates for these names of this machine by ACME, and accept the authority's terms by it. Port 443 of each name must lead here."`
	ACMEEmail        string        `name:"acme-email" env:"WARREN_ACME_EMAIL" placeholder:"ADDRESS" group:"Security" help:"Where the authority writes to when something is wrong with a certificate."`
	ACMEDirectory    string        `name:"acme-directory" default:"https://acme-v02.api.letsencrypt.org/directory" env:"WARREN_ACME_DIRECTORY" placeholder:"URL" group:"Security" help:"The authority's directory."`
	APIKey           string        `kong:"-"` // WARREN_API_KEY: a secret has no place on a command line
	APIKeyFile       string        `name:"api-key-file" env:"WARREN_API_KEY_FILE" placeholder:"FILE" group:"Security" help:"File that holds the admin key."`
	SecretKey        string        `name:"secret-key-file" env:"WARREN_SECRET_KEY_FILE" placeholder:"FILE" group:"Security" help:"File with the key that seals proxy passwords. Default: secret.key in the data folder."`
	LogLevel         string        `name:"log-level" default:"info" enum:"debug,info,warn,error" env:"WARREN_LOG_LEVEL" group:"Basics" help:"What the log holds. info: changes, refusals and failures; debug: every request too."`
	LogFormat        string        `name:"log-format" default:"auto" enum:"auto,text,json" env:"WARREN_LOG_FORMAT" group:"Basics" help:"auto: text on a terminal, JSON otherwise."`
	LogFile          string        `name:"log-file" env:"WARREN_LOG_FILE" placeholder:"FILE" group:"Basics" help:"Append the log to this file; SIGHUP opens it anew, for rotation. Default: standard error."`
	MetricsListen    string        `name:"metrics-listen" env:"WARREN_METRICS_LISTEN" placeholder:"HOST:PORT" group:"Basics" help:"Serve GET /metrics at this address too, without a key: it is open to whoever reaches it. It tells counts and no names. Default: only with a key at --listen."`

	configFile    string // where the flags' values may stand; it need not be there
	proxies       []netip.Prefix
	checkEvery    pool.Every
	checkPlainURL string
	certificate   *certificate // nil without TLS
	spans         tally.Spans  // nil without a collector of traces
	backupTo      packs.Blobs  // the place of --backup-to
	labels        map[string]string
	given         []api.Flag // the settings as they were given, without secrets
}

// misuse is an error of the caller, with exit code 2. refusal is a refusal for safety, with exit code 3.
type (
	misuse  struct{ error }
	refusal struct{ error }
)

func misusef(format string, a ...any) error { return misuse{fmt.Errorf(format, a...)} }
func refusef(format string, a ...any) error { return refusal{fmt.Errorf(format, a...)} }
func (m misuse) Unwrap() error              { return m.error }
func (m refusal) Unwrap() error             { return m.error }
func (misuse) ExitCode() int                { return cli.ExitMisused }
func (refusal) ExitCode() int               { return cli.ExitRefused }

// defaultCheckURLs are the services that checks ask, through the proxy under test only. --check-url replaces them.
func defaultCheckURLs() []string {
	return []string{"https://ipinfo.io/json", "https://api.ipify.org?format=json"}
}

// defaultPlainURL shows whether the proxy takes plain HTTP too. With --check-url, the first of those that is http does.
const defaultPlainURL = "http://api.ipify.org?format=json"

// faults collects what is wrong with a configuration.
type faults []error

func (f *faults) add(format string, a ...any) { *f = append(*f, fmt.Errorf(format, a...)) }

// resolve fills in the defaults and checks every setting. The error names all faults.
func (c *serveConfig) resolve() error {
	var f faults
	c.given = c.settings()
	c.resolveData(&f)
	c.checkStore(&f)
	c.resolveNode(&f)
	c.resolveBrowsers(&f)
	c.checkBrowserMirror(&f)
	c.resolveClientFiles(&f)
	c.checkListen(&f)
	c.resolveTLS(&f)
	c.checkACME(&f)
	c.resolveBehindProxy(&f)
	c.resolveCheckURLs(&f)
	c.checkEvery = pool.ParseEvery(c.CheckEvery, f.add)
	c.checkBounds(&f)
	c.checkRunLimits(&f)
	c.checkBackups(&f)
	c.takeCredentials()
	c.resolveKey(&f)
	c.resolveLog(&f)
	if c.MaxStarting == 0 {
		c.MaxStarting = runs.DefaultMaxStarting()
	}
	if err := errors.Join(f...); err != nil {
		return misuse{err}
	}
	return nil
}

// resolveData makes the data folder absolute. The default is the platform's data folder.
func (c *serveConfig) resolveData(f *faults) {
	dir, err := dataDir(c.Data)
	if err != nil {
		f.add("no data folder: %v; give one with --data DIR", err)
	}
	c.Data = dir
	if abs, err := filepath.Abs(c.Data); err == nil {
		c.Data = abs
	}
}

// checkStore refuses what is not an address of PostgreSQL. The address is never shown: it may have a password.
func (c *serveConfig) checkStore(f *faults) {
	if c.Store == "" {
		return
	}
	if err := store.CheckAddress(c.Store); err != nil {
		f.add("--store %w", err)
	}
}

// resolveBrowsers makes the folders of builds absolute. They must exist: a wrong path would otherwise go unnoticed.
func (c *serveConfig) resolveBrowsers(f *faults) {
	for i, dir := range c.Browsers {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			f.add("--browsers %q is not a folder", dir)
		}
		if abs, err := filepath.Abs(dir); err == nil {
			c.Browsers[i] = abs
		}
	}
}

func (c *serveConfig) checkBrowserMirror(f *faults) {
	if c.BrowserMirror == runs.InstallOff {
		return
	}
	if err := shim.CheckMirror(c.BrowserMirror); err != nil {
		f.add("%w", err)
	}
}

func (c *serveConfig) checkListen(f *faults) {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		f.add("--listen %q is not HOST:PORT", c.Listen)
	}
	if _, _, err := net.SplitHostPort(c.MetricsListen); err != nil && c.MetricsListen != "" {
		f.add("--metrics-listen %q is not HOST:PORT", c.MetricsListen)
	}
}

// resolveTLS loads the certificate.
func (c *serveConfig) resolveTLS(f *faults) {
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		f.add("--tls-cert and --tls-key go together")
	case c.TLSCert != "":
		c.certificate = &certificate{file: c.TLSCert, key: c.TLSKey}
		if err := c.certificate.load(); err != nil {
			f.add("--tls-cert and --tls-key: %v", err)
		}
	}
}

// resolveBehindProxy parses the networks of the reverse proxies. An address alone is a network of one.
func (c *serveConfig) resolveBehindProxy(f *faults) {
	for _, p := range c.BehindProxy {
		prefix, err := parsePrefix(p)
		if err != nil {
			f.add("--behind-proxy %q is not a network such as 10.0.0.0/8", p)
		}
		c.proxies = append(c.proxies, prefix)
	}
}

// resolveCheckURLs checks the services that checks ask.
func (c *serveConfig) resolveCheckURLs(f *faults) {
	if len(c.CheckURL) == 0 {
		c.CheckURL, c.checkPlainURL = defaultCheckURLs(), defaultPlainURL
	}
	checkServices(f, "check-url", c.CheckURL)
	checkServices(f, "check-url6", c.CheckURL6)
	if u, err := url.Parse(c.CheckUDPURL); c.CheckUDPURL != "" && (err != nil || u.Scheme != "stun" || u.Hostname() == "") {
		f.add("--check-udp-url %q must be stun://HOST:PORT", c.CheckUDPURL)
	}
}

func checkServices(f *faults, flag string, urls []string) {
	for _, text := range urls {
		if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
			f.add("--%s %q must begin with http:// or https://", flag, text)
		} else if u, err := url.Parse(text); err == nil && proxy.IsDebugHost(u.Hostname()) {
			f.add("--%s %q is of 127.77.0.0/16, where runs listen for debuggers", flag, text)
		}
	}
}

// takeCredentials takes the keys that the service manager hands over (systemd.exec(5), LoadCredential=), where nothing else gives them.
func (c *serveConfig) takeCredentials() {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	for name, file := range map[string]*string{"warren.secret-key": &c.SecretKey, "warren.api-key": &c.APIKeyFile} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); dir != "" && *file == "" && err == nil && info.Mode().IsRegular() {
			*file = path
		}
	}
}

// resolveKey reads the admin key from its file, unless WARREN_API_KEY gives it.
func (c *serveConfig) resolveKey(f *faults) {
	given := c.APIKey != ""
	if c.APIKeyFile != "" && !given {
		b, err := os.ReadFile(c.APIKeyFile)
		if err != nil {
			f.add("--api-key-file: %v", err)
		}
		c.APIKey, given = strings.TrimSpace(string(b)), err == nil
	}
	if given {
		if err := api.CheckKey(c.APIKey); err != nil {
			f.add("%w", err)
		}
	}
}

// resolveLog makes the log's file absolute. It may be impossible to write: the server then logs to standard error.
func (c *serveConfig) resolveLog(f *faults) {
	if c.LogFile == "" {
		return
	}
	abs, err := filepath.Abs(c.LogFile)
	if err != nil {
		f.add("--log-file %q: %v", c.LogFile, err)
	}
	c.LogFile = abs
}

// checkBounds checks the settings that have a smallest and a largest value.
func (c *serveConfig) checkBounds(f *faults) {
	checkBound(f, "check-timeout", c.CheckTimeout, 100*time.Millisecond, 5*time.Minute)
	checkBound(f, "rotate-every", c.RotateEvery, 0, 24*time.Hour)
	checkBound(f, "rotate-timeout", c.RotateTimeout, time.Second, 10*time.Minute)
	checkBound(f, "start-timeout", c.StartTimeout, time.Second, 10*time.Minute)
	checkBound(f, "orphan-grace", c.OrphanGrace, 0, 24*time.Hour)
	checkBound(f, "queue-timeout", c.QueueTimeout, 0, 24*time.Hour)
	checkBound(f, "audit-days", c.AuditDays, 0, 36500)
	checkBound(f, "trash-days", c.TrashDays, 0, 36500)
	if _, ok := c.FilesQuota.parse(); !ok {
		f.add("--files-quota %q must be a number of bytes, or of KiB, MiB, GiB or TiB", string(c.FilesQuota))
	}
	if n, ok := c.UploadLimit.parse(); !ok || n > runs.MaxUpload {
		f.add("--upload-limit %q must be a number of bytes, of KiB or of MiB, 1GiB at most", string(c.UploadLimit))
	}
	checkBound(f, "freeze-after", c.FreezeAfter, 0, 30*24*time.Hour)
	checkBound(f, "max-starting", c.MaxStarting, 0, 1000)
	checkBound(f, "max-running", c.MaxRunning, 0, 100000)
	checkBound(f, "warm", c.Warm, 0, 100)
	checkBound(f, "max-queue", c.MaxQueue, 1, 100000)
	checkBound(f, "check-at-once", c.CheckAtOnce, 0, 10000)
}

func checkBound[T int | time.Duration](f *faults, flag string, value, least, most T) {
	if value < least || value > most {
		f.add("--%s %v must be %v to %v", flag, value, least, most)
	}
}

// readOnly reports whether browsers may write only their own folders and --client-files. It is so as root, where a fault
// would hand over the whole machine, and where clients are on other machines.
func (c *serveConfig) readOnly() bool { return os.Geteuid() == 0 || !c.onLoopback() }

// resolveClientFiles makes the folders absolute. A folder inside a covered one is refused, since it would open that.
func (c *serveConfig) resolveClientFiles(f *faults) {
	for i, dir := range c.ClientFiles {
		abs, err := filepath.Abs(dir)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if info, failed := os.Stat(dir); err != nil || failed != nil || !info.IsDir() {
			f.add("--client-files %q is not a folder", dir)
			continue
		}
		c.ClientFiles[i] = abs
		for _, closed := range c.covered() {
			if real, err := filepath.EvalSymlinks(closed); err == nil && lies(abs, real) {
				f.add("--client-files %q lies in %q, which is closed to every client: name another folder", dir, closed)
			}
		}
	}
}

// lies reports whether path is dir or lies below it.
func lies(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func parsePrefix(s string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.ParsePrefix(s)
}

// onLoopback reports whether only this machine reaches the address to listen on.
func (c *serveConfig) onLoopback() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	return err == nil && isThisMachine(host)
}

func (c *serveConfig) allowPrivate() bool {
	return c.AllowPrivate == "yes" || c.AllowPrivate == "auto" && c.onLoopback()
}

// dataDir is the folder that was given; "" is the platform's place for application data.
func dataDir(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	if d := os.Getenv("STATE_DIRECTORY"); d != "" { // systemd's StateDirectory=
		return d, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support", "warren"), nil
	case "windows":
		if d := os.Getenv("LocalAppData"); d != "" {
			return filepath.Join(d, "warren"), nil
		}
		return filepath.Join(home, "AppData", "Local", "warren"), nil
	}
	if d := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(d) { // a relative one is to be ignored (XDG Base Directory Specification)
		return filepath.Join(d, "warren"), nil
	}
	return filepath.Join(home, ".local", "share", "warren"), nil
}

// pool is the configuration of the pool.
func (cfg *serveConfig) pool(own pool.Own) pool.Config {
	return pool.Config{AtOnce: cfg.CheckAtOnce, Files: openFiles(), Every: cfg.checkEvery, RotateEvery: cfg.RotateEvery,
		RotateTimeout: cfg.RotateTimeout, Own: own, Spans: cfg.spans}
}

// webhooks is the configuration of the webhooks.
func (cfg *serveConfig) webhooks(own pool.Own) webhooks.Config {
	return webhooks.Config{Own: own, Policy: proxy.Policy{DebugPorts: shim.DebugPorts(filepath.Join(cfg.Data, "run")),
		AllowPrivate: cfg.WebhookPrivate == "yes" || cfg.WebhookPrivate == "auto" && cfg.AllowPrivate == "yes"}}
}

// api is the configuration of the API. address is where the server listens.
func (cfg *serveConfig) api(address net.Addr, log *slog.Logger) api.Config {
	c := api.Config{Version: versionInfo(), Data: cfg.Data, Listen: cfg.Listen, Address: address, AllowHost: cfg.AllowHost,
		BehindProxy: cfg.proxies,
		Key:         cfg.APIKey, AllowPrivate: cfg.allowPrivate(), UploadLimit: cfg.UploadLimit.bytes(), OpenFiles: openFiles(),
		AuditDays: cfg.AuditDays, Settings: cfg.given}
	if len(cfg.ACME) > 0 {
		c.TLS = cfg.acmeTLS(log)
	}
	if cfg.certificate != nil {
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cfg.certificate.get}
	}
	return c
}

// runs is the configuration of the runs. node is this server among those that share a database.
func (cfg *serveConfig) runs(own pool.Own, node *nodes.Node) runs.Config {
	c := runs.Config{Data: cfg.Data, Browser: cfg.Browser, Browsers: cfg.Browsers, BrowserMirror: cfg.BrowserMirror,
		Headless: cfg.Headless, AllowPrivate: cfg.allowPrivate(),
		Protected: cfg.covered(), ReadOnly: cfg.readOnly(), ClientFiles: cfg.ClientFiles, FilesQuota: cfg.FilesQuota.bytes(),
		RequireIsolation: cfg.RequireIsolation, KeepBrowsers: cfg.KeepBrowsers, MaxStarting: cfg.MaxStarting, MaxRunning: cfg.MaxRunning,
		Warm: cfg.Warm, NoSnapshots: cfg.Snapshots == "off",
		MaxQueue: cfg.MaxQueue, QueueTimeout: cfg.QueueTimeout, StartTimeout: cfg.StartTimeout, OrphanGrace: cfg.OrphanGrace,
		TrashDays: cfg.TrashDays, Own: own, Node: node.Owner(), FreezeAfter: cfg.FreezeAfter,
		Limits: runs.Limits{MemoryBytes: cfg.RunMemory.bytes(), CPUPercent: cfg.RunCPU, PIDs: cfg.RunPIDs}}
	if cfg.APIKey != "" {
		c.EnvironmentKey = api.EnvironmentMark(cfg.APIKey)
	}
	if c.Node != "" {
		c.Packages = node
	}
	return c
}

// schedules is the configuration of the schedules. node is this server among those that share a database.
func (cfg *serveConfig) schedules(node *nodes.Node) schedules.Config {
	c := schedules.Config{Node: node.Owner(), Nodes: node}
	if c.Node != "" {
		c.Elsewhere = node
	}
	return c
}

// checkRunLimits checks what runs may use of the machine. 0 is no limit.
func (c *serveConfig) checkRunLimits(f *faults) {
	n, ok := c.RunMemory.parse()
	if !ok || n != 0 && (n < runs.MinMemoryMB<<20 || n > runs.MaxMemoryMB<<20) {
		f.add("--run-memory %q must be 0, or a number of bytes, MiB or GiB from 256MiB to 1TiB", string(c.RunMemory))
	}
	if c.RunCPU != 0 {
		checkBound(f, "run-cpu", c.RunCPU, runs.MinCPUPercent, runs.MaxCPUPercent)
	}
	if c.RunPIDs != 0 {
		checkBound(f, "run-pids", c.RunPIDs, runs.MinPIDs, runs.MaxPIDs)
	}
}

// byteSize is a number of bytes on the command line: 5368709120, 5GiB, 500MiB, 64KiB. 0 is no limit.
type byteSize string

func (b byteSize) bytes() int64 {
	n, _ := b.parse()
	return n
}

func (b byteSize) parse() (n int64, ok bool) {
	text, unit := string(b), int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40} {
		if number, found := strings.CutSuffix(text, suffix); found {
			text, unit = strings.TrimSpace(number), size
		}
	}
	if len(text) > 15 || text == "" && b != "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	for _, digit := range text {
		n = n*10 + int64(digit-'0')
	}
	if n > (1<<50)/unit {
		return 0, false
	}
	return n * unit, true
}
