package comeover

import (
	"slices"
	"strings"
	"time"
)

// What each product calls the parts of a profile. The shapes are those of the products' published APIs.

// kindsOf makes a table of kinds: names of members, by kind.
func kindsOf(byKind map[string]string) map[string]string {
	out := map[string]string{}
	for kind, names := range byKind {
		for name := range strings.FieldsSeq(names) {
			out[name] = kind
		}
	}
	return out
}

// cookieMember takes the member cookie or cookies: a list, or a text with one.
func (p *Profile) cookieMember(o object, now time.Time) {
	for _, name := range []string{"cookies", "cookie"} {
		v := o[name]
		if len(v) == 0 {
			continue
		}
		if v.Kind() == '"' {
			v = []byte(o.text(name))
		}
		p.setCookies(v, now)
		return
	}
}

// adsMembers are the members of user/list and browser-profile/list.
var adsMembers = kindsOf(map[string]string{
	ofBookkeeping: "user_id profile_id serial_number profile_no acc_id id group_id group_name name remark cookie cookies " +
		"user_proxy_config proxyid proxy_id fingerprint_config created_time last_open_time ip ip_country open_urls " +
		"tabs tags profile_tag",
	ofAccount: "username password fakey login_user",
	ofSettings: "domain_name platform sys_app_cate_id ipchecker category_id fbcc_proxy_acc_id repeat_config " +
		"ignore_cookie_error",
})

func readAdsObject(p *Profile, o object, now time.Time) {
	p.ID, p.Name, p.Notes = o.first("profile_id", "user_id", "acc_id", "id"), o.text("name"), o.text("remark")
	p.addTags(o.text("group_name"))
	p.addTags(o.list("tags", "name")...)
	p.addStartURLs(append(o.list("open_urls"), o.list("tabs")...)...)
	px := o.object("user_proxy_config")
	if soft := px.text("proxy_soft"); soft != "" && soft != "other" && soft != "no_proxy" {
		p.missProxy("It is of a service that AdsPower asks itself.")
	} else if soft != "no_proxy" {
		p.setProxy(px.text("proxy_type"), px.text("proxy_host"), px.text("proxy_port"), px.text("proxy_user"), px.text("proxy_password"))
	}
	f := o.object("fingerprint_config")
	p.setUserAgent(f.text("ua"))
	p.setScreen(f.text("screen_resolution"))
	p.setLanguages(strings.Join(f.list("language"), ","))
	if f.text("automatic_timezone") == "0" {
		p.Timezone = f.text("timezone")
	}
	if len(f) > 0 {
		p.leave(ofFingerprint, whyLeftOut[ofFingerprint])
	}
	p.cookieMember(o, now)
}

// bitMembers are the members of browser/list and browser/detail.
var bitMembers = kindsOf(map[string]string{
	ofBookkeeping: "id seq code name remark cookie proxyMethod proxyType host port proxyUserName proxyPassword browserFingerPrint " +
		"url createdTime updateTime createdBy createdName groupId groupIDs lastIp lastCountry operUserName operTime " +
		"status isDelete mainUserId userId belongUserName updateBy isRandomFinger sort tagNames tags",
	ofAccount: "userName password isSynOpen faSecretKey",
	ofSettings: "platform platformIcon abortImage abortMedia muteAudio stopWhileNetError dynamicIpUrl dynamicIpChannel " +
		"isDynamicIpChangeIp isGlobalProxyInfo isIpv6 ipCheckService refreshProxyUrl workbench allowedSignin syncTabs " +
		"syncCookies syncIndexedDb syncLocalStorage syncBookmarks syncAuthorization credentialsEnableService " +
		"syncHistory syncExtensions isValidUsername disableGpu enableBackgroundMode clearCacheFilesBeforeLaunch " +
		"isIpNoChange proxyCheckService",
})

