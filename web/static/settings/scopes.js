// What the scopes of a key allow, in words.

// SCOPES are [scope, short words, what it allows].
export const SCOPES = [
  ['read', 'Read', 'See profiles, proxies, runs and events. No passwords.'],
  ['run', 'Run browsers', 'Start, stop, watch and control browsers. Check and rotate proxies.'],
  ['write', 'Change', 'Create, change, import and delete profiles and proxies.'],
  ['secrets', 'Read passwords', 'See and export proxy passwords, cookies and storage. Each time is recorded.'],
  ['files', 'Use files of the server', 'With “Run browsers”: read and write files as the user that runs Warren.'],
  ['admin', 'Everything', 'All of these, and keys, workspaces, the log and the server.'],
];

// scopeWords says what a key may do.
export function scopeWords(scopes) {
  if (scopes.includes('admin')) return 'Everything';
  const words = SCOPES.filter(([scope]) => scopes.includes(scope)).map(([, short]) => short);
  return words.map((word, i) => (i ? word.replace(/^./, (first) => first.toLowerCase()) : word)).join(', ');
}
