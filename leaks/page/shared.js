importScripts('/ask.js');
onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data, ports }) => ask(data, ports[0]);
};
