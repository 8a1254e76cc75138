// Reads and writes the storage of the page's origin. The values of IndexedDB have the shape of Playwright's storageState, and a few forms
// of our own for what that cannot say: views of data, blobs and files.

(() => {
const numbers = {i8: Int8Array, ui8: Uint8Array, ui8c: Uint8ClampedArray, i16: Int16Array, ui16: Uint16Array, i32: Int32Array,
  ui32: Uint32Array, f32: Float32Array, f64: Float64Array, bi64: BigInt64Array, bui64: BigUint64Array}
if (globalThis.Float16Array) numbers.f16 = Float16Array
const base64 = bytes => {
  let text = ''
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000))
  return btoa(text)
}
const bytesOf = text => Uint8Array.from(atob(text), c => c.charCodeAt(0))
const within = (ms, promise, otherwise) => new Promise((resolve, reject) => {
  const late = setTimeout(() => reject(new Error(otherwise)), ms)
  promise.then(resolve, reject).finally(() => clearTimeout(late))
})
const answered = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})

// plain says whether JSON carries a value as it is.
const plain = (v, above = []) => {
  if (typeof v === 'number') return Number.isFinite(v) && !Object.is(v, -0)
  if (v === null || typeof v === 'boolean' || typeof v === 'string') return true
  if (typeof v !== 'object' || above.includes(v)) return false
  const inside = [...above, v]
  if (Array.isArray(v)) return Object.keys(v).length === v.length && v.every(x => plain(x, inside))
  if (Object.getPrototypeOf(v) !== Object.prototype || 'toJSON' in v || Object.hasOwn(v, '__proto__')) return false
  return Object.values(v).every(x => plain(x, inside))
}

// encode writes any value but those that no other page can hold: keys of WebCrypto, handles of files.
const encode = async (v, known = new Map()) => {
  switch (typeof v) {
  case 'undefined': return {v: 'undefined'}
  case 'boolean': case 'string': return v
  case 'bigint': return {bi: String(v)}
  case 'number': return Object.is(v, -0) ? {v: '-0'} : Number.isFinite(v) ? v : {v: String(v)}
  }
  if (v === null) return {v: 'null'}
  if (known.has(v)) return {ref: known.get(v)}
  if (v instanceof Date) return {d: isNaN(v) ? 'NaN' : v.toJSON()}
  if (v instanceof RegExp) return {r: {p: v.source, f: v.flags}}
  if (v instanceof Error) return {e: {n: v.name, m: v.message, s: v.stack}}
  for (const [k, type] of Object.entries(numbers)) {
    if (v instanceof type) return {ta: {b: base64(new Uint8Array(v.buffer, v.byteOffset, v.byteLength)), k}}
  }
  if (v instanceof ArrayBuffer) return {ab: {b: base64(new Uint8Array(v))}}
  if (v instanceof DataView) return {dv: {b: base64(new Uint8Array(v.buffer, v.byteOffset, v.byteLength))}}
  if (v instanceof Blob) {
    const b = base64(new Uint8Array(await v.arrayBuffer()))
    return v instanceof File ? {file: {b, t: v.type, n: v.name, m: v.lastModified}} : {blob: {b, t: v.type}}
  }
  const id = known.size + 1
  known.set(v, id)
  if (Array.isArray(v)) {
    const a = []
    for (const x of v) a.push(await encode(x, known))
    return {a, id}
  }
  if (v instanceof Map) {
    const m = []
    for (const [k, x] of v) m.push({k: await encode(k, known), v: await encode(x, known)})
    return {m, id}
  }
  if (v instanceof Set) {
    const s = []
    for (const x of v) s.push(await encode(x, known))
    return {s, id}
  }
  if (Object.getPrototypeOf(v) !== Object.prototype) throw new Error(`it has a ${v.constructor?.name}, which cannot be taken along`)
  const o = []
  for (const k of Object.keys(v)) o.push({k, v: await encode(v[k], known)})
  return {o, id}
}

const errors = {Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError}
const special = {undefined: undefined, null: null, NaN, Infinity, '-Infinity': -Infinity, '-0': -0}

