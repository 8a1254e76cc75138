package browser

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	in, err := Find(t.Context(), "")
	t.Logf("%+v %v", in, err)
	dir := t.TempDir()
	for i := 0; i < 3; i++ {
		tmp, _ := os.MkdirTemp("", "w")
		b, err := Open(Spec{Path: in.Path, UserDataDir: dir + "/p", TempDir: tmp, Headless: true, Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		t0 := time.Now()
		err = b.Start(t.Context())
		t.Log("start", time.Since(t0), err)
		t.Log(b.Languages(), b.Timezone(), b.Version(), b.UserAgent(), time.Since(t0))
		t.Log(b.mux.owner.openPages())
		t0 = time.Now()
		t.Log(b.Stop(context.Background(), false), time.Since(t0), b.Exit())
		b.Close()
	}
}
