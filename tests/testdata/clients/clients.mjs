// Real clients on a run's gateway. The run stands in WARREN_RUN as JSON: {cdpUrl, wsEndpoint, apiUrl, key, site}.
// Each line of the output is a client that did all that it was asked; the exit code is 0 when all did.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';

const run = JSON.parse(process.env.WARREN_RUN);
const bearer = { Authorization: 'Bearer ' + run.key };
const socket = (address) => address.replace(/^http/, 'ws');

// drive opens a page, looks at it, and closes it. Playwright and Puppeteer name these the same.
async function drive(name, context) {
  const page = await context.newPage();
  await page.goto(run.site + '/' + name);
  assert.equal(await page.title(), '/' + name);
  assert.equal(await page.evaluate(() => document.querySelector('p').textContent), 'here');
  await page.close();
}

async function playwright(name, address, options) {
  const browser = await chromium.connectOverCDP(address, options);
  assert.equal(browser.contexts().length, 1);
  await drive(name, browser.contexts()[0]);
  return browser;
}

async function withPuppeteer(name, options) {
  const browser = await puppeteer.connect({ defaultViewport: null, ...options });
  await drive(name, browser);
  return browser;
}

const clients = {
  'playwright-cdpUrl': (name) => playwright(name, run.cdpUrl),
  'playwright-wsEndpoint': (name) => playwright(name, run.wsEndpoint),
  'playwright-bearer': (name) => playwright(name, run.apiUrl, { headers: bearer }),
  'puppeteer-wsEndpoint': (name) => withPuppeteer(name, { browserWSEndpoint: run.wsEndpoint }),
  'puppeteer-bearer': (name) => withPuppeteer(name, { browserWSEndpoint: socket(run.apiUrl), headers: bearer }),
};

for (const [name, connect] of Object.entries(clients)) {
  const browser = await connect(name);
  await (browser.disconnect ?? browser.close).call(browser);
  console.log(name);
}

// Both at once, each with its own pages; neither ends the other, nor the run.
const [one, two] = await Promise.all([
  playwright('both-playwright', run.cdpUrl),
  withPuppeteer('both-puppeteer', { browserWSEndpoint: run.wsEndpoint }),
]);
await Promise.all([drive('again-playwright', one.contexts()[0]), drive('again-puppeteer', two)]);
await one.close();
await drive('after-the-other', two);
await two.disconnect();
console.log('both-at-once');