// decode reads what encode has written, and what Playwright writes.
const decode = (v, known = new Map()) => {
  if (typeof v !== 'object' || v === null) return v
  const keep = made => (known.set(v.id, made), made)
  if ('ref' in v) return known.get(v.ref)
  if ('v' in v) return special[v.v]
  if ('d' in v) return new Date(v.d)
  if ('u' in v) return String(v.u)
  if ('bi' in v) return BigInt(v.bi)
  if ('r' in v) return new RegExp(v.r.p, v.r.f)
  if ('e' in v) return Object.defineProperties(new (Object.hasOwn(errors, v.e.n) ? errors[v.e.n] : Error)(v.e.m), {stack: {value: v.e.s, configurable: true, writable: true}})
  if ('ta' in v) return new numbers[v.ta.k](bytesOf(v.ta.b).buffer)
  if ('ab' in v) return bytesOf(v.ab.b).buffer
  if ('dv' in v) return new DataView(bytesOf(v.dv.b).buffer)
  if ('blob' in v) return new Blob([bytesOf(v.blob.b)], {type: v.blob.t})
  if ('file' in v) return new File([bytesOf(v.file.b)], v.file.n, {type: v.file.t, lastModified: v.file.m})
  if ('a' in v) {
    const a = keep([])
    for (const x of v.a) a.push(decode(x, known))
    return a
  }
  if ('m' in v) {
    const m = keep(new Map())
    for (const x of v.m) m.set(decode(x.k, known), decode(x.v, known))
    return m
  }
  if ('s' in v) {
    const s = keep(new Set())
    for (const x of v.s) s.add(decode(x, known))
    return s
  }
  const o = keep({})
  for (const x of v.o ?? []) {
    Object.defineProperty(o, x.k, {value: decode(x.v, known), enumerable: true, configurable: true, writable: true})
  }
  return o
}

const written = async (name, v) => v !== null && plain(v) ? {[name]: v} : {[name + 'Encoded']: await encode(v)}
const readBack = (record, name) => name + 'Encoded' in record ? decode(record[name + 'Encoded']) : record[name]
const pathOf = path => path === null ? {} : Array.isArray(path) ? {keyPathArray: path} : {keyPath: path}
const pathIn = x => x.keyPathArray ?? x.keyPath ?? null

// open opens a database as it is, and closes it as soon as a page wants to change it. It makes none.
const open = (name, version, change) => {
  const request = version === undefined ? indexedDB.open(name) : indexedDB.open(name, version)
  request.onupgradeneeded = e => {
    if (change) change(request.result, request.transaction)
    else request.transaction.abort()
  }
  const opened = answered(request).then(db => {
    db.onversionchange = () => db.close()
    return db
  })
  const busy = 'a page has this database open, and keeps it from others: close its tabs'
  return within(limit, opened, busy).catch(e => {
    opened.then(db => db.close(), () => {})
    throw e
  })
}
const limit = 5000

const shapeOf = (db, tx) => [...db.objectStoreNames].map(name => {
  const s = tx.objectStore(name)
  return {name, autoIncrement: s.autoIncrement, ...pathOf(s.keyPath), indexes: [...s.indexNames].map(n => s.index(n)).map(x => (
    {name: x.name, ...pathOf(x.keyPath), multiEntry: x.multiEntry, unique: x.unique}))}
})

const readDatabase = async (name, faults) => {
  const db = await open(name)
  try {
    if (db.objectStoreNames.length === 0) return {name, version: db.version, stores: []}
    const tx = db.transaction([...db.objectStoreNames], 'readonly')
    const stores = shapeOf(db, tx)
    const all = await Promise.all(stores.map(s => {
      const store = tx.objectStore(s.name)
      return Promise.all([answered(store.getAllKeys()), answered(store.getAll())])
    }))
    for (const [i, s] of stores.entries()) {
      s.records = []
      const [keys, values] = all[i]
      for (const [j, key] of keys.entries()) {
        try {
          s.records.push({...pathIn(s) === null ? await written('key', key) : {}, ...await written('value', values[j])})
        } catch (e) {
          faults.push(`A record of the database ${name} is left out: ${e.message}.`)
        }
      }
    }
    return {name, version: db.version, stores}
  } finally {
    db.close()
  }
}

