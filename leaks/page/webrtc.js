// Collects the candidates that WebRTC finds.

function after(ms) {
  return new Promise((done) => setTimeout(done, ms, 'timeout'));
}

// listen passes a connection's candidates on, and resolves with 'done' when there are no more.
function listen(pc, each) {
  return new Promise((done) => {
    pc.onicecandidate = ({ candidate }) => (candidate ? each(candidate) : done('done'));
  });
}

// gather passes on every candidate found with one server. It returns 'done' when there are no more, or 'timeout' after ms milliseconds:
// then it is not known what it would have found.
export async function gather(url, ms, each) {
  const server = { urls: url };
  if (url.startsWith('turn')) Object.assign(server, { username: 'w', credential: 'w' });
  const pc = new RTCPeerConnection({ iceServers: [server] });
  try {
    const complete = listen(pc, (c) => c.candidate && each(c.candidate));
    pc.createDataChannel('x');
    await pc.setLocalDescription(await pc.createOffer());
    return await Promise.race([complete, after(ms)]);
  } finally {
    pc.close();
  }
}

// pair connects two peers of this page without a server, and passes on their candidates. It returns as gather does.
export async function pair(ms, each) {
  let found = false;
  const a = new RTCPeerConnection(), b = new RTCPeerConnection();
  try {
    const both = [[a, b], [b, a]].map(([from, to]) => listen(from, (c) => {
      if (c.candidate) {
        found = true;
        each(c.candidate);
      }
      to.addIceCandidate(c).catch(() => {});
    }));
    const connected = new Promise((done) => { a.onconnectionstatechange = () => a.connectionState === 'connected' && done('done'); });
    a.createDataChannel('x');
    await a.setLocalDescription(await a.createOffer());
    await b.setRemoteDescription(a.localDescription);
    await b.setLocalDescription(await b.createAnswer());
    await a.setRemoteDescription(b.localDescription);
    const complete = Promise.all(both).then(() => (found ? connected : 'done')); // without candidates nothing can connect
    return await Promise.race([complete, after(ms)]);
  } finally {
    a.close();
    b.close();
  }
}
