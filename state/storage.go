package state

import "encoding/json"

// Origin is what a site keeps in localStorage and IndexedDB, in the shape of Playwright's storageState.
type Origin struct {
	Origin       string     `json:"origin"` // scheme, host and port, such as https://example.com
	LocalStorage []Item     `json:"localStorage"`
	IndexedDB    []Database `json:"indexedDB,omitempty"`
}

// Item is an entry of localStorage. Both texts are UTF-16 in Chrome. Half a surrogate pair is written as its JSON escape.
type Item struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Database is an IndexedDB database.
type Database struct {
	Name    string  `json:"name"`
	Version int64   `json:"version"`
	Stores  []Store `json:"stores"`
}

// Store is an object store of a database. A record has key or keyEncoded, unless the store has a key path, and value or valueEncoded. The
// encoded forms are those of Playwright, for what JSON has not: undefined, dates, big integers, maps, typed arrays and references.
type Store struct {
	Name          string            `json:"name"`
	AutoIncrement bool              `json:"autoIncrement"`
	KeyPath       *string           `json:"keyPath,omitempty"`
	KeyPathArray  []string          `json:"keyPathArray,omitempty"`
	Records       []json.RawMessage `json:"records"`
	Indexes       []Index           `json:"indexes"`
}

// Index is an index of an object store.
type Index struct {
	Name         string   `json:"name"`
	KeyPath      *string  `json:"keyPath,omitempty"`
	KeyPathArray []string `json:"keyPathArray,omitempty"`
	MultiEntry   bool     `json:"multiEntry"`
	Unique       bool     `json:"unique"`
}

// Credential is a passkey in the shape of Playwright's storageState. Its texts are base64url without padding, but for RPID.
type Credential struct {
	ID         string `json:"id"`
	RPID       string `json:"rpId"` // the domain that it is for
	UserHandle string `json:"userHandle"`
	PrivateKey string `json:"privateKey"` // PKCS#8, DER
	PublicKey  string `json:"publicKey"`  // SPKI, DER
	SignCount  int64  `json:"signCount"`
	UserName   string `json:"userName,omitempty"` // as the site has given it
}

// StorageFile is what a file of Playwright's storageState has.
type StorageFile struct {
	Cookies        Cookies // with the refusals and notes of the whole file
	Origins        []Origin
	Credentials    []Credential
	HasCredentials bool      // the file has the member, even if it is empty
	Failed         []Failure // of a profile's storage, what could not be read
}

// Failure is an origin whose storage could not be read or written.
type Failure struct {
	Origin string `json:"origin" example:"https://shop.example"`
	Reason string `json:"reason" example:"The page did not answer in time."`
}
