import{ToastArea,Toasts}from"./part-GXAD724R.js";import{Api,BulkBar,Chips,Choice,Drawer,Facts,Field,Form,FreeFilter,Grid,GridProblem,Lines,Problem,ProxyCache,
Refresher,Section,TagField,Text,Tick,ViewMenu,dropKey,exchange,linesOf,looksLikeKey,number as number2,readKey,recall,remember,revoke,saveKey,takeFromAddress,useColumns,
useForm,useList,useObject,useProxy,useSort,watchKey}from"./part-ZUY4Y7R3.js";import{A,Ago,AppContext,Burrows,ConfirmDialog,Copy,Country,Dialog,Empty,F,Icon,
Logo,Menu,Name,Notice,O,P,PROFILE_STATUS,PROXY_STATUS,PROXY_TYPES,ProblemBox,ProblemDialog,Prose,Q,Router,SYSTEMS,Status,Store,T,Tags,Waiting,address,ago,bytes,
checkSentence,count,countryName,d,endWords,faultWords,href,html,lasting,moment,number,problemTitle,problemWords,proxyName,sentence,since,span,stageWords,useApp,
useNow,useStore,w}from"./part-B7Y6SKBI.js";var COMMAND="warren browser install",Browsers=class{list=new Store(null);#api;constructor(api){this.#api=api}begin(events){let look=()=>this.missing()&&this.read();
addEventListener("focus",look),document.addEventListener("visibilitychange",look);let unwatch=events.watch(({type})=>(type==="everything"||/^browsers?\./.test(type))&&
this.read());return this.read(),()=>{removeEventListener("focus",look),document.removeEventListener("visibilitychange",look),unwatch()}}async read(){let answer=await this.#api.
get("/browsers").catch(()=>null);answer&&this.list.set(answer.data)}missing(){return this.list.value?.length===0}},NO_BROWSER='No browser is installed on the se\
rver. Run "warren browser install" there first.';function useNoStart(){let{browsers,offline}=useApp(),list=useStore(browsers.list);return useStore(offline)?"War\
ren does not answer.":list?.length===0?NO_BROWSER:""}function NoBrowser(){let{browsers}=useApp(),list=useStore(browsers.list);return html`<div role="status" class="no-browser">${list?.
length===0&&html`<div class="notice"><${Icon} name="warning" /><div class="no-browser-words">
    <p><strong>No browser is installed on the server.</strong> Profiles cannot start. Run this command there, or install Chrome or Chromium yourself.</p>
    <p class="no-browser-do"><code>${COMMAND}</code><${Copy} text=${COMMAND} label="Copy the command" /><button type="button" class="button small" onClick=${()=>browsers.
read()}><${Icon} name="reload" />Check again</button></p></div></div>`}</div>`}var TIMINGS=[["resolveMs","DNS"],["connectMs","Connect"],["tlsMs","TLS"],["handshakeMs","Handshake"],["firstByteMs","First byte"]];function CheckDialog({proxy,result,
close}){let now=useNow();return html`<${Dialog} title=${html`<${Name}>${proxyName(proxy)}<//>`}
    lead=${html`Checked <time datetime=${result.checkedAt} title=${moment(result.checkedAt)}>${ago(result.checkedAt,now)}</time>`} close=${close}>
    <div class="dialog-content"><${CheckResult} result=${result} /></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>
  <//>`}function CheckResult({result}){let fault=result.ok?null:faultWords(result.error)||{happened:"The check failed.",advice:""};return html`<div class="check-result">
    <p class="check-head"><${Status} of=${PROXY_STATUS[result.ok?"alive":"dead"]} />
      ${result.ok&&html`<span class="check-ip"><${Country} code=${result.country} name=${result.countryName} /> ${result.exitIp}</span>`}</p>
    ${fault&&html`<p><strong>${fault.happened}</strong> ${fault.advice}</p>
      <p class="hint">Failed ${stageWords(result.error?.stage)||"during the check"}${result.error?.message?`: ${result.error.message}`:"."}</p>`}
    ${result.exitChanged&&html`<${Notice}>The exit IP changed since the last check.<//>`}
    ${result.ok&&html`<${Details} result=${result} />`}
    <${Timings} timings=${result.timings} />
  </div>`}function Details({result}){let facts=[["Country",result.countryName||result.country],["Timezone",result.timezone],["Latency",result.latencyMs!=null&&span(
result.latencyMs)],["DNS",result.remoteDns==null?"":result.remoteDns?"By the proxy":"On this computer"],["Plain HTTP sites",result.plainHttp==null?"":result.plainHttp?
"Reachable":"Not reachable"],["IP version",result.ipVersion&&`IPv${result.ipVersion}`],["Location source",{__proto__:null,answer:"Check service",geoip:"GeoIP fi\
le"}[result.geoSource]]];return html`<dl class="facts-list">
    ${facts.filter(([,value])=>value).map(([name,value])=>html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`}function Timings({timings}){let steps=TIMINGS.map(([member,name])=>({name,ms:timings?.[member]})).filter(step=>step.ms>0);if(!steps.length)return null;
let longest=Math.max(...steps.map(step=>step.ms));return html`<table class="timings"><caption class="visually-hidden">Time of each step</caption>
    <tbody>${steps.map(({name,ms})=>html`<tr key=${name}>
      <th scope="row">${name}</th>
      <td><span class="bar" style=${{width:`${Math.max(2,Math.round(ms/longest*100))}%`}}></span></td>
      <td class="number">${span(ms)}</td>
    </tr>`)}</tbody>
  </table>`}var RECIPES=[{name:"Playwright",lines:run=>["import { chromium } from 'playwright-core';","",`const browser = await chromium.connectOverCDP(${JSON.stringify(run.
wsEndpoint)});`,"const [context] = browser.contexts();","const page = context.pages()[0] ?? await context.newPage();"]},{name:"Python",lines:run=>["from playwri\
ght.sync_api import sync_playwright","","with sync_playwright() as p:",`    browser = p.chromium.connect_over_cdp(${JSON.stringify(run.wsEndpoint)})`,"    conte\
xt = browser.contexts[0]","    page = context.pages[0] if context.pages else context.new_page()"]},{name:"Puppeteer",lines:run=>["import puppeteer from 'puppete\
er-core';","","const browser = await puppeteer.connect({",`  browserWSEndpoint: ${JSON.stringify(run.wsEndpoint)},`,"  defaultViewport: null,","});","const [pag\
e] = await browser.pages();"]},{name:"Selenium",port:!0,lines:run=>["import { Builder } from 'selenium-webdriver';","import { Options } from 'selenium-webdriver\
/chrome.js';","",`const options = new Options().debuggerAddress(${JSON.stringify(run.debuggerAddress)});`,"const driver = await new Builder().forBrowser('chrome\
').setChromeOptions(options).build();"]},{name:"curl",lines:run=>[`curl -s ${shellQuoted(`${run.cdpUrl.replace(/\/$/,"")}/json/version`)}`,`curl -s ${shellQuoted(
`${run.cdpUrl.replace(/\/$/,"")}/json/list`)}`]}];function shellQuoted(text2){return`'${text2.replaceAll("'","'\\''")}'`}function ConnectDialog({profile,run,close}){
return html`<${Dialog} title=${html`<${Name}>${profile.name}<//> is running`} lead=${html`<${Facts2} run=${run} />`} about=${profile.id} close=${close}>
    <div class="dialog-content">
      <${Warnings} warnings=${run.warnings||[]} />
      <${Address} label="CDP over WebSocket" text=${run.wsEndpoint} />
      <${Address} label="CDP over HTTP" text=${run.cdpUrl} />
      <${Address} label="Live view" text=${run.liveUrl} />
      ${run.debuggerAddress&&html`<${Address} label="Debugger address" text=${run.debuggerAddress} />`}
      ${run.wsEndpoint&&html`<${Recipes} run=${run} />`}
      <p class="hint">Anyone with these URLs can control this browser. They expire when it stops.</p>
    </div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>
  <//>`}function Warnings({warnings}){return warnings.length?html`<${Notice}>${warnings.length===1?html`<${Prose} text=${sentence(warnings[0].message)} />`:html`<ul>${warnings.
map(({code,message})=>html`<li key=${code}><${Prose} text=${sentence(message)} /></li>`)}</ul>`}<//>`:null}function Facts2({run}){let{browser,proxy}=run;return html`<span class="facts">
    ${browser&&html`<span>${browser.product} ${browser.version}${run.headless?", headless":""}</span>`}
    ${proxy?html`<span><${Country} code=${proxy.country} /> ${proxy.exitIp||"Exit IP not known yet"}${proxy.latencyMs!=null?` · ${span(proxy.latencyMs)}`:""}</span>`:
html`<span>No proxy (direct connection)</span>`}
    ${run.pid&&html`<span>Process ${run.pid}</span>`}
  </span>`}function Address({label,text:text2}){return text2?html`<div class="copy-line">
    <span class="copy-label">${label}</span>
    <code tabindex="0">${text2}</code>
    <${Copy} text=${text2} label=${`Copy ${label}`} />
  </div>`:null}function Recipes({run,noPort}){let[chosen2,choose]=d(0),recipes=RECIPES.filter(({port:port2})=>noPort||!port2||run.debuggerAddress),{name:shown,port,
lines}=recipes[chosen2],text2=lines(run).join(`
`);return html`<fieldset class="recipes">
    <legend class="visually-hidden">Connect with</legend>
    <div class="segments">
      ${recipes.map(({name},i)=>html`<label key=${name} class="segment">
        <input type="radio" name="recipe" checked=${i===chosen2} onChange=${()=>choose(i)} /><span>${name}</span>
      </label>`)}
    </div>
    ${port&&!run.debuggerAddress?noPort:html`<div class="code">
      <pre tabindex="0" aria-label=${shown}>${text2}</pre>
      <${Copy} text=${text2} label="Copy these lines" />
    </div>`}
  </fieldset>`}var RENEW_MS=15e3,MAX_MISSED=3,Previews=class{#api;#watched=new Set;#failed=new Set;#timer=0;#working=!1;constructor(api){this.#api=api}watch(profileId,runId,draw){
let one2={profileId,runId,draw,due:0,missed:0};return this.#watched.add(one2),this.#plan(),()=>this.#watched.delete(one2)}begin(){let visible=()=>this.#plan();return document.
addEventListener("visibilitychange",visible),()=>{document.removeEventListener("visibilitychange",visible),this.#watched.clear(),clearTimeout(this.#timer)}}#plan(){
if(clearTimeout(this.#timer),this.#working||document.hidden)return;let[next]=[...this.#watched].filter(({runId})=>!this.#failed.has(runId)).sort((a,b)=>a.due-b.
due);next&&(this.#timer=setTimeout(()=>this.#fetch(next),Math.max(0,next.due-performance.now())))}async#fetch(one2){this.#working=!0;try{let response=await this.#api.
open("GET",`api/v1/profiles/${encodeURIComponent(one2.profileId)}/screenshot?size=small`),bitmap=await createImageBitmap(await response.blob());this.#watched.has(
one2)&&one2.draw(bitmap),bitmap.close(),one2.missed=0}catch(problem){one2.missed++,(![503,504].includes(problem.status)||one2.missed>=MAX_MISSED)&&this.#failed.
add(one2.runId)}one2.due=performance.now()+RENEW_MS,this.#working=!1,this.#plan()}};function Preview({profile,large}){let{previews}=useApp(),canvas=T(null),[drawn,
setDrawn]=d(!1),{id,run}=profile;return A(()=>{let end=null;setDrawn(!1);let draw=bitmap=>{canvas.current.width=bitmap.width,canvas.current.height=bitmap.height,
canvas.current.getContext("2d").drawImage(bitmap,0,0),setDrawn(!0)},observer=new IntersectionObserver(entries=>{let seen=entries.at(-1).isIntersecting;seen||end?.(),
end=seen?end||previews.watch(id,run.runId,draw):null});return observer.observe(canvas.current.parentElement),()=>{observer.disconnect(),end?.()}},[id,run?.runId]),
html`<a class=${drawn?"preview":"preview is-empty"} href=${viewOf(id)} tabindex="-1" aria-hidden="true" title="View"><canvas ref=${canvas}></canvas></a>`}function viewOf(id){
return href("live",new URLSearchParams({profile:id}))}function useVersion({form,data,etag,read:read2,toValues:toValues3,fields}){let[base,setBase]=d({data,etag}),[conflict,setConflict]=d(null),first=JSON.stringify(
toValues3(base.data)),compare=newer=>{let[before,theirs,yours]=[toValues3(base.data),toValues3(newer.data),form.values],list=fields.filter(({names})=>differ(names,
before,theirs)&&differ(names,theirs,yours)),took=fields.filter(({names})=>differ(names,before,theirs)&&!differ(names,before,yours));return list.length?(setConflict(
{newer,before,theirs,yours,fields:list,choice:Object.fromEntries(list.map(({label})=>[label,took.some(one2=>one2.label===label)?"theirs":""]))}),!0):(setBase(newer),
!1)};return{...base,first,conflict,compare,rebase:setBase,changed:JSON.stringify(form.values)!==first,choose:(label,which)=>setConflict(now=>({...now,choice:{...now.
choice,[label]:which}})),settle(){let values={...form.values};for(let{label,names}of conflict.fields)conflict.choice[label]==="theirs"&&names.forEach(name=>{values[name]=
conflict.theirs[name]});form.setProblem(null),form.setAll(values),setBase(conflict.newer),setConflict(null)},async save(work){let at=base;for(let tries=0;;tries++)
try{let saved=await work(at.etag?{"If-Match":at.etag}:{},at.data);return setBase(saved),saved}catch(problem){if(problem.code!=="etag_mismatch"||tries>2)throw problem;
if(at=await read2(),compare(at))return null}}}}function differ(names,one2,other){return names.some(name=>JSON.stringify(one2[name])!==JSON.stringify(other[name]))}
function Conflict({version}){let{conflict,choose,settle}=version,shown=T(null);if(!conflict)return null;let{fields,before,theirs,yours,choice}=conflict,open=fields.
filter(({label})=>!choice[label]).length,all=which=>fields.forEach(({label})=>choose(label,which));return html`<section class="conflict" role="alert" aria-label="Changed meanwhile" tabindex="-1" ref=${box=>{
box&&shown.current!==conflict.newer&&(shown.current=conflict.newer,box.focus())}}>
    <p class="problem-title"><${Icon} name="warning" />Somebody else changed this meanwhile</p>
    <p>Nothing of yours is saved yet. Choose what to keep.</p>
    ${fields.map(({label,names,words})=>html`<fieldset class="conflict-field" key=${label}><legend>${label}</legend>
      <p class="hint">It was: <${Words} of=${words(before)} /></p>
      <label class="conflict-choice"><input type="radio" name=${`conflict-${label}`} checked=${choice[label]==="theirs"} onChange=${()=>choose(label,"theirs")} /><span class="conflict-who">Theirs</span><span><${Words} of=${words(
theirs)} /></span></label>
      <label class="conflict-choice"><input type="radio" name=${`conflict-${label}`} checked=${choice[label]==="yours"} onChange=${()=>choose(label,"yours")} /><span class="conflict-who">Yours</span><span><${Words} of=${words(
yours)} />${!differ(names,before,yours)&&html` <span class="muted">(not changed by you)</span>`}</span></label>
    </fieldset>`)}
    <div class="conflict-foot">${fields.length>1&&html`<button type="button" class="button small" onClick=${()=>all("theirs")}>All theirs</button><button type="button" class="button small" onClick=${()=>all(
"yours")}>All yours</button>`}
      <button type="button" class="button small primary" disabled=${open>0} onClick=${settle}>Take into the form</button></div>
  </section>`}function Words({of}){return typeof of=="string"?html`<bdi class="prose-lines">${of}</bdi>`:of.proxies.map((id,i)=>html`${i>0&&", "}<${ProxyWords} key=${id} id=${id} />`)}
function ProxyWords({id}){let proxy=useProxy(id);return html`<${Name}>${proxy?proxyName(proxy):proxy===null?"a deleted proxy":id}<//>`}var DELETED="gone";function proxyOf(profile){return profile.proxyId||(profile.proxyMissing?DELETED:"")}var FOUND=20,PAUSE_MS=120;function ProxyField({form,workspaceId,
hint}){return html`<${Field} wide ...${{form,name:"proxyId",label:"Proxy",hint,control:tied=>html`<${Finder} ...${{form,workspaceId,tied}} />`}} />`}function Finder({
form,workspaceId,tied,none="No proxy (direct connection)",empty=none,skip=[]}){let{api}=useApp(),chosen2=form.values.proxyId,proxy=useProxy(chosen2&&chosen2!==DELETED?
chosen2:""),listId=P(),[text2,setText]=d(null),[found,setFound]=d({data:[],total:0}),[at,setAt]=d(0),open=text2!==null;A(()=>{if(!open)return;let ending=new AbortController,
timer=setTimeout(()=>api.get("/proxies",{search:text2.trim(),workspaceId,limit:FOUND,page:1},{signal:ending.signal}).then(setFound,()=>{}),PAUSE_MS);return()=>{
clearTimeout(timer),ending.abort()}},[text2,workspaceId]);let words=chosen2===DELETED?"Its proxy was deleted. Choose another, or none.":chosen2?proxy?describe(proxy):
chosen2:empty,options=[...open&&looksLikeLine(text2)?[{key:"add",words:`Add ${hideLogin(text2)} and use it`,run:()=>add2()}]:[],...none?[{key:"none",words:none,
run:()=>choose("")}]:[],...found.data.filter(({id})=>!skip.includes(id)).map(one2=>({key:one2.id,proxy:one2,words:describe(one2),run:()=>choose(one2.id)}))],choose=id=>{
form.set("proxyId",id),setText(null)},add2=()=>form.send(async()=>{let made=await api.post("/proxies",{url:text2.trim(),...workspaceId?{workspaceId}:{}}).catch(
problem=>{if(problem.code!=="duplicate"||!problem.body?.existingId)throw asProxyFault(problem);return{id:problem.body.existingId}});choose(made.id)}),press=event=>{
let to={ArrowDown:at+1,ArrowUp:at-1}[event.key];to!==void 0?(event.preventDefault(),open||setText(""),setAt((to+options.length)%options.length)):event.key==="En\
ter"&&open?(event.preventDefault(),options[at]?.run()):event.key==="Escape"&&open&&(event.preventDefault(),event.stopPropagation(),setText(null))};return html`<div class="finder"><input type="text" ...${tied} role="combobox" aria-expanded=${open} aria-controls=${listId} aria-autocomplete="list" aria-activedescendant=${open?
`${listId}-${at}`:void 0} autocomplete="off" spellcheck=${!1}
      placeholder=${open?"Search, or paste host:port:user:password":words} value=${open?text2:words} class=${chosen2&&!open?"has-value":""}
      onFocus=${event=>event.currentTarget.select()} onClick=${()=>!open&&setText("")} onInput=${event=>{setAt(0),setText(event.currentTarget.value)}} onKeyDown=${press} onBlur=${()=>setText(
null)} />
    ${open&&html`<ul class="finder-list" role="listbox" id=${listId} aria-label="Proxies">${options.map((option,i)=>html`<li key=${option.key} id=${`${listId}-${i}`} role="option" aria-selected=${i===
at} class="finder-line"
      onMouseDown=${event=>{event.preventDefault(),option.run()}} onMouseMove=${()=>i!==at&&setAt(i)}>${option.proxy?html`<${Country} code=${option.proxy.lastCheck?.
country} /> <bdi>${describe(option.proxy)}</bdi>`:option.words}</li>`)}
      ${found.total>found.data.length&&html`<li class="finder-more" role="presentation">${number(found.total-found.data.length)} more. Type to narrow the list.</li>`}</ul>`}
  </div>`}function looksLikeLine(text2){return/^\s*(?:[a-z0-9]+:\/\/\S+|\S*[^\s:]+[:@]\S*\d{2,5}\S*)\s*$/i.test(text2)}function hideLogin(text2){let[,host]=/(?:@|^(?:[a-z0-9]+:\/\/)?)([^@:\s/]+:\d+)/i.
exec(text2.trim())||[];return host||"this proxy"}function asProxyFault(problem){return problem.errors=problem.errors.map(error=>({...error,location:"body.proxyI\
d"})),problem}function describe(proxy){let status=proxy.status==="alive"?"":` (${(PROXY_STATUS[proxy.status]||PROXY_STATUS.unknown).text.toLowerCase()})`;return`${proxyName(
proxy)}${status}`}function ProxyDialog({profile,done,close}){let app=useApp(),form=useForm({proxyId:proxyOf(profile)}),save=async values=>{let changed=await app.
api.put(`/profiles/${encodeURIComponent(profile.id)}`,{proxyId:values.proxyId||null});done?.(changed),close()},running=["running","starting"].includes(profile.status);
return html`<${Dialog} title="Choose a proxy" lead=${html`For <${Name}>${profile.name}<//>`} close=${close}>
    <${Form} form=${form} work=${save} foot=${html`
      <button type="button" class="button" onClick=${close}>Cancel</button>
      <button class="button primary" disabled=${form.busy||form.values.proxyId===DELETED}>${form.busy?"Saving…":"Save"}</button>`}>
      <${ProxyField} form=${form} workspaceId=${profile.workspaceId}
        hint=${running?"The running browser uses it for new connections at once. Choosing no proxy takes effect at the next start.":"All traffic goes through th\
is proxy. Nothing bypasses it."} />
    <//>
  <//>`}function toValues(profile,workspace=""){let p=profile||{},zone=p.timezone??"auto",locale=p.locale??"auto",place=p.geolocation??"auto",byHand=Array.isArray(locale)||
!["auto","system"].includes(locale);return{name:p.name||"",os:p.os||"",browserVersion:p.browserVersion||"",tags:p.tags||[],notes:p.notes||"",workspaceId:p.workspaceId||
workspace,proxyId:proxyOf(p),startUrls:(p.startUrls||[]).join(`
`),headless:p.headless==null?"":String(p.headless),timezone:["auto","system"].includes(zone)?zone:"own",timezoneOwn:["auto","system"].includes(zone)?"":zone,locale:byHand?
"own":locale,localeOwn:byHand?[].concat(locale).join(", "):"",geolocation:typeof place=="object"?"own":place,position:typeof place=="object"?[place.latitude,place.
longitude,place.accuracy].filter(n=>n!=null).join(", "):"",webrtc:p.webrtc||"proxy_only",consistency:p.consistency||"warn",screen:p.screen?[p.screen.width,p.screen.
height,p.screen.deviceScaleFactor].filter(n=>n!=null).join(" × "):"",idleTimeoutMs:minutes(p.idleTimeoutMs),maxRunMs:minutes(p.maxRunMs),allowLocal:(p.allowLocal||
[]).join(`
`),allowHosts:(p.allowHosts||[]).join(`
`),denyHosts:(p.denyHosts||[]).join(`
`),localhostVia:(p.localhostVia||[]).join(`
`),backgroundTraffic:p.backgroundTraffic||"refuse",fallbackProxyIds:p.fallbackProxyIds||[],fallbackCountry:p.fallbackCountry||"same",logHosts:!!p.logHosts}}function minutes(ms){
return ms==null?"":String(ms/6e4)}function milliseconds(text2){let value=number2(text2);return value===""?null:typeof value=="number"?Math.round(value*6e4):value}
function toBody(values){let[latitude,longitude,accuracy]=values.position.split(",").map(number2),[width,height,deviceScaleFactor]=values.screen.split(/[×x,;\s]+/i).
filter(Boolean).map(number2);return{name:values.name,os:values.os||null,browserVersion:values.browserVersion.trim()||null,tags:values.tags,notes:values.notes,workspaceId:values.
workspaceId.trim()||null,proxyId:values.proxyId===DELETED?void 0:values.proxyId||null,startUrls:linesOf(values.startUrls),headless:values.headless===""?null:values.
headless==="true",timezone:values.timezone==="own"?values.timezoneOwn.trim():values.timezone,locale:values.locale==="own"?values.localeOwn.split(",").map(tag=>tag.
trim()).filter(Boolean):values.locale,geolocation:values.geolocation==="own"?{latitude,longitude,...accuracy===void 0?{}:{accuracy}}:values.geolocation,webrtc:values.
webrtc,consistency:values.consistency,screen:width===void 0?null:{width,height,...deviceScaleFactor===void 0?{}:{deviceScaleFactor}},idleTimeoutMs:milliseconds(
values.idleTimeoutMs),maxRunMs:milliseconds(values.maxRunMs),allowLocal:linesOf(values.allowLocal),allowHosts:listOrNull(values.allowHosts),denyHosts:listOrNull(
values.denyHosts),localhostVia:listOrNull(values.localhostVia),backgroundTraffic:values.backgroundTraffic,fallbackProxyIds:values.fallbackProxyIds,fallbackCountry:values.
fallbackCountry,logHosts:values.logHosts}}function listOrNull(text2){let list=linesOf(text2);return list.length?list:null}function changes(before,after){return Object.
fromEntries(Object.entries(after).filter(([name,value])=>JSON.stringify(value)!==JSON.stringify(before[name])))}function withoutDefaults(body){return Object.fromEntries(
Object.entries(body).filter(([,value])=>value!==null))}function copyOf(profile){let settings=Object.keys(toBody(toValues(profile)));return{...Object.fromEntries(
settings.map(name=>[name,profile[name]]).filter(([,value])=>value!=null&&value!=="")),name:`${[...profile.name].slice(0,190).join("")} (copy)`}}var FROM_EXIT="M\
atch the proxy",HERE="Same as this computer",CHOICES={headless:[["","Automatic"],["false","Always a window"],["true","Never a window (headless)"]],timezone:[["a\
uto",FROM_EXIT],["system",HERE],["own","Custom"]],locale:[["auto",FROM_EXIT],["system",HERE],["own","Custom"]],geolocation:[["auto",FROM_EXIT],["off","Block"],[
"own","Custom"]],webrtc:[["proxy_only","Through the proxy only"],["off","Off"],["default","As Chrome does"]],consistency:[["warn","Start with a warning"],["bloc\
k","Do not start"],["off","Start without a warning"]],backgroundTraffic:[["refuse","Block Chrome’s background requests"],["allow","Send them through the proxy"]],
fallbackCountry:[["same","Only in the same country"],["any","In any country"]]};function chosen(name,own){return values=>values[name]==="own"?values[own].trim():
CHOICES[name].find(([value])=>value===values[name])?.[1]??values[name]}function text(name,empty="Empty"){return values=>values[name].trim()||empty}var FIELDS=[{
label:"Name",names:["name"],words:text("name")},{label:"Operating system",names:["os"],words:({os})=>SYSTEMS[os]||HERE},{label:"Browser version",names:["browser\
Version"],words:text("browserVersion","Same as the installed browser")},{label:"Tags",names:["tags"],words:({tags})=>tags.join(", ")||"None"},{label:"Notes",names:[
"notes"],words:text("notes")},{label:"Proxy",names:["proxyId"],words:({proxyId})=>proxyId===DELETED?"Deleted":proxyId?{proxies:[proxyId]}:"No proxy (direct conn\
ection)"},{label:"Fallback proxies",names:["fallbackProxyIds"],words:({fallbackProxyIds})=>fallbackProxyIds.length?{proxies:fallbackProxyIds}:"None"},{label:"Co\
untry of the fallbacks",names:["fallbackCountry"],words:chosen("fallbackCountry")},{label:"Start pages",names:["startUrls"],words:text("startUrls","None")},{label:"\
Window",names:["headless"],words:chosen("headless")},{label:"Timezone",names:["timezone","timezoneOwn"],words:chosen("timezone","timezoneOwn")},{label:"Language\
s",names:["locale","localeOwn"],words:chosen("locale","localeOwn")},{label:"Location",names:["geolocation","position"],words:chosen("geolocation","position")},{
label:"WebRTC",names:["webrtc"],words:chosen("webrtc")},{label:"Screen",names:["screen"],words:text("screen","Default")},{label:"If it doesn’t match the proxy",
names:["consistency"],words:chosen("consistency")},{label:"Idle time",names:["idleTimeoutMs"],words:text("idleTimeoutMs","No limit")},{label:"Maximum run time",
names:["maxRunMs"],words:text("maxRunMs","No limit")},{label:"Allowed hosts",names:["allowHosts"],words:text("allowHosts","Every host")},{label:"Blocked hosts",
names:["denyHosts"],words:text("denyHosts","None")},{label:"Local services",names:["allowLocal"],words:text("allowLocal","None")},{label:"Local ports under anot\
her name",names:["localhostVia"],words:text("localhostVia","None")},{label:"Background requests",names:["backgroundTraffic"],words:chosen("backgroundTraffic")},
{label:"Log of hosts",names:["logHosts"],words:({logHosts})=>logHosts?"Kept":"Not kept"}];var IDENTITY=["os","browserVersion","timezone","locale","geolocation","webrtc","screen","consistency"],NETWORK=["fallbackProxyIds","fallbackCountry","allowHosts",
"denyHosts","allowLocal","localhostVia","backgroundTraffic","logHosts"],LIMITS=["startUrls","headless","idleTimeoutMs","maxRunMs"],NOTES=["notes","workspaceId"];
function NameField({form,hint}){return html`<${Text} form=${form} name="name" label="Name" wide autofocus placeholder="Shop account, Berlin" hint=${hint} />`}function ProfileProxy({
form,workspaceId,hint="All traffic goes through this proxy. Nothing bypasses it."}){return html`<${ProxyField} ...${{form,workspaceId,hint}} />`}function Tags2({
form}){return html`<${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." />`}function IdentityFields({form,saved}){let systems=Object.
entries(SYSTEMS);return html`
    <${Choice} form=${form} name="os" label="Operating system (as sites see it)" options=${saved?systems:[["","Same as this computer"],...systems]} />
    <${Text} form=${form} name="browserVersion" label="Browser version" inputmode="numeric" placeholder="Same as the installed browser" hint="The major version, such as 150." />
    <${OrOwn} form=${form} name="timezone" label="Timezone" options=${CHOICES.timezone} own=${{name:"timezoneOwn",label:"Name of the timezone",placeholder:"Euro\
pe/Berlin",list:"zones"}} />
    <datalist id="zones">${zones().map(zone=>html`<option key=${zone} value=${zone} />`)}</datalist>
    <${OrOwn} form=${form} name="locale" label="Languages" options=${CHOICES.locale} own=${{name:"localeOwn",label:"Languages, best first",placeholder:"de-DE, d\
e, en"}} />
    <${OrOwn} form=${form} name="geolocation" label="Location" options=${CHOICES.geolocation}
      own=${{name:"position",label:"Latitude, longitude, meters",placeholder:"52.52, 13.405, 50",say:"Write degrees, and the accuracy in meters if you like: 52.\
52, 13.405, 50."}} />
    <${Choice} form=${form} name="webrtc" label="WebRTC" options=${CHOICES.webrtc} />
    <${Text} form=${form} name="screen" label="Screen" placeholder="1920 × 1080 × 1" hint="Width, height and pixel ratio. Leave empty for the default."
      say="Write width and height, and the pixel ratio if you like: 1920 × 1080 × 1." />
    <${Choice} form=${form} name="consistency" label="If it doesn’t match the proxy" options=${CHOICES.consistency} />`}function OrOwn({form,name,label,options,
own}){let typed=form.values[name]==="own";return html`<${Choice} form=${form} name=${name} member=${typed?"":name} label=${label} options=${options} wide=${!typed} />
    ${typed&&html`<${Text} form=${form} member=${name} ...${own} />`}`}function NetworkFields({form,workspaceId}){return html`
    <${Fallbacks} form=${form} workspaceId=${workspaceId} name="fallbackProxyIds" />
    ${form.values.fallbackProxyIds.length>0&&html`<${Choice} form=${form} name="fallbackCountry" label="Use a fallback" wide options=${CHOICES.fallbackCountry} />`}
    <${Lines} form=${form} name="allowHosts" label="Allowed hosts" optional rows=${2} placeholder="example.com" hint="One per line. A name stands for all names below it. Also: *.example.com, 192.0.2.0/24, example.com:443. Leave empty to allow every host." />
    <${Lines} form=${form} name="denyHosts" label="Blocked hosts" optional rows=${2} placeholder="ads.example.com" hint="One per line. Blocked even if they are allowed above." />
    <${Lines} form=${form} name="allowLocal" label="Local services" optional rows=${2} placeholder="localhost:3000" hint="One host:port per line. They are reached directly, not through the proxy. Everything else on this computer stays out of reach." />
    <${Lines} form=${form} name="localhostVia" label="Local ports under another name" optional rows=${2} placeholder="app.test:3000" hint="One per line: app.test:3000 is port 3000 of this computer, under that name." />
    <${Choice} form=${form} name="backgroundTraffic" label="Chrome’s background requests" wide options=${CHOICES.backgroundTraffic} />
    <${Tick} form=${form} name="logHosts" label="Keep a log of the hosts of each run" hint="Host names only, never pages. The runs list shows them." />`}function Fallbacks({
form,workspaceId,name}){let ids=form.values[name],set=list=>form.set(name,list),move=(at,by)=>{let list=[...ids];list.splice(at+by,0,...list.splice(at,1)),set(list)},
adding={...form,values:{proxyId:""},set:(_,id)=>id&&set([...ids,id])};return html`<${Field} wide ...${{form,name,control:tied=>html`<div class="ordered">${ids.length>
0&&html`<ol class="ordered-list">${ids.map((id,i)=>html`<li key=${id}><span class="ordered-number number">${i+1}</span><${ProxyWords2} id=${id} />
      <button type="button" class="icon-button" aria-label=${`Move fallback ${i+1} up`} disabled=${i===0} onClick=${()=>move(i,-1)}><${Icon} name="up" /></button>
      <button type="button" class="icon-button" aria-label=${`Move fallback ${i+1} down`} disabled=${i===ids.length-1} onClick=${()=>move(i,1)}><${Icon} name="down" /></button>
      <button type="button" class="icon-button" aria-label=${`Remove fallback ${i+1}`} onClick=${()=>set(ids.filter(other=>other!==id))}><${Icon} name="close" /></button></li>`)}</ol>`}
    <${Finder} form=${adding} ...${{workspaceId,tied}} none="" empty="Add a fallback proxy" skip=${[...ids,form.values.proxyId]} /></div>`}} label="Fallback proxies" optional hint="They take over in this order when the proxy dies while the browser runs." />`}
function ProxyWords2({id}){let proxy=useProxy(id);return proxy?html`<span class="ordered-name"><${Country} code=${proxy.lastCheck?.country} /> <${Name}>${proxyName(
proxy)}<//>${proxy.status!=="alive"&&html` <span class="muted">${(PROXY_STATUS[proxy.status]||PROXY_STATUS.unknown).text.toLowerCase()}</span>`}</span>`:html`<span class="ordered-name muted">${proxy===
null?"A deleted proxy":"…"}</span>`}function LimitFields({form}){return html`
    <${Lines} form=${form} name="startUrls" label="Start pages" optional rows=${2} placeholder="https://…" hint="One URL per line." />
    <${Choice} form=${form} name="headless" label="Window" wide options=${CHOICES.headless} />
    <${Text} form=${form} name="idleTimeoutMs" label="Close when idle (minutes)" inputmode="decimal" placeholder="Never" />
    <${Text} form=${form} name="maxRunMs" label="Maximum run time (minutes)" inputmode="decimal" placeholder="No limit" />`}function NotesFields({form,saved}){let known=useStore(
useApp().model.workspaces);return html`<${Lines} form=${form} name="notes" label="Notes" optional rows=${3} />
    ${!saved&&html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="known-workspaces" hint="A new name makes a new workspace. It cannot be changed later." />
      <datalist id="known-workspaces">${known.map(id=>html`<option key=${id} value=${id} />`)}</datalist>`}`}function identitySummary({os,browserVersion,timezone,
locale,geolocation,webrtc,screen,consistency}){let auto=!browserVersion&&!screen&&timezone==="auto"&&locale==="auto"&&geolocation==="auto"&&webrtc==="proxy_only"&&
consistency==="warn";return`${os?`${SYSTEMS[os]}, `:""}${auto?"match the proxy":"custom"}`.replace(/^./,c=>c.toUpperCase())}function networkSummary({fallbackProxyIds,
backgroundTraffic,logHosts,...texts}){return fallbackProxyIds.length||backgroundTraffic==="allow"||logHosts||["allowHosts","denyHosts","allowLocal","localhostVi\
a"].some(name=>texts[name].trim())?"Custom":"Internet only"}function limitsSummary({startUrls,headless,idleTimeoutMs,maxRunMs}){return startUrls.trim()||headless||
idleTimeoutMs||maxRunMs?"Custom":"Default"}function zones(){return Intl.supportedValuesOf?Intl.supportedValuesOf("timeZone"):[]}var MOST_COPIES=100;function ProfileDialog({profile,like,done,close}){let app=useApp(),[read2,setRead]=d(null),[problem,setProblem]=d(null),path=profile&&`/prof\
iles/${encodeURIComponent(profile.id)}`;return A(()=>{profile&&app.api.full("GET",path).then(setRead,setProblem)},[]),profile?html`<${Dialog} sheet title=${html`Edit <${Name}>${profile.
name}<//>`} close=${close}>
    ${read2?html`<${EditForm} ...${{...read2,path,done,close}} />`:html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${!problem&&html`<${Waiting} />`}</div>`}
  <//>`:html`<${Dialog} sheet title="New profile" close=${close}><${NewForm} ...${{like,done,close}} /><//>`}function EditForm({data,etag,path,done,close}){let app=useApp(),
form=useForm(toValues(data)),version=useVersion({form,data,etag,read:()=>app.api.full("GET",path),toValues,fields:FIELDS}),save=async values=>{let saved=await saveProfile(
app,version,values);saved&&(app.toasts.say({text:`Saved ${saved.name}`,tone:"good"}),await done?.(saved),close())},foot=html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy||!!version.conflict}>${form.busy?"Saving…":"Save"}</button>`;return html`<${Form} form=${form} work=${save} foot=${foot} saved=${version.
first}>
    <${Conflict} version=${version} />
    <${Sections} form=${form} saved=${data} />
  <//>`}async function saveProfile(app,version,values){let saved=await version.save((headers,before)=>app.api.full("PUT",`/profiles/${encodeURIComponent(before.
id)}`,{body:changes(toBody(toValues(before)),toBody(values)),headers}));return saved&&saved.data}function NewForm({like,done,close}){let app=useApp(),workspace=useStore(
app.model.workspace),form=useForm({...toValues(like,workspace),workspaceId:like?.workspaceId||workspace,copies:"1",each:!1}),copies=number2(form.values.copies),
many=copies!==1,create2=async({copies:_,each,...values})=>{let body=withoutDefaults(toBody(values));if(!Number.isInteger(copies)||copies<1||copies>MOST_COPIES)throw new Problem(
422,{code:"validation_failed",errors:[{location:"body.count",message:"is no such number"}]},"");return many?(each&&delete body.proxyId,(await app.api.post("/pro\
files/batch-create",{count:copies,...body,...each?{proxies:"each"}:{}})).data):[await app.api.post("/profiles",body)]},make=then=>async values=>{let made=await create2(
values);app.model.sawWorkspaces(made),app.toasts.say({text:many?`Created ${count(made.length,"profile")}`:`Created ${made[0].name}`,tone:"good"}),await done?.(made[0]),
close(),then?.(made)},start2=made=>many?beginMany(app,made):begin(app,made[0]),off=form.busy||form.values.proxyId===DELETED&&!(many&&form.values.each),foot=html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button type="button" class="button" disabled=${off} onClick=${()=>form.send(make(start2))}>Create and start</button>
    <button class="button primary" disabled=${off}>${form.busy?"Creating…":"Create"}</button>`;return html`<${Form} form=${form} work=${make()} foot=${foot}>
    <${Sections} form=${form} many=${many} />
  <//>`}function Sections({form,saved,many=!1}){let workspaceId=saved?saved.workspaceId:form.values.workspaceId.trim(),{values}=form,each=many&&values.each;return html`<div class="fields">
      <${NameField} form=${form} hint=${many&&"Write {n} where the number of each goes. Without it all have this name."} />
      ${!each&&html`<${ProfileProxy} form=${form} workspaceId=${workspaceId} />`}
      <${Tags2} form=${form} />
      ${!saved&&html`<${Copies} form=${form} many=${many} workspaceId=${workspaceId} />`}
    </div>
    <${Section} form=${form} title="Identity" names=${IDENTITY} summary=${identitySummary(values)}><${IdentityFields} form=${form} saved=${!!saved} /><//>
    <${Section} form=${form} title="Network" names=${NETWORK} summary=${networkSummary(values)}><${NetworkFields} form=${form} workspaceId=${workspaceId} /><//>
    <${Section} form=${form} title="Start and limits" names=${LIMITS} summary=${limitsSummary(values)}><${LimitFields} form=${form} /><//>
    <${Section} form=${form} title=${saved?"Notes":"Notes and workspace"} names=${NOTES} summary=${values.notes.trim()?"Written":saved?"None":workspaceId||"defa\
ult"}><${NotesFields} form=${form} saved=${!!saved} /><//>`}function Copies({form,many,workspaceId}){let{api}=useApp(),[proxies,setProxies]=d(null);A(()=>{setProxies(
null),many&&api.get("/proxies",{limit:1,page:1,workspaceId:workspaceId||"default"}).then(({total})=>setProxies(total),()=>{})},[many,workspaceId]);let wanted=number2(
form.values.copies),enough=proxies!==null&&proxies>=wanted;return html`<${Text} form=${form} name="copies" member="count" label="Copies" type="number" min="1" max=${MOST_COPIES} inputmode="numeric" say=${many&&
`Write a number from 1 to ${MOST_COPIES}.`} />
    ${many&&(enough||form.values.each?html`<${Tick} form=${form} name="each" member="proxies" label="A different proxy for each" hint="Proxies that no profile uses yet, the oldest first." />`:
proxies!==null&&html`<p class="hint wide">There are ${count(proxies,"proxy","proxies")}: not enough for a different one for each.</p>`)}`}var NAMED=10;async function start(app,profile,rows){if(app.browsers.missing())return app.toasts.say({text:`${profile.name} was not started.`,more:NO_BROWSER,tone:"\
bad"});let proxy=profile.proxyId&&app.proxies.get(profile.proxyId);if(proxy?.status!=="dead")return begin(app,profile,rows);let happened=faultWords(proxy.lastCheck?.
error)?.happened||"The last check failed.";return app.open(ConfirmDialog,{title:"Start through a dead proxy?",verb:"Start anyway",tone:"primary",work:async()=>{
begin(app,profile,rows)},children:html`<p><${Name}>${proxyName(proxy)}<//>, the proxy of <${Name}>${profile.name}<//>, failed its last check. ${happened}</p>
      <p class="muted">Warren checks it again before the browser starts. Nothing goes out without it.</p>`})}function begin(app,profile,rows){return app.during(
profile.id,async()=>{rows?.patch(profile.id,{status:"starting"});try{let run=await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/start`);rows?.patch(
profile.id,{status:run.status||"running",run}),app.toasts.say({text:`${profile.name} is running.`,tone:"good",actions:[{label:"View",run:()=>app.router.go(viewOf(
profile.id))},{label:"Connect",run:()=>app.open(ConnectDialog,{profile,run})},run.warnings?.length>0&&{label:count(run.warnings.length,"note"),run:()=>app.router.
go(href("profiles",void 0,[profile.id]))}]})}catch(problem){app.fail(`${profile.name} did not start`,problem,remedy(app,profile,problem))}rows?.again(profile.id)})}
function beginMany(app,profiles){return app.works.each({title:`Starting ${count(profiles.length,"profile")}`,items:profiles.map(({id,name})=>({id,name})),size:10,
call:async(part,signal)=>(await app.api.post("/profiles/batch",{action:"start",ids:part.map(({id})=>id)},{signal})).results})}function duplicate(app,{id,name}){
return app.during(id,async()=>{try{let profile=await app.api.get(`/profiles/${encodeURIComponent(id)}`);if(profile.proxyMissing)return app.open(ProfileDialog,{like:{
...copyOf(profile),proxyMissing:!0}});let made=await app.api.post("/profiles",copyOf(profile));return app.toasts.say({text:`Created ${made.name}`,more:"It has t\
he same settings, and no cookies or data.",tone:"good",action:{label:"Show",run:()=>app.router.go(href("profiles",void 0,[made.id]))}})}catch(problem){return app.
fail(`${name} was not duplicated`,problem)}})}function restart(app,profile,body){return app.during(profile.id,async()=>{try{await app.api.post(`/profiles/${encodeURIComponent(
profile.id)}/restart`,body),app.toasts.say({text:`${profile.name} is running again.`,tone:"good"})}catch(problem){app.fail(`${profile.name} did not restart`,problem,
remedy(app,profile,problem))}})}function connect(app,profile,rows){return app.during(profile.id,async()=>{try{let run=await app.api.post(`/profiles/${encodeURIComponent(
profile.id)}/start`);app.open(ConnectDialog,{profile,run})}catch(problem){app.fail(`The URLs of ${profile.name} could not be read`,problem)}rows?.again(profile.
id)})}function remedy(app,profile,problem){return problem.code==="proxy_missing"||problem.code==="proxy_unreachable"?{label:"Choose a proxy",run:()=>app.open(ProxyDialog,
{profile})}:null}function stop(app,profile,rows){return app.during(profile.id,async()=>{rows?.patch(profile.id,{status:"stopping"});try{await app.api.post(`/pro\
files/${encodeURIComponent(profile.id)}/stop`),app.toasts.say({text:`${profile.name} is stopped. Its tabs and cookies are kept.`,tone:"good"})}catch(problem){app.
fail(`${profile.name} did not stop`,problem)}rows?.again(profile.id)})}function askToDelete(app,profile,rows){app.open(ConfirmDialog,{title:"Move this profile t\
o the trash?",verb:"Move to trash",work:async()=>{await app.api.delete(`/profiles/${encodeURIComponent(profile.id)}`),app.toasts.say({text:`Moved ${profile.name}\
 to the trash.`,action:{label:"Undo",run:()=>restore(app,profile,rows)}}),await rows?.reload().catch(()=>{})},children:html`<p><${Name}>${profile.name}<//> ${profile.
status==="running"?"is running. Its browser is closed first. The profile":""} goes
      to the trash with its cookies and data. You can restore it for 30 days.</p>`})}function askToDestroy(app,profile,rows){app.open(ConfirmDialog,{title:"Dele\
te this profile permanently?",verb:"Delete permanently",work:async()=>{await app.api.delete(`/profiles/${encodeURIComponent(profile.id)}`,{permanent:!0}),app.toasts.
say({text:`Deleted ${profile.name}.`}),await rows.reload().catch(()=>{})},children:html`<p><${Name}>${profile.name}<//> and its cookies, history and files are deleted now. This cannot be undone.</p>`})}
function restore(app,profile,rows){return app.during(profile.id,async()=>{try{let restored=await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/resto\
re`);app.toasts.say({text:`Restored ${profile.name}.`,more:restored?.proxyMissing?"Its proxy was deleted. Choose another before you start it.":"",tone:"good"})}catch(problem){
app.fail(`${profile.name} was not restored`,problem)}await rows?.reload().catch(()=>{}),app.keepFocus()})}function check(app,proxy){return app.during(proxy.id,async()=>{
try{let result=await app.api.post(`/proxies/${encodeURIComponent(proxy.id)}/check`);app.proxies.keep({...app.proxies.get(proxy.id)??proxy,lastCheck:result,status:result.
status}),app.toasts.say({text:`${proxyName(proxy)} is ${result.ok?"alive":"dead"}.`,more:result.ok?checkSentence(result):Object.values(faultWords(result.error)||
{}).join(" "),tone:result.ok?"good":"plain",action:{label:"Details",run:()=>app.open(CheckDialog,{proxy,result})}})}catch(problem){app.fail(`${proxyName(proxy)}\
 was not checked`,problem)}})}function askToDeleteProxy(app,proxy){app.open(ConfirmDialog,{title:"Delete this proxy?",verb:"Delete",work:async()=>{try{await app.
api.delete(`/proxies/${encodeURIComponent(proxy.id)}`)}catch(problem){throw await nameUsers(app,proxy,problem),problem}app.toasts.say({text:`Deleted ${proxyName(
proxy)}.`})},children:html`<p><${Name}>${proxyName(proxy)}<//> and its saved password are removed. ${proxy.profileCount>0?html`<strong>${count(proxy.profileCount,
"profile uses","profiles use")} it.</strong> Give them another first: <a href=${href("profiles",new URLSearchParams({proxyId:proxy.id}))}>show them</a>.`:"No pr\
ofile uses it."}</p>`})}async function nameUsers(app,proxy,problem){if(problem.code!=="proxy_in_use")return;let users=await app.api.get("/profiles",{proxyId:proxy.
id,sort:"name",order:"asc",limit:NAMED}).catch(()=>null);problem.users=users?.data||[],problem.moreUsers=(users?.total||0)-problem.users.length}function checkMany(app,{ids,workspaceId,tags=[]}){let body=ids?{ids}:workspaceId?{workspaceId}:{},dead=new URLSearchParams([["status","dead"],...tags.map(tag=>[
"tag",tag])]),params=failed=>failed?dead:new URLSearchParams(tags.map(tag=>["tag",tag]));return app.works.stream({key:ids?"":`check ${workspaceId}`,title:(total,over)=>`${over?
"Checked":"Checking"} ${count(total,"proxy","proxies")}`,total:ids?.length??0,words:{good:"alive",bad:"dead"},call:(signal,total,one2)=>app.api.lines("/proxies/\
check-all",body,signal,total,check2=>{app.checked.add(check2);let fault=check2.ok?null:faultWords(check2.error)||{happened:"The check failed.",advice:""};one2({
id:check2.id,error:fault&&{title:fault.happened,message:fault.advice}})}),show:failed=>app.router.go(href("proxies",params(failed))),retry:failed=>checkMany(app,
{ids:failed.map(({id})=>id),tags})})}function CheckAll({workspace}){let app=useApp();return html`<button type="button" class="button" onClick=${()=>checkMany(app,
{workspaceId:workspace})}><${Icon} name="pulse" /><span>Check all</span></button>`}var Checked=class{last=new Store([]);#waiting=[];add(check2){this.#waiting.push(
check2)===1&&requestAnimationFrame(()=>this.#pass())}#pass(){this.last.set(this.#waiting),this.#waiting=[]}};var PREFIX_MS=1500,PLACES={p:"profiles",x:"proxies",r:"running",t:"trash",s:"settings"},LIST=[["On every page",[["Ctrl K","Search and commands"],["/","Search th\
e list"],["N","New profile; on the Proxies page, add proxies"],["G then P, X, R, T, S","Go to profiles, proxies, running, trash, settings"],["?","Show this list"],
["Esc","Close what is open, or clear the selection"]]],["In a list",[["J K ↓ ↑","Next and previous row"],["X or Space","Select the row; with Shift all since\
 the last"],["Enter","Open the row"],["S","Start or stop"],["V","View a running browser"],["E","Edit"],["P","Choose a proxy"],["C","Connect to a running browser\
, or check a proxy"],["Delete","Move to the trash, or delete a proxy"]]]],Keys=class{#app;#prefix=0;constructor(app){this.#app=app}begin(){let press=event=>this.#press(
event);return addEventListener("keydown",press),()=>removeEventListener("keydown",press)}#press(event){let app=this.#app;if((event.ctrlKey||event.metaKey)&&!event.
altKey&&event.key.toLowerCase()==="k")return event.preventDefault(),app.openPalette();if(event.ctrlKey||event.metaKey||event.altKey||event.defaultPrevented)return;
let{target}=event;if(target.closest?.('input:not([type="checkbox"]), textarea, select, dialog, [role="menu"], [popover], .stage, [contenteditable]'))return;if(event.
key==="Escape")return app.escape();if((event.key===" "||event.key==="Enter")&&target.closest?.("button, a, input, summary"))return;if(this.#prefix&&event.timeStamp-
this.#prefix<PREFIX_MS&&PLACES[event.key])return this.#prefix=0,event.preventDefault(),app.router.go(href(PLACES[event.key]));this.#prefix=event.key==="g"?event.
timeStamp:0;let act={"/":()=>focusSearch(),n:()=>app.createHere(),"?":()=>app.open(KeysDialog,{})}[event.key];return act?(event.preventDefault(),act()):app.gridKey?.(
event)}};function focusSearch(){let box=document.querySelector('main input[type="search"]');box?.focus(),box?.select()}function KeysDialog({close}){return html`<${Dialog} title="Keyboard shortcuts" close=${close}><div class="dialog-content">
    ${LIST.map(([title,keys])=>html`<section key=${title}><h3>${title}</h3><dl class="keys">${keys.map(([key,words])=>html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}</dl></section>`)}
  </div><footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Close</button></footer><//>`}function Login({enter,reason}){let[key,setKey]=d(""),[onlyThisTab,setOnlyThisTab]=d(!1),[fault,setFault]=d(reason),[problem,setProblem]=d(null),[busy,setBusy]=d(
!1),field=T(null);return html`<main class="login">
    <form class="login-card" onSubmit=${async event=>{event.preventDefault();let given=key.trim();if(setFault(""),setProblem(null),!looksLikeKey(given)){setFault(
given?"This is not a key: it has characters that no key has.":"Paste your key first."),field.current.focus();return}setBusy(!0);try{enter(await exchange({key:given}),
onlyThisTab)}catch(error){error.status===401?setFault("This key isn’t valid. It may be mistyped, revoked or expired."):setProblem(error),setBusy(!1),field.current?.
focus()}}} novalidate>
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">Welcome</h1>
      <p class="lead">Log in with your API key to see your profiles and proxies.</p>
      <div class="field">
        <label for="key">API key</label>
        <input id="key" ref=${field} type="password" autocomplete="current-password" autofocus spellcheck=${!1} placeholder="wrn_…"
          aria-invalid=${fault?"true":void 0} aria-describedby=${fault?"key-fault key-hint":"key-hint"}
          value=${key} onInput=${event=>setKey(event.currentTarget.value)} />
        <div role="alert">${fault&&html`<p class="fault" id="key-fault">${fault}</p>`}</div>
        <p class="hint" id="key-hint">Warren printed it when it first started, and keeps it in <code>admin.key</code> in its data folder. On the server’s machine <code>warren open</code> logs you in without it.</p>
      </div>
      <label class="tick"><input type="checkbox" checked=${onlyThisTab} onChange=${event=>setOnlyThisTab(event.currentTarget.checked)} />
        Only this tab</label>
      <${ProblemBox} problem=${problem} />
      <button class="button primary large" disabled=${busy}>${busy?"Checking…":"Log in"}</button>
      <p class="hint">The page keeps a key of its own in place of yours. It ends when you log out, or 30 days after its last use${onlyThisTab?", and is forgotte\
n with this tab":""}.</p>
    </form>
    <${Landscape} />
  </main>`}function Entering(){return html`<main class="login">
    <div class="login-card" role="status">
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">Logging in…</h1>
    </div>
    <${Landscape} />
  </main>`}function Landscape(){return html`<div class="landscape">${[1,2,3,4].map(part=>html`<${Burrows} key=${part} />`)}</div>`}var ADDRESS="api/v1/events";var Parser=class{#rest="";#event=blank();#emit;lastId="";constructor(emit){this.#emit=emit}push(text2){this.#rest+=text2;let lines=this.#rest.split(/\r\n|\n|\r(?!$)/);
this.#rest=lines.pop();for(let line of lines)this.#line(line)}#line(line){if(line==="")return this.#done();let colon=line.indexOf(":");if(colon===0)return;let name=colon<
0?line:line.slice(0,colon),value=colon<0?"":line.slice(colon+1).replace(/^ /,"");name==="data"&&this.#event.data.push(value),name==="event"&&(this.#event.type=value),
name==="id"&&!value.includes("\0")&&(this.lastId=value)}#done(){let{type,data}=this.#event;this.#event=blank(),data.length&&this.#emit({type,text:data.join(`
`)})}};function blank(){return{type:"message",data:[]}}async function follow(api,{signal,event,state}){let parser={lastId:""},wait=500,before=!1;for(;!signal.aborted;){
try{await read(api,parser,signal,event,()=>{state(before?"again":"live"),before=!0,wait=500})}catch(error){if(signal.aborted)return;if([401,403,404].includes(error.
status)){state("off");return}state("lost")}await pause(wait*(.75+Math.random()/2),signal),wait=Math.min(wait*2,15e3)}}async function read(api,previous,signal,event,opened){
let connection=new AbortController,stop2=()=>connection.abort();signal.addEventListener("abort",stop2);let watchdog=setTimeout(stop2,6e4);try{let headers={Accept:"\
text/event-stream"};previous.lastId&&(headers["Last-Event-ID"]=previous.lastId);let response=await api.open("GET",ADDRESS,{headers,signal:connection.signal});opened();
let parser=new Parser(({type,text:text2})=>deliver(type,text2,event));parser.lastId=previous.lastId;let reader=response.body.pipeThrough(new TextDecoderStream).
getReader();for(;;){let{value,done}=await reader.read();if(done)return;clearTimeout(watchdog),watchdog=setTimeout(stop2,6e4),parser.push(value),previous.lastId=
parser.lastId}}finally{clearTimeout(watchdog),signal.removeEventListener("abort",stop2)}}function deliver(type,text2,event){let body;try{body=JSON.parse(text2)}catch{
return}event({...body,type:body.type||type})}function pause(ms,signal){return new Promise(resolve=>{let timer=setTimeout(done,ms),visible=()=>document.visibilityState===
"visible"&&done();function done(){clearTimeout(timer),removeEventListener("online",done),document.removeEventListener("visibilitychange",visible),signal.removeEventListener(
"abort",done),resolve()}addEventListener("online",done),document.addEventListener("visibilitychange",visible),signal.addEventListener("abort",done)})}var WORKSPACE="warren.workspace",RECENT=300,Model=class{workspaces=new Store([]);workspace=new Store(remembered());counts=new Store(null);connection=new Store("\
connecting");event=new Store(null);recent=new Store([]);#api;#ending=new AbortController;#counts=new Refresher(()=>this.readCounts(),()=>this.readCounts());constructor(api){
this.#api=api}begin(){this.readWorkspaces(),this.#counts.markAll(),follow(this.#api,{signal:this.#ending.signal,event:event=>this.#onEvent(event),state:state=>{
this.connection.set(state==="again"?"live":state),state==="again"&&this.readAll()}})}end(){this.#ending.abort(),this.#counts.stop()}readAll(){this.#counts.markAll(),
this.readWorkspaces(),this.event.set({type:"everything"})}async readCounts(){this.counts.set(await this.#api.get("/counts",{workspaceId:this.workspace.value}))}async readWorkspaces(){
try{let{data}=await this.#api.get("/workspaces",{limit:200});this.#addWorkspaces(data.map(workspace=>workspace.id))}catch{}}sawWorkspaces(objects){this.#addWorkspaces(
objects.map(object=>object.workspaceId))}#addWorkspaces(ids){let known=this.workspaces.value,all=new Set([...known,...ids.filter(Boolean)]);all.size!==known.length&&
this.workspaces.set([...all].sort())}chooseWorkspace(id){this.workspace.set(id),this.#counts.markAll();try{sessionStorage.setItem(WORKSPACE,id)}catch{}}#onEvent(event){
return event.type==="events.lost"?this.readAll():(/^(profile|proxy|run)\./.test(event.type)&&this.#counts.markAll(),event.workspaceId&&this.#addWorkspaces([event.
workspaceId]),event.id&&this.recent.set([event,...this.recent.value.slice(0,RECENT-1)]),this.event.set(event))}};function remembered(){try{return sessionStorage.
getItem(WORKSPACE)||""}catch{return""}}var PAUSE_MS2=120,FOUND2=6;function commands(app){let go=(label,icon,name,params,words="")=>({label,icon,words,run:()=>app.router.go(href(name,params))});return[
{label:"New profile",icon:"plus",words:"create add",run:()=>app.createProfile()},{label:"Add proxies",icon:"plus",words:"a proxy new create import paste list fi\
le",run:()=>app.createProxy()},go("Profiles","profiles","profiles"),go("Proxies","proxies","proxies"),go("Running browsers","running","running",void 0,"runs"),go(
"Trash","trash","trash",void 0,"deleted"),go("Settings","settings","settings",void 0,"keys browsers server appearance activity audit"),go("Profiles with a dead \
proxy","warning","profiles",new URLSearchParams({proxyStatus:"dead"})),go("Failed profiles","warning","profiles",new URLSearchParams({status:"failed"})),go("Pro\
files never started","profiles","profiles",new URLSearchParams({neverStarted:"true"})),{label:"Compact rows",icon:"columns",words:"density",run:()=>app.setDensity(
"compact")},{label:"Comfortable rows",icon:"columns",words:"density",run:()=>app.setDensity("comfortable")},{label:"Light theme",icon:"settings",words:"appearan\
ce dark",run:()=>app.setTheme("light")},{label:"Dark theme",icon:"settings",words:"appearance night",run:()=>app.setTheme("dark")},{label:"System theme",icon:"s\
ettings",words:"appearance",run:()=>app.setTheme("system")},{label:"API documentation",icon:"docs",words:"reference help openapi",run:()=>location.assign("docs")},
{label:"Log out",icon:"leave",words:"sign out",run:()=>app.leave()}]}function ofProfile(app,profile){let running=profile.status==="running";return{key:profile.id,
label:profile.name,icon:"profiles",note:profile.status==="stopped"?"":PROFILE_STATUS[profile.status]?.text,group:"Profiles",run:()=>app.router.go(href("profiles",
void 0,[profile.id])),more:running?[{label:"View",run:()=>app.router.go(viewOf(profile.id))},{label:"Connect",run:()=>connect(app,profile)},{label:"Stop",run:()=>stop(
app,profile)}]:[{label:"Start",run:()=>start(app,profile)}]}}function ofProxy(app,proxy){return{key:proxy.id,label:proxyName(proxy),icon:"proxies",country:proxy.
lastCheck?.country,note:proxy.status==="dead"?"Dead":"",group:"Proxies",run:()=>app.router.go(href("proxies",void 0,[proxy.id])),more:[{label:"Show profiles",run:()=>app.
router.go(href("profiles",new URLSearchParams({proxyId:proxy.id})))}]}}function Palette({close}){let app=useApp(),box=T(null),id=P(),[text2,setText]=d(""),[found,
setFound]=d([]),[at,setAt]=d(0);F(()=>(box.current.showModal(),()=>box.current?.close()),[]),A(()=>{setAt(0);let wanted=text2.trim();if(!wanted)return setFound(
[]);let ending=new AbortController,timer=setTimeout(async()=>{let query={search:wanted,limit:FOUND2,page:1,workspaceId:app.model.workspace.value},[profiles,proxies]=await Promise.
all(["/profiles","/proxies"].map(path=>app.api.get(path,query,{signal:ending.signal}).catch(()=>({data:[]}))));ending.signal.aborted||setFound([...profiles.data.
map(one2=>ofProfile(app,one2)),...proxies.data.map(one2=>ofProxy(app,one2))])},PAUSE_MS2);return()=>{clearTimeout(timer),ending.abort()}},[text2]);let words=text2.
trim().toLowerCase(),own=commands(app).filter(({label,words:more2})=>!words||words.split(/\s+/).every(word=>`${label} ${more2}`.toLowerCase().includes(word))),lines=[
...found,...own.map(command=>({...command,key:command.label,group:"Commands"}))],choose=line=>{close(),line?.run()},press=event=>{let to={ArrowDown:at+1,ArrowUp:at-
1}[event.key];to!==void 0&&lines.length?(event.preventDefault(),setAt((to+lines.length)%lines.length)):event.key==="Enter"&&event.target.tagName==="INPUT"&&(event.
preventDefault(),choose(lines[at]))};return A(()=>box.current.querySelector('[aria-selected="true"]')?.scrollIntoView({block:"nearest"}),[at,lines.length]),html`<dialog ref=${box} class="dialog palette" aria-label="Search and commands" closedby="any" onClose=${close} onKeyDown=${press}>
    <div class="palette-body">
      <div class="palette-field"><${Icon} name="search" /><input type="text" role="combobox" aria-expanded="true" aria-controls=${id} aria-activedescendant=${lines.
length?`${id}-${at}`:void 0} aria-label="Search and commands" placeholder="Search profiles, proxies and commands"
        value=${text2} onInput=${event=>setText(event.currentTarget.value)} spellcheck=${!1} autocomplete="off" autofocus /></div>
      <ul class="palette-list" role="listbox" id=${id} aria-label="Results">
        ${lines.map((line,i)=>html`${line.group!==lines[i-1]?.group&&html`<li role="presentation" class="palette-group">${line.group}</li>`}
          <li key=${line.key} id=${`${id}-${i}`} role="option" aria-selected=${i===at} class="palette-line" onMouseMove=${()=>i!==at&&setAt(i)} onClick=${()=>choose(
line)}>
            <${Icon} name=${line.icon} /><bdi class="palette-label">${line.label}</bdi><${Country} code=${line.country} />${line.note&&html`<span class="muted">${line.
note}</span>`}</li>`)}
        ${!lines.length&&html`<li role="presentation" class="palette-none">No matches</li>`}
      </ul>
      ${lines[at]?.more&&html`<div class="palette-foot">${lines[at].more.map(action=>html`<button type="button" key=${action.label} class="button small" onClick=${()=>choose(
action)}>${action.label}</button>`)}</div>`}
    </div></dialog>`}var PAUSE_MS3=200,LONG_PAUSE_MS=600,LONG=5e4,MOST_CHOICES=900,EVERY="*";function kindOf(text2){let[start2]=text2.replace(/^\ufeff/,"").trimStart().split(`
`,1);if(/^\{|^\[\s*(?:[{"\]]|$)/.test(start2))return"application/json";let head=start2.trim().split(/[,;\t]/).map(cell=>cell.trim().replace(/^"|"$/g,"").toLowerCase()),
known=["type","host","port","username","password","name","tags","notes","rotateurl","url"];return(head.includes("url")||head.includes("host")&&head.includes("po\
rt"))&&head.every(cell=>known.includes(cell))?"text/csv":"text/plain"}function bodyOf(text2){return kindOf(text2)==="application/json"&&/^\s*\[/.test(text2)?`{"\
proxies":${text2}}`:text2}function queryOf({text:text2,type,tags=[],workspaceId,choices}){let choice=[];return choices.size&&(choices.has(EVERY)&&choice.push(`${EVERY}\
:${choices.get(EVERY)}`),text2.split(`
`).forEach((line,i)=>{let reading=choices.get(line.trim());reading&&choice.length<MOST_CHOICES&&choice.push(`${i+1}:${reading}`)})),{workspaceId,type,tag:tags,choice}}
function useReading({text:text2,type,workspaceId}){let{api}=useApp(),[state,setState]=d({answer:null,busy:!1,problem:null}),[choices,setChoices]=d(()=>new Map),
[turn,setTurn]=d(0),before=T({type,choices}),empty=!text2.trim();return A(()=>{if(before.current.type!==type&&choices.size)return setChoices(new Map);let clicked=before.
current.choices!==choices;if(before.current={type,choices},empty)return setState({answer:null,busy:!1,problem:null});let ending=new AbortController;setState(now=>now.
busy?now:{...now,busy:!0});let timer=setTimeout(async()=>{let query={...queryOf({text:text2,type,workspaceId,choices}),dryRun:!0,results:"failed"};try{let answer=await api.
send("/proxies/import",query,kindOf(text2),bodyOf(text2),ending.signal);ending.signal.aborted||setState({answer,busy:!1,problem:null})}catch(problem){problem.name!==
"AbortError"&&setState({answer:null,busy:!1,problem})}},clicked?0:text2.length>LONG?LONG_PAUSE_MS:PAUSE_MS3);return()=>{clearTimeout(timer),ending.abort()}},[text2,
type,workspaceId,choices,turn]),{...state,choices,choose:(line,reading)=>setChoices(now=>new Map(now).set(line,reading)),again:()=>setTurn(n=>n+1)}}var SHOWN=50,LONG_PASTE=5e3,LARGEST=16<<20,EXAMPLES=`host:port:user:password
user:password@host:port
socks5://user:password@host:port`;function boxValues(){return{text:"",type:"socks5",tags:[]}}function ProxyBox({form,reading,rows=6,brief,autofocus}){let[over,setOver]=d(
!1),[fault,setFault]=d(""),take=async file=>{setOver(!1),file&&(setFault(file.size>LARGEST?`${file.name} has more than 16 MB. Split it into smaller files.`:""),
file.size<=LARGEST&&form.set("text",await file.text()))},drag=event=>{[...event.dataTransfer.types].includes("Files")&&(event.preventDefault(),setOver(event.type===
"dragover"),event.type==="drop"&&take(event.dataTransfer.files[0]))},press=event=>{event.key!=="Enter"||!(event.ctrlKey||event.metaKey)||(event.preventDefault(),
event.currentTarget.form.requestSubmit())},paste=event=>{let pasted=event.clipboardData?.getData("text/plain")||"";if(pasted.length<LONG_PASTE)return;event.preventDefault();
let field=event.currentTarget;field.setRangeText(pasted.replace(/\r\n?/g,`
`),field.selectionStart,field.selectionEnd,"end"),form.set("text",field.value)},control=tied=>html`<div class=${over?"box is-over":"box"} onDragOver=${drag} onDragLeave=${()=>setOver(
!1)} onDrop=${drag}>
    <textarea rows=${rows} class="mono" wrap="off" autocomplete="off" spellcheck=${!1} autofocus=${autofocus} ...${tied} placeholder=${EXAMPLES} value=${form.values.
text}
      onInput=${event=>form.set("text",event.currentTarget.value)} onKeyDown=${press} onPaste=${paste}></textarea>
    <div class="box-foot"><label class="button small"><${Icon} name="upload" /><span>Choose a file</span><input type="file" class="visually-hidden" accept=".txt,.csv,.json,text/plain,text/csv,application/json"
      onChange=${event=>{take(event.currentTarget.files[0]),event.currentTarget.value=""}} /></label><span class="hint">or drop one here. Text, CSV and JSON are read.</span></div>
  </div>`,{answer,busy,problem}=reading,outcome=w(()=>html`<${Outcome} text=${form.values.text} reading=${reading} />`,[answer,busy,problem]),tags=html`<${TagField} form=${form} name="tags" label="Tags for all" hint="Press Enter or comma to add a tag." />`;
