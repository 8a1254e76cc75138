//go:build !twice

package store

// practises says whether functions are run for practice on PostgreSQL.
const practises = false

// practise does nothing: only a build with the tag "twice" runs functions for practice.
func practise(DBTX, func(string) error, func(*Queries) error) (lost error) { return nil }
