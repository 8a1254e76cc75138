// Serves proxy-chain in front of the proxy server that the argument names, and prints its address.
import { Server } from 'proxy-chain';

const server = new Server({
  host: '127.0.0.1',
  port: 0,
  prepareRequestFunction: () => ({ upstreamProxyUrl: process.argv[2] }),
});
await server.listen();
console.log(`up http://127.0.0.1:${server.port}`);
