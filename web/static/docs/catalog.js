// Lists the operations of an OpenAPI document. Nothing here depends on a certain operation. Pure: it draws nothing.

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

// operationsOf lists the operations, including the parameters of their paths. Two methods of a path that differ in name
// alone are one operation: `twins` are the others of it, as {id, method}.
export function operationsOf(doc) {
  const list = [];
  for (const [path, item] of Object.entries(doc.paths || {})) {
    const first = new Map();
    for (const method of METHODS) {
      if (!item[method]) continue;
      const operation = operationOf(doc, path, item, method);
      const { description, parameters, requestBody, responses } = operation;
      const same = requestBody ? JSON.stringify([description, parameters, requestBody, responses]) : method;
      if (first.has(same)) first.get(same).twins.push({ id: operation.id, method });
      else {
        first.set(same, operation);
        list.push(operation);
      }
    }
  }
  return list;
}

function operationOf(doc, path, item, method) {
  const operation = item[method];
  const server = (operation.servers || item.servers || doc.servers || [{ url: '' }])[0].url.replace(/\/$/, '');
  return {
    ...operation,
    id: operation.operationId || `${method}${path}`.replace(/\W+/g, '-'),
    method,
    twins: [],
    path: server + path,
    parameters: [...(item.parameters || []), ...(operation.parameters || [])],
  };
}

// groupsOf groups operations by their first tag, in the document's order of tags.
export function groupsOf(doc, operations) {
  const names = [...new Set([...(doc?.tags || []).map((tag) => tag.name), ...operations.map(tagOf)])];
  return names.map((name) => ({
    name,
    about: (doc.tags || []).find((tag) => tag.name === name)?.description,
    operations: operations.filter((operation) => tagOf(operation) === name),
  })).filter((group) => group.operations.length);
}

function tagOf(operation) {
  return operation.tags?.[0] || 'other';
}

// matches reports whether an operation has every word of a search.
export function matches({ id, method, twins, path, summary = '', description = '' }, search) {
  const text = [id, method, ...twins.map((twin) => `${twin.method} ${twin.id}`), path, summary, description].join(' ').toLowerCase();
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

// named returns the operation with an id, or with a twin of this id.
export function named(operations, id) {
  return operations.find((operation) => operation.id === id || operation.twins.some((twin) => twin.id === id));
}
