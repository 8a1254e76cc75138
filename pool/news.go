package pool

// Data of the pool's events.

// checkedEvent is the data of proxy.checked.
type checkedEvent struct {
	ID     string `json:"id"`
	OK     bool   `json:"ok"`
	Status string `json:"status"`
}

// diedEvent is the data of proxy.died.
type diedEvent struct {
	Error *CheckError `json:"error"`
	ID    string      `json:"id"`
}

// returnedEvent is the data of proxy.returned.
type returnedEvent struct {
	ExitIP *string `json:"exitIp"`
	ID     string  `json:"id"`
}

// movedEvent is the data of proxy.exit_changed. Before is the last exit IP.
type movedEvent struct {
	Before string  `json:"before"`
	ExitIP *string `json:"exitIp"`
	ID     string  `json:"id"`
}

// allCheckedEvent is the data of proxy.all_checked: how many proxies were alive and dead.
type allCheckedEvent struct {
	Alive int64 `json:"alive"`
	Dead  int64 `json:"dead"`
}
