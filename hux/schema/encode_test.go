package schema

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

// What is encoded is read as what it was, and one value has one text.
func TestEncode(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 259))
	runes := []rune("az\"\\/<>& \t\n\r\b\f\x00\x1f\x7fä漢🙂\u2028\ufffd")
	text := func() string {
		s := make([]rune, r.IntN(6))
		for i := range s {
			s[i] = runes[r.IntN(len(runes))]
		}
		return string(s)
	}
	var value func(depth int) any
	value = func(depth int) any {
		switch n := r.IntN(7); {
		case n == 0:
			return nil
		case n == 1:
			return r.IntN(2) == 0
		case n == 2:
			return json.Number([]string{"0", "-1", "9007199254740993", "1.5", "2e-7"}[r.IntN(5)])
		case n == 3 && depth < 3:
			list := []any{}
			for range r.IntN(4) {
				list = append(list, value(depth+1))
			}
			return list
		case n > 3 && depth < 3:
			object := map[string]any{}
			for range r.IntN(9) {
				object[text()] = value(depth + 1)
			}
			return object
		}
		return text()
	}
	for range 2000 {
		v := value(0)
		encoded := encode(nil, v)
		again, err := Parse(encoded)
		if err != nil || !reflect.DeepEqual(again, v) {
			t.Fatalf("%.300v is encoded as %.300s, which is %.300v, %v", v, encoded, again, err)
		}
		var usual any
		if err := json.Unmarshal(encoded, &usual); err != nil {
			t.Fatalf("%.300s: %v", encoded, err)
		}
		if twice := encode(nil, again); string(twice) != string(encoded) {
			t.Errorf("one value, two texts: %.300s and %.300s", encoded, twice)
		}
	}
}
