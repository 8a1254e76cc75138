package main

import (
	"math"
	"runtime"
	"sync"
	"time"
)

// This file says how much room there is, for who spreads starts over several servers.

// pressureJSON is how busy this server and its machine are. What the system does not tell is null.
type pressureJSON struct {
	Accepting      bool        `json:"accepting" doc:"A start would now neither wait for others nor be refused."`
	Running        int         `json:"running" doc:"Browsers that run or are being closed, in all workspaces."`
	Starting       int         `json:"starting" doc:"Browsers that are being launched."`
	Queued         int64       `json:"queued" doc:"Starts that wait for their turn."`
	MaxRunning     *int        `json:"maxRunning" doc:"--max-running; null: no limit."`
	MaxStarting    int         `json:"maxStarting" doc:"--max-starting."`
	MaxQueue       int         `json:"maxQueue" doc:"--max-queue."`
	RecentRejected int64       `json:"recentRejected" doc:"Starts that were refused for want of room within the last minute."`
	CPU            cpuJSON     `json:"cpu"`
	Memory         *memoryJSON `json:"memory"`
	Disk           *diskJSON   `json:"disk"`
}

type cpuJSON struct {
	Cores   int      `json:"cores"`
	Load1   *float64 `json:"load1" doc:"Processes that wanted to run, on average over a minute."`
	Percent *float64 `json:"percent" doc:"Of all cores together, since somebody last asked, the first time since the server was started."`
}

type memoryJSON struct {
	TotalBytes     int64 `json:"totalBytes"`
	AvailableBytes int64 `json:"availableBytes" doc:"What new programs can have without swapping."`
}

type diskJSON struct {
	FreeBytes int64 `json:"freeBytes" doc:"Where the data folder is."`
}

// machineMeter remembers what the processors had done when somebody last asked.
type machineMeter struct {
	mu          sync.Mutex
	at          time.Time
	busy, total int64 // in the kernel's units
	percent     *float64
}

// look gives the share of the processors' time that was used since the last look; one within a second is the same again.
func (m *machineMeter) look(now time.Time) *float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.at) < time.Second {
		return m.percent
	}
	busy, total, ok := processorTimes()
	if !ok {
		return nil
	}
	if !m.at.IsZero() && total > m.total {
		m.percent = new(math.Round(1000*float64(busy-m.busy)/float64(total-m.total)) / 10)
	}
	m.at, m.busy, m.total = now, busy, total
	return m.percent
}

// pressure says how much room there is for more runs.
func (rs *runs) pressure() pressureJSON {
	taken, refused := rs.room.counts()
	p := pressureJSON{Starting: len(rs.slots), Queued: rs.queued.Load(), MaxStarting: rs.cfg.MaxStarting, MaxQueue: rs.cfg.MaxQueue, RecentRejected: refused,
		CPU: cpuJSON{Cores: runtime.NumCPU(), Load1: loadAverage(), Percent: rs.machine.look(time.Now())}, Memory: machineMemory()}
	rs.mu.Lock()
	closing := rs.closing
	for _, r := range rs.byProfile {
		r.mu.Lock()
		if r.answer != nil {
			p.Running++
		}
		r.mu.Unlock()
	}
	rs.mu.Unlock()
	p.Accepting = !closing && p.Queued == 0 && p.Starting < p.MaxStarting
	if rs.cfg.MaxRunning > 0 {
		p.MaxRunning = new(rs.cfg.MaxRunning)
		p.Accepting = p.Accepting && taken < rs.cfg.MaxRunning
	}
	if free, err := freeBytes(rs.cfg.Data); err == nil {
		p.Disk = &diskJSON{int64(free)} //nolint:gosec // no disk has so much
	}
	return p
}
