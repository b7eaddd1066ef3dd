package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// series is what was measured of one target, round by round.
type series struct {
	name string
	writer
	rates []float64
	took  [][]time.Duration
}

// add measures another round.
func (s *series) add(writers int, p plan) error {
	took, err := many(writers, s.writer, p)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.rates = append(s.rates, float64(len(took))/p.duration.Seconds())
	s.took = append(s.took, took)
	return nil
}

// keep leaves some rounds alone.
func (s *series) keep(rounds []int) {
	rates, took := s.rates, s.took
	s.rates, s.took = nil, nil
	for _, n := range rounds {
		s.rates, s.took = append(s.rates, rates[n]), append(s.took, took[n])
	}
}

func (s *series) middle() float64 { return middle(slices.Clone(s.rates)) }

// ratio is the median over rounds of the rate by the base's.
func (s *series) ratio(base *series) string {
	if base == nil {
		return "–"
	}
	ratios := make([]float64, len(s.rates))
	for i, rate := range s.rates {
		ratios[i] = rate / base.rates[i]
	}
	return fmt.Sprintf("%.2f", middle(ratios))
}

// row is the series' cells in a table: its rate, the disk's, its ratios to the
// disk and to each base, and how long a write took.
func (s *series) row(writers int, raw *series, bases ...*series) []string {
	cells := []string{strconv.Itoa(writers), s.name, fmt.Sprintf("%.0f", s.middle()),
		fmt.Sprintf("%.0f to %.0f", slices.Min(s.rates), slices.Max(s.rates)), fmt.Sprintf("%.0f", raw.middle()), s.ratio(raw)}
	for _, base := range bases {
		cells = append(cells, s.ratio(base))
	}
	took := slices.Concat(s.took...)
	return append(cells, percentile(took, 50), percentile(took, 99))
}

// sideBySide measures subjects anew with so many writers each, one after the
// other in each round and the disk before them, and leaves the calmest rounds
// in them. It gives the disk's and tells how disturbed the rounds were. before
// is called ahead of the subjects in each round, unless it is nil.
func (r *rig) sideBySide(p plan, writers int, disk *rawDisk, subjects []*series, before func() error) (raw *series, disturbed string, err error) {
	raw = &series{name: "raw disk", writer: disk.writer}
	for _, s := range subjects {
		s.keep(nil)
	}
	kept, disturbed, err := r.calmest(p, func() error {
		if err := raw.add(1, p); err != nil {
			return err
		}
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		for _, s := range subjects {
			if err := s.add(writers, p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	raw.keep(kept)
	for _, s := range subjects {
		s.keep(kept)
	}
	return raw, disturbed, nil
}
