// Markup as Preact elements. Values become text or properties, never markup.
import { h } from 'preact';
import htm from 'htm';

export const html = htm.bind(h);
