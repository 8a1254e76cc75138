package compat

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// What each product calls its operations, and how it writes answers and errors.

// object is an answer.
type object = map[string]any

// adspower is the local API of AdsPower, versions 1 and 2. Its answers are always 200.
func (s *shim) adspower() {
	s.fail = func(w http.ResponseWriter, message string) {
		write(w, http.StatusOK, object{"code": -1, "msg": message, "data": object{}})
	}
	success := func(data any, err error) (any, error) {
		return object{"code": 0, "msg": "success", "data": data}, err
	}
	nothing := func(*http.Request, object) (any, error) { return success(object{}, nil) }
	s.handle("GET /status", nothing)
	s.handle("GET /api/v1/status", nothing)
	// Version 1 names the profile in the query, version 2 in the body.
	idOf := func(r *http.Request, in object) string {
		for _, name := range []string{"profile_id", "user_id"} {
			if id := text(in, name); id != "" {
				return id
			}
			if id := r.URL.Query().Get(name); id != "" {
				return id
			}
		}
		return ""
	}
	start := func(r *http.Request, in object) (any, error) {
		run, err := s.start(r.Context(), idOf(r, in), text(in, "headless") == "1" || r.URL.Query().Get("headless") == "1")
		address, port := run.selenium()
		return success(object{"ws": object{"puppeteer": run.WsEndpoint, "selenium": address}, "debug_port": port, "webdriver": ""}, err)
	}
	stop := func(r *http.Request, in object) (any, error) {
		return success(object{}, s.stop(r.Context(), idOf(r, in)))
	}
	active := func(r *http.Request, in object) (any, error) {
		p, err := s.get(r.Context(), idOf(r, in))
		if err != nil || p.Status != "running" {
			return success(object{"status": "Inactive"}, err)
		}
		run, err := s.start(r.Context(), p.ID, false) // a start of what runs answers with the same run
		address, port := run.selenium()
		return success(object{"status": "Active", "ws": object{"puppeteer": run.WsEndpoint, "selenium": address}, "debug_port": port}, err)
	}
	s.handle("GET /api/v1/browser/start", start)
	s.handle("GET /api/v1/browser/stop", stop)
	s.handle("GET /api/v1/browser/active", active)
	s.handle("POST /api/v2/browser-profile/start", start)
	s.handle("POST /api/v2/browser-profile/stop", stop)
	s.handle("POST /api/v2/browser-profile/active", active)
	s.adspowerProfiles(success)
}

func (s *shim) adspowerProfiles(success func(any, error) (any, error)) {
	entry := func(p profile) object {
		last := "0"
		if !p.LastStartedAt.IsZero() {
			last = strconv.FormatInt(p.LastStartedAt.Unix(), 10)
		}
		return object{"user_id": p.ID, "profile_id": p.ID, "name": p.Name, "remark": p.Notes, "group_id": "0", "group_name": "",
			"serial_number": "", "created_time": strconv.FormatInt(p.CreatedAt.Unix(), 10), "last_open_time": last}
	}
	list := func(r *http.Request, page, size int, id, group, serial string) (any, error) {
		if group != "" && group != "0" || serial != "" {
			return nil, errors.New("there are no groups and no serial numbers here: list without group_id and serial_number")
		}
		var all []profile
		var err error
		if id != "" {
			var p profile
			if p, err = s.get(r.Context(), id); err == nil {
				all = []profile{p}
			}
		} else {
			all, _, err = s.list(r.Context(), page, size)
		}
		out := make([]object, len(all))
		for i, p := range all {
			out[i] = entry(p)
		}
		return success(object{"list": out, "page": page, "page_size": size}, err)
	}
	s.handle("GET /api/v1/user/list", func(r *http.Request, _ object) (any, error) {
		q := r.URL.Query()
		return list(r, number(q.Get("page"), 1), number(q.Get("page_size"), 1), q.Get("user_id"), q.Get("group_id"), q.Get("serial_number"))
	})
	s.handle("POST /api/v2/browser-profile/list", func(r *http.Request, in object) (any, error) {
		ids := append(texts(in, "profile_id"), "")
		return list(r, number(text(in, "page"), 1), number(text(in, "limit"), 1), ids[0], text(in, "group_id"), text(in, "profile_no"))
	})
	create := func(r *http.Request, in object) (any, error) {
		if g := text(in, "group_id"); g != "" && g != "0" {
			return nil, errors.New("there are no groups here: create without group_id, or with 0")
		}
		delete(in, "group_id")
		id, err := s.create(r.Context(), in, "user_proxy_config")
		return success(object{"id": id, "profile_id": id}, err)
	}
	update := func(r *http.Request, in object) (any, error) {
		id := text(in, "profile_id") + text(in, "user_id")
		names := map[string]string{"profile_id": "", "user_id": "", "name": "name", "remark": "notes"}
		return success(object{}, s.update(r.Context(), id, in, names))
	}
	remove := func(r *http.Request, in object) (any, error) {
		return success(object{}, s.remove(r.Context(), append(texts(in, "user_ids"), texts(in, "profile_id")...)...))
	}
	for pattern, do := range map[string]func(*http.Request, object) (any, error){"create": create, "update": update, "delete": remove} {
		s.handle("POST /api/v1/user/"+pattern, do)
		s.handle("POST /api/v2/browser-profile/"+pattern, do)
	}
}

