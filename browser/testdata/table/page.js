// What a page of the table's site begins beside telling of itself. `me` is what the site gave it (table_site_test.go).

const frame = attributes => {
  const f = document.createElement('iframe');
  f.allow = 'geolocation *; ' + hints;
  Object.assign(f, attributes);
  document.documentElement.append(f);
  return f;
};
const hints = ['full-version-list', 'platform-version', 'arch', 'bitness', 'model', 'wow64', 'form-factors'].map(h => 'ch-ua-' + h + ' *').join('; ');
const inline = () => [collect, within, high, position, candidates, probe, tell].join('\n') + '\nconst sizes = ' + sizes + ', requests = {' + Object.entries(requests).map(([k, f]) => k + ': ' + f).join() + '};';
const as = (ctx, more) => JSON.stringify({...me, ctx, ...more});
const script = (ctx, name) => '/script?ctx=' + ctx + '&do=' + name;

const begin = {
  frames() {
    frame({src: '/page?ctx=iframe-same'});
    frame({srcdoc: '<script>' + inline() + 'probe(' + as('iframe-srcdoc') + ')<' + '/script>'});
    frame({sandbox: 'allow-scripts', src: '/page?ctx=iframe-sandbox'});
    frame({src: me.other + '/page?ctx=iframe-cross&do=cross'});
    const blank = frame({}).contentDocument;
    blank.open();
    blank.write('<script>' + inline() + 'probe(' + as('iframe-blank') + ')<' + '/script>');
    blank.close();
    const data = '<script>' + inline() + 'probe(' + as('iframe-data', {kinds: ['sub', 'fetch', 'ws']}) + ')<' + '/script>';
    frame({src: 'data:text/html,' + encodeURIComponent(data)});
  },
  cross() {
    frame({src: me.other + '/page?ctx=iframe-nested'});
    new Worker(script('worker-cross', 'worker'));
  },
  workers() {
    new Worker(script('worker', 'nest'));
    const text = inline() + 'probe(' + as('worker-blob', {kinds: ['sub', 'fetch', 'ws']}) + ')';
    new Worker(URL.createObjectURL(new Blob([text], {type: 'text/javascript'})));
    new Worker(script('worker-module', 'module'), {type: 'module'});
    new SharedWorker(script('worker-shared', 'worker'));
    if (navigator.serviceWorker) navigator.serviceWorker.register(script('worker-service', 'service'));
  },
  async worklets() {
    if (CSS.paintWorklet) CSS.paintWorklet.addModule(script('worklet-paint', 'paint'));
    if (!globalThis.AudioWorklet) return;
    const audio = new OfflineAudioContext(1, 128, 44100);
    await audio.audioWorklet.addModule(script('worklet-audio', 'audio'));
    if (!audio.audioWorklet) return;
    const node = globalThis.kept = new AudioWorkletNode(audio, 'p');
    node.port.onmessage = e => tell({...me, ctx: 'worklet-audio'}, e.data);
    node.connect(audio.destination);
    audio.startRendering();
  },
  requests() { // what is asked for in other ways than a page's usual ones
    const url = ctx => '/log?ctx=' + ctx + '&kind=first';
    new EventSource(url('request-events')).onerror = e => e.target.close();
    Object.assign(document.createElement('video'), {src: url('request-video')}).load();
    new FontFace('x', 'url(' + url('request-font') + ')').load().catch(() => 0);
    for (const [rel, ctx] of [['prefetch', 'request-prefetch'], ['icon', 'request-icon']]) document.head.append(Object.assign(document.createElement('link'), {rel, href: url(ctx)}));
    if (globalThis.fetchLater) fetchLater(url('request-later'), {activateAfter: 0});
    frame({src: '/redirect?ctx=request-redirect&to=' + encodeURIComponent(me.other + url('request-redirect'))});
  },
  prerender() {
    const s = document.createElement('script');
    s.type = 'speculationrules';
    s.textContent = JSON.stringify({prerender: [{source: 'list', urls: ['/page?ctx=prerender&do=ahead'], eagerness: 'immediate'}]});
    document.head.append(s);
  },
  // ahead is in a page that may run before it is shown, when it may not ask for everything.
  ahead() {
    const values = {...collect(), prerendered: document.prerendering};
    const go = () => probe({...me, values});
    document.prerendering ? document.addEventListener('prerenderingchange', go) : go();
  },
  back() {
    addEventListener('pageshow', e => {
      if (e.persisted) probe({...me, ctx: 'bfcache', position: true, webrtc: true, kinds: ['sub', 'fetch', 'worker', 'ws', 'beacon', 'download']});
    });
  },
};
for (const name of me.begin) begin[name]();
