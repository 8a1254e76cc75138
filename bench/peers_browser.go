package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// driver is the script that starts browsers in one way or another, as its users do.
type driver struct {
	in  io.WriteCloser
	out *bufio.Scanner
	cmd *exec.Cmd
}

// newDriver starts the script. As root it is in a user namespace as an ordinary user, so that its browsers keep their
// sandbox, as ours do.
func newDriver(script string) (*driver, error) {
	d := &driver{cmd: exec.Command("node", script)}
	d.cmd.Stderr, d.cmd.SysProcAttr = os.Stderr, withSandbox()
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.out = bufio.NewScanner(out)
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return d, d.cmd.Start()
}

func (d *driver) stop() error { return errors.Join(d.in.Close(), d.cmd.Wait()) }

// start has the script start a browser. It returns the milliseconds until the start was answered, until a page of it
// evaluated, and of a new page.
func (d *driver) start(way string, how map[string]string) ([]float64, error) {
	var took struct{ Answered, Ready, Page float64 }
	err := d.ask(way, how, &took)
	return []float64{took.Answered, took.Ready, took.Page}, err
}

// ask has the script work in a way, and reads its answer into out.
func (d *driver) ask(way string, how map[string]string, out any) error {
	how["way"] = way
	text, err := json.Marshal(how)
	if err != nil {
		return err
	}
	if _, err := d.in.Write(append(text, '\n')); err != nil {
		return err
	}
	if !d.out.Scan() {
		return errors.Join(errors.New("the script ended"), d.out.Err())
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(d.out.Bytes(), &failed); err != nil {
		return err
	}
	if failed.Error != "" {
		return fmt.Errorf("%s: %s", way, failed.Error)
	}
	return json.Unmarshal(d.out.Bytes(), out)
}

// launches compares starts: what a program waits for until it has a page, and a new page in that browser. Every browser is
// behind a SOCKS5 proxy, and has a warm folder of its own; browserless gives it a new one.
func (p *peers) launches(ctx context.Context) error {
	const name = "start, until a page evaluates"
	if p.lacks(name, p.playwright) || p.lacks(name, p.puppeteer) {
		return nil
	}
	s, err := p.newStarts(ctx, 1)
	if s == nil {
		return err
	}
	defer s.server.stop()
	relay, err := p.role(ctx, "relay-floor", s.far)
	if err != nil {
		return err
	}
	defer relay.stop()
	d, err := newDriver(p.drive)
	if err != nil {
		return err
	}
	defer d.stop() //nolint:errcheck // its answers were read
	how := func(more map[string]string) map[string]string {
		more["browser"], more["proxy"] = s.browser, "socks5://"+relay.address
		return more
	}
	way := func(name string, more map[string]string) trial {
		return func(context.Context, int) ([]float64, error) { return d.start(name, how(more)) }
	}
	theirs := []peer{p.puppeteer, p.playwright}
	profile := s.server.address + "/api/v1/profiles/" + s.profiles[0]
	sides := []side{{"warren", way("warren", map[string]string{"url": profile, "key": s.server.key})},
		{"puppeteer", way("puppeteer", map[string]string{"folder": filepath.Join(p.dir, "puppeteer")})},
		{"playwright", way("playwright", map[string]string{"folder": filepath.Join(p.dir, "playwright")})}}
	if !p.lacks("session of a browser server", p.browserless) {
		server, err := p.serveBrowserless(ctx, s.browser)
		if err != nil {
			return err
		}
		defer server.stop()
		theirs = append(theirs, p.browserless)
		sides = append(sides, side{"browserless", way("browserless", map[string]string{"url": server.address})})
	}
	for _, first := range sides { // warms the folders
		if _, err := first.run(ctx, 0); err != nil {
			return err
		}
	}
	got, err := p.play(ctx, "launches", 2*p.bench.rounds, sides...)
	if err != nil {
		return err
	}
	for i, one := range theirs {
		p.compare(one, got[0], got[i+1], peerFigure{work: "start, until it is answered", unit: "ms"}, peerFigure{work: name, unit: "ms"},
			peerFigure{work: "new page, until it evaluates", unit: "ms"})
	}
	return nil
}

// serveBrowserless starts browserless with the browser. Its address is what a client connects to.
func (p *peers) serveBrowserless(ctx context.Context, browser string) (*child, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	root := filepath.Join(filepath.Dir(p.browserless.program), "../../../..")
	env := append(os.Environ(), "PLAYWRIGHT_BROWSERS_PATH="+filepath.Join(root, "browsers"))
	ask := exec.CommandContext(ctx, "node", "-e", "console.log(require('playwright-core').chromium.executablePath())")
	ask.Dir, ask.Env = root, env
	place, err := ask.Output()
	if err != nil {
		return nil, err
	}
	file := strings.TrimSpace(string(place)) // where it looks for its own browser
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.Symlink(browser, file)); err != nil {
		return nil, err
	}
	host, port, _ := strings.Cut(address, ":")
	token := rand.Text()
	cmd := exec.Command("node", p.browserless.program)
	cmd.Dir, cmd.SysProcAttr = root, withSandbox()
	cmd.Env = append(env, "HOST="+host, "PORT="+port, "TOKEN="+token, "DEBUG=-*")
	c, err := p.spawnAt(ctx, address, cmd)
	if err != nil {
		return nil, err
	}
	c.address = "ws://" + address + "/chromium?token=" + token
	return c, nil
}
