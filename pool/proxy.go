package pool

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"warren/problem"
	"warren/proxy"
	"warren/store"
)

// MaxCheckAge is how long the last good check is believed where a start or a change needs the exit.
const MaxCheckAge = 10 * time.Minute

// Proxy is a saved proxy with its address opened.
type Proxy struct {
	store.Proxy
	Address proxy.Proxy // without its password where that cannot be opened

	sealed error // why the password cannot be opened; nil: it is, or there is none
}

// Get reads a proxy that the scope sees. Another is not found.
func (p *Pool) Get(ctx context.Context, s store.Scope, id string) (Proxy, error) {
	row, err := p.store.Read().GetProxy(ctx, store.GetProxyParams{ID: id, Workspaces: s.Filter()})
	if errors.Is(err, store.ErrNoRow) {
		return Proxy{}, problem.Missing("proxy")
	}
	if err != nil {
		return Proxy{}, err
	}
	return p.Open(row), nil
}

// Open gives a row its address. Usable says whether the password could be opened.
func (p *Pool) Open(row store.Proxy) Proxy {
	px := Proxy{Proxy: row, Address: proxy.Proxy{Type: proxy.Type(row.Type), Host: row.Host, Port: int(row.Port), Username: row.Username}}
	if row.Password == nil {
		return px
	}
	plain, err := p.store.Unseal("proxies", "password", row.ID, row.Password)
	px.Address.Password, px.sealed = string(plain), err
	return px
}

// Usable is the error of a proxy whose password cannot be opened.
func (px Proxy) Usable() error {
	if px.sealed != nil {
		return PasswordUnreadable(px.sealed)
	}
	return nil
}

// PasswordUnreadable is for what needs a password that was sealed with another key.
func PasswordUnreadable(err error) *problem.Error {
	return problem.New(problem.Conflict, "password_unreadable", "The proxy's saved password cannot be opened with this server's secret key. "+
		"Give the password again, or bring the key back.").Because(err)
}

// Seal writes an address into a row: the password sealed and bound to the row, and rotateUrl where it is not sealed yet.
func (p *Pool) Seal(row *store.Proxy, address proxy.Proxy) (err error) {
	row.Type, row.Host, row.Port, row.Username = string(address.Type), address.Host, int64(address.Port), address.Username
	row.Password = nil
	if row.RotateSealed == nil {
		if row.RotateURL, row.RotateSealed, err = p.store.SealRotateURL(row.ID, row.RotateURL); err != nil {
			return err
		}
	}
	if address.Password == "" {
		return nil
	}
	row.Password, err = p.store.Seal("proxies", "password", row.ID, []byte(address.Password))
	return err
}

// Existing is what the error duplicate carries: the id of the object that is there already.
type Existing string

// Users is what the error proxy_in_use carries: the profiles that use the proxy.
type Users []string

// Duplicate refuses an address that another row of the workspace has.
func Duplicate(ctx context.Context, q *store.Queries, row store.Proxy) error {
	first, err := q.GetProxyByAddress(ctx, store.GetProxyByAddressParams{WorkspaceID: row.WorkspaceID, Type: row.Type, Host: row.Host,
		Port: row.Port, Username: row.Username})
	if errors.Is(err, store.ErrNoRow) || err == nil && first.ID == row.ID {
		return nil
	}
	if err != nil {
		return err
	}
	return IsDuplicate(first.ID)
}

// IsDuplicate says that a proxy with the address is there already.
func IsDuplicate(id string) *problem.Error {
	return problem.New(problem.Conflict, "duplicate",
		"This workspace has a proxy with the same type, host, port and username already: `existingId` names it.").With(Existing(id))
}

// maxUsers is how many profiles the error proxy_in_use names.
const maxUsers = 1000

// Unused refuses a proxy that profiles use, or fall back on.
func Unused(ctx context.Context, q *store.Queries, s store.Scope, row store.Proxy) error {
	var users []string
	var err error
	if row.ProfileCount > 0 {
		users, err = q.ListProfilesOfProxy(ctx, store.ListProfilesOfProxyParams{ProxyID: row.ID, Workspaces: s.Filter(), Limit: maxUsers})
	}
	if left := maxUsers - len(users); err == nil && left > 0 {
		var more []string
		more, err = q.ListProfilesWithFallback(ctx, store.ListProfilesWithFallbackParams{WorkspaceID: row.WorkspaceID, ProxyID: row.ID,
			Workspaces: s.Filter(), Limit: int64(left)})
		users = append(users, more...)
	}
	if err != nil || len(users) == 0 {
		return err
	}
	return InUse(users)
}

// InUse says that profiles use a proxy.
func InUse(profiles []string) *problem.Error {
	return problem.New(problem.Conflict, "proxy_in_use", "Profiles use this proxy, or fall back on it: `profileIds` names them (1,000 at most). "+
		"Give them another one first; a profile is never sent out directly by a deletion.").With(Users(profiles))
}

// Recent is the last check if it was good and is younger than MaxCheckAge; nil otherwise.
func (px Proxy) Recent() *Check {
	var c Check
	if px.LastCheck == nil || json.Unmarshal([]byte(*px.LastCheck), &c) != nil || !c.OK ||
		time.Since(c.CheckedAt).Abs() > MaxCheckAge { // one that lies ahead was made while the clock was
		return nil
	}
	return &c
}

// LastGood is the last good check of a proxy, of whatever age; nil when there is none.
func (p *Pool) LastGood(ctx context.Context, px Proxy) (*Check, error) {
	if c := px.Recent(); c != nil {
		return c, nil
	}
	text, err := p.store.Read().GetLastGoodProxyCheck(ctx, px.ID)
	if errors.Is(err, store.ErrNoRow) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c := new(Check)
	return c, json.Unmarshal([]byte(text), c)
}
