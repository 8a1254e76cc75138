// Starts a browser in one of several ways, or works with one, and prints how many milliseconds it took: one line of JSON for
// each line of JSON on its input. The libraries are loaded before the first line, so their own start does not count.
import { createInterface } from 'node:readline';
import puppeteer from 'puppeteer-core';
import { chromium } from 'playwright-core';

const now = () => performance.now();

// used evaluates on a page of the browser, and then on a new one.
async function used(begun, answered, page, newPage) {
  await page.evaluate('1');
  const ready = now();
  await (await newPage()).evaluate('1');
  return { answered: answered - begun, ready: ready - begun, page: now() - ready };
}

const ways = {
  async puppeteer({ browser, folder, proxy }) {
    const begun = now();
    const b = await puppeteer.launch({ executablePath: browser, userDataDir: folder, args: [`--proxy-server=${proxy}`] });
    const answered = now();
    const took = await used(begun, answered, (await b.pages())[0], () => b.newPage());
    await b.close();
    return took;
  },
  async playwright({ browser, folder, proxy }) {
    const begun = now();
    const c = await chromium.launchPersistentContext(folder, { executablePath: browser, chromiumSandbox: true, proxy: { server: proxy } });
    const answered = now();
    const took = await used(begun, answered, c.pages()[0], () => c.newPage());
    await c.close();
    return took;
  },
  // storage sets a storageState in a context on a folder, and reads it back.
  async storage({ browser, folder, file }) {
    const c = await chromium.launchPersistentContext(folder, { executablePath: browser, chromiumSandbox: true });
    const begun = now();
    await c.setStorageState(file);
    const set = now();
    const { origins } = await c.storageState();
    const took = { set: set - begun, read: now() - set, origins: origins.length };
    await c.close();
    return took;
  },
  async browserless({ url, proxy }) {
    const launch = JSON.stringify({ args: [`--proxy-server=${proxy}`] });
    const begun = now();
    const b = await puppeteer.connect({ browserWSEndpoint: `${url}&launch=${encodeURIComponent(launch)}`, defaultViewport: null });
    const answered = now();
    const took = await used(begun, answered, (await b.pages())[0], () => b.newPage());
    await b.close();
    return took;
  },
  async warren({ url, key }) {
    const call = async (path) => {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
      const answer = await fetch(url + path, { method: 'POST', headers, body: '{}' });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    };
    const begun = now();
    const { wsEndpoint } = await call('/start');
    const answered = now();
    const b = await puppeteer.connect({ browserWSEndpoint: wsEndpoint, defaultViewport: null });
    const took = await used(begun, answered, (await b.pages())[0], () => b.newPage());
    await b.disconnect();
    await call('/stop');
    return took;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { way, ...how } = JSON.parse(line);
  const answer = await ways[way](how).catch((error) => ({ error: String(error) }));
  console.log(JSON.stringify(answer));
}
