package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"warren/store"
)

const (
	// postgresRows is how many profiles both databases have at most. More take minutes to copy, and reads do not depend on it.
	postgresRows = 100_000
	// postgresPatience is how long the server of PostgreSQL may take to start.
	postgresPatience = 30 * time.Second
)

// measurePostgres compares the server's processor time with its state in PostgreSQL with that in SQLite: what its own process needs.
func (b *bench) measurePostgres(ctx context.Context) error {
	data, err := b.data()
	if err != nil {
		return err
	}
	rows := min(b.rows, postgresRows)
	if err := errors.Join(newDatabase(ctx, data), fill(ctx, filepath.Join(data, store.FileName), rows)); err != nil {
		return err
	}
	url, err := b.postgres(ctx)
	if err != nil || url == "" {
		return err
	}
	progress("copying %d profiles to PostgreSQL", rows)
	if out, err := exec.CommandContext(ctx, b.warren, "store", "copy", "--from", data, "--to", url).CombinedOutput(); err != nil {
		return fmt.Errorf("warren store copy: %w\n%s", err, out)
	}
	lite, err := b.serve(ctx, data)
	if err != nil {
		return err
	}
	defer lite.stop()
	other, err := b.data()
	if err != nil {
		return err
	}
	shared, err := b.serveWith(ctx, other, []string{"WARREN_STORE=" + url,
		"WARREN_SECRET_KEY_FILE=" + filepath.Join(data, "secret.key")})
	if err != nil {
		return err
	}
	defer shared.stop()
	ids, err := someIDs(ctx, lite)
	if err != nil {
		return err
	}
	return b.playPostgres(ctx, lite, shared, ids, rows)
}

func (b *bench) playPostgres(ctx context.Context, lite, shared *warren, ids []string, rows int) error {
	for _, c := range []struct {
		name string
		aim  float64
		want int
		next func(w *warren) []byte
	}{
		{"get one of %d profiles", 3, 200, func(w *warren) []byte {
			return request("GET", w.address, "/api/v1/profiles/"+ids[rand.IntN(len(ids))], w.key, "")
		}},
		{"list page 1 (20) of %d profiles", 2, 200, func(w *warren) []byte {
			return request("GET", w.address, "/api/v1/profiles?workspaceId=default&page=1&limit=20", w.key, "")
		}},
		{"create beside %d profiles", 0, 201, func(w *warren) []byte {
			return request("POST", w.address, "/api/v1/profiles", w.key, `{"name":"Shop, Berlin","os":"linux","browserVersion":"156"}`)
		}},
	} {
		name := fmt.Sprintf(c.name, rows)
		ask := func(w *warren) trial {
			return func(ctx context.Context, _ int) ([]float64, error) {
				l, err := load(ctx, w.child, loadTime, c.want, func(int) []byte { return c.next(w) })
				return []float64{l.cpuMicros(), l.perSecond()}, err
			}
		}
		got, err := b.play(ctx, name, 2*b.rounds, side{"PostgreSQL", ask(shared)}, side{"SQLite", ask(lite)})
		if err != nil {
			return err
		}
		if canMeasureProcesses {
			b.table = append(b.table, figure{name: "PostgreSQL beside SQLite, " + name + ": server CPU", unit: "µs", ours: got[0][0],
				floor: got[1][0], aim: c.aim})
		}
		b.table = append(b.table, figure{name: "  the same: requests", unit: "/s", ours: got[0][1], floor: got[1][1]})
	}
	return nil
}

// postgres starts a PostgreSQL with an empty database until the end, and returns its URL; "": it is not installed.
func (b *bench) postgres(ctx context.Context) (string, error) {
	programs := postgresPrograms()
	if programs == "" {
		progress("PostgreSQL is not installed: this part is left out")
		return "", nil
	}
	dir, err := b.shortDir("warren-bench-pg-")
	if err != nil {
		return "", err
	}
	run := func(program string, args ...string) (*exec.Cmd, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(programs, program), args...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		cmd.Dir = dir
		return cmd, asNobody(cmd, dir) // PostgreSQL refuses to run as root
	}
	cluster := filepath.Join(dir, "cluster")
	made, err := run("initdb", "-D", cluster, "-U", "warren", "--auth=trust", "--encoding=UTF8", "--locale=C")
	if err != nil {
		return "", err
	}
	if out, err := made.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := free.Addr().String()
	_, port, err := net.SplitHostPort(address)
	if err := errors.Join(err, free.Close()); err != nil {
		return "", err
	}
	server, err := run("postgres", "-D", cluster, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "port="+port,
		"-c", "dynamic_shared_memory_type=mmap")
	if err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	b.cleanup = append(b.cleanup, func() {
		server.Process.Signal(os.Interrupt) //nolint:errcheck // it may have ended
		server.Wait()                       //nolint:errcheck // as above
	})
	url := "postgres://warren@" + address + "/postgres?sslmode=disable"
	return url, awaitPostgres(ctx, filepath.Join(programs, "psql"), url)
}

// awaitPostgres waits until a server answers.
func awaitPostgres(ctx context.Context, psql, url string) error {
	ctx, cancel := context.WithTimeout(ctx, postgresPatience)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, psql, "-c", "SELECT 1", url).CombinedOutput()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, out)
		}
	}
}

// postgresPrograms returns the folder of PostgreSQL's programs: that of the postgres in PATH, or Debian's; "": there is none.
func postgresPrograms() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	if found, err := exec.LookPath("postgres"); err == nil {
		folders = append(folders, filepath.Dir(found))
	}
	slices.Reverse(folders)
	for _, folder := range folders {
		if !slices.ContainsFunc([]string{"initdb", "postgres", "psql"}, func(name string) bool {
			_, err := os.Stat(filepath.Join(folder, name))
			return err != nil
		}) {
			return folder
		}
	}
	return ""
}
