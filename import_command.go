package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/go-json-experiment/json"

	"warren/api"
	"warren/userdata"
)

type importCommand struct {
	apiClient
	Path      string   `arg:"" help:"The file, or a folder of Chrome's user data; - reads standard input."`
	Profile   []string `env:"WARREN_IMPORT_PROFILE" help:"Of a folder: which of its profiles, such as Default or 'Profile 1'. May be given several times. Default: all."`
	Workspace string   `env:"WARREN_IMPORT_WORKSPACE" help:"The workspace that gets the profiles."`
	DryRun    bool     `env:"WARREN_IMPORT_DRY_RUN" help:"Say what would become of it, and do nothing."`
	As        string   `default:"new" enum:"new,same" env:"WARREN_IMPORT_AS" help:"Of an archive: new, or same, to keep the profiles' ids."`
}

// Run imports profiles and prints what became of each. What seals an archive stands in WARREN_PASSPHRASE or WARREN_IDENTITY, or in the
// files that WARREN_PASSPHRASE_FILE or WARREN_IDENTITY_FILE names.
func (i *importCommand) Run(ctx context.Context, c *console) error {
	body, err := i.open(ctx, c)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // it was only read
	i.extra = http.Header{}
	for header, variable := range map[string]string{"X-Warren-Passphrase": "WARREN_PASSPHRASE", "X-Warren-Identity": "WARREN_IDENTITY"} {
		if err := i.seal(header, variable); err != nil {
			return err
		}
	}
	q := url.Values{}
	setGiven(q, map[string]string{"workspaceId": i.Workspace})
	if i.As == "same" {
		q.Set("as", "same")
	}
	if i.DryRun {
		q.Set("dryRun", "true")
	}
	res, err := i.apiClient.open(ctx, http.MethodPost, "/profiles/import?"+q.Encode(), "application/octet-stream", body)
	if refused, ok := errors.AsType[*userdata.Refusal](err); ok { // the folder, and not the server
		return refused
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var out api.ImportedProfiles
	if err := json.UnmarshalRead(res.Body, &out); err != nil {
		return err
	}
	if err := i.print(c, out); err != nil {
		return err
	}
	if out.Refused > 0 {
		return fmt.Errorf("%d of %d profiles were refused", out.Refused, len(out.Profiles))
	}
	return nil
}

// open opens what is to be imported.
func (i *importCommand) open(ctx context.Context, c *console) (io.ReadCloser, error) {
	if i.Path == "-" {
		return io.NopCloser(c.stdin), nil
	}
	f, err := os.Open(i.Path)
	if err != nil {
		return nil, misusef("%v", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return i.pack(ctx), f.Close()
	}
	if err == nil && len(i.Profile) > 0 {
		err = errors.New("--profile is for folders of user data")
	}
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no file")
	}
	if err != nil {
		return nil, misusef("%s: %v", i.Path, errors.Join(err, f.Close()))
	}
	return f, nil
}

// pack returns a tar file of the folder, as it is being written. What is wrong with the folder is the error of reading it.
func (i *importCommand) pack(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		err := userdata.Pack(ctx, w, i.Path, i.Profile)
		w.CloseWithError(err) //nolint:errcheck // it never fails
	}()
	return r
}

// seal sets a header from the environment: a secret stands on no command line.
func (i *importCommand) seal(header, variable string) error {
	value := os.Getenv(variable)
	if file := os.Getenv(variable + "_FILE"); value == "" && file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			if path, ok := errors.AsType[*fs.PathError](err); ok {
				err = path.Err
			}
			return misusef("%s_FILE: %v", variable, err)
		}
		value = strings.TrimSpace(string(text))
	}
	if value != "" {
		i.extra.Set(header, value)
	}
	return nil
}

// print writes a line for each profile, then each kind of what was left out once.
func (i *importCommand) print(c *console, out api.ImportedProfiles) error {
	if i.JSON {
		return printJSON(c.stdout, out)
	}
	w := newTable(c.stdout, "NAME\tRESULT\tPROXY\tCOOKIES\tLEFT OUT\n")
	var kinds []string
	about, count := map[string]string{}, map[string]int{}
	for _, p := range out.Profiles {
		var words []string
		for _, warning := range p.Warnings {
			word, message := warning.Code, warning.Message
			if before, after, ok := strings.Cut(message, ": "); ok && word == "left_out" {
				word, message = before, after
			}
			if count[word]++; count[word] == 1 {
				kinds, about[word] = append(kinds, word), message
			}
			words = append(words, word)
		}
		why := strings.Join(words, ", ")
		if p.Reason != "" {
			why = p.Reason
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", p.Name, p.Result, p.Proxy, p.Cookies, why)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, kind := range kinds {
		fmt.Fprintf(c.stdout, "%s (%d): %s\n", kind, count[kind], about[kind])
	}
	dry := ""
	if i.DryRun {
		dry = " (a dry run: nothing was written)"
	}
	_, err := fmt.Fprintf(c.stdout, "%d created, %d refused, %d new proxies%s\n", out.Created, out.Refused, out.Proxies, dry)
	return err
}
