package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Commands about running profiles: open, view, cdp, logs.

// openTime is how long a system's opener may take to fail. Most return as soon as the browser has the address.
const openTime = 3 * time.Second

// openPage opens the page of the server, logged in, or the live view of a profile, which it starts.
func openPage(s *session) error {
	if s.arg("profile") == "" {
		return s.openLogin()
	}
	id, err := s.single("profile", s.arg("profile"), "")
	if err != nil {
		return err
	}
	in := map[string]any{}
	if s.yes("window") {
		in["headless"] = false
	}
	run, err := s.start(id, in)
	if err != nil {
		return err
	}
	if s.yes("window") {
		return s.say("its window is open on the server's machine")
	}
	return s.show(run, "its live view")
}

// viewProfile opens the live view of a profile that runs.
func viewProfile(s *session) error {
	run, err := s.running(s.arg("profile"), s.yes("start"))
	if err != nil {
		return err
	}
	return s.show(run, "its live view")
}

// running returns the run of a profile with its addresses, and starts it if it may.
func (s *session) running(word string, start bool) (map[string]any, error) {
	id, err := s.single("profile", word, "")
	if err != nil {
		return nil, err
	}
	if start {
		return s.start(id, map[string]any{})
	}
	var p struct {
		Name string         `json:"name"`
		Run  map[string]any `json:"run"`
	}
	if err := s.call(http.MethodGet, "/profiles/"+url.PathEscape(id), nil, &p); err != nil {
		return nil, err
	}
	if p.Run == nil {
		return nil, fmt.Errorf("%q does not run; --start starts it (profile_not_running)", harmless(p.Name))
	}
	run, err := s.start(id, map[string]any{}) // of a run that goes on it answers the addresses of this key, and starts nothing
	if err == nil && run["reused"] == false {
		return nil, errors.Join(fmt.Errorf("%q has stopped meanwhile (profile_not_running)", harmless(p.Name)),
			s.call(http.MethodPost, "/profiles/"+url.PathEscape(id)+"/stop", map[string]any{}, nil))
	}
	return run, err
}

// start starts a profile, or returns the run that it has.
func (s *session) start(id string, in map[string]any) (run map[string]any, err error) {
	stop := s.waiting("starting")
	defer stop()
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.read(s.ctx, request{method: http.MethodPost, path: "/profiles/" + url.PathEscape(id) + "/start",
		kind: "application/json", body: bytes.NewReader(body)})
	if err != nil {
		return nil, err
	}
	return run, json.Unmarshal(answer, &run)
}

// show opens the live view of a run, or prints its address.
func (s *session) show(run map[string]any, what string) error {
	address, _ := run["liveUrl"].(string)
	if address == "" {
		return errors.New("the server gives this key no address of the live view: it needs the scope run")
	}
	return s.openAddress(address, what)
}

// openLogin makes a login link, and opens or prints it.
func (s *session) openLogin() error {
	answer, err := s.client.read(s.ctx, request{method: http.MethodPost, path: "/login-links"})
	if err != nil {
		return err
	}
	if !s.tabular() {
		return s.printObject(answer)
	}
	var link struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(answer, &link); err != nil {
		return err
	}
	return s.openAddress(link.URL, "the page")
}

// openAddress opens an address in the person's browser. It prints it where there is no display.
func (s *session) openAddress(address, what string) error {
	opener := openerOf(runtime.GOOS, os.Getenv)
	if s.yes("print") || opener == nil {
		return s.say("%s", address)
	}
	if err := openWith(append(opener, address)); err != nil {
		return s.say("No browser could be opened (%v). Open this address yourself:\n\n    %s", err, address)
	}
	return s.say("%s opens in your browser; --print prints its address instead", what)
}

// openWith runs an opener. One that runs on after openTime is the browser itself, and is left alone.
func openWith(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(openTime):
		return nil
	}
}

// openerOf is the command that opens an address in the person's browser; nil: there is no display.
func openerOf(system string, env func(string) string) []string {
	switch system {
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	case "darwin":
		if env("SSH_CONNECTION") != "" {
			return nil
		}
		return []string{"open"}
	}
	if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return nil
	}
	return []string{"xdg-open"}
}