// bitbrowser is the local API of BitBrowser. Each operation is a POST.
func (s *shim) bitbrowser() {
	s.fail = func(w http.ResponseWriter, message string) {
		write(w, http.StatusOK, object{"success": false, "msg": message})
	}
	success := func(data any, err error) (any, error) { return object{"success": true, "data": data}, err }
	entry := func(p profile) object {
		return object{"id": p.ID, "name": p.Name, "remark": p.Notes, "createdTime": p.CreatedAt.Format(time.DateTime)}
	}
	s.handle("POST /health", func(*http.Request, object) (any, error) { return success(nil, nil) })
	s.handle("POST /browser/open", func(r *http.Request, in object) (any, error) {
		p, err := s.get(r.Context(), text(in, "id"))
		if err != nil {
			return nil, err
		}
		run, err := s.start(r.Context(), p.ID, false)
		address, _ := run.selenium()
		if address == "" { // where http://…/json/version is, as scripts ask for it
			if u, failed := url.Parse(run.CdpURL); failed == nil {
				address = u.Host + u.Path
			}
		}
		return success(object{"ws": run.WsEndpoint, "http": address, "coreVersion": run.Browser.Version, "name": p.Name, "remark": p.Notes,
			"pid": run.PID}, err)
	})
	s.handle("POST /browser/close", func(r *http.Request, in object) (any, error) {
		return success(nil, s.stop(r.Context(), text(in, "id")))
	})
	s.handle("POST /browser/detail", func(r *http.Request, in object) (any, error) {
		p, err := s.get(r.Context(), text(in, "id"))
		return success(entry(p), err)
	})
	s.handle("POST /browser/list", func(r *http.Request, in object) (any, error) {
		page, size := number(text(in, "page"), 0), number(text(in, "pageSize"), 10)
		all, total, err := s.list(r.Context(), page+1, size)
		out := make([]object, len(all))
		for i, p := range all {
			out[i] = entry(p)
		}
		return success(object{"page": page, "pageSize": size, "totalNum": total, "list": out}, err)
	})
	s.bitbrowserWrites(success)
}

func (s *shim) bitbrowserWrites(success func(any, error) (any, error)) {
	names := map[string]string{"id": "", "ids": "", "name": "name", "remark": "notes"}
	s.handle("POST /browser/update", func(r *http.Request, in object) (any, error) {
		id := text(in, "id")
		if id != "" {
			return success(object{"id": id}, s.update(r.Context(), id, in, names))
		}
		id, err := s.create(r.Context(), in, "browserFingerPrint")
		return success(object{"id": id}, err)
	})
	s.handle("POST /browser/update/partial", func(r *http.Request, in object) (any, error) {
		for _, id := range texts(in, "ids") {
			if err := s.update(r.Context(), id, in, names); err != nil {
				return nil, err
			}
		}
		return success(nil, nil)
	})
	s.handle("POST /browser/delete", func(r *http.Request, in object) (any, error) {
		return success(nil, s.remove(r.Context(), text(in, "id")))
	})
	s.handle("POST /browser/delete/ids", func(r *http.Request, in object) (any, error) {
		return success(nil, s.remove(r.Context(), texts(in, "ids")...))
	})
}

