// Calls the public API with fetch, which is the page's only way to the server. Addresses are relative to the
// document's.

const BASE = 'api/v1';

// Problem is an error answer (RFC 9457), or the lack of any answer (status 0).
export class Problem extends Error {
  constructor(status, body, requestId) {
    super(body.detail || body.title || `The server answered ${status}.`);
    this.status = status;
    this.code = body.code || '';
    this.title = body.title || '';
    this.detail = body.detail || '';
    this.errors = Array.isArray(body.errors) ? body.errors : [];
    this.requestId = requestId;
    this.body = body;
  }

  // field returns the member of the request that an error is about: "body.startUrls[0]" is startUrls.
  static field(error) {
    const [, name] = /^(?:body|query|path|header)\.([^.[]+)/.exec(error.location || '') || [];
    return name || '';
  }

  // path returns the whole member that an error is about: "body.quotas.running" is quotas.running.
  static path(error) {
    return (error.location || '').replace(/^[a-z]+\./, '');
  }
}

const UNREACHABLE = {
  code: 'unreachable',
  title: 'Warren does not answer',
  detail: 'The server may have stopped, or the network is down. What you see may be out of date.',
};

export class Api {
  #key;
  #refused;

  // An empty key is none. refused is called when the server no longer accepts the key.
  constructor(key, refused = () => {}) {
    this.#key = key;
    this.#refused = refused;
  }

  // renew goes on with another key. It says whether the key is another one.
  renew(key) {
    const other = key !== this.#key;
    this.#key = key;
    return other;
  }

  get(path, query, options) {
    return this.call('GET', path, { query, ...options });
  }

  post(path, body, options) {
    return this.call('POST', path, { body, ...options });
  }

  put(path, body, options) {
    return this.call('PUT', path, { body, ...options });
  }

  delete(path, query) {
    return this.call('DELETE', path, { query });
  }

  // send posts text of a content type. A list in the query becomes repeated parameters.
  async send(path, query, kind, text, signal) {
    const response = await this.open('POST', BASE + path + search(query), { headers: { 'Content-Type': kind }, body: text, signal });
    return parse(await response.text());
  }

  // upload posts a file, which may be larger than memory, and calls `progress` with the number of bytes that are sent. It does not use fetch, which
  // tells nothing of that.
  upload(path, query, headers, file, signal, progress) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open('POST', BASE + path + search(query));
      for (const [name, value] of Object.entries({ ...(this.#key && { Authorization: `Bearer ${this.#key}` }), ...headers })) request.setRequestHeader(name, value);
      request.upload.onprogress = ({ loaded }) => progress(loaded);
      request.upload.onload = () => progress(file.size);
      request.onerror = () => reject(new Problem(0, UNREACHABLE, ''));
      request.onabort = () => reject(new DOMException('', 'AbortError'));
      request.onload = () => {
        const body = parse(request.responseText);
        if (request.status < 300) return resolve(body);
        const problem = new Problem(request.status, body || {}, request.getResponseHeader('X-Request-Id') || '');
        if (problem.status === 401) this.#refused(problem);
        reject(problem);
      };
      signal.addEventListener('abort', () => request.abort());
      request.send(file);
    });
  }

  // lines posts a request whose answer is one JSON object per line. It passes their number to `total`, then each
  // object to `line` as it arrives.
  async lines(path, body, signal, total, line) {
    const response = await this.open('POST', BASE + path, { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal });
    const expected = Number(response.headers.get('X-Total-Count'));
    total(expected);
    let seen = 0;
    let rest = '';
    for (const reader = response.body.pipeThrough(new TextDecoderStream()).getReader(); ;) {
      const { done, value } = await reader.read().catch((error) => { throw error.name === 'AbortError' ? error : new Problem(0, UNREACHABLE, ''); });
      if (done) break;
      const texts = (rest + value).split('\n');
      rest = texts.pop();
      for (const text of texts) line(parse(text));
      seen += texts.length;
    }
    if (seen < expected) throw new Problem(0, { ...UNREACHABLE, detail: `The answer ended after ${seen} of ${expected}. The server’s log says why.` }, '');
  }

  async call(method, path, options = {}) {
    return (await this.full(method, path, options)).data;
  }

  // full also returns the ETag, which a later update sends as the version it is based on.
  async full(method, path, { query, body, headers, ...rest } = {}) {
    const response = await this.open(method, BASE + path + search(query), {
      headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      ...rest,
    });
    const text = await response.text().catch(() => '');
    return { data: text ? parse(text) : null, etag: response.headers.get('ETag') };
  }

  // open sends a request with the key and returns a successful response.
  async open(method, address, { headers, ...rest } = {}) {
    let response;
    try {
      response = await fetch(address, {
        method,
        headers: { ...(this.#key && { Authorization: `Bearer ${this.#key}` }), ...headers },
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
        ...rest,
      });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Problem(0, UNREACHABLE, '');
    }
    if (response.ok) return response;
    const body = parse(await response.text().catch(() => '')) || {};
    const problem = new Problem(response.status, body, response.headers.get('X-Request-Id') || '');
    if (problem.status === 401) this.#refused(problem);
    throw problem;
  }
}

function search(query) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query || {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') params.append(name, one);
    }
  }
  const text = params.toString();
  return text && `?${text}`;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
