package browser

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"warren/testnet"
)

func TestZZ(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("ZZN"))
	display := testnet.Display(t)
	for i := range n {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			p := newProfile(t)
			spec := p.spec()
			spec.Headless = false
			spec.ExtraEnv = []string{"DISPLAY=" + display, "WAYLAND_DISPLAY=", "XDG_SESSION_TYPE=x11"}
			b := p.open(spec)
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			began := time.Now()
			if err := b.Start(ctx); err != nil {
				t.Fatal(time.Since(began), err)
			}
			started := time.Since(began)
			var made struct{ TargetID string }
			if err := b.mux.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &made); err != nil {
				t.Fatal(err)
			}
			var pg page
			for ctx.Err() == nil {
				var ok bool
				if pg, ok = b.mux.owner.page(made.TargetID); ok {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			began = time.Now()
			for _, a := range []string{"chrome://settings/", "chrome://newtab/", "chrome://version/"} {
				if err := b.mux.call(ctx, pg.session, "Page.navigate", map[string]any{"url": a}, nil); err != nil {
					t.Errorf("%s: %v", a, err)
				}
			}
			t.Log(started, time.Since(began))
		})
	}
}
