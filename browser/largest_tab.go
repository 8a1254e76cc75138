package browser

import "sync"

// LargeTab is a tab, and what is known of its memory.
type LargeTab struct {
	Target, URL string
	Bytes       int64 // JavaScript, DOM and buffers; 0: the page does not answer, or has crashed
}

// crashedTab keeps the tab whose renderer has crashed last.
type crashedTab struct {
	mu   sync.Mutex
	last string // its target; "": none has
}

func (c *crashedTab) set(target string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = target
}

func (c *crashedTab) get() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// silent is the size of a tab that does not answer.
const silent = -1

// largestOf returns the index of the largest of these sizes. A single silent tab counts as the largest: a page that fills the memory in
// one go answers nothing. It returns -1 if there is none.
func largestOf(sizes []int64) int {
	quiet, last, found := 0, 0, -1
	for i, size := range sizes {
		switch {
		case size == silent:
			quiet, last = quiet+1, i
		case found < 0 || size > sizes[found]:
			found = i
		}
	}
	if quiet == 1 {
		return last
	}
	return found
}
