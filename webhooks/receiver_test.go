package webhooks

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"warren/events"
)

// TestReceiver: the receiver of docs/webhooks.md takes what is sent, and refuses what somebody else sends.
func TestReceiver(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node")
	}
	doc, err := os.ReadFile("../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(doc), "```js\n")
	program, _, _ = strings.Cut(program, "```")
	file := filepath.Join(t.TempDir(), "receiver.mjs")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, private())
	id, secret := w.webhook("a", "http://127.0.0.1:1", "run.*")
	cmd := exec.CommandContext(t.Context(), node, file)
	cmd.Env = append(os.Environ(), "WEBHOOK_SECRET="+secret, "PORT=0")
	cmd.Stderr = w.log
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	defer cmd.Wait() //nolint:errcheck // it is killed
	defer cmd.Process.Kill()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, w.log)
	}
	address := "http://127.0.0.1:" + strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	res, err := http.Post(address, "application/json", strings.NewReader(`{"type":"run.ended"}`))
	w.must(err)
	io.Copy(io.Discard, res.Body) //nolint:errcheck // it is empty
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a forged message is answered with %d", res.StatusCode)
	}
	w.moveTo(id, address)
	w.events.Publish(events.Event{Type: "run.ended", Workspace: "a", Data: object{ID: "r1", Long: "ü"}})
	if line, err = lines.ReadString('\n'); err != nil || !strings.Contains(line, `"data":{"id":"r1","long":"ü"}`) {
		t.Errorf("%q, %v, %s", line, err, w.log)
	}
	if row, tries := w.awaitTries(id, 1); row.State != Delivered || *tries[0].Status != http.StatusNoContent {
		t.Errorf("%+v", row)
	}
	http.DefaultClient.CloseIdleConnections()
}
