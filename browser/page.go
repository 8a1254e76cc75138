package browser

import (
	"fmt"
)

// Page is an open page and the controller's session on it.
type Page struct{ Target, Session, URL, context string }

// PageError says why there is no picture of a page. Kind is no_page, no_tab, not_answering, too_large or refused.
type PageError struct {
	Kind string
	Err  error
}

// Error satisfies error.
func (e *PageError) Error() string { return fmt.Sprintf("%s: %v", e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *PageError) Unwrap() error { return e.Err }
