package postgres

import (
	"strings"
	"testing"
	"time"

	"warren/testnet"
)

func TestAddressesThatAreRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"mysql://u:geheim@h/db":                                "has to begin with postgres://",
		"host=h password=geheim":                               "has to begin with postgres://",
		"/var/lib/geheim":                                      "has to begin with postgres://",
		"postgres://u:geheim/1@h/db":                           "cannot be read",
		"postgres://u:geheim@h:port/db":                        "cannot be read",
		"postgres://u:%zzgeheim@h/db":                          "cannot be read",
		"postgres://u:geheim@h/db?connect_timeout=soon":        "cannot be read (the value of connect_timeout)",
		"postgresql://u:geheim@h/db?sslmode=maybe":             "cannot be read (the value of sslmode)",
		"postgres://u@h/db?password=geheim&sslmode=maybe":      "cannot be read (the value of sslmode)",
		"postgres://u:geheim@h/db?target_session_attrs=geheim": "cannot be read (the value of target_session_attrs)",
	} {
		db, err := Open(address, 1, Settings{})
		if err == nil {
			_ = db.Close()
			t.Errorf("%s is taken", address)
			continue
		}
		if said := err.Error(); !strings.Contains(said, want) || strings.Contains(said, "geheim") || strings.Contains(said, "heim@") {
			t.Errorf("%s: %s, want %s", address, said, want)
		}
	}
	for _, address := range []string{"postgres://h/db", "postgresql://u:p%2Fq@a:1,b:2/db?target_session_attrs=read-write",
		"postgres:///db?host=/run/postgresql"} {
		db, err := Open(address, 1, Settings{})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		_ = db.Close()
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	address := testnet.Postgres(t)
	setting := func(address string, o Settings, name string) string {
		t.Helper()
		return one(t, open(t, address, o), "SELECT current_setting($1)", name)
	}
	for _, c := range []struct {
		address    string
		o          Settings
		name, want string
	}{
		{address, Settings{}, "application_name", "warren"},
		{address, Settings{}, "transaction_isolation", "serializable"},
		{address, Settings{}, "enable_seqscan", "off"},
		{address, Settings{}, "lock_timeout", "10s"},
		{address, Settings{LockTimeout: 1500 * time.Millisecond}, "lock_timeout", "1500ms"},
		{address, Settings{}, "idle_in_transaction_session_timeout", "1min"},
		{address, Settings{}, "TimeZone", "UTC"},
		{address, Settings{}, "tcp_user_timeout", "30000"},
		{address, Settings{}, "client_connection_check_interval", "10s"},
		{address, Settings{ReadOnly: true}, "transaction_read_only", "on"},
		{address, Settings{ReadOnly: true}, "transaction_isolation", "read committed"},
		{address + "&lock_timeout=7s&search_path=other", Settings{}, "lock_timeout", "7s"},
		{address + "&lock_timeout=7s&search_path=other", Settings{}, "search_path", "other"},
		{address + "&timezone=Asia/Tokyo", Settings{}, "TimeZone", "UTC"},
	} {
		if got := setting(c.address, c.o, c.name); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
}

// TestIdleTransaction: a transaction whose program does not go on holds nobody up for ever.
func TestIdleTransaction(t *testing.T) {
	t.Parallel()
	address := testnet.Postgres(t)
	forgotten := open(t, address, Settings{IdleInTransaction: 100 * time.Millisecond})
	run(t, forgotten, "CREATE TABLE a (n BIGINT)")
	tx, err := forgotten.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	run(t, tx, "LOCK TABLE a")
	run(t, open(t, address, Settings{}), "INSERT INTO a VALUES (1)") // waits for the lock
	wantFault(t, tx, Gone, "", "INSERT INTO a VALUES (2)")
}