return html`<div class="fields">
    <${Field} wide form=${form} name="text" member="" label="Paste a proxy, or a whole list" control=${control} />
    ${fault&&html`<p class="fault wide" role="alert">${fault}</p>`}
    <div class="wide">${outcome}</div>
    ${!brief&&tags}
    <details class="box-more wide"><summary>${brief?"Type and tags":"Default type"}: <span class="muted">${PROXY_TYPES[form.values.type]}</span></summary>
      <div class="fields"><${Choice} form=${form} name="type" label="Type of lines that name none" wide options=${Object.entries(PROXY_TYPES)} />${brief&&tags}</div></details>
  </div>`}function Outcome({text:text2,reading}){let{answer,busy,problem,choose}=reading;if(problem)return html`<${ProblemBox} problem=${problem} />`;if(!answer)
return html`<p class="hint" role="status">${busy?"Reading…":"Each line is one proxy. SOCKS5 unless it says otherwise."}</p>`;let{created,duplicate:duplicate2,
ambiguous,invalid,results}=answer,of=result=>results.filter(line=>line.result===result),lines=text2.split(`
`),wrong=of("invalid"),unclear=of("ambiguous").slice(0,SHOWN),shownWrong=wrong.slice(0,Math.max(5,SHOWN-unclear.length));return html`<div class=${busy?"box-outc\
ome is-old":"box-outcome"}>
    <p role="status" class="box-sum"><span class=${created?"good-text":"muted"}><${Icon} name=${created?"check":"warning"} /><strong>${created?count(created,"pr\
oxy","proxies"):"No proxy"}</strong> to add</span>
      ${duplicate2>0&&html`<span>${count(duplicate2,"duplicate")}</span>`}${ambiguous>0&&html`<span class="wait-text">${number(ambiguous)} ambiguous</span>`}${invalid>
0&&html`<span class="bad-text">${number(invalid)} not readable</span>`}</p>
    ${ambiguous>0&&html`<section class="box-lines" tabindex="0" aria-label="Ambiguous lines"><h3>${ambiguous===1?"This line can be read in two ways. Which one i\
s right?":"These lines can be read in two ways. Which one is right?"}</h3>
      ${ambiguous>1&&html`<p class="box-every"><span>All ${number(ambiguous)} lines:</span>${formsOf(lines,unclear).map((form,i)=>html`<button type="button" key=${form} class="button small" onClick=${()=>choose(
EVERY,i+1)}>${form}</button>`)}</p>`}
      <ul>${unclear.map(line=>html`<${Unclear} key=${line.line} line=${line} text=${lines[line.line-1]||""} choose=${choose} />`)}</ul>${more(ambiguous,unclear)}</section>`}
    ${invalid>0&&html`<section class="box-lines" tabindex="0" aria-label="Lines that are no proxy"><ul>${shownWrong.map(({line,reason})=>html`<li key=${line}><strong class="number">Line ${number(
line)}</strong> ${sentence(reason).replace(/^./,c=>c.toLowerCase())}</li>`)}</ul>${more(invalid,shownWrong)}</section>`}
    ${duplicate2>0&&html`<${Duplicates} lines=${of("duplicate")} total=${duplicate2} />`}
  </div>`}function more(total,shown){return total>shown.length&&html`<p class="hint">And ${number(total-shown.length)} more.</p>`}function Unclear({line,text:text2,
choose}){return html`<li><strong class="number">Line ${number(line.line)}</strong> <span class="box-readings">${line.readings.map((reading,i)=>html`<button type="button" key=${reading} class="button small" title=${reading}
    aria-label=${`Line ${line.line}: ${partsOf(text2,i)||reading}`} onClick=${()=>choose(text2.trim(),i+1)}><bdi>${partsOf(text2,i)||reading}</bdi></button>`)}</span></li>`}
