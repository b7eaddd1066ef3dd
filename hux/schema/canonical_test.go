package schema_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"bstein.dev/hux/hux/schema"
)

// The examples of RFC 8785, sections 3.2.2 to 3.2.4 and appendix B, and what
// it leaves to the one who hashes.
func TestCanonical(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"3.2.2": {
			`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"3.2.3": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"nested":          {`{"b":[{"z":1,"a":{}}],"a":[]}`, `{"a":[],"b":[{"a":{},"z":1}]}`},
		"markup":          {`"<a href=\"x\">&\u2028"`, "\"<a href=\\\"x\\\">&\u2028\""},
		"string":          {`"-12\\\"34"`, `"-12\\\"34"`},
		"null":            {`null`, `null`},
		"spellings":       {`[-0, 1e2, 10e-1]`, `[0,100,1]`},
		"greatest":        {`[9007199254740991, -9007199254740992]`, `[9007199254740991,-9007199254740992]`},
		"2^53 and one":    {`9007199254740993`, ""},
		"the same, deep":  {`{"a":["1",{"b":-9007199254740993}]}`, ""},
		"as a fraction":   {`9007199254740993.0e0`, ""},
		"beyond a double": {`1e309`, ""},
	} {
		var v any
		if err := json.Unmarshal([]byte(c.text), &v); name != "beyond a double" && err != nil {
			t.Fatal(err)
		}
		got, err := schema.Canonical(json.RawMessage(c.text))
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
	if _, err := schema.Canonical(func() {}); err == nil {
		t.Error("a function has no form")
	}
}

// Appendix B: a double, and how it is written.
func TestCanonicalNumbers(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992", 0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325", 0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334", 0x41b3de4355555557: "333333333.33333343", 0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		if got, err := schema.Canonical(math.Float64frombits(bits)); string(got) != want || err != nil {
			t.Errorf("%016x: %s, %v, want %s", bits, got, err, want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1)} {
		if _, err := schema.Canonical(f); err == nil {
			t.Errorf("%v has no form", f)
		}
	}
}

// Whatever is written can be read back and is written the same again, and no
// two integers are written alike.
func TestCanonicalIsOneForm(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 20000 {
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		once, err := schema.Canonical(map[string]any{"n": f, "s": strconv.FormatUint(r.Uint64(), 36)})
		if err != nil {
			t.Fatalf("%v: %v", f, err)
		}
		if twice, err := schema.Canonical(json.RawMessage(once)); string(twice) != string(once) || err != nil {
			t.Fatalf("%s, and then %s, %v", once, twice, err)
		}
		n := r.Int64() >> r.IntN(64)
		a, errA := schema.Canonical(n)
		b, errB := schema.Canonical(n + 1)
		if errA == nil && errB == nil && string(a) == string(b) {
			t.Fatalf("%d and the next are both %s", n, a)
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	set, body := load(b), kilobyte(b)
	r, err := set.Decode("hux.event.create.v1", body)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("json.Marshal", func(b *testing.B) {
		for b.Loop() {
			_, _ = json.Marshal(r.Value)
		}
	})
	b.Run("Canonical", func(b *testing.B) {
		for b.Loop() {
			_, _ = schema.Canonical(r.Value)
		}
	})
}
