// How a program connects to a running browser: its URLs, and lines of code for each client.
import { useState } from 'preact/hooks';
import { html } from './html.js';
import { Copy, Country, Name, Notice, Prose } from './components.js';
import { Dialog } from './dialog.js';
import { span } from './format.js';
import { warningWords } from './profiles/drawer/explain.js';

// The ways to connect, as lines to paste. Texts are quoted as JSON, which these languages accept.
const RECIPES = [
  {
    name: 'Playwright',
    lines: (run) => [
      "import { chromium } from 'playwright-core';",
      '',
      `const browser = await chromium.connectOverCDP(${JSON.stringify(run.wsEndpoint)});`,
      'const [context] = browser.contexts();',
      'const page = context.pages()[0] ?? await context.newPage();',
    ],
  },
  {
    name: 'Python',
    lines: (run) => [
      'from playwright.sync_api import sync_playwright',
      '',
      'with sync_playwright() as p:',
      `    browser = p.chromium.connect_over_cdp(${JSON.stringify(run.wsEndpoint)})`,
      '    context = browser.contexts[0]',
      '    page = context.pages[0] if context.pages else context.new_page()',
    ],
  },
  {
    name: 'Puppeteer',
    lines: (run) => [
      "import puppeteer from 'puppeteer-core';",
      '',
      'const browser = await puppeteer.connect({',
      `  browserWSEndpoint: ${JSON.stringify(run.wsEndpoint)},`,
      '  defaultViewport: null,',
      '});',
      'const [page] = await browser.pages();',
    ],
  },
  {
    name: 'Selenium',
    port: true,
    lines: (run) => [
      "import { Builder } from 'selenium-webdriver';",
      "import { Options } from 'selenium-webdriver/chrome.js';",
      '',
      `const options = new Options().debuggerAddress(${JSON.stringify(run.debuggerAddress)});`,
      "const driver = await new Builder().forBrowser('chrome').setChromeOptions(options).build();",
    ],
  },
  {
    name: 'curl',
    lines: (run) => [
      `curl -s ${shellQuoted(`${run.cdpUrl.replace(/\/$/, '')}/json/version`)}`,
      `curl -s ${shellQuoted(`${run.cdpUrl.replace(/\/$/, '')}/json/list`)}`,
    ],
  },
];

// shellQuoted quotes a text for a POSIX shell.
function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

export function ConnectDialog({ profile, run, close }) {
  return html`<${Dialog} title=${html`<${Name}>${profile.name}<//> is running`} lead=${html`<${Facts} run=${run} />`} about=${profile.id} close=${close}>
    <div class="dialog-content">
      <${Warnings} warnings=${run.warnings || []} />
      <${Address} label="CDP over WebSocket" text=${run.wsEndpoint} />
      <${Address} label="CDP over HTTP" text=${run.cdpUrl} />
      <${Address} label="Live view" text=${run.liveUrl} />
      ${run.debuggerAddress && html`<${Address} label="Debugger address" text=${run.debuggerAddress} />`}
      ${run.wsEndpoint && html`<${Recipes} run=${run} />`}
      <p class="hint">Anyone with these URLs can control this browser. They expire when it stops.</p>
    </div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>
  <//>`;
}

function Warnings({ warnings }) {
  if (!warnings.length) return null;
  return html`<${Notice}><ul>${warningWords(warnings, []).map(({ code, text }) => html`<li key=${code}><${Prose} text=${text} /></li>`)}</ul><//>`;
}

function Facts({ run }) {
  const { browser, proxy } = run;
  return html`<span class="facts">
    ${browser && html`<span>${browser.product} ${browser.version}${run.headless ? ', headless' : ''}</span>`}
    ${proxy
      ? html`<span><${Country} code=${proxy.country} /> ${proxy.exitIp || 'Exit IP not known yet'}${proxy.latencyMs != null ? ` · ${span(proxy.latencyMs)}` : ''}</span>`
      : html`<span>No proxy (direct connection)</span>`}
    ${run.pid && html`<span>Process ${run.pid}</span>`}
  </span>`;
}

// Address is an address with its button to copy it.
export function Address({ label, text }) {
  if (!text) return null;
  return html`<div class="copy-line">
    <span class="copy-label">${label}</span>
    <code tabindex="0" role="group" aria-label=${label}>${text}</code>
    <${Copy} text=${text} label=${`Copy ${label}`} />
  </div>`;
}

// Recipes shows the code for one client at a time. noPort is shown where a client needs a port that is not open.
export function Recipes({ run, noPort }) {
  const [chosen, choose] = useState(0);
  const recipes = RECIPES.filter(({ port }) => noPort || !port || run.debuggerAddress);
  const { name: shown, port, lines } = recipes[chosen];
  const text = lines(run).join('\n');
  return html`<fieldset class="recipes">
    <legend class="visually-hidden">Connect with</legend>
    <div class="segments">
      ${recipes.map(({ name }, i) => html`<label key=${name} class="segment">
        <input type="radio" name="recipe" checked=${i === chosen} onChange=${() => choose(i)} /><span>${name}</span>
      </label>`)}
    </div>
    ${port && !run.debuggerAddress ? noPort : html`<div class="code">
      <pre tabindex="0" aria-label=${shown}>${text}</pre>
      <${Copy} text=${text} label="Copy these lines" />
    </div>`}
  </fieldset>`;
}
