//go:build !race

package tests

const withRace = false
