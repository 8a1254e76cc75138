package runs

import "warren/shim"

// The types that a run's process takes and returns.
type (
	// Process is a connection to the process of one run.
	Process = shim.Client
	// Rights are what a client of a run may do.
	Rights = shim.Rights
	// Shot describes a screenshot of a page.
	Shot = shim.Shot
	// Paper describes a page printed to PDF.
	Paper = shim.Paper
	// PageError is the reason why a screenshot or PDF failed.
	PageError = shim.PageError
	// Installed is a browser of this machine.
	Installed = shim.Installed
	// Download is a file that a browser downloads or has downloaded.
	Download = shim.Download
	// ListedBrowser is a browser of this machine and the place where it was found.
	ListedBrowser = shim.Listed
)

// TicketProtocol is the prefix of the WebSocket subprotocol that carries a ticket.
const TicketProtocol = shim.TicketProtocol
