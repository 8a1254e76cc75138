package userdata

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// member is an entry of a file that a test packs. A name with / at its end is a folder, and one with a link is a link.
type member struct{ name, text, link string }

func tarOf(t testing.TB, all []member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range all {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.text)), Typeflag: tar.TypeReg}
		switch {
		case strings.HasSuffix(m.name, "/"):
			h.Typeflag = tar.TypeDir
		case strings.HasPrefix(m.link, "hard:"):
			h.Typeflag, h.Linkname = tar.TypeLink, strings.TrimPrefix(m.link, "hard:")
		case m.link == "fifo":
			h.Typeflag = tar.TypeFifo
		case m.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, m.link
		}
		_, err := w.Write(nil)
		if err := errors.Join(err, w.WriteHeader(h)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, m.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, all []member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range all {
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		text := m.text
		if m.link != "" {
			h.SetMode(0o777 | os.ModeSymlink)
			text = m.link
		}
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(text)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpack(t testing.TB, file []byte) ([]Profile, string, error) {
	t.Helper()
	into := t.TempDir()
	all, err := Unpack(t.Context(), bytes.NewReader(file), int64(len(file)), into, func(int64) error { return nil })
	return all, into, err
}

// chrome is a folder of user data with two profiles, as it lies on a disk.
func chrome(root string) []member {
	out := []member{{"Local State", `{"profile":{"info_cache":{"Default":{"name":"Person 1"},"Profile 1":{"name":"Work"}}}}`, ""},
		{"Last Version", "131.0.6778.204\n", ""}, {"Default/Preferences", "{}", ""}, {"Default/Cache/Cache_Data/data_0", "cache", ""},
		{"Default/Local Storage/leveldb/000003.log", "kept", ""}, {"Default/Local Storage/leveldb/LOCK", "", ""},
		{"Profile 1/Preferences", `{"a":1}`, ""}, {"System Profile/Preferences", "{}", ""}, {"Crashpad/reports/a.dmp", "dump", ""}}
	for i := range out {
		out[i].name = root + out[i].name
	}
	return out
}

// TestUnpack: each profile of zip, tar and tar.gz files becomes a folder of user data of its own, wherever the user data lie in the file.
// Caches and locks stay behind.
func TestUnpack(t *testing.T) {
	t.Parallel()
	for name, file := range map[string][]byte{"tar": tarOf(t, chrome("")), "zip": zipOf(t, chrome("User Data/")),
		"tar.gz": zipped(t, tarOf(t, chrome("./a/b/")))} {
		all, _, err := unpack(t, file)
		if err != nil || len(all) != 2 || all[0].Name != "Person 1" || all[1].Name != "Work" || all[1].Folder != "Profile 1" ||
			all[0].Version != "131.0.6778.204" || all[0].Files != 2 {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		for file, want := range map[string]string{"Last Version": "131.0.6778.204", "Default/Preferences": `{"a":1}`} {
			if text, err := os.ReadFile(filepath.Join(all[1].Dir, file)); err != nil || string(text) != want {
				t.Errorf("%s: %s is %q, %v", name, file, text, err)
			}
		}
		entries, err := os.ReadDir(filepath.Join(all[0].Dir, "Default"))
		if err != nil || len(entries) != 2 {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

// TestHostileFiles: no name and no link leads out of the folder, and sizes are bounded.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	with := func(more ...member) []member { return append(chrome(""), more...) }
	zeros := strings.Repeat("\x00", 40<<20)
	for name, x := range map[string]struct {
		file []byte
		want string
	}{
		"slip":           {tarOf(t, with(member{"Default/../../evil", "x", ""})), "leads out"},
		"slip of a zip":  {zipOf(t, with(member{"Default/../../evil", "x", ""})), "leads out"},
		"absolute":       {tarOf(t, with(member{"/etc/evil", "x", ""})), "leads out"},
		"backslash":      {zipOf(t, with(member{`Default\..\..\evil`, "x", ""})), "backslash"},
		"NUL":            {zipOf(t, with(member{"Default/a\x00b", "x", ""})), "control"},
		"link":           {tarOf(t, with(member{"Default/a", "", "/etc/passwd"})), "has a link"},
		"link of a zip":  {zipOf(t, with(member{"Default/a", "", "/etc/passwd"})), "has a link"},
		"hard link":      {tarOf(t, with(member{"Default/a", "", "hard:/etc/passwd"})), "has a link"},
		"pipe":           {tarOf(t, with(member{"Default/a", "", "fifo"})), "neither a file"},
		"twice":          {tarOf(t, with(member{"Default/Preferences", "{}", ""})), "twice"},
		"file as folder": {tarOf(t, with(member{"Default/Preferences/a", "{}", ""})), "twice"},
		"running":        {tarOf(t, with(member{"SingletonLock", "", "host-1"})), "has the folder open"},
		"bomb":           {zipOf(t, with(member{"Default/a", zeros, ""})), "200 times"},
		"bomb of tar":    {zipped(t, tarOf(t, with(member{"Default/Cache/a", zeros, ""}))), "200 times"},
		"cut":            {tarOf(t, chrome(""))[:3000], "cut short"},
		"cut zip":        {zipOf(t, chrome(""))[:500], "cut short"},
		"no profile":     {tarOf(t, []member{{"Local State", "{}", ""}}), "no profile"},
		"something else": {zipOf(t, []member{{"a.txt", "x", ""}}), "no folder of Chrome's"},
	} {
		all, into, err := unpack(t, x.file)
		if _, ok := errors.AsType[*Refusal](err); !ok || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
		if _, err := os.Lstat(filepath.Join(filepath.Dir(into), "evil")); err == nil {
			t.Errorf("%s wrote beside the folder", name)
		}
	}
}

// TestPack: what is packed is what Unpack takes. A folder that a Chrome has open is refused, and no link is followed.
func TestPack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, m := range chrome("") {
		file := filepath.Join(dir, m.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(m.text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	pack := func(only ...string) ([]byte, error) {
		var b bytes.Buffer
		err := Pack(context.Background(), &b, dir, only)
		return b.Bytes(), err
	}
	file, err := pack("Profile 1")
	if err != nil {
		t.Fatal(err)
	}
	if all, _, err := unpack(t, file); err != nil || len(all) != 1 || all[0].Name != "Work" {
		t.Errorf("%+v, %v", all, err)
	}
	if file, err = pack(); err != nil || bytes.Contains(file, []byte("cache\x00")) {
		t.Error(err)
	}
	if _, err := pack("Profile 9"); err == nil || !strings.Contains(err.Error(), "Default, Profile 1") {
		t.Error(err)
	}
	link := filepath.Join(dir, "Default", "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Skip("needs links:", err)
	}
	if _, err := pack(); err == nil || !strings.Contains(err.Error(), "link") {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink("host-1", filepath.Join(dir, "SingletonLock"))); err != nil {
		t.Fatal(err)
	}
	if _, err := pack(); err == nil || !strings.Contains(err.Error(), "open") {
		t.Error(err)
	}
}

// FuzzUnpack: no file crashes the reader, and none writes beside its folder.
func FuzzUnpack(f *testing.F) {
	small := []member{{"Local State", `{"profile":{"info_cache":{"Default":{"name":"A"}}}}`, ""}, {"Default/Preferences", "{}", ""},
		{"Default/Cookies", "SQLite format 3\x00", ""}}
	f.Add(tarOf(f, small))
	f.Add(zipOf(f, small))
	f.Add(zipped(f, tarOf(f, small)))
	f.Add(tarOf(f, append(small, member{"Default/a", "", "/etc"})))
	f.Fuzz(func(t *testing.T, file []byte) {
		above := t.TempDir()
		into := filepath.Join(above, "into")
		if err := os.Mkdir(into, 0o700); err != nil {
			t.Fatal(err)
		}
		all, err := Unpack(t.Context(), bytes.NewReader(file), int64(len(file)), into, func(int64) error { return nil })
		if err == nil && len(all) == 0 {
			t.Fatal("no profile, and no error")
		}
		if entries, err := os.ReadDir(above); err != nil || len(entries) != 1 {
			t.Fatal(entries, err)
		}
	})
}