function formsOf(lines,unclear){return unclear.every(({line})=>!/@|\[/.test(lines[line-1]||""))?["host:port:user:password","user:password:host:port"]:["The firs\
t reading","The second reading"]}function partsOf(text2,reading){let parts=text2.trim().replace(/^[a-z0-9]+:\/\//i,"").split(":");if(parts.length!==4||/[@[]/.test(
text2))return"";let[host,port,user]=reading===0?parts:[parts[2],parts[3],parts[0]];return`${host}:${port}, user ${user}`}function Duplicates({lines,total}){let there=lines.
filter(({existingId})=>existingId).length,words=lines.slice(0,SHOWN).map(({line})=>number(line)).join(", ");return html`<p class="hint">${total===1?"Line":"Line\
s"} ${words}${total>Math.min(lines.length,SHOWN)?` and ${number(total-Math.min(lines.length,SHOWN))} more`:""} ${total===1?"is":"are"} skipped:
    ${there===lines.length?" already among your proxies.":there===0?" the same as a line above.":" already among your proxies, or the same as a line above."}</p>`}async function addProxies(app,{values,choices,workspaceId}){let{text:text2,tags}=values,kind=kindOf(text2),answer=await app.api.send("/proxies/import",queryOf({
...values,workspaceId,choices}),kind,bodyOf(text2)),ids=answer.results.filter(({id})=>id).map(({id})=>id),bad=new Set(answer.results.filter(({result})=>["invali\
d","ambiguous"].includes(result)).map(({line})=>line)),rest=bad.size?kind==="text/plain"?text2.split(`
`).filter((_,i)=>bad.has(i+1)).join(`
`):text2:"",skipped=answer.duplicate>0?`${count(answer.duplicate,"duplicate was","duplicates were")} skipped.`:"";ids.length?app.toasts.say({text:`Added ${count(
ids.length,"proxy","proxies")}.`,more:skipped,tone:"good"}):app.toasts.say({text:"Nothing was added.",more:skipped});let checked=ids.length?checkMany(app,{ids,tags}):
null;return{answer,ids,rest,checked}}function FirstRun({hold,end}){let app=useApp(),counts=useStore(app.model.counts),workspaceId=useStore(app.model.workspace),[proxyId,setProxyId]=d(void 0),[starting,
setStarting]=d(""),there=counts?.proxies.total>0;A(()=>{!there||proxyId!==void 0||app.api.get("/proxies",{workspaceId,limit:1,page:1}).then(({data})=>setProxyId(
now=>now??data[0]?.id),()=>{})},[there]);let decided=proxyId!==void 0,steps=[{title:"Add a proxy",state:decided?"done":"now"},{title:"Create a profile",state:starting?
"done":decided?"now":"later"},{title:"Start it",state:starting?"now":"later"}],bodies=[decided?html`<${ProxyDone} id=${proxyId} total=${counts?.proxies.total??0} change=${()=>setProxyId(
void 0)} fixed=${!!starting} />`:html`<${ProxyStep} workspaceId=${workspaceId} decide=${setProxyId} />`,starting?html`<p><bdi>${starting}</bdi></p>`:decided?html`<${ProfileStep} key=${proxyId} proxyId=${proxyId} workspaceId=${workspaceId} began=${name=>{
hold(),setStarting(name)}} end=${end} />`:html`<p class="muted">A profile is a browser of its own, with its own cookies, tabs and proxy.</p>`,starting?html`<p role="status" class="status wait"><span class="dot"></span>Starting…</p>`:
html`<p class="muted">View it here, or connect Playwright or Puppeteer.</p>`];return html`<div class="first"><header class="first-head"><${Burrows} /><div><h2>Set up your first profile</h2><p class="muted">Three steps to a running browser.</p></div></header>
    <ol class="first-steps">${steps.map(({title,state},i)=>html`<li key=${title} class=${`first-step is-${state}`} aria-current=${state==="now"?"step":void 0}>
      <span class="first-mark" aria-hidden="true">${state==="done"?html`<${Icon} name="check" />`:i+1}</span>
      <div class="first-body"><h3>${title}<span class="visually-hidden">${{done:" (done)",now:" (next)",later:" (later)"}[state]}</span></h3>${bodies[i]}</div></li>`)}</ol></div>`}
