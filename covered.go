package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file says what of the machine is closed to every client of a run, whatever its key may.

// covered are the folders, and files, that hold what is the server's alone: the data folder, and what lies beside the files with its keys and its
// configuration. They are absolute paths, and need not be there. Other runs' temporary folders come and go; a run's process knows how their paths begin.
func (c *serveConfig) covered() []string {
	out := []string{c.Data, filepath.Join(c.Data, "profiles")} // which may be a link to a larger disk
	for _, file := range []string{c.SecretKey, c.APIKeyFile, c.TLSKey, c.configFile} {
		out = append(out, aroundFile(file)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// aroundFile is the folder of a file as it is named, and the one where the file lies if that name is a link. Of a folder that is the system's, or a person's, and
// full of what is none of ours, it is the file alone.
func aroundFile(file string) (out []string) {
	abs, err := filepath.Abs(file)
	if file == "" || err != nil {
		return nil
	}
	names := []string{abs}
	if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
		names = append(names, real)
	}
	for _, name := range names {
		if dir := filepath.Dir(name); isShared(dir) {
			out = append(out, name)
		} else {
			out = append(out, dir)
		}
	}
	return out
}

// isShared says whether a folder has other uses than to hold our files: a root, the system's own folders, a person's home and the temporary folder.
func isShared(dir string) bool {
	for _, system := range []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/dev", "/proc", "/sys"} {
		if dir == system || strings.HasPrefix(dir, system+"/") {
			return true
		}
	}
	home, err := os.UserHomeDir()
	return err == nil && dir == home || dir == filepath.Dir(dir) || dir == filepath.Clean(os.TempDir()) ||
		slices.Contains([]string{"/boot", "/etc", "/etc/ssl", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var", "/var/lib", "/var/tmp"}, dir)
}
