package store

// sqliteOf returns the engine of a store that keeps a file.
func sqliteOf(s *Store) *sqliteEngine { return s.engine.(*sqliteEngine) }
