//go:build !linux

package cgroup

import "errors"

// Tree is empty: this system has no control groups.
type Tree struct{}

// Open finds nothing.
func Open(string) *Tree { return nil }

// Look says that there is nothing.
func Look() Support {
	return Support{Kind: None, Missing: limiting(), Reason: "this system has no control groups"}
}

// Support says that runs get no groups.
func (t *Tree) Support() Support { return Look() }

// Create makes no group, which is no error.
func (t *Tree) Create(string, Limits) (*Group, error) { return nil, nil }

// Group names none.
func (t *Tree) Group(string) *Group { return nil }

// Sweep finds nothing.
func (t *Tree) Sweep(func(string) bool) ([]string, error) { return nil, nil }

// Close does nothing.
func (t *Tree) Close() {}

// Set does nothing.
func (g *Group) Set(Limits) error { return nil }

// Mark does nothing.
func (g *Group) Mark(bool) error { return nil }

// SetShare is not supported.
func (g *Group) SetShare(int) error { return errors.ErrUnsupported }

// Add does nothing.
func (g *Group) Add(int) error { return nil }

// Enter does nothing.
func (g *Group) Enter() (leave func() error, err error) { return func() error { return nil }, nil }

// PIDs finds none.
func (g *Group) PIDs() ([]int, error) { return nil, nil }

// Kill does nothing.
func (g *Group) Kill() error { return nil }

// Remove does nothing.
func (g *Group) Remove() error { return nil }

// Usage knows nothing.
func (g *Group) Usage() Usage { return Usage{} }

// OOMKills knows of none.
func (g *Group) OOMKills() int64 { return 0 }

// Counts is false.
func (t *Tree) Counts() bool { return false }

// CanFreeze is false.
func (t *Tree) CanFreeze() bool { return false }

// RemoveStale finds nothing.
func (t *Tree) RemoveStale() int { return 0 }

// ThawProcess finds no process that is frozen.
func ThawProcess(int) error { return nil }

// Freeze is not supported.
func (g *Group) Freeze() error { return errors.ErrUnsupported }

// Thaw is not supported.
func (g *Group) Thaw() error { return errors.ErrUnsupported }

// Reclaim is not supported.
func (g *Group) Reclaim(int64) (int64, error) { return 0, errors.ErrUnsupported }

// Watch is what no group gives.
type Watch struct{}

// Watch is not supported.
func (g *Group) Watch() (*Watch, error) { return nil, errors.ErrUnsupported }

// C never has a value.
func (w *Watch) C() <-chan struct{} { return nil }

// Close does nothing.
func (w *Watch) Close() {}