function ProxyStep({workspaceId,decide}){let app=useApp(),form=useForm(boxValues()),reading=useReading({...form.values,workspaceId}),ready=reading.answer?.created??
0,send=async values=>{let{answer,ids,rest}=await addProxies(app,{values,choices:reading.choices,workspaceId}),first=ids[0]??answer.results.find(({existingId})=>existingId)?.
existingId;rest&&form.setAll({...values,text:rest}),first&&decide(first)},foot=html`<button class="button primary" aria-keyshortcuts="Control+Enter Meta+Enter" title="Ctrl Enter" disabled=${form.
busy||!form.values.text.trim()||reading.answer&&!ready&&!reading.answer.duplicate}>${form.busy?"Adding…":ready>1?`Add ${count(ready,"proxy","proxies")}`:"Add \
proxy"}</button>
    <button type="button" class="button quiet" onClick=${()=>app.leaving(()=>decide(""))}>Go without a proxy</button>`;return html`<p class="muted">Sites see the proxy’s address, not yours.</p>
    <${Form} plain form=${form} work=${send} foot=${foot}><${ProxyBox} form=${form} reading=${reading} rows=${3} brief autofocus /><//>`}function ProxyDone({id,
total,change,fixed}){let proxy=useProxy(id),check2=proxy?.lastCheck,words=id?proxy?html`<bdi>${proxyName(proxy)}</bdi>`:"…":"No proxy: the profile connects di\
rectly.";return html`<p class="first-done"><span>${words}</span>
    ${check2?.ok&&html`<span class="good-text"><${Country} code=${check2.country} name=${check2.countryName} /> ${check2.exitIp}${check2.latencyMs!=null&&` · ${span(
check2.latencyMs)}`}</span>`}
    ${check2&&!check2.ok&&html`<span class="bad-text">${faultWords(check2.error)?.happened||"The check failed."}</span>`}
    ${id&&proxy&&!check2&&html`<span class="status wait"><span class="dot"></span>Checking</span>`}
    ${total>1&&html`<span class="muted">${count(total,"proxy","proxies")} in all</span>`}
    ${!fixed&&html`<button type="button" class="button quiet small" onClick=${change}>${id?"Add another":"Add a proxy"}</button>`}</p>`}function ProfileStep({proxyId,
workspaceId,began,end}){let app=useApp(),form=useForm({name:"",proxyId}),why=useNoStart(),create2=run=>async({name,proxyId:chosen2})=>{let profile=await app.api.
post("/profiles",{name:name.trim(),...chosen2?{proxyId:chosen2}:{},...workspaceId?{workspaceId}:{}});return app.model.sawWorkspaces([profile]),run?(began(profile.
name),start(app,profile).finally(end)):end()},foot=html`<button class="button primary" disabled=${form.busy||!!why} title=${why||void 0}><${Icon} name="play" />Create and start</button>
    <button type="button" class="button" disabled=${form.busy} onClick=${()=>form.send(create2(!1))}>Create only</button>`;return html`<${Form} plain form=${form} work=${create2(
!0)} foot=${foot}><div class="fields">
    <${Text} form=${form} name="name" label="Name" wide autofocus placeholder="Shop account, Berlin" />
    <${ProxyField} form=${form} workspaceId=${workspaceId} hint=${form.values.proxyId?"All traffic goes through this proxy. Nothing bypasses it.":"Sites see thi\
s computer’s own address."} /></div><//>`}var PAUSE_MS4=200;function SearchBox({value,label,change}){let[text2,setText]=d(value),timer=T(0);return A(()=>setText(now=>now.trim()===value?now:value),[value]),
A(()=>()=>clearTimeout(timer.current),[]),html`<div class="search"><${Icon} name="search" />
    <input type="search" aria-label=${label} placeholder=${label} value=${text2} onInput=${event=>{let next=event.currentTarget.value;setText(next),clearTimeout(
timer.current),timer.current=setTimeout(()=>change(next.trim()),PAUSE_MS4)}} spellcheck=${!1} />
    <kbd aria-hidden="true" title="Press / to search">/</kbd>
  </div>`}var PART={start:10,restart:10,stop:20},REST=200,VERBS={__proto__:null,start:"Starting",stop:"Stopping",restart:"Restarting",delete:"Moving to the trash",restore:"\
Restoring",tag:"Tagging",untag:"Removing tags from",setProxy:"Setting the proxy of"};function batch(app,{selection,query,total,action,members={}}){let{all,ids}=selection.
state.value,title=n=>`${VERBS[action]} ${count(n,"profile")}`;selection.clear();let send=items=>app.works.each({title:title(items.length),items,size:PART[action]||
REST,call:async(part,signal)=>(await app.api.post("/profiles/batch",{action,...members,ids:part.map(({id})=>id)},{signal})).results});if(!all)return send([...ids].
map(([id,name])=>({id,name})));let job=filter=>app.works.follow({title:title(total),api:app.api,events:app.model.event,start:()=>app.api.post("/profiles/batch",
{action,...members,filter}),retry:({id})=>job({failedIn:id})}).catch(problem=>app.fail(`${title(total)} did not begin`,problem));return job(filterOf(query,[...ids.
keys()]))}function filterOf({tag,neverStarted,trashed,...query},except){let filter=Object.fromEntries(Object.entries(query).filter(([name,value])=>value&&!["sor\
t","order"].includes(name)));return tag?.length&&(filter.tag=tag),neverStarted&&(filter.neverStarted=neverStarted==="true"),trashed&&(filter.trashed=!0),except.
length&&(filter.except=except),filter}function ProfileBulk({selection,rows,total}){let app=useApp(),todo=(action,members)=>batch(app,{selection,query:rows.query,
total:selection.size(total),action,members}),begin2=action=>app.browsers.missing()?app.toasts.say({text:"Nothing was started.",more:NO_BROWSER,tone:"bad"}):todo(
action),ask=(component,props)=>app.open(component,{...props,size:selection.size(total),todo});return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.
view.value.atLeast} what="profile" actions=${[{label:"Start",icon:"play",run:()=>begin2("start")},{label:"Stop",icon:"stop",run:()=>todo("stop")},{label:"Proxy…",
icon:"proxies",run:()=>ask(ProxyBulk,{names:[...selection.state.value.ids.keys()]})},{label:"Tag…",icon:"tag",run:()=>ask(TagBulk)}]} more=${[{label:"Restart",
icon:"reload",run:()=>begin2("restart")},"line",{label:"Move to trash",icon:"trash",danger:!0,run:()=>ask(TrashBulk)}]} />`}function TrashBulk({size,todo,close}){
return html`<${ConfirmDialog} title=${`Move ${count(size,"profile")} to the trash?`} verb="Move to trash" work=${async()=>{todo("delete")}} close=${close}>
    <p>Running browsers are closed first. The profiles can be restored for 30 days, with their cookies and data.</p><//>`}function TagBulk({size,todo,close}){let form=useForm(
{tags:[],action:"tag"}),send=async({tags,action})=>{todo(action,{tags}),close()};return html`<${Dialog} title="Change tags" lead=${count(size,"profile")} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.tags.length}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="action" label="Change" wide options=${[["tag","Add these tags"],["untag","Remove these tags"]]} />
      <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." /></div><//><//>`}function ProxyBulk({size,todo,close}){let{api,
model}=useApp(),form=useForm({how:"one",proxyId:"",tag:""}),{how,proxyId,tag}=form.values,[free,setFree]=d(null);A(()=>{setFree(null),how==="each"&&api.get("/pr\
oxies",{tag:tag||void 0,limit:1,page:1,workspaceId:model.workspace.value}).then(({total})=>setFree(total),()=>{})},[how,tag]);let send=async()=>{how==="one"?todo(
"setProxy",{proxyId}):how==="none"?todo("setProxy",{proxyId:null}):todo("setProxy",{proxies:tag?{tag}:"each"}),close()},tagInput=tied=>html`<input type="text" ...${tied} value=${tag} placeholder="Any tag" onInput=${event=>form.
set("tag",event.currentTarget.value.trim())} spellcheck=${!1} />`;return html`<${Dialog} title="Set the proxy" lead=${count(size,"profile")} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${how==="one"&&!proxyId}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="how" label="Proxy" wide options=${[["one","One proxy for all"],["each","A different proxy for each"],["non\
e","No proxy (direct connection)"]]} />
      ${how==="one"&&html`<${ProxyField} form=${form} workspaceId=${model.workspace.value} />`}
      ${how==="each"&&html`<${Field} wide form=${form} name="tag" label="From the proxies with this tag" optional control=${tagInput}
        hint=${free===null?"Proxies with the fewest profiles are taken first.":`${count(free,"proxy","proxies")} ${free===1?"matches":"match"}. Those with the f\
ewest profiles are taken first.`} />`}
      ${how==="none"&&html`<p class="wide hint">The profiles will connect directly, with this computer’s own address.</p>`}</div><//><//>`}function Connect({profile,path,rows}){let app=useApp(),busy=useStore(app.busy).has(profile.id),offline=useStore(app.offline),running=profile.status==="running",
[{run,problem},setState]=d({run:null,problem:null}),runId=profile.run?.runId;return A(()=>{let gone=!1;return setState({run:null,problem:null}),running&&addresses(
app,path).then(found=>!gone&&setState({run:found,problem:null}),fault=>!gone&&setState({run:null,problem:fault})),()=>{gone=!0}},[path,running,runId]),running?html`<${ProblemBox} problem=${problem} />${!run&&
!problem&&html`<${Waiting} />`}
    ${run&&html`<p class="hint">Anyone with these URLs can control this browser. They expire when it stops.</p>
      <${Recipes} run=${run} noPort=${html`<div class="quiet-box"><p>Selenium needs a port of the server’s machine. It is opened when the browser starts. Any program of that machine can use it meanwhile.</p>
        <div><button type="button" class="button small" disabled=${offline||busy} onClick=${()=>restart(app,profile,{debugPort:!0})}><${Icon} name="reload" />Restart with a port</button></div></div>`} />
      <section class="addresses"><h3>URLs</h3>
        <${Address} label="CDP over WebSocket" text=${run.wsEndpoint} />
        <${Address} label="CDP over HTTP" text=${run.cdpUrl} />
        <${Address} label="Live view" text=${run.liveUrl} />
        ${run.debuggerAddress&&html`<${Address} label="Debugger address" text=${run.debuggerAddress} />`}</section>`}`:html`<div class="quiet-box"><p>The addresses and the code are here while the browser runs.</p>
      <div><button type="button" class="button primary" disabled=${offline||busy||["starting","stopping"].includes(profile.status)} onClick=${()=>start(app,profile,
rows)}><${Icon} name="play" />Start</button></div></div>
      <p class="hint">A program can start it too: <code>POST /api/v1${path}/start</code> answers the same addresses. <a href="docs" target="_blank">API</a></p>`}
