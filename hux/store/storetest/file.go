package storetest

import (
	"testing"

	"go.etcd.io/bbolt"
)

// Rows calls fn for each row of the database in a file that nobody has open.
func Rows(t testing.TB, path string, fn func(bucket, key string, value []byte)) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(bucket []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(key, value []byte) error { fn(string(bucket), string(key), value); return nil })
		})
	}); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
