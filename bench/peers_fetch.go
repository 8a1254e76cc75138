package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed peers/gost.go.txt
var gostMain string

//go:embed peers/proxy-chain.mjs
var proxyChainMain string

//go:embed peers/drive.mjs
var driveMain string

// pinned returns the peers in the versions that are fetched. A program that the machine has tells its own version.
func pinned() peers {
	return peers{
		pocketBase:  peer{name: "PocketBase", version: "0.36.8"}, // later ones need Go 1.27
		glider:      peer{name: "glider", version: "0.16.4"},
		gost:        peer{name: "gost", version: "x 0.15.2"}, // its parts; its command is not served as a module
		proxyChain:  peer{name: "proxy-chain", version: "3.0.1"},
		mubeng:      peer{name: "mubeng", version: "0.23.0"},
		curl:        peer{name: "curl"},
		playwright:  peer{name: "playwright-core", version: "1.65.1"},
		puppeteer:   peer{name: "puppeteer-core", version: "24.43.1"}, // later ones need Node 22
		browserless: peer{name: "browserless", version: "2.42.0"},
		steel:       peer{name: "steel-browser", version: "latest"},
	}
}

// fetchPeers fetches every peer into the folder of this run. A peer that is not to be had says why.
func (b *bench) fetchPeers(ctx context.Context) (*peers, error) {
	p := pinned()
	p.bench = b
	for _, f := range []struct {
		peer  *peer
		fetch func(context.Context, *peer) error
	}{
		{&p.pocketBase, b.fetchGo("github.com/pocketbase/pocketbase", "/examples/base")},
		{&p.glider, b.fetchGo("github.com/nadoo/glider", "")},
		{&p.gost, b.fetchGost}, {&p.proxyChain, b.fetchProxyChain}, {&p.mubeng, b.fetchGo("github.com/mubeng/mubeng", "/cmd/mubeng")},
		{&p.curl, findCurl}, {&p.playwright, p.fetchLibraries}, {&p.puppeteer, p.fetchLibraries}, {&p.browserless, b.fetchBrowserless},
		{&p.steel, b.fetchSteel},
	} {
		progress("fetching %s", f.peer)
		f.peer.err = f.fetch(ctx, f.peer)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	for _, unknown := range []*peer{&p.mubeng, &p.steel} { // nobody could try how to drive them
		if unknown.err == nil {
			unknown.err = errors.New("it is, but nothing here drives it yet")
		}
	}
	return &p, nil
}

// in runs a command in a folder, with further variables.
func in(ctx context.Context, dir string, env []string, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command[:2], " "), err, lastLine(text.String()))
	}
	return nil
}

// lastLine is what a failed command said: npm's code, or the last line.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if _, code, ok := strings.Cut(text, "npm error code "); ok {
		text, _, _ = strings.Cut(code, "\n")
	}
	return strings.TrimSpace(text[strings.LastIndex(text, "\n")+1:])
}

// fetchGo returns a fetch of a Go program: the package at a place in a module.
func (b *bench) fetchGo(module, place string) func(context.Context, *peer) error {
	return func(ctx context.Context, p *peer) error {
		return b.buildGo(ctx, p, "", module+place, "get", "-tool", module+place+"@v"+p.version)
	}
}

// fetchGost builds a program of gost's parts.
func (b *bench) fetchGost(ctx context.Context, p *peer) error {
	return b.buildGo(ctx, p, gostMain, ".", "get", "github.com/go-gost/x@v"+strings.TrimPrefix(p.version, "x "))
}

// buildGo builds a package in a module of its own, which get requires. The program's text is main, if it is not theirs.
func (b *bench) buildGo(ctx context.Context, p *peer, main, pkg string, get ...string) error {
	dir, err := os.MkdirTemp(b.dir, p.name+"-")
	if err != nil {
		return err
	}
	if main != "" {
		if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o600); err != nil {
			return err
		}
	}
	p.program = filepath.Join(dir, "program")
	env := []string{"GOWORK=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0"}
	for _, args := range [][]string{{"mod", "init", "peer"}, get, {"build", "-trimpath", "-ldflags=-s -w", "-o", p.program, pkg}} {
		if err := in(ctx, dir, env, append([]string{"go"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// fetchNPM installs packages in a folder of their own. Nothing that they bring is run.
func (b *bench) fetchNPM(ctx context.Context, packages ...string) (string, error) {
	dir, err := os.MkdirTemp(b.dir, "npm-")
	if err != nil {
		return "", err
	}
	command := append([]string{"npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir}, packages...)
	return dir, in(ctx, dir, nil, command...)
}

// fetchProxyChain installs proxy-chain with the script that serves it.
func (b *bench) fetchProxyChain(ctx context.Context, p *peer) error {
	dir, err := b.fetchNPM(ctx, "proxy-chain@"+p.version)
	if err != nil {
		return err
	}
	p.program = filepath.Join(dir, "serve.mjs")
	return os.WriteFile(p.program, []byte(proxyChainMain), 0o600)
}

// fetchLibraries installs Playwright and Puppeteer once, with the script that drives them.
func (p *peers) fetchLibraries(ctx context.Context, _ *peer) error {
	if p.drive != "" {
		return nil
	}
	dir, err := p.fetchNPM(ctx, "playwright-core@"+p.playwright.version, "puppeteer-core@"+p.puppeteer.version)
	if err != nil {
		return err
	}
	p.drive = filepath.Join(dir, "drive.mjs")
	return os.WriteFile(p.drive, []byte(driveMain), 0o600)
}

// fetchBrowserless installs the server, and leaves it the routes of Chromium alone, as its own image for Chromium does.
func (b *bench) fetchBrowserless(ctx context.Context, p *peer) error {
	dir, err := b.fetchNPM(ctx, "@browserless.io/browserless@"+p.version)
	if err != nil {
		return err
	}
	p.program = filepath.Join(dir, "node_modules/@browserless.io/browserless/build/index.js")
	for _, other := range []string{"chrome", "edge", "firefox", "webkit"} {
		err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(p.program), "routes", other)))
	}
	return err
}

func (b *bench) fetchSteel(ctx context.Context, p *peer) error {
	_, err := b.fetchNPM(ctx, p.name+"@"+p.version)
	return err
}

// findCurl takes the machine's curl.
func findCurl(ctx context.Context, p *peer) error {
	text, err := exec.CommandContext(ctx, "curl", "--version").Output()
	if words := strings.Fields(string(text)); len(words) > 1 {
		p.program, p.version = words[0], words[1]
	}
	return err
}

// freeAddress returns an address of loopback that nobody listens on now.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// spawnAt starts a program that serves on an address that it was told, and waits until it does.
func (b *bench) spawnAt(ctx context.Context, address string, cmd *exec.Cmd) (*child, error) {
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, address: address, dead: make(chan struct{})}
	go func() {
		cmd.Wait() //nolint:errcheck // an early exit shows below
		close(c.dead)
	}()
	b.cleanup = append(b.cleanup, c.stop)
	for {
		if conn, err := net.Dial("tcp", address); err == nil {
			return c, conn.Close()
		}
		select {
		case <-c.dead:
			return nil, fmt.Errorf("%s ended before it served: %s", cmd.Path, lastLine(text.String()))
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
