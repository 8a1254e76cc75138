package state

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Reads which cookies a file names to be removed, so that one write can put a cookie in the place of another one.

// readRemovals reads an array of cookies of which only the members of a Key count. They must be as a read tells them: nothing is converted,
// and nothing is refused that Chrome has.
func (c *collector) readRemovals(d *jsontext.Decoder) error {
	if d.PeekKind() != '[' {
		return &FileError{Index: -1, Byte: d.InputOffset() + 1, Message: "The member remove is not an array."}
	}
	c.out.Remove = []Key{}
	var r record
	index := -1
	err := eachElement(d, func() error {
		if index++; index == MaxCookies {
			return &FileError{Index: index, Large: true, Message: fmt.Sprintf("The file removes more than %d cookies.", MaxCookies)}
		}
		if d.PeekKind() != '{' {
			c.refuseRemoval(index, Key{}, faults{"It is not an object."})
			return d.SkipValue()
		}
		var wrong faults
		if err := c.readMembers(d, &r, &wrong); err != nil {
			return err
		}
		if key := c.keyOf(&r, &wrong); len(wrong) > 0 {
			c.refuseRemoval(index, key, wrong)
		} else {
			c.out.Remove = append(c.out.Remove, key)
		}
		return nil
	})
	if err != nil {
		return jsonError(d, index, err)
	}
	return nil
}

// keyOf returns what identifies the cookie of a record, and adds to wrong what is missing.
func (c *collector) keyOf(r *record, wrong *faults) Key {
	cookie := Cookie{Name: r.text(mName, wrong), Domain: r.text(mDomain, wrong), Path: r.text(mPath, wrong)}
	for _, m := range []member{mName, mDomain, mPath} {
		wrong.require(len(r.raw[m]) > 0, "The "+memberNames[m]+" is missing.")
	}
	wrong.require(!r.bool(mOpaque, wrong), "It belongs to an opaque partition, which no name reaches.")
	c.setPartition(r, &cookie, wrong)
	c.entry = c.entry[:0] // a conversion of a partition key is no news here
	return cookie.Key()
}

func (c *collector) refuseRemoval(index int, key Key, wrong faults) {
	if len(c.out.Refused) == MaxRefused {
		c.out.More++
		return
	}
	c.out.Refused = append(c.out.Refused, Refusal{Index: index, Place: fmt.Sprintf("remove[%d]", index), Name: excerpt(key.Name),
		Domain: excerpt(key.Domain), Reason: wrong.text()})
}
