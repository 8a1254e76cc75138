package api

// Says which servers answer an operation, where several share a database.

// place says which server answers an operation.
type place uint8

const (
	anywhere  place = iota // any server, from the database
	atOwner                // the one that has the profile's data
	atPlace                // the same; a profile without data gets a server first
	atChoice               // the same; for a profile without data the one that it would get, which it does not
	nearOwner              // the same while its beat moves, since the run follows a change; else any
)

// Headers of a request that was passed on. They count on connections between servers alone.
const (
	headerClient = "Warren-Client" // the client's address
	headerBase   = "Warren-Base"   // the first server's address as the client sees it
	headerCaller = "Warren-Caller" // the mark of the key, where the client sent a ticket
	headerUnused = "Warren-Unused" // "1": the proxy that the profile gets was dealt as unused, and may have no other
)
