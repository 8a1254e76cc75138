package api

// auditState is what a request adds to the audit log.
type auditState struct {
	action string // "": nothing, as in a job, which is recorded when it begins
	done   bool   // the entry is on disk, or there is nothing to record
	by     *caller

	workspace, object string
	detail            map[string]any
}
