//go:build race

package tests

// withRace: the program that the tests drive looks for data races, as the tests themselves do.
const withRace = true
