package cards_test

import (
	"fmt"
	"slices"
	"testing"

	"bstein.dev/hux/hux/research"
)

func TestCitationVectors(t *testing.T) {
	var want struct {
		SourceNumbers []struct {
			Sources []string
			Numbers []int
		} `json:"source_numbers"`
		Ordinals []struct {
			Have            int
			Ordinals, Wrong []int
		}
		Find []struct {
			Text  string
			Quote research.Quote
			Near  *research.Span
			Span  *research.Span
			Match string
		}
		PassageStates []struct {
			Source               *string
			Content, Text, State string
		} `json:"passage_states"`
	}
	vectors(t, "citations.json", &want)
	for _, v := range want.SourceNumbers {
		if got := research.SourceNumbers(v.Sources); !slices.Equal(got, v.Numbers) {
			t.Errorf("%+v: %v", v, got)
		}
	}
	for _, v := range want.Ordinals {
		var marks []research.Mark
		for _, n := range v.Ordinals {
			marks = append(marks, research.Mark{Ordinal: n})
		}
		var got, wrong []string
		for _, fault := range research.FaultsOfOrdinals(v.Have, marks) {
			got = append(got, fault.Pointer)
		}
		for _, i := range v.Wrong {
			wrong = append(wrong, fmt.Sprintf("/citations/%d/ordinal", i))
		}
		if !slices.Equal(got, wrong) {
			t.Errorf("%+v: %v", v, got)
		}
	}
	for _, v := range want.Find {
		at, match, ok := research.Find(v.Text, v.Quote, v.Near)
		if ok != (v.Span != nil) || match != v.Match || ok && at != *v.Span {
			t.Errorf("%+v: %v, %s, %v", v, at, match, ok)
		}
	}
	for _, v := range want.PassageStates {
		hash := "sha256:" + v.Content
		passage := &research.Passage{ContentHash: "sha256:same", Text: v.Text}
		var source *research.Source
		if v.Source != nil {
			source = &research.Source{Status: *v.Source, ContentHash: &hash}
		}
		if got := research.PassageState(passage, source); got != v.State {
			t.Errorf("%+v: %s", v, got)
		}
	}
	if len(want.SourceNumbers) == 0 || len(want.Ordinals) == 0 || len(want.Find) == 0 || len(want.PassageStates) == 0 {
		t.Error("a list is empty")
	}
}
