package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestScan(t *testing.T) {
	for _, c := range []struct{ msg, id, method, session, params string }{
		{`{"id":1,"method":"A.b","params":{"id":2,"sessionId":"no"},"sessionId":"S"}`, `1`, `"A.b"`, `"S"`, `{"id":2,"sessionId":"no"}`},
		{` { "sessionId" : "S" , "id" : 1 } `, `1`, ``, `"S"`, ``},
		{`{"params":{"s":"}\\\"],{","a":[[{}],-1.5e3,true,null]},"id":7}`, `7`, ``, ``, `{"s":"}\\\"],{","a":[[{}],-1.5e3,true,null]}`},
		{`{"method":"\\","id":3}`, `3`, `"\\"`, ``, ``},
		{`{}`, ``, ``, ``, ``},
	} {
		e, err := scan([]byte(c.msg), math.MaxInt)
		if err != nil {
			t.Errorf("%s: %v", c.msg, err)
			continue
		}
		for want, s := range map[string]span{c.id: e.id, c.method: e.method, c.session: e.session, c.params: e.params} {
			if got := string(s.in([]byte(c.msg))); want != "" && got != want {
				t.Errorf("%s: got %s, want %s", c.msg, got, want)
			}
		}
	}
	for _, bad := range []string{``, ` `, `[]`, `"x"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":"`, `{"a":"\`, `{"a":{`, `{1:2}`} {
		if _, err := scan([]byte(bad), math.MaxInt); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	deep := `{"a":` + strings.Repeat("[", 6) + strings.Repeat("]", 6) + `}`
	if _, err := scan([]byte(deep), 6); err != nil {
		t.Errorf("six deep: %v", err)
	}
	if _, err := scan([]byte(deep), 5); !errors.Is(err, errDepth) {
		t.Errorf("six deep where five are allowed: %v", err)
	}
}

// FuzzScan: scan finds the same outer members as encoding/json, before and after they are rewritten.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"A.b","params":{},"sessionId":"S"}`, `{"sessionId":"S","id":1}`, `{"id":-1,"sessionId":"a\"b"}`,
		`{"a":"\\\\\"","id":2}`, "{\"id\":1\n,\t\"x\":[{}]}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		e, err := scan(msg, math.MaxInt)
		var want map[string]json.RawMessage
		if json.Unmarshal(msg, &want) != nil || want == nil {
			return // no object: anything but a crash is right
		}
		if err != nil {
			t.Fatalf("%q: %v", msg, err)
		}
		if e.other || bytes.Contains(msg, []byte(`\u`)) {
			return // encoding/json takes the last of two, and unescapes names
		}
		for name, s := range map[string]span{"id": e.id, "method": e.method, "params": e.params, "sessionId": e.session} {
			if !bytes.Equal(want[name], s.in(msg)) {
				t.Fatalf("%q: %s is %q, want %q", msg, name, s.in(msg), want[name])
			}
		}
		changed := bytes.Clone(msg)
		blank(changed, e.sessionMember)
		if e.id.there() {
			changed = replace(changed, e.id, []byte("4711"))
		}
		var got map[string]json.RawMessage
		if err := json.Unmarshal(changed, &got); err != nil {
			t.Fatalf("%q became %q: %v", msg, changed, err)
		}
		if _, there := got["sessionId"]; there || e.id.there() && string(got["id"]) != "4711" ||
			!bytes.Equal(got["params"], want["params"]) {
			t.Fatalf("%q became %q", msg, changed)
		}
	})
}

func TestEncode(t *testing.T) {
	got := string(command{id: 5, session: `S"`, method: "A.b\n", params: []byte(`{"x":1}`)}.encode())
	if want := `{"id":5,"sessionId":"S\"","method":"A.b\n","params":{"x":1}}` + "\x00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(command{id: 5, method: "A.b"}.encode()), `{"id":5,"method":"A.b"}`+"\x00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestQueueBounds(t *testing.T) {
	q := newQueue(10)
	for _, msg := range []string{"12345", "1234567890123456789"} { // one may exceed the limit
		if err := q.enqueue([]byte(msg)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := q.enqueueWait(ctx, []byte("x")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for room: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- q.enqueueWait(context.Background(), []byte("waited")) }()
	for _, want := range []string{"12345", "1234567890123456789", "waited"} {
		if got, err := q.dequeue(t.Context()); err != nil || string(got) != want {
			t.Errorf("took %q, %v, want %q", got, err, want)
		}
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if err := q.enqueue([]byte("last")); err != nil {
		t.Error(err)
	}
	q.close()
	q.close()
	if got, err := q.dequeue(t.Context()); err != nil || string(got) != "last" {
		t.Errorf("after close: %q, %v", got, err)
	}
	if _, err := q.dequeue(t.Context()); !errors.Is(err, errQueueClosed) {
		t.Errorf("an empty closed queue: %v", err)
	}
	for name, err := range map[string]error{"put": q.enqueue(nil), "wait": q.enqueueWait(t.Context(), nil)} {
		if !errors.Is(err, errQueueClosed) {
			t.Errorf("%s after close: %v", name, err)
		}
	}
}

func TestTailKeepsTheLastLines(t *testing.T) {
	tail := &tail{}
	for i := range 30 {
		tail.keep([]byte(strings.Repeat("x", i)))
	}
	got := tail.lines()
	if len(got) != tailLines || len(got[19]) != 29 {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
	for range 30 {
		tail.keep([]byte(strings.Repeat("y", 500)))
	}
	size := 0
	for _, line := range tail.lines() {
		size += len(line) + 1
	}
	if size > tailBytes || size < tailBytes-1000 {
		t.Errorf("%d bytes", size)
	}
	tail.keep([]byte("a\x1b[31mb\r\x00c\xffd\u202e"))
	if got := tail.lines(); got[len(got)-1] != "a[31mbcd" {
		t.Errorf("%q", got[len(got)-1])
	}
}
