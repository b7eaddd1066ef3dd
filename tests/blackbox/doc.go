// Package blackbox holds the tests of the built binary over real sockets: a
// router started as an operator starts it, an OpenID provider, and upstreams
// that write down every byte they get. What an upstream's log shows is what
// counts; a status code alone proves little.
//
// They run over HTTP/1.1 and HTTP/2.
package blackbox
