package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// auditAim is the time of creates with their entries of the audit log, beside those without.
const auditAim = 1.05

// measureAudit has BenchmarkAudit of package api compare creates with and without the audit log. No switch of the program leaves it out,
// so that a test does.
func (b *bench) measureAudit(ctx context.Context) error {
	progress("audit: its rounds run in go test")
	out, err := exec.CommandContext(ctx, "go", "test", "./api", "-run", "^$", "-bench", "^BenchmarkAudit$", "-benchtime",
		fmt.Sprint(4*b.rounds, "x"), "-timeout", "30m").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	line := regexp.MustCompile(`clients (\d+): with \[(.*)\] ms, without \[(.*)\] ms`)
	for _, found := range line.FindAllSubmatch(out, -1) {
		with, err := numbers(string(found[2]))
		without, failed := numbers(string(found[3]))
		if err := errors.Join(err, failed); err != nil {
			return err
		}
		b.table = append(b.table, figure{name: fmt.Sprintf("creates with the audit log, %s caller(s)", found[1]), unit: "ms", ours: with,
			floor: without, aim: auditAim})
	}
	return nil
}

// numbers reads numbers with spaces between them.
func numbers(text string) ([]float64, error) {
	var out []float64
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}
