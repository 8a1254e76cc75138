// One real client that opens a page and stays until its standard input ends: node client.mjs MODULES playwright|puppeteer GATEWAY PAGE
import { createRequire } from 'node:module';
const [modules, name, gateway, page] = process.argv.slice(2);
const load = createRequire(modules + '/');
const open = {
  async playwright() {
    const browser = await load('playwright-core').chromium.connectOverCDP(gateway);
    await (await browser.contexts()[0].newPage()).goto(page);
    return () => browser.close();
  },
  async puppeteer() {
    const browser = await load('puppeteer-core').connect({ browserURL: gateway, defaultViewport: null });
    const tab = await browser.newPage();
    await tab.goto(page);
    return async () => { await tab.close(); await browser.disconnect() };
  },
};
const leave = await open[name]();
process.stdin.on('end', async () => { await leave(); process.exit(0) }).resume();
