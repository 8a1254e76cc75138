package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// trial measures one round. It returns the values in the order of the figures.
type trial func(ctx context.Context, round int) ([]float64, error)

// side is one contestant.
type side struct {
	name string
	run  trial
}

// play runs the sides in turn, and changes the first side with every round. It returns values[side][figure][round].
func (b *bench) play(ctx context.Context, title string, rounds int, sides ...side) ([][][]float64, error) {
	values := make([][][]float64, len(sides))
	for round := range rounds {
		for turn := range sides {
			i := (turn + round) % len(sides)
			progress("%s: round %d of %d, %s", title, round+1, rounds, sides[i].name)
			got, err := sides[i].run(ctx, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sides[i].name, err)
			}
			if values[i] == nil {
				values[i] = make([][]float64, len(got))
			}
			for f, v := range got {
				values[i][f] = append(values[i][f], v)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// progress shows the current step in one line of the terminal, if there is one.
func progress(format string, args ...any) {
	if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\033[K"+format, args...)
	}
}

// figure is one line of the table.
type figure struct {
	name, unit  string
	ours, floor []float64 // one value per round; floor may be empty
	aim         float64   // the largest acceptable ratio; 0: no aim
	atLeast     bool      // the ratio must reach the aim: more is better
}

func (f figure) ratio() float64 {
	ratios := make([]float64, len(f.ours))
	for i := range ratios {
		ratios[i] = f.ours[i] / f.floor[i]
	}
	return median(ratios)
}

// cells returns the figure's columns: what, ours, floor, ratio, aim, reached.
func (f figure) cells() []string {
	out := []string{f.name, number(median(f.ours)) + " " + f.unit, "", "", "", ""}
	if len(f.floor) == 0 {
		return out
	}
	ratio := f.ratio()
	out[2], out[3] = number(median(f.floor))+" "+f.unit, fmt.Sprintf("%.2f", ratio)
	if f.aim == 0 {
		return out
	}
	sign, reached := "≤", ratio <= f.aim
	if f.atLeast {
		sign, reached = "≥", ratio >= f.aim
	}
	out[4], out[5] = sign+" "+fmt.Sprintf("%.2f", f.aim), "no"
	if reached {
		out[5] = "yes"
	}
	return out
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// number formats with three significant digits.
func number(v float64) string {
	switch {
	case v >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// writeTable writes the figures as a Markdown table that is also readable as text.
func writeTable(w io.Writer, figures []figure) error {
	lines := [][]string{{"figure", "ours", "floor", "ratio", "aim", "reached"}}
	for _, f := range figures {
		lines = append(lines, f.cells())
	}
	return writeLines(w, lines)
}

// writeLines writes lines of cells, the first of which is the head.
func writeLines(w io.Writer, lines [][]string) error {
	width := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, cell := range l {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var out strings.Builder
	for i, l := range lines {
		for j, cell := range l {
			fmt.Fprintf(&out, "| %-*s ", width[j], cell)
		}
		out.WriteString("|\n")
		if i == 0 {
			for _, n := range width {
				out.WriteString("| " + strings.Repeat("-", n) + " ")
			}
			out.WriteString("|\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
