package api

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"warren/problem"
	"warren/runs"
	"warren/store"
)

// Creates session keys, which web pages keep in place of the key that a person has. A page gets one for a key, or for the code of a
// login link. A session key has the rights of its parent, the key that it came from, and ends with it.

// maxSessions is how many session keys of one parent are stored, ended ones included.
const maxSessions = 100

// addSession stores a new session key of a parent. trimmed are the ids of others that are gone for it. The error is unauthorized if
// the parent was revoked or has expired.
func (k *keyring) addSession(ctx context.Context, key string, parent *caller) (row store.Key, trimmed []string, err error) {
	at := time.Now()
	expires := sessionExpiry(at, parent.Expires).UnixMilli()
	row, err = newKeyRow(key, "Page, "+at.UTC().Format("2 Jan 2006"), parent.Rights, parent.Sees, &expires)
	if err != nil {
		return row, nil, err
	}
	row.Parent = &parent.mark
	requestOf(ctx).audit.by = parent // a login link has no key
	about(ctx, "", row.ID, map[string]any{"name": row.Name})
	err = changeIn(ctx, k.store, func(q *store.Queries) error {
		if err := confirmKey(ctx, q, parent); err != nil {
			return err
		}
		if err := insertKey(ctx, q, row); err != nil {
			return err
		}
		trimmed, err = q.TrimSessions(ctx, store.TrimSessionsParams{Parent: parent.mark, Keep: maxSessions})
		return err
	})
	return row, trimmed, err
}

// sessionKeyInput is a code to exchange. A request with a key needs none.
type sessionKeyInput struct {
	Code string `json:"code,omitempty" maxLength:"100" doc:"The code of a login link: what follows #code= in its address. Not with a key."`
}

func (sessionKeyInput) example() any { return map[string]any{"code": "CODE"} }

type sessionKeyRequest struct {
	Body *sessionKeyInput `required:"false"`
}

func (sessionKeyRequest) problems() []*problem.Error {
	return []*problem.Error{linkGone(), noSessionOfSession()}
}

// Resolve implements huma.Resolver.
func (in *sessionKeyRequest) Resolve(ctx huma.Context) []error {
	var f faults
	if in.Body == nil {
		in.Body = &sessionKeyInput{}
	}
	f.require(in.Body.Code == "" || callerOf(ctx.Context()) == nil, "body.code", "Send either a key or the code of a link, not both.")
	return f.errors()
}

// linkGone is the one answer for codes that are unknown, used or expired.
func linkGone() *problem.Error {
	return problem.New(problem.Gone, "login_link_gone",
		"This link was used before, or its 10 minutes are over. `warren open` on the server's machine makes another; so does a restart.")
}

func noSessionOfSession() *problem.Error {
	return problem.New(problem.Forbidden, "forbidden",
		"A session key makes neither session keys nor login links. Use the key that it came from, or `warren open`.")
}

func (s *API) createSessionKey(ctx context.Context, in *sessionKeyRequest) (*createdKey, error) {
	if parent := callerOf(ctx); parent != nil {
		if parent.parent != "" {
			return nil, noSessionOfSession()
		}
		return s.newSession(ctx, parent)
	}
	if in.Body.Code == "" {
		return nil, unauthorized()
	}
	code, err := s.loginCodes.take(ctx, in.Body.Code, "")
	if err != nil {
		return nil, err
	}
	if code.caller == nil {
		return nil, s.rejectCode(ctx)
	}
	out, err := s.newSession(ctx, code.caller)
	switch {
	case problem.Is(err, problem.Unauthorized):
		return nil, linkGone()
	case err != nil: // the link was of no use yet
		_, lost := s.loginCodes.add(ctx, in.Body.Code, code)
		err = errors.Join(err, lost)
	}
	return out, err
}

// rejectCode returns the answer to a wrong code. It counts as a wrong key of the client's address.
func (s *API) rejectCode(ctx context.Context) *problem.Error {
	if p := s.rejectKey(requestOf(ctx).http); p.Kind == problem.TooMany {
		return p
	}
	return linkGone()
}

