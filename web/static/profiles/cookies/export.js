// The dialog that writes a profile's cookies into a file, or onto the clipboard.
import { html } from '../../html.js';
import { useApp } from '../../app-context.js';
import { copyText, Name, Notice } from '../../components.js';
import { Dialog, useTold } from '../../dialog.js';
import { count, number } from '../../format.js';
import { Choice, Form, useForm } from '../../forms.js';
import { Icon } from '../../icons.js';
import { fileNamed } from '../archive/transfer.js';
import { saveBlob } from '../drawer/use.js';
import { bare } from './jar.js';

const STORAGE = 'storage-state';
const FORMATS = [
  ['playwright', 'JSON for Playwright, Puppeteer and Selenium'], ['cookie-editor', 'JSON for Cookie-Editor and EditThisCookie'], ['cdp', 'JSON of Chrome’s protocol (CDP), with everything'],
  ['netscape', 'cookies.txt for curl, wget and yt-dlp'], [STORAGE, 'storageState of Playwright: with localStorage and databases'],
];
const MOST = 1000; // domains of a request

// LOST are the words for what a format does not carry, by the codes of the API.
const LOST = {
  __proto__: null,
  same_site: 'SameSite', priority: 'the priority', source: 'source scheme and port', sub_second: 'parts of a second', partitioned: 'partitioned cookies', opaque_partition: 'cookies of opaque partitions',
  unprintable: 'cookies with control characters', partitioned_storage: 'storage within other sites’ pages',
};

function lostWords(header) {
  const words = (header || '').split(', ').map((one) => one.split('=')).filter(([code]) => code).map(([code, n]) => `${LOST[code] || code} (${n})`);
  return words.length ? `The format does not have: ${words.join(', ')}.` : '';
}

// ExportDialog exports all cookies, or those of the domains of some.
export function ExportDialog({ profile, jar, cookies, chosen, close }) {
  const app = useApp();
  const domains = [...new Set(cookies.map(({ domain }) => bare(domain)))];
  const some = domains.length > 0 && domains.length <= MOST;
  const form = useForm({ format: 'playwright', which: some ? 'some' : 'all', copy: false });
  const told = useTold('The cookies were not exported');
  const storage = form.values.format === STORAGE;
  const file = async ({ format, which }) => {
    const response = await (storage ? jar.file(STORAGE, '', which === 'some' ? domains : []) : jar.file('cookies', format, which === 'some' ? domains : []));
    return { text: await response.blob(), lost: lostWords(response.headers.get('X-Warren-Lost')) };
  };
  const done = (text, lost) => {
    app.toasts.say({ text, more: lost, tone: lost ? 'wait' : 'good' });
    close();
  };
  const save = (values) => told(async () => {
    const { text, lost } = await file(values);
    saveBlob(text, fileNamed([profile]).replace(/\.warren$/, ` ${storage ? 'storage' : 'cookies'}.${values.format === 'netscape' ? 'txt' : 'json'}`));
    done(`Exported ${storage ? 'the storage' : 'cookies'} of ${profile.name}.`, lost);
  });
  const copy = () => form.send((values) => told(async () => {
    const { text, lost } = await file(values);
    await copyText(await text.text(), form.root.current);
    done(`Copied ${storage ? 'the storage' : 'cookies'} of ${profile.name}.`, lost);
  }));
  const foot = html`${form.busy && html`<span class="dialog-status" role="status">Reading…</span>`}<button type="button" class="button" onClick=${close}>Cancel</button>
    <button type="button" class="button" disabled=${form.busy} onClick=${copy}><${Icon} name="copy" />Copy</button><button class="button primary" disabled=${form.busy}><${Icon} name="download" />Download</button>`;
  const which = [['some', `Of ${domains.length === 1 ? domains[0] : count(domains.length, 'domain')} that ${chosen ? 'you chose' : 'the search shows'}, with subdomains`], ['all', 'All']];
  return html`<${Dialog} title="Export cookies" lead=${html`<${Name}>${profile.name}<//>`} close=${close}><${Form} form=${form} work=${save} foot=${foot}>
    <div class="fields"><${Choice} form=${form} name="format" label="Format" wide options=${FORMATS} />
      ${domains.length > MOST && html`<p class="hint wide">All cookies are exported: there are more than ${number(MOST)} domains.</p>`}
      ${some && html`<${Choice} form=${form} name="which" member="domain" label="Cookies" wide options=${which} />`}
      <div class="wide"><${Notice}><p>Whoever gets this is signed in wherever the profile is.</p><//></div></div><//><//>`;
}
