package proxy

import (
	"sync"
	"time"

	"github.com/icholy/digest"
)

// handshakeCache remembers how proxy servers are best asked, so that each is found out once:
//
//   - which SOCKS5 servers take a pipelined handshake,
//   - which HTTP proxies want a login by Digest (RFC 7616),
//   - which HTTP proxies refuse tunnels to plain web sites.
//
// Dialers that share a cache learn from each other. It holds some thousands of servers, and drops the oldest first.
// The zero value is ready for use. A handshakeCache is safe for concurrent use.
type handshakeCache struct {
	mu         sync.Mutex
	young, old map[cacheKey]cacheEntry // two generations: a full young one replaces the old one
}

// cacheKey is one user at one server. The password is left out, since it does not change how a server is asked.
type cacheKey struct {
	host string
	port int
	user string
}

type cacheEntry struct {
	mode          handshakeMode
	modeAt        time.Time
	challenge     *digest.Challenge
	digestCount   int       // answers to the challenge so far
	tunnelled     bool      // the proxy has given a tunnel to plainPort
	tunnelRefusal *Error    // how the proxy last refused such a tunnel, if it never gave one
	refusedAt     time.Time // time of tunnelRefusal
}

// handshakeMode is how a SOCKS5 server is asked.
type handshakeMode int

const (
	modeUnknown    handshakeMode = iota
	modePipelined                // the whole handshake in one write
	modeSequential               // each message after the answer to the one before
)

const (
	generationSize = 8192
	retryAfter     = time.Hour // then a server is tried again: servers are replaced, and a stall has other causes too
)

func cacheKeyOf(p *Proxy) cacheKey { return cacheKey{p.Host, p.Port, p.Username} }

// mode returns how the server of p is best asked.
func (h *handshakeCache) mode(p *Proxy) handshakeMode {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.lookup(cacheKeyOf(p))
	if known.mode == modeSequential && time.Since(known.modeAt) > retryAfter {
		return modeUnknown
	}
	return known.mode
}

func (h *handshakeCache) recordMode(p *Proxy, m handshakeMode) {
	h.update(p, func(known *cacheEntry) { known.mode, known.modeAt = m, time.Now() })
}

// nextDigest returns the next answer to the challenge that the proxy has accepted an answer to, or nil.
func (h *handshakeCache) nextDigest(p *Proxy) (next *digestProof) {
	h.mu.Lock()
	known := h.lookup(cacheKeyOf(p)).challenge
	h.mu.Unlock()
	if known == nil {
		return nil
	}
	h.update(p, func(known *cacheEntry) {
		known.digestCount++
		next = &digestProof{known.challenge, known.digestCount}
	})
	return next
}

// recordChallenge keeps a challenge whose first answer the proxy has accepted.
func (h *handshakeCache) recordChallenge(p *Proxy, c *digest.Challenge) {
	h.update(p, func(known *cacheEntry) { known.challenge, known.digestCount = c, 1 })
}

// recordTunnel keeps how an HTTP proxy refuses a tunnel to plainPort; nil means that it gave one.
// A proxy that has given one refuses targets, not tunnels.
func (h *handshakeCache) recordTunnel(p *Proxy, refusal *Error) {
	h.update(p, func(known *cacheEntry) {
		if refusal == nil {
			known.tunnelled, known.tunnelRefusal = true, nil
		} else if !known.tunnelled {
			known.tunnelRefusal, known.refusedAt = refusal, time.Now()
		}
	})
}

// tunnelRefusal returns how the proxy is expected to refuse a tunnel to plainPort, or nil where it may give one.
func (h *handshakeCache) tunnelRefusal(p *Proxy) *Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.lookup(cacheKeyOf(p))
	if time.Since(known.refusedAt) > retryAfter {
		return nil
	}
	return known.tunnelRefusal
}

// lookup returns what is known. The caller holds h.mu.
func (h *handshakeCache) lookup(k cacheKey) cacheEntry {
	if known, ok := h.young[k]; ok {
		return known
	}
	return h.old[k]
}

func (h *handshakeCache) update(p *Proxy, f func(*cacheEntry)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.young == nil {
		h.young = map[cacheKey]cacheEntry{}
	}
	known := h.lookup(cacheKeyOf(p))
	f(&known)
	h.young[cacheKeyOf(p)] = known
	if len(h.young) >= generationSize {
		h.young, h.old = nil, h.young
	}
}
