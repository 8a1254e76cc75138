// Package testnet provides a machine and a world of network namespaces for tests. A test runs the processes under
// test on the machine. The machine's only cable leads to the world. In the world every address answers, and every
// arriving packet is recorded, so that a test can count and name what left the machine.
//
// The network of the computer that runs the test is not used. Linux with namespaces, ip and nft is needed; otherwise
// the test is skipped.
//
// Besides, the package has Site, a web server behind SOCKS5 for tests with a browser, and LocalProxy, a SOCKS5 server
// with a password. It also has waits with a bound, and Pause, which suspends processes.
package testnet
