package nodes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Fetches packages of extensions from the other servers.

// PackagesPath begins the addresses at which servers give each other the files of packages. The SHA-256 of a package follows.
const PackagesPath = "/node/packages/"

// errNowhere is the error of a package that no server has that was asked.
var errNowhere = errors.New("no other server that serves has it")

// Fetch calls take with the files of a package from each server that serves and has it, until one call returns nil. sum is the SHA-256 in
// hexadecimal digits. The error says what was wrong with each server that has it or does not answer.
func (n *Node) Fetch(ctx context.Context, sum string, take func(files io.Reader) error) error {
	others, err := n.Others(ctx)
	if err != nil {
		return err
	}
	failed := []error{errNowhere}
	for _, to := range others {
		if to.State != Up {
			continue
		}
		has, err := n.fetchFrom(ctx, to, sum, take)
		if has && err == nil {
			return nil
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", to.Name, err))
		}
	}
	return errors.Join(failed...)
}

// fetchFrom calls take with the files that one server has.
func (n *Node) fetchFrom(ctx context.Context, to Info, sum string, take func(files io.Reader) error) (has bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+ServerName(to.ID)+PackagesPath+sum, nil)
	if err != nil {
		return false, err
	}
	res, err := n.Transport(to.ID, to.Address).RoundTrip(r)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		return true, take(res.Body)
	case http.StatusNotFound:
		return false, nil
	default: // an older Warren wants a key
		return false, fmt.Errorf("it answers %s", res.Status)
	}
}
