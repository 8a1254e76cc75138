// A vector requests a URL in one of the ways that a page has. It returns 'ok' when something answered, 'done' or
// 'sent' when that is unknown, and throws when it was refused.

// Unsupported is the error of a feature that the browser lacks or does not use by itself.
export class Unsupported extends Error {}

function element(name, attributes, answer = 'ok') {
  return new Promise((ok, fail) => {
    const e = document.createElement(name);
    e.addEventListener('load', () => ok(answer));
    e.addEventListener('error', () => fail(new Error('an error event')));
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    document.body.append(e);
  });
}

// hint adds a link whose result is unknown.
async function hint(attributes) {
  element('link', attributes).catch(() => {});
  return 'sent';
}

function frame(src) {
  return element('iframe', { src, hidden: '' }, 'done'); // also fires for error pages
}

// through has a worker request a URL, and returns its result.
function through(port, url) {
  return new Promise((ok, fail) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = ({ data }) => (data === 'ok' ? ok('ok') : fail(new Error(data)));
    port.postMessage(url, [channel.port2]);
  });
}

let shared, registered;

function sharedWorker() {
  if (!globalThis.SharedWorker) throw new Unsupported('no SharedWorker');
  return (shared ??= new Promise((ok, fail) => {
    const w = new SharedWorker('/shared.js');
    w.onerror = () => fail(new Error('the shared worker did not start'));
    w.port.start();
    ok(w.port);
  }));
}

async function serviceWorker() {
  if (!navigator.serviceWorker) throw new Unsupported('no service worker');
  registered ??= navigator.serviceWorker.register('/service.js', { scope: '/served/' });
  const r = await registered;
  const w = r.installing ?? r.waiting ?? r.active;
  while (w.state !== 'activated') {
    if (w.state === 'redundant') throw new Error('the service worker did not start');
    await new Promise((changed) => w.addEventListener('statechange', changed, { once: true }));
  }
  return w;
}

function speculation(kind, url) {
  if (!HTMLScriptElement.supports?.('speculationrules')) throw new Unsupported('no speculation rules');
  const s = document.createElement('script');
  s.type = 'speculationrules';
  s.textContent = JSON.stringify({ [kind]: [{ source: 'list', urls: [url], eagerness: 'immediate' }] });
  document.head.append(s);
  return 'sent';
}

export const vectors = {
  async fetch(url) {
    await fetch(url, { mode: 'no-cors', cache: 'no-store' });
    return 'ok';
  },
  xhr(url) {
    return new Promise((ok, fail) => {
      const x = new XMLHttpRequest();
      x.onload = () => ok('ok');
      x.onerror = () => fail(new Error('an error event'));
      x.open('GET', url);
      x.send();
    });
  },
  img: (src) => element('img', { src }),
  script: (src) => element('script', { src }),
  css(url) {
    return new Promise((ok, fail) => {
      const s = document.createElement('style');
      s.addEventListener('load', () => ok('done'));
      s.addEventListener('error', () => fail(new Error('an error event')));
      s.textContent = `@import url("${url}");`;
      document.head.append(s);
    });
  },
  async font(url) {
    await new FontFace('f', `url("${url}")`).load();
    return 'ok';
  },
  iframe: frame,
  object: (data) => element('object', { data }, 'done'),
  embed: (src) => element('embed', { src, type: 'text/html' }, 'done'),
  video(src) {
    return new Promise((ok, fail) => {
      const v = document.createElement('video');
      v.addEventListener('loadeddata', () => ok('ok'));
      v.addEventListener('error', () => fail(new Error('an error event')));
      Object.assign(v, { preload: 'auto', muted: true, src });
      document.body.append(v);
    });
  },
  form(action, nonce) {
    return new Promise((ok) => {
      const target = document.createElement('iframe');
      Object.assign(target, { name: nonce, hidden: true });
      document.body.append(target);
      const form = document.createElement('form');
      Object.assign(form, { action, method: 'post', target: nonce });
      document.body.append(form);
      target.addEventListener('load', () => ok('done'));
      form.submit();
    });
  },
  async beacon(url) {
    if (!navigator.sendBeacon(url, 'x')) throw new Error('not taken');
    return 'sent';
  },
  async keepalive(url) {
    await fetch(url, { mode: 'no-cors', method: 'POST', keepalive: true, body: 'x' });
    return 'ok';
  },
  ws(url) {
    return new Promise((ok, fail) => {
      const w = new WebSocket(url);
      w.onopen = () => { ok('ok'); w.close(); };
      w.onerror = () => fail(new Error('an error event'));
    });
  },
  eventsource(url) {
    return new Promise((ok, fail) => {
      const s = new EventSource(url);
      s.onopen = () => { s.close(); ok('ok'); };
      s.onerror = () => { s.close(); fail(new Error('an error event')); };
    });
  },
  async webtransport(url) {
    if (!globalThis.WebTransport) throw new Unsupported('no WebTransport');
    const t = new WebTransport(url);
    t.closed.catch(() => {});
    await t.ready;
    return 'ok';
  },
  async download(url) { // of the page's own site, since links to other sites are followed, not saved
    const a = document.createElement('a');
    Object.assign(a, { href: url, download: 'x' });
    document.body.append(a);
    a.click();
    return 'sent';
  },
  downloadframe(url, nonce) {
    return new Promise((ok) => {
      const target = document.createElement('iframe');
      Object.assign(target, { name: nonce, hidden: true });
      document.body.append(target);
      target.addEventListener('load', () => ok('done'));
      const a = document.createElement('a');
      Object.assign(a, { href: url, target: nonce, download: 'x' });
      document.body.append(a);
      a.click();
    });
  },
  prefetch: (href) => hint({ rel: 'prefetch', href }),
  preload: (href) => hint({ rel: 'preload', as: 'image', href }),
  modulepreload: (href) => hint({ rel: 'modulepreload', href }),
  preconnect: (url) => hint({ rel: 'preconnect', href: new URL(url).origin }),
  dnsprefetch: (url) => hint({ rel: 'dns-prefetch', href: new URL(url).origin }),
  favicon: (href) => hint({ rel: 'icon', href }),
  async speculate(url) { return speculation('prefetch', url); },
  async prerender(url) { return speculation('prerender', url); },
  worker(url) {
    const w = new Worker('/worker.js');
    return through(w, url).finally(() => w.terminate());
  },
  async sharedworker(url) { return through(await sharedWorker(), url); },
  async serviceworker(url) { return through(await serviceWorker(), url); },
  redirect: (url) => vectors.fetch(`/redirect?to=${encodeURIComponent(url)}`),
  redirectframe: (url) => frame(`/redirect?to=${encodeURIComponent(url)}`),
  async popup(url) {
    const w = open(url, '_blank', 'popup');
    if (!w) throw new Unsupported('the popup was blocked');
    return 'sent';
  },
};
