// A text in a box, copied with one click.
import { html } from '../html.js';
import { Copy } from '../components.js';

export function Code({ title, text }) {
  return html`<div class="code"><p class="code-title">${title}</p><pre tabindex="0" role="group" aria-label=${title}>${text}</pre><${Copy} text=${text} label=${`Copy: ${title}`} /></div>`;
}