// printCDP prints the address alone at which a client drives a running profile. It carries a capability and needs no key.
func printCDP(s *session) error {
	run, err := s.running(s.arg("profile"), s.yes("start"))
	if err != nil {
		return err
	}
	name := "cdpUrl"
	if s.yes("socket") {
		name = "wsEndpoint"
	}
	address, _ := run[name].(string)
	if address == "" {
		return errors.New("the server gives this key no address for clients: it needs the scope run")
	}
	return s.say("%s", address)
}

// showLogs prints the last lines of a run's log, and with --follow what comes, until the run ends.
func showLogs(s *session) error {
	id, err := s.runOf(s.arg("run"))
	if err != nil {
		return err
	}
	seen := map[string][]string{}
	for {
		running, err := s.printLog(id, seen)
		if err != nil || !running || !s.yes("follow") {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-s.ctx.Done():
			return nil
		}
	}
}

// runOf returns the id of a run: of the one that is named, else of the named profile, else of the only one that there is.
func (s *session) runOf(word string) (string, error) {
	if word == "" {
		rows, err := s.runsNow()
		if err != nil {
			return "", err
		}
		if len(rows) != 1 {
			return "", misusef("%d profiles run: name one of them, or a run", len(rows))
		}
		id, _ := member(rows[0], "runId").(string)
		return id, nil
	}
	rows, err := s.runsNow()
	if err != nil {
		return "", err
	}
	for _, v := range rows {
		if member(v, "runId") == word || member(v, "profileId") == word {
			id, _ := member(v, "runId").(string)
			return id, nil
		}
	}
	if wholeID.MatchString(word) { // of a run that has ended the history has the last words
		return word, nil
	}
	profile, err := s.single("profile", word, "")
	if err != nil {
		return "", err
	}
	for _, v := range rows {
		if member(v, "profileId") == profile {
			id, _ := member(v, "runId").(string)
			return id, nil
		}
	}
	return s.lastRun(profile)
}

func (s *session) runsNow() (out []any, err error) {
	err = s.client.each(s.ctx, "/runs", nil, func(row jsontext.Value) (bool, error) {
		v, err := decode(row)
		out = append(out, v)
		return true, err
	})
	return out, err
}

func (s *session) lastRun(profile string) (id string, err error) {
	err = s.client.each(s.ctx, "/profiles/"+url.PathEscape(profile)+"/runs", url.Values{"limit": {"1"}},
		func(row jsontext.Value) (bool, error) {
			v, err := decode(row)
			id, _ = member(v, "runId").(string)
			return false, err
		})
	if err == nil && id == "" {
		err = errors.New("this profile has never run")
	}
	return id, err
}

// printLog prints the lines of the log that were not seen yet, by who said them. running is false after the run's end.
func (s *session) printLog(id string, seen map[string][]string) (running bool, err error) {
	answer, err := s.client.read(s.ctx, request{method: http.MethodGet, path: "/runs/" + url.PathEscape(id) + "/log",
		query: url.Values{"lines": {strconv.Itoa(s.number("lines"))}}})
	if err != nil {
		return false, err
	}
	var log struct {
		Running bool             `json:"running"`
		Data    []jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(answer, &log); err != nil {
		return false, err
	}
	now := map[string][]string{}
	for _, line := range log.Data {
		var by struct {
			Source string `json:"source"`
		}
		if err := json.Unmarshal(line, &by); err != nil {
			return false, err
		}
		now[by.Source] = append(now[by.Source], string(line))
	}
	for _, source := range []string{"run", "browser"} {
		for _, line := range now[source][overlap(seen[source], now[source]):] {
			if err := s.printLine(jsontext.Value(line)); err != nil {
				return false, err
			}
		}
		seen[source] = now[source]
	}
	return log.Running, nil
}

// overlap is how many lines at the beginning of now are the end of before.
func overlap(before, now []string) int {
	for n := min(len(before), len(now)); n > 0; n-- {
		if slices.Equal(before[len(before)-n:], now[:n]) {
			return n
		}
	}
	return 0
}
