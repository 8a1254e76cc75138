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

// Trace makes cmd run under strace, with all of its children, which writes the calls on sockets to file. Without
// strace the test is skipped.
func Trace(t testing.TB, cmd *exec.Cmd, file string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skipf("needs strace (deploy/install-test-tools.sh): %v", err)
	}
	// --seccomp-bpf stops a process only at the traced calls. -Y and -y name programs and sockets. With -D cmd stays
	// the program, and strace is its child.
	cmd.Args = append([]string{strace, "-D", "-f", "-Y", "-y", "-qq", "--seccomp-bpf", "-e", "signal=none",
		"-e", "trace=socket,connect,bind,listen,sendto,sendmsg,sendmmsg", "-o", file, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = strace
}

// Call is a successful call on a network socket: to an address, or from one that others may reach.
type Call struct {
	Program string // the thread's name
	Name    string // connect, bind, listen, sendto, sendmsg, sendmmsg
	Kind    string // tcp, udp, or raw
	At      netip.AddrPort
	Text    string
}

// String implements fmt.Stringer.
func (c Call) String() string { return c.Program + ": " + c.Kind + " " + c.Text }

// Calls reads the file that Trace has written. Local sockets (AF_UNIX, AF_NETLINK) are left out.
func Calls(file string) (calls []Call, lines int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	head := regexp.MustCompile(`^(\d+)<(.*?)> +(.*)$`)
	begun := map[string]string{} // by thread: calls interrupted by other threads' lines
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

// readCall parses a line without its thread.
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
	case c.Kind == "": // a local socket, or one from another process
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

// addressIn returns the network address in a call's arguments.
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
