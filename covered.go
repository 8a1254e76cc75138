package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Which folders and files of the machine are closed to every client of a run, whatever its key's scopes.

// covered lists the folders and files that only the server may use: the data folder, and the folders with its keys and its
// configuration. The paths are absolute and need not exist. Other runs' temporary folders are not listed: a run's process
// knows their prefix.
func (c *serveConfig) covered() []string {
	out := []string{c.Data, filepath.Join(c.Data, "profiles")} // which may be a link to a larger disk
	if c.BackupTo != "" && !isBucket(c.BackupTo) {             // it holds what the data folder holds
		out = append(out, c.BackupTo)
	}
	for _, file := range []string{c.SecretKey, c.APIKeyFile, c.TLSKey, c.configFile, c.LogFile} {
		out = append(out, aroundFile(file)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// aroundFile is the folder of a file as it is named, and the one where the file lies if that name is a link. Of a
// folder that is the system's, or a person's, and full of what is none of ours, it is the file alone.
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

// isShared reports whether a folder has other uses than to hold our files: a root, the system's own folders, a person's
// home and the temporary folder.
func isShared(dir string) bool {
	for _, system := range []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/dev", "/proc", "/sys"} {
		if dir == system || strings.HasPrefix(dir, system+"/") {
			return true
		}
	}
	home, err := os.UserHomeDir()
	return err == nil && dir == home || dir == filepath.Dir(dir) || dir == filepath.Clean(os.TempDir()) ||
		slices.Contains([]string{"/boot", "/etc", "/etc/ssl", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp",
			"/var", "/var/lib", "/var/tmp"}, dir)
}
