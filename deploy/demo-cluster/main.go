//go:build unix

// Command demo-cluster shows several servers of one PostgreSQL, all on this machine and without a network. It is not part of the shipped
// binary. `make demo-cluster` runs it; docs/cluster.md has what it says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"warren/demonet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "demo-cluster:", err)
		stop()
		os.Exit(1)
	}
}

// demo is one demonstration.
type demo struct {
	cluster *cluster
	site    *demonet.Site
	proxy   *demonet.Proxy
	events  *eventLog
	begun   time.Time

	proxyID  string
	profiles []string
	driven   string // the profile that one server runs and others drive
	runID    string
	liveURL  string
}

// run shows the steps, and serves on until ctx ends.
func run(ctx context.Context) error {
	program := flag.String("warren", "./warren", "the binary")
	exit := flag.Bool("exit", false, "end after the steps, with 0 only if each worked")
	flag.Parse()
	programs := postgresPrograms()
	if programs == "" {
		fmt.Println("demo-cluster: skipped, PostgreSQL is not installed (apt install postgresql)")
		return nil
	}
	binary, err := filepath.Abs(*program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(shortTemp(), "warren-cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	d := &demo{cluster: newCluster(dir, binary, programs), begun: time.Now()}
	defer d.cluster.end()
	if d.site, err = demonet.NewSite(); err != nil {
		return err
	}
	defer d.site.Close()
	if d.proxy, err = demonet.NewProxy("127.0.0.1:0", d.site.Address()); err != nil {
		return err
	}
	defer d.proxy.Close()
	if err := d.tell(ctx); err != nil || *exit {
		return err
	}
	c := d.cluster.servers[2]
	fmt.Printf("\nThe page of server c, which shows all three:\n\n    %s/#key=%s\n\nThe browser of server a, through server c:\n\n"+
		"    %s\n\nCtrl-C ends the demo and removes its folder.\n", c.address, d.cluster.key, d.liveURL)
	<-ctx.Done()
	return nil
}

// shortTemp is a folder for temporary files whose path leaves room for a socket's.
func shortTemp() string {
	if t := os.TempDir(); len(t) < 40 {
		return t
	}
	return "/tmp"
}

// tell shows the steps. A step that did not work is an error.
func (d *demo) tell(ctx context.Context) error {
	fmt.Printf("warren demo-cluster: everything on this machine, no network\n\n")
	for i, s := range []struct {
		title string
		do    func(context.Context) (string, error)
	}{
		{"one PostgreSQL, and three servers of it", d.stage},
		{"add a SOCKS5 proxy with a password at server a, check it at server b", d.addProxy},
		{fmt.Sprintf("create %d profiles, each at another server than the one before", profiles), d.create},
		{"start each at any server, and stop it at another: they are placed where there is room", d.place},
		{"drive a browser of server a through server c: a page by the proxy", d.drive},
		{"server a is killed: its profile is refused, the others go on", d.kill},
		{"server a is back: it adopts its browser, which server c drives again", d.back},
		{"the events of all servers, in one stream of server c", d.told},
	} {
		result, err := s.do(ctx)
		if err != nil {
			fmt.Printf("%2d. %s\n    FAILED: %v\n", i+1, s.title, err)
			return errors.Join(fmt.Errorf("step %d (%s): %w", i+1, s.title, err), d.cluster.logs())
		}
		fmt.Printf("%2d. %s\n    %s\n", i+1, s.title, strings.ReplaceAll(result, "\n", "\n    "))
	}
	fmt.Printf("\nAll of it took %.0f s.\n", time.Since(d.begun).Seconds())
	return nil
}
