// The language of the samples: one choice for the page, kept for the next visit.
import { createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { html } from '../html.js';
import { LANGUAGES } from './samples.js';

const NAME = 'warren.docs.language';
const Language = createContext(null);

// LanguageChoice gives what is below it the choice.
export function LanguageChoice({ children }) {
  const [id, setId] = useState(read);
  const choose = (next) => {
    setId(next);
    try {
      localStorage.setItem(NAME, next);
    } catch {
      // Without storage the choice ends with the page.
    }
  };
  return html`<${Language.Provider} value=${{ id, choose }}>${children}<//>`;
}

function read() {
  try {
    return LANGUAGES.find(({ id }) => id === localStorage.getItem(NAME))?.id || LANGUAGES[0].id;
  } catch {
    return LANGUAGES[0].id;
  }
}

// useLanguage returns the chosen language of LANGUAGES.
export function useLanguage() {
  const { id } = useContext(Language);
  return LANGUAGES.find((language) => language.id === id);
}

// Languages are the buttons of the choice.
export function Languages() {
  const { id: chosen, choose } = useContext(Language);
  return html`<div class="languages" role="group" aria-label="Language of the examples">
    ${LANGUAGES.map(({ id, name }) => html`<button key=${id} type="button" aria-pressed=${id === chosen ? 'true' : 'false'} onClick=${() => choose(id)}>${name}</button>`)}
  </div>`;
}