// gologin is GoLogin's local API, with the operations of its cloud on profiles.
func (s *shim) gologin() {
	s.fail = func(w http.ResponseWriter, message string) {
		write(w, http.StatusBadRequest, object{"statusCode": http.StatusBadRequest, "status": "error", "message": message})
	}
	entry := func(p profile) object {
		return object{"id": p.ID, "name": p.Name, "notes": p.Notes, "os": p.OS, "createdAt": p.CreatedAt}
	}
	s.handle("POST /browser/start-profile", func(r *http.Request, in object) (any, error) {
		run, err := s.start(r.Context(), text(in, "profileId"), false)
		return object{"status": "success", "wsUrl": run.WsEndpoint}, err
	})
	s.handle("POST /browser/stop-profile", func(r *http.Request, in object) (any, error) {
		return nil, s.stop(r.Context(), text(in, "profileId"))
	})
	s.handle("GET /browser/v2", func(r *http.Request, _ object) (any, error) {
		all, total, err := s.list(r.Context(), number(r.URL.Query().Get("page"), 1), 30)
		out := make([]object, len(all))
		for i, p := range all {
			out[i] = entry(p)
		}
		return object{"profiles": out, "allProfilesCount": total}, err
	})
	s.handle("GET /browser/{id}", func(r *http.Request, _ object) (any, error) {
		p, err := s.get(r.Context(), r.PathValue("id"))
		return entry(p), err
	})
	s.handle("POST /browser", func(r *http.Request, in object) (any, error) {
		id, err := s.create(r.Context(), in, "navigator")
		return object{"id": id, "name": text(in, "name")}, err
	})
	s.handle("PATCH /browser/{id}", func(r *http.Request, in object) (any, error) {
		return nil, s.update(r.Context(), r.PathValue("id"), in, map[string]string{"name": "name", "notes": "notes"})
	})
	s.handle("DELETE /browser/{id}", func(r *http.Request, _ object) (any, error) { return nil, s.remove(r.Context(), r.PathValue("id")) })
}

// dolphin is the local API of Dolphin Anty, with the operations of its cloud on profiles.
func (s *shim) dolphin() {
	s.fail = func(w http.ResponseWriter, message string) {
		write(w, http.StatusBadRequest, object{"success": false, "error": message})
	}
	entry := func(p profile) object {
		return object{"id": p.ID, "name": p.Name, "tags": p.Tags, "notes": object{"content": p.Notes}, "created_at": p.CreatedAt}
	}
	s.handle("POST /v1.0/auth/login-with-token", func(*http.Request, object) (any, error) { return object{"success": true}, nil })
	s.handle("GET /v1.0/browser_profiles/{id}/start", func(r *http.Request, _ object) (any, error) {
		run, err := s.start(r.Context(), r.PathValue("id"), r.URL.Query().Get("headless") == "1")
		if err != nil || r.URL.Query().Get("automation") != "1" {
			return object{"success": true}, err
		}
		u, err := url.Parse(run.WsEndpoint) // scripts connect to ws://127.0.0.1:port and the path
		if err != nil || u.Scheme != "ws" || u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost" {
			return nil, errors.New("scripts for this product reach browsers on 127.0.0.1 alone, and this server is elsewhere or has TLS")
		}
		port, err := strconv.Atoi(u.Port())
		return object{"success": true, "automation": object{"port": port, "wsEndpoint": u.Path}}, err
	})
	s.handle("GET /v1.0/browser_profiles/{id}/stop", func(r *http.Request, _ object) (any, error) {
		return object{"success": true}, s.stop(r.Context(), r.PathValue("id"))
	})
	s.handle("POST /v1.0/cookies/import", func(r *http.Request, in object) (any, error) {
		id := text(in, "profileId")
		if id == "" {
			return nil, errors.New("profileId is missing")
		}
		return object{"success": true}, s.call(r.Context(), http.MethodPut, path(id)+"/cookies", in["cookies"], nil)
	})
	s.handle("GET /browser_profiles", func(r *http.Request, _ object) (any, error) {
		page := number(r.URL.Query().Get("page"), 1)
		all, total, err := s.list(r.Context(), page, number(r.URL.Query().Get("limit"), 50))
		out := make([]object, len(all))
		for i, p := range all {
			out[i] = entry(p)
		}
		return object{"data": out, "total": total, "current_page": page}, err
	})
	s.handle("GET /browser_profiles/{id}", func(r *http.Request, _ object) (any, error) {
		p, err := s.get(r.Context(), r.PathValue("id"))
		return object{"success": 1, "data": entry(p)}, err
	})
	s.handle("POST /browser_profiles", func(r *http.Request, in object) (any, error) {
		id, err := s.create(r.Context(), in, "useragent")
		return object{"success": 1, "browserProfileId": id}, err
	})
	s.handle("PATCH /browser_profiles/{id}", func(r *http.Request, in object) (any, error) {
		names := map[string]string{"name": "name", "tags": "tags", "notes": "notes"}
		return object{"success": 1}, s.update(r.Context(), r.PathValue("id"), in, names)
	})
	s.handle("DELETE /browser_profiles/{id}", func(r *http.Request, _ object) (any, error) {
		return object{"success": 1}, s.remove(r.Context(), r.PathValue("id"))
	})
}
