// Package compat answers as the local API of another product, so that a script that knows only a base URL goes on working. Each
// operation is one of Warren's own API. It invents nothing: what Warren has not is an error in the product's own form.
package compat

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Call does an operation of Warren's API. in is its body; nil for none. out receives the answer; nil drops it. The error's text is for
// people.
type Call func(ctx context.Context, method, path string, in, out any) error

// Products returns the names of the products, and the port of each one's local API.
func Products() map[string]int {
	return map[string]int{"adspower": 50325, "gologin": 36912, "dolphin": 3001, "bitbrowser": 54345}
}

// Options are what a shim may be given.
type Options struct {
	Key       string // that each request must have, as a bearer token or X-API-Key; "": none
	DebugPort bool   // open a port for Selenium at each start, which every program of the machine can use
}

// shim answers for one product.
type shim struct {
	call    Call
	options Options
	mux     *http.ServeMux
	fail    func(w http.ResponseWriter, message string)
}

// New returns the local API of a product. It must be served on a loopback address alone.
func New(product string, call Call, o Options) (http.Handler, error) {
	s := &shim{call: call, options: o, mux: http.NewServeMux()}
	switch product {
	case "adspower":
		s.adspower()
	case "gologin":
		s.gologin()
	case "dolphin":
		s.dolphin()
	case "bitbrowser":
		s.bitbrowser()
	default:
		return nil, fmt.Errorf("there is no local API of %q", product)
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, "Warren has no operation "+r.Method+" "+r.URL.Path+" of this product.")
	})
	return s, nil
}

// maxBody bounds a request, in bytes.
const maxBody = 64 << 20

