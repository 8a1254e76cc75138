// Package testnet is a machine and a world of network namespaces, for tests. On the machine a test runs what it wants to look at; the
// world is the only thing that the machine's cable leads to. In the world every address answers, and every packet that arrives is
// taken down, so that a test counts what went out and can name it.
//
// Nothing of it touches the network of the computer that the test runs on. It needs Linux, with namespaces, ip and nft; where these
// are missing, the test is skipped.
//
// Beside that it has Site, a web server behind SOCKS5 for tests with a browser, waits with a bound, and Pause, for tests of what hangs.
package testnet
