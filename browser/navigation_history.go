package browser

// navigationHistory is what is read of the answer to Page.getNavigationHistory (CDP).
type navigationHistory struct {
	Current int            `json:"currentIndex"`
	Entries []historyEntry `json:"entries"`
}

type historyEntry struct {
	ID  int64  `json:"id"`
	URL string `json:"url"`
}

// current returns the entry that was committed last; false if there is none.
func (h navigationHistory) current() (historyEntry, bool) {
	if h.Current < 0 || h.Current >= len(h.Entries) {
		return historyEntry{}, false
	}
	return h.Entries[h.Current], true
}
