package main

import (
	"context"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Measures the relay behind proxy servers that forward a stream in small pieces. Each piece arrives by itself, and
// costs a relay as much as a large one.

const (
	smallPiece = 6400 // observed size of microsocks's writes
	largePiece = 256 << 10
	smallTotal = 256 << 20
)

// copier is a SOCKS5 server that forwards the far side's target in pieces of one size. args: the size, the target's
// address, and "password" if it needs one.
func copier(c *net.TCPConn, args []string) error {
	size, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	greet := greetAnyone
	if args[2] == "password" {
		greet = farGreet
	}
	if err := greet(c); err != nil {
		return err
	}
	if _, err := readSOCKSRequest(c); err != nil {
		return err
	}
	up, err := net.Dial("tcp", args[1])
	if err != nil {
		return err
	}
	defer up.Close()
	if _, err := c.Write(socksDone()); err != nil {
		return err
	}
	go inPieces(up, c, size) //nolint:errcheck // the other direction shows the end
	return inPieces(c, up, size)
}

func greetAnyone(c io.ReadWriter) error {
	var b [512]byte
	if _, err := readCounted(c, b[:], 1); err != nil {
		return err
	}
	_, err := c.Write([]byte{5, 0})
	return err
}

// inPieces copies by read and write, not in the kernel.
func inPieces(to, from net.Conn, size int) error {
	b := make([]byte, size)
	for {
		n, err := from.Read(b)
		if _, werr := to.Write(b[:n]); werr != nil {
			return werr
		}
		if err != nil {
			return err
		}
	}
}

// plainTarget is the target without a proxy in front of it.
func plainTarget(c *net.TCPConn, _ []string) error { return farTarget(c) }

// measureSmall compares a stream through a server with small writes with one through a server with large writes, by
// the relay's CPU time. It also compares the rate with that of a direct client of the same server without a password.
func (b *bench) measureSmall(ctx context.Context) error {
	if !canMeasureProcesses {
		return nil
	}
	target, err := b.role(ctx, "plain-target")
	if err != nil {
		return err
	}
	defer target.stop()
	serve := func(size int, login string) (*child, error) {
		return b.role(ctx, "copier", strconv.Itoa(size), target.address, login)
	}
	small, err := serve(smallPiece, "password")
	if err != nil {
		return err
	}
	defer small.stop()
	large, err := serve(largePiece, "password")
	if err != nil {
		return err
	}
	defer large.stop()
	bare, err := serve(smallPiece, "none")
	if err != nil {
		return err
	}
	defer bare.stop()
	if err := b.compareSmall(ctx, "small pieces", small.address, large.address, bare.address, target.address); err != nil {
		return err
	}
	login, none, err := b.microsocks(ctx)
	if err != nil || login == "" {
		progress("microsocks is not installed: it is not measured")
		return err
	}
	return b.compareSmall(ctx, "microsocks", login, large.address, none, target.address)
}

// compareSmall alternates between the relay behind the small server, the relay behind the large one, and the small
// server alone.
func (b *bench) compareSmall(ctx context.Context, name, small, large, bare, target string) error {
	got, err := b.play(ctx, "relay, "+name, 2*b.rounds,
		side{"small", b.stream(target, 1, smallTotal, "relay-ours", small, target)},
		side{"large", b.stream(target, 1, smallTotal, "relay-ours", large, target)},
		side{"no relay", func(context.Context, int) ([]float64, error) {
			begun := time.Now()
			err := download(bare, target, 1, smallTotal)
			return []float64{0, float64(smallTotal) / (1 << 20) / time.Since(begun).Seconds()}, err
		}})
	if err != nil {
		return err
	}
	b.table = append(b.table,
		figure{name: "relay, " + name + ": CPU per GiB, beside large pieces", unit: "s", ours: got[0][0], floor: got[1][0], aim: 1.5},
		figure{name: "relay, " + name + ": throughput, beside no relay", unit: "MiB/s", ours: got[0][1], floor: got[2][1],
			aim: 0.9, atLeast: true})
	return nil
}

// microsocks starts Debian's microsocks, with a password and without. The addresses are "" if it is not installed.
func (b *bench) microsocks(ctx context.Context) (login, none string, err error) {
	path, err := exec.LookPath("microsocks")
	if err != nil {
		return "", "", nil
	}
	var addresses [2]string
	for i, arguments := range [][]string{{"-u", farUser, "-P", farPassword}, nil} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		addresses[i] = l.Addr().String()
		port := addresses[i][strings.LastIndexByte(addresses[i], ':')+1:]
		l.Close()
		cmd := exec.CommandContext(ctx, path, append([]string{"-i", "127.0.0.1", "-p", port}, arguments...)...)
		if err := cmd.Start(); err != nil {
			return "", "", err
		}
		b.cleanup = append(b.cleanup, func() {
			cmd.Process.Kill() //nolint:errcheck // the process may have exited
			cmd.Wait()         //nolint:errcheck // the process was killed
		})
		if err := awaitListener(ctx, addresses[i]); err != nil {
			return "", "", err
		}
	}
	return addresses[0], addresses[1], nil
}

// awaitListener waits until the address accepts connections.
func awaitListener(ctx context.Context, address string) error {
	for {
		c, err := net.Dial("tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}