async function addresses(app,path){let{status}=await app.api.get(path);return status==="running"?app.api.post(`${path}/start`):null}function useList2(path,query,names=()=>!1){let app=useApp(),[state,setState]=d({rows:null,next:null,problem:null}),[busy,setBusy]=d(!1),last=T(0),read2=async after=>{
let mine=++last.current;setBusy(!0);try{let{data,next}=await app.api.get(path,{...query,after});mine===last.current&&setState(before=>({rows:after?[...before.rows,
...data]:data,next:next||null,problem:null}))}catch(problem){mine===last.current&&setState(before=>({...before,problem}))}mine===last.current&&setBusy(!1)};return A(
()=>{setState({rows:null,next:null,problem:null}),read2();let unwatch=app.model.event.watch(event=>(event.type==="everything"||names(event))&&read2());return()=>{
last.current=-1,unwatch()}},[path]),{...state,busy,reload:()=>read2(),more:()=>read2(state.next),drop:id=>setState(before=>({...before,rows:before.rows.filter(row=>row.
id!==id)}))}}function isOf(id,{type,data}){return/^(profile|run|capability)\./.test(type)&&(data?.profileId||data?.id)===id}function saveBlob(blob,name){let link=document.
createElement("a");link.href=URL.createObjectURL(blob),link.download=name,document.body.append(link),link.click(),link.remove(),setTimeout(()=>URL.revokeObjectURL(
link.href),6e4)}var STATES={__proto__:null,in_progress:"Downloading",cancelled:"Cancelled",interrupted:"Interrupted"},WHY={__proto__:null,files_quota:"the profile’s quota for f\
iles is used up"};function Data({profile,path}){let list=useList2(`${path}/downloads`,{limit:50},event=>isOf(profile.id,event));return html`
    <${Facts} pairs=${[["On disk",profile.diskBytes>0?html`${bytes(profile.diskBytes)}${profile.status==="running"&&html` <span class="muted">before this run</span>`}`:
"Nothing yet"]]} />
    <section><div class="section-head"><h3>Downloads</h3><button type="button" class="button small" disabled=${list.busy} onClick=${list.reload}><${Icon} name="reload" />Refresh</button></div>
      <p class="hint">Files of ${profile.status==="running"?"this run":"the last run"}. The next start removes them.</p>
      <${ProblemBox} problem=${list.problem} />
      ${list.rows?list.rows.length===0?html`<p class="muted">No downloads.</p>`:html`<ul class="lines-list">${list.rows.map(file=>html`<${Download} key=${file.id} ...${{
file,path,list}} />`)}</ul>`:!list.problem&&html`<${Waiting} />`}
      ${list.next&&html`<button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button>`}</section>`}function Download({
file,path,list}){let app=useApp(),busy=useStore(app.busy).has(file.id),{name,size,totalBytes,state,reason,endedAt,startedAt}=file,at=`${path}/downloads/${encodeURIComponent(
name)}`,going=state==="in_progress",save=()=>app.during(file.id,async()=>{try{saveBlob(await(await app.api.open("GET",`api/v1${at}`)).blob(),name)}catch(problem){
app.fail(`${name} was not saved`,problem)}}),drop=()=>app.open(ConfirmDialog,{title:going?"Cancel this download?":"Delete this file?",verb:going?"Cancel downloa\
d":"Delete",cancel:"Keep",work:async()=>{await app.api.delete(at),await list.reload()},children:html`<p><bdi>${name}</bdi> ${going?"is still being downloaded.":
"is removed now. This cannot be undone."}</p>`}),words=[STATES[state]&&`${STATES[state]}${reason?`: ${WHY[reason]||reason}`:""}`,going&&totalBytes?`${bytes(size)}\
 of ${bytes(totalBytes)}`:bytes(size)].filter(Boolean).join(" · ");return html`<li class="line-item"><span class="two-lines"><span class="title" title=${name}><${Name}>${name}<//></span><span class="sub">${words} · <${Ago} time=${endedAt||
startedAt} /></span></span>
    ${state==="complete"&&html`<button type="button" class="button small" disabled=${busy} aria-label=${`Save ${name}`} onClick=${save}><${Icon} name="download" />${busy?
"Saving…":"Save"}</button>`}
    <button type="button" class="icon-button" aria-label=${`${going?"Cancel":"Delete"} ${name}`} title=${going?"Cancel":"Delete"} onClick=${drop}><${Icon} name=${going?
"close":"trash"} /></button></li>`}function useExplain(profile,path){return useObject(`${path}/explain`,event=>isOf(profile.id,event)||/^proxy\.(updated|checked|all_checked)$/.test(event.type))}var FINDINGS={
__proto__:null,timezone_mismatch:["The timezone doesn’t match the proxy.","The timezone"],locale_mismatch:["The languages don’t match the proxy.","The langu\
age list"],geolocation_mismatch:["The location doesn’t match the proxy.","The location"],exit_unknown:["Where the proxy comes out is not known.",""]};function findingWords({
code,message}){let[title,subject]=FINDINGS[code]||["Something contradicts the proxy.","The profile"];return code==="exit_unknown"?{title,text:"Nothing can be co\
mpared with it. Check the proxy, or let the profile start with a warning."}:{title,text:sentence(`${subject} ${message}`.replace(/Set it to auto,? or to/,"Choos\
e “Match the proxy”, or"))}}function Findings({profile,findings}){let{router}=useApp();return html`<ul class="findings">${findings.map(finding=>{let{title,text:text2}=findingWords(
finding);return html`<li key=${finding.code}><strong>${title}</strong> ${text2} <a href=${router.beside(profile.id,finding.code==="exit_unknown"?"network":"iden\
tity")}>${finding.code==="exit_unknown"?"Open Network":"Open Identity"}</a></li>`})}</ul>`}var SETTINGS=[["os","System"],["browserVersion","Browser version"],["\
timezone","Timezone"],["locale","Languages"],["geolocation","Location"],["screen","Screen"],["webrtc","WebRTC"]],SOURCES={__proto__:null,profile:"Set here",exit:"\
From the proxy",host:"From this computer",default:"Default"},WEBRTC={__proto__:null,proxy_only:"Through the proxy only",off:"Off",default:"As Chrome does"};function valueWords(name,value){
return value==null||value.length===0?"Default":name==="os"?SYSTEMS[value]||value:name==="webrtc"?WEBRTC[value]||value:Array.isArray(value)?value.join(", "):typeof value!=
"object"?value==="off"?"Blocked":String(value):value.width?`${value.width} × ${value.height}${value.deviceScaleFactor?` × ${value.deviceScaleFactor}`:""}`:[value.
latitude,value.longitude].join(", ")}function detailWords(text2=""){return text2.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g,moment).replace(/\bis auto\b/,"is set to ma\
tch the proxy")}function Effective({effective,full}){return html`<table class="plain-table is-words"><thead><tr><th scope="col">Setting</th><th scope="col">Pages see</th><th scope="col">From</th></tr></thead>
    <tbody>${SETTINGS.filter(([name])=>effective[name]).map(([name,label])=>html`<tr key=${name}><th scope="row">${label}</th><td><bdi>${valueWords(name,effective[name].
value)}</bdi>${full&&effective[name].detail&&html`<span class="sub-words">${detailWords(effective[name].detail)}</span>`}</td>
      <td class="muted" title=${detailWords(effective[name].detail)}>${SOURCES[effective[name].source]||effective[name].source}</td></tr>`)}</tbody></table>`}function warningWords(warnings,findings){
return warnings.filter(({code})=>code!=="identity_mismatch"||!findings.length).map(({code,message})=>({code,text:code==="fallback_left_out"?"Not every fallback \
proxy can be used, since no check has found their countries. Check them, or allow fallbacks in any country (Network).":sentence(message)}))}function ProfileForm({object,...rest}){return object.data&&object.etag?html`<${Inside} object=${object} ...${rest} />`:html`<${Waiting} />`}function Inside({object,
path,rows,children,pending=[]}){let app=useApp(),offline=useStore(app.offline),{data,etag}=object,form=useForm(toValues(data)),version=useVersion({form,data,etag,
read:()=>app.api.full("GET",path),toValues,fields:FIELDS}),newer=etag!==version.etag&&data.updatedAt>version.data.updatedAt;A(()=>{!newer||version.changed||form.
busy||(form.setAll(toValues(data)),version.rebase({data,etag}))},[etag,version.changed,form.busy]);let save=async values=>{let saved=await saveProfile(app,version,
values);saved&&(rows.patch(saved.id,saved),object.reload(),app.toasts.say({text:`Saved ${saved.name}`,more:saved.run?.pending?.length?"Some of it takes effect w\
hen the browser starts next.":"",tone:"good"}))},reset=()=>{form.setProblem(null),form.setAll(JSON.parse(version.first))},foot=version.changed&&html`<button type="button" class="button" disabled=${form.
busy} onClick=${reset}>Undo changes</button>
    <button class="button primary" disabled=${form.busy||offline||!!version.conflict}>${form.busy?"Saving…":"Save"}</button>`;return html`<${Form} plain form=${form} work=${save} foot=${foot} saved=${version.
first}>
    <${Conflict} version=${version} />
    ${newer&&version.changed&&!version.conflict&&!form.busy&&html`<p class="meanwhile" role="status"><span>This profile was changed elsewhere meanwhile.</span> <button type="button" class="button small" onClick=${()=>version.
compare({data,etag})}>Compare</button></p>`}
    <div class="fields">${children(form)}</div>
    ${pending.length>0&&html`<p class="hint">${`Takes effect when the browser starts next: ${pending.join(", ")}.`}</p>`}
  <//>`}function pendingWords(members=[]){return members.map(name=>FIELDS.find(({names})=>names[0]===name)?.label||name)}function Identity({profile,path,object,rows}){let{data,problem}=useExplain(profile,path);return html`
    ${data?.findings.length>0&&html`<${Notice}><${Findings} ...${{profile}} findings=${data.findings} /><//>`}
    <${ProfileForm} ...${{object,path,rows}} pending=${pendingWords(data?.pending)}>${form=>html`<${IdentityFields} form=${form} saved />`}<//>
    <${ProblemBox} problem=${problem} />
    ${data&&html`<section><h3>${profile.status==="running"?"What pages see now":"What pages would see"}</h3><${Effective} effective=${data.effective} /></section>`}`}var DAYS=30,DAY_MS=864e5,[WIDTH,HEIGHT]=[420,96],GAP=2;function Traffic({path,id}){let app=useApp(),[{days,problem},setState]=d({days:null,problem:null});return A(
()=>{let read2=()=>{let dates=lastDays(Date.now());app.api.get(`${path}/traffic`,{by:"day",from:dates[0]}).then(({data})=>{let known=new Map(data.map(row=>[row.
day,row]));setState({days:dates.map(day=>known.get(day)||{day,bytesUp:0,bytesDown:0,connections:0}),problem:null})},fault=>setState(before=>({...before,problem:fault})))};
return read2(),app.model.event.watch(event=>(event.type==="everything"||event.type==="run.ended"&&isOf(id,event))&&read2())},[path]),html`<section><h3>Traffic, last ${DAYS} days</h3><${ProblemBox} problem=${problem} />${days&&
html`<${Chart} days=${days} />`}</section>`}function lastDays(now){return Array.from({length:DAYS},(_,i)=>new Date(now-(DAYS-1-i)*DAY_MS).toISOString().slice(0,
10))}function dayWords(day){return new Intl.DateTimeFormat("en",{day:"numeric",month:"short",timeZone:"UTC"}).format(Date.parse(day))}function Chart({days}){let total=day=>day.
bytesUp+day.bytesDown,most=Math.max(...days.map(total)),sums=days.reduce((sum2,day)=>({up:sum2.up+day.bytesUp,down:sum2.down+day.bytesDown}),{up:0,down:0});if(!most)
return html`<p class="muted">Nothing was sent or received.</p>`;let step=WIDTH/days.length,high=n=>Math.round(n/most*(HEIGHT-2));return html`<p class="chart-sums"><span class="chart-key is-down">Received ${bytes(
sums.down)}</span><span class="chart-key is-up">Sent ${bytes(sums.up)}</span></p>
    <svg class="chart" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      ${days.map((day,i)=>{let[down,up]=[high(day.bytesDown),Math.max(high(day.bytesUp),day.bytesUp?1:0)];return html`<g key=${day.day}><title>${`${dayWords(day.
day)}: ${bytes(day.bytesDown)} received, ${bytes(day.bytesUp)} sent`}</title>
          <rect class="chart-day" x=${i*step} y="0" width=${step} height=${HEIGHT} />
          <rect class="chart-down" x=${i*step+GAP/2} y=${HEIGHT-down} width=${step-GAP} height=${down} />
          <rect class="chart-up" x=${i*step+GAP/2} y=${HEIGHT-down-up} width=${step-GAP} height=${up} /></g>`})}</svg>
    <p class="chart-ends number" aria-hidden="true"><span>${dayWords(days[0].day)}</span><span>most in a day: ${bytes(most)}</span><span>${dayWords(days.at(-1).
day)}</span></p>
    <table class="visually-hidden"><caption>Traffic by day</caption><thead><tr><th scope="col">Day</th><th scope="col">Received</th><th scope="col">Sent</th><th scope="col">Connections</th></tr></thead>
      <tbody>${days.filter(total).map(day=>html`<tr key=${day.day}><th scope="row">${dayWords(day.day)}</th><td>${bytes(day.bytesDown)}</td><td>${bytes(day.bytesUp)}</td><td>${day.
connections}</td></tr>`)}</tbody></table>`}function Network({profile,path,object,rows}){let running=["running","starting"].includes(profile.status);return html`<${ProfileForm} ...${{object,path,rows}}>${form=>html`
      <${ProfileProxy} form=${form} workspaceId=${profile.workspaceId} hint=${running?"New connections of the running browser use it at once. “No proxy” takes e\
ffect when the browser starts next.":void 0} />
      <${NetworkFields} form=${form} workspaceId=${profile.workspaceId} />`}<//>
    <${Traffic} path=${path} id=${profile.id} />`}function Overview({profile,path}){let app=useApp(),now=useNow(),proxy=useProxy(profile.proxyId),explained=useExplain(profile,path).data,{run,lastRun,status}=profile,
running=status==="running",exit=running?run?.proxy:proxy?.status==="alive"?proxy.lastCheck:null,findings=explained?.findings||[],warnings=warningWords(running&&
run?.warnings||[],findings),pending=pendingWords(running&&run?.pending||[]);return html`
    ${profile.proxyMissing&&html`<${Notice}><p>Its proxy was deleted. Choose another before you start it.</p><//>`}
    ${!running&&proxy?.status==="dead"&&html`<${Notice}><p>Its proxy failed the last check. ${faultWords(proxy.lastCheck?.error)?.happened}</p><//>`}
    ${findings.length>0&&html`<${Notice}><${Findings} profile=${profile} findings=${findings} /><//>`}
    ${warnings.length>0&&html`<${Notice}><ul>${warnings.map(({code,text:text2})=>html`<li key=${code}>${text2}</li>`)}</ul><//>`}
    ${pending.length>0&&html`<p class="hint">${`Changed, and taking effect when the browser starts next: ${pending.join(", ")}.`}</p>`}
    ${running&&html`<div class="big-picture"><${Preview} profile=${profile} large /></div>`}
    <${Facts} pairs=${[["Proxy",proxy?html`<span class="with-flag"><${Country} code=${exit?.country||proxy.lastCheck?.country} /><${Name}>${proxyName(proxy)}<//></span>`:
profile.proxyId?"…":"None (direct connection)"],["Exit IP",exit?.exitIp&&html`<span class="number">${exit.exitIp}${exit.latencyMs!=null?` · ${span(exit.latencyMs)}`:
""}</span>`],["Through",running&&run?.proxy?.fallback&&"A fallback proxy"],["System",`${SYSTEMS[profile.os]||profile.os} ${profile.browserVersion}`],["Timezone",
running&&run?.effective?.timezone],["Languages",running&&[].concat(run?.effective?.locale||[]).join(", ")],["Running for",running&&run?.startedAt&&lasting(run.startedAt,
now)],["Last run",!running&&(lastRun?html`${endWords(lastRun)} <${Ago} time=${lastRun.endedAt||lastRun.startedAt} />`:"Never started")],["Tags",profile.tags?.length>
0&&html`<${Tags} tags=${profile.tags} most=${20} choose=${tag=>app.router.refine({tag})} />`],["Notes",profile.notes&&html`<bdi class="prose-lines">${profile.notes}</bdi>`],
["On disk",profile.diskBytes>0&&bytes(profile.diskBytes)],["Created",html`<${Ago} time=${profile.createdAt} />`],["Workspace",html`<bdi>${profile.workspaceId}</bdi>`],
["ID",html`<span class="mono">${profile.id}</span>`]]} />
    ${status==="failed"&&lastRun?.lines?.length>0&&html`<section><h3>The browser’s last lines</h3><pre class="lines" tabindex="0">${lastRun.lines.join(`
`)}</pre></section>`}`}function Runs({profile,path,object,rows}){let list=useList2(`${path}/runs`,{limit:30},event=>isOf(profile.id,event)&&/^run\.(started|ended|fallback|updated)$/.test(
event.type));return html`
    <${LogSwitch} ...${{profile,path,object,rows}} />
    <${ProblemBox} problem=${list.problem} />
    ${list.rows?list.rows.length===0?html`<p class="muted">It never ran.</p>`:html`<ul class="lines-list">${list.rows.map(run=>html`<${Run} key=${run.runId} run=${run} />`)}</ul>`:
!list.problem&&html`<${Waiting} />`}
    ${list.next&&html`<div><button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button></div>`}`}function LogSwitch({
profile,path,object,rows}){let app=useApp(),busy=useStore(app.busy).has(profile.id),offline=useStore(app.offline),change=event=>{let logHosts=event.currentTarget.
checked;app.during(profile.id,async()=>{try{let{data,etag}=await app.api.full("PUT",path,{body:{logHosts},headers:object.etag?{"If-Match":object.etag}:{}});object.
keep(data,etag),rows.patch(profile.id,data)}catch(problem){object.reload(),app.fail("The log of hosts was not changed",problem)}})};return html`<label class="tick"><input type="checkbox" role="switch" checked=${profile.
logHosts} disabled=${busy||offline||!object.data} onChange=${change} />
    <span>Keep a log of the hosts of each run <span class="optional">names only, never pages</span></span></label>`}function Run({run}){let[open,setOpen]=d(!1),
going=!run.endedAt,failed=run.status==="failed",traffic=run.bytesDown==null?null:bytes(run.bytesDown+run.bytesUp);return html`<li><details class="run" onToggle=${event=>setOpen(
event.currentTarget.open)}>
    <summary><span class="run-head"><span class=${going?"good-text":failed?"bad-text":""}>${going?run.status==="stopping"?"Closing":"Running":endWords(run)}</span><span class="muted"><${Ago} time=${run.
startedAt} /></span></span>
      <span class="run-sub muted number">${span(run.durationMs)}${run.proxy?html` · <${Country} code=${run.proxy.country} /> ${run.proxy.exitIp||"exit not know\
n"}`:" · direct"}${traffic&&` · ${traffic}`}</span></summary>
    ${open&&html`<${Details2} run=${run} />`}
  </details></li>`}function Details2({run}){let proxy=useProxy(run.proxy?.id);return html`<div class="run-body"><${Facts} pairs=${[["Started",moment(run.startedAt)],
["Ended",run.endedAt&&moment(run.endedAt)],["Browser",run.browser&&`${run.browser.product} ${run.browser.version}${run.headless?", headless":""}`],["Proxy",run.
proxy?html`<bdi>${proxy?proxyName(proxy):proxy===null?"Deleted":"…"}</bdi>${run.proxy.fallback?" (a fallback)":""}`:"None (direct connection)"],["Received",run.
bytesDown!=null&&bytes(run.bytesDown)],["Sent",run.bytesUp!=null&&bytes(run.bytesUp)],["Refused by rules",run.refusedByRules>0&&count(run.refusedByRules,"connec\
tion")],["Exit code",run.status==="failed"&&run.exitCode!=null&&String(run.exitCode)],["Signal",run.signal],["Run",html`<span class="mono">${run.runId}</span>`]]} />
    ${run.lines?.length>0&&html`<pre class="lines" tabindex="0" aria-label="The browser’s last lines">${run.lines.join(`
`)}</pre>`}
    <${Hosts} run=${run} /></div>`}function Hosts({run}){let{data,problem}=useObject(`/runs/${encodeURIComponent(run.runId)}/hosts`,()=>!1);return problem?problem.
status===404?null:html`<${ProblemBox} problem=${problem} />`:data?data.logged?data.data.length?html`<table class="plain-table"><caption class="visually-hidden">Hosts of this run</caption><thead><tr><th scope="col">Host</th><th scope="col" class="is-number">Conn.</th><th scope="col" class="is-number">Refused</th><th scope="col" class="is-number">Traffic</th></tr></thead>
    <tbody>${data.data.map(host=>html`<tr key=${host.host}><th scope="row"><bdi>${host.host}</bdi></th><td class="is-number">${number(host.connections)}</td><td class=${`\
is-number ${host.refused?"bad-text":"muted"}`}>${host.refused||"–"}</td><td class="is-number">${bytes(host.bytesUp+host.bytesDown)}</td></tr>`)}</tbody></table>
    ${data.notKept>0&&html`<p class="hint">${`And ${count(data.notKept,"request")} to hosts beyond the first 1,000.`}</p>`}`:html`<p class="hint">It connected to no host.</p>`:
html`<p class="hint">No log of hosts was kept.</p>`:null}var HOUR_MS=36e5,EXPIRIES=[["1","In 1 hour"],["8","In 8 hours"],["24","In 1 day"],["168","In 7 days"],["","When the browser stops"]];function Share({profile,path,
rows}){let app=useApp(),busy=useStore(app.busy).has(profile.id),offline=useStore(app.offline);return profile.status!=="running"?html`<div class="quiet-box"><p>A link opens the running browser to somebody else, for a time. Start the browser to make one.</p>
      <div><button type="button" class="button primary" disabled=${offline||busy||["starting","stopping"].includes(profile.status)} onClick=${()=>start(app,profile,
rows)}><${Icon} name="play" />Start</button></div></div>`:html`<${Links} key=${profile.run?.runId} ...${{profile,path}} />`}function Links({profile,path}){let list=useList2(
`${path}/capabilities`,{limit:50},event=>isOf(profile.id,event)&&event.type.startsWith("capability.")),[made,setMade]=d(null);return html`
    <${Notice}><p>A link works for anyone who has it, without a key. Whoever controls this browser acts as whoever is signed in there: send the link to one person, and revoke it when they are done.</p><//>
    ${made?html`<${Made} made=${made} again=${()=>setMade(null)} />`:html`<${MakeForm} path=${path} done=${fresh=>{setMade(fresh),list.reload()}} />`}
    <section><h3>Links of this run</h3><${ProblemBox} problem=${list.problem} />
      ${list.rows?list.rows.length===0?html`<p class="muted">No links.</p>`:html`<ul class="lines-list">${list.rows.map(one2=>html`<${Link} key=${one2.id} ...${{
one:one2,path,list}} gone=${()=>made?.id===one2.id&&setMade(null)} />`)}</ul>`:!list.problem&&html`<${Waiting} />`}
      ${list.next&&html`<button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button>`}</section>`}function MakeForm({
path,done}){let app=useApp(),offline=useStore(app.offline),form=useForm({name:"",rights:"view",hours:"1"}),make=async({name,rights,hours})=>done(await app.api.post(
`${path}/capabilities`,{...name.trim()?{name:name.trim()}:{},readonly:rights==="view",...hours?{expiresInMs:Number(hours)*HOUR_MS}:{}})),foot=html`<button class="button primary" disabled=${form.
busy||offline}>${form.busy?"One moment…":"Create link"}</button>`;return html`<${Form} plain form=${form} work=${make} saved=${JSON.stringify(form.values)}><div class="fields">
      <${Text} form=${form} name="name" label="For" optional wide placeholder="Ana, support" />
      <${Choice} form=${form} name="rights" member="readonly" label="They can" options=${[["view","Watch only"],["drive","Watch and control"]]} />
      <${Choice} form=${form} name="hours" member="expiresInMs" label="It expires" options=${EXPIRIES} />
    </div><div>${foot}</div><//>`}function Made({made,again}){return html`<section class="panel made" role="status"><h3>${made.readonly?"Link to watch":"Link to\
 watch and control"}</h3>
    <p class="hint">Copy it now. It is not shown again.</p>
    <${Address} label="Live view" text=${made.liveUrl} />
    ${made.wsEndpoint&&html`<${Address} label="CDP over WebSocket" text=${made.wsEndpoint} />`}
    ${made.cdpUrl&&html`<${Address} label="CDP over HTTP" text=${made.cdpUrl} />`}
    <div><button type="button" class="button small" onClick=${again}>Create another</button></div></section>`}function Link({one:one2,path,list,gone}){let app=useApp(),
now=useNow(),{id,name,readonly,files,createdAt,expiresAt}=one2,revoke2=()=>app.open(ConfirmDialog,{title:"Revoke this link?",verb:"Revoke",work:async()=>{await app.
api.delete(`${path}/capabilities/${encodeURIComponent(id)}`),gone(),await list.reload()},children:html`<p>Whoever uses it is disconnected at once. The link cannot be made valid again.</p>`}),
rights=`${readonly?"Watch only":"Watch and control"}${files?", and files of the server":""}`;return html`<li class="line-item"><span class="two-lines"><span class="title">${name?
html`<${Name}>${name}<//>`:"Without a name"}</span>
      <span class="sub">${rights} · <${Ago} time=${createdAt} prefix="made " /> · ${expiresAt?`until ${since(expiresAt,now)}`:"until the browser stops"}</span></span>
    <button type="button" class="button small" aria-label=${`Revoke ${name||"the link without a name"}`} onClick=${revoke2}>Revoke</button></li>`}function Tests({profile,path}){return html`<${LeakTest} path=${path} /><${Pictures} ...${{profile,path}} /><${Explained} ...${{profile,path}} />`}var CHANNELS={
__proto__:null,http:"Plain HTTP",https:"HTTPS",websocket:"WebSockets",eventsource:"Server-sent events",beacon:"Beacons",webtransport:"WebTransport",quic:"QUIC (\
HTTP/3)",download:"Downloads",popup:"Popups",redirect:"Redirects",prefetch:"Prefetching",prerender:"Prerendering",preconnect:"Connections made ahead",dns_prefetch:"\
Names looked up ahead",worker:"Workers",shared_worker:"Shared workers",service_worker:"Service workers",favicon:"Site icons",stun_udp:"WebRTC: STUN over UDP",turn_udp:"\
WebRTC: TURN over UDP",turn_tcp:"WebRTC: TURN over TCP",turn_tls:"WebRTC: TURN over TLS",mdns:"WebRTC: local names",webrtc_candidates:"WebRTC: addresses",dns:"N\
ame look-ups",loopback:"This computer",lan:"The local network",metadata:"Cloud metadata"};function LeakTest({path}){let app=useApp(),offline=useStore(app.offline),
[state,setState]=d({since:0,result:null,problem:null}),ending=T(null);A(()=>()=>ending.current?.abort(),[]);let run=async()=>{ending.current=new AbortController,
setState({since:Date.now(),result:null,problem:null});try{let result2=await app.api.post(`${path}/leak-test`,{},{signal:ending.current.signal});setState({since:0,
result:result2,problem:null})}catch(problem2){setState({since:0,result:null,problem:problem2.name==="AbortError"?null:problem2})}},{since:since2,result,problem}=state;
return html`<section><h3>Leak test</h3>
    <p class="hint">A browser with these settings tries every way around its proxy, in a temporary folder. It takes about 15 seconds. The profile’s own data is not touched.</p>
    <p class="button-line">${since2?html`<button type="button" class="button" onClick=${()=>ending.current.abort()}>Cancel</button> <span class="status wait" role="status"><span class="dot"></span>Testing…</span>`:
html`<button type="button" class="button" disabled=${offline} onClick=${run}><${Icon} name="pulse" />${result?"Test again":"Run the leak test"}</button>`}</p>
    <${ProblemBox} problem=${problem} />
    ${result&&html`<${LeakResult} result=${result} />`}</section>`}function LeakResult({result}){let failed=result.channels.filter(({passed})=>!passed),sorted=[
...failed,...result.channels.filter(({passed})=>passed)];return html`<div class="leak-result"><p class="leak-verdict" role="status"><span class=${`status ${result.
passed?"good":"bad"}`}><span class="dot"></span>${result.passed?"No leak found":`${number(failed.length)} of ${number(result.channels.length)} ways are not clos\
ed`}</span>
      <span class="muted">${moment(result.startedAt)} · ${span(result.durationMs)}</span></p>
    ${result.warnings.length>0&&html`<${Notice}><ul>${result.warnings.map(({code,message})=>html`<li key=${code}>${sentence(message)}</li>`)}</ul><//>`}
    <table class="plain-table is-words"><caption class="visually-hidden">Ways out that were tried</caption><thead><tr><th scope="col">Way out</th><th scope="col">Result</th><th scope="col">What was seen</th></tr></thead>
      <tbody>${sorted.map(({channel,passed,seen})=>html`<tr key=${channel}><th scope="row" title=${channel}>${CHANNELS[channel]||channel}</th>
        <td><span class=${passed?"good-text":"bad-text"}>${passed?"Closed":"Not closed"}</span></td><td class="muted">${seen?sentence(seen):"–"}</td></tr>`)}</tbody></table></div>`}
function Pictures({profile,path}){let app=useApp(),[busy,setBusy]=d(""),[problem,setProblem]=d(null),now=useNow(),running=profile.status==="running",save=(what,address2,ending)=>async()=>{
setBusy(what),setProblem(null);try{let response=await app.api.open("GET",`api/v1${path}/${address2}`);saveBlob(await response.blob(),fileName(profile.name,now,ending))}catch(fault){
setProblem(fault)}setBusy("")};return html`<section><h3>Picture of the page</h3><p class="hint">${running?"Of the tab in front.":"Start the browser first."}</p>
    <p class="button-line">${[["Screenshot","screenshot","png"],["Whole page","screenshot?fullPage=true","png"],["PDF","pdf","pdf"]].map(([label,address2,ending])=>html`<button type="button" class="button" key=${label} disabled=${!running||
!!busy} onClick=${save(label,address2,ending)}><${Icon} name="download" />${busy===label?"Saving…":label}</button>`)}</p>
    <${ProblemBox} problem=${problem} /></section>`}function fileName(name,now,ending){return`${name.replace(/[^\p{L}\p{N} ._-]+/gu," ").trim().slice(0,80)||"pa\
ge"} ${new Date(now).toISOString().slice(0,19).replaceAll(":","-")}.${ending}`}function Explained({profile,path}){let{data,problem}=useExplain(profile,path);return data?
html`<section><h3>What sites can tell</h3>
    ${data.findings.length>0?html`<${Notice}><${Findings} profile=${profile} findings=${data.findings} /><//>`:html`<p>${data.exit?"Nothing contradicts the prox\
y.":"There is no proxy to compare with."}</p>`}
    <${Effective} effective=${data.effective} full />
    ${data.differences.length>0&&html`<h3 class="apart">What remains visible</h3><p class="hint">A site that looks closely can tell these apart from a real one.</p>
      <ul class="differences">${data.differences.map(({code,message,contexts})=>html`<li key=${code}>${sentence(message)} <span class="muted">${contexts.map(one2=>one2.
replaceAll("_"," ")).join(", ")}</span></li>`)}</ul>`}</section>`:html`<section><h3>What sites can tell</h3><${ProblemBox} problem=${problem} />${!problem&&html`<${Waiting} />`}</section>`}var TABS=[["overview","Overview",Overview],["identity","Identity",Identity],["network","Network",Network],["data","Data",Data],["runs","Runs",Runs],["connect","\
Connect",Connect],["share","Share",Share],["tests","Tests",Tests]];function ProfileDrawer({id,tab,rows}){let path=`/profiles/${encodeURIComponent(id)}`,object=useObject(
path,({type,data})=>/^(profile|run)\./.test(type)&&(data?.profileId||data?.id)===id),profile=object.data||rows.find(id),tabs=TABS.map(([name,label,Tab])=>({id:name,
label,draw:()=>html`<${Tab} ...${{profile,path,object,rows}} />`})),exit=profile?.run?.proxy;return html`<${Drawer} label="Profile" title=${profile?html`<${Name}>${profile.
name}<//>`:"Profile"} tab=${tab} tabs=${tabs} problem=${object.problem} ready=${!!profile}
    below=${profile&&html`<${Status} of=${PROFILE_STATUS[profile.status]||{text:profile.status,tone:"quiet"}} />${exit&&html`<${Country} code=${exit.country} /><span class="number">${exit.
exitIp}</span>`}`}
    actions=${profile&&html`<${DrawerActions} ...${{profile,rows,object}} />`} />`}function DrawerActions({profile,rows,object}){let app=useApp(),busy=useStore(
app.busy).has(profile.id),offline=useStore(app.offline),running=profile.status==="running",edit3=()=>app.open(ProfileDialog,{profile,done:changed=>{rows.patch(profile.
id,changed),object.reload()}});return html`
    ${running?html`<a class="button small" href=${viewOf(profile.id)}><${Icon} name="eye" />View</a>
        <button type="button" class="button small" disabled=${offline||busy} onClick=${()=>stop(app,profile,rows)}><${Icon} name="stop" />Stop</button>`:html`<button type="button" class="button small primary" disabled=${offline||
busy||["starting","stopping"].includes(profile.status)} onClick=${()=>start(app,profile,rows)}><${Icon} name="play" />Start</button>`}
    <${Menu} label="More for this profile" items=${[{label:"Edit",icon:"edit",run:edit3},{label:"Duplicate",icon:"copy",run:()=>duplicate(app,profile)},running&&
{label:"Restart",icon:"reload",run:()=>restart(app,profile)},"line",{label:"Move to trash",icon:"trash",danger:!0,run:()=>askToDelete(app,profile,rows)}]} />`}var NOTHING=html`<span class="muted">–</span>`;function profileColumns({choose,open}){return[{id:"name",label:"Name",min:200,grow:3,sort:"name",first:"asc",always:!0,
draw:profile=>html`<${NameCell} profile=${profile} open=${open} />`},{id:"status",label:"Status",width:108,rank:1,card:!0,draw:profile=>html`<${StatusCell} profile=${profile} />`},
{id:"proxy",label:"Proxy",min:180,grow:2,rank:2,card:!0,draw:profile=>html`<${ProxyCell} profile=${profile} />`},{id:"tags",label:"Tags",min:130,grow:1.3,rank:4,
draw:profile=>html`<${Tags} tags=${profile.tags} choose=${choose} most=${2} />`},{id:"lastRun",label:"Last run",width:158,sort:"lastStartedAt",rank:3,card:!0,draw:profile=>html`<${LastRun} profile=${profile} />`},
{id:"os",label:"System",width:122,rank:6,draw:profile=>html`<${System} profile=${profile} />`},{id:"created",label:"Created",width:112,sort:"createdAt",rank:7,draw:({
createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`},{id:"updated",label:"Changed",width:112,sort:"updatedAt",rank:8,hidden:!0,draw:({updatedAt})=>html`<span class="muted"><${Ago} time=${updatedAt} /></span>`},
{id:"notes",label:"Notes",min:140,grow:1.5,rank:9,hidden:!0,draw:({notes})=>notes?html`<bdi class="one-line" title=${notes}>${notes}</bdi>`:NOTHING},{id:"worksp\
ace",label:"Workspace",width:120,rank:10,hidden:!0,draw:({workspaceId})=>html`<bdi class="one-line">${workspaceId}</bdi>`},{id:"disk",label:"On disk",width:88,numeric:!0,
rank:11,hidden:!0,draw:({diskBytes})=>diskBytes?bytes(diskBytes):NOTHING},{id:"id",label:"ID",width:292,rank:12,hidden:!0,draw:({id})=>html`<span class="mono">${id}</span>`}]}
function NameCell({profile,open}){return html`${profile.status==="running"&&html`<${Preview} profile=${profile} />`}<span class="two-lines">
    <button type="button" class="link title" title=${profile.name} onClick=${()=>open(profile)}><${Name}>${profile.name}<//></button></span>`}function StatusCell({
profile}){let status=PROFILE_STATUS[profile.status]||{text:profile.status,tone:"quiet"};return profile.status!=="stopped"?html`<${Status} of=${status} />`:html`<span class="status quiet" title="Stopped"><span class="dot"></span><span class="visually-hidden">Stopped</span></span>`}
function System({profile}){return html`<span class="one-line muted">${SYSTEMS[profile.os]||profile.os} ${profile.browserVersion}</span>`}function ProxyCell({profile}){
let proxy=useProxy(profile.proxyId);if(profile.proxyMissing)return html`<span class="bad-text">Proxy deleted</span>`;if(!profile.proxyId)return html`<span class="muted" title="No proxy (direct connection)">–</span>`;
if(proxy===void 0)return html`<span class="bone"></span>`;if(proxy===null)return html`<span class="muted">Unknown</span>`;let{lastCheck,status}=proxy,exit=profile.
run?.proxy?.exitIp?profile.run.proxy:status==="alive"?lastCheck:null,below=status==="dead"&&!exit?html`<span class="bad-text">${faultWords(lastCheck?.error)?.happened||
"The last check failed."}</span>`:exit?.exitIp?html`${exit.exitIp}${exit.latencyMs!=null?` · ${span(exit.latencyMs)}`:""}`:"Not checked";return html`<span class="two-lines"><span class="with-flag"><${Country} code=${exit?.
country||lastCheck?.country} name=${lastCheck?.countryName} /> <${Name}>${proxyName(proxy)}<//></span>
    <span class="sub number">${below}</span></span>`}function LastRun({profile}){let now=useNow(),{run,lastRun,status}=profile;if(run?.startedAt&&status!=="fail\
ed")return html`<time class="number" datetime=${run.startedAt} title=${`Since ${moment(run.startedAt)}`}>${lasting(run.startedAt,now)}</time>`;if(!lastRun)return html`<span class="muted">Never</span>`;
let took=lastRun.durationMs??Date.parse(lastRun.endedAt)-Date.parse(lastRun.startedAt),title=`${endWords(lastRun)}${took>=0?` after ${span(took)}`:""}`;if(status!==
"failed")return html`<span class="muted" title=${title}><${Ago} time=${lastRun.endedAt||lastRun.startedAt} /></span>`;let code=lastRun.signal?`, ${lastRun.signal}`:
lastRun.exitCode>0?`, exit code ${lastRun.exitCode}`:"";return html`<span class="two-lines"><${Ago} time=${lastRun.endedAt||lastRun.startedAt} />
    <span class="sub bad-text" title=${(lastRun.lines||[]).join(`
`)}><${Icon} name="warning" />${endWords(lastRun)}${code}</span></span>`}var FILTERS=["search","status","tag","proxyId","country","os","proxyStatus","neverStarted"];function profileFilters(tags){return[{name:"status",label:"Status",options:Object.
entries(PROFILE_STATUS).map(([value,{text:text2}])=>[value,text2])},{name:"neverStarted",label:"Started",options:[["true","Never"],["false","At least once"]]},{
name:"proxyStatus",label:"Proxy state",options:[["alive","Alive"],["dead","Dead"],["unknown","Not checked"]]},{name:"os",label:"System",options:Object.entries(SYSTEMS)},
{name:"tag",label:"Tag",many:!0,panel:FreeFilter({suggestions:tags,placeholder:"shop"})},{name:"country",label:"Country",panel:FreeFilter({placeholder:"DE",pattern:"\
[A-Za-z]{2}"}),text:code=>countryName(code.toUpperCase())},{name:"proxyId",label:"Proxy",panel:ProxyFilter,text:id=>id==="none"?"None (direct)":html`<${ProxyName} id=${id} />`}]}
function ProxyName({id}){let proxy=useProxy(id);return proxy?proxyName(proxy):id}function ProxyFilter({choose,label}){let{api}=useApp(),[text2,setText]=d(""),[found,
setFound]=d([]);return A(()=>{let ending=new AbortController;return api.get("/proxies",{search:text2.trim(),limit:8,page:1},{signal:ending.signal}).then(({data})=>setFound(
data),()=>{}),()=>ending.abort()},[text2]),html`<span class="filter-find"><input type="text" aria-label=${label} placeholder="Name or host" value=${text2} onInput=${event=>setText(
event.currentTarget.value)} spellcheck=${!1} />
    <span class="filter-options"><button type="button" class="chip-option" onClick=${()=>choose("none")}>None (direct)</button>
      ${found.map(proxy=>html`<button type="button" key=${proxy.id} class="chip-option" onClick=${()=>choose(proxy.id)}><bdi>${proxyName(proxy)}</bdi></button>`)}</span></span>`}
