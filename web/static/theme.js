// The theme: light, dark, or as the system has it.
import { recall } from './memory.js';

// applyTheme takes the theme that is kept, or the system's.
export function applyTheme() {
  const theme = recall('theme', 'system');
  document.documentElement.dataset.theme = ['light', 'dark'].includes(theme) ? theme : 'system';
}
