importScripts('/ask.js');
onmessage = (e) => e.waitUntil(ask(e.data, e.ports[0]));