var VIEWS=[{name:"running",label:"Running",params:{status:"running"}},{name:"failed",label:"Failed",params:{status:"failed"}},{name:"dead",label:"Dead proxy",params:{
proxyStatus:"dead"}},{name:"never",label:"Never started",params:{neverStarted:"true"}}];function queryOf2(params,workspaceId){return{...Object.fromEntries(FILTERS.
map(name=>[name,name==="tag"?params.getAll(name):params.get(name)||""])),workspaceId}}function isFiltered(params){return FILTERS.some(name=>params.get(name))}function onProfileEvent({type,data},rows){let[kind,what]=type.split(".");if(kind!=="profile"&&kind!=="run")return;let came=kind==="profile"&&["created","batch_c\
reated","deleted","restored"].includes(what);rows.changed(data?.profileId||data?.id,came)}function isRefined(query){return FILTERS.some(name=>query[name]?.length>
0)||["updatedAt","lastStartedAt","name"].includes(query.sort)}function ProfilesPage({params,path}){let app=useApp(),workspaceId=useStore(app.model.workspace),order=useSort(
params,"createdAt"),query={...queryOf2(params,workspaceId),sort:order.sort,order:order.order},{rows,selection,view}=useList("/profiles",query,onProfileEvent,{filtered:isRefined}),
open=profile=>app.router.open(profile.id),columns=useColumns("profiles",()=>profileColumns({choose:tag=>app.router.refine({tag}),open})),filtered=isFiltered(params),
{total,atLeast}=view,known=()=>[...new Set(rows.loaded().flatMap(({tags})=>tags||[]))].sort(),{first,hold,end}=useFirst(total===0&&!filtered&&!view.problem,rows);
return html`<div class="page">
    <header class="page-head">
      <h1 tabindex="-1">Profiles ${total!==null&&html`<span class="total number">${number(total,atLeast)}</span>`}</h1>
      <div class="tools">
        ${!first&&html`<${SearchBox} value=${params.get("search")||""} label="Search profiles" change=${search=>app.router.refine({search},{replace:!0})} />`}
        <button type="button" class=${first?"button":"button primary"} onClick=${()=>create(app)}><${Icon} name="plus" /><span>New profile</span></button>
      </div>
    </header>
    ${!first&&(filtered||total!==0)&&html`<div class="filters"><${Chips} filters=${profileFilters(known)} params=${params} /><${ViewMenu} columns=${columns} ...${order} /></div>`}
    <${NoBrowser} />
    <${GridProblem} rows=${rows} />
    <div class="page-body">${first?html`<${FirstRun} hold=${hold} end=${end} />`:total===0&&!view.problem?html`<${NoProfiles} />`:html`<${Grid} label="Profiles" ...${{
rows,columns,selection,open}} ...${order} opened=${path[0]}
      what=${({name})=>name} tone=${({status})=>`is-${status}`} actionsWidth=${152}
      actions=${profile=>html`<${RowActions} profile=${profile} rows=${rows} />`}
      keys=${{s:profile=>canStart(profile)?start(app,profile,rows):stop(app,profile,rows),v:profile=>profile.status==="running"&&app.router.go(viewOf(profile.id)),
e:profile=>edit(app,profile,rows),p:profile=>chooseProxy(app,profile,rows),Delete:profile=>askToDelete(app,profile,rows)}} />`}
      ${path[0]&&html`<${ProfileDrawer} key=${path[0]} id=${path[0]} tab=${path[1]} rows=${rows} />`}</div>
    <${ProfileBulk} ...${{selection,rows,total:total??0}} />
    <p class="visually-hidden" role="status">${total!==null&&filtered?`${number(total,atLeast)} profiles match`:""}</p>
  </div>`}function useFirst(none,rows){let[held,setHeld]=d(!1);return{first:none||held,hold:()=>setHeld(!0),end:async()=>{await rows.reload().catch(()=>{}),setHeld(
!1)}}}function NoProfiles(){let app=useApp();return html`<${Empty} title="No matches"><p>No profile matches this search.</p>
    <button type="button" class="button" onClick=${()=>app.router.refine(Object.fromEntries(FILTERS.map(name=>[name,""])))}>Show all profiles</button><//>`}function create(app){
app.open(ProfileDialog,{})}function edit(app,profile,rows){app.open(ProfileDialog,{profile,done:changed=>rows.patch(profile.id,changed)})}function chooseProxy(app,profile,rows){
app.open(ProxyDialog,{profile,done:changed=>rows.patch(profile.id,changed)})}function canStart({status}){return status==="stopped"||status==="failed"}function RowActions({
profile,rows}){let app=useApp(),busy=useStore(app.busy).has(profile.id),offline=useStore(app.offline),why=useNoStart(),{name,status}=profile,running=status==="r\
unning";return html`<div class="actions">
    ${running&&html`<a class="icon-button" href=${viewOf(profile.id)} aria-label=${`View ${name}`} title="View"><${Icon} name="eye" /></a>`}
    ${running||status==="stopping"?html`<button type="button" class="button small" disabled=${offline} aria-disabled=${busy||!running} aria-label=${`Stop ${name}`} onClick=${()=>stop(
app,profile,rows)}><${Icon} name="stop" />Stop</button>`:html`<button type="button" class="button small go" disabled=${!!why} title=${why||void 0} aria-disabled=${busy||
status==="starting"} aria-label=${`Start ${name}`} onClick=${()=>start(app,profile,rows)}><${Icon} name="play" />Start</button>`}
    <${Menu} label=${`More for ${name}`} items=${[running&&{label:"Connect",icon:"plug",run:()=>connect(app,profile,rows)},{label:"Edit",icon:"edit",keys:"E",run:()=>edit(
app,profile,rows)},{label:"Choose a proxy",icon:"proxies",keys:"P",run:()=>chooseProxy(app,profile,rows)},{label:"Duplicate",icon:"copy",run:()=>duplicate(app,profile)},
"line",{label:"Move to trash",icon:"trash",danger:!0,run:()=>askToDelete(app,profile,rows)}]} />
  </div>`}var FIELDS2=[["Type","type",type=>PROXY_TYPES[type]||type],["Host","host"],["Port","port"],["User name","username"],["Name","name"],["Tags","tags",tags=>tags.join(
", ")],["Notes","notes"]].map(([label,name,words=value=>value])=>({label,names:[name],words:values=>words(values[name])||"None"}));function ProxyForm({proxy,done,
close}){let app=useApp(),[read2,setRead]=d(proxy?null:{data:null,etag:null}),[problem,setProblem]=d(null),load=()=>(setProblem(null),app.api.full("GET",pathOf(proxy)).
then(setRead,setProblem));return A(()=>{proxy&&load()},[]),html`<${Dialog} sheet title=${proxy?html`Edit <${Name}>${proxyName(proxy)}<//>`:"Add a proxy"} close=${close}>
    ${read2?html`<${Fields} proxy=${read2.data} etag=${read2.etag} ...${{done,close}} />`:html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${problem?
html`<button type="button" class="button" onClick=${load}>Try again</button>`:html`<${Waiting} />`}</div>`}
  <//>`}function pathOf({id}){return`/proxies/${encodeURIComponent(id)}`}function Fields({proxy,etag,done,close}){let app=useApp(),workspace=useStore(app.model.
workspace),form=useForm(toValues2(proxy,workspace)),version=useVersion({form,data:proxy,etag,read:()=>app.api.full("GET",pathOf(proxy)),toValues:data=>toValues2(
data,workspace),fields:FIELDS2}),[result,setResult]=d(null),send=values=>proxy?version.save((headers,before)=>app.api.full("PUT",pathOf(before),{body:changes2(before,
values),headers})):app.api.full("POST","/proxies",{body:toBody2(values)}),save=async values=>{let answer=await send(values);answer&&(app.proxies.keep(answer.data),
app.toasts.say({text:`${proxy?"Saved":"Added"} ${proxyName(answer.data)}.`,tone:"good"}),close(),done?.(answer.data))},test=()=>form.send(async values=>{setResult(
null),setResult(await app.api.post("/proxies/check",toBody2(values,!0)))}),explain=({body})=>body?.existingId&&html`<${Existing} id=${body.existingId} />`,foot=html`
    ${!proxy&&html`<button type="button" class="button apart" disabled=${form.busy} onClick=${test}>${form.busy?"One moment…":"Test connection"}</button>`}
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy||!!version.conflict}>${form.busy?"One moment…":proxy?"Save":"Add proxy"}</button>`;return html`<${Form} form=${form} work=${save} foot=${foot} explain=${explain} saved=${proxy?
version.first:void 0}>
    <${Conflict} version=${version} />
    <${Parts} form=${form} proxy=${proxy} />
    <div role="status">${result&&html`<div class="panel"><${CheckResult} result=${result} /></div>`}</div>
    <${Labels} form=${form} proxy=${proxy} />
  <//>`}function Existing({id}){let proxy=useProxy(id);return proxy&&html`<p>Its name is <${Name}>${proxyName(proxy)}<//>.</p>`}function Parts({form,proxy}){let{
values}=form,saved=proxy?.hasPassword&&!values.forget,moved=saved&&!values.password&&isElsewhere(proxy,values),asked=moved&&"The saved password belongs to the o\
ld server. Type it again for this one, or remove it. Only a key that may read passwords can keep it.",again=form.faults("password").some(fault=>fault.message.startsWith(
"Type the password again"));return html`<div class="fields">
    <${Choice} form=${form} name="type" label="Type" wide options=${Object.entries(PROXY_TYPES)}
      hint=${values.type==="socks4"&&"SOCKS4 has a user name only, no password."} />
    <${Text} form=${form} name="host" label="Host" class="mono" placeholder="proxy.example.net" autofocus=${!proxy} />
    <${Text} form=${form} name="port" label="Port" class="mono" inputmode="numeric" placeholder="1080" />
    <${Text} form=${form} name="username" label="User name" optional autocomplete="off" />
    ${values.type!=="socks4"&&html`<${Text} form=${form} name="password" label="Password" optional type="password" autocomplete="new-password"
      placeholder=${moved?"Type it again":saved?"Saved. Type to replace it.":""} hint=${asked}
      say=${again&&"Type the password again. The saved one is not sent to another server."} />`}
    ${values.type!=="socks4"&&proxy?.hasPassword&&html`<label class="tick wide"><input type="checkbox" checked=${form.values.forget} onChange=${event=>form.set(
"forget",event.currentTarget.checked)} />
      <span>Remove the saved password</span></label>`}
  </div>`}function isElsewhere(proxy,values){return values.type!==proxy.type||values.host.trim().toLowerCase()!==proxy.host||number2(values.port)!==proxy.port}function Labels({
form,proxy}){let known=useStore(useApp().model.workspaces);return html`<fieldset class="group"><legend>Details</legend><div class="fields">
    <${Text} form=${form} name="name" label="Name" optional wide placeholder="Berlin 1" />
    <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." />
    <${Lines} form=${form} name="notes" label="Notes" optional rows=${2} />
    ${!proxy&&html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="known-workspaces" hint="Profiles of the same workspace can use it." />
      <datalist id="known-workspaces">${known.map(id=>html`<option key=${id} value=${id} />`)}</datalist>`}
  </div></fieldset>`}function toValues2(proxy,workspace){let p=proxy||{};return{type:p.type||"socks5",host:p.host||"",port:p.port?String(p.port):"",username:p.username||
"",password:"",forget:!1,name:p.name||"",tags:p.tags||[],notes:p.notes||"",workspaceId:p.workspaceId||workspace}}function toBody2(values,bare=!1){let body={type:values.
type,host:values.host.trim(),port:number2(values.port)},given={workspaceId:values.workspaceId.trim(),username:values.username,password:values.type==="socks4"?"":
values.password};bare||Object.assign(given,{name:values.name.trim(),notes:values.notes});for(let[name,value]of Object.entries(given))value&&(body[name]=value);return!bare&&
values.tags.length&&(body.tags=values.tags),body}function changes2(proxy,values){let wanted={type:values.type,host:values.host.trim(),port:number2(values.port),
username:values.username||null,name:values.name.trim(),tags:values.tags,notes:values.notes},known={...toValues2(proxy,""),port:proxy.port,username:proxy.username||
null},body=Object.fromEntries(Object.entries(wanted).filter(([name,value])=>JSON.stringify(value)!==JSON.stringify(known[name]))),none=values.forget||!values.username||
values.type==="socks4";return values.password&&values.type!=="socks4"?body.password=values.password:proxy.hasPassword&&none&&(body.password=null),body}var HEIGHT2=132,BOTTOM=20,TOP=8,LEFT=52,LINES=3,TIP_WIDTH=150;function Bars({title,points,parts,say,empty="Nothing yet."}){let most=niceMost(Math.max(0,...points.
map(({values})=>sum(values))));return points.some(({values})=>sum(values)>0)?html`<${Frame} title=${title} points=${points} parts=${parts} say=${say} most=${most} draw=${({
x,y,step})=>points.map(({values},i)=>{let width=Math.max(1,Math.min(28,step-Math.min(6,step/4))),base=0;return values.map((value,part)=>{if(!value)return null;let from=y(
base);return base+=value,html`<rect key=${`${i} ${part}`} class=${`chart-bar ${parts[part].tone}`} x=${x(i)-width/2} y=${y(base)} width=${width} height=${Math.max(
1,from-y(base))} rx=${Math.min(2,width/4)} />`})})} />`:html`<p class="muted">${empty}</p>`}function Line({title,points,parts,say,empty="Nothing yet."}){let most=niceMost(
Math.max(0,...points.flatMap(({values})=>values.map(value=>value??0))));return points.length?html`<${Frame} title=${title} points=${points} parts=${parts} say=${say} most=${most} draw=${({
x,y})=>[...parts.map(({tone},part)=>html`<path key=${part} class=${`chart-line ${tone}`} d=${pathOf2(points.map(({values})=>values[part]),x,y)} />`),...points.flatMap(
({values,mark},i)=>[...values.map((value,part)=>value===null?null:html`<circle key=${`${i} ${part}`} class=${`chart-dot ${parts[part].tone}`} cx=${x(i)} cy=${y(
value)} r=${points.length>60?1.5:2.5} />`),mark&&html`<path key=${`${i} mark`} class="chart-mark" d=${`M${x(i)-3} ${y(0)-8}l6 6m0-6l-6 6`} />`])]} />`:html`<p class="muted">${empty}</p>`}
function pathOf2(values,x,y){let path="",open=!1;return values.forEach((value,i)=>{value!==null&&(path+=`${open?"L":"M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`),
open=value!==null}),path}function Frame({title,points,parts,say,most,draw}){let box=T(null),id=P(),[width,setWidth]=d(0),[at,setAt]=d(-1);F(()=>{let observer=new ResizeObserver(
()=>box.current&&setWidth(box.current.clientWidth));return observer.observe(box.current),setWidth(box.current.clientWidth),()=>observer.disconnect()},[]);let step=(width-
LEFT-4)/Math.max(1,points.length),x=i=>LEFT+step*(i+.5),y=value=>TOP+(HEIGHT2-BOTTOM-TOP)*(1-value/(most||1)),every=Math.max(1,Math.ceil(54/step)),moved=event=>{
let i=Math.floor((event.clientX-box.current.getBoundingClientRect().left-LEFT)/step);setAt(i>=0&&i<points.length?i:-1)},scale=Array.from({length:LINES+1},(_,i)=>most/
LINES*i);return html`<figure class="chart" aria-labelledby=${id}>
    <figcaption class="chart-head"><span id=${id} class="chart-title">${title}</span>${parts.length>1&&html`<span class="chart-legend" aria-hidden="true">${parts.
map(({label,tone})=>html`<span key=${label}><i class=${`chart-key ${tone}`}></i>${label}</span>`)}</span>`}</figcaption>
    <div class="chart-box" ref=${box} onPointerMove=${moved} onPointerLeave=${()=>setAt(-1)}>
      ${width>0&&html`<svg width=${width} height=${HEIGHT2} aria-hidden="true">
        ${scale.map(value=>html`<line key=${value} class="chart-grid" x1=${LEFT} x2=${width} y1=${y(value)} y2=${y(value)} />
          <text class="chart-text" x=${LEFT-8} y=${y(value)+4} text-anchor="end">${say(value)}</text>`)}
        ${at>=0&&html`<rect class="chart-under" x=${x(at)-step/2} y=${TOP} width=${step} height=${HEIGHT2-BOTTOM-TOP} />`}
        ${draw({x,y,step})}
        ${points.map(({label},i)=>(points.length-1-i)%every===0&&html`<text key=${i} class="chart-text" x=${Math.min(x(i),width-25)} y=${HEIGHT2-4} text-anchor="middle">${label}</text>`)}
      </svg>`}
      ${at>=0&&html`<div class="chart-tip" aria-hidden="true" style=${{left:`${Math.max(0,Math.min(width-TIP_WIDTH,x(at)-TIP_WIDTH/2))}px`,width:`${TIP_WIDTH}px`}}>
        <strong>${points[at].full}</strong>${parts.map(({label},part)=>html`<span key=${label}>${label}: ${points[at].values[part]===null?points[at].mark||"–":
say(points[at].values[part])}</span>`)}</div>`}
    </div>
    <table class="visually-hidden"><caption>${title}</caption><thead><tr><th scope="col">When</th>${parts.map(({label})=>html`<th key=${label} scope="col">${label}</th>`)}</tr></thead>
      <tbody>${points.map(({full,values,mark},i)=>html`<tr key=${i}><th scope="row">${full}</th>${values.map((value,part)=>html`<td key=${part}>${value===null?mark||
"none":say(value)}</td>`)}</tr>`)}</tbody></table>
  </figure>`}function sum(values){return values.reduce((all,value)=>all+(value||0),0)}function niceMost(most){let step=most/LINES||1,power=10**Math.floor(Math.log10(
step));return[1,1.5,2,2.5,3,4,5,6,8,10].find(one2=>one2*power>=step)*power*LINES}var KEPT=100,LISTED=20;function Checks({proxy}){let app=useApp(),[state,setState]=d({data:null,problem:null}),[all,setAll]=d(!1),checkedAt=proxy.lastCheck?.checkedAt;
A(()=>{app.api.get(`/proxies/${encodeURIComponent(proxy.id)}/checks`,{limit:KEPT}).then(({data:data2})=>setState({data:data2,problem:null}),problem2=>setState(before=>({
...before,problem:problem2})))},[proxy.id,checkedAt]);let{data,problem}=state;if(problem&&!data)return html`<${ProblemBox} problem=${problem} />`;if(!data)return html`<${Waiting} />`;
if(!data.length)return html`<p class="muted">It was never checked. Press “Check” above.</p>`;let listed=all?data:data.slice(0,LISTED);return html`
    <${Figures} proxy=${proxy} checks=${data} />
    <${Line} title="Latency" points=${pointsOf(data)} parts=${[{label:"Latency",tone:"tone-a"}]} say=${short} />
    ${data.some(({ok})=>!ok)&&html`<p class="hint"><span class="bad-text" aria-hidden="true">×</span> marks a failed check.</p>`}
    <${Exits} checks=${data} />
    <section><h3>${data.length>=KEPT?`The last ${KEPT} checks`:count(data.length,"check")}</h3>
      <ul class="event-list">${listed.map((check2,i)=>html`<li key=${`${check2.checkedAt} ${i}`}><button type="button" class="event-line" onClick=${()=>app.open(
CheckDialog,{proxy,result:check2})}>
        <${Status} of=${PROXY_STATUS[check2.ok?"alive":"dead"]} /><span class="event-what">${check2.ok?html`<span class="with-flag"><${Country} code=${check2.country} bare /><span class="number">${check2.
exitIp}</span></span>`:html`<span class="one-line">${faultWords(check2.error)?.happened||"The check failed."}</span>`}</span>
        <span class="muted number">${check2.ok&&check2.latencyMs!=null?short(check2.latencyMs):""}</span><span class="muted event-when"><${Ago} time=${check2.checkedAt} /></span></button></li>`)}</ul>
      ${data.length>listed.length&&html`<button type="button" class="button small" onClick=${()=>setAll(!0)}>Show all ${data.length}</button>`}</section>`}function short(ms){
return ms>0&&ms<1?"< 1 ms":span(ms)}function Figures({proxy,checks}){let good=checks.filter(({ok})=>ok).length,{p50Ms,p95Ms}=proxy.latency||{};return html`<dl class="figures"><div><dt>Uptime</dt><dd>${Math.
floor(good/checks.length*100)} %</dd></div>
    <div><dt>Latency, half of the checks</dt><dd>${p50Ms==null?"–":`≤ ${short(p50Ms)}`}</dd></div>
    <div><dt>Latency, 95 of 100</dt><dd>${p95Ms==null?"–":`≤ ${short(p95Ms)}`}</dd></div></dl>`}function pointsOf(checks){let days=new Set(checks.map(({checkedAt})=>new Date(
checkedAt).toDateString())).size,format=new Intl.DateTimeFormat(void 0,days>1?{day:"numeric",month:"short"}:{timeStyle:"short"});return[...checks].reverse().map(
({checkedAt,ok,latencyMs})=>({label:format.format(Date.parse(checkedAt)),full:moment(checkedAt),values:[ok?latencyMs??null:null],mark:ok?"":"failed"}))}function Exits({
checks}){let turns=[];for(let{ok,exitIp,country,countryName:countryName2,checkedAt}of checks){if(!ok||!exitIp)continue;let last=turns.at(-1);last?.exitIp===exitIp?
Object.assign(last,{from:checkedAt,seen:last.seen+1}):turns.push({exitIp,country,countryName:countryName2,from:checkedAt,to:checkedAt,seen:1})}return turns.length?
html`<section><h3>${turns.length===1?"Exit":`Exits: ${turns.length} in turn`}</h3>
    <ul class="event-list">${turns.slice(0,LISTED).map(({exitIp,country,countryName:countryName2,from,to,seen})=>html`<li key=${to} class="event-line"><span class="with-flag"><${Country} code=${country} name=${countryName2} /><span class="number">${exitIp}</span></span>
      <span class="event-what"></span><span class="muted">${count(seen,"check")}</span><span class="muted event-when">${seen>1?"since ":""}<${Ago} time=${from} /></span></li>`)}</ul></section>`:
null}var LISTED2=50,PAGE=200;function Profiles({proxy}){let app=useApp(),[state,setState]=d({list:null,problem:null});A(()=>{let read2=()=>app.api.get("/profiles",{proxyId:proxy.
id,sort:"name",order:"asc",limit:LISTED2,page:1}).then(list2=>setState({list:list2,problem:null}),problem2=>setState(before=>({...before,problem:problem2})));read2();
let planned=0,unwatch=app.model.event.watch(({type})=>{type!=="everything"&&type!=="events.lost"&&!type.startsWith("profile.")||(clearTimeout(planned),planned=setTimeout(
read2,300))});return()=>{clearTimeout(planned),unwatch()}},[proxy.id,proxy.profileCount]);let{list,problem}=state;return problem&&!list?html`<${ProblemBox} problem=${problem} />`:
list?list.data.length?html`<div class="drawer-tools"><button type="button" class="button small" onClick=${()=>app.open(MoveDialog,{proxy,total:list.total})}><${Icon} name="proxies" />Move to another proxy…</button>
      <a class="button small" href=${href("profiles",new URLSearchParams({proxyId:proxy.id}))}><${Icon} name="profiles" />Show in the list</a></div>
    <section><h3>${count(list.total,"profile uses","profiles use")} it</h3>
    <ul class="event-list">${list.data.map(({id,name,status})=>html`<li key=${id}><a class="event-line" href=${href("profiles",void 0,[id])}><span class="event-what one-line"><${Name}>${name}<//></span>
      ${status!=="stopped"&&html`<${Status} of=${PROFILE_STATUS[status]||{text:status,tone:"quiet"}} />`}</a></li>`)}</ul>
    ${list.hasMore&&html`<p class="hint">And ${number(list.total-list.data.length)} more.</p>`}</section>`:html`<p class="muted">No profile uses it.</p>`:html`<${Waiting} />`}
function MoveDialog({proxy,total,close}){let app=useApp(),form=useForm({proxyId:proxy.id}),{proxyId}=form.values,move=async()=>{let items=await usersOf(app.api,
proxy.id);app.works.each({title:`Moving ${count(items.length,"profile")}`,items,size:PAGE,call:async(part,signal)=>(await app.api.post("/profiles/batch",{action:"\
setProxy",proxyId:proxyId||null,ids:part.map(({id})=>id)},{signal})).results}),close()};return html`<${Dialog} title="Move to another proxy" lead=${html`${count(
total,"profile")} of <${Name}>${proxyName(proxy)}<//>`} close=${close}><${Form} form=${form} work=${move} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy||proxyId===proxy.id}>${form.busy?"O\
ne moment…":"Move"}</button>`}>
    <div class="fields"><${ProxyField} form=${form} workspaceId=${proxy.workspaceId} hint=${proxyId?"New connections of running browsers use it at once.":"The p\
rofiles will connect directly, with this computer’s own address."} /></div><//><//>`}async function usersOf(api,proxyId){let out=[];for(let page=1;;page++){let{
data,hasMore}=await api.get("/profiles",{proxyId,sort:"createdAt",order:"asc",limit:PAGE,page});if(out.push(...data.map(({id,name})=>({id,name}))),!hasMore)return out}}function Rotate({proxy,object}){return html`${proxy.rotateUrl?html`<${RotateNow} proxy=${proxy} object=${object} />`:html`<p class="muted">Providers of mobile and residential proxies give an address that changes the exit IP. Enter it here, and Warren calls it and waits for the new exit.</p>`}
    <${Address2} key=${proxy.rotateUrl} proxy=${proxy} object=${object} />
    <section><h3>When it fails</h3><p class="muted">A profile can name other proxies that it goes on through while this one is dead. They are set in the profile’s form, as fallbacks. Without one its traffic stops: it never goes out directly.</p></section>`}
