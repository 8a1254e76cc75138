package api

import (
	"crypto/tls"
	"net"
	"net/netip"
)

// Prefix is the path below which all operations are.
const Prefix = "/api/v1"

// Config holds the settings of the API.
type Config struct {
	Version      map[string]string // the answer of GET /version
	Data         string            // path of the data folder; the first key is written there
	Listen       string            // HOST:PORT of --listen; its host is an accepted Host value
	Address      net.Addr          // the address that the listener is bound to
	TLS          *tls.Config       // nil: plain HTTP
	AllowHost    []string          // more accepted Host values (--allow-host)
	BehindProxy  []netip.Prefix    // addresses of reverse proxies whose X-Forwarded headers are trusted
	Key          string            // WARREN_API_KEY; empty: none
	AllowPrivate bool              // whether profiles may reach private networks
	UploadLimit  int64             // maximum size of one upload in bytes; 0: runs.MaxUpload
	AuditDays    int               // days that entries of the audit log are kept; 0: for ever
	Settings     []Flag            // what the server was started with, without secrets
	OpenFiles    int               // limit of open file descriptors; 0: unknown
}

// maxConnections returns how many connections the server accepts: half of the descriptor limit. 0 means no limit.
func (c Config) maxConnections() int { return c.OpenFiles / 2 }
