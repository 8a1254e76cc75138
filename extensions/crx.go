package extensions

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// Reads the header of CRX3 files (components/crx_file/crx3.proto, crx_verifier.cc): "Cr24", the version, the header's length, the header,
// and a zip file. The header holds proofs, each a public key and a signature, and the id that they sign.

const (
	crxMagic     = "Cr24"
	crxVersion   = 3
	crxPrefix    = 12      // bytes before the header: magic, version and length
	maxCRXHeader = 1 << 20 // bytes; the store's headers have a few thousand
	maxProofs    = 8       // the store gives two or three
	maxRSABits   = 8192
)

// The fields of the messages CrxFileHeader, AsymmetricKeyProof and SignedData.
const (
	fieldRSA        protowire.Number = 2
	fieldECDSA      protowire.Number = 3
	fieldSigned     protowire.Number = 10000
	fieldProofKey   protowire.Number = 1
	fieldProofValue protowire.Number = 2
	fieldID         protowire.Number = 1
)

// signatureContext precedes what a CRX3 signature covers.
const signatureContext = "CRX3 SignedData\x00"

// proof is a public key and a signature by it.
type proof struct {
	ecdsa          bool
	key, signature []byte
}

// crxHeader is a header as it is read.
type crxHeader struct {
	proofs []proof
	signed []byte // the message SignedData
	id     []byte // in it
}

// openCRX returns the zip file of a CRX3 file and the key of its developer. Any other file is returned as it is, without a key.
func openCRX(r io.ReaderAt, size int64) (zipped io.ReaderAt, zipSize int64, key []byte, err error) {
	prefix := make([]byte, crxPrefix)
	n, err := r.ReadAt(prefix, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, nil, err
	}
	if !bytes.HasPrefix(prefix[:n], []byte(crxMagic)) {
		return r, size, nil, nil
	}
	if n < crxPrefix {
		return nil, 0, nil, Faults{"The CRX file is cut short. Fetch it again."}
	}
	version, length := binary.LittleEndian.Uint32(prefix[4:]), int64(binary.LittleEndian.Uint32(prefix[8:]))
	switch {
	case version != crxVersion:
		return nil, 0, nil, Faults{fmt.Sprintf("The CRX file has version %d, and Chrome loads version 3 alone. Get a newer package, or "+
			"send a zip of the extension's folder.", version)}
	case length > maxCRXHeader || crxPrefix+length > size:
		return nil, 0, nil, Faults{"The header of the CRX file says that it is longer than it can be. Fetch the file again."}
	}
	text := make([]byte, length)
	if _, err := r.ReadAt(text, crxPrefix); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, nil, err
	}
	h, ok := readHeader(text)
	if !ok {
		return nil, 0, nil, Faults{"The header of the CRX file cannot be read. Fetch the file again."}
	}
	body := io.NewSectionReader(r, crxPrefix+length, size-crxPrefix-length)
	key, err = h.verify(body)
	return body, body.Size(), key, err
}

// readHeader reads a header. Unknown fields, such as the store's list of hashes, are left out.
func readHeader(text []byte) (h crxHeader, ok bool) {
	ok = eachField(text, func(field protowire.Number, value []byte) bool {
		switch field {
		case fieldRSA, fieldECDSA:
			p := proof{ecdsa: field == fieldECDSA}
			h.proofs = append(h.proofs, p)
			return len(h.proofs) <= maxProofs && h.proofs[len(h.proofs)-1].read(value)
		case fieldSigned:
			h.signed = value
		}
		return true
	})
	return h, ok && eachField(h.signed, func(field protowire.Number, value []byte) bool {
		if field == fieldID {
			h.id = value
		}
		return true
	}) && len(h.id) == idBytes
}

func (p *proof) read(text []byte) bool {
	return eachField(text, func(field protowire.Number, value []byte) bool {
		switch field {
		case fieldProofKey:
			p.key = value
		case fieldProofValue:
			p.signature = value
		}
		return true
	})
}

// eachField calls use for each field of a message that is bytes, and reports whether the message can be read to its end.
func eachField(text []byte, use func(field protowire.Number, value []byte) bool) bool {
	for len(text) > 0 {
		field, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return false
		}
		text = text[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(field, kind, text); n < 0 {
				return false
			}
			text = text[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(text)
		if n < 0 || !use(field, value) {
			return false
		}
		text = text[n:]
	}
	return true
}

// verify checks every proof, as Chrome does, and returns the key that the id belongs to.
func (h crxHeader) verify(body *io.SectionReader) (key []byte, err error) {
	sum := sha256.New()
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(h.signed))) //nolint:gosec // at most maxCRXHeader
	for _, part := range [][]byte{[]byte(signatureContext), length, h.signed} {
		sum.Write(part)
	}
	if _, err := io.Copy(sum, io.NewSectionReader(body, 0, body.Size())); err != nil {
		return nil, err
	}
	hash := sum.Sum(nil)
	for _, p := range h.proofs {
		if !p.verifies(hash) {
			return nil, Faults{"A signature of the CRX file does not fit. The file was changed or damaged: fetch it again."}
		}
		if of := sha256.Sum256(p.key); bytes.Equal(of[:idBytes], h.id) {
			key = p.key
		}
	}
	if key == nil {
		return nil, Faults{"No signature of the CRX file is of the extension that the file names. Fetch it again from its developer."}
	}
	return key, nil
}

func (p proof) verifies(hash []byte) bool {
	key, err := x509.ParsePKIXPublicKey(p.key)
	if err != nil {
		return false
	}
	switch key := key.(type) {
	case *rsa.PublicKey:
		return !p.ecdsa && key.N.BitLen() <= maxRSABits && rsa.VerifyPKCS1v15(key, crypto.SHA256, hash, p.signature) == nil
	case *ecdsa.PublicKey:
		return p.ecdsa && ecdsa.VerifyASN1(key, hash, p.signature)
	}
	return false
}