function RotateNow({proxy,object}){let app=useApp(),busy=useStore(app.busy).has(proxy.id),offline=useStore(app.offline),[result,setResult]=d(null),[problem,setProblem]=d(
null);return html`<section><p><button type="button" class="button" disabled=${offline||busy} onClick=${()=>app.during(proxy.id,async()=>{setProblem(null),setResult(
null);try{let from=proxy.lastCheck,answer=await app.api.post(`/proxies/${encodeURIComponent(proxy.id)}/rotate`);setResult({...answer,country:from?.exitIp===answer.
before?from?.country:""}),object.reload()}catch(error){setProblem(error)}})}><${Icon} name="reload" />${busy?"Waiting for a new exit…":"Rotate now"}</button></p>
    <div role="status">${result&&html`<div class="panel rotation"><p><strong>${result.changed?"It has a new exit.":"It kept its exit."}</strong>${result.durationMs!=
null&&html` <span class="muted">after ${span(result.durationMs)}</span>`}</p>
      <p class="rotation-line"><span class="rotation-end"><span class="muted">Before</span> <span class="with-flag"><${Country} code=${result.country} /><span class="number">${result.
before||"not known"}</span></span></span><${Icon} name="forward" />
        <span class="rotation-end"><span class="muted">Now</span> <span class="with-flag"><${Country} code=${result.check?.country} name=${result.check?.countryName} /><span class="number">${result.
exitIp||"not known"}</span></span></span></p></div>`}</div>
    <${ProblemBox} problem=${problem} /></section>`}function Address2({proxy,object}){let app=useApp(),form=useForm({rotateUrl:proxy.rotateUrl||""}),save=async({
rotateUrl})=>{let headers=object.etag?{"If-Match":object.etag}:void 0,{data,etag}=await app.api.full("PUT",`/proxies/${encodeURIComponent(proxy.id)}`,{body:{rotateUrl:rotateUrl.
trim()||null},headers});object.keep(data,etag),app.toasts.say({text:rotateUrl.trim()?"Saved the address.":"Removed the address.",tone:"good"})},same=form.values.
rotateUrl.trim()===(proxy.rotateUrl||"");return html`<${Form} plain form=${form} work=${save}>
    <${Text} form=${form} name="rotateUrl" label="Rotation address" class="mono" type="url" placeholder="https://provider.example/rotate?key=…" hint="The server calls it directly, not through the proxy. It is kept sealed, as passwords are." />
    <p><button class="button" disabled=${form.busy||same}>${form.busy?"Saving…":"Save"}</button></p><//>`}var SHOWN_MS=3e4;function Secret({proxy}){let{api}=useApp(),[password,setPassword]=d(null),[refusal,setRefusal]=d(""),[busy,setBusy]=d(!1);if(A(()=>{if(password===
null)return;let timer=setTimeout(()=>setPassword(null),SHOWN_MS);return()=>clearTimeout(timer)},[password]),A(()=>setPassword(null),[proxy.updatedAt]),!proxy.hasPassword)
return html`None`;let show=async()=>{setBusy(!0),setRefusal("");try{let{password:text2,base64}=await api.get(`/proxies/${encodeURIComponent(proxy.id)}/secret`);
setPassword(text2??`base64: ${base64}`)}catch(problem){setRefusal(problem.status===403?"Your key may not read passwords. That needs the scope secrets.":`${problemTitle(
problem)}. ${problemWords(problem)}`)}setBusy(!1)};return html`<span class="secret">${password===null?html`<span aria-hidden="true">••••••••</span><span class="visually-hidden">Saved</span>`:
html`<code class="path" tabindex="0">${password}</code>`}
    ${password===null?html`<button type="button" class="button small" disabled=${busy} aria-label="Show the password" title="Each time is recorded in the activity log" onClick=${show}><${Icon} name="eye" />Show</button>`:
html`<${Copy} text=${password} label="Copy the password" /><button type="button" class="button small" aria-label="Hide the password" onClick=${()=>setPassword(null)}>Hide</button>`}</span>
    <span role="status" class="secret-note">${password!==null&&html`<span class="hint">Recorded in the activity log. Hidden again in half a minute.</span>`}${refusal&&
html`<span class="bad-text">${refusal}</span>`}</span>`}var DAYS2=30,DAY_MS2=24*3600*1e3,MOST=8,PARTS=[{label:"Received",tone:"tone-a"},{label:"Sent",tone:"tone-b"}];function Traffic2({proxy}){let app=useApp(),[state,
setState]=d({days:null,profiles:null,problem:null});A(()=>{let from=new Date(Date.now()-(DAYS2-1)*DAY_MS2).toISOString().slice(0,10),path=`/proxies/${encodeURIComponent(
proxy.id)}/traffic`;Promise.all([app.api.get(path,{from,by:"day"}),app.api.get(path,{from,by:"profile"})]).then(([days2,profiles2])=>setState({days:days2,profiles:profiles2,
problem:null}),problem2=>setState(before=>({...before,problem:problem2})))},[proxy.id]);let{days,profiles,problem}=state;return problem?html`<${ProblemBox} problem=${problem} />`:
days?days.connections?html`<dl class="figures"><div><dt>Received</dt><dd>${bytes(days.bytesDown)}</dd></div><div><dt>Sent</dt><dd>${bytes(days.bytesUp)}</dd></div><div><dt>Connections</dt><dd>${number(
days.connections)}</dd></div></dl>
    <${Bars} title=${`The last ${DAYS2} days`} points=${daysOf(days.data)} parts=${PARTS} say=${n=>bytes(Math.round(n))} />
    <p class="hint">Days are in UTC. What proxies and TLS add is not counted.</p>
    <section><h3>By profile</h3><ul class="event-list">${[...profiles.data].sort((a,b)=>b.bytesDown+b.bytesUp-a.bytesDown-a.bytesUp).slice(0,MOST).map(row=>html`<li key=${row.
profileId} class="event-line">
      <span class="event-what one-line"><${ProfileLink} id=${row.profileId} /></span><span class="number muted">↓ ${bytes(row.bytesDown)}</span><span class="number muted">↑ ${bytes(
row.bytesUp)}</span></li>`)}</ul>
      ${profiles.data.length>MOST&&html`<p class="hint">And ${number(profiles.data.length-MOST)} more.</p>`}</section>`:html`<p class="muted">Nothing has gone through it in the last ${DAYS2} days.</p>`:
html`<${Waiting} />`}function daysOf(data){let known=new Map(data.map(row=>[row.day,row])),format=new Intl.DateTimeFormat(void 0,{day:"numeric",month:"short",timeZone:"\
UTC"});return Array.from({length:DAYS2},(_,i)=>{let at=Date.now()-(DAYS2-1-i)*DAY_MS2,row=known.get(new Date(at).toISOString().slice(0,10));return{label:format.
format(at),full:format.format(at),values:[row?.bytesDown??0,row?.bytesUp??0]}})}function ProfileLink({id}){let{api}=useApp(),[name,setName]=d("");return A(()=>{
api.get(`/profiles/${encodeURIComponent(id)}`).then(profile=>setName(profile.name),()=>setName(null))},[id]),name===null?html`<span class="muted">A deleted profile</span>`:
html`<a href=${href("profiles",void 0,[id])}><${Name}>${name||id}<//></a>`}function ProxyDrawer({id,tab,rows}){let object=useObject(`/proxies/${encodeURIComponent(id)}`,({type,data})=>type.startsWith("proxy.")&&(!data?.id||data.id===id)),
proxy=object.data||rows.find(id),tabs=[{id:"overview",label:"Overview",draw:()=>html`<${Overview2} proxy=${proxy} />`},{id:"checks",label:"Checks",draw:()=>html`<${Checks} proxy=${proxy} />`},
{id:"profiles",label:"Profiles",draw:()=>html`<${Profiles} proxy=${proxy} />`},{id:"traffic",label:"Traffic",draw:()=>html`<${Traffic2} proxy=${proxy} />`},{id:"\
rotate",label:"Rotate",draw:()=>html`<${Rotate} proxy=${proxy} object=${object} />`}];return html`<${Drawer} label="Proxy" title=${proxy?html`<${Name}>${proxyName(
proxy)}<//>`:"Proxy"} tab=${tab} tabs=${tabs} problem=${object.problem} ready=${!!proxy}
    below=${proxy&&html`<${Status} of=${PROXY_STATUS[proxy.status]||PROXY_STATUS.unknown} />${proxy.lastCheck?.ok&&html`<${Country} code=${proxy.lastCheck.country} /><span class="number">${proxy.
lastCheck.exitIp}</span>`}`}
    actions=${proxy&&html`<${DrawerActions2} proxy=${proxy} object=${object} />`} />`}function DrawerActions2({proxy,object}){let app=useApp(),busy=useStore(app.
busy).has(proxy.id),offline=useStore(app.offline);return html`<button type="button" class="button small" disabled=${offline||busy} onClick=${()=>check(app,proxy)}><${Icon} name="pulse" />Check</button>
    <button type="button" class="button small" onClick=${()=>app.open(ProxyForm,{proxy,done:changed=>{object.reload(),changed.status==="unknown"&&check(app,changed)}})}><${Icon} name="edit" />Edit</button>`}
function Overview2({proxy}){return html`
    ${proxy.lastCheck&&html`<section><h3>Last check, <${Ago} time=${proxy.lastCheck.checkedAt} /></h3><${CheckResult} result=${proxy.lastCheck} /></section>`}
    <${Facts} pairs=${[["Type",PROXY_TYPES[proxy.type]||proxy.type],["Address",html`<bdi class="mono">${address(proxy.host,proxy.port)}</bdi>`],["User name",proxy.
username&&html`<bdi>${proxy.username}</bdi>`],["Password",html`<${Secret} proxy=${proxy} />`],["Profiles",proxy.profileCount>0?html`<a href=${href("profiles",new URLSearchParams(
{proxyId:proxy.id}))}>${count(proxy.profileCount,"profile")}</a>`:"Not used"],["Uptime",proxy.uptime!=null&&`${Math.floor(proxy.uptime*100)} %`],["Tags",proxy.tags?.
length>0&&html`<${Tags} tags=${proxy.tags} most=${20} />`],["Notes",proxy.notes&&html`<bdi>${proxy.notes}</bdi>`],["Created",html`<${Ago} time=${proxy.createdAt} />`],
["Workspace",html`<bdi>${proxy.workspaceId}</bdi>`],["ID",html`<span class="mono">${proxy.id}</span>`]]} />`}function AddProxies({done,close}){let app=useApp(),workspaceId=useStore(app.model.workspace),form=useForm(boxValues()),reading=useReading({...form.values,workspaceId}),
ready=reading.answer?.created??0,send=async values=>{let added=await addProxies(app,{values,choices:reading.choices,workspaceId});return done?.(added),added.rest?
(form.setAll({...values,text:added.rest}),reading.again()):close()},foot=html`<button type="button" class="button apart" disabled=${form.busy} onClick=${()=>app.
open(ProxyForm,{done:proxy=>check(app,proxy)})}>Enter fields instead</button>
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" aria-keyshortcuts="Control+Enter Meta+Enter" title="Ctrl Enter" disabled=${form.busy||!form.values.text.trim()||reading.answer&&
!ready}>${form.busy?"Adding…":ready>1?`Add ${count(ready,"proxy","proxies")}`:"Add"}</button>`;return html`<${Dialog} sheet title="Add proxies" lead="They are checked at once." close=${close}>
    <${Form} form=${form} work=${send} foot=${foot}><${ProxyBox} form=${form} reading=${reading} rows=${10} autofocus /><//><//>`}var AT_ONCE=4,PAGE2=200;async function chosenOf(app,selection,query){let{all,ids}=selection.state.value;if(!all)return[...ids].map(([id,name])=>({id,name}));let out=[];
for(let page=1;;page++){let{data,hasMore}=await app.api.get("/proxies",{...query,page,limit:PAGE2});if(out.push(...data.filter(({id})=>!ids.has(id)).map(proxy=>({
id:proxy.id,name:proxyName(proxy),tags:proxy.tags}))),!hasMore)return out}}function one(call){return part=>Promise.all(part.map(item=>call(item).then(()=>({id:item.
id}),error=>({id:item.id,error}))))}function ProxyBulk2({selection,rows,total}){let app=useApp(),size=()=>selection.size(total),begin2=(verb,call,part=AT_ONCE)=>chosenOf(
app,selection,rows.query).then(items=>(selection.clear(),app.works.each({title:`${verb} ${count(items.length,"proxy","proxies")}`,items,size:part,call}))).catch(
problem=>app.fail("Nothing was started",problem)),path=({id})=>`/proxies/${encodeURIComponent(id)}`,check2=()=>begin2("Checking",one(item=>app.api.post(`${path(
item)}/check`)),16),remove=()=>app.open(ConfirmDialog,{title:`Delete ${count(size(),"proxy","proxies")}?`,verb:"Delete",work:async()=>{begin2("Deleting",one(item=>app.
api.delete(path(item))))},children:html`<p>Their saved passwords are removed. Proxies that profiles still use are kept, and listed afterwards.</p>`}),tag=(action,tags)=>begin2(
"Tagging",one(async item=>{let now=await app.api.get(path(item)),next=action==="tag"?[...new Set([...now.tags,...tags])]:now.tags.filter(other=>!tags.includes(other));
await app.api.put(path(item),{tags:next})}));return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.view.value.atLeast} what="proxie" actions=${[
{label:"Check",icon:"pulse",run:check2},{label:"Tag…",icon:"tag",run:()=>app.open(TagDialog,{size:size(),tag})},{label:"Delete",icon:"trash",danger:!0,run:remove}]} />`}
function TagDialog({size,tag,close}){let form=useForm({tags:[],action:"tag"}),send=async({tags,action})=>{tag(action,tags),close()};return html`<${Dialog} title="Change tags" lead=${count(
size,"proxy","proxies")} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.tags.length}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="action" label="Change" wide options=${[["tag","Add these tags"],["untag","Remove these tags"]]} />
      <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." /></div><//><//>`}var NOTHING2=html`<span class="muted">–</span>`,PROXY_FILTERS=["search","status","tag","type","country"];function onProxyEvent({type,data},rows){type.startsWith(
