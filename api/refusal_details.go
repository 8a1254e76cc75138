package api

// What refusals say beside their code.

// usedQuota is the detail of quota_exceeded.
type usedQuota struct {
	name       string
	limit, use int64
}

// ContentsJSON is what keeps a workspace from being deleted.
type ContentsJSON struct {
	Profiles   int64 `json:"profiles"`
	Trashed    int64 `json:"trashed" doc:"Profiles in the trash."`
	Proxies    int64 `json:"proxies"`
	Templates  int64 `json:"templates"`
	Schedules  int64 `json:"schedules"`
	Extensions int64 `json:"extensions"`
	Keys       int64 `json:"keys" doc:"Valid keys that name it: they would see a later workspace with its id."`
}
