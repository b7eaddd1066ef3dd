// Package crash holds the tests of what lasts: hux is killed in the middle of
// writing, again and again, and its disk fills up.
package crash
