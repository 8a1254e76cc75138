// What a selection stands for, as objects.

const PAGE = 200; // objects a request

// chosenOf returns what is chosen of the list at a path as [{id, name}]. Where all that match are chosen, it reads the list to its end.
export async function chosenOf(api, path, { selection, query, name }) {
  const { all, ids } = selection.state.value;
  if (!all) return [...ids].map(([id, known]) => ({ id, name: known }));
  const out = [];
  for (let page = 1; ; page++) {
    const { data, hasMore } = await api.get(path, { ...query, page, limit: PAGE });
    out.push(...data.filter(({ id }) => !ids.has(id)).map((object) => ({ id: object.id, name: name(object) })));
    if (!hasMore) return out;
  }
}
