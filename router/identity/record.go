package identity

import (
	"crypto/rand"
	"encoding/json"
	"errors"

	"bstein.dev/hux/hux/store"
)

// sealInto encrypts secrets into rec.
func (s *Service) sealInto(rec *sessionRecord, secrets *sessionSecrets) error {
	plain, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	rec.Sealed = s.sealed(plain, rec.ID)
	return nil
}

func (s *Service) unseal(rec *sessionRecord) (secrets sessionSecrets, err error) {
	plain, err := s.opened(rec.Sealed, rec.ID)
	if err != nil {
		return secrets, err
	}
	return secrets, json.Unmarshal(plain, &secrets)
}

// sealed encrypts plain for the record of that name, and for no other.
func (s *Service) sealed(plain []byte, name string) []byte {
	nonce := make([]byte, s.seal.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	return s.seal.Seal(nonce, nonce, plain, []byte(name))
}

func (s *Service) opened(sealed []byte, name string) ([]byte, error) {
	n := s.seal.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("a sealed record is cut short")
	}
	return s.seal.Open(nil, sealed[:n], sealed[n:], []byte(name))
}

func putJSON(tx *store.Tx, bucket, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(bucket, key, b)
}

// getJSON reads a record; found is false where there is none.
func getJSON(tx *store.Tx, bucket, key string, v any) (found bool, err error) {
	b := tx.Get(bucket, key)
	if b == nil {
		return false, nil
	}
	return true, json.Unmarshal(b, v)
}
