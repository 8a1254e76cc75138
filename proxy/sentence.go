package proxy

// Sentence is an error whose text is a sentence for the person who typed what is wrong. A form shows it beside its field.
type Sentence string

// Error returns the sentence.
func (s Sentence) Error() string { return string(s) }
