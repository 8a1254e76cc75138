// Views: filters and an order under a name, kept in the browser.

// sameView says whether parameters are those of a view, in any order.
export function sameView(view, params) {
  const sorted = (all) => [...new URLSearchParams(all)].map((pair) => pair.join('=')).sort().join('&');
  return sorted(view) === sorted(params);
}
