// The flag of a country, drawn from one sheet, with its code as text.
import { html } from './html.js';

const SHEET = new URL('flags.svg', import.meta.url).href;

// Country shows a country's flag and code. Its name is in the tooltip.
export function Country({ code, name, bare }) {
  if (!code) return null;
  return html`<span class="country" title=${name || countryName(code)}><svg class="flag" viewBox="0 0 3 2" aria-hidden="true"><use href=${`${SHEET}#${code}`} /></svg>${!bare && html`<span>${code}</span>`}</span>`;
}

// countryName returns a country's English name, or its code.
export function countryName(code) {
  try {
    return new Intl.DisplayNames(['en'], { type: 'region' }).of(code) || code;
  } catch {
    return code;
  }
}
