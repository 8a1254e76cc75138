package api

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"filippo.io/age"

	"warren/testnet"
)

// TestLargeArchiveLong: noise is exported into a file and imported again, and the heap stays smaller than the noise. It measured 59 to 67
// MiB for 384 MiB of noise.
func TestLargeArchiveLong(t *testing.T) {
	testnet.Long(t)
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // TestMain lets more garbage lie; no t.Parallel, since tests share a heap
	const size, most = 384 << 20, 256 << 20
	a := newAPI(t)
	id := a.profile(t)
	a.putData(t, id)
	noise, err := os.Create(filepath.Join(a.dir, "profiles", id, "chrome", "large"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(noise, rand.NewChaCha8([32]byte{1}), size); err != nil || noise.Close() != nil {
		t.Fatal(err)
	}
	a.do(t, "POST", "/profiles/"+id+"/snapshots", nil).want(t, 201)
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	var peak heapPeak
	runtime.GC()
	res, err := a.client.Do(a.request(t, "GET", "/profiles/"+id+"/export?recipient="+identity.Recipient().String(), nil))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", res, err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "large.warren"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.MultiWriter(file, &peak), res.Body)
	if err := errors.Join(err, res.Body.Close(), file.Close()); err != nil || n < size {
		t.Fatalf("%d bytes, %v", n, err)
	}
	t.Logf("exported with %d MiB of heap", peak.most>>20)
	if file, err = os.Open(file.Name()); err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	req, err := http.NewRequest("POST", a.base+Prefix+"/profiles/import", io.TeeReader(file, &peak))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("X-Warren-Identity", identity.String())
	done := peak.watch()
	res, err = a.client.Do(req)
	if done(); err != nil || res.StatusCode != http.StatusCreated {
		t.Fatalf("%v, %v", res, err)
	}
	res.Body.Close()
	t.Logf("imported with %d MiB of heap at most", peak.most>>20)
	if peak.most > most {
		t.Errorf("the heap had %d MiB, want %d at most", peak.most>>20, most>>20)
	}
}

// heapPeak is the largest heap that was seen.
type heapPeak struct {
	most uint64
	left int
}

func (p *heapPeak) look() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.most = max(p.most, m.HeapAlloc)
}

// Write looks at the heap at each mebibyte.
func (p *heapPeak) Write(b []byte) (int, error) {
	if p.left -= len(b); p.left <= 0 {
		p.left = 1 << 20
		p.look()
	}
	return len(b), nil
}

// watch looks at the heap again and again, beside what is sent. The function that it returns ends that.
func (p *heapPeak) watch() (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	beside := &heapPeak{}
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				beside.look()
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
		p.most = max(p.most, beside.most)
	}
}
