//go:build !race

package main

const withRace = false
