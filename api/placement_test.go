package api

import (
	"fmt"
	"strings"
	"testing"

	"warren/nodes"
)

// TestPlacement: a profile keeps on which servers it may be placed, and so do templates, defaults, clones and archives.
func TestPlacement(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	want := map[string]any{"labels": map[string]any{"zone": "berlin", "ssd": ""}}
	const sent = `"placement":{"labels":{"ssd":"","zone":"berlin"}}`
	p := a.do(t, "POST", "/profiles", `{"name":"a",`+sent+`}`).want(t, 201)
	p.equal(t, "placement", want)
	path := "/profiles/" + p.text("id")
	a.do(t, "PUT", path, `{"notes":"n"}`).want(t, 200).equal(t, "placement", want)
	a.do(t, "POST", path+"/clone", `{"name":"b"}`).want(t, 201).equal(t, "placement", want)
	file := a.exported(t, path+"/export?unsealed=true").want(t, 200).body
	imported := a.imported(t, "", file).want(t, 201).text("profiles.0.id")
	a.do(t, "GET", "/profiles/"+imported, nil).want(t, 200).equal(t, "placement", want)
	a.do(t, "PUT", path, `{"placement":null}`).want(t, 200).equal(t, "placement", nil)

	template := a.do(t, "POST", "/templates", `{"name":"t",`+sent+`}`).want(t, 201).text("id")
	a.do(t, "POST", "/profiles", `{"name":"c","templateId":"`+template+`"}`).want(t, 201).equal(t, "placement", want)
	a.do(t, "PATCH", "/workspaces/default", `{"defaults":{`+sent+`}}`).want(t, 200)
	a.do(t, "POST", "/profiles", `{"name":"d"}`).want(t, 201).equal(t, "placement", want)
	a.do(t, "POST", "/profiles", `{"name":"e","placement":null}`).want(t, 201).equal(t, "placement", nil)
}

// TestPlacementFaults: labels that no server can have are explained.
func TestPlacementFaults(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	labels := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"k%d":"v"`, i))
		}
		return `{"labels":{` + strings.Join(all, ",") + `}}`
	}
	a.do(t, "POST", "/profiles", `{"name":"a","placement":`+labels(nodes.MaxLabels)+`}`).want(t, 201)
	for placement, location := range map[string]string{`"zone=berlin"`: "", `{}`: ".labels", `{"labels":"zone"}`: ".labels",
		`{"labels":{"a b":"c"}}`: ".labels", `{"labels":{"a":"` + strings.Repeat("b", 64) + `"}}`: ".labels",
		`{"labels":{},"id":1}`: ".id", labels(nodes.MaxLabels + 1): ".labels"} {
		a.do(t, "POST", "/profiles", `{"name":"a","placement":`+placement+`}`).invalid(t, "body.placement"+location)
	}
}
