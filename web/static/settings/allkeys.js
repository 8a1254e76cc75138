// All keys, for those who may see them.

const PAGE = 200;
const MOST = 1000;

// readKeys reads the newest keys, up to MOST of them.
export async function readKeys(api) {
  const all = [];
  for (let after = ''; all.length < MOST;) {
    const { data, next, hasMore } = await api.get('/keys', { limit: PAGE, after });
    all.push(...data);
    if (!hasMore) break;
    after = next;
  }
  return all;
}
