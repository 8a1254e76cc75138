package browser

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// What a browser needs that is started before its run is known.

// Refuse closes every connection to Listener until stop is called, which returns how many there were. Meanwhile nothing else may serve
// Listener. A browser whose connections are refused reaches nothing: there is no relay.
func (b *Browser) Refuse() (stop func() int) {
	var refused atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := b.gate.Accept()
			if err != nil {
				return
			}
			refused.Add(1)
			_ = c.Close() // the browser sees its end either way
		}
	}()
	return func() int {
		l, ok := b.gate.Listener.(*net.TCPListener)
		if ok {
			_ = l.SetDeadline(time.Now()) // fails if it is closed, and then nothing is accepted
		} else {
			_ = b.gate.Close() // without a listener nothing gets out
		}
		<-ended
		if ok {
			_ = l.SetDeadline(time.Time{})
		}
		return int(refused.Load())
	}
}

// Answers asks the running browser for its version, and returns why it did not answer.
func (b *Browser) Answers(ctx context.Context) error {
	m, err := b.running()
	if err != nil {
		return err
	}
	return m.call(ctx, "", "Browser.getVersion", nil, nil)
}
