// Warren keeps browser profiles and proxies and runs each profile's Chrome behind its proxy, so that nothing gets out beside it.
package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"warren/cli"
	"warren/configfile"
	"warren/service"
	"warren/shim"
	"warren/userdata"
)

// version and commit are set by the build (-ldflags "-X main.version=…"). Without a commit, Go's own stamp of the repository counts.
var (
	version = "dev"
	commit  = ""
)

//go:embed deploy/warren.service deploy/warren-user.service deploy/warren.sysusers deploy/warren.tmpfiles deploy/warren.plist
//go:embed deploy/apparmor-warren
var serviceFiles embed.FS

func main() {
	if len(os.Args) == 2 && os.Args[1] == shim.ChildArgument { // one thread, which becomes a browser: nothing else may begin
		os.Exit(exitCode(shim.EnterNamespace(), os.Stderr))
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if hasTerminal() && !signal.Ignored(syscall.SIGHUP) { // a terminal that is closed ends what runs in it, but under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	// A stream without a reader would end the process, a server because of its log (package os/signal). Notify takes that away, and is not
	// inherited by programs, as Ignore is.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(exitCode(service.Under(ctx, func(ctx context.Context) error {
		return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	}), os.Stderr))
}

// hasTerminal reports whether the process has a controlling terminal (tty(4)). Services have none.
func hasTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err == nil {
		err = tty.Close()
	}
	return err == nil
}

// exitCode prints the error and returns the exit code: 0 done, 1 failed, 2 misused, 3 refused for safety.
func exitCode(err error, stderr io.Writer) int {
	code := cli.ExitCode(err)
	if readerGone(err) {
		return cli.ExitDone
	}
	switch code {
	case cli.ExitDone:
	case cli.ExitRefused:
		fmt.Fprintln(stderr, "warren: refused:", err)
	default:
		fmt.Fprintln(stderr, "warren:", err)
	}
	return code
}

// readerGone reports whether nothing is wrong but that whoever read standard output has gone, as head does after its lines. Nobody is left
// to tell. Of errors that are joined, all must say so.
func readerGone(err error) bool {
	switch e := err.(type) { //nolint:errorlint // each link of the chain
	case *fs.PathError:
		return e.Path == os.Stdout.Name() && errors.Is(e.Err, syscall.EPIPE)
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !readerGone(err) })
	case interface{ Unwrap() error }:
		return readerGone(e.Unwrap())
	}
	return false
}

// commands are the commands and their flags, as kong reads them.
type commands struct {
	Serve   serveConfig     `cmd:"" help:"Serve the API and the page."`
	Demo    demoCommand     `cmd:"" help:"Show everything, with no network: a proxy with a password, a site, two profiles."`
	Doctor  doctorCommand   `cmd:"" help:"Say what this machine has and what it lacks."`
	Compat  compatCommand   `cmd:"" help:"Answer as the local API of another product, for scripts that know only that."`
	Browser browserCommands `cmd:"" help:"List the browsers of this machine, and add, install and remove builds for profiles that declare a version."`
	Backup  backupCommand   `cmd:"" help:"Back the data folder up, also while its server runs."`
	Restore restoreCommand  `cmd:"" help:"Make a data folder from a backup."`
	Check   checkCommand    `cmd:"" help:"Check the snapshots of a data folder or of a backup."`
	Store   storeCommands   `cmd:"" help:"Copy the database to PostgreSQL, or back."`
	Version versionCmd      `cmd:"" help:"Print the version."`
	Config  configCommands  `cmd:"" help:"Check and print the configuration of serve."`

	InstallService   service.Install   `cmd:"" name:"install-service" help:"Run serve as a service: systemd's, launchd's or Windows'. Says each step."`
	UninstallService service.Uninstall `cmd:"" name:"uninstall-service" help:"Stop and remove that service. The data stay."`

	Shim shimCommand `cmd:"" hidden:"" help:"One run as a process of its own; the server starts it."`

	ConfigFile string `name:"config" env:"WARREN_CONFIG" placeholder:"FILE" help:"The configuration file, in TOML. Default: warren/config.toml in your configuration folder."`
}

