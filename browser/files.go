package browser

// The two ways in which files of the machine are kept from a run.
const (
	// FilesInNamespace: the run has a mount namespace, in which Spec.Protected is not there (mount_namespaces(7)).
	FilesInNamespace = "namespace"
	// FilesByGuard: DevTools clients are refused what leads to them. An extension or a fault of Chrome's may find another way.
	FilesByGuard = "guard"
)

// kept are the folders that the run writes, wherever they lie.
func (s *Spec) kept() (out []string) {
	for _, dir := range []string{s.UserDataDir, s.TempDir, s.FilesDir, s.HomeDir} {
		if dir != "" {
			out = append(out, dir)
		}
	}
	return out
}
