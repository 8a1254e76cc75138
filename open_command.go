package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// openTime is how long a system's opener may take to fail. Most return as soon as the browser has the address.
const openTime = 3 * time.Second

type openCommand struct {
	apiClient
	Print bool `help:"Print the link instead. It works once, within 10 minutes."`
}

// Run makes a login link, and opens or prints it. It prints where there is no display.
func (o *openCommand) Run(ctx context.Context, c *console) error {
	var link struct {
		URL       string `json:"url"`
		ExpiresAt string `json:"expiresAt"`
	}
	if err := o.call(ctx, http.MethodPost, "/login-links", nil, &link); err != nil {
		return err
	}
	if o.JSON {
		return printJSON(c.stdout, link)
	}
	opener := openerOf(runtime.GOOS, os.Getenv)
	if o.Print || opener == nil {
		_, err := fmt.Fprintln(c.stdout, link.URL)
		return err
	}
	if err := open(append(opener, link.URL)); err != nil {
		_, failed := fmt.Fprintf(c.stdout, "No browser could be opened (%v). Open this link yourself, once, within 10 minutes:\n\n    %s\n",
			err, link.URL)
		return failed
	}
	_, err := fmt.Fprintln(c.stdout, "The page opens in your browser. `warren open --print` prints a link instead.")
	return err
}

// open runs an opener. One that runs on after openTime is the browser itself, and is left alone.
func open(command []string) error {
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