// console holds the streams that commands read and write.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// finished is the panic with which kong's --help ends the parse.
type finished struct{}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	// Libraries write there what others sent, as net/http does with what a proxy says unasked, and a run's log file has no bound. What is
	// ours to say has a logger of its own.
	log.SetOutput(io.Discard)
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(finished); !ok {
				panic(v)
			}
		}
	}()
	if len(args) == 1 && args[0] == "shim" { // without the command line's machinery: every start waits for this
		return shimCommand{}.Run(ctx, &console{stdin, stdout, stderr})
	}
	if len(args) == 1 && args[0] == "--version" {
		return versionCmd{}.Run(&console{stdin, stdout, stderr})
	}
	if client := cli.New(program{}); client.Has(args) {
		return client.Run(ctx, args, cli.Streams{In: stdin, Out: stdout, Err: stderr})
	}
	file := configfile.New("serve", "config")
	parser, err := newParser(ctx, new(commands), &console{stdin, stdout, stderr}, kong.Resolvers(file), kong.Bind(file))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if faults := file.Refusal(); faults != nil {
		return misuse{errors.Join(faults, err)}
	}
	if err != nil && !slices.ContainsFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == args[0] }) {
		return cli.New(program{}).Unknown(args[0])
	}
	if err != nil {
		return err
	}
	return parsed.Run()
}

// newParser returns the parser of the commands that call no server.
func newParser(ctx context.Context, into *commands, c *console, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(into, append([]kong.Option{kong.Name("warren"), kong.Writers(c.stdout, c.stderr), kong.UsageOnError(),
		kong.Description("Browser profiles, each behind its proxy. Flags may also stand in the environment as WARREN_…, and those of " +
			"serve in a file."),
		kong.Exit(func(int) { panic(finished{}) }), kong.BindTo(ctx, (*context.Context)(nil)), kong.ExplicitGroups(flagGroups()),
		kong.BindTo(c.stdout, (*io.Writer)(nil)), kong.BindTo(serviceFiles, (*service.Files)(nil)), kong.Bind(c)}, options...)...)
}

// program is what the command line for a server needs to know of this program.
type program struct{}

// Version returns the version.
func (program) Version() string { return version }

// DataDir returns the data folder that the configuration file names, else the platform's.
func (program) DataDir() (string, error) {
	var c commands
	file := configfile.New("serve")
	nowhere := &console{strings.NewReader(""), io.Discard, io.Discard}
	parser, err := newParser(context.Background(), &c, nowhere, kong.Resolvers(file), kong.Bind(file))
	if err != nil {
		return "", err
	}
	if _, err := parser.Parse([]string{"doctor"}); err != nil { // a command that takes the folder
		return "", err
	}
	if faults := file.Refusal(); faults != nil {
		return "", misuse{faults}
	}
	return dataDir(c.Doctor.Data)
}

// Others returns the parser of the commands that call no server.
func (program) Others() (*kong.Kong, error) {
	return newParser(context.Background(), new(commands), &console{strings.NewReader(""), io.Discard, io.Discard})
}

// Pack packs a folder of user data. What is wrong with the folder is an error of its own, and not of the server.
func (program) Pack(ctx context.Context, w io.Writer, folder string, profiles []string) error {
	err := userdata.Pack(ctx, w, folder, profiles)
	if refused, ok := errors.AsType[*userdata.Refusal](err); ok {
		return cli.Refused(refused)
	}
	return err
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(c *console) error {
	v := versionInfo()
	_, err := fmt.Fprintf(c.stdout, "warren %s (%s, commit %s)\n", v["version"], v["go"], v["commit"])
	return err
}

// versionInfo is the answer of GET /version: version, commit and the version of Go.
func versionInfo() map[string]string {
	out := map[string]string{"version": version, "commit": commit, "go": "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		out["go"] = info.GoVersion
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				out["commit"] = cmp.Or(commit, s.Value)
			}
		}
	}
	out["commit"] = cmp.Or(out["commit"], "unknown")
	return out
}

type shimCommand struct{}

// Run supervises one run from its start to its end.
func (shimCommand) Run(ctx context.Context, c *console) error {
	log := slog.New(slog.NewJSONHandler(c.stderr, nil))
	if shim.IsSpare() {
		return shim.RunSpare(ctx, c.stdin, c.stdout, log)
	}
	return shim.Run(ctx, c.stdin, c.stdout, log)
}
