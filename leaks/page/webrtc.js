// Collects the candidates that WebRTC finds.

function after(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

// listen passes a connection's candidates on, and resolves when there are no more.
function listen(pc, each) {
  return new Promise((done) => {
    pc.onicecandidate = ({ candidate }) => (candidate ? each(candidate) : done());
  });
}

// gather returns every candidate found within ms milliseconds, with one server or none.
export async function gather(url, ms) {
  const found = [];
  const server = { urls: url };
  if (url.startsWith('turn')) Object.assign(server, { username: 'w', credential: 'w' });
  const pc = new RTCPeerConnection({ iceServers: [server] });
  try {
    const complete = listen(pc, (c) => c.candidate && found.push(c.candidate));
    pc.createDataChannel('x');
    await pc.setLocalDescription(await pc.createOffer());
    await Promise.race([complete, after(ms)]);
  } finally {
    pc.close();
  }
  return found;
}

// pair connects two peers of this page without a server.
export async function pair(ms) {
  const found = [];
  const a = new RTCPeerConnection(), b = new RTCPeerConnection();
  try {
    const both = [[a, b], [b, a]].map(([from, to]) => listen(from, (c) => {
      if (c.candidate) found.push(c.candidate);
      to.addIceCandidate(c).catch(() => {});
    }));
    const connected = new Promise((done) => { a.onconnectionstatechange = () => a.connectionState === 'connected' && done(); });
    a.createDataChannel('x');
    await a.setLocalDescription(await a.createOffer());
    await b.setRemoteDescription(a.localDescription);
    await b.setLocalDescription(await b.createAnswer());
    await a.setRemoteDescription(b.localDescription);
    await Promise.race([Promise.all([...both, connected]), after(ms)]);
  } finally {
    a.close();
    b.close();
  }
  return found;
}
