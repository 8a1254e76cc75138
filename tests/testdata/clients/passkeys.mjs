// Signs in with a passkey. The run stands in WARREN_RUN as JSON: {cdpUrl, wsEndpoint, page, make, each}; make names a passkey to make first, or is "".
// Each line of the output is what the site said to a sign-in.
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';

const run = JSON.parse(process.env.WARREN_RUN);
const browser = await chromium.connectOverCDP(run.cdpUrl);
const other = await puppeteer.connect({ browserWSEndpoint: run.wsEndpoint, defaultViewport: null });
for (const [name, context] of [['playwright', browser.contexts()[0]], ['puppeteer', other]]) {
  const page = await context.newPage();
  await page.goto(run.page);
  await page.bringToFront(); // a page behind another one may not ask
  if (run.make) console.log(name, await page.evaluate((user) => make(user), run.make + '-' + name)); // eslint-disable-line no-undef
  for (let i = 0; i < run.each; i++) console.log(name, await page.evaluate(() => use())); // eslint-disable-line no-undef
  await page.close();
}
await browser.close();
await other.disconnect();
