package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// prefix begins the address of every operation (contract).
const prefix = "/api/v1"

// defaultURL is where a server of this machine listens.
const defaultURL = "http://127.0.0.1:7777"

// answerTime bounds an operation that answers at once. What runs longer, such as a start, is bounded by the server.
const answerTime = time.Minute

// Connection is how a command reaches a server. Its members are flags.
type Connection struct {
	URL     string `name:"url" env:"WARREN_URL" placeholder:"URL" help:"The server. Default: that of the context, else http://127.0.0.1:7777."`
	Context string `name:"context" env:"WARREN_CONTEXT" placeholder:"NAME" help:"The context that warren login made. Default: the current one."`
	Data    string `name:"data" env:"WARREN_DATA" placeholder:"DIR" help:"The server's data folder, whose admin.key is taken where there is no other key."`
}

// Client calls the operations of a server. It is made by Connection.Client.
type Client struct {
	url     string // without a slash at its end
	secret  string
	version string // of this command line
	http    *http.Client
}

// Client finds the server and the key. WARREN_URL or --url, and WARREN_API_KEY, win over the context, and that over the data folder's
// admin.key. The admin key is sent to this machine alone, unless --data names its folder. dataDir is the platform's data folder.
func (c *Connection) Client(dataDir func() (string, error), version string) (*Client, error) {
	kept, err := c.kept()
	if err != nil {
		return nil, err
	}
	out := &Client{url: strings.TrimSuffix(cmp.Or(c.URL, kept.URL, defaultURL), "/"), version: version, http: http.DefaultClient}
	at, err := url.Parse(out.url)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, misusef("--url %q is no address such as https://warren.example:7777", out.url)
	}
	same := c.URL == "" || out.url == kept.URL
	if same && kept.CA != "" {
		if out.http, err = trusting(kept.CA); err != nil {
			return nil, err
		}
	}
	if out.secret, err = keyOf(c.Data, same, kept.Key, loopback(at.Hostname()), dataDir); err != nil {
		return nil, err
	}
	return out, nil
}

// NewClient returns the client of a server whose key is known.
func NewClient(address, key string) *Client {
	return &Client{url: strings.TrimSuffix(address, "/"), secret: key, http: http.DefaultClient}
}

// fromEnvironment returns the connection that the environment describes.
func (c *Connection) fromEnvironment() *Connection {
	c.URL, c.Context, c.Data = os.Getenv("WARREN_URL"), os.Getenv("WARREN_CONTEXT"), os.Getenv("WARREN_DATA")
	return c
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// keyOf returns the key: of the environment, else of the context of this server, else the admin key in the data folder.
func keyOf(data string, same bool, kept string, here bool, dataDir func() (string, error)) (string, error) {
	if k := os.Getenv("WARREN_API_KEY"); k != "" {
		return k, nil
	}
	name := os.Getenv("WARREN_API_KEY_FILE")
	switch {
	case name != "":
	case same && kept != "" && data == "":
		return kept, nil
	case data != "":
		name = filepath.Join(data, "admin.key")
	case !here:
		return "", misusef("no API key for this server: log in with `warren login URL`, or set WARREN_API_KEY")
	default:
		dir, err := dataDir()
		if err != nil {
			return "", err
		}
		name = filepath.Join(dir, "admin.key")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "",
			misusef("no API key: log in with `warren login URL`, set WARREN_API_KEY, or name the server's data folder with --data (%v)",
				err)
	}
	return strings.TrimSpace(string(b)), nil
}

// trusting returns a client that believes certificates of the given authorities alone (PEM).
func trusting(ca string) (*http.Client, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(ca)) {
		return nil, misusef("the file of the certificate authority holds no certificate (PEM)")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: transport}, nil
}

// Call does one operation with a body of JSON, if in is not nil, and decodes its answer into out, if that is not nil. path begins behind
// the prefix, as in "/profiles".
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	r := request{method: method, path: path}
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		r.body, r.kind = bytes.NewReader(b), "application/json"
	}
	answer, err := c.read(ctx, r)
	if err != nil || out == nil || len(answer) == 0 {
		return err
	}
	return json.Unmarshal(answer, out)
}

// request is a request. root: its path is whole, without the prefix of operations.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	kind         string // the media type of the body
	body         io.Reader
	root         bool
}

// read sends a request and returns its answer's body.
func (c *Client) read(ctx context.Context, r request) ([]byte, error) {
	res, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return io.ReadAll(io.LimitReader(res.Body, 256<<20))
}

// open sends a request and returns an answer whose body is read as it arrives, until ctx ends. A refusal is an error.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	address := c.url + prefix + r.path
	if r.root {
		address = c.url + r.path
	}
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, r.body)
	if err != nil {
		return nil, misusef("--url: %v", err)
	}
	for name := range r.header {
		req.Header.Set(name, r.header.Get(name))
	}
	req.Header.Set("Authorization", "Bearer "+c.secret)
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreached(err)
	}
	if res.StatusCode < 400 {
		return res, nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	return nil, c.explain(ctx, refusedBy(res.StatusCode, answer))
}

// unreached says why no answer came. The error of net/http would repeat the address with its query.
func (c *Client) unreached(err error) error {
	if mine, ok := errors.AsType[coded](err); ok { // of what was to be sent, and not of the server
		return mine
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if unknown, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return refusef("the server at %s is not trusted: %w; name its authority with `warren login %s --ca FILE`", c.url, unknown, c.url)
	}
	return fmt.Errorf("the server at %s does not answer: %w", c.url, err)
}

// explain adds to a refusal that the server does not know the operation, and which versions meet.
func (c *Client) explain(ctx context.Context, err error) error {
	r, ok := errors.AsType[*refused](err)
	if !ok || !r.unknownHere() {
		return err
	}
	r.text = fmt.Sprintf("the server at %s does not know this operation: it is warren %s, and this command line is %s", c.url,
		cmp.Or(c.serverVersion(ctx), "of an unknown version"), c.version)
	return r
}

// serverVersion returns the version of the server, "" if it does not say.
func (c *Client) serverVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+"/version", nil)
	if err != nil {
		return ""
	}
	res, err := c.http.Do(req)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	var v struct {
		Version string `json:"version"`
	}
	if b, err := io.ReadAll(io.LimitReader(res.Body, 1<<16)); err != nil || json.Unmarshal(b, &v) != nil {
		return ""
	}
	return harmless(v.Version)
}
