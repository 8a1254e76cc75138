package testnet

import (
	"bufio"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// Trace makes cmd run under strace, with all that it starts. What it does with sockets is written to file. The test is skipped where
// there is no strace.
func Trace(t testing.TB, cmd *exec.Cmd, file string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skipf("needs strace (deploy/install-test-tools.sh): %v", err)
	}
	// Only the calls that are looked at stop a process (--seccomp-bpf). -Y and -y tell programs and sockets apart; with -D cmd stays
	// the program, whose child strace is.
	cmd.Args = append([]string{strace, "-D", "-f", "-Y", "-y", "-qq", "--seccomp-bpf", "-e", "signal=none",
		"-e", "trace=socket,connect,bind,listen,sendto,sendmsg,sendmmsg", "-o", file, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = strace
}

// Call is a successful call with a socket of a network: to an address, or from one that others may reach.
type Call struct {
	Program string // the name that the thread goes by
	Name    string // connect, bind, listen, sendto, sendmsg, sendmmsg
	Kind    string // tcp, udp, or raw
	At      netip.AddrPort
	Text    string
}

func (c Call) String() string { return c.Program + ": " + c.Kind + " " + c.Text }

// Calls reads what Trace had written. Of the sockets of the local kind (AF_UNIX, AF_NETLINK) nothing is told.
func Calls(file string) (calls []Call, lines int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	head := regexp.MustCompile(`^(\d+)<(.*?)> +(.*)$`)
	begun := map[string]string{} // by thread: what other threads' lines came between
	kinds := map[string]string{} // by socket
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		m := head.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		lines++
		thread, text := m[1], m[3]
		if first, unfinished := strings.CutSuffix(text, " <unfinished ...>"); unfinished {
			begun[thread] = first
			continue
		}
		if _, rest, resumed := strings.Cut(text, " resumed>"); resumed && strings.HasPrefix(text, "<... ") {
			text = begun[thread] + rest
		}
		if c, ok := readCall(text, kinds); ok {
			c.Program = m[2]
			calls = append(calls, c)
		}
	}
	return calls, lines, in.Err()
}

// readCall reads one line without its thread.
func readCall(text string, kinds map[string]string) (c Call, ok bool) {
	name, rest, _ := strings.Cut(text, "(")
	m := regexp.MustCompile(`^.*\) += (.*)$`).FindStringSubmatch(text)
	if m == nil {
		return c, false
	}
	result := m[1]
	socket := regexp.MustCompile(`<(socket:\[\d+\])>`)
	if name == "socket" {
		if m := socket.FindStringSubmatch(result); m != nil {
			kinds[m[1]] = kindOf(rest)
		}
		return c, false
	}
	if strings.HasPrefix(result, "-1 ") && !strings.HasPrefix(result, "-1 EINPROGRESS") || strings.HasPrefix(result, "?") {
		return c, false
	}
	c = Call{Name: name, Text: text}
	if m := socket.FindStringSubmatch(rest); m != nil {
		c.Kind = kinds[m[1]]
	}
	c.At = addressIn(rest)
	packet := strings.Contains(rest, "sa_family=AF_PACKET")
	if packet {
		c.Kind = "raw"
	}
	switch {
	case c.Kind == "": // of the local kind, or handed over by another process
		return c, c.At.IsValid() || packet
	case name == "listen":
		return c, c.Kind == "tcp"
	}
	return c, c.At.IsValid() || packet || strings.HasPrefix(name, "send") && c.Kind == "udp"
}

func kindOf(arguments string) string {
	switch family, _, _ := strings.Cut(arguments, ","); {
	case family == "AF_PACKET":
		return "raw"
	case family != "AF_INET" && family != "AF_INET6":
		return ""
	case strings.Contains(arguments, "SOCK_STREAM"):
		return "tcp"
	case strings.Contains(arguments, "SOCK_DGRAM"):
		return "udp"
	}
	return "raw"
}

// addressIn finds the address of a network in a call's arguments.
func addressIn(text string) netip.AddrPort {
	for _, pattern := range []string{
		`sin_port=htons\((\d+)\), sin_addr=inet_addr\("([^"]+)"\)`,
		`sin6_port=htons\((\d+)\), .*?inet_pton\(AF_INET6, "([^"]+)"`,
	} {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
			if a, err := netip.ParseAddrPort("[" + m[2] + "]:" + m[1]); err == nil {
				return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
			}
			if a, err := netip.ParseAddrPort(m[2] + ":" + m[1]); err == nil {
				return a
			}
		}
	}
	return netip.AddrPort{}
}
