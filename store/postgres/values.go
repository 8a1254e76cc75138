package postgres

import (
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Values between Go and PostgreSQL. Arguments are text but bytes; columns of numbers and bytes are binary
// (https://www.postgresql.org/docs/15/protocol-overview.html#PROTOCOL-FORMAT-CODES). Any other column is its text.

// Types of columns (pg_type.dat).
const (
	typeBool   = 16
	typeBytes  = 17
	typeInt8   = 20
	typeInt2   = 21
	typeInt4   = 23
	typeFloat8 = 701
)

const (
	asText   = 0
	asBinary = 1
)

// formatsOf returns in which format columns are asked for.
func formatsOf(columns []pgconn.FieldDescription) []int16 {
	formats := make([]int16, len(columns))
	for i, c := range columns {
		switch c.DataTypeOID {
		case typeBool, typeBytes, typeInt8, typeInt2, typeInt4, typeFloat8:
			formats[i] = asBinary
		}
	}
	return formats
}

// CheckNamedValue implements driver.NamedValueChecker. Lists of texts are arrays.
func (s *session) CheckNamedValue(v *driver.NamedValue) (err error) {
	if _, list := v.Value.([]string); !list {
		v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value)
	}
	return err
}

// encode returns arguments as the server takes them, with their formats. types are those of the parameters; nil: unknown.
func encode(args []driver.NamedValue, types []uint32) (values [][]byte, formats []int16, err error) {
	if types != nil && len(types) != len(args) {
		return nil, nil, fmt.Errorf("the statement has %d parameters, and %d arguments were given", len(types), len(args))
	}
	values, formats = make([][]byte, len(args)), make([]int16, len(args))
	for i, arg := range args {
		switch v := arg.Value.(type) {
		case nil:
		case int64:
			values[i] = strconv.AppendInt(nil, v, 10)
		case float64:
			values[i] = strconv.AppendFloat(nil, v, 'g', -1, 64)
		case bool:
			values[i] = strconv.AppendBool(nil, v)
		case string:
			values[i] = []byte(v)
		case []string:
			values[i] = []byte(arrayOf(v))
		case []byte:
			switch {
			case v == nil:
			case types == nil || types[i] == typeBytes:
				values[i], formats[i] = v, asBinary
			default:
				values[i] = v
			}
		default:
			return nil, nil, fmt.Errorf("argument %d is a %T, which has no type here", i+1, v)
		}
	}
	return values, formats, nil
}

// arrayOf writes texts as an array (https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO).
func arrayOf(texts []string) string {
	var out strings.Builder
	out.WriteByte('{')
	for i, text := range texts {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('"')
		for j := range len(text) {
			if text[j] == '"' || text[j] == '\\' {
				out.WriteByte('\\')
			}
			out.WriteByte(text[j])
		}
		out.WriteByte('"')
	}
	out.WriteByte('}')
	return out.String()
}

// resultRows implements driver.Rows.
type resultRows struct {
	s       *session
	text    string
	found   *pgconn.ResultReader
	more    bool // the reader stands at a row that was not taken
	columns []pgconn.FieldDescription
	over    bool
}

// describe keeps the columns: those of the reader are used again.
func (r *resultRows) describe() {
	r.columns = append(r.columns, r.found.FieldDescriptions()...)
	r.over = !r.more
}

// Columns implements driver.Rows.
func (r *resultRows) Columns() []string {
	names := make([]string, len(r.columns))
	for i, c := range r.columns {
		names[i] = c.Name
	}
	return names
}

// Close implements driver.Rows.
func (r *resultRows) Close() error {
	if r.over {
		return nil
	}
	r.over = true
	_, err := r.found.Close()
	return r.s.ended(r.text, err)
}

// Next implements driver.Rows.
func (r *resultRows) Next(into []driver.Value) (err error) {
	if r.over {
		return io.EOF
	}
	if !r.more && !r.found.NextRow() {
		if err := r.Close(); err != nil {
			return err
		}
		return io.EOF
	}
	r.more = false
	for i, value := range r.found.Values() {
		if into[i], err = decode(r.columns[i], value); err != nil {
			return fmt.Errorf("column %s: %w", r.columns[i].Name, err)
		}
	}
	return nil
}

// decode returns a column's value: an int64, a float64, a bool, bytes that are valid until the next row, a string, or nil.
func decode(c pgconn.FieldDescription, value []byte) (driver.Value, error) {
	switch {
	case value == nil:
		return nil, nil
	case c.Format == asText:
		return decodeText(c.DataTypeOID, value)
	}
	switch {
	case c.DataTypeOID == typeBytes:
		return value, nil
	case c.DataTypeOID == typeBool && len(value) == 1:
		return value[0] != 0, nil
	case c.DataTypeOID == typeFloat8 && len(value) == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(value)), nil
	case len(value) == 8:
		return int64(binary.BigEndian.Uint64(value)), nil //nolint:gosec // two's complement
	case len(value) == 4:
		return int64(int32(binary.BigEndian.Uint32(value))), nil //nolint:gosec // as above
	case len(value) == 2:
		return int64(int16(binary.BigEndian.Uint16(value))), nil //nolint:gosec // as above
	}
	return nil, fmt.Errorf("%d bytes of the type %d", len(value), c.DataTypeOID)
}

func decodeText(oid uint32, value []byte) (driver.Value, error) {
	switch oid {
	case typeBool:
		return string(value) == "t", nil
	case typeInt8, typeInt4, typeInt2:
		return strconv.ParseInt(string(value), 10, 64)
	case typeFloat8:
		return strconv.ParseFloat(string(value), 64)
	case typeBytes:
		digits, ok := strings.CutPrefix(string(value), `\x`)
		if !ok {
			return nil, fmt.Errorf("bytes as %.9q: leave the server's bytea_output at hex", value)
		}
		return hex.DecodeString(digits)
	}
	return string(value), nil
}
