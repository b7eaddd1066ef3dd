// Package blackbox holds the tests of the built binary over real sockets: a
// router started as an operator starts it, an OpenID provider, and upstreams
// that write down every byte they get. What has come to an upstream is looked at,
// besides what the router says.
//
// They run over HTTP/1.1 and HTTP/2.
package blackbox