"proxy.")?rows.changed(data?.id,["proxy.created","proxy.deleted"].includes(type)||!data?.id):(["profile.created","profile.batch_created","profile.deleted","prof\
ile.restored"].includes(type)||type==="profile.updated"&&data?.changed?.includes("proxyId"))&&rows.changed(null,!0)}function isRefined2(query){return PROXY_FILTERS.
some(name=>query[name]?.length>0)||!["","createdAt"].includes(query.sort)}function filtersOf(tags){return[{name:"status",label:"State",options:Object.entries(PROXY_STATUS).
map(([value,{text:text2}])=>[value,text2])},{name:"type",label:"Type",options:Object.keys(PROXY_TYPES).map(type=>[type,typeName(type)])},{name:"tag",label:"Tag",
many:!0,panel:FreeFilter({suggestions:tags,placeholder:"residential"})},{name:"country",label:"Country",panel:FreeFilter({placeholder:"DE",pattern:"[A-Za-z]{2}"}),
text:code=>countryName(code.toUpperCase())}]}function typeName(type){return(PROXY_TYPES[type]||type).replace(/ .*/,"")}function proxyColumns({open,choose}){return[
{id:"name",label:"Proxy",min:200,grow:2.4,sort:"name",first:"asc",always:!0,draw:proxy=>html`<${NameCell2} proxy=${proxy} open=${open} />`},{id:"status",label:"\
State",width:118,rank:1,card:!0,draw:proxy=>html`<${StateCell} proxy=${proxy} />`},{id:"exit",label:"Exit",min:210,grow:2,sort:"country",first:"asc",rank:2,card:!0,
draw:proxy=>html`<${ExitCell} proxy=${proxy} />`},{id:"latency",label:"Latency",width:96,numeric:!0,sort:"latency",first:"asc",rank:4,draw:({lastCheck})=>lastCheck?.
ok&&lastCheck.latencyMs!=null?span(lastCheck.latencyMs):NOTHING2},{id:"uptime",label:"Uptime",width:88,numeric:!0,rank:6,draw:({uptime})=>uptime==null?NOTHING2:
`${Math.floor(uptime*100)} %`},{id:"checked",label:"Checked",width:118,sort:"checkedAt",rank:3,card:!0,draw:proxy=>html`<${CheckedCell} proxy=${proxy} />`},{id:"\
profiles",label:"Profiles",width:92,numeric:!0,rank:5,draw:({id,profileCount})=>profileCount>0?html`<a href=${href("profiles",new URLSearchParams({proxyId:id}))} aria-label=${count(
profileCount,"profile")}>${number(profileCount)}</a>`:NOTHING2},{id:"tags",label:"Tags",min:120,grow:1,rank:7,draw:proxy=>html`<${Tags} tags=${proxy.tags} choose=${choose} most=${2} />`},
{id:"created",label:"Created",width:112,sort:"createdAt",rank:9,hidden:!0,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`},{id:"\
user",label:"User name",width:130,rank:8,hidden:!0,draw:({username})=>username?html`<bdi class="one-line">${username}</bdi>`:NOTHING2},{id:"notes",label:"Notes",
min:140,grow:1,rank:10,hidden:!0,draw:({notes})=>notes?html`<bdi class="one-line" title=${notes}>${notes}</bdi>`:NOTHING2},{id:"id",label:"ID",width:292,rank:12,
hidden:!0,draw:({id})=>html`<span class="mono">${id}</span>`}]}function NameCell2({proxy,open}){let name=proxyName(proxy);return html`<span class="two-lines"><button type="button" class="link title" title=${name} onClick=${()=>open(
proxy)}><${Name}>${name}<//></button>
    <span class="sub">${typeName(proxy.type)}${proxy.name?html` · <bdi>${address(proxy.host,proxy.port)}</bdi>`:""}${proxy.username?html` · <bdi>${proxy.username}</bdi>`:
""}</span></span>`}var CHECKING={text:"Checking",tone:"wait"};function StateCell({proxy}){let busy=useStore(useApp().busy).has(proxy.id);return html`<${Status} of=${busy?
CHECKING:PROXY_STATUS[proxy.status]||PROXY_STATUS.unknown} />`}function ExitCell({proxy}){let{status,lastCheck}=proxy;if(status==="dead"&&lastCheck){let{happened,
advice}=faultWords(lastCheck.error)||{happened:"The check failed.",advice:""};return html`<span class="two-lines"><span class="one-line bad-text" title=${happened}>${happened}</span><span class="sub" title=${advice}>${advice}</span></span>`}
return lastCheck?.ok?html`<span class="two-lines"><span class="with-flag"><${Country} code=${lastCheck.country} name=${lastCheck.countryName} /> <span class="number">${lastCheck.
exitIp}</span></span>
    ${lastCheck.timezone&&html`<span class="sub">${lastCheck.timezone}</span>`}</span>`:NOTHING2}function CheckedCell({proxy}){let app=useApp();return proxy.lastCheck?
html`<button type="button" class="link muted" title="Show the result" onClick=${()=>app.open(CheckDialog,{proxy,result:proxy.lastCheck})}><${Ago} time=${proxy.lastCheck.
checkedAt} /></button>`:html`<span class="muted">Never</span>`}function ProxiesPage({params,path}){let app=useApp(),workspaceId=useStore(app.model.workspace),order=useSort(
params,"createdAt"),query={...Object.fromEntries(PROXY_FILTERS.map(name=>[name,name==="tag"?params.getAll(name):params.get(name)||""])),workspaceId,sort:order.sort,
order:order.order},{rows,selection,view}=useList("/proxies",query,onProxyEvent,{filtered:isRefined2}),open=proxy=>app.router.open(proxy.id);A(()=>app.checked.last.
watch(checks=>rows.patchAll(new Map(checks.map(check2=>[check2.id,{lastCheck:check2,status:check2.status}])))),[rows]);let columns=useColumns("proxies",()=>proxyColumns(
{open,choose:tag=>app.router.refine({tag})})),filtered=PROXY_FILTERS.some(name=>params.get(name)),{total,atLeast}=view,known=()=>[...new Set(rows.loaded().flatMap(
({tags})=>tags||[]))].sort();return html`<div class="page">
    <header class="page-head">
      <h1 tabindex="-1">Proxies ${total!==null&&html`<span class="total number">${number(total,atLeast)}</span>`}</h1>
      <div class="tools">
        <${SearchBox} value=${params.get("search")||""} label="Search proxies" change=${search=>app.router.refine({search},{replace:!0})} />
        ${total>0&&html`<${CheckAll} workspace=${workspaceId} />`}
        <button type="button" class="button primary" onClick=${()=>add(app)}><${Icon} name="plus" /><span>Add proxies</span></button>
      </div>
    </header>
    ${(filtered||total!==0)&&html`<div class="filters"><${Chips} filters=${filtersOf(known)} params=${params} /><${ViewMenu} columns=${columns} ...${order} /></div>`}
    <${GridProblem} rows=${rows} />
    <div class="page-body">${total===0&&!view.problem?html`<${NoProxies} filtered=${filtered} />`:html`<${Grid} label="Proxies" ...${{rows,columns,selection,open}} ...${order} opened=${path[0]}
      what=${proxyName} tone=${({status})=>`is-${status}`} actionsWidth=${128}
      actions=${proxy=>html`<${RowActions2} proxy=${proxy} />`} keys=${{c:proxy=>check(app,proxy),e:proxy=>edit2(app,proxy),Delete:proxy=>askToDeleteProxy(app,proxy)}} />`}
      ${path[0]&&html`<${ProxyDrawer} key=${path[0]} id=${path[0]} tab=${path[1]} rows=${rows} />`}</div>
    <${ProxyBulk2} ...${{selection,rows,total:total??0}} />
    <p class="visually-hidden" role="status">${total!==null&&filtered?`${number(total,atLeast)} proxies match`:""}</p>
  </div>`}function NoProxies({filtered}){let app=useApp();return filtered?html`<${Empty} title="No matches"><p>No proxy matches this search.</p>
      <button type="button" class="button" onClick=${()=>app.router.refine(Object.fromEntries(PROXY_FILTERS.map(name=>[name,""])))}>Show all proxies</button><//>`:
html`<${Empty} title="No proxies yet"><p>All traffic of a profile goes through its proxy. Sites see the proxy’s address, not yours.</p>
    <button type="button" class="button primary" onClick=${()=>add(app)}><${Icon} name="plus" />Add proxies</button><//>`}function add(app){app.open(AddProxies,
{})}function edit2(app,proxy){app.open(ProxyForm,{proxy,done:changed=>changed.status==="unknown"&&check(app,changed)})}function RowActions2({proxy}){let app=useApp(),
busy=useStore(app.busy).has(proxy.id),offline=useStore(app.offline),name=proxyName(proxy);return html`<div class="actions">
    <button type="button" class="button small" disabled=${offline} aria-disabled=${busy} aria-label=${`Check ${name}`} onClick=${()=>check(app,proxy)}><${Icon} name="pulse" />Check</button>
    <${Menu} label=${`More for ${name}`} items=${[{label:"Edit",icon:"edit",keys:"E",run:()=>edit2(app,proxy)},proxy.lastCheck&&{label:"Last check",icon:"pulse",
run:()=>app.open(CheckDialog,{proxy,result:proxy.lastCheck})},proxy.rotateUrl&&{label:"Rotate the exit IP",icon:"reload",run:()=>rotate(app,proxy)},{label:"Show\
 profiles",icon:"profiles",run:()=>app.router.go(href("profiles",new URLSearchParams({proxyId:proxy.id})))},"line",{label:"Delete",icon:"trash",danger:!0,run:()=>askToDeleteProxy(
app,proxy)}]} />
  </div>`}function rotate(app,proxy){return app.during(proxy.id,async()=>{try{let{before,exitIp,changed}=await app.api.post(`/proxies/${encodeURIComponent(proxy.
id)}/rotate`);app.toasts.say({text:changed?`${proxyName(proxy)} has a new exit IP.`:`${proxyName(proxy)} kept its exit IP.`,more:[before,changed&&exitIp].filter(
Boolean).join(" → "),tone:changed?"good":"plain"})}catch(problem){app.fail(`${proxyName(proxy)} was not rotated`,problem)}})}var USAGE_MS=5e3,NOTHING3=html`<span class="muted">–</span>`;function useUsage(api){let[usage]=d(()=>new Store(new Map));return A(()=>{let ending=new AbortController,
timer=0,read2=async()=>{if(clearTimeout(timer),!document.hidden){let answer=await api.get("/runs",{},{signal:ending.signal}).catch(()=>null);if(ending.signal.aborted)
return;answer&&usage.set(new Map(answer.data.map(run=>[run.profileId,run.usage])))}clearTimeout(timer),timer=setTimeout(read2,USAGE_MS)},visible=()=>document.hidden||
read2();return read2(),document.addEventListener("visibilitychange",visible),()=>{ending.abort(),clearTimeout(timer),document.removeEventListener("visibilitycha\
nge",visible)}},[api]),usage}function runColumns(usage,open){return[{id:"name",label:"Profile",min:200,grow:2,sort:"name",first:"asc",always:!0,draw:profile=>html`${profile.
status==="running"&&html`<${Preview} profile=${profile} />`}<button type="button" class="link title" title=${profile.name} onClick=${()=>open(profile)}><${Name}>${profile.
name}<//></button>`},{id:"exit",label:"Exit",min:150,grow:1.2,rank:1,card:!0,draw:({run})=>html`<${Exit} run=${run||{}} />`},{id:"for",label:"Running for",width:122,
sort:"lastStartedAt",rank:2,card:!0,draw:({run})=>html`<${For} run=${run} />`},{id:"resources",label:"Resources",width:148,numeric:!0,rank:3,card:!0,draw:({id})=>html`<${Resources} usage=${usage} id=${id} />`},
{id:"traffic",label:"Traffic",width:140,numeric:!0,rank:5,draw:({id})=>html`<${Traffic3} usage=${usage} id=${id} />`},{id:"clients",label:"Clients",width:112,rank:4,
draw:({id})=>html`<${Clients} usage=${usage} id=${id} />`},{id:"identity",label:"Identity",min:150,grow:1,rank:6,draw:({run})=>html`<${Identity2} effective=${run?.
effective} />`},{id:"isolation",label:"Isolation",width:148,rank:7,draw:({run})=>html`<${Isolation} isolation=${run?.isolation} />`},{id:"browser",label:"Browse\
r",width:190,rank:8,hidden:!0,draw:({run})=>run?.browser?html`<span class="one-line">${run.browser.product} ${run.browser.version}${run.headless?", headless":""}</span>`:
NOTHING3},{id:"pid",label:"Process",width:92,numeric:!0,rank:9,hidden:!0,draw:({run})=>run?.pid??NOTHING3}]}function Exit({run}){return run.proxy?html`<span class="with-flag"><${Country} code=${run.
proxy.country} /> ${run.proxy.exitIp?html`<span class="number">${run.proxy.exitIp}</span>`:html`<span class="muted">Not known yet</span>`}</span>`:html`<span class="muted">No proxy</span>`}
function For({run}){let now=useNow();return run?.startedAt?html`<time class="number" datetime=${run.startedAt} title=${moment(run.startedAt)}>${lasting(run.startedAt,
now)}</time>`:NOTHING3}var MEMORY={__proto__:null,pss:"Memory, with its share of what processes share (PSS)",rss:"Memory of its processes; what they share count\
s for each (RSS)"};function Resources({usage,id}){let now=useStore(usage).get(id);if(!now)return NOTHING3;let{cpuPercent:cpu,memoryBytes:memory,memoryKind,processes}=now,
parts=[memory==null?"":bytes(memory),cpu==null?"":`CPU ${cpu<10?cpu.toFixed(1):Math.round(cpu)} %`].filter(Boolean).join(" · ");return html`<span class="one-line" title=${[
MEMORY[memoryKind],processes!=null&&count(processes,"process","processes")].filter(Boolean).join(". ")}>${parts||"–"}</span>`}function Traffic3({usage,id}){let{
bytesUp:up,bytesDown:down}=useStore(usage).get(id)||{};return up==null&&down==null?NOTHING3:html`<span class="one-line">↓ ${bytes(down||0)} ↑ ${bytes(up||0)}</span>`}
function Clients({usage,id}){let{clients=0,viewers=0}=useStore(usage).get(id)||{},words=[clients>0&&count(clients,"client"),viewers>0&&count(viewers,"viewer")].
filter(Boolean);return words.length?html`<span class="two-lines">${words.map(one2=>html`<span class="one-line" key=${one2}>${one2}</span>`)}</span>`:NOTHING3}function Identity2({
effective}){if(!effective?.os)return NOTHING3;let{os,browserVersion,timezone,locale}=effective;return html`<span class="two-lines"><span class="one-line">${SYSTEMS[os]||
os} ${browserVersion}</span><span class="sub">${[timezone,[].concat(locale||[])[0]].filter(Boolean).join(" · ")}</span></span>`}function Isolation({isolation}){
if(!isolation)return NOTHING3;let network={__proto__:null,namespace:"Own network",loopback:"Own relay"}[isolation.network]||isolation.network;return html`<span class="two-lines"><span class="one-line">${network}</span><span class="sub">${isolation.
files==="namespace"?"Own files · ":""}${isolation.sandbox?"Sandbox on":html`<span class="bad-text">Sandbox off</span>`}</span></span>`}function RunningPage({params,
path}){let app=useApp(),workspaceId=useStore(app.model.workspace),order=useSort(params,"lastStartedAt"),[wall,setWall]=d(()=>recall("running.wall",!1)),{rows,selection,
view}=useList("/profiles",{status:"running",search:params.get("search")||"",workspaceId,sort:order.sort,order:order.order},onProfileEvent),usage=useUsage(app.api),
open=profile=>app.router.open(profile.id),columns=useColumns("running",()=>runColumns(usage,open)),{total,atLeast}=view,show=on=>{setWall(on),remember("running.\
wall",on||null)};return html`<div class="page">
    <header class="page-head">
      <h1 tabindex="-1">Running ${total!==null&&html`<span class="total number">${number(total,atLeast)}</span>`}</h1>
      ${(total>0||params.get("search"))&&html`<div class="tools">
        <${SearchBox} value=${params.get("search")||""} label="Search running profiles" change=${search=>app.router.refine({search},{replace:!0})} />
        <div class="segments" role="group" aria-label="Show as"><button type="button" class="segment-button" aria-pressed=${!wall} onClick=${()=>show(!1)}>List</button>
          <button type="button" class="segment-button" aria-pressed=${wall} onClick=${()=>show(!0)}>Wall</button></div>
        ${!wall&&html`<${ViewMenu} columns=${columns} ...${order} />`}
      </div>`}
    </header>
    <${NoBrowser} />
    <${GridProblem} rows=${rows} />
    <div class="page-body">${total===0&&!view.problem&&html`<${NothingRuns} />`}
    ${total!==0&&(wall?html`<${Wall} rows=${rows} view=${view} />`:html`<${Grid} label="Running browsers" ...${{rows,columns,selection,open}} ...${order} opened=${path[0]}
      what=${({name})=>name} tone=${({status})=>`is-${status}`} actionsWidth=${152} actions=${profile=>html`<${RowActions} profile=${profile} rows=${rows} />`}
      keys=${{s:profile=>stop(app,profile,rows),v:profile=>app.router.go(viewOf(profile.id)),c:profile=>connect(app,profile,rows)}} />`)}
      ${path[0]&&html`<${ProfileDrawer} key=${path[0]} id=${path[0]} tab=${path[1]} rows=${rows} />`}</div>
    <${ProfileBulk} ...${{selection,rows,total:total??0}} />
  </div>`}function Wall({rows,view}){return A(()=>rows.want(0,view.total??0),[view.version]),html`<ul class="wall" aria-label="Running browsers">${rows.loaded().
map(profile=>html`<li key=${profile.id} class="tile" data-id=${profile.id}>
    <${Preview} profile=${profile} large />
    <div class="tile-foot"><span class="tile-name"><${Country} code=${profile.run?.proxy?.country} bare /><${Name}>${profile.name}<//></span>
      <a class="icon-button" href=${viewOf(profile.id)} aria-label=${`View ${profile.name}`} title="View"><${Icon} name="eye" /></a></div></li>`)}</ul>`}function NothingRuns(){
let app=useApp(),[last,setLast]=d([]);return A(()=>{app.api.get("/profiles",{sort:"lastStartedAt",limit:3,page:1,neverStarted:!1}).then(({data})=>setLast(data),
()=>{})},[]),html`<${Empty} title="Nothing is running"><p>Start a profile to see its browser here.</p>
    ${last.length>0&&html`<ul class="last-started" aria-label="Started last">${last.map(profile=>html`<li key=${profile.id}><${StartAgain} profile=${profile} /></li>`)}</ul>`}
    <a class="button" href=${href("profiles")}>All profiles</a><//>`}function StartAgain({profile}){let app=useApp(),busy=useStore(app.busy).has(profile.id),why=useNoStart();
return html`<button type="button" class="button" disabled=${!!why} title=${why||void 0} aria-disabled=${busy} onClick=${()=>app.start(profile)}><${Icon} name="play" /><span>Start <bdi>${profile.
name}</bdi></span></button>`}function sameView(view,params){let sorted=all=>[...new URLSearchParams(all)].map(pair=>pair.join("=")).sort().join("&");return sorted(view)===sorted(params)}function SaveView({
params,close}){let app=useApp(),form=useForm({label:""});return html`<${Dialog} title="Save this view" lead="It is kept in this browser, in the sidebar." close=${close}><${Form} form=${form} work=${async({
label})=>{app.saveView({label:label.trim(),params}),close()}} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.label.trim()}>Save</button>`}>
    <${Text} form=${form} name="label" label="Name" autofocus maxlength="40" placeholder="Shops in Germany" /><//><//>`}var PLACES2=[{name:"profiles",label:"Profiles",count:({profiles})=>profiles.total},{name:"proxies",label:"Proxies",count:({proxies})=>proxies.total},{name:"runn\
ing",label:"Running",count:({profiles})=>profiles.running},{name:"trash",label:"Trash",count:({profiles})=>profiles.trashed}];function Sidebar({route}){let app=useApp(),
counts=useStore(app.model.counts),[narrow,setNarrow]=d(()=>recall("sidebar.narrow",!1)),fold=()=>{setNarrow(!narrow),remember("sidebar.narrow",narrow?null:!0)};
return html`<aside class=${narrow?"side is-narrow":"side"}>
    <a class="brand" href=${href("profiles")} aria-label="Warren"><${Logo} /><span>Warren</span></a>
    <button type="button" class="find" onClick=${()=>app.openPalette()} title="Search and commands" aria-keyshortcuts="Control+K"><${Icon} name="search" /><span>Search</span><kbd aria-hidden="true">Ctrl K</kbd></button>
    <nav class="places" aria-label="Main">
      ${PLACES2.map(({name,label,count:count2})=>html`<a key=${name} href=${href(name)} title=${narrow?label:void 0}
        aria-current=${route.name===name&&!(name==="profiles"&&isFiltered(route.params))?"page":void 0}>
        <${Icon} name=${name} /><span>${label}</span>${counts&&count2(counts)>0&&html`<span class=${name==="running"?"badge is-live":"badge"}>${number(count2(counts))}</span>`}</a>`)}
    </nav>
    <${Views} route=${route} counts=${counts} />
    <${Workspaces} />
    <div class="side-foot">
      <${Connection} />
      <nav class="places" aria-label="More">
        <a href=${href("settings")} title=${narrow?"Settings":void 0} aria-current=${route.name==="settings"?"page":void 0}><${Icon} name="settings" /><span>Settings</span></a>
        <a href="docs" title=${narrow?"API":void 0}><${Icon} name="docs" /><span>API</span></a>
        <button type="button" title=${narrow?"Log out":void 0} onClick=${()=>app.leave()}><${Icon} name="leave" /><span>Log out</span></button>
        <button type="button" aria-expanded=${!narrow} title=${narrow?"Widen the sidebar":void 0} onClick=${fold}><${Icon} name=${narrow?"widen":"collapse"} /><span>Collapse</span></button>
      </nav>
      <${Version} />
    </div>
  </aside>`}function Views({route,counts}){let app=useApp(),own=useStore(app.views),present=route.name==="profiles"?route.params:null,unsaved=present&&isFiltered(
present)&&![...VIEWS,...own].some(view=>sameView(view.params,present)),shown=VIEWS.filter(({name})=>name!=="running").map(view=>({...view,count:counts?.profiles[view.
name]}));return html`<nav class="places views" aria-label="Views"><p class="side-title">Views</p>
    ${shown.map(view=>html`<${View} key=${view.name} view=${view} present=${present} tone=${["failed","dead"].includes(view.name)&&view.count>0?"is-bad":""} />`)}
    ${own.map(view=>html`<${View} key=${`own ${view.label}`} view=${view} present=${present} drop=${()=>app.dropView(view)} />`)}
    ${unsaved&&html`<button type="button" onClick=${()=>app.open(SaveView,{params:pick(present)})}><${Icon} name="plus" /><span>Save this view</span></button>`}
  </nav>`}function pick(params){return[...params].filter(([name])=>FILTERS.includes(name)||["sort","order"].includes(name))}function View({view,present,tone="",
drop}){let app=useApp(),params=new URLSearchParams(view.params),[counted,setCounted]=d(null),event=useStore(app.model.counts);A(()=>{view.count!==void 0||!drop||
app.api.get("/profiles",{...Object.fromEntries([...params.keys()].map(name=>[name,params.getAll(name)])),workspaceId:app.model.workspace.value,limit:1,page:1}).
then(({total,totalIsExact})=>setCounted(number(total,totalIsExact===!1)),()=>{})},[event]);let count2=counted??(view.count>0?number(view.count):""),ask=()=>app.
open(ConfirmDialog,{title:"Remove this view?",verb:"Remove",work:async()=>drop(),children:html`<p><bdi>${view.label}</bdi> is removed from the sidebar. No profile changes.</p>`});
return html`<span class="view"><a href=${href("profiles",params)} aria-current=${present&&sameView(view.params,present)?"page":void 0}><${Icon} name="bookmark" /><span><bdi>${view.
label}</bdi></span>
    ${count2!==""&&html`<span class=${`badge ${tone}`}>${count2}</span>`}</a>
    ${drop&&html`<button type="button" class="icon-button view-drop" aria-label=${`Remove the view ${view.label}`} onClick=${ask}><${Icon} name="close" /></button>`}</span>`}
function Workspaces(){let{model}=useApp(),known=useStore(model.workspaces),chosen2=useStore(model.workspace);if(known.length<2&&!chosen2)return null;let options=chosen2&&
!known.includes(chosen2)?[chosen2,...known]:known;return html`<label class="workspaces"><span class="side-title">Workspace</span>
    <select aria-label="Workspace" value=${chosen2} onChange=${event=>model.chooseWorkspace(event.currentTarget.value)}>
      <option value="" selected=${chosen2===""}>All</option>
      ${options.map(id=>html`<option key=${id} value=${id} selected=${id===chosen2}>${id}</option>`)}
    </select>
  </label>`}var CONNECTION={connecting:["wait","Connecting"],live:["good","Live"],lost:["bad","Connection lost"],off:["quiet","No live updates"]};function Connection(){
let[tone,words]=CONNECTION[useStore(useApp().model.connection)];return html`<p class="connection status ${tone}" role="status"><span class="dot"></span><span>${words}</span></p>`}
function Version(){let[version,setVersion]=d("");return A(()=>{fetch("version").then(response=>response.json()).then(answer=>setVersion(String(answer.version||""))).
catch(()=>{})},[]),version&&html`<p class="version">warren ${version}</p>`}function applyTheme(){let theme=recall("theme","system");document.documentElement.dataset.theme=["light","dark"].includes(theme)?theme:"system"}var KEPT_DAYS=30,DAY_MS3=24*3600*1e3,COLUMNS=[{id:"name",label:"Profile",min:200,grow:3,sort:"name",first:"asc",always:!0,draw:({name})=>html`<span class="title"><${Name}>${name}<//></span>`},
{id:"tags",label:"Tags",min:130,grow:1.3,rank:4,draw:({tags})=>html`<${Tags} tags=${tags} />`},{id:"deleted",label:"Deleted",width:130,rank:1,card:!0,draw:({trashedAt})=>html`<${Ago} time=${trashedAt} />`},
{id:"left",label:"Days left",width:100,numeric:!0,rank:2,card:!0,draw:({trashedAt})=>html`<${DaysLeft} time=${trashedAt} />`},{id:"workspace",label:"Workspace",
width:130,rank:5,draw:({workspaceId})=>html`<bdi class="one-line">${workspaceId}</bdi>`}];function DaysLeft({time}){let now=useNow();return String(Math.max(0,Math.
ceil(KEPT_DAYS-(now-Date.parse(time))/DAY_MS3)))}function TrashPage({params}){let app=useApp(),workspaceId=useStore(app.model.workspace),order=useSort(params,"u\
pdatedAt"),search=params.get("search")||"",{rows,selection,view}=useList("/profiles",{trashed:!0,search,workspaceId,sort:order.sort,order:order.order},onProfileEvent),
columns=useColumns("trash",()=>COLUMNS),{total,atLeast}=view;return html`<div class="page">
    <header class="page-head"><h1 tabindex="-1">Trash ${total!==null&&html`<span class="total number">${number(total,atLeast)}</span>`}</h1>
      ${(total>0||search)&&html`<div class="tools"><${SearchBox} value=${search} label="Search the trash" change=${text2=>app.router.refine({search:text2},{replace:!0})} /><${ViewMenu} columns=${columns} ...${order} /></div>`}
      <p class="lead">Profiles are deleted for good after ${KEPT_DAYS} days.</p></header>
    <${GridProblem} rows=${rows} />
    <div class="page-body">${total===0&&!view.problem?html`<${Empty} title=${search?"No matches":"The trash is empty"} />`:html`<${Grid} label="Deleted profiles" ...${{
rows,columns,selection}} ...${order}
      what=${({name})=>name} actionsWidth=${140} actions=${profile=>html`<${RowActions3} profile=${profile} rows=${rows} />`} />`}</div>
    <${TrashBulk2} ...${{selection,rows,total:total??0}} />
  </div>`}function RowActions3({profile,rows}){let app=useApp(),busy=useStore(app.busy).has(profile.id);return html`<div class="actions">
    <button type="button" class="button small" aria-disabled=${busy} aria-label=${`Restore ${profile.name}`} onClick=${()=>restore(app,profile,rows)}><${Icon} name="restore" />Restore</button>
    <${Menu} label=${`More for ${profile.name}`} items=${[{label:"Delete permanently",icon:"trash",danger:!0,run:()=>askToDestroy(app,profile,rows)}]} /></div>`}
function TrashBulk2({selection,rows,total}){let app=useApp(),destroy=()=>{let{all,ids}=selection.state.value,items=all?rows.loaded().filter(({id})=>!ids.has(id)).
map(({id,name})=>({id,name})):[...ids].map(([id,name])=>({id,name}));app.open(ConfirmDialog,{title:`Delete ${count(items.length,"profile")} permanently?`,verb:"\
Delete permanently",work:async()=>{selection.clear(),app.works.each({title:`Deleting ${count(items.length,"profile")} permanently`,items,size:4,call:part=>Promise.
all(part.map(({id})=>app.api.delete(`/profiles/${encodeURIComponent(id)}`,{permanent:!0}).then(()=>({id}),error=>({id,error}))))})},children:html`<p>Their cookies, history and files are deleted now. This cannot be undone.</p>`})};
return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.view.value.atLeast} what="profile" actions=${[{label:"Restore",icon:"restore",run:()=>batch(
app,{selection,query:rows.query,total:selection.size(total),action:"restore"})},{label:"Delete permanently",icon:"trash",danger:!0,run:destroy}]} />`}var SHOWN2=200,DONE_MS=8e3,DRAW_MS=100,GUESS_MS=2e3,Works=class{list=new Store([]);#last=0;async each({title,items,size=20,call}){let ending=new AbortController,
work=this.#begin(title,items.length,()=>ending.abort(),failed=>this.each({title,items:failed,size,call}));for(let i=0;i<items.length&&!ending.signal.aborted;i+=
size){let part=items.slice(i,i+size),results;try{results=await call(part,ending.signal)}catch(error){if(error.name==="AbortError")break;results=part.map(({id})=>({
id,error}))}let names=new Map(part.map(({id,name})=>[id,name])),failed=results.filter(({error})=>error).map(({id,error})=>({id,name:names.get(id)||id,error}));work.
set({...work.value,done:work.value.done+part.length,failed:[...work.value.failed,...failed]})}return this.#end(work,ending.signal.aborted),work.value}async follow({
title,api,events,start:start2,retry}){let job=await start2(),work=this.#begin(title,job.total,()=>api.delete(`/jobs/${encodeURIComponent(job.id)}`).catch(()=>{}),
()=>retry(job)),read2=async()=>{let now=await api.get(`/jobs/${encodeURIComponent(job.id)}`).catch(problem=>problem.status===404?{...job,status:"cancelled"}:null);
return!now||(work.set({...work.value,total:now.total,done:now.done,failedCount:now.failed,failed:(now.failures||[]).map(({id,name,error})=>({id,name:name||id,error}))}),
now.status==="running")?!1:(this.#end(work,now.status==="cancelled"),!0)},unwatch=events.watch(async({type,data})=>{if(type==="everything")return void await read2();
!type.startsWith("job.")||data?.id!==job.id||(type==="job.progress"?work.set({...work.value,done:data.done,failedCount:data.failed}):await read2()&&unwatch())});
return await read2()&&unwatch(),work.value}async stream({key="",title,total,words,call,show,retry}){if(key&&this.list.value.some(({value})=>value.key===key&&value.
state==="running"))return null;let ending=new AbortController,work=this.#begin(title(total),total,()=>ending.abort(),retry);work.set({...work.value,key,words,show,
began:performance.now()});let failed=[],done=0,planned=0,draw=()=>{planned=0,work.set({...work.value,done,failed:[...failed]})},problem=null;try{await call(ending.
signal,n=>work.set({...work.value,total:n,title:title(n)}),one2=>{done+=1,one2.error&&failed.push({...one2,name:one2.name||""}),planned||=setTimeout(draw,DRAW_MS)})}catch(error){
error.name!=="AbortError"&&(problem=error)}return clearTimeout(planned),draw(),work.set({...work.value,problem,title:title(work.value.total,!0)}),this.#end(work,
ending.signal.aborted||problem!==null),work.value}close(work){this.list.set(this.list.value.filter(other=>other!==work))}#begin(title,total,cancel,retry){let work=new Store(
{id:++this.#last,title,total,done:0,failed:[],state:"running",cancel,retry});return this.list.set([...this.list.value.filter(other=>other.value.state==="running"||
failures(other.value)||other.value.problem),work]),work}#end(work,cancelled){work.set({...work.value,state:cancelled?"cancelled":"done"}),!failures(work.value)&&
!work.value.problem&&setTimeout(()=>this.close(work),DONE_MS)}};function failures({failed,failedCount}){return Math.max(failed.length,failedCount??0)}function WorkArea(){
let{works}=useApp(),list=useStore(works.list);return html`<div class="works">${list.map(work=>html`<${WorkPanel} key=${work.value.id} work=${work} />`)}</div>`}
function WorkPanel({work}){let app=useApp(),now=useStore(work),{title,total,done,state,cancel,problem,show}=now,failed=failures(now),running=state==="running";return html`<section class=${`\
work ${failed||problem?"has-failed":running?"":"is-done"}`} aria-label=${title}>
    <div class="work-head"><p class="work-title">${title}</p>
      ${running?html`<button type="button" class="button small" onClick=${cancel}>Cancel</button>`:html`<button type="button" class="icon-button" aria-label="Close" onClick=${()=>app.
works.close(work)}><${Icon} name="close" /></button>`}</div>
    ${running&&html`<progress max=${total||1} value=${done} aria-label=${title}></progress>`}
    <p class="work-words number" role="status"><span>${progressWords(now,failed)}</span></p>
    ${problem&&html`<p class="work-words bad-text">${problemTitle(problem)}. ${problemWords(problem)}</p>`}
    ${(failed>0||show&&!running)&&html`<p class="work-actions">${failed>0&&html`<button type="button" class="button small" onClick=${()=>app.open(FailedDialog,{
work})}>${failed===1?"Why it failed":`Why ${number(failed)} failed`}</button>`}
      ${show&&!running&&html`<button type="button" class="button small" onClick=${()=>show(failed>0)}>Show them</button>`}</p>`}
  </section>`}function progressWords({total,done,state,words,began},failed){let counts=words&&done>0?` · ${number(done-failed)} ${words.good}${failed?`, ${number(
failed)} ${words.bad}`:""}`:"";if(state==="cancelled")return`Stopped after ${number(done)} of ${number(total)}${counts}`;if(state!=="running")return words?counts.
slice(3)||"Nothing to check":`${number(done-failed)} done`;let took=began?performance.now()-began:0,left=took>GUESS_MS&&done>=Math.min(20,total/10)&&done<total?
` · about ${span(Math.ceil(took/done*(total-done)/1e3)*1e3).replace(".0","")} left`:"";return`${number(done)} of ${number(total)}${counts}${left}`}function FailedDialog({
work,close}){let app=useApp(),now=useStore(work),[busy,setBusy]=d(!1),failed=failures(now),reasons=Map.groupBy?Map.groupBy(now.failed.slice(0,SHOWN2),({error})=>problemTitle(
error)):new Map([["Failed",now.failed.slice(0,SHOWN2)]]),again=()=>{setBusy(!0),close(),app.works.close(work),now.retry(now.failed)};return html`<${Dialog} title=${count(
failed,"failed","failed")} lead=${now.title} close=${close}>
    <div class="dialog-content">${[...reasons].map(([reason,ones])=>html`<section key=${reason} class="reason"><h3>${reason} <span class="total">${number(ones.length)}</span></h3>
      <p class="muted">${problemWords({...ones[0].error,message:ones[0].error.detail||ones[0].error.message})}</p>
      <ul class="names">${ones.map(({id,name})=>html`<li key=${id}>${name?html`<${Name}>${name}<//>`:html`<${ProxyLabel} id=${id} />`}</li>`)}</ul></section>`)}
      ${failed>SHOWN2&&html`<p class="hint">And ${number(failed-SHOWN2)} more.</p>`}</div>
    <footer class="dialog-foot"><button type="button" class="button" onClick=${close}>Close</button>
      <button type="button" class="button primary" autofocus disabled=${busy||now.state==="running"} onClick=${again}>Try these again</button></footer>
  <//>`}function ProxyLabel({id}){let proxy=useProxy(id);return html`<${Name}>${proxy?proxyName(proxy):proxy===null?"A deleted proxy":"…"}<//>`}var TICK_MS=1e4,PAGES={__proto__:null,profiles:ProfilesPage,proxies:ProxiesPage,running:RunningPage,trash:TrashPage},LATER={__proto__:null,live:()=>import("./part-AOCSEJY4.js").
then(({LivePage})=>LivePage),settings:()=>import("./part-NVDXNKKZ.js").then(({SettingsPage})=>SettingsPage)},FULL=["live"],App=class{toasts=new Toasts;works=new Works;checked=new Checked;router=new Router(
"profiles");dialog=new Store(null);busy=new Store(new Set);now=new Store(Date.now());offline=new Store(!1);density=new Store(recall("density","compact")==="comf\
ortable"?"comfortable":"compact");views=new Store(recall("views",[]));asking=new Store(null);#changed=new Set;gridKey=null;constructor(key,leave){this.leave=leave,
this.api=new Api(key,()=>leave("This key is no longer valid. It may have been revoked, or have expired.")),this.model=new Model(this.api),this.proxies=new ProxyCache(
this.api),this.previews=new Previews(this.api),this.browsers=new Browsers(this.api),this.keys=new Keys(this),this.router.leaving=goOn=>this.leaving(goOn)}begin(){
let unwatch=[this.model.connection.watch(state=>this.offline.set(state==="lost")),this.model.event.watch(event=>this.proxies.onEvent(event)),this.keys.begin(),this.
previews.begin(),this.browsers.begin(this.model.event),this.checked.last.watch(checks=>this.proxies.checked(checks))];this.model.begin();let unload=event=>this.#changed.
size&&event.preventDefault();addEventListener("beforeunload",unload),unwatch.push(()=>removeEventListener("beforeunload",unload));let timer=setInterval(()=>this.
now.set(Date.now()),TICK_MS);return()=>{unwatch.forEach(end=>end()),clearInterval(timer),this.model.end()}}open(component,props){let shown={component,key:(this.
dialog.value?.key||0)+Math.random()};shown.props={...props,close:()=>this.dialog.value===shown&&this.leaving(()=>this.dialog.set(null))},this.leaving(()=>this.dialog.
set(shown))}holdForm(root,changed){changed?this.#changed.add(root):this.#changed.delete(root)}leaving(goOn){this.#changed.size?this.asking.set(goOn):goOn()}discard(){
let goOn=this.asking.value;this.#changed.clear(),this.asking.set(null),goOn?.()}openPalette(){this.dialog.value||this.open(Palette,{})}createProfile(){this.open(
ProfileDialog,{})}createProxy(){add(this)}createHere(){this.router.current.value.name==="proxies"?this.createProxy():this.createProfile()}start(profile){return start(
this,profile)}escape(){this.router.current.value.path.length&&this.router.open()}fail(subject,problem,action){this.dialog.value?this.toasts.say({text:subject,more:`${problemTitle(
problem)}. ${problemWords(problem)}`,tone:"bad",action}):this.open(ProblemDialog,{subject,problem,action})}setDensity(density){this.density.set(density),remember(
"density",density==="compact"?null:density)}setTheme(theme){remember("theme",theme==="system"?null:theme),applyTheme()}saveView(view){this.#keepViews([...this.views.
value.filter(({label})=>label!==view.label),view])}dropView(view){this.#keepViews(this.views.value.filter(other=>other!==view))}#keepViews(views){this.views.set(
views),remember("views",views.length?views:null)}async during(id,work){if(!this.busy.value.has(id)){this.busy.set(new Set(this.busy.value).add(id));try{await work()}finally{
let busy=new Set(this.busy.value);busy.delete(id),this.busy.set(busy)}}}keepFocus(){requestAnimationFrame(()=>document.activeElement===document.body&&this.focusPage())}focusPage(id){
(id&&document.querySelector(`[data-id="${CSS.escape(id)}"]`)||document.querySelector("main h1"))?.focus()}};function Root(){let[given,setGiven]=d(takeFromAddress),
[key,setKey]=d(readKey),[reason,setReason]=d(""),enter=(fresh,onlyThisTab)=>{saveKey(fresh,onlyThisTab),setReason(""),setKey(fresh)},leave=(why="")=>{why||revoke(
key).catch(problem=>![401,404].includes(problem.status)&&setReason(STILL_VALID)),readKey()===key&&dropKey(),setReason(why),setKey(why?readKey():"")};return A(()=>{
let look=()=>setGiven(before=>takeFromAddress()||before);return addEventListener("hashchange",look),()=>removeEventListener("hashchange",look)},[]),A(()=>{if(!given)
return;let before=readKey();exchange(given).then(fresh=>{enter(fresh),before&&revoke(before).catch(()=>{})},problem=>setReason(problemWords(problem))).then(()=>setGiven(
null))},[given]),A(()=>watchKey(()=>{let now=readKey();now!==key&&(setReason(now?"":"You have logged out in another tab."),setKey(now))}),[key]),given?html`<${Entering} />`:
key?html`<${Frame2} key=${key} secret=${key} leave=${leave} />`:html`<${Login} enter=${enter} reason=${reason} />`}var STILL_VALID="You are logged out here. The\
 server did not answer, so the key of this page is still valid: revoke it in the list of keys.";function Frame2({secret,leave}){let[app]=d(()=>new App(secret,leave));
A(()=>app.begin(),[]);let route=useStore(app.router.current),dialog=useStore(app.dialog);A(()=>app.dialog.set(null),[route]);let Page=LATER[route.name]?Later:PAGES[route.
name]||ProfilesPage,page=html`<${ErrorBoundary} key=${route.name} page=${Page} ...${{route}} />`;return html`<${AppContext.Provider} value=${app}>
    <a class="skip" href="#main" onClick=${event=>{event.preventDefault(),app.focusPage()}}>Skip to content</a>
    ${FULL.includes(route.name)?page:html`<div class="frame">
      <${ServerGone} />
      <${Sidebar} route=${route} />
      <main id="main">${page}</main>
    </div>`}
    ${dialog&&html`<${dialog.component} key=${dialog.key} ...${dialog.props} />`}
    <${Discard} app=${app} />
    <div class="corner"><${WorkArea} /><${ToastArea} toasts=${app.toasts} /></div>
  <//>`}function Discard({app}){return useStore(app.asking)&&html`<${ConfirmDialog} title="Discard your changes?" verb="Discard" cancel="Keep editing" work=${async()=>app.
discard()} close=${()=>app.asking.set(null)}>
    <p>Your changes are not saved.</p><//>`}function ServerGone(){let app=useApp(),offline=useStore(app.offline);return html`<div class="gone" role="alert">${offline&&
html`<p><${Icon} name="warning" /><strong>Warren does not answer.</strong> <span>What you see may be out of date. What you typed is kept. Trying again…</span></p>`}</div>`}
function Later({route}){let[loaded,setLoaded]=d(null),[failed,setFailed]=d(!1);return A(()=>{LATER[route.name]().then(Page=>setLoaded({Page}),()=>setFailed(!0))},
[]),failed?html`<h1 tabindex="-1">This page could not be loaded</h1><p>Is the server running? <button type="button" class="button small" onClick=${()=>location.
reload()}>Try again</button></p>`:loaded?html`<${loaded.Page} params=${route.params} path=${route.path} />`:html`<${Waiting} />`}function ErrorBoundary({page:Page,
route}){let[error]=O();return error?html`<h1 tabindex="-1">Something went wrong</h1>
    <${ProblemBox} problem=${{title:"The page has an error",message:String(error),errors:[]}}>
      <button type="button" class="button small" onClick=${()=>location.reload()}>Reload the page</button><//>`:html`<${Page} params=${route.params} path=${route.
path} route=${route} />`}applyTheme();Q(html`<${Root} />`,document.body);
