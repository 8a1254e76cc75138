package live

import "time"

const (
	cursorPeriod  = 80 * time.Millisecond // between two queries of the cursor's shape
	cursorTimeout = time.Second           // of one query
)

// cursorQuery is the state of the query for the cursor's shape. View.mu guards it.
type cursorQuery struct {
	busy  bool
	again bool    // the mouse has moved since
	x, y  float64 // where it is
	shape string  // that viewers were told
}

// queryCursor tells viewers the shape of the mouse cursor at a position. One query is under way at a time.
func (l *View) queryCursor(session string, x, y float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.cursor
	c.x, c.y, c.again = x, y, true
	if c.busy {
		return
	}
	c.busy = true
	go func() {
		for {
			x, y, ok := l.nextCursorQuery(session)
			if !ok {
				return
			}
			pause := time.After(cursorPeriod)
			var shape string
			if l.evaluate(session, cursorTimeout, call(cursorScript, x, y), &shape) == nil {
				l.setCursor(shape)
			}
			<-pause
		}
	}()
}

// nextCursorQuery returns the position of the next query; false if none is needed any more.
func (l *View) nextCursorQuery(session string) (x, y float64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &l.cursor
	if !c.again || l.session != session || len(l.viewers) == 0 {
		c.busy = false
		return 0, 0, false
	}
	c.again = false
	return c.x, c.y, true
}

// setCursor tells viewers of a changed shape.
func (l *View) setCursor(shape string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if shape != l.cursor.shape && len(shape) < 40 {
		l.cursor.shape = shape
		l.broadcast(map[string]string{"type": "cursor", "cursor": shape})
	}
}
