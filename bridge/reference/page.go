package reference

import (
	"fmt"
	"strings"
)

// Page is the contract opened at a place.
type Page struct {
	*Contract
	At        string  // overview, routes, errors, shared, or the schema of Record
	Record    *Record // nil at another place
	Query     string  // what the list of records was searched for
	Found     []Group // the records of the list: those that were found, or all
	Share     string  // how many of all were found, "" where none was searched for
	Published bool    // whether /hux/v1 is switched on
}

// Place is a page of the contract that is of no record.
type Place struct{ At, Path, Title string }

// Places are the pages besides those of the records.
func (c *Contract) Places() []Place {
	return []Place{
		{"overview", "#content", "Overview"}, {"routes", "/routes", "Routes"}, {"errors", "/errors", "Errors"}, {"shared", "/shared", "Shared definitions"},
	}
}

// Page opens the contract at a place, or at a record by its schema, with the
// list of records searched for a text. It is nil where there is no such place.
func (c *Contract) Page(at, query string) *Page {
	p := &Page{Contract: c, At: at, Query: query, Found: c.Matching(query), Record: c.records[at], Published: c.published}
	if strings.TrimSpace(query) != "" {
		found := 0
		for _, g := range p.Found {
			found += len(g.Records)
		}
		p.Share = fmt.Sprintf("%d of %d", found, c.Count())
	}
	if p.Title() == "" {
		return nil
	}
	return p
}

// Title names the place.
func (p *Page) Title() string {
	if p.Record != nil {
		return p.Record.Schema
	}
	for _, place := range p.Places() {
		if place.At == p.At {
			return place.Title
		}
	}
	return ""
}

// Count is how many schemas there are.
func (c *Contract) Count() int { return len(c.records) }

// Stateful are the records that have states.
func (c *Contract) Stateful() []*Record {
	var all []*Record
	for _, g := range c.Groups {
		for _, r := range g.Records {
			if r.Machines != nil {
				all = append(all, r)
			}
		}
	}
	return all
}

// Card is the routes of a card.
type Card struct {
	Name   string
	Routes []Route
}
