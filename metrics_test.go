package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"warren/api"
	"warren/testnet"
)

// metricNames are the names of metrics in an expression or a scrape.
var metricNames = regexp.MustCompile(`\b(?:warren|process|go)_[a-z0-9_]+\b`)

// scrapeOf returns the answer of GET /metrics with a key; "" sends none.
func scrapeOf(t testing.TB, base, key string) (status int, text string) {
	t.Helper()
	return ask(t, "GET", base+"/metrics", key, "")
}

// ask returns the answer to a request with a key; "" sends none.
func ask(t testing.TB, method, address, key, body string) (status int, text string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		q.Header.Set("Authorization", "Bearer "+key)
		q.Header.Set("Content-Type", "application/json")
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// realScrape serves once and returns a scrape of it.
func realScrape(t testing.TB) (text string) {
	t.Helper()
	cfg := testConfig(t)
	cfg.APIKey, cfg.MetricsListen = api.NewKey(), "127.0.0.1:0"
	s := serveOnce(t, cfg, func(s *served) {
		var status int
		if status, text = scrapeOf(t, s.base, cfg.APIKey); status != 200 {
			t.Errorf("with a key: %d\n%s", status, text)
		}
		if status, _ := scrapeOf(t, s.base, ""); status != 401 {
			t.Errorf("without a key: %d", status)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return text
}

// TestMetrics: the server's own counts are in a scrape, at --listen with a key and at --metrics-listen without one.
func TestMetrics(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	cfg.APIKey, cfg.MetricsListen = api.NewKey(), "127.0.0.1:0"
	address := regexp.MustCompile(`without a key","address":"([^"]+)"`)
	var log testnet.Buffer
	s := serveOnceTo(t, cfg, &log, func(up *served) {
		testnet.Eventually(t, "the metrics' address", func() bool { return address.MatchString(log.String()) })
		status, text := scrapeOf(t, "http://"+address.FindStringSubmatch(log.String())[1], "")
		for _, want := range []string{"warren_db_writes_total", `warren_db_bytes{file="main"}`, `warren_runs{state="running"} 0`,
			`warren_http_responses_total{class="4xx"} `, `warren_build_info{`, `warren_start_queue 0`} {
			if status != 200 || !strings.Contains(text, want) {
				t.Errorf("%d, no %s in\n%s", status, want, text)
			}
		}
		own := address.FindStringSubmatch(log.String())[1]
		if status, text := ask(t, "POST", up.base+"/api/v1/profiles", cfg.APIKey, `{"name":"p","allowLocal":["`+own+`"]}`); status != 422 ||
			!strings.Contains(text, "own address") {
			t.Errorf("a page may reach the metrics: %d %s", status, text)
		}
		if written := regexp.MustCompile(`warren_db_commits_total [1-9]`); !written.MatchString(text) {
			t.Error("no commit was counted")
		}
	})
	if s.err != nil {
		t.Error(s.err)
	}
	cfg = testConfig(t)
	cfg.MetricsListen = "9100"
	if err := cfg.resolve(); err == nil || !strings.Contains(err.Error(), "metrics-listen") {
		t.Errorf("%v", err)
	}
}

// TestWatchingFiles: the dashboard and the alerts name only metrics that a scrape has, and promtool takes the rules.
func TestWatchingFiles(t *testing.T) {
	t.Parallel()
	scraped := map[string]bool{"warren_snapshot_bytes": true, "warren_backup_timestamp_seconds": true, "warren_start_phase_seconds": true}
	for _, m := range metricNames.FindAllString(realScrape(t), -1) {
		scraped[m] = true
	}
	rules, dashboard := filepath.Join("deploy", "prometheus-alerts.yaml"), filepath.Join("deploy", "grafana-warren.json")
	for _, file := range []string{rules, dashboard} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		named := metricNames.FindAllString(string(text), -1)
		if len(named) < 5 {
			t.Errorf("%s names only %v", file, named)
		}
		slices.Sort(named)
		for _, m := range slices.Compact(named) {
			whole := m
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				whole = strings.TrimSuffix(whole, suffix)
			}
			if !scraped[m] && !scraped[whole] {
				t.Errorf("%s names %s, which no scrape has", file, m)
			}
		}
	}
	checkDashboard(t, dashboard)
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed (Debian: prometheus), so the rules were not checked with it")
		return
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "rules", rules).CombinedOutput(); err != nil ||
		!bytes.Contains(out, []byte("5 rules")) {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// checkDashboard checks that a dashboard has panels with queries, each with a place and an id of its own.
func checkDashboard(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		UID, Title string
		Panels     []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil || d.UID == "" || len(d.Panels) < 10 {
		t.Fatalf("%v: %+v", err, d)
	}
	ids, places := map[int]bool{}, map[[2]int]bool{}
	for _, p := range d.Panels {
		at := [2]int{p.GridPos.X, p.GridPos.Y}
		if p.Title == "" || len(p.Targets) == 0 || ids[p.ID] || places[at] || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %+v", p)
		}
		ids[p.ID], places[at] = true, true
	}
}
