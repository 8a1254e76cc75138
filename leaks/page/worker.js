importScripts('/ask.js');
onmessage = ({ data, ports }) => ask(data, ports[0]);
