// Requests a URL in a worker and posts the result.
function ask(url, port) {
  const asked = /^wss?:/.test(url)
    ? new Promise((ok, fail) => {
      const w = new WebSocket(url);
      w.onopen = () => { ok(); w.close(); };
      w.onerror = () => fail(new Error('an error event'));
    })
    : fetch(url, { mode: 'no-cors', cache: 'no-store' });
  return asked.then(() => port.postMessage('ok'), (e) => port.postMessage(String(e.message)));
}
