package server

import (
	"net/http"

	"bstein.dev/hux/hux"
)

// A page of the chat origin can set cookies for the whole site, in such
// numbers that no request of the browser would be served any more, on the
// console neither. So requests are read up to maxHeader, and one that is
// crowded with cookies gets an answer that takes them away.
const (
	maxHeader  = 1 << 20 // more than a browser keeps for one site
	maxCookies = 32 << 10
)

func crowded(r *http.Request) bool {
	size := 0
	for _, line := range r.Header["Cookie"] {
		size += len(line)
	}
	return size > maxCookies
}

// uncrowd takes away the site's cookies, all of them and for its other hosts
// too: a page can plant some under any name, path and domain, so that no list
// of what to expire is ever whole. Whoever planted them could have pushed the
// others out just as well. Browsers heed it over https and on localhost.
func uncrowd(w http.ResponseWriter) error {
	w.Header().Set("Clear-Site-Data", `"cookies"`)
	return hux.Errorf(hux.HeadersTooLarge, "Your browser sent more cookies than this site can use. They were removed; load the page again.")
}
