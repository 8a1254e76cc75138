package shim

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"warren/state"
)

// TestPasskeysFile: a change adds and removes by id. Another key does not open the file, and what cannot be opened stays as it is. No link
// leads a write out of the folder.
func TestPasskeysFile(t *testing.T) {
	t.Parallel()
	profile, key := t.TempDir(), bytes.Repeat([]byte{7}, PasskeyKeySize)
	if all, err := ReadPasskeys(profile, key); err != nil || all != nil {
		t.Errorf("without a folder there are %v, %v", all, err)
	}
	if err := os.Mkdir(userDataDir(profile), 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "file")
	if runtime.GOOS != "windows" {
		for _, name := range []string{PasskeysFile, PasskeysFile + ".tmp"} {
			if err := os.Symlink(outside, filepath.Join(userDataDir(profile), name)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadPasskeys(profile, key); err == nil {
			t.Error("a link was read")
		}
		if err := os.Remove(filepath.Join(userDataDir(profile), PasskeysFile)); err != nil {
			t.Fatal(err)
		}
	}
	one := func(id string, count int64) state.Credential {
		return state.Credential{ID: id, RPID: "a.example", SignCount: count, PrivateKey: "SECRET"}
	}
	change := func(remove []string, set ...state.Credential) {
		t.Helper()
		if err := ChangePasskeys(profile, key, set, remove); err != nil {
			t.Fatal(err)
		}
	}
	change(nil, one("a", 1), one("b", 1))
	change([]string{"b", "x"}, one("a", 2), one("c", 1))
	all, err := ReadPasskeys(profile, key)
	if err != nil || len(all) != 2 || all[0] != one("a", 2) || all[1] != one("c", 1) {
		t.Errorf("there are %+v, %v", all, err)
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a link led a write out of the folder")
	}
	was, err := os.ReadFile(filepath.Join(userDataDir(profile), PasskeysFile))
	if err != nil || bytes.Contains(was, []byte("SECRET")) {
		t.Errorf("the file is readable: %v", err)
	}
	wrong := bytes.Repeat([]byte{8}, PasskeyKeySize)
	if err := ChangePasskeys(profile, wrong, nil, []string{"a"}); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("another key: %v", err)
	}
	if now, err := os.ReadFile(filepath.Join(userDataDir(profile), PasskeysFile)); err != nil || !bytes.Equal(now, was) {
		t.Errorf("another key changed the file: %v", err)
	}
}
