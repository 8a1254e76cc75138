package api

import (
	"context"
	"slices"
	"strings"

	"warren/problem"
	"warren/runs"
	"warren/state"
)

// Lists and deletes the passkeys of a profile. Their private keys are in a storageState and in archives alone.

// Passkey is a passkey of a profile, as far as anybody sees it.
type Passkey struct {
	ID       string `json:"id" doc:"The credential's id, as base64url." example:"mEr0bC4vQF6cKX2bSgGq3A"`
	Site     string `json:"site" doc:"The domain that it is for (WebAuthn's rpId)." example:"shop.example"`
	UserName string `json:"userName" doc:"As the site named the account; empty if it is not known." example:"ann@shop.example"`
}

func (Passkey) example() any {
	return Passkey{ID: "mEr0bC4vQF6cKX2bSgGq3A", Site: "shop.example", UserName: "ann@shop.example"}
}

type passkeyList struct{ ProfilePath }

func (passkeyList) problems() []*problem.Error { return []*problem.Error{runs.PasskeysUnreadable()} }

func (s *API) listPasskeys(ctx context.Context, in *passkeyList) (*listBody[Passkey], error) {
	row, err := s.profileRow(ctx, in.ID, false)
	if err != nil {
		return nil, err
	}
	all, err := s.runs.Passkeys(ctx, row)
	if err != nil {
		return nil, err
	}
	out := make([]Passkey, len(all))
	for i, c := range all {
		out[i] = Passkey{c.ID, c.RPID, c.UserName}
	}
	slices.SortFunc(out, func(a, b Passkey) int {
		return strings.Compare(a.Site+"\n"+a.UserName+"\n"+a.ID, b.Site+"\n"+b.UserName+"\n"+b.ID)
	})
	return &listBody[Passkey]{wholeList(out)}, nil
}

// passkeyPath names a passkey of a profile.
type passkeyPath struct {
	ProfilePath
	PasskeyID string `path:"passkeyId" maxLength:"1400" doc:"The passkey's id."`
}

func (passkeyPath) problems() []*problem.Error {
	return append(stateProblems(), problem.Missing("passkey"), runs.PasskeysUnreadable())
}

func (s *API) deletePasskey(ctx context.Context, in *passkeyPath) (*struct{}, error) {
	row, err := s.writableProfile(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.runs.Passkeys(ctx, row)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(c state.Credential) bool { return c.ID == in.PasskeyID })
	if at < 0 {
		return nil, problem.Missing("passkey")
	}
	detail := map[string]any{"site": all[at].RPID, "id": in.PasskeyID}
	if err := s.audit(ctx, "passkey.delete", row.WorkspaceID, row.ID, detail); err != nil {
		return nil, err
	}
	return nil, s.runs.DeletePasskey(context.WithoutCancel(ctx), row, in.PasskeyID)
}
