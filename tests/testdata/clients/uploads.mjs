// Pages that post large bodies while real clients are connected. The run stands in WARREN_RUN as JSON: {cdpUrl, wsEndpoint, site}.
// A request's event carries its body (Network.requestWillBeSent), as text and in base64. Each line of the output is an upload that arrived whole.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';

const run = JSON.parse(process.env.WARREN_RUN);
// Bodies of BEL are the dearest, with 7.3 bytes a byte: six of text, as \u0007, and base64. Clients take messages of at most 256 MiB, so large ones are letters.
const uploads = [[4, 7], [10, 7], [20, 7], [40, 120], [100, 120]];

// upload posts megabytes of a code from a page, and returns how many bytes the site has got.
async function upload(page, [megabytes, code]) {
  return await page.evaluate(async ([bytes, code]) => {
    const answer = await fetch('/upload', { method: 'POST', body: new Uint8Array(bytes).fill(code) });
    return Number(await answer.text());
  }, [megabytes * 1e6, code]);
}

const browser = await chromium.connectOverCDP(run.cdpUrl);
const other = await puppeteer.connect({ browserWSEndpoint: run.wsEndpoint, defaultViewport: null, protocolTimeout: 600_000 });
for (const [name, context] of [['playwright', browser.contexts()[0]], ['puppeteer', other]]) {
  const page = await context.newPage();
  page.setDefaultTimeout(600_000);
  await page.goto(run.site + '/' + name);
  for (const [megabytes, code] of uploads) {
    const seen = new Promise((done) => page.on('requestfinished', (request) => request.url().endsWith('/upload') && done()));
    assert.equal(await upload(page, [megabytes, code]), megabytes * 1e6);
    await seen;
    console.log(`${name}-${megabytes}`);
  }
  await page.close();
}
assert.equal(browser.isConnected(), true);
assert.equal(other.connected, true);
await browser.close();
await other.disconnect();
