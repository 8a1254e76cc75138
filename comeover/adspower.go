package comeover

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// Reads the text export of AdsPower: blocks of key=value, split by a line of asterisks.

// adsKeys are the keys of the text export, and the kinds of those that are not taken.
var adsKeys = map[string]string{
	"acc_id": ofBookkeeping, "id": ofBookkeeping, "group": ofBookkeeping, "name": ofBookkeeping, "cookie": ofBookkeeping,
	"proxytype": ofBookkeeping, "proxy": ofBookkeeping, "ua": ofBookkeeping, "resolution": ofBookkeeping, "remark": ofBookkeeping,
	"tabs": ofBookkeeping, "ip": ofBookkeeping, "countrycode": ofBookkeeping, "username": ofAccount, "password": ofAccount,
	"fakey": ofAccount, "platform": ofSettings, "ipchecker": ofSettings, "sys_app_cate_id": ofSettings,
}

// isAdsPower reports whether the first line that is no separator begins with a key of the export.
func isAdsPower(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 || isSeparator(line) {
			continue
		}
		key, _, found := bytes.Cut(line, []byte("="))
		_, known := adsKeys[strings.ToLower(string(bytes.TrimSpace(key)))]
		return found && known
	}
	return false
}

// isSeparator reports whether a line has asterisks alone.
func isSeparator(line []byte) bool { return len(line) > 2 && len(bytes.Trim(line, "*")) == 0 }

// adsBlock is a block that is being read.
type adsBlock struct {
	line   int // of its first key
	values map[string]string
	faults []string
}

func readAdsPower(text []byte, now time.Time) (*File, error) {
	out := &File{Format: AdsPower}
	block, n := adsBlock{}, 0
	end := func() error {
		if block.line == 0 {
			return nil
		}
		if len(out.Profiles) == MaxProfiles {
			return tooMany()
		}
		out.Profiles = append(out.Profiles, block.profile(len(out.Profiles)+1, now))
		block = adsBlock{}
		return nil
	}
	for line := range bytes.Lines(text) {
		n++
		line = bytes.TrimRight(line, "\r\n")
		switch trimmed := bytes.TrimSpace(line); {
		case len(trimmed) == 0:
		case isSeparator(trimmed):
			if err := end(); err != nil {
				return nil, err
			}
		default:
			block.take(n, string(line))
		}
	}
	return out, end()
}

// take reads a line of a block.
func (b *adsBlock) take(n int, line string) {
	const most = 20
	if b.line == 0 {
		b.line, b.values = n, map[string]string{}
	}
	key, value, found := strings.Cut(line, "=")
	key = strings.ToLower(strings.TrimSpace(key))
	switch _, twice := b.values[key]; {
	case len(b.faults) >= most || len(b.values) >= maxMembers:
	case !found || key == "":
		b.faults = append(b.faults, fmt.Sprintf("Line %d is no key=value. The file may have been cut off or changed.", n))
	case twice:
		b.faults = append(b.faults, fmt.Sprintf("Line %d has a key for the second time: a line of asterisks is missing before it.", n))
	default:
		b.values[key] = strings.TrimSpace(value)
	}
}

func (b *adsBlock) profile(number int, now time.Time) Profile {
	v := b.values
	p := Profile{Number: number, Line: b.line, Faults: b.faults, ID: v["acc_id"], Name: v["name"], Notes: v["remark"]}
	if p.ID == "" {
		p.ID = v["id"]
	}
	p.addTags(v["group"])
	p.setUserAgent(v["ua"])
	p.setScreen(v["resolution"])
	p.addStartURLs(strings.Split(v["tabs"], ",")...)
	p.setProxyLine(v["proxytype"], v["proxy"])
	p.setCookies([]byte(v["cookie"]), now)
	var unknown []string
	for key, value := range v {
		if value != "" {
			unknown = p.leaveMember(adsKeys, key, unknown)
		}
	}
	p.leaveUnknown(unknown)
	p.finish()
	return p
}

// setProxyLine takes host:port:user:password, of which the last two may be absent. The type stands beside it.
func (p *Profile) setProxyLine(kind, line string) {
	line = strings.TrimSpace(line)
	host, rest, _ := strings.Cut(line, ":")
	if strings.HasPrefix(line, "[") {
		end := strings.Index(line, "]") + 1
		host, rest = line[:end], strings.TrimPrefix(line[end:], ":")
	}
	port, credentials, _ := strings.Cut(rest, ":")
	user, password, _ := strings.Cut(credentials, ":")
	p.setProxy(kind, host, port, user, password)
}
