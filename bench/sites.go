package main

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
)

// Sites that fill a profile as ordinary ones do. The one server is each of http://siteN.localhost:PORT, which Chrome takes for secure.

// Sizes in bytes, per site. Forty sites leave about the profile of the reference: 236 MiB with its caches, 129 MiB without.
const (
	scriptSize  = 300 << 10 // four of them, which the service worker keeps too
	pictureSize = 100 << 10 // sixteen
	blobSize    = 200 << 10
	localSize   = 50 << 10
	rowSize     = 1800 // of 800 in IndexedDB
)

// signIn is the query of the page with which a site gives its cookie.
const signIn = "sign-in"

// sitePage fills all that a site may keep. A later visit changes an eighth of the documents, the blob and localStorage. Its promise done
// says when, and who the site takes the profile for.
const sitePage = `<!doctype html><title>a site</title>%s
<script>
const text = (n) => { let s = ''; while (s.length < n) s += Math.random().toString(16).slice(2); return s.slice(0, n); };
const over = (r) => new Promise((yes, no) => {
  r.onsuccess = r.oncomplete = () => yes(r.result);
  r.onerror = r.onabort = () => no(r.error);
});
window.done = (async () => {
  localStorage.text = text(%d);
  const open = indexedDB.open('docs');
  open.onupgradeneeded = () => open.result.createObjectStore('docs');
  const all = (await over(open)).transaction('docs', 'readwrite');
  const docs = all.objectStore('docs');
  const first = !await over(docs.count());
  for (let i = 0; i < (first ? 800 : 100); i++) docs.put({ text: text(%d) }, i);
  docs.put(new Blob([text(%d)]), 'blob');
  await over(all);
  await navigator.serviceWorker.register('/worker.js');
  await navigator.serviceWorker.ready;
  return (await fetch('/who')).text();
})();
</script>`

const siteWorker = `self.oninstall = (e) =>
  e.waitUntil(caches.open('all').then((c) => c.addAll([0, 1, 2, 3].map((i) => '/' + i + '.js'))));`

// serveSites is the role of the server.
func serveSites([]string) error {
	l, err := listenFree()
	if err != nil {
		return err
	}
	parts := ""
	for i := range 4 {
		parts += fmt.Sprintf("<script src=/%d.js></script>", i)
	}
	for i := range 16 {
		parts += fmt.Sprintf("<img src=/%d.png>", i)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == signIn {
			http.SetCookie(w, &http.Cookie{Name: "user", Value: "somebody", MaxAge: 1 << 24, HttpOnly: true})
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, sitePage, parts, localSize, rowSize, blobSize)
	})
	mux.HandleFunc("/worker.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, siteWorker) //nolint:errcheck // the browser sees it
	})
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("user"); err == nil {
			io.WriteString(w, c.Value) //nolint:errcheck // the browser sees it
		}
	})
	mux.HandleFunc("/{file}", serveNoise)
	return http.Serve(l, mux) //nolint:gosec // it ends with the program
}

// serveNoise answers a script, which compresses to half, or a picture, which does not at all. Each has its own bytes.
func serveNoise(w http.ResponseWriter, r *http.Request) {
	sum := fnv.New64a()
	io.WriteString(sum, r.Host+r.URL.Path) //nolint:errcheck // never fails
	noise := rand.NewChaCha8([32]byte(fmt.Appendf(nil, "%032x", sum.Sum64())))
	w.Header().Set("Cache-Control", "max-age=86400")
	if strings.HasSuffix(r.URL.Path, ".png") {
		w.Header().Set("Content-Type", "image/png")
		io.CopyN(w, noise, pictureSize) //nolint:errcheck // the browser sees it
		return
	}
	half := make([]byte, scriptSize/2)
	noise.Read(half) //nolint:errcheck // never fails
	w.Header().Set("Content-Type", "text/javascript")
	fmt.Fprintf(w, "// %s\n", hex.EncodeToString(half))
}