const read = async ({local, databases}) => {
  const out = {localStorage: [], indexedDB: [], faults: []}
  if (local) for (let i = 0; i < localStorage.length; i++) {
    const name = localStorage.key(i)
    out.localStorage.push({name, value: localStorage.getItem(name)})
  }
  if (!databases) return out
  for (const {name} of await indexedDB.databases()) {
    try {
      out.indexedDB.push(await readDatabase(name, out.faults))
    } catch (e) {
      out.faults.push(`The database ${name} is left out: ${e.message}.`)
    }
  }
  return out
}

const make = (db, tx, stores) => {
  for (const name of [...db.objectStoreNames]) db.deleteObjectStore(name)
  for (const s of stores) {
    const store = db.createObjectStore(s.name, {keyPath: pathIn(s), autoIncrement: s.autoIncrement})
    for (const x of s.indexes) store.createIndex(x.name, pathIn(x), {multiEntry: x.multiEntry, unique: x.unique})
  }
  fill(tx, stores)
}

const fill = (tx, stores) => {
  for (const s of stores) {
    const store = tx.objectStore(s.name)
    store.clear()
    for (const r of s.records) {
      const value = readBack(r, 'value')
      pathIn(s) === null ? store.put(value, readBack(r, 'key')) : store.put(value)
    }
  }
}

const remove = name => new Promise((resolve, reject) => {
  const request = indexedDB.deleteDatabase(name)
  request.onsuccess = () => resolve()
  request.onerror = () => reject(request.error)
  request.onblocked = () => setTimeout(() => reject(new Error('a page has it open, and does not close it: close its tabs')), limit)
})

// writeDatabase replaces a database in one transaction: at once where it has the same shape, else with the change of its version.
const writeDatabase = async (want, there) => {
  const sorted = stores => JSON.stringify(stores.map(s => [s.name, s.autoIncrement, pathIn(s),
    s.indexes.map(x => [x.name, pathIn(x), x.multiEntry, x.unique]).sort()]).sort())
  if (there === want.version) {
    const db = await open(want.name)
    try {
      const names = [...db.objectStoreNames]
      const tx = names.length ? db.transaction(names, 'readwrite') : null
      if (sorted(tx ? shapeOf(db, tx) : []) === sorted(want.stores)) {
        if (tx) {
          const done = new Promise((resolve, reject) => {
            tx.oncomplete = resolve
            tx.onabort = () => reject(tx.error ?? new Error('it was given up'))
          })
          fill(tx, want.stores)
          await done
        }
        return
      }
    } finally {
      db.close()
    }
  }
  if (there !== undefined && there >= want.version) await remove(want.name)
  const db = await open(want.name, want.version, (db, tx) => make(db, tx, want.stores))
  db.close()
}

const writeLocal = (items, replace) => {
  const before = Object.entries(localStorage)
  try {
    if (replace) localStorage.clear()
    for (const {name, value} of items) localStorage.setItem(name, value)
  } catch (e) {
    localStorage.clear()
    for (const [name, value] of before) localStorage.setItem(name, value)
    throw e
  }
}

const write = async ({localStorage: items, indexedDB: wanted, replace}) => {
  const faults = []
  try {
    writeLocal(items ?? [], replace)
  } catch (e) {
    faults.push(`localStorage stays as it was: ${e.message}`)
  }
  const there = new Map((await indexedDB.databases()).map(d => [d.name, d.version]))
  const names = new Set((wanted ?? []).map(d => d.name))
  for (const want of wanted ?? []) {
    try {
      await writeDatabase(want, there.get(want.name))
    } catch (e) {
      faults.push(`The database ${want.name} was not written: ${e.message}.`)
    }
  }
  if (replace) for (const name of there.keys()) {
    if (!names.has(name)) await remove(name).catch(e => faults.push(`The database ${name} was not deleted: ${e.message}.`))
  }
  return {faults}
}

return {read, write}
})()
