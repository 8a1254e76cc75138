package shim

import "warren/proxy"

// LocalBypass reads a service of this machine or its network that pages may reach without the upstream (proxy.LocalBypass).
func LocalBypass(target string) (Bypass, error) { return proxy.LocalBypass(target) }

// LocalhostName reads a name and a port, or a port alone, that lead to this machine (proxy.LocalhostName).
func LocalhostName(entry string) (name, port string, ok bool) { return proxy.LocalhostName(entry) }