func readBit(p *Profile, o object, now time.Time) {
	p.ID, p.Name, p.Notes = o.first("id", "seq"), o.text("name"), o.text("remark")
	p.addTags(o.list("tagNames", "name")...)
	p.addTags(o.list("tags", "name")...)
	p.addStartURLs(strings.Split(o.text("url"), ",")...)
	switch {
	case !slices.Contains([]string{"", "0", "2"}, o.text("proxyMethod")), o.text("dynamicIpUrl") != "":
		p.missProxy("Its address is asked for at each start.")
	case o.text("proxyType") == "noproxy":
	default:
		p.setProxy(o.text("proxyType"), o.text("host"), strings.TrimSpace(o.text("port")), o.text("proxyUserName"),
			o.text("proxyPassword"))
	}
	f := o.object("browserFingerPrint")
	if kind := f.text("ostype"); kind != "" && kind != "PC" {
		p.leave("mobile", mobile)
	} else {
		p.setOS(f.text("os"))
	}
	p.setUserAgent(f.text("userAgent"))
	if v := f.text("coreVersion"); v != "" {
		p.Version = v
		p.leave(ofUserAgent, whyLeftOut[ofUserAgent])
	}
	p.setScreen(f.text("resolution"))
	p.setLanguages(strings.Join(f.list("languages"), ","))
	if !f.truth("isIpCreateTimeZone") {
		p.Timezone = f.text("timeZone")
	}
	if len(f) > 0 {
		p.leave(ofFingerprint, whyLeftOut[ofFingerprint])
	}
	p.cookieMember(o, now)
}

// goMembers are the members of GoLogin's profiles.
var goMembers = kindsOf(map[string]string{
	ofBookkeeping: "_id id name notes os osSpec proxy proxyEnabled navigator timezone startUrl cookies tags folders owner role " +
		"roles date createdAt updatedAt lastActivity permissions sharedEmails shareId debugMode parent checkCookies " +
		"isRunDisabled canBeRunning runDisabledReason isPinned order facebookAccountData facebookToken " +
		"isBookmarksSynced isM1 autoLang",
	ofFingerprint: "canvas webGL webGLMetadata webglParams clientRects audioContext mediaDevices fonts plugins devicePixelRatio " +
		"webGpu isMasked",
	ofWebRTC:     "webRTC",
	ofPosition:   "geolocation geoProxyInfo",
	ofExtensions: "chromeExtensions userChromeExtensions extensions updateExtensions bookmarks",
	ofSettings: "browserType googleServicesEnabled lockEnabled storage dns s3Path s3Date googleClientId profile doNotTrack " +
		"minimized templateId autoProxyServer autoProxyUsername autoProxyPassword autoProxyRegion",
})

func readGoLogin(p *Profile, o object, now time.Time) {
	p.ID, p.Name, p.Notes = o.first("id", "_id"), o.text("name"), o.text("notes")
	p.addTags(o.list("tags", "title", "name")...)
	p.addStartURLs(o.list("startUrl")...)
	p.setOS(o.text("os"))
	px := o.object("proxy")
	if mode := px.text("mode"); string(o["proxyEnabled"]) != "false" && slices.Contains([]string{"gologin", "tor", "geolocation"}, mode) {
		p.missProxy("It is GoLogin's own.")
	} else if string(o["proxyEnabled"]) != "false" {
		p.setProxy(mode, px.text("host"), px.text("port"), px.text("username"), px.text("password"))
	}
	nav := o.object("navigator")
	p.setUserAgent(nav.text("userAgent"))
	p.setScreen(nav.text("resolution"))
	p.setLanguages(nav.text("language"))
	if zone := o.object("timezone"); len(zone) > 0 && string(zone["fillBasedOnIp"]) == "false" {
		p.Timezone = zone.text("timezone")
	}
	p.cookieMember(o, now)
}

