// Downloads and uploads of clients that may not use files of the machine. The run stands in WARREN_RUN as JSON: {cdpUrl, wsEndpoint, api, key, site, nowhere, mine}.
// Each line of the output is something that worked; the exit code is 0 when all did.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';

const run = JSON.parse(process.env.WARREN_RUN);
const ask = (where, options = {}) => fetch(run.api + where, { ...options, headers: { ...options.headers, Authorization: 'Bearer ' + run.key } });
const list = async () => (await (await ask('/downloads')).json()).data;
const content = async (name) => (await ask('/downloads/' + encodeURIComponent(name))).text();

// In the page: a link to a blob, as sites make them.
const save = ([name, text]) => {
  const link = document.createElement('a');
  link.download = name;
  link.href = URL.createObjectURL(new Blob([text]));
  link.click();
};
const input = () => {
  document.body.innerHTML = '<input type=file>';
};
const given = () => document.querySelector('input').files[0].text();

async function downloaded(page, name, text) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.evaluate(save, [name, text])]);
  assert.equal(await download.failure(), null);
  assert.equal(download.suggestedFilename(), name);
  return download;
}

{ // Playwright as it is: it is told of the download, looks for the file in its own folder in vain, and the API has it by the id that is its name there.
  const browser = await chromium.connectOverCDP(run.cdpUrl);
  const page = await browser.contexts()[0].newPage();
  await page.goto(run.site);
  const download = await downloaded(page, 'a report.txt', 'playwright');
  const looked = await download.path();
  assert.ok(!existsSync(looked));
  await assert.rejects(download.saveAs(run.mine), /ENOENT/);
  const one = (await list()).find((d) => d.id === path.basename(looked));
  assert.equal(one.name, 'a report.txt');
  assert.equal(one.state, 'complete');
  assert.equal(await content(one.name), 'playwright');
  await (await browser.newContext()).newPage().then(async (page) => {
    await page.goto(run.site);
    await downloaded(page, 'of a context.txt', 'context');
  });
  assert.equal(await content('of a context.txt'), 'context');
  console.log('playwright-download');

  // Files of the client's own: Playwright sends what they hold.
  await page.evaluate(input);
  await writeFile(run.mine, 'sent along');
  await page.setInputFiles('input', run.mine);
  assert.equal(await page.evaluate(given), 'sent along');
  console.log('playwright-upload');
  await browser.close();

  // On the server's machine, with the run's own folder named as Playwright's: all of Playwright's works.
  const near = await chromium.connectOverCDP(run.cdpUrl, { artifactsDir: path.dirname((await list()).find((d) => d.name === 'unasked.txt').path) });
  const tab = await near.contexts()[0].newPage();
  await tab.goto(run.site);
  await (await downloaded(tab, 'near.txt', 'near')).saveAs(run.mine);
  assert.equal(await readFile(run.mine, 'utf8'), 'near');
  await near.close();
  console.log('playwright-near');
}

{ // Puppeteer: a folder is named, and events tell of files in it by the names that the API has.
  const browser = await puppeteer.connect({ browserWSEndpoint: run.wsEndpoint, defaultViewport: null, downloadBehavior: { policy: 'allow', downloadPath: run.nowhere } });
  const page = await browser.newPage();
  await page.goto(run.site);
  const cdp = await browser.target().createCDPSession();
  await cdp.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: run.nowhere, eventsEnabled: true });
  const complete = new Promise((resolve) => cdp.on('Browser.downloadProgress', (p) => p.state === 'completed' && resolve(p.filePath)));
  await page.evaluate(save, ['a report.txt', 'puppeteer']);
  const told = await complete;
  assert.equal(told, run.nowhere + '/a report (1).txt');
  assert.equal(await content(path.basename(told)), 'puppeteer');
  console.log('puppeteer-download');

  const sent = await ask('/uploads/' + encodeURIComponent('ein Bild.txt'), { method: 'PUT', body: 'a picture' });
  assert.equal(sent.status, 200);
  await page.evaluate(input);
  await (await page.$('input')).uploadFile((await sent.json()).path);
  assert.equal(await page.evaluate(given), 'a picture');
  assert.equal(await page.evaluate(() => document.querySelector('input').files[0].name), 'ein Bild.txt');
  await assert.rejects((await page.$('input')).uploadFile(run.mine), /scope files/);
  console.log('puppeteer-upload');
  await browser.disconnect();
}
assert.ok(!existsSync(run.nowhere));