func (s *API) newSession(ctx context.Context, parent *caller) (*createdKey, error) {
	key := NewKey()
	row, trimmed, err := s.keys.addSession(ctx, key, parent)
	if err != nil {
		return nil, err
	}
	s.endKeys(ctx, trimmed)
	return s.answerCreatedKey(row, key)
}

type endSessionRequest struct{}

func (endSessionRequest) problems() []*problem.Error { return []*problem.Error{noSession()} }

// endSession revokes the caller's session key.
func (s *API) endSession(ctx context.Context, _ *endSessionRequest) (*struct{}, error) {
	c := callerOf(ctx)
	if c.parent == "" {
		return nil, noSession()
	}
	return nil, s.revoke(ctx, c.KeyID)
}

func noSession() *problem.Error {
	return problem.New(problem.NotFound, "key_not_found", "This key is no session key. DELETE /keys/{id} revokes other keys.")
}

// loginLinkJSON is a new login link.
type loginLinkJSON struct {
	URL       string    `json:"url" doc:"The address of the page, with a code of 256 bits behind #, which browsers send to no server. Only this answer has it."`
	ExpiresAt time.Time `json:"expiresAt,format:'2006-01-02T15:04:05.000Z07:00'" example:"2026-11-21T14:06:00.000Z"`
}

func (loginLinkJSON) example() any {
	return loginLinkJSON{URL: "http://127.0.0.1:7777/#code=CODE", ExpiresAt: exampleTime().Add(linkTime)}
}

// createLoginLink makes a link that logs a page in with the rights of the caller's key.
func (s *API) createLoginLink(ctx context.Context, _ *struct{}) (*struct{ Body loginLinkJSON }, error) {
	c := callerOf(ctx)
	if c.parent != "" {
		return nil, noSessionOfSession()
	}
	link, ok, err := s.newLoginLink(ctx, requestOf(ctx).base, c)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, tooManyLinks()
	}
	return &struct{ Body loginLinkJSON }{link}, nil
}

// newLoginLink makes a link to the page below base. It returns false when the key has maxTickets of them.
func (s *API) newLoginLink(ctx context.Context, base string, c *caller) (link loginLinkJSON, ok bool, err error) {
	code, until := runs.NewCapability(), time.Now().Add(linkTime)
	ok, err = s.loginCodes.add(ctx, code, ticket{caller: c, until: until})
	return loginLinkJSON{base + "/#code=" + code, until.UTC()}, ok, err
}

func tooManyLinks() *problem.Error {
	return problem.New(problem.TooMany, "rate_limited",
		"This key has 100 unused login links. Use them, or wait until they expire.").After(linkTime)
}

// LoginLink returns a link that logs a page in with the server's own key: WARREN_API_KEY, else the one in admin.key. It is empty if
// there is no such key, or if it was revoked.
func (s *API) LoginLink(ctx context.Context) (string, error) {
	c, err := s.keys.own(ctx, s.cfg.Data)
	if c == nil || err != nil {
		return "", err
	}
	link, _, err := s.newLoginLink(ctx, s.base, c)
	if err != nil {
		return "", err
	}
	return link.URL, nil
}

// own returns the caller of the server's own key; nil: there is none that is valid.
func (k *keyring) own(ctx context.Context, dataDir string) (*caller, error) {
	k.mu.RLock()
	environment, generation := k.known[k.admin], k.revocations
	k.mu.RUnlock()
	if environment != nil {
		return environment, nil
	}
	text, err := os.ReadFile(filepath.Join(dataDir, adminKeyFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key := strings.TrimSpace(string(text))
	c, err := k.load(ctx, key, hashKey(key), generation)
	if problem.Is(err, problem.Unauthorized) || err == nil && c.Expired() {
		return nil, nil
	}
	return c, err
}
