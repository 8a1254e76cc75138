// What a context can tell of itself, for TestIdentityTable. It is put before the first line of every page and script of the table's site.

// collect reads, at once, everything that needs no waiting.
function collect() {
  const v = {}, n = globalThis.navigator;
  const put = (name, read) => { try { v[name] = read() } catch (e) { v[name] = 'threw ' + e } };
  if (n) {
    put('ua', () => n.userAgent);
    put('appVersion', () => n.appVersion);
    put('platform', () => n.platform);
    put('language', () => n.language);
    put('languages', () => [...n.languages].join());
    put('cores', () => n.hardwareConcurrency);
    const d = n.userAgentData;
    if (d) put('low', () => [...d.brands.map(b => b.brand + '/' + b.version), d.mobile, d.platform].join());
  }
  put('zone', () => Intl.DateTimeFormat().resolvedOptions().timeZone);
  put('locale', () => [Intl.DateTimeFormat().resolvedOptions().locale, Intl.NumberFormat().resolvedOptions().locale, (1234567.89).toLocaleString()].join(' '));
  put('dates', () => { // each change of the offset over a year
    const changes = [];
    let last;
    for (let at = Date.UTC(2026, 0, 1), end = Date.UTC(2027, 0, 1); at < end; at += 36e5) {
      const offset = new Date(at).getTimezoneOffset();
      if (offset !== last) changes.push((at - Date.UTC(2026, 0, 1)) / 36e5 + ':' + offset);
      last = offset;
    }
    return changes.join();
  });
  if (globalThis.document) {
    put('screen', () => [screen.width, screen.height].join('x'));
    put('avail', () => [screen.availWidth, screen.availHeight].join('x'));
    put('sizes', sizes);
    put('dpr', () => devicePixelRatio);
  }
  return v;
}

const sizes = () => [outerWidth, outerHeight, innerWidth, innerHeight].join();

// within is a promise with an end.
function within(promise, what) {
  return Promise.race([promise, new Promise(done => setTimeout(done, 20000, 'no ' + what + ' after 20 s'))]).catch(e => 'threw ' + e);
}

async function high() {
  const h = await navigator.userAgentData.getHighEntropyValues(['architecture', 'bitness', 'model', 'platformVersion', 'fullVersionList', 'wow64', 'formFactors', 'uaFullVersion']);
  return {arch: h.architecture, bitness: h.bitness, model: h.model, platformVersion: h.platformVersion, full: h.uaFullVersion, wow64: String(h.wow64), forms: String(h.formFactors), low: [...h.brands.map(b => b.brand + '/' + b.version), h.mobile, h.platform].join(),
    list: (h.fullVersionList || []).map(b => b.brand + '/' + b.version).join()};
}

// position asks only where nobody has to be asked. An answer that does not come is a fault, and seldom: what a second question gets tells where to look.
async function position() {
  const ask = () => navigator.permissions.query({name: 'geolocation'});
  const again = async () => ({state: 'no permission in 15 s, asked again: ' + (await ask()).state});
  const {state} = await Promise.race([ask(), new Promise(done => setTimeout(() => again().then(done), 15000))]);
  if (state !== 'granted') return state;
  return new Promise(done => navigator.geolocation.getCurrentPosition(p => done([p.coords.latitude, p.coords.longitude, p.coords.accuracy].join()), e => done('refused: ' + e.message)));
}

function candidates() {
  return new Promise(done => {
    const found = [], c = new RTCPeerConnection();
    c.onicecandidate = e => {
      if (e.candidate && e.candidate.candidate) found.push(e.candidate.candidate);
      if (!e.candidate) { c.close(); done(found.join(' | ') || 'none') }
    };
    c.createDataChannel('x');
    c.createOffer().then(o => c.setLocalDescription(o)).catch(e => done('threw ' + e));
  });
}

// requests are the ways to ask the site for something. Each ends when the site has been asked, or when it is clear that it will not be.
const requests = {
  sub: url => globalThis.document ? new Promise(done => { const i = new Image(); i.onload = i.onerror = done; i.src = url }) : importScripts(url),
  fetch: url => fetch(url, {mode: 'no-cors', cache: 'no-store'}),
  // Chromium loses some of the workers that a pop-up starts (owner_test.go, saysFirst): another is started then.
  worker: url => new Promise(done => {
    const ask = () => { const w = new Worker(url); w.onmessage = () => { clearInterval(again); w.terminate(); done() } };
    const again = setInterval(ask, 1000);
    ask();
  }),
  ws: url => new Promise(done => { const s = new WebSocket(url.replace(/^http/, 'ws')); s.onopen = s.onerror = () => { s.close(); done() } }),
  beacon: url => navigator.sendBeacon(url, 'x'),
  download: url => {
    const a = document.createElement('a');
    a.href = url;
    a.download = 'x';
    document.documentElement.append(a);
    a.click();
  },
};

// probe tells the site what the context is. o.own is where it asks (its own origin, where it has one), o.site where it reports.
async function probe(o) {
  const v = o.values || collect(); // before anything else
  const add = async (name, promise) => { v[name] = await within(promise(), name) };
  const all = [];
  if (globalThis.navigator && navigator.userAgentData) all.push(add('high', high));
  if (globalThis.document && o.position) all.push(add('position', position));
  if (globalThis.document && o.webrtc) all.push(add('webrtc', candidates));
  for (const kind of o.kinds || []) all.push(within((async () => requests[kind](o.own + '/log?ctx=' + o.ctx + '&kind=' + kind))(), kind));
  await Promise.all(all);
  if (globalThis.document) v.later = sizes();
  await tell(o, v);
}

async function tell(o, v) {
  await fetch(o.site + '/report?ctx=' + o.ctx, {method: 'POST', mode: 'no-cors', body: JSON.stringify(v), keepalive: true});
}