// dolphinMembers are the members of browser_profiles.
var dolphinMembers = kindsOf(map[string]string{
	ofBookkeeping: "id name tags platform useragent screen timezone locale proxy proxyId notes cookies userId teamId status " +
		"statusId created_at updated_at createdAt updatedAt deleted_at pinned access running recoveryTime login " +
		"datadirHash newHomepages homepages storagePath lastRunningTime lastRunnerUuid lastStartTime bookmarks_count " +
		"totalSessionDuration archived transfer",
	ofFingerprint: "canvas webgl webglInfo webgpu audio fonts cpu memory mediaDevices macAddress deviceName clientRect " +
		"cpuArchitecture platformName platformVersion osVersion vendor vendorSub product productSub connectionDownlink " +
		"connectionEffectiveType connectionRtt connectionSaveData appCodeName ports doNotTrack",
	ofWebRTC:     "webrtc",
	ofPosition:   "geolocation",
	ofExtensions: "extensions bookmarks",
	ofAccount:    "password username",
	ofSettings:   "browserType mainWebsite args tabs isHiddenProfileName uploadCookiesToServer crx",
})

func readDolphin(p *Profile, o object, now time.Time) {
	p.ID, p.Name = o.text("id"), o.text("name")
	p.Notes = o.text("notes")
	if p.Notes == "" {
		p.Notes = o.object("notes").text("content")
	}
	p.addTags(o.list("tags", "name")...)
	p.addStartURLs(o.list("homepages", "url")...)
	p.addStartURLs(o.list("newHomepages", "url")...)
	p.setOS(o.text("platform"))
	px := o.object("proxy")
	p.setProxy(px.text("type"), px.text("host"), px.text("port"), px.text("login"), px.text("password"))
	if len(px) == 0 && !isEmpty(o["proxyId"]) {
		p.missProxy("The file has its id alone.")
	}
	p.setUserAgent(o.object("useragent").text("value"))
	p.setScreen(o.object("screen").text("resolution"))
	if zone := o.object("timezone"); zone.text("mode") == "manual" {
		p.Timezone = zone.text("value")
	}
	if locale := o.object("locale"); locale.text("mode") == "manual" {
		p.setLanguages(locale.text("value"))
	}
	p.cookieMember(o, now)
}

// multiMembers are the members of Multilogin X's profiles.
var multiMembers = kindsOf(map[string]string{
	ofBookkeeping: "id profile_id name folder_id workspace_id browser_type os_type core_version auto_update_core parameters proxy " +
		"notes tags cookies created_at updated_at created_by last_launched_at last_launched_by last_launched_on status " +
		"is_local in_use_by removed_at times quick_profile core_minor_version lock",
	ofExtensions: "extensions",
})

func readMultilogin(p *Profile, o object, now time.Time) {
	p.ID, p.Name, p.Notes, p.Version = o.first("id", "profile_id"), o.text("name"), o.text("notes"), o.text("core_version")
	p.addTags(o.list("tags", "name")...)
	p.setOS(o.text("os_type"))
	if kind := o.text("browser_type"); kind != "" && kind != "mimic" {
		p.leave("browser", "It ran another browser than Chrome: its profile goes on in Chrome.")
	}
	set := o.object("parameters")
	p.addStartURLs(set.list("custom_start_urls")...)
	px := set.object("proxy")
	if len(px) == 0 {
		px = o.object("proxy")
	}
	p.setProxy(px.text("type"), px.text("host"), px.text("port"), px.text("username"), px.text("password"))
	f := set.object("fingerprint")
	p.setUserAgent(f.object("navigator").text("user_agent"))
	p.Timezone = f.object("timezone").text("zone")
	p.setLanguages(f.object("localization").text("languages"))
	if s := f.object("screen"); len(s) > 0 {
		p.setScreen(s.text("width") + "x" + s.text("height"))
	}
	if len(set) > 0 {
		p.leave(ofFingerprint, whyLeftOut[ofFingerprint])
	}
	p.cookieMember(o, now)
}