// ServeHTTP lets programs of this machine in, and no page of a browser.
func (s *shim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason := refusal(r); reason != "" {
		http.Error(w, reason, http.StatusForbidden)
		return
	}
	if s.options.Key != "" {
		given := r.Header.Get("X-Api-Key")
		if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
			given = bearer
		}
		if subtle.ConstantTimeCompare([]byte(given), []byte(s.options.Key)) != 1 {
			http.Error(w, "the request has not the key of WARREN_COMPAT_KEY", http.StatusUnauthorized)
			return
		}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// refusal says why a request is not let in; "" if it is. A page of a browser sends Origin, Sec-Fetch-Site or Referer, and one behind a
// foreign name a foreign Host (DNS rebinding).
func refusal(r *http.Request) string {
	for _, header := range []string{"Origin", "Sec-Fetch-Site", "Referer"} {
		if r.Header.Get(header) != "" {
			return "no page of a browser may use this API"
		}
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	names := []string{"127.0.0.1", "localhost", "::1", "[::1]", "local.adspower.net", "local.adspower.com"} // these lead to 127.0.0.1
	if !slices.Contains(names, strings.ToLower(host)) {
		return "the request names another host than this one"
	}
	return ""
}

// profile is what is read of a profile.
type profile struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	Notes         string    `json:"notes"`
	OS            string    `json:"os"`
	Tags          []string  `json:"tags"`
	Status        string    `json:"status"`
	CreatedAt     time.Time `json:"createdAt"`
	LastStartedAt time.Time `json:"lastStartedAt"`
	Run           *started  `json:"run"`
}

// started is the answer of a start.
type started struct {
	PID             int     `json:"pid"`
	WsEndpoint      string  `json:"wsEndpoint"`
	CdpURL          string  `json:"cdpUrl"`
	DebuggerAddress *string `json:"debuggerAddress"`
	Browser         struct {
		Version string `json:"version"`
	} `json:"browser"`
}

// selenium returns the address for Selenium and its port; "" without --debug-port.
func (s started) selenium() (address, port string) {
	if s.DebuggerAddress == nil {
		return "", ""
	}
	_, port, _ = strings.Cut(*s.DebuggerAddress, ":")
	return *s.DebuggerAddress, port
}

func path(id string) string { return "/profiles/" + url.PathEscape(id) }

func (s *shim) start(ctx context.Context, id string, headless bool) (out started, err error) {
	if id == "" {
		return out, errors.New("the profile's id is missing")
	}
	in := map[string]any{"debugPort": s.options.DebugPort}
	if headless {
		in["headless"] = true
	}
	return out, s.call(ctx, http.MethodPost, path(id)+"/start", in, &out)
}

func (s *shim) stop(ctx context.Context, id string) error {
	if id == "" {
		return errors.New("the profile's id is missing")
	}
	return s.call(ctx, http.MethodPost, path(id)+"/stop", nil, nil)
}

func (s *shim) get(ctx context.Context, id string) (p profile, err error) {
	if id == "" {
		return p, errors.New("the profile's id is missing")
	}
	return p, s.call(ctx, http.MethodGet, path(id), nil, &p)
}

// list returns a page of profiles, from 1, and how many there are.
func (s *shim) list(ctx context.Context, page, size int) (all []profile, total int, err error) {
	var out struct {
		Data  []profile `json:"data"`
		Total int       `json:"total"`
	}
	if size < 1 || size > 200 || page < 1 {
		return nil, 0, errors.New("the page must be 1 or more, and have 1 to 200 profiles")
	}
	err = s.call(ctx, http.MethodGet, fmt.Sprintf("/profiles?page=%d&limit=%d", page, size), nil, &out)
	return out.Data, out.Total, err
}

// create makes a profile of an object of the product, as an import takes it. mark is a member that tells the product. Whatever would make
// the profile unable to start, such as a proxy of another kind, is refused.
func (s *shim) create(ctx context.Context, in map[string]any, mark string) (string, error) {
	if in[mark] == nil {
		in[mark] = map[string]any{}
	}
	if in["name"] == nil || in["name"] == "" {
		return "", errors.New("the name is missing")
	}
	type answer struct {
		Profiles []struct {
			ID       string `json:"id"`
			Proxy    string `json:"proxy"`
			Warnings []struct {
				Code    string `json:"code"`
				Message string `json:"message"`
			} `json:"warnings"`
		} `json:"profiles"`
	}
	var dry, made answer
	if err := s.call(ctx, http.MethodPost, "/profiles/import?dryRun=true", []any{in}, &dry); err != nil {
		return "", err
	}
	for _, p := range dry.Profiles {
		for _, w := range p.Warnings {
			if p.Proxy == "missing" && w.Code == "proxy_missing" {
				return "", errors.New(w.Message)
			}
		}
	}
	if err := s.call(ctx, http.MethodPost, "/profiles/import", []any{in}, &made); err != nil {
		return "", err
	}
	if len(made.Profiles) != 1 || made.Profiles[0].ID == "" {
		return "", errors.New("the profile was not made")
	}
	return made.Profiles[0].ID, nil
}

// update changes the name and the notes of a profile. Other members are an error: half of a change would be lost in silence.
func (s *shim) update(ctx context.Context, id string, in map[string]any, names map[string]string) error {
	change := map[string]any{}
	for name, value := range in {
		to, known := names[name]
		if !known {
			return errors.New("Warren cannot change the member " + strconv.Quote(name) + " this way: use its own API")
		}
		if to != "" {
			change[to] = value
		}
	}
	if id == "" {
		return errors.New("the profile's id is missing")
	}
	return s.call(ctx, http.MethodPut, path(id), change, nil)
}

// remove moves profiles into the trash. The first that fails ends it.
func (s *shim) remove(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return errors.New("the profiles' ids are missing")
	}
	for _, id := range ids {
		if id == "" {
			return errors.New("the profile's id is missing")
		}
		if err := s.call(ctx, http.MethodDelete, path(id), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// body reads a JSON object; an empty body is an empty one.
func body(r *http.Request) (map[string]any, error) {
	out := map[string]any{}
	err := json.NewDecoder(r.Body).Decode(&out)
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return out, nil
	}
	if err != nil {
		return nil, errors.New("the body is no JSON object")
	}
	return out, nil
}

// text returns a member that is a text or a number.
func text(in map[string]any, name string) string {
	switch v := in[name].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// texts returns a member that is a list of texts, or one.
func texts(in map[string]any, name string) (out []string) {
	if one := text(in, name); one != "" {
		return []string{one}
	}
	list, _ := in[name].([]any) //nolint:errcheck // none
	for _, v := range list {
		out = append(out, text(map[string]any{"": v}, ""))
	}
	return out
}

// number returns a text as a whole number, or what is assumed without one; -1 if it is none.
func number(text string, assumed int) int {
	if text == "" {
		return assumed
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck,errchkjson // the client has gone
}

// handle registers an operation. do returns what the product answers, or an error that fail writes.
func (s *shim) handle(pattern string, do func(r *http.Request, in map[string]any) (any, error)) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		in, err := body(r)
		var out any
		if err == nil {
			out, err = do(r, in)
		}
		switch {
		case err != nil:
			s.fail(w, err.Error())
		case out == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			write(w, http.StatusOK, out)
		}
	})
}

// Server returns the HTTP server of a local API.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
}
