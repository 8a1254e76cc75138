package web

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// longList answers like a server with 10,203 profiles, of which it counts 10,000 if they are filtered.
func longList(method, path string) (int, any) {
	query, ok := strings.CutPrefix(path, "/api/v1/profiles?")
	if !ok {
		return oneOfEach(method, path)
	}
	const all = 10_203
	asked, _ := url.ParseQuery(query) //nolint:errcheck // the page wrote it
	page, _ := strconv.Atoi(asked.Get("page"))
	data := []any{}
	for i := (page - 1) * 50; i < min(page*50, all); i++ {
		data = append(data, map[string]any{"id": fmt.Sprint("p", i), "workspaceId": "default", "name": fmt.Sprint("Shop ", i),
			"os": "linux", "browserVersion": "156", "tags": []string{}, "status": "stopped"})
	}
	total, exact := all, asked.Get("search") == "" && asked.Get("status") == ""
	if !exact {
		total = 10_000
	}
	return 200, map[string]any{"data": data, "total": total, "totalIsExact": exact, "page": page, "limit": 50, "hasMore": page*50 < all}
}

// TestTotalsThatWereNotCounted: a list that was counted no further shows so, and its pages are walked to the end.
func TestTotalsThatWereNotCounted(t *testing.T) {
	t.Parallel()
	const tools = `
		const words = async (total, rows, newer, older) => {
			await until(() => document.querySelector('.pager span')?.textContent === rows);
			if (document.querySelector('h1 .total').textContent !== total) throw document.querySelector('h1 .total').textContent;
			const [back, on] = document.querySelectorAll('.pager button');
			if (back.disabled === newer || on.disabled === older) throw rows + ' ' + [back.disabled, on.disabled];
		};`
	for place, script := range map[string]string{
		"profiles?search=shop": `await words('10,000+', '1–50 of 10,000+', false, true);
			if (![...document.querySelectorAll('[role=status]')].some((it) => it.textContent === '10,000+ profiles fit')) throw 'not said';
			(await named('Older')).click(); await words('10,000+', '51–100 of 10,000+', true, true);
			location.hash = '#/profiles?search=shop&page=204'; await words('10,000+', '10,151–10,200 of 10,000+', true, true);
			(await named('Older')).click(); await words('10,000+', '10,201–10,203 of 10,000+', true, false);
			location.hash = '#/profiles?search=shop&page=206'; await words('10,000+', 'None of 10,000+', true, false);
			location.hash = '#/profiles?page=205'; await words('10,203', '10,201–10,203 of 10,203', true, false);`,
		"running": `await words('10,000+', '1–50 of 10,000+', false, true);`,
		"trash":   `await words('10,203', '1–50 of 10,203', false, true);`,
	} {
		t.Run(place, func(t *testing.T) {
			use(t, place, tools+script, longList)
		})
	}
}

// TestManyNewProfilesAreShown: the event of many new profiles has no id, and the list is read again instead of one row.
func TestManyNewProfilesAreShown(t *testing.T) {
	t.Parallel()
	use(t, "profiles", `
		const { ProfileList } = await import(document.querySelector('script[src*="app.js"]').src.replace('app.js', 'list.js'));
		let asked = () => {};
		const list = new ProfileList({ get: async (path) => { asked(path); return { data: [{ id: 'p1' }], total: 1 }; } });
		await list.show({});
		const first = new Promise((done) => { asked = done; });
		list.onEvent({ type: 'profile.batch_created', data: { count: 100 } });
		list.onEvent({ type: 'profile.updated', data: { id: 'p1' } }); // alone, it has one row read
		if (await first !== '/profiles') throw await first;`, oneOfEach)
}
