// Drawings in the colour of the text. Screen readers skip them, since words stand beside them.
import { html } from './html.js';

const PATHS = {
  play: 'M7 5.5v13l11-6.5z',
  stop: 'M7 7h10v10H7z',
  edit: 'M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  trash: 'M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3',
  restore: 'M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5',
  plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  pulse: 'M3 12h4l3-7 4 14 3-7h4',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4.5 4.5',
  profiles: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 20c.6-3.6 4-5.5 8-5.5s7.4 1.9 8 5.5',
  proxies: 'M3 12h5M16 12h5M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 3v5M12 16v5',
  running: 'M4 5h16v11H4zM9 20h6M12 16v4M10.5 8v5l4-2.5z',
  docs: 'M5 4h9l5 5v11H5zM14 4v5h5M9 13h6M9 16.5h6',
  leave: 'M14 4H5v16h9M10 12h11M17.5 8.5L21 12l-3.5 3.5',
  warning: 'M12 4L2.5 20h19zM12 10v4.5M12 17.2h.01',
  back: 'M20 12H5M11 6l-6 6 6 6',
  forward: 'M4 12h15M13 6l6 6-6 6',
  reload: 'M20 12a8 8 0 1 1-2.6-5.9M20 4v4.5h-4.5',
  upload: 'M12 16V5M7.5 9.5L12 5l4.5 4.5M4 16v4h16v-4',
  download: 'M12 4v11M7.5 10.5L12 15l4.5-4.5M4 16v4h16v-4',
  people: 'M9 5.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM2.5 19.5c.5-3.2 3.3-4.8 6.5-4.8s6 1.6 6.5 4.8M16 6a3 3 0 0 1 0 6M18 15c2 .6 3.2 2.2 3.5 4.5',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M18 10h.01M8 14.5h8',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z',
  filter: 'M4 6h16M7 12h10M10 18h4',
  columns: 'M4 5h16v14H4zM10 5v14M15 5v14',
  up: 'M12 19V5M6 11l6-6 6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  unsorted: 'M8 10l4-4 4 4M8 14l4 4 4-4',
  tag: 'M4 4h8l8 8-8 8-8-8zM8.5 8.5h.01',
  settings: 'M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.2 2.2M16.2 16.2l2.2 2.2M18.4 5.6l-2.2 2.2M7.8 16.2l-2.2 2.2',
  activity: 'M4 5h16M4 12h16M4 19h10',
  collapse: 'M14 6l-6 6 6 6',
  widen: 'M10 6l6 6-6 6',
  bookmark: 'M7 4h10v16l-5-4-5 4z',
  key: 'M8 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 12h9M18 12v4M21 12v3',
  camera: 'M4 8h3l2-3h6l2 3h3v11H4zM12 10a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z',
  page: 'M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6',
  paste: 'M8 5H5v15h14V5h-3M8 3.5h8V7H8zM9 12h6M9 15.5h6',
  expand: 'M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5',
  shrink: 'M9 4v5H4M20 9h-5V4M15 20v-5h5M4 15h5v5',
  fingers: 'M8 13V6a2 2 0 0 1 4 0v6M12 11V4.5a2 2 0 0 1 4 0V13M8 13l-2-2a1.8 1.8 0 0 0-2.5 2.6L8 20h8c2-1.5 3-3.5 3-6v-2a1.5 1.5 0 0 0-3 0',
  pin: 'M9 4h6l-.5 6 3.5 3.5H6L9.5 10zM12 13.5V21',
  hourglass: 'M7 4h10M7 20h10M8.5 4c0 4.5 7 5 7 8s-7 3.5-7 8M15.5 4c0 4.5-7 5-7 8s7 3.5 7 8',
  exit: 'M4 12h14M13 7l5 5-5 5M21 4v16',
};

export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
}

// Logo is the mouth of a burrow in a hill.
export function Logo() {
  return html`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
    <rect class="logo-ground" width="32" height="32" rx="9" />
    <path class="logo-mark" d="M6 24a10 10 0 0 1 20 0h-4.2a5.8 5.8 0 0 0-11.6 0z" />
    <circle class="logo-mark" cx="16" cy="23.6" r="2.4" />
  </svg>`;
}

// Burrows is a warren in cross-section: chambers in the earth, each with its own exit.
export function Burrows() {
  return html`<svg class="burrows" viewBox="0 0 240 150" preserveAspectRatio="xMidYMin slice" aria-hidden="true">
    <path class="earth" d="M0 40C36 22 72 16 112 27s86 29 128 13v111H0z" />
    <g class="hollow">
      <path d="M40 20c2 22-12 26-11 50M106 20c-8 24 14 34 4 60M182 34c0 18 20 24 10 52M31 80c8 22 32 18 44 36M118 88c16 4 24 18 40 26M84 119c18 12 52 12 70 0" />
      <ellipse cx="29" cy="74" rx="16" ry="10" /><ellipse cx="108" cy="82" rx="18" ry="11" /><ellipse cx="191" cy="88" rx="21" ry="12" />
      <ellipse cx="78" cy="120" rx="15" ry="9" /><ellipse cx="162" cy="117" rx="16" ry="9" />
    </g>
    <path class="grass" d="M68 21l-2-6M72 20l1-7M76 20l3-6M146 38l-2-6M150 39l1-7M154 40l3-5M218 46l-1-6M222 46l2-6" />
    <g class="lamps"><circle cx="29" cy="75" r="3" /><circle cx="108" cy="83" r="3" /><circle cx="191" cy="89" r="3" /></g>
  </svg>`;
}
