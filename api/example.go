package api

import (
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
)

// exampler is a type of requests or answers that has an example for the API's document. A test checks each one against its schema.
type exampler interface{ example() any }

const (
	exampleProfileID  = "0199a1c2-7d3e-7a10-8a55-0123456789ab"
	exampleProxyID    = "0199a1c2-7d3e-7a10-8a55-0123456789cd"
	exampleSnapshotID = "0199a1c2-7d3e-7a10-8a55-01234567cafe"
	exampleTemplateID = "0199a1c2-7d3e-7a10-8a55-01234567beef"
	exampleScheduleID = "0199a1c2-7d3e-7a10-8a55-01234567feed"
	exampleWebhookID  = "0199a1c2-7d3e-7a10-8a55-01234567d00d"
	exampleDeliveryID = "0199a1c2-7d3e-7a10-8a55-01234567de11"
	exampleRunID      = "0199a1c2-7d3e-7a10-8a55-0123456789ef"
)

func exampleTime() time.Time { return time.Date(2026, 11, 21, 14, 6, 0, 0, time.UTC) }

// exampleOf returns the example of a request or an answer: its own, else that of its body, else nil.
func exampleOf(t reflect.Type) any {
	if e, ok := withBody[exampler](t); ok {
		return e.example()
	}
	return nil
}

// withBody returns an empty value of t as an M, else one of the type of its member Body.
func withBody[M any](t reflect.Type) (M, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	m, ok := reflect.New(t).Interface().(M)
	if ok || t.Kind() != reflect.Struct {
		return m, ok
	}
	if body, has := t.FieldByName("Body"); has && body.Type != t {
		return withBody[M](body.Type)
	}
	return m, false
}

// plain returns v as any JSON library writes it: some of our types know only one.
func plain(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err) // the examples are constant; a test reads them
	}
	return out
}
