import{A,Ago,BulkBar,Burrows,Chips,ConfirmDialog,Copy,Country,Dialog,Empty,F,FreeFilter,Grid,Icon,Logo,Menu,Name,NodeName,Notice,P,PROFILE_STATUS,PROXY_STATUS,PROXY_TYPES,
Preview,Problem,ProblemBox,Prose,SYSTEMS,SearchBox,Selection,Status,Store,T,Tags,ToastArea,Toasts,ViewMenu,Waiting,activityOf,address,ago,askToDelete,begin,beginMany,
bytes,check,checkMany,connect,copyText,count,d,diskWords,endWords,faultWords,forget,href,html,kept,lasting,memoryWords,moment,nodeState,number,problemTitle,problemWords,
proxyName,readKey,recall,restart,sentence,since,soon,span,stageWords,start,stop,usageWords,useApp,useColumns,useFreshNodes,useInstallation,useList,useNoStart,useNode,
useNow,useProxy,useSeveral,useStore,useTold,viewOf,w}from"./part-MBNZESFF.js";var TIMINGS=[["resolveMs","DNS"],["connectMs","Connect"],["tlsMs","TLS"],["handshakeMs","Handshake"],["firstByteMs","First byte"]];function CheckDialog({proxy:proxy2,
result,close}){let now=useNow();return html`<${Dialog} title=${html`<${Name}>${proxyName(proxy2)}<//>`}
    lead=${html`Checked <time datetime=${result.checkedAt} title=${moment(result.checkedAt)}>${ago(result.checkedAt,now)}</time>`} close=${close}>
    <div class="dialog-content"><${CheckResult} result=${result} /></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>
  <//>`}function CheckResult({result}){let fault2=result.ok?null:faultWords(result.error)||{happened:"The check failed.",advice:""};return html`<div class="check-result">
    <p class="check-head"><${Status} of=${PROXY_STATUS[result.ok?"alive":"dead"]} />
      ${result.ok&&html`<span class="check-ip"><${Country} code=${result.country} name=${result.countryName} /> ${result.exitIp}</span>`}</p>
    ${fault2&&html`<p><strong>${fault2.happened}</strong> ${fault2.advice}</p>
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
  </table>`}function useObject(path,names2){let app=useApp(),[state,setState]=d({data:null,etag:null,problem:null}),reload=()=>app.api.full("GET",path).then(({data,etag})=>setState(
{data,etag,problem:null}),problem=>setState(before=>({...before,problem})));return A(()=>{setState({data:null,etag:null,problem:null}),reload();let planned=0,unwatch=app.
model.event.watch(event=>{event.type!=="everything"&&event.type!=="events.lost"&&!names2(event)||(clearTimeout(planned),planned=setTimeout(reload,60))});return()=>{
clearTimeout(planned),unwatch()}},[path]),{...state,reload,keep:(data,etag=null)=>setState({data,etag,problem:null})}}function Drawer({label,title:title2,below,
note,actions,tabs,tab,problem,ready}){let app=useApp(),box=T(null),shown=tabs.find(({id})=>id===tab)||tabs[0],[object]=app.router.current.value.path,close=()=>app.
closeDrawer(),heading=T(null);A(()=>{let{activeElement:at}=document;(at===document.body||at.closest(".grid"))&&heading.current.focus({preventScroll:!0})},[]),A(
()=>{box.current?.querySelector(".drawer-body")?.scrollTo(0,0),box.current?.querySelector('[role="tab"][aria-selected="true"]')?.scrollIntoView({block:"nearest",
inline:"center"})},[shown.id,object]);let press=event=>{let by={ArrowRight:1,ArrowLeft:-1}[event.key];if(!by)return;event.preventDefault();let next=tabs[(tabs.indexOf(
shown)+by+tabs.length)%tabs.length];app.router.open(object,next.id),requestAnimationFrame(()=>box.current?.querySelector('[role="tab"][aria-selected="true"]')?.
focus())},escape=event=>{event.key!=="Escape"||event.defaultPrevented||event.target.closest("[popover]")||(event.stopPropagation(),close())};return html`<aside class=${shown.
wide?"drawer is-wide":"drawer"} ref=${box} aria-label=${label} onKeyDown=${escape}>
    <header class="drawer-head"><div class="drawer-title"><h2 ref=${heading} tabindex="-1">${title2}</h2>${below&&html`<p class="muted drawer-below">${below}</p>`}</div>
      <div class="drawer-actions">${actions}<button type="button" class="icon-button" aria-label="Close" title="Close (Esc)" onClick=${close}><${Icon} name="close" /></button></div></header>
    ${note&&html`<div class="drawer-note">${note}</div>`}
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${press}>${tabs.map(({id,label:words,note:note2})=>html`<button type="button" key=${id} role="tab" id=${`\
tab-${id}`} aria-selected=${id===shown.id} aria-controls="tab-panel"
      tabindex=${id===shown.id?0:-1} class="tab" onClick=${()=>app.router.open(object,id)}>${words}${note2&&html`<span class="tab-note">${note2}</span>`}</button>`)}</div>
    <div class="drawer-body" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${shown.id}`} tabindex="0" key=${shown.id}>
      <${ProblemBox} problem=${problem} />${ready?shown.draw():!problem&&html`<${Waiting} />`}</div>
  </aside>`}function Facts({pairs}){return html`<dl class="fact-list">${pairs.filter(pair=>pair&&pair[1]!==null&&pair[1]!==void 0&&pair[1]!==""&&pair[1]!==!1).map(
([label,value])=>html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`}function useList2(path,query,names2=()=>!1){let app=useApp(),[state,setState]=d({rows:null,next:null,problem:null}),[busy,setBusy]=d(!1),last=T(0),read=async after=>{
let mine=++last.current;setBusy(!0);try{let{data,next}=await app.api.get(path,{...query,after});mine===last.current&&setState(before=>({rows:after?[...before.rows,
...data]:data,next:next||null,problem:null}))}catch(problem){mine===last.current&&setState(before=>({...before,problem}))}mine===last.current&&setBusy(!1)};return A(
()=>{setState({rows:null,next:null,problem:null}),read();let unwatch=app.model.event.watch(event=>(event.type==="everything"||names2(event))&&read());return()=>{
last.current=-1,unwatch()}},[path]),{...state,busy,reload:()=>read(),more:()=>read(state.next),drop:id=>setState(before=>({...before,rows:before.rows.filter(row=>row.
id!==id)}))}}function isOf(id,{type,data}){return/^(profile|run|capability)\./.test(type)&&(data?.profileId||data?.id)===id}function saveBlob(blob,name){let link=document.
createElement("a");link.href=URL.createObjectURL(blob),link.download=name,document.body.append(link),link.click(),link.remove(),setTimeout(()=>URL.revokeObjectURL(
link.href),6e4)}function useExplain(profile2,path){return useObject(`${path}/explain`,event=>isOf(profile2.id,event)||/^proxy\.(updated|checked|all_checked)$/.test(event.type))}
var FINDINGS={__proto__:null,timezone_mismatch:["The timezone doesn’t match the proxy.","The timezone"],locale_mismatch:["The languages don’t match the proxy.",
"The language list"],geolocation_mismatch:["The location doesn’t match the proxy.","The location"],exit_unknown:["Where the proxy comes out is not known.",""]};
function findingWords({code,message}){let[title2,subject]=FINDINGS[code]||["Something contradicts the proxy.","The profile"];return code==="exit_unknown"?{title:title2,
text:"Nothing can be compared with it. Check the proxy, or let the profile start with a warning."}:{title:title2,text:sentence(`${subject} ${message}`.replace(/Set it to auto,? or to/,
"Choose “Match the proxy”, or"))}}function Findings({profile:profile2,findings}){let{router}=useApp();return html`<ul class="findings">${findings.map(finding=>{
let{title:title2,text:text3}=findingWords(finding);return html`<li key=${finding.code}><strong>${title2}</strong> ${text3} <a href=${router.beside(profile2.id,finding.
code==="exit_unknown"?"network":"identity")}>${finding.code==="exit_unknown"?"Open Network":"Open Identity"}</a></li>`})}</ul>`}var SETTINGS=[["os","System"],["\
browserVersion","Browser version"],["timezone","Timezone"],["locale","Languages"],["geolocation","Location"],["screen","Screen"],["webrtc","WebRTC"]],SOURCES={__proto__:null,
profile:"Set here",template:"From the template",workspace:"From the workspace",exit:"From the proxy",host:"From this computer",default:"Default"},WEBRTC={__proto__:null,
proxy_only:"Through the proxy only",off:"Off",default:"As Chrome does"};function valueWords(name,value){return value==null||value.length===0?"Default":name==="o\
s"?SYSTEMS[value]||value:name==="webrtc"?WEBRTC[value]||value:Array.isArray(value)?value.join(", "):typeof value!="object"?value==="off"?"Blocked":String(value):
value.width?`${value.width} × ${value.height}${value.deviceScaleFactor?` × ${value.deviceScaleFactor}`:""}`:[value.latitude,value.longitude].join(", ")}function detailWords(text3=""){
return text3.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g,moment).replace(/\bis auto\b/,"is set to match the proxy").replace(/ See `differences`\./,"").replace(/machine's own is (\w+)/,
(_,os)=>`machine’s own is ${SYSTEMS[os]||os}`).replace(/'/g,"’")}function Effective({effective,full}){return html`<table class="plain-table is-words"><thead><tr><th scope="col">Setting</th><th scope="col">Pages see</th><th scope="col">From</th></tr></thead>
    <tbody>${SETTINGS.filter(([name])=>effective[name]).map(([name,label])=>html`<tr key=${name}><th scope="row">${label}</th><td><bdi>${valueWords(name,effective[name].
value)}</bdi>${full&&effective[name].detail&&html`<span class="sub-words">${detailWords(effective[name].detail)}</span>`}</td>
      <td class="muted" title=${detailWords(effective[name].detail)}>${SOURCES[effective[name].source]||effective[name].source}</td></tr>`)}</tbody></table>`}var WARNINGS={
__proto__:null,emulated:"The browser on this machine is of another system or version than the profile declares. Sites that look closely can tell. The Tests tab \
shows how.",fallback_left_out:"Not every fallback proxy can be used, since no check has found their countries. Check them, or allow fallbacks in any country (Ne\
twork)."};function warningWords(warnings,findings){return warnings.filter(({code})=>code!=="identity_mismatch"||!findings.length).map(({code,message})=>({code,text:WARNINGS[code]||
sentence(detailWords(message))}))}var RECIPES=[{name:"Playwright",lines:run=>["import { chromium } from 'playwright-core';","",`const browser = await chromium.connectOverCDP(${JSON.stringify(run.
wsEndpoint)});`,"const [context] = browser.contexts();","const page = context.pages()[0] ?? await context.newPage();"]},{name:"Python",lines:run=>["from playwri\
ght.sync_api import sync_playwright","","with sync_playwright() as p:",`    browser = p.chromium.connect_over_cdp(${JSON.stringify(run.wsEndpoint)})`,"    conte\
xt = browser.contexts[0]","    page = context.pages[0] if context.pages else context.new_page()"]},{name:"Puppeteer",lines:run=>["import puppeteer from 'puppete\
er-core';","","const browser = await puppeteer.connect({",`  browserWSEndpoint: ${JSON.stringify(run.wsEndpoint)},`,"  defaultViewport: null,","});","const [pag\
e] = await browser.pages();"]},{name:"Selenium",port:!0,lines:run=>["import { Builder } from 'selenium-webdriver';","import { Options } from 'selenium-webdriver\
/chrome.js';","",`const options = new Options().debuggerAddress(${JSON.stringify(run.debuggerAddress)});`,"const driver = await new Builder().forBrowser('chrome\
').setChromeOptions(options).build();"]},{name:"curl",lines:run=>[`curl -s ${shellQuoted(`${run.cdpUrl.replace(/\/$/,"")}/json/version`)}`,`curl -s ${shellQuoted(
`${run.cdpUrl.replace(/\/$/,"")}/json/list`)}`]}];function shellQuoted(text3){return`'${text3.replaceAll("'","'\\''")}'`}function ConnectDialog({profile:profile2,
run,close}){return html`<${Dialog} title=${html`<${Name}>${profile2.name}<//> is running`} lead=${html`<${Facts2} run=${run} />`} about=${profile2.id} close=${close}>
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
  <//>`}function Warnings({warnings}){return warnings.length?html`<${Notice}><ul>${warningWords(warnings,[]).map(({code,text:text3})=>html`<li key=${code}><${Prose} text=${text3} /></li>`)}</ul><//>`:
null}function Facts2({run}){let{browser,proxy:proxy2}=run;return html`<span class="facts">
    ${browser&&html`<span>${browser.product} ${browser.version}${run.headless?", headless":""}</span>`}
    ${proxy2?html`<span><${Country} code=${proxy2.country} /> ${proxy2.exitIp||"Exit IP not known yet"}${proxy2.latencyMs!=null?` · ${span(proxy2.latencyMs)}`:
""}</span>`:html`<span>No proxy (direct connection)</span>`}
    ${run.pid&&html`<span>Process ${run.pid}</span>`}
  </span>`}function Address({label,text:text3}){return text3?html`<div class="copy-line">
    <span class="copy-label">${label}</span>
    <code tabindex="0" role="group" aria-label=${label}>${text3}</code>
    <${Copy} text=${text3} label=${`Copy ${label}`} />
  </div>`:null}function Recipes({run,noPort}){let[chosen2,choose]=d(0),recipes=RECIPES.filter(({port:port2})=>noPort||!port2||run.debuggerAddress),{name:shown,port,
lines}=recipes[chosen2],text3=lines(run).join(`
`);return html`<fieldset class="recipes">
    <legend class="visually-hidden">Connect with</legend>
    <div class="segments">
      ${recipes.map(({name},i)=>html`<label key=${name} class="segment">
        <input type="radio" name="recipe" checked=${i===chosen2} onChange=${()=>choose(i)} /><span>${name}</span>
      </label>`)}
    </div>
    ${port&&!run.debuggerAddress?noPort:html`<div class="code">
      <pre tabindex="0" aria-label=${shown}>${text3}</pre>
      <${Copy} text=${text3} label="Copy these lines" />
    </div>`}
  </fieldset>`}function useForm(initial){let[values,setValues]=d(initial),[problem,setProblem]=d(null),[busy,setBusy]=d(!1),root=T(null),names2=T(new Set);A(()=>{if(!problem)return;
(root.current?.querySelector('[aria-invalid="true"]')||root.current?.querySelector('[role="alert"]'))?.focus()},[problem]);let faults=name=>(problem?.errors||[]).
filter(error=>name&&(Problem.field(error)===name||Problem.path(error)===name));return{values,problem,busy,root,names:names2.current,set:(name,value)=>setValues(
before=>({...before,[name]:value})),setAll:all=>setValues(all),setProblem,faults,shown:()=>[...names2.current].flatMap(faults),async send(work){if(!busy){setBusy(
!0),setProblem(null);try{await work(values)}catch(error){setProblem(error)}setBusy(!1)}}}}function Form({form,work,children,foot,explain,plain,saved}){let app=useApp(),
first=T(JSON.stringify(form.values)),typed2=JSON.stringify(form.values)!==(saved??first.current),changed=!form.busy&&typed2;A(()=>form.root.current.querySelector(
"[autofocus]")?.focus(),[]),F(()=>app.holdForm(form.root,{changed,typed:typed2}),[changed,typed2,form.busy,form.problem]),F(()=>()=>app.holdForm(form.root,{}),[]);
let submit=event=>{event.preventDefault(),app.holdForm(form.root,{typed:typed2}),form.send(work)};return html`<form class="form" ref=${form.root} onSubmit=${submit} novalidate autocomplete="off">
    <div class=${plain?"form-content":"dialog-content"}>
      ${children}
      <${ProblemBox} problem=${form.problem} shown=${form.shown()}>${form.problem&&explain?.(form.problem)}<//>
    </div>
    ${foot&&html`<footer class=${plain?"form-foot":"dialog-foot"}>${foot}</footer>`}
  </form>`}function Field({form,name,member=name,say:say2,label,hint,optional,control,wide}){let id=P();A(()=>(form.names.add(member),()=>form.names.delete(member)),
[member]);let faults=form.faults(member),described=[hint&&`${id}-hint`,faults.length&&`${id}-fault`].filter(Boolean).join(" "),tied={id,name,"aria-describedby":described||
void 0,"aria-invalid":faults.length?"true":void 0};return html`<div class=${wide?"field wide":"field"}>
    <label for=${id}>${label}${optional&&html`<span class="optional"> optional</span>`}</label>
    ${control(tied)}
    ${faults.length>0&&html`<p class="fault" id=${`${id}-fault`}>${say2||faults.map(fault2=>sentence(fault2.message)).join(" ")}</p>`}
    ${hint&&html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`}function Text({form,name,member,say:say2,label,hint,optional,wide,...rest}){return html`<${Field} ...${{form,name,member,say:say2,label,hint,optional,
wide,control:tied=>html`<input type="text" ...${tied} ...${rest} value=${form.values[name]}
    onInput=${event=>form.set(name,event.currentTarget.value)} spellcheck=${!1} />`}} />`}function Lines({form,name,member,label,hint,optional,rows=3,...rest}){
return html`<${Field} wide ...${{form,name,member,label,hint,optional,control:tied=>html`<textarea rows=${rows} ...${tied} ...${rest} value=${form.values[name]}
    onInput=${event=>form.set(name,event.currentTarget.value)}></textarea>`}} />`}function Choice({form,name,member,label,hint,options,wide}){return html`<${Field} ...${{
form,name,member,label,hint,wide,control:tied=>html`<select ...${tied} value=${form.values[name]} onChange=${event=>form.set(name,event.currentTarget.value)}>
    ${options.map(([value,words])=>html`<option key=${value} value=${value} selected=${value===form.values[name]}>${words}</option>`)}
  </select>`}} />`}function TagField({form,name,label,hint}){let[text3,setText]=d(""),tags=form.values[name],take=raw=>{let fresh=raw.split(",").map(tag=>tag.trim()).
filter(tag=>tag&&!tags.includes(tag));fresh.length&&form.set(name,[...tags,...fresh]),setText("")},drop=tag=>form.set(name,tags.filter(other=>other!==tag)),typed2=event=>{
event.key==="Enter"&&text3.trim()?(event.preventDefault(),take(text3)):event.key==="Backspace"&&!text3&&tags.length&&drop(tags.at(-1))},input=event=>event.currentTarget.
value.includes(",")?take(event.currentTarget.value):setText(event.currentTarget.value);return html`<${Field} wide ...${{form,name,label,hint,optional:!0,control:tied=>html`<div class="tag-field">
    ${tags.map(tag=>html`<span class="tag" key=${tag}><bdi>${tag}</bdi>
      <button type="button" aria-label=${`Remove tag ${tag}`} onClick=${()=>drop(tag)}><${Icon} name="close" /></button></span>`)}
    <input type="text" ...${tied} value=${text3} onInput=${input} onKeyDown=${typed2} onBlur=${()=>take(text3)} spellcheck=${!1} />
  </div>`}} />`}function Tick({form,name,member=name,label,hint,disabled}){let id=P(),faults=form.faults(member);return A(()=>(form.names.add(member),()=>form.names.
delete(member)),[member]),html`<div class="field wide"><label class="tick"><input type="checkbox" name=${name} checked=${form.values[name]} disabled=${disabled} aria-describedby=${hint?
`${id}-hint`:void 0} onChange=${event=>form.set(name,event.currentTarget.checked)} /><span>${label}</span></label>
    ${faults.length>0&&html`<p class="fault">${faults.map(fault2=>sentence(fault2.message)).join(" ")}</p>`}
    ${hint&&html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>`}function Section({form,title:title2,summary,names:names2,children}){let faulty=names2.some(
name=>form.faults(name).length>0),[open,setOpen]=d(!1);return html`<details class="section" open=${open||faulty} onToggle=${event=>setOpen(event.currentTarget.open)}>
    <summary><span class="section-title">${title2}</span><span class="section-summary">${summary}</span></summary>
    <div class="fields">${children}</div>
  </details>`}function number2(text3){let trimmed=String(text3).trim();return trimmed!==""&&Number.isFinite(Number(trimmed))?Number(trimmed):trimmed}function linesOf(text3){
return text3.split(`
`).map(line=>line.trim()).filter(Boolean)}var PAUSE_MS=200,LONG_PAUSE_MS=600,LONG=5e4,MOST_CHOICES=900,EVERY="*";function kindOf(text3){let[start2]=text3.replace(/^\ufeff/,"").trimStart().split(`
`,1);if(/^\{|^\[\s*(?:[{"\]]|$)/.test(start2))return"application/json";let head=start2.trim().split(/[,;\t]/).map(cell=>cell.trim().replace(/^"|"$/g,"").toLowerCase()),
known=["type","host","port","username","password","name","tags","notes","rotateurl","url"];return(head.includes("url")||head.includes("host")&&head.includes("po\
rt"))&&head.every(cell=>known.includes(cell))?"text/csv":"text/plain"}function bodyOf(text3){return kindOf(text3)==="application/json"&&/^\s*\[/.test(text3)?`{"\
proxies":${text3}}`:text3}function queryOf({text:text3,type,tags=[],workspaceId,choices}){let choice=[];return choices.size&&(choices.has(EVERY)&&choice.push(`${EVERY}\
:${choices.get(EVERY)}`),text3.split(`
`).forEach((line,i)=>{let reading=choices.get(line.trim());reading&&choice.length<MOST_CHOICES&&choice.push(`${i+1}:${reading}`)})),{workspaceId,type,tag:tags,choice}}
function useReading({text:text3,type,workspaceId}){let{api}=useApp(),[state,setState]=d({answer:null,busy:!1,problem:null}),[choices,setChoices]=d(()=>new Map),
[turn3,setTurn]=d(0),before=T({type,choices}),empty=!text3.trim();return A(()=>{if(before.current.type!==type&&choices.size)return setChoices(new Map);let clicked=before.
current.choices!==choices;if(before.current={type,choices},empty)return setState({answer:null,busy:!1,problem:null});let ending=new AbortController;setState(now=>now.
busy?now:{...now,busy:!0});let timer=setTimeout(async()=>{let query={...queryOf({text:text3,type,workspaceId,choices}),dryRun:!0,results:"failed"};try{let answer=await api.
send("/proxies/import",query,kindOf(text3),bodyOf(text3),ending.signal);ending.signal.aborted||setState({answer,busy:!1,problem:null})}catch(problem){problem.name!==
"AbortError"&&setState({answer:null,busy:!1,problem})}},clicked?0:text3.length>LONG?LONG_PAUSE_MS:PAUSE_MS);return()=>{clearTimeout(timer),ending.abort()}},[text3,
type,workspaceId,choices,turn3]),{...state,choices,choose:(line,reading)=>setChoices(now=>new Map(now).set(line,reading)),again:()=>setTurn(n=>n+1)}}var SHOWN=50,LONG_PASTE=5e3,LARGEST=16<<20,EXAMPLES=`host:port:user:password
user:password@host:port
socks5://user:password@host:port`;function boxValues(){return{text:"",type:"socks5",tags:[]}}function ProxyBox({form,reading,rows=6,brief,autofocus}){let[over,setOver]=d(
!1),[fault2,setFault]=d(""),take=async file=>{setOver(!1),file&&(setFault(file.size>LARGEST?`${file.name} has more than 16 MB. Split it into smaller files.`:""),
file.size<=LARGEST&&form.set("text",await file.text()))},drag=event=>{[...event.dataTransfer.types].includes("Files")&&(event.preventDefault(),setOver(event.type===
"dragover"),event.type==="drop"&&take(event.dataTransfer.files[0]))},press=event=>{event.key!=="Enter"||!(event.ctrlKey||event.metaKey)||(event.preventDefault(),
event.currentTarget.form.requestSubmit())},paste2=event=>{let pasted=event.clipboardData?.getData("text/plain")||"";if(pasted.length<LONG_PASTE)return;event.preventDefault();
let field=event.currentTarget;field.setRangeText(pasted.replace(/\r\n?/g,`
`),field.selectionStart,field.selectionEnd,"end"),form.set("text",field.value)},control=tied=>html`<div class=${over?"box is-over":"box"} onDragOver=${drag} onDragLeave=${()=>setOver(
!1)} onDrop=${drag}>
    <textarea rows=${rows} class="mono" wrap="off" autocomplete="off" spellcheck=${!1} autofocus=${autofocus} ...${tied} placeholder=${EXAMPLES} value=${form.values.
text}
      onInput=${event=>form.set("text",event.currentTarget.value)} onKeyDown=${press} onPaste=${paste2}></textarea>
    <div class="box-foot"><label class="button small"><${Icon} name="upload" /><span>Choose a file</span><input type="file" class="visually-hidden" accept=".txt,.csv,.json,text/plain,text/csv,application/json"
      onChange=${event=>{take(event.currentTarget.files[0]),event.currentTarget.value=""}} /></label><span class="hint">or drop one here. Text, CSV and JSON are read.</span></div>
  </div>`,{answer,busy,problem}=reading,outcome=w(()=>html`<${Outcome} text=${form.values.text} reading=${reading} />`,[answer,busy,problem]),tags=html`<${TagField} form=${form} name="tags" label="Tags for all" hint="Press Enter or comma to add a tag." />`;
return html`<div class="fields">
    <${Field} wide form=${form} name="text" member="" label="Paste a proxy, or a whole list" control=${control} />
    ${fault2&&html`<p class="fault wide" role="alert">${fault2}</p>`}
    <div class="wide">${outcome}</div>
    ${!brief&&tags}
    <details class="box-more wide"><summary>${brief?"Type and tags":"Default type"}: <span class="muted">${PROXY_TYPES[form.values.type]}</span></summary>
      <div class="fields"><${Choice} form=${form} name="type" label="Type of lines that name none" wide options=${Object.entries(PROXY_TYPES)} />${brief&&tags}</div></details>
  </div>`}function Outcome({text:text3,reading}){let{answer,busy,problem,choose}=reading;if(problem)return html`<${ProblemBox} problem=${problem} />`;if(!answer)
return html`<p class="hint" role="status">${busy?"Reading…":"Each line is one proxy. SOCKS5 unless it says otherwise."}</p>`;let{created,duplicate,ambiguous,invalid,
results}=answer,of2=result=>results.filter(line=>line.result===result),lines=text3.split(`
`),wrong=of2("invalid"),unclear=of2("ambiguous").slice(0,SHOWN),shownWrong=wrong.slice(0,Math.max(5,SHOWN-unclear.length));return html`<div class=${busy?"box-ou\
tcome is-old":"box-outcome"}>
    <p role="status" class="box-sum"><span class=${created?"good-text":"muted"}><${Icon} name=${created?"check":"warning"} /><strong>${created?count(created,"pr\
oxy","proxies"):"No proxy"}</strong> to add</span>
      ${duplicate>0&&html`<span>${count(duplicate,"duplicate")}</span>`}${ambiguous>0&&html`<span class="wait-text">${number(ambiguous)} ambiguous</span>`}${invalid>
0&&html`<span class="bad-text">${number(invalid)} not readable</span>`}</p>
    ${ambiguous>0&&html`<section class="box-lines" tabindex="0" aria-label="Ambiguous lines"><h3>${ambiguous===1?"This line can be read in two ways. Which one i\
s right?":"These lines can be read in two ways. Which one is right?"}</h3>
      ${ambiguous>1&&html`<p class="box-every"><span>All ${number(ambiguous)} lines:</span>${formsOf(lines,unclear).map((form,i)=>html`<button type="button" key=${form} class="button small" onClick=${()=>choose(
EVERY,i+1)}>${form}</button>`)}</p>`}
      <ul>${unclear.map(line=>html`<${Unclear} key=${line.line} line=${line} text=${lines[line.line-1]||""} choose=${choose} />`)}</ul>${more(ambiguous,unclear)}</section>`}
    ${invalid>0&&html`<section class="box-lines" tabindex="0" aria-label="Lines that are no proxy"><ul>${shownWrong.map(({line,reason})=>html`<li key=${line}><strong class="number">Line ${number(
line)}</strong> ${sentence(reason).replace(/^./,c=>c.toLowerCase())}</li>`)}</ul>${more(invalid,shownWrong)}</section>`}
    ${duplicate>0&&html`<${Duplicates} lines=${of2("duplicate")} total=${duplicate} />`}
  </div>`}function more(total,shown){return total>shown.length&&html`<p class="hint">And ${number(total-shown.length)} more.</p>`}function Unclear({line,text:text3,
choose}){return html`<li><strong class="number">Line ${number(line.line)}</strong> <span class="box-readings">${line.readings.map((reading,i)=>html`<button type="button" key=${reading} class="button small" title=${reading}
    aria-label=${`Line ${line.line}: ${partsOf(text3,i)||reading}`} onClick=${()=>choose(text3.trim(),i+1)}><bdi>${partsOf(text3,i)||reading}</bdi></button>`)}</span></li>`}
function formsOf(lines,unclear){return unclear.every(({line})=>!/@|\[/.test(lines[line-1]||""))?["host:port:user:password","user:password:host:port"]:["The firs\
t reading","The second reading"]}function partsOf(text3,reading){let parts=text3.trim().replace(/^[a-z0-9]+:\/\//i,"").split(":");if(parts.length!==4||/[@[]/.test(
text3))return"";let[host,port,user]=reading===0?parts:[parts[2],parts[3],parts[0]];return`${host}:${port}, user ${user}`}function Duplicates({lines,total}){let there=lines.
filter(({existingId})=>existingId).length,words=lines.slice(0,SHOWN).map(({line})=>number(line)).join(", ");return html`<p class="hint">${total===1?"Line":"Line\
s"} ${words}${total>Math.min(lines.length,SHOWN)?` and ${number(total-Math.min(lines.length,SHOWN))} more`:""} ${total===1?"is":"are"} skipped:
    ${there===lines.length?" already among your proxies.":there===0?" the same as a line above.":" already among your proxies, or the same as a line above."}</p>`}async function addProxies(app,{values,choices,workspaceId}){let{text:text3,tags}=values,kind=kindOf(text3),answer=await app.api.send("/proxies/import",queryOf({
...values,workspaceId,choices}),kind,bodyOf(text3)),ids=answer.results.filter(({id})=>id).map(({id})=>id),bad=new Set(answer.results.filter(({result})=>["invali\
d","ambiguous"].includes(result)).map(({line})=>line)),rest=bad.size?kind==="text/plain"?text3.split(`
`).filter((_,i)=>bad.has(i+1)).join(`
`):text3:"",skipped=answer.duplicate>0?`${count(answer.duplicate,"duplicate was","duplicates were")} skipped.`:"";ids.length?app.toasts.say({text:`Added ${count(
ids.length,"proxy","proxies")}.`,more:skipped,tone:"good"}):app.toasts.say({text:"Nothing was added.",more:skipped});let checked2=ids.length?checkMany(app,{ids,
tags}):null;return{answer,ids,rest,checked:checked2}}var FOUND=20,PAUSE_MS2=120;function Combobox({tied,path,workspaceId,label,words,chosen:chosen2,placeholder="Search",optionsOf}){let{api}=useApp(),listId=P(),[text3,
setText]=d(null),[found,setFound]=d({data:[],total:0}),[at,setAt]=d(0),open=text3!==null;A(()=>{if(!open)return;let ending=new AbortController,timer=setTimeout(
()=>api.get(path,{search:text3.trim(),workspaceId,limit:FOUND},{signal:ending.signal}).then(setFound,()=>{}),PAUSE_MS2);return()=>{clearTimeout(timer),ending.abort()}},
[text3,workspaceId]);let options=optionsOf(found.data,text3||""),take=option=>{option?.run(()=>setText(null)),option?.stays||setText(null)},press=event=>{let to={
ArrowDown:at+1,ArrowUp:at-1}[event.key];to!==void 0?(event.preventDefault(),open||setText(""),setAt((to+options.length)%options.length)):event.key==="Enter"&&open?
(event.preventDefault(),take(options[at])):event.key==="Escape"&&open&&(event.preventDefault(),event.stopPropagation(),setText(null))};return html`<div class="finder"><input type="text" ...${tied} role="combobox" aria-expanded=${open} aria-controls=${listId} aria-autocomplete="list" aria-activedescendant=${open?
`${listId}-${at}`:void 0} autocomplete="off" spellcheck=${!1}
      placeholder=${open?placeholder:words} value=${open?text3:words} class=${chosen2&&!open?"has-value":""}
      onFocus=${event=>event.currentTarget.select()} onClick=${()=>!open&&setText("")} onInput=${event=>{setAt(0),setText(event.currentTarget.value)}} onKeyDown=${press} onBlur=${()=>setText(
null)} />
    ${open&&html`<ul class="finder-list" role="listbox" id=${listId} aria-label=${label}>${options.map((option,i)=>html`<li key=${option.key} id=${`${listId}-${i}`} role="option" aria-selected=${i===
at} class="finder-line"
      onMouseDown=${event=>{event.preventDefault(),take(option)}} onMouseMove=${()=>i!==at&&setAt(i)}>${option.words}</li>`)}
      ${found.total>found.data.length&&html`<li class="finder-more" role="presentation">${number(found.total-found.data.length)} more. Type to narrow the list.</li>`}</ul>`}
  </div>`}var DELETED="gone",DEALT="dealt";function proxyOf(profile2){return profile2.proxyId||(profile2.proxies?DEALT:profile2.proxyMissing?DELETED:"")}function proxyHint(id){
return id===DELETED?"":id===DEALT?"It is chosen when the profile is created. All traffic goes through it.":id?"All traffic goes through this proxy. Nothing bypa\
sses it.":"Sites see this computer’s own address."}function ProxyField({form,workspaceId,hint,label="Proxy",none,empty,dealt}){return html`<${Field} wide ...${{
form,name:"proxyId",label,hint,control:tied=>html`<${Finder} ...${{form,workspaceId,tied,none,empty,dealt}} />`}} />`}function Finder({form,workspaceId,tied,none="\
No proxy (direct connection)",empty=none,skip=[],dealt=""}){let{api}=useApp(),chosen2=form.values.proxyId,proxy2=useProxy(chosen2&&chosen2!==DELETED&&chosen2!==
DEALT?chosen2:""),words=chosen2===DEALT?dealt:chosen2===DELETED?"Its proxy was deleted. Choose another, or none.":chosen2?proxy2?describe(proxy2):proxy2===null?
"Unknown proxy":"…":empty,choose=id=>form.set("proxyId",id),add=(text3,close)=>form.send(async()=>{let made=await api.post("/proxies",{url:text3.trim(),...workspaceId?
{workspaceId}:{}}).catch(problem=>{if(problem.code!=="duplicate"||!problem.body?.existingId)throw asProxyFault(problem);return{id:problem.body.existingId}});choose(
made.id),close()});return html`<${Combobox} ...${{tied,workspaceId,words,optionsOf:(data,text3)=>[...looksLikeLine(text3)?[{key:"add",words:`Add ${hideLogin(text3)}\
 and use it`,run:close=>add(text3,close),stays:!0}]:[],...dealt?[{key:"dealt",words:dealt,run:()=>choose(DEALT)}]:[],...none?[{key:"none",words:none,run:()=>choose(
"")}]:[],...data.filter(({id})=>!skip.includes(id)).map(one=>({key:one.id,words:html`<${Country} code=${one.lastCheck?.country} /> <bdi>${describe(one)}</bdi>`,
run:()=>choose(one.id)}))]}} path="/proxies" label="Proxies" chosen=${!!chosen2} placeholder="Search, or paste host:port:user:password" />`}function looksLikeLine(text3){
return/^\s*(?:[a-z0-9]+:\/\/\S+|\S*[^\s:]+[:@]\S*\d{2,5}\S*)\s*$/i.test(text3)}function hideLogin(text3){let[,host]=/(?:@|^(?:[a-z0-9]+:\/\/)?)([^@:\s/]+:\d+)/i.
exec(text3.trim())||[];return host||"this proxy"}function asProxyFault(problem){return problem.errors=problem.errors.map(error=>({...error,location:"body.proxyI\
d"})),problem}function describe(proxy2){let status=proxy2.status==="alive"?"":` (${(PROXY_STATUS[proxy2.status]||PROXY_STATUS.unknown).text.toLowerCase()})`;return`${proxyName(
proxy2)}${status}`}function ProxyDialog({profile:profile2,done,close}){let app=useApp(),form=useForm({proxyId:proxyOf(profile2)}),save2=async values=>{let changed=await app.
api.put(`/profiles/${encodeURIComponent(profile2.id)}`,{proxyId:values.proxyId||null});done?.(changed),close()},running=["running","starting"].includes(profile2.
status);return html`<${Dialog} title="Choose a proxy" lead=${html`For <${Name}>${profile2.name}<//>`} close=${close}>
    <${Form} form=${form} work=${save2} foot=${html`
      <button type="button" class="button" onClick=${close}>Cancel</button>
      <button class="button primary" disabled=${form.busy||form.values.proxyId===DELETED}>${form.busy?"Saving…":"Save"}</button>`}>
      <${ProxyField} form=${form} workspaceId=${profile2.workspaceId}
        hint=${running?"The running browser uses it for new connections at once. Choosing no proxy takes effect at the next start.":proxyHint(form.values.proxyId)} />
    <//>
  <//>`}function FirstRun({hold,end}){let app=useApp(),counts=useStore(app.model.counts),workspaceId=useStore(app.model.workspace),[proxyId,setProxyId]=d(void 0),[starting,
setStarting]=d(""),there=counts?.proxies.total>0;A(()=>{!there||proxyId!==void 0||app.api.get("/proxies",{workspaceId,limit:1,page:1}).then(({data})=>setProxyId(
now=>now??data[0]?.id),()=>{})},[there]);let decided=proxyId!==void 0,steps=[{title:"Add a proxy",state:decided?"done":"now"},{title:"Create a profile",state:starting?
"done":decided?"now":"later"},{title:"Start it",state:starting?"now":"later"}],bodies=[decided?html`<${ProxyDone} id=${proxyId} total=${counts?.proxies.total??0} change=${()=>setProxyId(
void 0)} fixed=${!!starting} />`:html`<${ProxyStep} workspaceId=${workspaceId} decide=${setProxyId} />`,starting?html`<p><bdi>${starting}</bdi></p>`:decided?html`<${ProfileStep} key=${proxyId} proxyId=${proxyId} workspaceId=${workspaceId} began=${name=>{
hold(),setStarting(name)}} end=${end} />`:html`<p class="muted">A profile is a browser of its own, with its own cookies, tabs and proxy.</p>`,starting?html`<p role="status" class="status wait"><span class="dot"></span>Starting…</p>`:
html`<p class="muted">View it here, or connect Playwright or Puppeteer.</p>`];return html`<div class="first"><header class="first-head"><${Burrows} /><div><h2>Set up your first profile</h2><p class="muted">Three steps to a running browser.</p></div></header>
    <ol class="first-steps">${steps.map(({title:title2,state},i)=>html`<li key=${title2} class=${`first-step is-${state}`} aria-current=${state==="now"?"step":void 0}>
      <span class="first-mark" aria-hidden="true">${state==="done"?html`<${Icon} name="check" />`:i+1}</span>
      <div class="first-body"><h3>${title2}<span class="visually-hidden">${{done:" (done)",now:" (next)",later:" (later)"}[state]}</span></h3>${bodies[i]}</div></li>`)}</ol></div>`}
function ProxyStep({workspaceId,decide}){let app=useApp(),form=useForm(boxValues()),reading=useReading({...form.values,workspaceId}),ready=reading.answer?.created??
0,send=async values=>{let{answer,ids,rest}=await addProxies(app,{values,choices:reading.choices,workspaceId}),first=ids[0]??answer.results.find(({existingId})=>existingId)?.
existingId;rest&&form.setAll({...values,text:rest}),first&&decide(first)},foot=html`<button class="button primary" aria-keyshortcuts="Control+Enter Meta+Enter" title="Ctrl Enter" disabled=${form.
busy||!form.values.text.trim()||reading.answer&&!ready&&!reading.answer.duplicate}>${form.busy?"Adding…":ready>1?`Add ${count(ready,"proxy","proxies")}`:"Add \
proxy"}</button>
    <button type="button" class="button quiet" onClick=${()=>app.leaving(()=>decide(""))}>Go without a proxy</button>`;return html`<p class="muted">Sites see the proxy’s address, not yours.</p>
    <${Form} plain form=${form} work=${send} foot=${foot}><${ProxyBox} form=${form} reading=${reading} rows=${3} brief autofocus /><//>`}function ProxyDone({id,
total,change,fixed}){let proxy2=useProxy(id),check2=proxy2?.lastCheck,words=id?proxy2?html`<bdi>${proxyName(proxy2)}</bdi>`:"…":"No proxy: the profile connect\
s directly.";return html`<p class="first-done"><span>${words}</span>
    ${check2?.ok&&html`<span class="good-text"><${Country} code=${check2.country} name=${check2.countryName} /> ${check2.exitIp}${check2.latencyMs!=null&&` · ${span(
check2.latencyMs)}`}</span>`}
    ${check2&&!check2.ok&&html`<span class="bad-text">${faultWords(check2.error)?.happened||"The check failed."}</span>`}
    ${id&&proxy2&&!check2&&html`<span class="status wait"><span class="dot"></span>Checking</span>`}
    ${total>1&&html`<span class="muted">${count(total,"proxy","proxies")} in all</span>`}
    ${!fixed&&html`<button type="button" class="button quiet small" onClick=${change}>${id?"Add another":"Add a proxy"}</button>`}</p>`}function ProfileStep({proxyId,
workspaceId,began,end}){let app=useApp(),form=useForm({name:"",proxyId}),why=useNoStart(),create=run=>async({name,proxyId:chosen2})=>{let profile2=await app.api.
post("/profiles",{name:name.trim(),...chosen2?{proxyId:chosen2}:{},...workspaceId?{workspaceId}:{}});return app.model.sawWorkspaces([profile2]),run?(began(profile2.
name),start(app,profile2).finally(end)):end()},foot=html`<button class="button primary" disabled=${form.busy||!!why} title=${why||void 0}><${Icon} name="play" />Create and start</button>
    <button type="button" class="button" disabled=${form.busy} onClick=${()=>form.send(create(!1))}>Create only</button>`;return html`<${Form} plain form=${form} work=${create(
!0)} foot=${foot}><div class="fields">
    <${Text} form=${form} name="name" label="Name" wide autofocus placeholder="Shop account, Berlin" />
    <${ProxyField} form=${form} workspaceId=${workspaceId} hint=${proxyHint(form.values.proxyId)} /></div><//>`}var SAMPLES=30,MAX_LATENCY_MS=1e3,SECOND_MS=1e3,Meter=class{shown=new Store({latency:null,rate:0});#sent=new Map;#samples=[];#drawn=[];#timer=0;begin(){this.#timer=
setInterval(()=>this.#show(),SECOND_MS)}end(){clearInterval(this.#timer)}reset(){this.#sent.clear()}sent(n){this.#sent.set(n,performance.now());let[oldest]=this.#sent.
keys();performance.now()-this.#sent.get(oldest)>MAX_LATENCY_MS&&this.#sent.delete(oldest)}drawn(input){let now=performance.now();this.#drawn.push(now);let took=now-
this.#sent.get(input);for(let n of this.#sent.keys())n<=input&&this.#sent.delete(n);took<=MAX_LATENCY_MS&&(this.#samples=[...this.#samples.slice(1-SAMPLES),took],
this.#samples.length===1&&this.#show())}#show(){let now=performance.now();this.#drawn=this.#drawn.filter(at=>now-at<SECOND_MS);let sorted2=[...this.#samples].sort(
(a,b)=>a-b),latency=sorted2.length?sorted2[sorted2.length>>1]:null,{latency:before,rate}=this.shown.value;(latency!==before||rate!==this.#drawn.length)&&this.shown.
set({latency,rate:this.#drawn.length})}};var FIRST_WAIT_MS=1e3,LONGEST_WAIT_MS=15e3,PING_MS=5e3,MAX_UNANSWERED=2,CHUNK=1<<20,KEPT_DOWNLOADS=100,TEXT_CHUNK=16384,MAX_BUFFERED=4<<20,ENDED=[1e3,1008];var KeyAccess=class{#api;constructor(api,profileId,readonly){this.#api=api,this.path=`api/v1/profiles/${encodeURIComponent(profileId)}/live`,this.query=readonly?
"?readonly=1":""}async protocols(){let{ticket}=await this.#api.post("/tickets",{path:`/${this.path}`});return[`warren.ticket.${ticket}`]}async probe(){try{return await this.#api.
open("GET",this.path),{status:200,words:""}}catch(problem){return{status:problem.status,words:problem.message}}}download(id){return{fetch:async()=>(await this.#api.
open("GET",`${this.path}/downloads/${encodeURIComponent(id)}`)).blob()}}},LiveLink=class{phase=new Store({name:"connecting"});hello=new Store(null);tabs=new Store(
{active:"",tabs:[]});page=new Store(null);control=new Store({holder:null,you:!1,viewers:[],asking:[]});script=new Store({active:!1});cursor=new Store("default");dialog=new Store(
null);chooser=new Store(null);uploads=new Store(new Map);options=new Store(null);downloads=new Store(new Map);passkey=new Store(null);copied=new Store(null);window=new Store(
{resized:!1});error=new Store(null);roundTrip=new Store(null);meter=new Meter;draw=async()=>{};#socket=null;#timer=0;#ping=0;#unanswered=0;#wait=FIRST_WAIT_MS;#n=0;#pendingAck=null;#bye="";#ended=!1;#askedToCopy=!1;constructor(access){
this.access=access}begin(){let soon2=()=>document.visibilityState==="visible"&&this.#reconnectSoon();return addEventListener("online",soon2),document.addEventListener(
"visibilitychange",soon2),this.#ping=setInterval(()=>this.#sendPing(),PING_MS),this.meter.begin(),this.connect(),()=>{this.#ended=!0,removeEventListener("online",
soon2),document.removeEventListener("visibilitychange",soon2),clearInterval(this.#ping),clearTimeout(this.#timer),this.meter.end(),this.#disconnect()}}async connect(){
clearTimeout(this.#timer),this.#timer=0,this.#disconnect();let{name,...rest}=this.phase.value;this.phase.set(name==="over"?{name:"connecting"}:{...rest,name,at:0});
let turn3={};this.#socket=turn3;let protocols;try{protocols=await this.access.protocols()}catch(problem){this.#socket===turn3&&this.#failed(problem.status,problem.
message);return}if(this.#ended||this.#socket!==turn3)return;let address3=new URL(this.access.path+this.access.query,document.baseURI);address3.protocol=address3.
protocol.replace("http","ws"),this.#listen(new WebSocket(address3,["warren.live",...protocols]))}#listen(socket){let opened=!1;this.#socket=socket,socket.binaryType=
"arraybuffer",socket.onopen=()=>{opened=!0},socket.onmessage=({data})=>{this.#socket===socket&&(this.#unanswered=0,typeof data=="string"?this.#receive(data):this.#frame(
socket,data))},socket.onclose=async({code,reason})=>{if(this.#socket!==socket)return;if(ENDED.includes(code))return this.#over(code,this.#bye||reason);if(opened)
return this.#lost(this.#bye||reason);let{status,words}=await this.access.probe().catch(()=>({status:0,words:""}));this.#socket===socket&&this.#failed(status,words)}}#failed(status,words){
[401,403,404,409,410].includes(status)?this.#over(status,words):this.#lost(words)}#over(status,words){this.#disconnect(),this.phase.set({name:"over",status,words})}#lost(words){
this.#disconnect(),!this.#ended&&(this.phase.set({name:"lost",words,at:Date.now()+this.#wait}),this.#timer=setTimeout(()=>this.connect(),this.#wait),this.#wait=
Math.min(this.#wait*2,LONGEST_WAIT_MS))}#reconnectSoon(){this.#pendingAck?.socket===this.#socket&&this.#ack(this.#pendingAck.socket,this.#pendingAck.seq),this.#pendingAck=
null,this.#timer&&this.connect()}#disconnect(){let socket=this.#socket;this.#socket=null,socket instanceof WebSocket&&socket.close();for(let asked of[this.dialog,
this.chooser,this.options])asked.set(null);this.script.set({active:!1}),this.control.set({holder:null,you:!1,viewers:[],asking:[]}),this.window.set({resized:!1}),
this.roundTrip.set(null)}#receive(text3){let message;try{message=JSON.parse(text3)}catch{return}let{type,...body}=message||{};Object.hasOwn(HANDLERS,type)&&HANDLERS[type](
this,body)}onHello(hello){this.#n=0,this.#wait=FIRST_WAIT_MS,this.#bye="",this.meter.reset(),this.hello.set(hello),this.phase.set({name:"live"});let name=readName();
name&&this.send({type:"name",name})}onBye(reason){this.#bye=reason}onCopied(text3){this.copied.set({text:text3,asked:this.#askedToCopy}),this.#askedToCopy=!1}async#frame(socket,data){
let header;try{let length=new DataView(data).getUint16(0);header=JSON.parse(new TextDecoder().decode(new Uint8Array(data,2,length))),await this.draw(header,new Blob(
[new Uint8Array(data,2+length)])),this.meter.drawn(header.input||0)}catch{if(!header)return}document.hidden?this.#pendingAck={socket,seq:header.seq}:this.#ack(socket,
header.seq)}#ack(socket,seq){this.#socket===socket&&this.send({type:"ack",seq})}#sendPing(){if(this.phase.value.name==="live"){if(this.#unanswered>=MAX_UNANSWERED)
return this.#lost("");this.#unanswered++,this.send({type:"ping",t:performance.now()})}}get drives(){return this.phase.value.name==="live"&&this.control.value.you&&
!this.hello.value?.readonly}send(message){this.#socket?.readyState===WebSocket.OPEN&&this.#socket.send(JSON.stringify(message))}input(message){if(!this.drives)return;
let n=++this.#n;this.meter.sent(n),this.send({...message,n})}text(text3){let letters=[...text3];for(let at=0;at<letters.length;at+=TEXT_CHUNK)this.input({type:"\
text",text:letters.slice(at,at+TEXT_CHUNK).join("")})}copy(){this.#askedToCopy=!0,this.input({type:"copy",cut:!1})}fitWindow({width,height}){this.send({type:"wi\
ndow",do:"fit",width:Math.round(width),height:Math.round(height)})}restoreWindow(){this.send({type:"window",do:"restore"})}name(name){saveName(name),this.send({
type:"name",name})}async upload(chooser,files){let socket=this.#socket,wanted=()=>this.#socket===socket&&this.chooser.value?.id===chooser&&this.drives;for(let[file,
content]of files.entries()){let at=0;do{for(;wanted()&&socket.bufferedAmount>MAX_BUFFERED;)await new Promise(go=>{setTimeout(go,20)});let bytes2=await content.slice(
at,at+CHUNK).arrayBuffer();if(!wanted())return;at+=bytes2.byteLength;let header={chooser,file,files:files.length,name:content.name,size:content.size,last:at>=content.
size};socket.send(pack(header,bytes2))}while(at<content.size)}}},HANDLERS={__proto__:null,hello:(link,body)=>link.onHello(body),tabs:(link,body)=>link.tabs.set(
body),page:(link,body)=>link.page.set(body),control:(link,body)=>link.control.set({asking:[],viewers:[],...body}),script:(link,body)=>link.script.set({...body,at:performance.
now()}),cursor:(link,{cursor})=>link.cursor.set(cursor),dialog:(link,body)=>link.dialog.set(body),dialogClosed:(link,{id})=>clear(link.dialog,id),chooser:(link,body)=>{
link.uploads.set(new Map),link.chooser.set(body)},chooserClosed:(link,{id})=>clear(link.chooser,id),options:(link,body)=>link.options.set(body),optionsClosed:(link,{
id})=>clear(link.options,id),download:(link,body)=>link.downloads.set(withDownload(link.downloads.value,body)),passkey:(link,body)=>link.passkey.set(body),copied:(link,{
text:text3})=>link.onCopied(text3),uploaded:(link,{name,received})=>link.uploads.set(new Map(link.uploads.value).set(name,received)),window:(link,body)=>link.window.
set(body),pong:(link,{t})=>typeof t=="number"&&link.roundTrip.set(performance.now()-t),error:(link,body)=>link.error.set(body),bye:(link,{reason})=>link.onBye(reason)};
function clear(store2,id){store2.value?.id===id&&store2.set(null)}function withDownload(downloads,one){let all=new Map(downloads),over=all.has(one.id)||all.size<
KEPT_DOWNLOADS?null:[...all.values()].find(({state})=>state!=="running");return over&&all.delete(over.id),all.set(one.id,one)}function pack(header,bytes2){let text3=new TextEncoder().
encode(JSON.stringify(header)),whole=new Uint8Array(2+text3.length+bytes2.byteLength);return new DataView(whole.buffer).setUint16(0,text3.length),whole.set(text3,
2),whole.set(new Uint8Array(bytes2),2+text3.length),whole}var NAME="warren.live.name";function readName(){try{return localStorage.getItem(NAME)||""}catch{return""}}
function saveName(name){try{localStorage.setItem(NAME,name)}catch{}}var TYPED_MS=800;function Prompt({title:title2,drives,refuse,children,foot}){let box=T(null),titleId=P();F(()=>{let before=document.activeElement;return drives?
box.current.showModal():box.current.show(),()=>{box.current?.close(),drives&&before?.focus?.({preventScroll:!0})}},[drives]);let cancel=event=>{event.preventDefault(),
drives&&refuse()};return html`<dialog ref=${box} class="dialog asked" closedby="none" aria-labelledby=${titleId} onCancel=${cancel}
    onKeyDown=${event=>event.key==="Escape"&&cancel(event)}>
    <div class="dialog-body">
      <header class="dialog-head"><h2 id=${titleId}>${title2}</h2></header>
      <div class="dialog-content">${children}</div>
      ${drives?html`<footer class="dialog-foot">${foot}</footer>`:html`<p class="hint asked-hint">Who has the controls answers this.</p>`}
    </div>
  </dialog>`}var BEFORE="Changes that you made may not be saved.";function PageDialog({link,drives}){let asked=useStore(link.dialog);return asked&&html`<${OneDialog} key=${`${asked.
id} ${drives}`} ...${{link,asked,drives}} />`}function OneDialog({link,asked,drives}){let{id,kind,message,url}=asked,[text3,setText]=d(asked.text||""),answer=accept=>link.
send({type:"dialog",id,accept,text:accept&&kind==="prompt"?text3:""}),leaving=kind==="beforeunload",submit=event=>{event.preventDefault(),answer(!0)};return html`<${Prompt} title=${leaving?
"Leave this page?":html`<bdi>${hostOf(url)}</bdi> says`} drives=${drives} refuse=${()=>answer(!1)} foot=${html`
    ${kind!=="alert"&&html`<button type="button" class="button" onClick=${()=>answer(!1)}>${leaving?"Stay":"Cancel"}</button>`}
    <button type="button" class="button primary" autofocus=${kind!=="prompt"} onClick=${()=>answer(!0)}>${leaving?"Leave":"OK"}</button>`}>
    <p class="asked-text">${message||(leaving?BEFORE:"")}</p>
    ${kind==="prompt"&&html`<form onSubmit=${submit}>
      <input aria-label="Answer" value=${text3} autofocus disabled=${!drives} autocomplete="off" onInput=${event=>setText(event.currentTarget.value)} /></form>`}
  <//>`}function hostOf(url){try{return new URL(url).host||"This page"}catch{return"This page"}}function Chooser({link,drives}){let asked=useStore(link.chooser);
return asked&&html`<${OneChooser} key=${`${asked.id} ${drives}`} ...${{link,asked,drives}} />`}function OneChooser({link,asked,drives}){let[files,setFiles]=d([]),
[over,setOver]=d(!1),uploads=useStore(link.uploads),cancel=()=>link.send({type:"chooser",id:asked.id,cancel:!0}),give=list=>{let chosen2=asked.multiple?[...list]:
[...list].slice(0,1);setOver(!1),!(!chosen2.length||files.length||!drives)&&(setFiles(chosen2),link.upload(asked.id,chosen2))},drop=event=>{event.preventDefault(),
give(event.dataTransfer.files)};return html`<${Prompt} title=${asked.multiple?"The page wants files":"The page wants a file"} drives=${drives} refuse=${cancel}
    foot=${html`<button type="button" class="button" onClick=${cancel}>Cancel</button>`}>
    ${files.length===0?drives&&html`<label class=${over?"drop is-over":"drop"} onDrop=${drop} onDragOver=${event=>{event.preventDefault(),setOver(!0)}} onDragLeave=${()=>setOver(
!1)}>
          <${Icon} name="upload" /><span><strong>${asked.multiple?"Choose files":"Choose a file"}</strong> of this computer, or drop ${asked.multiple?"them":"it"} here</span>
          <input type="file" class="visually-hidden" multiple=${asked.multiple} onChange=${event=>give(event.currentTarget.files)} /></label>`:html`<ul class="transfers" aria-label="Files on their way">${files.
map(file=>html`<li key=${file.name}>
          <bdi class="transfer-name">${file.name}</bdi><span class="muted number">${bytes(uploads.get(file.name)||0)} of ${bytes(file.size)}</span>
          <progress max=${file.size||1} value=${uploads.get(file.name)||0} aria-label=${file.name}></progress></li>`)}</ul>`}
  <//>`}function Options({link,drives,place:place2}){let asked=useStore(link.options);return asked&&place2&&html`<${OneList} key=${asked.id} ...${{link,asked,drives,
place:place2}} />`}function OneList({link,asked,drives,place:place2}){let{id,multiple,options=[]}=asked,first=[].concat(asked.selected??[])[0]??options.findIndex(
option=>!option.disabled),[at,setAt]=d(first),[chosen2,setChosen]=d(()=>new Set([].concat(asked.selected??[]))),list=T(null),typed2=T({word:"",at:0}),listId=P(),
answer=indexes=>drives&&link.send({type:"options",id,indexes}),pick=index=>{!drives||!options[index]||options[index].disabled||(setAt(index),multiple?setChosen(
toggled(chosen2,index)):answer([index]))};F(()=>{placeList(list.current,asked,place2);let before=document.activeElement;return drives&&list.current.focus(),()=>before?.
focus?.({preventScroll:!0})},[]),A(()=>list.current.children[at]?.scrollIntoView({block:"nearest"}),[at]);let key2=event=>{event.preventDefault(),event.stopPropagation();
let to=nextIndex(options,at,event.key);to!==void 0?setAt(to):event.key==="Escape"||event.key==="Tab"?answer(null):event.key==="Enter"?answer(multiple?[...chosen2].
sort((a,b)=>a-b):[at]):event.key===" "&&!typed2.current.word?pick(at):[...event.key].length===1&&setAt(typeAhead(options,at,typed2.current,event.key))};return html`<ul ref=${list} class="options" role="listbox" tabindex=${drives?
0:void 0} aria-label="Choose" aria-multiselectable=${multiple?"true":void 0}
    aria-activedescendant=${at>=0?`${listId}-${at}`:void 0} onKeyDown=${drives?key2:void 0} onBlur=${()=>link.options.value?.id===id&&answer(null)}>
    ${options.map((option,i)=>html`<li key=${i} id=${`${listId}-${i}`} role="option" data-group=${option.group&&option.group!==options[i-1]?.group?option.group:
void 0}
      class=${`${i===at?"is-at":""}${option.group?" in-group":""}`} aria-selected=${multiple?chosen2.has(i):i===at} aria-disabled=${option.disabled?"true":void 0}
      onPointerDown=${event=>{event.preventDefault(),pick(i)}} onPointerMove=${()=>drives&&!option.disabled&&setAt(i)}>${option.text||" "}</li>`)}
    ${multiple&&drives&&html`<li role="none" class="options-done"><button type="button" class="button small primary" tabindex="-1"
      onPointerDown=${event=>{event.preventDefault(),answer([...chosen2].sort((a,b)=>a-b))}}>Done</button></li>`}
  </ul>`}function toggled(set,index){let changed=new Set(set);return changed.delete(index)||changed.add(index),changed}function placeList(list,{x,y,width,height},place2){
let room=list.parentElement,{scrollLeft,scrollTop}=room.querySelector(".stage-room"),[left,top]=[place2.left-scrollLeft+x*place2.scale,place2.top-scrollTop+y*place2.
scale],bottom=top+height*place2.scale,below=room.clientHeight-bottom;list.style.minWidth=`${width*place2.scale}px`,list.style.left=`${Math.max(4,Math.min(left,room.
clientWidth-list.offsetWidth-4))}px`,list.style.maxHeight=`${Math.max(below,top,120)-8}px`,below>=Math.min(list.scrollHeight,top)?list.style.top=`${bottom}px`:list.
style.bottom=`${room.clientHeight-top}px`}function nextIndex(options,at,key2){let step={__proto__:null,ArrowDown:1,ArrowUp:-1,Home:1,End:-1,PageDown:1,PageUp:-1}[key2];
if(!step)return;let to={__proto__:null,Home:0,End:options.length-1,PageDown:at+10,PageUp:at-10}[key2]??at+step;for(to=Math.max(0,Math.min(options.length-1,to));options[to]?.
disabled;)to+=step;return options[to]?to:at}function typeAhead(options,at,typed2,letter2){let now=performance.now();typed2.word=(now-typed2.at<TYPED_MS?typed2.word:
"")+letter2.toLowerCase(),typed2.at=now;let same=[...typed2.word].every(one=>one===typed2.word[0]),word=same?typed2.word[0]:typed2.word;for(let i=same?1:0;i<=options.
length;i++){let to=(at+i+options.length)%options.length;if(!options[to].disabled&&options[to].text.trim().toLowerCase().startsWith(word))return to}return at}async function paste(link,refused){let text3;try{text3=await navigator.clipboard.readText()}catch{return refused()}return link.text(text3)}function PasteBox({link,
close}){let field=T(null);return html`<${Prompt} title="Paste into the page" drives=${!0} refuse=${close}
    foot=${html`<button type="button" class="button" onClick=${close}>Cancel</button><button type="button" class="button primary" onClick=${()=>{link.text(field.
current.value),close()}}>Paste</button>`}>
    <label>This browser keeps its clipboard closed here. Paste the text into this field.
      <textarea ref=${field} rows="4" autofocus></textarea></label>
  <//>`}function Copied({link,toasts}){let copied=useStore(link.copied),[refused,setRefused]=d(null),box=T(null);return A(()=>{if(!copied?.text){copied?.asked&&
toasts.say({text:"Nothing is selected in the page."});return}let done=()=>{setRefused(null),copied.asked&&toasts.say({text:"Copied.",tone:"good"})};Promise.resolve().
then(()=>navigator.clipboard.writeText(copied.text)).then(done,()=>setRefused(copied))},[copied]),A(()=>box.current?.select(),[refused]),refused?html`<div class="copied" role="status">
    <p>This browser keeps its clipboard closed here. Copy the text yourself:</p>
    <textarea ref=${box} readonly rows="3" aria-label="What was copied" value=${refused.text}></textarea>
    <div class="copied-foot"><button type="button" class="button small" onClick=${()=>setRefused(null)}>Close</button><${Copy} text=${refused.text} label="Copy the text" /></div>
  </div>`:null}function drivingWords({holder,you,viewers},hello){let watching=viewers.length-(viewers.some(({id})=>id===holder)?1:0);if(you)return`You drive${watching>0?` · ${count(
watching,"watches","watch")}`:""}`;let others=watching>1?` and ${watching-1} more watch`:" watch",who=viewers.find(({id})=>id===holder),driver=who?html`<bdi>${who.
name||"Someone"}</bdi> drives`:"Nobody drives";return html`${driver} · you${others}${hello?.readonly?". This link only shows":""}`}function otherDriver({holder,
you,viewers},script){return you&&script.active?"A script drives it now":html`<bdi>${viewers.find(({id})=>id===holder)?.name||"Somebody else"}</bdi> drives it now`}
function Asking({link}){let{holder,you,viewers,asking}=useStore(link.control),hello=useStore(link.hello),script=useStore(link.script);if(useStore(link.phase).name!==
"live")return null;let say2=(what,more2)=>link.send({type:"control",do:what,...more2}),asked=asking.includes(hello?.viewer),wanting=you?asking.find(id=>id!==hello?.
viewer):null,name=viewers.find(({id})=>id===wanting)?.name||"Someone",may2=!you&&!hello?.readonly;return!script.active&&!wanting&&!may2?null:html`<div class="live-control">
    ${script.active&&html`<span class="chip script" role="status">A script drives this tab</span>`}
    ${wanting&&html`<span class="chip wait" role="status"><bdi>${name}</bdi> asks for the controls</span>
      <button type="button" class="button small primary" onClick=${()=>say2("give",{to:wanting})}>Give</button>`}
    ${may2&&holder&&html`<button type="button" class="button small" onClick=${()=>say2(asked?"unask":"ask")}>${asked?"Do not ask":"Ask"}</button>`}
    ${may2&&html`<button type="button" class="button small" onClick=${()=>say2("take")}>Take the controls</button>`}
  </div>`}function Viewers({link}){let control=useStore(link.control),hello=useStore(link.hello),id=P(),button=T(null),list=T(null),say2=(what,more2)=>link.send(
{type:"control",do:what,...more2}),{holder,you,viewers,asking}=control,place2=event=>{if(event.newState!=="open")return;let at=button.current.getBoundingClientRect();
list.current.style.top=`${at.bottom+6}px`,list.current.style.right=`${Math.max(8,document.documentElement.clientWidth-at.right)}px`};return html`<button type="button" class="button small people-button" ref=${button} popovertarget=${id} aria-label=${`\
Who is here: ${viewers.length}`} title="Who is here">
      <${Icon} name="people" /><span class="number">${viewers.length}</span></button>
    <div id=${id} ref=${list} class="menu people" popover="auto" role="dialog" aria-label="Who is here" onBeforeToggle=${place2}>
      <ul aria-label="Who is here">${viewers.map(viewer=>html`<li key=${viewer.id}>
        <span><bdi>${viewer.name||"No name"}</bdi>${viewer.id===hello?.viewer?" (you)":""}
          <span class="sub">${viewer.id===holder?"Drives":viewer.readonly?"Can only watch":asking.includes(viewer.id)?"Asks for the controls":"Watches"}</span></span>
        ${you&&viewer.id!==hello?.viewer&&!viewer.readonly&&html`<button type="button" class="button small" aria-label=${`Give the controls to ${viewer.name||"t\
his viewer"}`} onClick=${()=>say2("give",{to:viewer.id})}>Give</button>`}
        ${you&&viewer.id===hello?.viewer&&viewers.length>1&&html`<button type="button" class="button small" onClick=${()=>say2("leave")}>Let go</button>`}
      </li>`)}</ul>
      <${OwnName} link=${link} />
    </div>`}function OwnName({link}){let[name,setName]=d(readName);return html`<form class="own-name" onSubmit=${event=>{event.preventDefault(),link.name(name.trim())}}>
    <label>Your name, as others see it <input maxlength="60" autocomplete="nickname" value=${name} onInput=${event=>setName(event.currentTarget.value)} /></label>
    <button class="button small">Save</button>
  </form>`}var REVOKE_MS=6e4;function save(blob,name){let a=document.createElement("a");a.href=URL.createObjectURL(blob),a.download=name,a.click(),setTimeout(()=>URL.revokeObjectURL(
a.href),REVOKE_MS)}function Transfers({link,toasts}){let downloads=useStore(link.downloads),[closed,setClosed]=d(()=>new Set),shown=[...downloads.values()].filter(
download=>!closed.has(download.id));return shown.length?html`<ul class="transfers downloads" aria-label="Downloads">${shown.map(download=>html`<li key=${download.
id}>
    <bdi class="transfer-name" title=${download.url}>${download.name}</bdi>
    <${TransferState} ...${{link,download,toasts}} />
    ${download.state!=="running"&&html`<button type="button" class="icon-button" aria-label=${`Forget ${download.name}`} onClick=${()=>setClosed(new Set(closed).
add(download.id))}><${Icon} name="close" /></button>`}
  </li>`)}</ul>`:null}function TransferState({link,download,toasts}){let{id,name,state,received=0,total=0}=download;if(state==="running")return html`<span class="muted number">${bytes(
received)}${total>0?` of ${bytes(total)}`:""}</span>
      <progress max=${total>0?total:void 0} value=${total>0?received:void 0} aria-label=${name}></progress>`;if(state!=="done")return html`<span class="bad-text">Failed</span>`;
let access=link.access.download(id);return access.href?html`<a class="button small" href=${access.href} download=${name} aria-label=${`Save ${name}`}><${Icon} name="download" />Save</a>`:
html`<${SaveButton} name=${name} fetchIt=${access.fetch} toasts=${toasts} />`}function SaveButton({name,fetchIt,toasts}){let[busy,setBusy]=d(!1),work=async()=>{
setBusy(!0);try{save(await fetchIt(),name)}catch(problem){toasts.say({text:`${name} was not saved.`,more:problem.message,tone:"bad"})}setBusy(!1)};return html`<button type="button" class="button small" disabled=${busy} aria-label=${`\
Save ${name}`} onClick=${work}><${Icon} name="download" />${busy?"One moment…":"Save"}</button>`}var STATES={__proto__:null,in_progress:"Under way",cancelled:"\
Cancelled",interrupted:"Broken off"};function DownloadList({id,link,owner,toasts}){let told=useStore(link.downloads),[open,setOpen]=d(!1),[list,setList]=d(null),
[problem,setProblem]=d(null),panel=T(null),ended=[...told.values()].filter(({state})=>state!=="running").length;return A(()=>{let wanted=open;return open&&owner.
downloads().then(all=>{wanted&&(setList(all),setProblem(null))},error=>wanted&&setProblem(error)),()=>{wanted=!1}},[open,told.size,ended]),html`<div id=${id} ref=${panel} class="menu live-panel" popover="auto" role="dialog" aria-label="Downloads of this run" tabindex="-1"
    onToggle=${event=>{setOpen(event.newState==="open"),event.newState==="open"&&panel.current.focus()}}>
    <h2>Downloads of this run</h2>
    ${problem&&html`<p class="bad-text" role="alert">${problem.message}</p>`}
    ${list?.length===0&&html`<p class="muted">Nothing was downloaded.</p>`}
    ${list?.length>0&&html`<ul class="transfers">${list.map(one=>html`<li key=${one.id}>
      <bdi class="transfer-name" title=${one.url}>${one.name}</bdi>
      <span class="muted number">${sizeOf(one)}</span>
      ${one.state==="complete"?html`<${SaveButton} name=${one.name} fetchIt=${()=>owner.download(one.name)} toasts=${toasts} />`:html`<span class=${one.state===
"in_progress"?"muted":"bad-text"}>${STATES[one.state]||one.state}</span>`}
    </li>`)}</ul>`}
  </div>`}function sizeOf({size,totalBytes,state}){return state==="in_progress"&&totalBytes?`${bytes(size)} of ${bytes(totalBytes)}`:bytes(size)}var NARROW="(max-width: 760px)",TOUCH="(pointer: coarse)";function Bar({link,zoom,owner,drives,toasts,view,paste:paste2}){let phase=useStore(link.phase),control=useStore(
link.control),hello=useStore(link.hello),script=useStore(link.script),live=phase.name==="live",narrow=useMedia(NARROW),panel=P(),[shooting,shoot]=useScreenshot(
link,owner,toasts),sizes=useSizes(link,zoom,drives),[full,toggleFull]=useFullScreen(view),words=live?drivingWords(control,hello):"Not connected",stop2=()=>owner.
stop(!control.you&&control.holder||script.active?otherDriver(control,script):null);return html`<div class="live-bar">
    ${owner?html`<a class="live-home" href=${owner.home} title="Back to the profiles" aria-label="Back to the profiles"><${Logo} /></a>`:html`<span class="live-home"><${Logo} /></span>`}
    <div class="live-who">
      <h1 class="live-name" tabindex="-1"><span class=${owner?.profile?"visually-hidden":""}>Live view${owner?.profile?" of ":""}</span>${owner?.profile&&html`<bdi title=${owner.
profile.name}>${owner.profile.name}</bdi>`}</h1>
      <p class="live-sub"><${Exit} run=${owner?.profile?.run} /><span class="live-driver" role="status">${words}</span></p>
    </div>
    <${Asking} link=${link} />
    <div class="live-tools">
      ${live&&html`<${Viewers} link=${link} />`}
      ${!narrow&&html`<${SizeChoice} sizes=${sizes} />`}
      ${!narrow&&owner&&html`<button type="button" class="icon-button" aria-label="Screenshot" title="Save a screenshot" disabled=${!live||shooting} onClick=${()=>shoot(
!1)}><${Icon} name="camera" /></button>
        <button type="button" class="icon-button" aria-label="Downloads" title="Downloads of this run" popovertarget=${panel}><${Icon} name="download" /></button>`}
      ${!narrow&&toggleFull&&html`<button type="button" class="icon-button" aria-label="Full screen" title="Full screen" onClick=${toggleFull}><${Icon} name="expand" /></button>`}
      <${More} ...${{link,zoom,owner,drives,paste:paste2,live,narrow,shoot,sizes,stop:stop2,toggleFull,panel}} />
      ${!narrow&&owner&&html`<button type="button" class="button small danger-quiet" disabled=${!live} onClick=${stop2}><${Icon} name="stop" />Stop</button>`}
    </div>
    ${owner&&html`<${DownloadList} id=${panel} link=${link} owner=${owner} toasts=${toasts} />`}
    ${full&&html`<button type="button" class="button small live-unfull" onClick=${toggleFull}><${Icon} name="shrink" />Leave full screen</button>`}
  </div>`}function More({link,zoom,owner,drives,paste:paste2,live,narrow,shoot,sizes,stop:stop2,toggleFull,panel}){let touch=useMedia(TOUCH),fingers=useStore(zoom.
fingers),items=[owner&&live&&narrow&&{label:"Screenshot",icon:"camera",run:()=>shoot(!1)},owner&&live&&{label:"Screenshot of the whole page",icon:"page",run:()=>shoot(
!0)},owner&&narrow&&{label:"Downloads of this run",icon:"download",run:()=>document.getElementById(panel).showPopover()},drives&&{label:"Copy what is selected",
icon:"copy",run:()=>link.copy()},drives&&{label:"Paste from this device",icon:"paste",run:()=>paste(link,paste2)},...narrow?sizes.list.filter(({value})=>value!==
sizes.value).map(({value,label})=>({label:`Size: ${label.toLowerCase()}`,icon:"expand",run:()=>sizes.choose(value)})):[],touch&&drives&&(fingers==="view"?{label:"\
Give two fingers to the page",icon:"fingers",run:()=>zoom.chooseFingers("page")}:{label:"Zoom with two fingers",icon:"fingers",run:()=>zoom.chooseFingers("view")}),
narrow&&toggleFull&&{label:"Full screen",icon:"expand",run:toggleFull},owner&&live&&narrow&&{label:"Stop the browser",icon:"stop",danger:!0,run:stop2}].filter(Boolean);
return items.length>0&&html`<${Menu} label="More" items=${items} />`}function Exit({run}){return run?run.proxy?html`<span class="live-exit"><${Country} code=${run.
proxy.country} />${run.proxy.exitIp?html`<span class="mono">${run.proxy.exitIp}</span>`:"Exit IP not known yet"}</span>`:html`<span class="live-exit">No proxy</span>`:
null}function useSizes(link,zoom,drives){let scale=useStore(zoom.scale),{resized}=useStore(link.window),value=resized&&drives?"window":scale===null?"fit":scale===
1?"own":"other",list=[{value:"fit",label:"Fit"},{value:"own",label:"100 %"},value==="other"&&{value,label:`${Math.round(scale*100)} %`},drives&&{value:"window",
label:"My window’s size"}].filter(Boolean);return{value,list,choose:to=>{to==="window"?link.fitWindow(zoom.room):value==="window"&&link.restoreWindow(),to!=="\
other"&&zoom.scale.set(to==="own"?1:null)}}}function SizeChoice({sizes}){return html`<select class="live-size" aria-label="Size" title="How large the page is shown" value=${sizes.
value} onChange=${event=>sizes.choose(event.currentTarget.value)}>
    ${sizes.list.map(({value,label})=>html`<option key=${value} value=${value}>${label}</option>`)}
  </select>`}function useScreenshot(link,owner,toasts){let[busy,setBusy]=d(!1);return[busy,async whole=>{setBusy(!0);try{save(await owner.screenshot(link.tabs.value.
active,whole),`${fileName(owner.profile?.name||"screenshot")} ${stamp(new Date)}.png`)}catch(problem){toasts.say({text:"There is no screenshot.",more:problemWords(
problem),tone:"bad"})}setBusy(!1)}]}function fileName(text3){return text3.replace(/[\p{C}\\/:*?"<>|]+/gu,"_").slice(0,80)}function stamp(now){let two=n=>String(
n).padStart(2,"0");return`${now.getFullYear()}-${two(now.getMonth()+1)}-${two(now.getDate())} ${two(now.getHours())}.${two(now.getMinutes())}.${two(now.getSeconds())}`}
function useFullScreen(view){let[full,setFull]=d(!1);A(()=>{let changed=()=>setFull(!!document.fullscreenElement);return document.addEventListener("fullscreench\
ange",changed),()=>document.removeEventListener("fullscreenchange",changed)},[]);let toggle=()=>(document.fullscreenElement?document.exitFullscreen():view.current.
requestFullscreen({navigationUI:"hide"})).catch(()=>{});return[full,document.fullscreenEnabled?toggle:null]}function useMedia(query){let[matches,setMatches]=d(()=>matchMedia(
query).matches);return A(()=>{let list=matchMedia(query),changed=()=>setMatches(list.matches);return list.addEventListener("change",changed),()=>list.removeEventListener(
"change",changed)},[query]),matches}var MAC=/^Mac|^iP/.test(navigator.platform),ESCAPES=3,KEY_CODES={__proto__:null,59:186,61:187,173:189},PLACEHOLDER=matchMedia("(pointer: coarse)").matches?" ":
"",KEY_PRESSES={__proto__:null,Backspace:{key:"Backspace",code:"Backspace",keyCode:8,text:""},Delete:{key:"Delete",code:"Delete",keyCode:46,text:""},Enter:{key:"\
Enter",code:"Enter",keyCode:13,text:"\r"}};function cmdIsCtrl(link){return MAC&&link.hello.value?.os!=="mac"}function modifiers(event,link){let control=event.ctrlKey||
event.metaKey&&cmdIsCtrl(link),meta=event.metaKey&&!cmdIsCtrl(link);return(event.altKey?1:0)|(control?2:0)|(meta?4:0)|(event.shiftKey?8:0)}var Keyboard=class{#field;#link;#leave;#held=new Map;#dead=!1;#escapes=0;constructor(field,link,leave){
this.#field=field,this.#link=link,this.#leave=leave}begin(){let handlers={keydown:event=>this.#down(event),keyup:event=>this.#up(event),compositionstart:()=>{this.#dead=
!1},compositionupdate:({data})=>this.#link.input({type:"compose",text:data,start:data.length,end:data.length}),compositionend:({data})=>this.#composed(data),input:event=>this.#input(
event),paste:event=>this.#paste(event),copy:event=>this.#copy(event,!1),cut:event=>this.#copy(event,!0),focus:()=>this.#empty(),blur:()=>this.#releaseAll()};for(let[
name,handler]of Object.entries(handlers))this.#field.addEventListener(name,handler);return()=>{for(let[name,handler]of Object.entries(handlers))this.#field.removeEventListener(
name,handler)}}resetEscapes(){this.#escapes=0}#down(event){if(event.isComposing||event.keyCode===229||["Process","Unidentified"].includes(event.key)||this.#countEscape(
event))return;if(event.key==="Dead"){this.#dead=!0;return}if(this.#dead&&[...event.key].length===1)return;if(isModifier(event.key)||(this.#dead=!1),event.key===
"AltGraph"){this.#releaseKey("ControlLeft"),event.preventDefault();return}let shortcut=(MAC?event.metaKey:event.ctrlKey)&&!event.altKey?letter(event):"";shortcut===
"v"||event.key==="Insert"&&event.shiftKey||(event.preventDefault(),!event.shiftKey&&(shortcut==="c"||shortcut==="x")?this.#link.input({type:"copy",cut:shortcut===
"x"}):event.key==="Insert"&&event.ctrlKey?this.#link.input({type:"copy",cut:!1}):this.#press(event))}#countEscape(event){return event.key!=="Escape"?this.#escapes=
0:event.repeat||this.#escapes++,this.#escapes<ESCAPES?!1:(this.#escapes=0,event.preventDefault(),this.#leave(),!0)}#press(event){let pressed={...keyNames(event,
this.#link),text:typed(event),location:event.location,modifiers:typedModifiers(event,this.#link)};this.#link.input({type:"key",kind:"down",...pressed,repeat:event.
repeat}),this.#held.set(event.code||event.key,pressed),MAC&&event.metaKey&&event.key!=="Meta"&&this.#releaseKey(event.code||event.key)}#up(event){this.#held.has(
event.code||event.key)&&(event.preventDefault(),this.#releaseKey(event.code||event.key,typedModifiers(event,this.#link)))}#releaseKey(place2,withModifiers=0){let pressed=this.#held.
get(place2);this.#held.delete(place2)&&this.#link.input({type:"key",kind:"up",...pressed,text:"",repeat:!1,modifiers:withModifiers})}#releaseAll(){for(let place2 of[
...this.#held.keys()])this.#releaseKey(place2);this.#dead=!1,this.#escapes=0}#composed(text3){this.#link.input(text3?{type:"text",text:text3}:{type:"compose",text:"",
start:0,end:0}),this.#empty()}#input(event){if(event.isComposing||/Composition/.test(event.inputType))return;let text3=event.data??this.#field.value.replace(PLACEHOLDER,
"");this.#empty(),this.#dead=!1,/^delete.*Forward$/.test(event.inputType)?this.#pressKey("Delete"):event.inputType.startsWith("delete")?this.#pressKey("Backspac\
e"):/^insert(LineBreak|Paragraph)$/.test(event.inputType)?this.#pressKey("Enter"):text3&&this.#link.input({type:"text",text:text3})}#pressKey(name){let pressed={
type:"key",...KEY_PRESSES[name],location:0,repeat:!1,modifiers:0};this.#link.input({...pressed,kind:"down"}),this.#link.input({...pressed,kind:"up",text:""})}#paste(event){
event.preventDefault(),this.#link.text(event.clipboardData?.getData("text/plain")||"")}#copy(event,cut){event.preventDefault(),this.#link.input({type:"copy",cut})}#empty(){
this.#field.value=PLACEHOLDER}};function isModifier(key2){return["Shift","Control","Alt","AltGraph","Meta","CapsLock"].includes(key2)}function letter({key:key2,
code}){if(/^[a-z]$/i.test(key2))return key2.toLowerCase();let[,latin=""]=key2.codePointAt(0)>127&&/^Key([A-Z])$/.exec(code)||[];return latin.toLowerCase()}function keyNames({
key:key2,code,keyCode},link){return key2==="Meta"&&cmdIsCtrl(link)?{key:"Control",code:code.replace("Meta","Control"),keyCode:17}:{key:key2,code,keyCode:KEY_CODES[keyCode]||
keyCode}}function insertsText(event){return[...event.key].length!==1||event.metaKey?!1:event.getModifierState("AltGraph")||!event.ctrlKey&&(MAC||!event.altKey)}
function typed(event){return event.key==="Enter"?"\r":insertsText(event)?event.key:""}function typedModifiers(event,link){let all=modifiers(event,link);return insertsText(
event)&&(event.getModifierState("AltGraph")||MAC)?all&-4:all}var BUTTONS=["left","middle","right","back","forward"],BITS=[1,4,2,8,16],CLICKS=3,LINE=40,FrameThrottle=class{#work;#given=null;#frame=0;constructor(work){this.#work=
work}schedule(what){this.#given=what,this.#frame||=requestAnimationFrame(()=>this.flush())}flush(){cancelAnimationFrame(this.#frame),this.#frame=0;let given=this.#given;
this.#given=null,given&&this.#work(given)}};function clicks({detail}){return Math.min(Math.max(detail,1),CLICKS)}function listen(target,handlers){for(let[name,handler]of Object.
entries(handlers))target.addEventListener(name,handler,{passive:!1});return()=>{for(let[name,handler]of Object.entries(handlers))target.removeEventListener(name,
handler)}}var Mouse=class{#canvas;#picture;#link;#focus;#held=0;#move=new FrameThrottle(message=>this.#link.input(message));constructor(canvas,picture,link,focus){
this.#canvas=canvas,this.#picture=picture,this.#link=link,this.#focus=focus}begin(){let ends2=[listen(this.#canvas,{mousedown:event=>this.#down(event),wheel:event=>this.#wheel(
event),contextmenu:event=>event.preventDefault()}),listen(window,{mousemove:event=>this.#moved(event),mouseup:event=>this.#up(event)}),this.#link.control.watch(
()=>{this.#link.drives||(this.#held=0)})];return()=>ends2.forEach(end=>end())}#message(event,kind,more2){return{type:"mouse",kind,...this.#picture.point(event),
button:"none",buttons:this.#held,clicks:0,modifiers:modifiers(event,this.#link),dx:0,dy:0,...more2}}#moved(event){if(event.target!==this.#canvas&&!this.#held)return;
let lost=this.#held&~event.buttons;lost&&BITS.forEach((bit,i)=>lost&bit&&this.#release(event,i)),this.#move.schedule(this.#message(event,"move"))}#down(event){event.
preventDefault(),!(!this.#link.drives||!BUTTONS[event.button])&&(this.#focus(event),this.#move.flush(),this.#held|=BITS[event.button],this.#link.input(this.#message(
event,"down",{button:BUTTONS[event.button],clicks:clicks(event)})))}#up(event){this.#held&BITS[event.button]&&(event.preventDefault(),this.#release(event,event.
button))}#release(event,button){this.#move.flush(),this.#held&=~BITS[button],this.#link.input(this.#message(event,"up",{button:BUTTONS[button],clicks:clicks(event)}))}#wheel(event){
event.preventDefault();let unit=[1,LINE,this.#canvas.clientHeight][event.deltaMode];this.#move.flush(),this.#link.input(this.#message(event,"wheel",{dx:event.deltaX*
unit,dy:event.deltaY*unit}))}},Touch=class{#room;#picture;#link;#zoom;#moving=null;#move=new FrameThrottle(message=>this.#link.input(message));#drag=new FrameThrottle(
touches=>this.#picture.drag(touches));constructor(room,picture,link,zoom){this.#room=room,this.#picture=picture,this.#link=link,this.#zoom=zoom}begin(){return listen(
this.#room,{touchstart:event=>this.#start(event),touchmove:event=>{event.preventDefault(),this.#moving?this.#drag.schedule(this.#here(event)):this.#move.schedule(
this.#message(event,"move"))},touchend:event=>this.#end(event,event.targetTouches.length?"move":"end"),touchcancel:event=>this.#end(event,"cancel")})}#start(event){
let more2=this.#moving===!1&&this.#here(event).length>1&&this.#zoom.fingers.value==="view";more2&&this.#sendNow(event,"cancel"),this.#moving===null&&(this.#moving=
event.target===this.#room||!this.#link.drives&&this.#picture.zoomed),(more2||!this.#link.drives&&this.#here(event).length>1)&&(this.#moving=!0),this.#moving?this.#hold(
event):this.#sendNow(event,"start")}#end(event,kind){this.#moving?this.#here(event).length?this.#hold(event):event.preventDefault():this.#sendNow(event,kind),this.#here(
event).length||(this.#moving=null)}#hold(event){event.preventDefault(),this.#drag.flush(),this.#picture.hold(this.#here(event))}#sendNow(event,kind){event.preventDefault(),
this.#move.flush(),this.#link.input(this.#message(event,kind))}#message(event,kind){let points=(kind==="cancel"?[]:this.#here(event)).map(touch=>({id:touch.identifier,
...this.#picture.point(touch),force:touch.force}));return{type:"touch",kind,points,modifiers:modifiers(event,this.#link)}}#here({touches}){return[...touches].filter(
({target})=>this.#room.contains(target))}};var MOST=5,NEARLY=1.03,FINGERS="warren.live.fingers",Zoom=class{scale=new Store(null);fingers=new Store(readFingers());room={width:0,height:0};chooseFingers(what){
this.fingers.set(what);try{localStorage.setItem(FINGERS,what)}catch{}}};function readFingers(){try{return localStorage.getItem(FINGERS)==="page"?"page":"view"}catch{
return"view"}}function fitScale(room,page){return Math.min(room.width/page.width,room.height/page.height)}function placed(room,page,scale){let[width,height]=[page.
width*scale,page.height*scale];return{left:Math.max(0,(room.width-width)/2),top:Math.max(0,(room.height-height)/2),width,height}}function fingersAt([a,b=a]){return{
x:(a.x+b.x)/2,y:(a.y+b.y)/2,apart:Math.hypot(a.x-b.x,a.y-b.y)}}function pinched({room,page,scale,scroll,from,to}){let fit=fitScale(room,page),ratio=from.apart>0&&
to.apart>0?to.apart/from.apart:1,wanted=Math.min(Math.max(scale*ratio,fit),Math.max(MOST,fit)),now=wanted<fit*NEARLY?fit:wanted,[before,after]=[placed(room,page,
scale),placed(room,page,now)],x=(scroll.left+from.x-before.left)/scale,y=(scroll.top+from.y-before.top)/scale,within=(at,whole,seen2)=>Math.min(Math.max(at,0),Math.
max(0,whole-seen2));return{scale:now===fit?null:now,scroll:{left:within(x*now+after.left-to.x,after.width,room.width),top:within(y*now+after.top-to.y,after.height,
room.height)}}}var RESIZED_MS=150,SCRIPT_MS=1500,CURSORS=new Set(["default","none","context-menu","help","pointer","progress","wait","cell","crosshair","text","vertical-text",
"alias","copy","move","no-drop","not-allowed","grab","grabbing","all-scroll","col-resize","row-resize","n-resize","e-resize","s-resize","w-resize","ne-resize","\
nw-resize","se-resize","sw-resize","ew-resize","ns-resize","nesw-resize","nwse-resize","zoom-in","zoom-out"]),Picture=class{place=new Store(null);#room;#canvas;#link;#zoom;#frame=null;#timer=0;#asked="";#fitted="";#gesture=null;constructor(room,canvas,link,zoom){
this.#room=room,this.#canvas=canvas,this.#link=link,this.#zoom=zoom}begin(){this.#link.draw=(header,blob)=>this.draw(header,blob);let observer=new ResizeObserver(
()=>this.#resized());try{observer.observe(this.#room.parentElement,{box:"device-pixel-content-box"})}catch{observer.observe(this.#room.parentElement)}let unwatch=[
this.#link.hello.watch(()=>this.#ask(!0)),this.#zoom.scale.watch(()=>this.#resized()),...[this.#link.window,this.#link.control,this.#link.tabs].map(store2=>store2.
watch(()=>this.#fitWindow()))];return()=>{observer.disconnect(),unwatch.forEach(end=>end()),clearTimeout(this.#timer),this.#link.draw=async()=>{}}}async draw(header,blob){
let bitmap=await createImageBitmap(blob),canvas=this.#canvas;(canvas.width!==bitmap.width||canvas.height!==bitmap.height)&&(canvas.width=bitmap.width,canvas.height=
bitmap.height),canvas.getContext("2d",{alpha:!1}).drawImage(bitmap,0,0),bitmap.close();let before=this.#frame;this.#frame=header,(before?.width!==header.width||
before?.height!==header.height)&&this.#resized()}point({clientX,clientY}){if(!this.#frame)return{x:0,y:0};let{left,top,width,height}=this.#canvas.getBoundingClientRect(),
{width:pageWidth,height:pageHeight,offsetTop=0}=this.#frame,within=(at,size)=>Math.round(Math.min(Math.max(at,0),size)*100)/100;return{x:within((clientX-left)/width*
pageWidth,pageWidth),y:within((clientY-top)/height*pageHeight-offsetTop,pageHeight)}}hold(touches){let{scrollLeft:left,scrollTop:top}=this.#room;this.#gesture=this.#frame&&
{scale:this.#place().scale,scroll:{left,top},from:this.#fingers(touches)}}drag(touches){if(!this.#gesture)return;let{scale,scroll}=pinched({room:this.#zoom.room,
page:this.#frame,...this.#gesture,to:this.#fingers(touches)});this.#zoom.scale.set(scale),this.#room.scrollTo(scroll)}get zoomed(){let{scrollWidth,clientWidth,scrollHeight,
clientHeight}=this.#room;return this.#zoom.scale.value!==null&&(scrollWidth>clientWidth||scrollHeight>clientHeight)}#fingers(touches){let{left,top}=this.#room.getBoundingClientRect();
return fingersAt(touches.slice(0,2).map(({clientX,clientY})=>({x:clientX-left,y:clientY-top})))}#resized(){this.#layout(),clearTimeout(this.#timer),this.#timer=
setTimeout(()=>{this.#ask(!1),this.#fitWindow()},RESIZED_MS)}#ask(anew){let{clientWidth,clientHeight}=this.#room,{width=0,height=0}=this.#zoom.scale.value===null?
{}:this.place.value||{},size={width:Math.round(Math.max(clientWidth,width)*devicePixelRatio),height:Math.round(Math.max(clientHeight,height)*devicePixelRatio)},
asked=`${size.width}×${size.height}`;!size.width||!size.height||!anew&&asked===this.#asked||(this.#asked=asked,this.#link.send({type:"size",...size}))}#fitWindow(){
let{resized}=this.#link.window.value,size={width:Math.round(this.#zoom.room.width),height:Math.round(this.#zoom.room.height)},fitted=resized&&this.#link.drives?
`${size.width}×${size.height} ${this.#link.tabs.value.active}`:"";fitted&&fitted!==this.#fitted&&this.#link.fitWindow(size),this.#fitted=fitted}#place(){return{
...placed(this.#zoom.room,this.#frame,this.#scale()),scale:this.#scale()}}#scale(){return this.#zoom.scale.value??fitScale(this.#zoom.room,this.#frame)}#layout(){
if(this.#room.classList.toggle("is-zoomed",this.#zoom.scale.value!==null),this.#zoom.room={width:this.#room.clientWidth,height:this.#room.clientHeight},!this.#frame)
return;let whole=size=>Math.round(size*devicePixelRatio)/devicePixelRatio,place2=this.#place();for(let side of["left","top","width","height"])place2[side]=whole(
place2[side]),this.#canvas.style[side]=`${place2[side]}px`;this.#canvas.hidden=!1,this.place.set(place2)}};function Stage({link,zoom,away,label,leave,over}){let[
room,canvas,field]=[T(null),T(null),T(null)],[place2,setPlace]=d(null),phase=useStore(link.phase),control=useStore(link.control),hello=useStore(link.hello),cursor=useStore(
link.cursor),zoomed=useStore(zoom.scale)!==null,drives=phase.name==="live"&&control.you&&!hello?.readonly;return F(()=>{let picture=new Picture(room.current,canvas.
current,link,zoom),keys=new Keyboard(field.current,link,leave),focus=event=>{let{left,top}=room.current.getBoundingClientRect();field.current.style.left=`${event.
clientX-left+room.current.scrollLeft}px`,field.current.style.top=`${event.clientY-top+room.current.scrollTop}px`,field.current.focus({preventScroll:!0}),keys.resetEscapes()},
ends2=[...[picture,keys,new Mouse(canvas.current,picture,link,focus),new Touch(room.current,picture,link,zoom)].map(part=>part.begin()),picture.place.watch(setPlace)];
return()=>ends2.forEach(end=>end())},[link,zoom]),A(()=>{canvas.current.style.cursor=drives&&CURSORS.has(cursor)?cursor:"default"},[cursor,drives]),html`<div class=${`\
stage${away?" is-away":""}${drives?" drives":""}`}>
    <div class="stage-room" ref=${room} role=${zoomed?"group":void 0} tabindex=${zoomed?0:void 0} aria-label=${zoomed?"The enlarged picture. Arrow keys move it.":
void 0}>
      <canvas ref=${canvas} hidden role="img" aria-label=${label}></canvas>
      <textarea ref=${field} class="typing" disabled=${!drives} aria-label="The page. What you type goes to it. Press Esc three times to release the keyboard."
        autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${!1} rows="1"></textarea>
      <${ScriptPointer} link=${link} place=${place2} />
    </div>
    ${over(place2)}
  </div>`}function ScriptPointer({link,place:place2}){let script=useStore(link.script),pointer=T(null),[shown,setShown]=d(!1),placed2=place2&&typeof script.x=="\
number"&&typeof script.y=="number";return A(()=>{if(!placed2)return;setShown(!0);let timer=setTimeout(()=>setShown(!1),SCRIPT_MS);return()=>clearTimeout(timer)},
[script]),F(()=>{!placed2||!pointer.current||(pointer.current.style.left=`${place2.left+script.x*place2.scale}px`,pointer.current.style.top=`${place2.top+script.
y*place2.scale}px`)}),placed2?html`<div ref=${pointer} class=${`script-pointer${shown?"":" is-gone"}`} aria-hidden="true">
    <svg viewBox="0 0 16 16"><path d="M2 1l11 6.5-5 1.2L5.6 14z" /></svg><span>script</span></div>`:null}function Tabs({link,drives}){let{tabs=[],active}=useStore(link.tabs),list=T(null),tab=(what,more2)=>link.send({type:"tab",do:what,...more2});return A(()=>list.current?.
querySelector("[aria-current]")?.scrollIntoView({block:"nearest",inline:"nearest"}),[active,tabs.length]),html`<ul class="live-tabs" ref=${list} aria-label="Tabs">
    ${tabs.map(({id,title:title2,url,crashed})=>html`<li key=${id} class=${`live-tab${id===active?" is-active":""}`}>
      <button type="button" class="live-tab-name" disabled=${!drives&&id!==active} aria-current=${id===active?"true":void 0} title=${title2||url}
        onClick=${()=>drives&&id!==active&&tab("show",{tab:id})}>
        ${crashed&&html`<span class="crashed"><${Icon} name="warning" /><span class="visually-hidden">Crashed: </span></span>`}
        <bdi>${nameOf(title2,url)}</bdi></button>
      ${drives&&html`<button type="button" class="icon-button" aria-label=${`Close ${nameOf(title2,url)}`} title="Close" onClick=${()=>tab("close",{tab:id})}><${Icon} name="close" /></button>`}
    </li>`)}
    ${drives&&html`<li class="live-tab-new"><button type="button" class="icon-button" aria-label="Open a tab" title="Open a tab" onClick=${()=>tab("open",{url:"\
about:blank"})}><${Icon} name="plus" /></button></li>`}
  </ul>`}function nameOf(title2,url=""){return!title2||title2==="about:blank"?url==="about:blank"||!url?"New tab":url.replace(/^\w+:\/\//,"").slice(0,60):title2}
function addressOf(typed2){let text3=typed2.trim();if(text3===""||/^about:blank$/i.test(text3))return"about:blank";let named=/^[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|$))/i.
test(text3),bare2=/^(?:localhost|[\d.]+|\[[\da-f:.]+\]|[^/?#:]+\.localhost)(?=[:/?#]|$)/i.test(text3);try{let url=new URL(named?text3:`${bare2?"http":"https"}:${"\
/".repeat(2)}${text3}`);return["http:","https:"].includes(url.protocol)&&!/\s/.test(text3)?url.href:""}catch{return""}}function Address2({link,drives}){let page=useStore(
link.page),[typed2,setTyped]=d(null),[fault2,setFault]=d(""),field=T(null),url=page?.url&&page.url!=="about:blank"?page.url:"",go=(what,more2)=>link.send({type:"\
go",do:what,...more2}),reset=()=>{setTyped(null),setFault("")};A(reset,[page?.tab]);let submit=event=>{event.preventDefault();let to=addressOf(field.current.value);
if(!to){setFault("Only http, https and about:blank addresses can be opened.");return}go("to",{url:to}),reset(),document.querySelector(".typing")?.focus({preventScroll:!0})};
return html`<div class="live-address">
    <button type="button" class="icon-button" aria-label="Back" title="Back" disabled=${!drives||!page?.canGoBack} onClick=${()=>go("back")}><${Icon} name="back" /></button>
    <button type="button" class="icon-button" aria-label="Forward" title="Forward" disabled=${!drives||!page?.canGoForward} onClick=${()=>go("forward")}><${Icon} name="forward" /></button>
    ${page?.loading?html`<button type="button" class="icon-button" aria-label="Stop loading" title="Stop loading" disabled=${!drives} onClick=${()=>go("stop")}><${Icon} name="close" /></button>`:
html`<button type="button" class="icon-button" aria-label="Reload" title="Reload" disabled=${!drives||!page} onClick=${()=>go("reload")}><${Icon} name="reload" /></button>`}
    <form onSubmit=${submit}>
      <input ref=${field} class=${page?.loading?"is-loading":""} aria-label="Address" inputmode="url" autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${!1}
        readonly=${!drives} placeholder=${drives?"Type an address":"New tab"} value=${typed2??url} aria-invalid=${fault2?"true":void 0} aria-describedby=${fault2?
"address-fault":void 0}
        onInput=${event=>{setTyped(event.currentTarget.value),setFault("")}} onFocus=${event=>event.currentTarget.select()}
        onBlur=${reset} onKeyDown=${event=>event.key==="Escape"&&reset()} />
      <p class="fault" id="address-fault" role="alert">${fault2}</p>
    </form>
  </div>`}var SAME_ERROR_MS=4e3;function LiveView({link,owner=null}){let[toasts]=d(()=>new Toasts),[zoom]=d(()=>new Zoom),[pasting,setPasting]=d(!1),phase=useStore(link.phase),
hello=useStore(link.hello),control=useStore(link.control),page=useStore(link.page),{tabs=[],active}=useStore(link.tabs),crashed=!!tabs.find(tab=>tab.id===active)?.
crashed,drives=phase.name==="live"&&control.you&&!hello?.readonly,view=T(null),title2=owner?.profile?.name||page?.title||"Live view";A(()=>(document.title=`${title2}\
 — Warren`,()=>{document.title="Warren"}),[title2]),useErrors(link,toasts),usePasskeys(link,toasts);let leave=()=>view.current.querySelector(".live-address in\
put").focus(),type=()=>view.current.querySelector(".typing").focus();return html`<div class="live" ref=${view}>
    <header class="live-bars">
      <${Bar} ...${{link,zoom,owner,drives,toasts,view,paste:()=>setPasting(!0)}} />
      <div class="live-top">
        ${hello?.readonly?html`<${TabName} link=${link} />`:html`<nav class="live-tabs-room" aria-label="The browser’s tabs"><${Tabs} link=${link} drives=${drives} /></nav>`}
      </div>
      ${!hello?.readonly&&html`<div class="live-row">
        <${Address2} link=${link} drives=${drives} />
        ${drives&&hello?.passkeys&&html`<button type="button" class="button small passkey-button" title="Press it before the site’s button: this tab may then make or use one passkey, within a minute" onClick=${()=>link.
send({type:"passkey"})}><${Icon} name="key" />Allow passkey</button>`}
        ${drives&&html`<button type="button" class="icon-button keyboard-button" aria-label="Show the keyboard" title="Show the keyboard" onClick=${type}><${Icon} name="keyboard" /></button>`}
      </div>`}
    </header>
    <main class="live-main" id="main">
      <${Stage} link=${link} zoom=${zoom} away=${phase.name!=="live"||crashed} leave=${leave} label=${`Picture of the page ${page?.title||page?.url||""}`}
        over=${place2=>html`<${Options} link=${link} drives=${drives} place=${place2} /><${Overlay} ...${{link,phase,drives,crashed,...owner}} />`} />
      <${Transfers} link=${link} toasts=${toasts} />
    </main>
    <footer class="live-foot">
      <p class="live-hint">${drives?"Click to type. Press Esc three times to release the keyboard.":""}</p>
      <${Speed} link=${link} />
    </footer>
    <${PageDialog} link=${link} drives=${drives} />
    <${Chooser} link=${link} drives=${drives} />
    <${Copied} link=${link} toasts=${toasts} />
    ${pasting&&drives&&html`<${PasteBox} link=${link} close=${()=>setPasting(!1)} />`}
    <${ToastArea} toasts=${toasts} />
  </div>`}function TabName({link}){let page=useStore(link.page);return html`<p class="live-tab-only"><bdi>${page?.title||page?.url||""}</bdi></p>`}function useErrors(link,toasts){
A(()=>{let last={text:"",at:0};return link.error.watch(({message,code})=>{let text3=message||`The server refused that (${code}).`;text3===last.text&&performance.
now()-last.at<SAME_ERROR_MS||(last={text:text3,at:performance.now()},toasts.say({text:text3}))})},[link])}function usePasskeys(link,toasts){A(()=>{let last=0;return link.
passkey.watch(({tab,seconds})=>{let one=link.tabs.value.tabs.find(({id})=>id===tab);toasts.close(last),last=toasts.say({text:`“${one?.title||one?.url||"This t\
ab"}” may make or use one passkey within ${span(seconds*1e3)}.`,more:"Press the site’s button now. If the site waits already, reload its page first.",tone:"\
good"})})},[link])}function Overlay({link,phase,drives,crashed,home,start:start2,starting}){let{tabs=[]}=useStore(link.tabs),hello=useStore(link.hello);return phase.
name!=="live"?html`<${Away} ...${{link,phase,home,start:start2,starting}} />`:crashed?html`<${Card} title="This page has crashed"><p>The tab’s process has ended. Its cookies and the other tabs are untouched.</p>
      ${drives&&html`<button type="button" class="button primary" onClick=${()=>link.send({type:"go",do:"reload"})}><${Icon} name="reload" />Reload</button>`}<//>`:
hello&&tabs.length===0&&drives?html`<${Card} title="No tab is open"><button type="button" class="button primary" onClick=${()=>link.send({type:"tab",do:"open",url:"\
about:blank"})}><${Icon} name="plus" />Open a tab</button><//>`:null}function Card({title:title2,children}){return html`<div class="over" role="status"><div class="over-card"><h2>${title2}</h2>${children}</div></div>`}
function Away({link,phase,home,start:start2,starting}){let again2=html`<button type="button" class="button" onClick=${()=>link.connect()}>Try now</button>`,back=home&&
html`<a class="button" href=${home}>Go to the profiles</a>`,words=phase.words&&html`<p>${phase.words}</p>`;return phase.name==="connecting"?html`<${Card} title="Connecting…"><p class="muted">The picture comes in a moment.</p><//>`:
phase.name==="lost"?html`<${Card} title="The connection is lost">${words}<p>The browser may run on. The page tries again by itself.</p>${again2}<//>`:phase.status===
409?html`<${Card} title="The browser is not running">${start2?html`<p>Its picture shows here once it runs.</p>`:words}
      ${start2&&html`<button type="button" class="button primary" disabled=${starting} onClick=${start2}><${Icon} name="play" />${starting?"Starting…":"Start \
it"}</button>`}${back}<//>`:phase.status===1e3?html`<${Card} title="The view has ended">${words}${again2}${back}<//>`:phase.status===401||phase.status===403?html`<${Card} title="You may not see this">${words}${back}<//>`:
html`<${Card} title="This link is over">${words}<p>${home?"The profile or its run is gone.":"It was for one run of the browser. Ask for a new one from whoever g\
ave it to you."}</p>${back}<//>`}function Speed({link}){let{latency,rate}=useStore(link.meter.shown),roundTrip=useStore(link.roundTrip),about=`From your input t\
o the changed picture: the middle of the last 30.${roundTrip==null?"":` The link’s round trip: ${span(roundTrip)}.`}`;return html`<p class="live-speed number" title=${about}>${latency==
null?"":html`<span><span class="visually-hidden">From input to picture: </span>${Math.round(latency)} ms</span>`}
    <span title=${rate?"Pictures in the last second":"The page does not change, so there are no new pictures."}>${rate?`${rate} fps`:"idle"}</span></p>`}var LISTED=100;function LivePage({params}){let app=useApp(),id=params.get("profile")||"",readonly=params.has("readonly"),link=w(()=>new LiveLink(new KeyAccess(app.
api,id,readonly)),[app,id,readonly]),profile2=useProfile(app,id);A(()=>link.begin(),[link]);let starting=useStore(app.busy).has(id),actions=w(()=>new Actions(app,
id,link),[app,id,link]),owner={profile:profile2,starting,home:href("profiles"),start:()=>actions.start(profile2),stop:drivers=>actions.stop(profile2,drivers),screenshot:(tab,whole)=>actions.
screenshot(tab,whole),downloads:()=>actions.downloads(),download:name=>actions.download(name)};return html`<${LiveView} link=${link} owner=${owner} />`}function useProfile(app,id){
let[profile2,setProfile]=d(null),event=useStore(app.model.event),turn3=T(0),about=event?.type==="everything"||event?.data?.id===id||event?.data?.profileId===id?
event:null,last=T(null);return about&&(last.current=about),A(()=>{let mine=++turn3.current;app.api.get(`/profiles/${encodeURIComponent(id)}`).then(answer=>mine===
turn3.current&&setProfile(answer),()=>{})},[app,id,last.current]),profile2}var Actions=class{#app;#link;#id;#path;constructor(app,id,link){this.#app=app,this.#id=
id,this.#link=link,this.#path=`/profiles/${encodeURIComponent(id)}`}start(profile2){return this.#app.during(this.#id,async()=>{try{await this.#app.api.post(`${this.#path}\
/start`),this.#link.connect()}catch(problem){this.#failed(`${nameOf2(profile2)} did not start`,problem)}})}stop(profile2,drivers){return drivers?this.#app.open(
ConfirmDialog,{title:"Stop this browser?",verb:"Stop",work:()=>this.#stop(),children:html`<p>${drivers}. <${Name}>${nameOf2(profile2)}<//> is closed for everybody. Its tabs and cookies are kept.</p>`}):
this.#stop().then(()=>this.#app.toasts.say({text:`${nameOf2(profile2)} is closed. Its tabs and cookies are kept.`,tone:"good"}),problem=>this.#failed(`${nameOf2(
profile2)} did not stop`,problem))}#stop(){return this.#app.api.post(`${this.#path}/stop`)}async screenshot(tab,whole){let query=new URLSearchParams({tab,fullPage:String(
whole)});return(await this.#open(`screenshot?${query}`)).blob()}async downloads(){return(await this.#app.api.get(`${this.#path}/downloads`,{limit:LISTED})).data}async download(name){
return(await this.#open(`downloads/${encodeURIComponent(name)}`)).blob()}#open(rest){return this.#app.api.open("GET",`api/v1${this.#path}/${rest}`)}#failed(text3,problem){
this.#app.toasts.say({text:text3,more:`${problemTitle(problem)}. ${problemWords(problem)}`,tone:"bad"})}};function nameOf2(profile2){return profile2?.name||"The\
 profile"}var PERIOD_MS=1e3,AWAY_MS=1e3,FIRST_WAIT_MS2=2e3,LONGEST_WAIT_MS2=6e4,TileSocket=class{#access;#size;#draw;#socket=null;#timer=0;#wait=FIRST_WAIT_MS2;#ended=!1;constructor(access,size,draw){
this.#access=access,this.#size=size,this.#draw=draw}begin(){return this.#connect(),()=>{this.#ended=!0,clearTimeout(this.#timer),this.#socket?.close()}}async#connect(){
let protocols=await this.#access.protocols().catch(()=>null);if(this.#ended)return;if(!protocols){this.#again();return}let address3=new URL(`${this.#access.path}\
?tile=1`,document.baseURI);address3.protocol=address3.protocol.replace("http","ws");let socket=new WebSocket(address3,["warren.live",...protocols]);this.#socket=
socket,socket.binaryType="arraybuffer",socket.onopen=()=>{this.#wait=FIRST_WAIT_MS2,socket.send(JSON.stringify({type:"size",...this.#size}))},socket.onmessage=({
data})=>typeof data!="string"&&this.#frame(socket,data),socket.onclose=()=>this.#again()}#again(){this.#ended||(clearTimeout(this.#timer),this.#timer=setTimeout(
()=>this.#connect(),this.#wait),this.#wait=Math.min(this.#wait*2,LONGEST_WAIT_MS2))}async#frame(socket,data){let seq;try{let length=new DataView(data).getUint16(
0);({seq}=JSON.parse(new TextDecoder().decode(new Uint8Array(data,2,length)))),await this.#draw(new Blob([new Uint8Array(data,2+length)]))}catch{if(!seq)return}
this.#ended||socket.readyState!==WebSocket.OPEN||(this.#timer=setTimeout(()=>socket.send(JSON.stringify({type:"ack",seq})),PERIOD_MS))}};function watchTile(api,profileId,canvas,drawn=()=>{}){
let end=null,timer=0,seen2=!1,draw=async blob=>{let bitmap=await createImageBitmap(blob);canvas.width=bitmap.width,canvas.height=bitmap.height,canvas.getContext(
"2d",{alpha:!1}).drawImage(bitmap,0,0),bitmap.close(),drawn()},changed=()=>{clearTimeout(timer),seen2&&!document.hidden?end||=new TileSocket(new KeyAccess(api,profileId,
!1),sizeOf2(canvas),draw).begin():timer=setTimeout(leave,AWAY_MS)},leave=()=>{end?.(),end=null},observer=new IntersectionObserver(entries=>{seen2=entries.at(-1).
isIntersecting,changed()});return observer.observe(canvas.parentElement),document.addEventListener("visibilitychange",changed),()=>{observer.disconnect(),document.
removeEventListener("visibilitychange",changed),clearTimeout(timer),leave()}}function sizeOf2(canvas){let{clientWidth,clientHeight}=canvas.parentElement;return{
width:Math.max(1,Math.round(clientWidth*devicePixelRatio)),height:Math.max(1,Math.round(clientHeight*devicePixelRatio))}}function Tile({profile:profile2}){let{api}=useApp(),
canvas=T(null),[drawn,setDrawn]=d(!1),{id,name,run}=profile2;return A(()=>(setDrawn(!1),watchTile(api,id,canvas.current,()=>setDrawn(!0))),[api,id,run?.runId]),
html`<a class=${drawn?"tile":"tile is-empty"} href=${viewOf(id)} aria-label=${`View ${name}`} title="View"><canvas ref=${canvas}></canvas></a>`}var MOST2=100;function CloneDialog({profile:profile2,snapshot,close}){let app=useApp(),path=`/profiles/${encodeURIComponent(profile2.id)}`,data=useData(path,profile2,
snapshot),form=useForm({name:`${[...profile2.name].slice(0,190).join("")} (copy)`,count:"1",data:!1,temporary:!1}),told=useTold(`${profile2.name} was not cloned`),
many2=number2(form.values.count)!==1,clone=values=>told(async()=>{let wanted=snapshot||values.data?data.body:null,body={name:values.name,count:number2(values.count),
...wanted,...values.temporary&&{temporary:!0}},answer=await app.api.post(`${path}/clone`,body),made=answer.data||[answer];app.toasts.say({text:made.length===1?`\
Created ${made[0].name}`:`Created ${count(made.length,"profile")}`,tone:"good",more:wanted?"With the same settings and data.":"With the same settings, and no co\
okies or data.",action:made.length===1&&{label:"Show",run:()=>app.router.go(href("profiles",void 0,[made[0].id]))}}),close()}),foot=html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.
busy}>${form.busy?"Cloning…":"Clone"}</button>`;return html`<${Dialog} title=${html`Clone <${Name}>${profile2.name}<//>`} lead=${snapshot&&html`With the data of ${snapshot.
name?html`“<${Name}>${snapshot.name}<//>”`:`the snapshot of ${moment(snapshot.createdAt)}`}`} close=${close}><${Form} form=${form} work=${clone} foot=${foot}>
    ${profile2.proxyMissing&&html`<${Notice}><p>Its proxy was deleted. Its clones need another before they start.</p><//>`}
    <div class="fields"><${Text} form=${form} name="name" label="Name" wide autofocus hint=${many2&&"Write {n} where the number of each goes. Without it the num\
ber follows the name."} />
      <${Text} form=${form} name="count" label="How many" type="number" min="1" max=${MOST2} inputmode="numeric" say=${`Write a number from 1 to ${MOST2}.`} />
      ${!snapshot&&html`<${Tick} form=${form} name="data" member="withData" label="With logins and data" disabled=${!data.body} hint=${data.hint} />`}
      <${Tick} form=${form} name="temporary" label="Temporary" hint="Each is deleted with its data when its run has ended." /></div><//><//>`}function useData(path,profile2,snapshot){
let{api}=useApp(),[newest,setNewest]=d(snapshot);return A(()=>{snapshot||api.get(`${path}/snapshots`).then(({data})=>setNewest(data[0]||null),()=>setNewest(null))},
[path]),newest===void 0?{body:null,hint:"One moment…"}:snapshot?{body:{snapshotId:snapshot.id}}:profile2.status==="stopped"||profile2.status==="failed"?newest||
profile2.lastRun?{body:{withData:!0},hint:"Cookies, history, extensions and saved passwords. Sites see the same user in each clone."}:{body:null,hint:"It has ne\
ver run, so it has no data yet."}:newest?{body:{snapshotId:newest.id},hint:html`Its browser is running, so they are those of its newest snapshot: <${Ago} time=${newest.
createdAt} />.`}:{body:null,hint:"Its browser is running, and it has no snapshot yet. Stop it first."}}var PAUSE_MS3=120,FOUND2=6,SETTINGS2=[["keys","Keys","api token scope"],["workspaces","Workspaces","rename quotas"],["templates","Templates","defaults"],["sched\
ules","Schedules","cron"],["webhooks","Webhooks","events secret deliveries"],["browsers","Browsers","install chrome version"],["extensions","Extensions","add pa\
ckage"],["server","Server","version pressure disk backup doctor flags"],["servers","Servers","nodes cluster drain"],["activity","Activity","audit log events"],[
"appearance","Appearance","theme dark light density columns"]];function commands(app){let go=(label,icon,name,params,words="")=>({label,icon,words,run:()=>app.router.
go(href(name,params))});return[{label:"New profile",icon:"plus",words:"create add",run:()=>app.createProfile()},{label:"Add proxies",icon:"plus",words:"a proxy \
new create import paste list file",run:()=>app.createProxy()},go("Profiles","profiles","profiles"),go("Proxies","proxies","proxies"),go("Running browsers","runn\
ing","running",void 0,"runs"),go("Trash","trash","trash",void 0,"deleted"),...SETTINGS2.filter(([section])=>section!=="servers"||app.nodes.all.value.length>1).map(
([section,label,words])=>({label:`Settings: ${label}`,icon:"settings",words,run:()=>app.router.go(href("settings",void 0,[section]))})),go("Profiles with a dead\
 proxy","warning","profiles",new URLSearchParams({proxyStatus:"dead"})),go("Failed profiles","warning","profiles",new URLSearchParams({status:"failed"})),go("Pr\
ofiles never started","profiles","profiles",new URLSearchParams({neverStarted:"true"})),{label:"Compact rows",icon:"columns",words:"density",run:()=>app.setDensity(
"compact")},{label:"Comfortable rows",icon:"columns",words:"density",run:()=>app.setDensity("comfortable")},{label:"Light theme",icon:"settings",words:"appearan\
ce dark",run:()=>app.setTheme("light")},{label:"Dark theme",icon:"settings",words:"appearance night",run:()=>app.setTheme("dark")},{label:"System theme",icon:"s\
ettings",words:"appearance",run:()=>app.setTheme("system")},{label:"API documentation",icon:"docs",words:"reference help openapi",run:()=>location.assign("docs")},
{label:"Log out",icon:"leave",words:"sign out",run:()=>app.logOut()}]}function ofProfile(app,profile2){let running=profile2.status==="running",clone={label:"Clo\
ne",run:()=>app.open(CloneDialog,{profile:profile2})};return{key:profile2.id,label:profile2.name,icon:"profiles",note:profile2.status==="stopped"?"":PROFILE_STATUS[profile2.
status]?.text,group:"Profiles",run:()=>app.router.go(href("profiles",void 0,[profile2.id])),more:running?[{label:"View",run:()=>app.router.go(viewOf(profile2.id))},
{label:"Connect",run:()=>connect(app,profile2)},{label:"Stop",run:()=>stop(app,profile2)},clone]:[{label:"Start",run:()=>start(app,profile2)},clone]}}function ofProxy(app,proxy2){
return{key:proxy2.id,label:proxyName(proxy2),icon:"proxies",country:proxy2.lastCheck?.country,note:proxy2.status==="dead"?"Dead":"",group:"Proxies",run:()=>app.
router.go(href("proxies",void 0,[proxy2.id])),more:[{label:"Show profiles",run:()=>app.router.go(href("profiles",new URLSearchParams({proxyId:proxy2.id})))}]}}function Palette({
close}){let app=useApp(),box=T(null),id=P(),[text3,setText]=d(""),[found,setFound]=d([]),[at,setAt]=d(0);F(()=>(box.current.showModal(),()=>box.current?.close()),
[]),A(()=>{setAt(0);let wanted=text3.trim();if(!wanted)return setFound([]);let ending=new AbortController,timer=setTimeout(async()=>{let query={search:wanted,limit:FOUND2,
page:1,workspaceId:app.model.workspace.value},[profiles,proxies]=await Promise.all(["/profiles","/proxies"].map(path=>app.api.get(path,query,{signal:ending.signal}).
catch(()=>({data:[]}))));ending.signal.aborted||setFound([...profiles.data.map(one=>ofProfile(app,one)),...proxies.data.map(one=>ofProxy(app,one))])},PAUSE_MS3);
return()=>{clearTimeout(timer),ending.abort()}},[text3]);let words=text3.trim().toLowerCase(),own=commands(app).filter(({label,words:more2})=>!words||words.split(
/\s+/).every(word=>`${label} ${more2}`.toLowerCase().includes(word))),lines=[...found,...own.map(command=>({...command,key:command.label,group:"Commands"}))],choose=line=>{
close(),line?.run()},press=event=>{let to={ArrowDown:at+1,ArrowUp:at-1}[event.key];to!==void 0&&lines.length?(event.preventDefault(),setAt((to+lines.length)%lines.
length)):event.key==="Enter"&&event.target.tagName==="INPUT"&&(event.preventDefault(),choose(lines[at]))};return A(()=>box.current.querySelector('[aria-selected\
="true"]')?.scrollIntoView({block:"nearest"}),[at,lines.length]),html`<dialog ref=${box} class="dialog palette" aria-label="Search and commands" closedby="any" onClose=${close} onKeyDown=${press}>
    <div class="palette-body">
      <div class="palette-field"><${Icon} name="search" /><input type="text" role="combobox" aria-expanded="true" aria-controls=${id} aria-activedescendant=${lines.
length?`${id}-${at}`:void 0} aria-label="Search and commands" placeholder="Search profiles, proxies and commands"
        value=${text3} onInput=${event=>setText(event.currentTarget.value)} spellcheck=${!1} autocomplete="off" autofocus /></div>
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
    </div></dialog>`}function useVersion({form,data,etag,read,toValues:toValues3,fields}){let[base,setBase]=d({data,etag}),[conflict,setConflict]=d(null),first=JSON.stringify(toValues3(
base.data)),compare=newer=>{let[before,theirs,yours]=[toValues3(base.data),toValues3(newer.data),form.values],list=fields.filter(({names:names2})=>differ(names2,
before,theirs)&&differ(names2,theirs,yours)),took=fields.filter(({names:names2})=>differ(names2,before,theirs)&&!differ(names2,before,yours));return list.length?
(setConflict({newer,before,theirs,yours,fields:list,choice:Object.fromEntries(list.map(({label})=>[label,took.some(one=>one.label===label)?"theirs":""]))}),!0):
(setBase(newer),!1)};return{...base,first,conflict,compare,rebase:setBase,changed:JSON.stringify(form.values)!==first,choose:(label,which)=>setConflict(now=>({...now,
choice:{...now.choice,[label]:which}})),settle(){let values={...form.values};for(let{label,names:names2}of conflict.fields)conflict.choice[label]==="theirs"&&names2.
forEach(name=>{values[name]=conflict.theirs[name]});form.setProblem(null),form.setAll(values),setBase(conflict.newer),setConflict(null)},async save(work){let at=base;
for(let tries=0;;tries++)try{let saved=await work(at.etag?{"If-Match":at.etag}:{},at.data);return setBase(saved),saved}catch(problem){if(problem.code!=="etag_mi\
smatch"||tries>2)throw problem;if(at=await read(),compare(at))return null}}}}function differ(names2,one,other){return names2.some(name=>JSON.stringify(one[name])!==
JSON.stringify(other[name]))}function Conflict({version}){let{conflict,choose,settle}=version,shown=T(null);if(!conflict)return null;let{fields,before,theirs,yours,
choice}=conflict,open=fields.filter(({label})=>!choice[label]).length,all=which=>fields.forEach(({label})=>choose(label,which));return html`<section class="conflict" role="alert" aria-label="Changed meanwhile" tabindex="-1" ref=${box=>{
box&&shown.current!==conflict.newer&&(shown.current=conflict.newer,box.focus())}}>
    <p class="problem-title"><${Icon} name="warning" />Somebody else changed this meanwhile</p>
    <p>Nothing of yours is saved yet. Choose what to keep.</p>
    ${fields.map(({label,names:names2,words})=>html`<fieldset class="conflict-field" key=${label}><legend>${label}</legend>
      <p class="hint">It was: <${Words} of=${words(before)} /></p>
      <label class="conflict-choice"><input type="radio" name=${`conflict-${label}`} checked=${choice[label]==="theirs"} onChange=${()=>choose(label,"theirs")} /><span class="conflict-who">Theirs</span><span><${Words} of=${words(
theirs)} /></span></label>
      <label class="conflict-choice"><input type="radio" name=${`conflict-${label}`} checked=${choice[label]==="yours"} onChange=${()=>choose(label,"yours")} /><span class="conflict-who">Yours</span><span><${Words} of=${words(
yours)} />${!differ(names2,before,yours)&&html` <span class="muted">(not changed by you)</span>`}</span></label>
    </fieldset>`)}
    <div class="conflict-foot">${fields.length>1&&html`<button type="button" class="button small" onClick=${()=>all("theirs")}>All theirs</button><button type="button" class="button small" onClick=${()=>all(
"yours")}>All yours</button>`}
      <button type="button" class="button small primary" disabled=${open>0} onClick=${settle}>Take into the form</button></div>
  </section>`}function Words({of:of2}){return typeof of2=="string"?html`<bdi class="prose-lines">${of2}</bdi>`:of2.proxies.map((id,i)=>html`${i>0&&", "}<${ProxyWords} key=${id} id=${id} />`)}
function ProxyWords({id}){let proxy2=useProxy(id);return html`<${Name}>${proxy2?proxyName(proxy2):proxy2===null?"a deleted proxy":id}<//>`}var PAGE=200;function useExtensions(workspaceId){let{api}=useApp(),[all,setAll]=d(null);return A(()=>{let wanted=!0;return(async()=>{let found=[];for(let after="";;){
let{data,next,hasMore}=await api.get("/extensions",{workspaceId:workspaceId||"default",limit:PAGE,after});if(found.push(...data),!hasMore)break;after=next}wanted&&
setAll(found.sort((a,b)=>a.name.localeCompare(b.name)))})().catch(()=>wanted&&setAll([])),()=>{wanted=!1}},[workspaceId]),all}var title=({name,version})=>`${name}\
 ${version}`;function ExtensionField({form,name,workspaceId}){let all=useExtensions(workspaceId),uses=form.values[name],set=list=>form.set(name,list),known=id=>all?.
find(one=>one.id===id),taken=new Set(uses.map(({id})=>known(id)?.extensionId)),rest=(all||[]).filter(one=>!taken.has(one.extensionId)),words=id=>known(id)?title(
known(id)):all?"A deleted extension":"…";return html`<${Field} wide ...${{form,name,control:tied=>html`<div class="ordered">${uses.length>0&&html`<ul class="ordered-list">${uses.
map(({id,enabled},i)=>html`<li key=${id}>
      <label class="ordered-name"><input type="checkbox" checked=${enabled} onChange=${({currentTarget})=>set(uses.map((use,at)=>at===i?{...use,enabled:currentTarget.
checked}:use))} /> <${Name}>${words(id)}<//>${!enabled&&html` <span class="muted">off</span>`}</label>
      <button type="button" class="icon-button" aria-label=${`Remove ${words(id)}`} onClick=${()=>set(uses.filter(use=>use.id!==id))}><${Icon} name="close" /></button></li>`)}</ul>`}
    <select ...${tied} disabled=${!rest.length} value="" onChange=${({currentTarget})=>currentTarget.value&&set([...uses,{id:currentTarget.value,enabled:!0}])}>
      <option value="">${rest.length?"Add an extension":all?uses.length?"No others to add":"None to add yet":"…"}</option>${rest.map(one=>html`<option key=${one.
id} value=${one.id}>${title(one)}</option>`)}</select></div>`}} label="Extensions" optional hint="They apply from the next start. Add packages in the settings, under Extensions." />`}var LIMITED=["memoryMb","cpuPercent","pids"];function toValues(profile2,workspace3=""){let p=profile2||{},zone=p.timezone??"auto",locale=p.locale??"auto",place2=p.
geolocation??"auto",byHand=Array.isArray(locale)||!["auto","system"].includes(locale);return{name:p.name||"",os:p.os||"",browserVersion:p.browserVersion||"",tags:p.
tags||[],notes:p.notes||"",workspaceId:p.workspaceId||workspace3,proxyId:proxyOf(p),startUrls:(p.startUrls||[]).join(`
`),headless:p.headless==null?"":String(p.headless),timezone:["auto","system"].includes(zone)?zone:"own",timezoneOwn:["auto","system"].includes(zone)?"":zone,locale:byHand?
"own":locale,localeOwn:byHand?[].concat(locale).join(", "):"",geolocation:typeof place2=="object"?"own":place2,position:typeof place2=="object"?[place2.latitude,
place2.longitude,place2.accuracy].filter(n=>n!=null).join(", "):"",webrtc:p.webrtc||"proxy_only",consistency:p.consistency||"warn",screen:p.screen?[p.screen.width,
p.screen.height,p.screen.deviceScaleFactor].filter(n=>n!=null).join(" × "):"",idleTimeoutMs:minutes(p.idleTimeoutMs),maxRunMs:minutes(p.maxRunMs),freezeAfter:p.
freezeAfter==null?"":String(p.freezeAfter),placement:Object.entries(p.placement?.labels||{}).map(([key2,value])=>`${key2}=${value}`).join(", "),allowLocal:(p.allowLocal||
[]).join(`
`),allowHosts:(p.allowHosts||[]).join(`
`),denyHosts:(p.denyHosts||[]).join(`
`),localhostVia:(p.localhostVia||[]).join(`
`),backgroundTraffic:p.backgroundTraffic||"refuse",fallbackProxyIds:p.fallbackProxyIds||[],fallbackCountry:p.fallbackCountry||"same",logHosts:!!p.logHosts,temporary:!!p.
temporary,snapshots:p.snapshots||"",args:(p.args||[]).join(`
`),extensions:p.extensions||[],passkeys:p.passkeys||"off",startWithServer:!!p.startWithServer,limits:Object.fromEntries(LIMITED.map(name=>[name,p.limits?.[name]==
null?"":String(p.limits[name])]))}}function minutes(ms){return ms==null?"":String(ms/6e4)}function milliseconds(text3){let value=number2(text3);return value===""?
null:typeof value=="number"?Math.round(value*6e4):value}function placementOf(text3){let pairs=text3.split(/[,\s]+/).filter(Boolean);return pairs.length?{labels:pairs.
every(pair=>pair.includes("="))?Object.fromEntries(pairs.map(pair=>[pair.slice(0,pair.indexOf("=")),pair.slice(pair.indexOf("=")+1)])):text3}:null}function toBody(values){
let[latitude,longitude,accuracy]=values.position.split(",").map(number2),[width,height,deviceScaleFactor]=values.screen.split(/[×x,;\s]+/i).filter(Boolean).map(
number2),limits=LIMITED.filter(name=>values.limits[name].trim()).map(name=>[name,number2(values.limits[name])]);return{name:values.name,os:values.os||null,browserVersion:values.
browserVersion.trim()||null,tags:values.tags,notes:values.notes,workspaceId:values.workspaceId.trim()||null,proxyId:values.proxyId===DELETED||values.proxyId===DEALT?
void 0:values.proxyId||null,startUrls:linesOf(values.startUrls),headless:values.headless===""?null:values.headless==="true",timezone:values.timezone==="own"?values.
timezoneOwn.trim():values.timezone,locale:values.locale==="own"?values.localeOwn.split(",").map(tag=>tag.trim()).filter(Boolean):values.locale,geolocation:values.
geolocation==="own"?{latitude,longitude,...accuracy===void 0?{}:{accuracy}}:values.geolocation,webrtc:values.webrtc,consistency:values.consistency,screen:width===
void 0?null:{width,height,...deviceScaleFactor===void 0?{}:{deviceScaleFactor}},idleTimeoutMs:milliseconds(values.idleTimeoutMs),maxRunMs:milliseconds(values.maxRunMs),
freezeAfter:values.freezeAfter.trim()?number2(values.freezeAfter):null,placement:placementOf(values.placement),allowLocal:linesOf(values.allowLocal),allowHosts:linesOf(
values.allowHosts),denyHosts:linesOf(values.denyHosts),localhostVia:linesOf(values.localhostVia),backgroundTraffic:values.backgroundTraffic,fallbackProxyIds:values.
fallbackProxyIds,fallbackCountry:values.fallbackCountry,logHosts:values.logHosts,temporary:values.temporary,snapshots:values.snapshots||null,args:linesOf(values.
args),extensions:values.extensions,passkeys:values.passkeys,startWithServer:values.startWithServer,limits:limits.length?Object.fromEntries(limits):null}}function changes(before,after){
return Object.fromEntries(Object.entries(after).filter(([name,value])=>JSON.stringify(value)!==JSON.stringify(before[name])))}function rebase(values,before,after){
return Object.fromEntries(Object.entries(values).map(([name,value])=>[name,name in after&&JSON.stringify(value)===JSON.stringify(before[name])?after[name]:value]))}
var FROM_EXIT="Match the proxy",HERE="Same as this computer",CHOICES={headless:[["","Automatic"],["false","Always a window"],["true","Never a window (headless)"]],
timezone:[["auto",FROM_EXIT],["system",HERE],["own","Custom"]],locale:[["auto",FROM_EXIT],["system",HERE],["own","Custom"]],geolocation:[["auto",FROM_EXIT],["of\
f","Block"],["own","Custom"]],webrtc:[["proxy_only","Through the proxy only"],["off","Off"],["default","As Chrome does"]],consistency:[["warn","Start with a war\
ning"],["block","Do not start"],["off","Start without a warning"]],backgroundTraffic:[["refuse","Block Chrome’s background requests"],["allow","Send them thro\
ugh the proxy"]],snapshots:[["","As the server does"],["on","After each stop"],["off","Never by itself"]],passkeys:[["off","Sites get none"],["auto","Sites make\
 and use them by themselves"],["ask","A person allows each use"]],fallbackCountry:[["same","Only in the same country"],["any","In any country"]]};function chosen(name,own){
return values=>values[name]==="own"?values[own].trim():CHOICES[name].find(([value])=>value===values[name])?.[1]??values[name]}function text(name,empty="Empty"){
return values=>values[name].trim()||empty}function limitWords({memoryMb,cpuPercent,pids}){return[memoryMb.trim()&&`${memoryMb} MiB of memory`,cpuPercent.trim()&&
`${cpuPercent} % of a core`,pids.trim()&&`${pids} processes`].filter(Boolean).join(", ")}var FIELDS=[{label:"Name",names:["name"],words:text("name")},{label:"Op\
erating system",names:["os"],words:({os})=>SYSTEMS[os]||HERE},{label:"Browser version",names:["browserVersion"],words:text("browserVersion","Same as the install\
ed browser")},{label:"Tags",names:["tags"],words:({tags})=>tags.join(", ")||"None"},{label:"Notes",names:["notes"],words:text("notes")},{label:"Proxy",names:["p\
roxyId"],words:({proxyId})=>proxyId===DELETED?"Deleted":proxyId?{proxies:[proxyId]}:"No proxy (direct connection)"},{label:"Fallback proxies",names:["fallbackPr\
oxyIds"],words:({fallbackProxyIds})=>fallbackProxyIds.length?{proxies:fallbackProxyIds}:"None"},{label:"Country of the fallbacks",names:["fallbackCountry"],words:chosen(
"fallbackCountry")},{label:"Start pages",names:["startUrls"],words:text("startUrls","None")},{label:"Window",names:["headless"],words:chosen("headless")},{label:"\
Timezone",names:["timezone","timezoneOwn"],words:chosen("timezone","timezoneOwn")},{label:"Languages",names:["locale","localeOwn"],words:chosen("locale","locale\
Own")},{label:"Location",names:["geolocation","position"],words:chosen("geolocation","position")},{label:"WebRTC",names:["webrtc"],words:chosen("webrtc")},{label:"\
Screen",names:["screen"],words:text("screen","Default")},{label:"If it doesn’t match the proxy",names:["consistency"],words:chosen("consistency")},{label:"Idl\
e time",names:["idleTimeoutMs"],words:text("idleTimeoutMs","No limit")},{label:"Maximum run time",names:["maxRunMs"],words:text("maxRunMs","No limit")},{label:"\
Allowed hosts",names:["allowHosts"],words:text("allowHosts","Every host")},{label:"Blocked hosts",names:["denyHosts"],words:text("denyHosts","None")},{label:"Lo\
cal services",names:["allowLocal"],words:text("allowLocal","None")},{label:"Local ports under another name",names:["localhostVia"],words:text("localhostVia","No\
ne")},{label:"Background requests",names:["backgroundTraffic"],words:chosen("backgroundTraffic")},{label:"Extensions",names:["extensions"],words:({extensions})=>extensions.
length?`${extensions.length}, ${extensions.filter(({enabled})=>enabled).length} of them on`:"None"},{label:"Passkeys",names:["passkeys"],words:chosen("passkeys")},
{label:"Snapshots",names:["snapshots"],words:chosen("snapshots")},{label:"Chrome switches",names:["args"],words:text("args","None")},{label:"Start with the serv\
er",names:["startWithServer"],words:({startWithServer})=>startWithServer?"Yes":"No"},{label:"Limits of the run",names:["limits"],words:({limits})=>limitWords(limits)||
"As the server says"},{label:"Freeze",names:["freezeAfter"],words:text("freezeAfter","As the server says")},{label:"Placement",names:["placement"],words:text("p\
lacement","Any server")},{label:"Temporary",names:["temporary"],words:({temporary})=>temporary?"Deleted after its run":"No"},{label:"Log of hosts",names:["logHo\
sts"],words:({logHosts})=>logHosts?"Kept":"Not kept"}];var IDENTITY=["os","browserVersion","timezone","locale","geolocation","webrtc","screen","consistency"],NETWORK=["fallbackProxyIds","fallbackCountry","allowHosts",
"denyHosts","allowLocal","localhostVia","backgroundTraffic","logHosts"],LIMITS=["startUrls","headless","idleTimeoutMs","maxRunMs","snapshots","args","extensions",
"passkeys","startWithServer","limits","freezeAfter","placement","temporary"],NOTES=["notes","workspaceId"];function NameField({form,hint}){return html`<${Text} form=${form} name="name" label="Name" wide autofocus placeholder="Shop account, Berlin" hint=${hint} />`}
function ProfileProxy({form,workspaceId,dealt,hint=proxyHint(form.values.proxyId)}){return html`<${ProxyField} ...${{form,workspaceId,dealt,hint}} />`}function Tags2({
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
own}){let typed2=form.values[name]==="own";return html`<${Choice} form=${form} name=${name} member=${typed2?"":name} label=${label} options=${options} wide=${!typed2} />
    ${typed2&&html`<${Text} form=${form} member=${name} ...${own} />`}`}function NetworkFields({form,workspaceId}){return html`
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
function ProxyWords2({id}){let proxy2=useProxy(id);return proxy2?html`<span class="ordered-name"><${Country} code=${proxy2.lastCheck?.country} /> <${Name}>${proxyName(
proxy2)}<//>${proxy2.status!=="alive"&&html` <span class="muted">${(PROXY_STATUS[proxy2.status]||PROXY_STATUS.unknown).text.toLowerCase()}</span>`}</span>`:html`<span class="ordered-name muted">${proxy2===
null?"A deleted proxy":"…"}</span>`}function LimitFields({form,kept:kept2,workspaceId}){return html`
    <${Lines} form=${form} name="startUrls" label="Start pages" optional rows=${2} placeholder="https://…" hint="One URL per line." />
    <${Choice} form=${form} name="headless" label="Window" wide options=${CHOICES.headless} />
    <${Text} form=${form} name="idleTimeoutMs" label="Close when idle (minutes)" inputmode="decimal" placeholder="Never" />
    <${Text} form=${form} name="maxRunMs" label="Maximum run time (minutes)" inputmode="decimal" placeholder="No limit" />
    <${Choice} form=${form} name="snapshots" label="Snapshots" wide options=${CHOICES.snapshots} />
    <${Lines} form=${form} name="args" label="Chrome switches" optional rows=${2} placeholder="--mute-audio" hint="One per line. They apply from the next start. Only switches that keep every promise are accepted." />
    <${ExtensionField} form=${form} workspaceId=${workspaceId} name="extensions" />
    <${Choice} form=${form} name="passkeys" label="Passkeys" wide options=${CHOICES.passkeys} hint="They apply from the next start. A person allows them in the live view." />
    <${Tick} form=${form} name="startWithServer" label="Start with the server" hint="The browser starts when the server does." />
    <${RunLimits} form=${form} name="limits" />
    <${Text} form=${form} name="freezeAfter" label="Freeze when nobody needs it (seconds)" inputmode="numeric" placeholder="As the server says" hint="Its memory is given back until somebody comes. 0: never." />
    <${Text} form=${form} name="placement" label="Servers with these labels" wide placeholder="Any server" hint="Of several servers with one database: where it may start first, such as zone=berlin, ssd=yes. It stays there then."
      say="Write labels as zone=berlin, ssd=yes: letters, digits, and . _ / - between them." />
    ${!kept2&&html`<${Tick} form=${form} name="temporary" label="Temporary" hint="Deletes the profile with its data when its run has ended." />`}`}function RunLimits({
form,name}){let given=useStore(useApp().model.counts)?.runLimits,limits=form.values[name],field=(member,label,hint)=>{let placeholder=given?given[member]==null?
"No limit":number(given[member]):"",control=tied=>html`<input type="text" inputmode="numeric" ...${tied} value=${limits[member]} placeholder=${placeholder} onInput=${event=>form.
set(name,{...limits,[member]:event.currentTarget.value})} />`;return html`<${Field} ...${{form,name:member,member:`${name}.${member}`,label,hint,control}} />`};
return html`<div class="three wide" role="group" aria-label="Limits of the run">
    ${field("memoryMb","Memory (MiB)","With more, it ends.")}${field("cpuPercent","Processor (%)","100 is one core.")}${field("pids","Processes","Threads count,\
 too.")}</div>`}function NotesFields({form,saved}){let known=useStore(useApp().model.workspaces);return html`<${Lines} form=${form} name="notes" label="Notes" optional rows=${3} />
    ${!saved&&html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="known-workspaces" hint="A new name makes a new workspace. It cannot be changed later." />
      <datalist id="known-workspaces">${known.map(id=>html`<option key=${id} value=${id} />`)}</datalist>`}`}function identitySummary({os,browserVersion,timezone,
locale,geolocation,webrtc,screen,consistency}){let auto=!browserVersion&&!screen&&timezone==="auto"&&locale==="auto"&&geolocation==="auto"&&webrtc==="proxy_only"&&
consistency==="warn";return`${os?`${SYSTEMS[os]}, `:""}${auto?"match the proxy":"custom"}`.replace(/^./,c=>c.toUpperCase())}function networkSummary({fallbackProxyIds,
backgroundTraffic,logHosts,...texts}){return fallbackProxyIds.length||backgroundTraffic==="allow"||logHosts||["allowHosts","denyHosts","allowLocal","localhostVi\
a"].some(name=>texts[name].trim())?"Custom":"Internet only"}function limitsSummary({startUrls,headless,idleTimeoutMs,maxRunMs,snapshots,args,extensions,passkeys,
startWithServer,limits,freezeAfter,placement,temporary}){return temporary?"Temporary":startUrls.trim()||headless||idleTimeoutMs||maxRunMs||snapshots||args.trim()||
extensions.length||passkeys!=="off"||startWithServer||freezeAfter.trim()||placement.trim()||Object.values(limits).some(one=>one.trim())?"Custom":"Default"}function zones(){
return Intl.supportedValuesOf?Intl.supportedValuesOf("timeZone"):[]}var PICKS=[["leastUsed","The one with the fewest profiles"],["roundRobin","In turn"],["random","Any"],["each","A different one for each"]];function dealtWords(proxies){
return proxies==="each"?"A proxy that no profile uses yet":`A proxy with the tag ${proxies.tag}`}function TemplateField({form,workspaceId,template:template2,choose}){
let{api}=useApp(),[any,setAny]=d(!!template2);return A(()=>{let ended=!1;return api.get("/templates",{workspaceId,limit:1}).then(({total})=>ended||setAny(total>
0),()=>{}),()=>{ended=!0}},[workspaceId]),any&&html`<${Field} wide ...${{form,control:tied=>html`<${Finder2} ...${{workspaceId,template:template2,choose,tied}} />`}} name="templateId" label="Template" hint=${template2?
"Its settings are filled in below. The profile keeps them when the template changes.":"Fills in the settings of a new profile."} />`}function Finder2({workspaceId,
template:template2,choose,tied}){return html`<${Combobox} ...${{tied,workspaceId,optionsOf:data=>[{key:"none",words:"No template",run:()=>choose(null)},...data.
map(one=>({key:one.id,words:html`<bdi>${one.name}</bdi>`,run:()=>choose(one)}))]}} path="/templates" label="Templates" words=${template2?template2.name:"No temp\
late"} chosen=${!!template2} />`}var MOST_COPIES=100,PAUSE_MS4=200;function ProfileDialog({profile:profile2,done,close}){let app=useApp(),[read,setRead]=d(null),[problem,setProblem]=d(null),path=profile2&&
`/profiles/${encodeURIComponent(profile2.id)}`;return A(()=>{profile2&&app.api.full("GET",path).then(setRead,setProblem)},[]),profile2?html`<${Dialog} sheet title=${html`Edit <${Name}>${profile2.
name}<//>`} close=${close}>
    ${read?html`<${EditForm} ...${{...read,path,done,close}} />`:html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${!problem&&html`<${Waiting} />`}</div>`}
  <//>`:html`<${Dialog} sheet title="New profile" close=${close}><${NewForm} ...${{done,close}} /><//>`}function EditForm({data,etag,path,done,close}){let app=useApp(),
form=useForm(toValues(data)),version=useVersion({form,data,etag,read:()=>app.api.full("GET",path),toValues,fields:FIELDS}),save2=async values=>{let saved=await saveProfile(
app,version,values);saved&&(app.toasts.say({text:`Saved ${saved.name}`,tone:"good"}),await done?.(saved),close())},foot=html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy||!!version.conflict}>${form.busy?"Saving…":"Save"}</button>`;return html`<${Form} form=${form} work=${save2} foot=${foot} saved=${version.
first}>
    <${Conflict} version=${version} />
    <${Sections} form=${form} saved=${data} />
  <//>`}async function saveProfile(app,version,values){let saved=await version.save((headers,before)=>app.api.full("PUT",`/profiles/${encodeURIComponent(before.
id)}`,{body:changes(toBody(toValues(before)),toBody(values)),headers}));return saved&&saved.data}function NewForm({done,close}){let app=useApp(),workspace3=useStore(
app.model.workspace),form=useForm({...toValues(null,workspace3),copies:"1",each:!1}),base=useBase(form,workspace3),copies=number2(form.values.copies),many2=copies!==
1,create=async({copies:_,each,...values})=>{let body={...changes(toBody(base.values),toBody(values)),name:values.name,...values.workspaceId.trim()&&{workspaceId:values.
workspaceId.trim()},...base.template&&{templateId:base.template.id}};if(!Number.isInteger(copies)||copies<1||copies>MOST_COPIES)throw new Problem(422,{code:"val\
idation_failed",errors:[{location:"body.count",message:"is no such number"}]},"");return many2?(each&&delete body.proxyId,(await app.api.post("/profiles/batch-c\
reate",{count:copies,...body,...each?{proxies:"each"}:{}})).data):[await app.api.post("/profiles",body)]},make=then=>async values=>{let made=await create(values);
app.model.sawWorkspaces(made),app.toasts.say({text:many2?`Created ${count(made.length,"profile")}`:`Created ${made[0].name}`,tone:"good"}),await done?.(made[0]),
close(),then?.(made)},start2=made=>many2?beginMany(app,made):begin(app,made[0]),foot=html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button type="button" class="button" disabled=${form.busy} onClick=${()=>form.send(make(start2))}>Create and start</button>
    <button class="button primary" disabled=${form.busy}>${form.busy?"Creating…":"Create"}</button>`;return html`<${Form} form=${form} work=${make()} foot=${foot}>
    <${Sections} form=${form} many=${many2} base=${base} />
  <//>`}function useBase(form,workspace3){let{api}=useApp(),[template2,choose]=d(null),[defaults,setDefaults]=d({}),[values,setValues]=d(form.values),id=form.values.
workspaceId.trim()||"default";A(()=>{let ending=new AbortController,timer=setTimeout(()=>api.get(`/workspaces/${encodeURIComponent(id)}`,void 0,{signal:ending.signal}).
then(found=>setDefaults(found.defaults||{}),()=>setDefaults({})),PAUSE_MS4);return()=>{clearTimeout(timer),ending.abort()}},[id]),A(()=>{template2&&template2.workspaceId!==
id&&choose(null)},[id]);let{proxyId:_,proxies:__,...further}=defaults,given=template2?{...template2.proxyId||template2.proxies?further:defaults,...template2}:defaults;
return A(()=>{let after={...toValues({...given,name:"",workspaceId:""},workspace3)};delete after.name,delete after.workspaceId,form.setAll(now=>rebase(now,values,
after)),setValues(now=>({...now,...after}))},[template2,defaults]),{values,template:template2,choose,dealt:given.proxies?dealtWords(given.proxies):""}}function Sections({
form,saved,many:many2=!1,base}){let workspaceId=saved?saved.workspaceId:form.values.workspaceId.trim(),{values}=form,each=many2&&values.each&&values.proxyId!==DEALT;
return html`<div class="fields">
      <${NameField} form=${form} hint=${many2&&"Write {n} where the number of each goes. Without it all have this name."} />
      ${base&&html`<${TemplateField} form=${form} workspaceId=${workspaceId||"default"} template=${base.template} choose=${base.choose} />`}
      ${!each&&html`<${ProfileProxy} form=${form} workspaceId=${workspaceId} dealt=${base?.dealt} />`}
      <${Tags2} form=${form} />
      ${!saved&&html`<${Copies} form=${form} many=${many2} workspaceId=${workspaceId} />`}
    </div>
    <${Section} form=${form} title="Identity" names=${IDENTITY} summary=${identitySummary(values)}><${IdentityFields} form=${form} saved=${!!saved} /><//>
    <${Section} form=${form} title="Network" names=${NETWORK} summary=${networkSummary(values)}><${NetworkFields} form=${form} workspaceId=${workspaceId} /><//>
    <${Section} form=${form} title="Start, limits and extensions" names=${LIMITS} summary=${limitsSummary(values)}><${LimitFields} form=${form} workspaceId=${workspaceId} kept=${!!saved&&
!saved.temporary} /><//>
    <${Section} form=${form} title=${saved?"Notes":"Notes and workspace"} names=${NOTES} summary=${values.notes.trim()?"Written":saved?"None":workspaceId||"defa\
ult"}><${NotesFields} form=${form} saved=${!!saved} /><//>`}function Copies({form,many:many2,workspaceId}){let{api}=useApp(),[proxies,setProxies]=d(null);A(()=>{
setProxies(null),many2&&api.get("/proxies",{limit:1,page:1,workspaceId:workspaceId||"default"}).then(({total})=>setProxies(total),()=>{})},[many2,workspaceId]);
let wanted=number2(form.values.copies),enough=proxies!==null&&proxies>=wanted;return html`<${Text} form=${form} name="copies" member="count" label="Copies" type="number" min="1" max=${MOST_COPIES} inputmode="numeric" say=${many2&&
`Write a number from 1 to ${MOST_COPIES}.`} />
    ${many2&&(enough||form.values.each?html`<${Tick} form=${form} name="each" member="proxies" label="A different proxy for each" hint="Proxies that no profile uses yet, the oldest first." />`:
proxies!==null&&html`<p class="hint wide">There are ${count(proxies,"proxy","proxies")}: not enough for a different one for each.</p>`)}`}function fileNamed(profiles){return`${profiles.length===1?[...profiles[0].name].slice(0,100).join("").replace(/[\\/:*?"<>|\p{C}]/gu,"-"):`${profiles.length} pro\
files`} ${new Date().toISOString().slice(0,10)}.warren`}function asHeader(text3){return String.fromCharCode(...new TextEncoder().encode(text3))}async function place(name){
if(!window.showSaveFilePicker)return null;try{return await window.showSaveFilePicker({suggestedName:name,types:[{description:"Warren archive",accept:{"applicati\
on/octet-stream":[".warren"]}}]})}catch(error){if(error.name==="AbortError")throw error;return null}}async function store(response,file,name,signal,progress){if(!file)
return saveBlob(await response.blob(),name);let done=0,count2=new TransformStream({transform(piece,next){done+=piece.byteLength,progress(done),next.enqueue(piece)}});
await response.body.pipeThrough(count2).pipeTo(await file.createWritable(),{signal})}async function forget2(file){await file?.remove?.().catch(()=>{})}var KINDS=[
[`age-encryption.org/v1
-> scrypt `,"passphrase"],[`age-encryption.org/v1
`,"identity"],["archive.json\0","open"]];async function kindOf2(file){let start2=new TextDecoder("latin1").decode(await file.slice(0,64).arrayBuffer());return KINDS.
find(([letters])=>start2.startsWith(letters))?.[1]||(start2?"other":"none")}var SHORTEST=8,SEALS=[["passphrase","With a passphrase"],["recipient","For an age key"],["unsealed","Not sealed"]],AFTER={passphrase:"Keep the passphrase: witho\
ut it nobody can open the file.",recipient:"Whoever has the key’s identity can open it.",unsealed:"It is not sealed: keep it where nobody else can read it."};
function ExportDialog({profiles,close}){let app=useApp(),form=useForm({seal:"passphrase",passphrase:"",again:"",recipient:"",sure:!1}),[received,setReceived]=d(
0),ending=T(null),{seal}=form.values,what=profiles.length===1?profiles[0].name:count(profiles.length,"profile"),leave=()=>{ending.current?.abort(),close()},send=async values=>{
let faults=faultsOf(values);if(faults.length)throw new Problem(422,{code:"validation_failed",errors:faults},"");let name=fileNamed(profiles),{signal}=ending.current=
new AbortController,file=null;try{file=await place(name);let response=await app.api.open("GET",address2(profiles,values),{headers:values.seal==="passphrase"?{"X\
-Warren-Passphrase":asHeader(values.passphrase)}:{},signal});await store(response,file,name,signal,setReceived)}catch(error){if(await forget2(file),setReceived(
0),error.name==="AbortError")return;throw error instanceof Problem?error:new Problem(0,{code:"broken_off",title:"The file did not arrive whole",detail:"Nothing \
was kept of it. Is the disk full, or has Warren stopped? Try again."},"")}app.toasts.say({text:`Exported ${what}`,more:AFTER[values.seal],tone:"good"}),close()},
ready=seal!=="unsealed"||form.values.sure,foot=html`${form.busy&&html`<span class="dialog-status" role="status">${received>0?`${bytes(received)} received…`:"R\
eading the data…"}</span>`}
    <button type="button" class="button" onClick=${leave}>Cancel</button><button class="button primary" disabled=${form.busy||!ready}>${form.busy?"Exporting…":
"Export"}</button>`;return html`<${Dialog} title=${html`Export ${profiles.length===1?html`<${Name}>${what}<//>`:what}`} lead="One file with settings, logins and data. Passwords of proxies stay here." close=${leave}><${Form} form=${form} work=${send} foot=${foot}
    explain=${problem=>problem.code==="profile_running"&&html`<${Running} ids=${problem.body.profileIds} profiles=${profiles} />`}>
    <div class="fields"><${Choice} form=${form} name="seal" label="Seal it" wide options=${SEALS} />
      ${seal==="passphrase"&&html`<${Text} form=${form} name="passphrase" member="X-Warren-Passphrase" label="Passphrase" type="password" autocomplete="new-password" autofocus hint="At least 8 letters. Several words are better." />
        <${Text} form=${form} name="again" label="The same again" type="password" autocomplete="new-password" />`}
      ${seal==="recipient"&&html`<${Lines} form=${form} name="recipient" label="Recipients" class="mono" placeholder="age1…" hint="One on each line. Whoever has the identity of one of them can open the file." />`}
      ${seal==="unsealed"&&html`<div class="wide"><${Notice}><p>Whoever gets this file is signed in wherever ${profiles.length===1?"this profile is":"these prof\
iles are"}, and can change what is in it.</p><//></div>
        <${Tick} form=${form} name="sure" label="Export without a seal" />`}</div><//><//>`}function faultsOf({seal,passphrase,again:again2,recipient}){if(seal===
"recipient")return linesOf(recipient).length?[]:[{location:"query.recipient",message:"Enter a recipient, such as age1…."}];if(seal!=="passphrase")return[];let faults=[];
return[...passphrase.trim()].length<SHORTEST?faults.push({location:"header.X-Warren-Passphrase",message:`Choose a passphrase of at least ${SHORTEST} letters, wi\
thout spaces at its ends.`}):passphrase!==passphrase.trim()&&faults.push({location:"header.X-Warren-Passphrase",message:"Remove the spaces at its ends."}),passphrase!==
again2&&faults.push({location:"body.again",message:"The two are not the same."}),faults}function address2(profiles,{seal,recipient}){let query=new URLSearchParams;
if(profiles.length>1&&query.set("ids",profiles.map(({id})=>id).join(",")),seal==="unsealed"&&query.set("unsealed","true"),seal==="recipient")for(let one of linesOf(
recipient))query.append("recipient",one);return`api/v1/profiles/${profiles.length>1?"export":`${encodeURIComponent(profiles[0].id)}/export`}?${query}`}function Running({
ids=[],profiles}){let names2=profiles.filter(({id})=>ids.includes(id)).map(({name})=>name);return profiles.length<2||!names2.length?null:html`<ul aria-label="Profiles that run">${names2.
slice(0,10).map(name=>html`<li><${Name}>${name}<//></li>`)}${names2.length>10&&html`<li>and ${names2.length-10} more</li>`}</ul>`}function ImportDialog({file:given,close}){let app=useApp(),[file,setFile]=d(given),[kind,setKind]=d(""),[sent,setSent]=d(0),[answer,setAnswer]=d(null),ending=T(
null),form=useForm({passphrase:"",identity:"",same:!1}),told=useTold("The profiles were not imported");A(()=>{setKind(""),form.setProblem(null),file&&kindOf2(file).
then(setKind,()=>setKind("none"))},[file]);let leave=()=>{ending.current?.abort(),close()},send=({passphrase,identity,same})=>told(async()=>{setSent(0);let{signal}=ending.
current=new AbortController,headers={};kind==="passphrase"&&(headers["X-Warren-Passphrase"]=asHeader(passphrase.trim())),kind==="identity"&&(headers["X-Warren-I\
dentity"]=asHeader(/AGE-SECRET-KEY-\S+/.exec(identity)?.[0]||identity.trim()));let query={workspaceId:app.model.workspace.value,as:same&&kind!=="other"?"same":void 0},
made;try{made=await app.api.upload("/profiles/import",query,headers,file,signal,setSent)}catch(problem){if(problem.name==="AbortError")return;throw worded(problem)}
if(made.profiles.some(({warnings,reason})=>warnings.length||reason))return setAnswer(made);say(app,made),close()});if(answer)return html`<${Done} answer=${answer} close=${close} />`;
let done=file&&sent>=file.size,foot=html`<button type="button" class="button" onClick=${leave}>Cancel</button><button class="button primary" disabled=${form.busy||
!file||!kind||kind==="none"}>${form.busy?"Importing…":"Import"}</button>`;return html`<${Dialog} title="Import profiles" lead="From an archive of Warren, or from a file of another product." close=${leave}><${Form} form=${form} work=${send} foot=${foot}>
    <div class="fields"><${Chooser2} file=${file} choose=${setFile} busy=${form.busy} />
      ${kind==="none"&&html`<p class="fault wide" role="alert">This file is empty. Choose another.</p>`}
      ${kind==="other"&&html`<div class="wide"><${Notice}><p>This is no archive of Warren. Exports of other products, CSV and packed folders of Chrome’s user data become new profiles, with their proxies and cookies.</p><//></div>`}
      ${kind==="passphrase"&&html`<${Text} form=${form} name="passphrase" member="X-Warren-Passphrase" label="Passphrase" type="password" autocomplete="off" wide autofocus />`}
      ${kind==="identity"&&html`<${Text} form=${form} name="identity" member="X-Warren-Identity" label="age identity" type="password" autocomplete="off" wide autofocus placeholder="AGE-SECRET-KEY-1…" hint="Of one of the recipients that it was sealed for. It is used for this import alone." />`}
      ${kind==="open"&&html`<div class="wide"><${Notice}><p>This file is not sealed: anybody may have changed it. Import it only if you trust where it comes from.</p><//></div>`}
      ${kind&&kind!=="none"&&kind!=="other"&&html`<${Tick} form=${form} name="same" label="Keep their ids" hint="To restore profiles that were deleted, or to move them to this server. Otherwise each becomes a new profile." />`}
      ${form.busy&&html`<div class="wide transfer" role="status"><span>${done?"Checking and unpacking…":`${bytes(sent)} of ${bytes(file.size)} sent`}</span>
        <progress max=${file.size||1} value=${done?void 0:sent} aria-label="Import"></progress></div>`}</div><//><//>`}function worded(problem){let{code,errors}=problem;
if(code==="archive_refused"&&errors.every(({location:location2})=>location2.startsWith("header."))?problem.code="validation_failed":code==="archive_refused"&&Object.
assign(problem,{message:errors.map(({message})=>message).join(" "),errors:[]}),code==="duplicate"){let taken=errors.length>1?`${count(errors.length,"profile")} \
of this file are here already, maybe in the trash.`:"This profile is here already, maybe in the trash.";Object.assign(problem,{code:"ids_taken",message:`${taken}\
 Import it without keeping ids, or delete what is here for good first.`,errors:[]})}return problem}function Chooser2({file,choose,busy}){let[over,setOver]=d(!1),
drag=event=>{event.preventDefault(),setOver(event.type==="dragover"),event.type==="drop"&&event.dataTransfer.files[0]&&!busy&&choose(event.dataTransfer.files[0])};
return html`<label class=${over?"drop wide is-over":"drop wide"} onDragOver=${drag} onDragLeave=${()=>setOver(!1)} onDrop=${drag}>
    <${Icon} name="upload" />${file?html`<span><strong><bdi>${file.name}</bdi></strong> <span class="muted number">${bytes(file.size)}</span></span>`:html`<span><strong>Choose a file</strong> of this computer, or drop it here</span>`}
    <input type="file" class="visually-hidden" name="file" disabled=${busy} autofocus=${!file} aria-label="Archive" onChange=${event=>{event.currentTarget.files[0]&&
choose(event.currentTarget.files[0])}} /></label>`}function titleOf({profiles,created}){return profiles.length===1?`Imported ${profiles[0].name}`:`Imported ${count(
created,"profile")}`}function say(app,answer){let ids=answer.profiles.map(({id})=>id);app.toasts.say({text:titleOf(answer),more:answer.format==="warren"?"With s\
ettings and data, which are unpacked at the first start.":"With their proxies and cookies.",tone:"good",action:ids.length===1&&{label:"Show",run:()=>app.router.
go(href("profiles",void 0,ids))}})}function Done({answer,close}){let some=answer.profiles.filter(({warnings,reason})=>warnings.length||reason);return html`<${Dialog} title=${titleOf(
answer)} lead=${answer.profiles.length===1?"Not everything could come along.":`For ${some.length} of them not everything could come along.`} close=${close}>
    <div class="dialog-content"><ul class="imported" aria-label="What did not travel">${some.map(({number:number3,name,reason,warnings})=>html`<li key=${number3}>
      ${answer.profiles.length>1&&html`<strong><${Name}>${name}<//></strong>`}<ul>${reason&&html`<li>It was not imported. ${reason}</li>`}${warnings.map(({message})=>html`<li key=${message}>${message}</li>`)}</ul></li>`)}</ul></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer><//>`}function TagBulkDialog({size,todo,close}){let form=useForm({tags:[],action:"tag"}),send=async({tags,action})=>{todo(action,{tags}),close()};return html`<${Dialog} title="Change tags" lead=${count(
size,"profile")} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.tags.length}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="action" label="Change" wide options=${[["tag","Add these tags"],["untag","Remove these tags"]]} />
      <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." /></div><//><//>`}function ProxyBulkDialog({size,todo,close}){
let{api,model}=useApp(),form=useForm({how:"one",proxyId:"",tag:""}),{how,proxyId,tag}=form.values,[free,setFree]=d(null);A(()=>{setFree(null),how==="each"&&api.
get("/proxies",{tag:tag||void 0,limit:1,page:1,workspaceId:model.workspace.value}).then(({total})=>setFree(total),()=>{})},[how,tag]);let send=async()=>{how==="\
one"?todo("setProxy",{proxyId}):how==="none"?todo("setProxy",{proxyId:null}):todo("setProxy",{proxies:tag?{tag,each:!0}:"each"}),close()},tagInput=tied=>html`<input type="text" ...${tied} value=${tag} placeholder="Any tag" onInput=${event=>form.
set("tag",event.currentTarget.value.trim())} spellcheck=${!1} />`;return html`<${Dialog} title="Set the proxy" lead=${count(size,"profile")} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${how==="one"&&!proxyId}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="how" label="Proxy" wide options=${[["one","One proxy for all"],["each","A different proxy for each"],["non\
e","No proxy (direct connection)"]]} />
      ${how==="one"&&html`<${ProxyField} form=${form} workspaceId=${model.workspace.value} label="Which one" none=${null} empty="Choose a proxy" />`}
      ${how==="each"&&html`<${Field} wide form=${form} name="tag" label="From the proxies with this tag" optional control=${tagInput}
        hint=${free===null?"Proxies with the fewest profiles are taken first.":`${count(free,"proxy","proxies")} ${free===1?"matches":"match"}. Those with the f\
ewest profiles are taken first.`} />`}
      ${how==="none"&&html`<p class="wide hint">The profiles will connect directly, with this computer’s own address.</p>`}</div><//><//>`}var HOW=[["","Left to each profile"],["one","All the same proxy"],["tag","One of those with a tag"],["each","One that no profile uses yet"]];function toForm(template2,workspace3=""){
let{proxies}=template2||{};return{...toValues({...template2,proxies:void 0},workspace3),how:proxies==="each"?"each":proxies?"tag":template2?.proxyId?"one":"",tag:proxies?.
tag||"",pick:proxies?.each?"each":proxies?.pick||"leastUsed"}}function toTemplate(values){let{how,tag,pick}=values;return{...toBody(values),proxyId:how==="one"&&
values.proxyId||null,proxies:how==="each"?"each":how==="tag"?pick==="each"?{tag,each:!0}:{tag,pick}:null}}var TEMPLATE_FIELDS=[...FIELDS.filter(({names:names2})=>names2[0]!==
"proxyId"),{label:"Proxy",names:["how","proxyId","tag","pick"],words:({how,proxyId,tag})=>how==="one"&&proxyId?{proxies:[proxyId]}:how==="tag"?dealtWords({tag}):
HOW.find(([value])=>value===how)[1]}];function TemplateDialog({template:template2,profile:profile2,done,close}){let app=useApp(),[read,setRead]=d(null),[problem,
setProblem]=d(null),path=template2?`/templates/${encodeURIComponent(template2.id)}`:profile2&&`/profiles/${encodeURIComponent(profile2.id)}`;A(()=>{path&&app.api.
full("GET",path).then(setRead,setProblem)},[]);let title2=template2?html`Edit <${Name}>${template2.name}<//>`:"New template";return html`<${Dialog} sheet title=${title2} lead=${profile2&&
html`With the settings of <${Name}>${profile2.name}<//>`} close=${close}>
    ${path&&!read?html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${!problem&&html`<${Waiting} />`}</div>`:template2?html`<${EditForm2} ...${{
...read,path,done,close}} />`:html`<${NewForm2} profile=${read?.data} ...${{done,close}} />`}
  <//>`}function asFault(problem){throw problem.code==="duplicate"&&Object.assign(problem,{code:"validation_failed",errors:[{location:"body.name",message:"There\
 is a template with this name already. Choose another."}]}),problem}function NewForm2({profile:profile2,done,close}){let app=useApp(),workspace3=useStore(app.model.
workspace),form=useForm({...toForm(profile2&&{...profile2,temporary:!1},workspace3)}),create=async values=>{let given=Object.entries(changes(toTemplate(toForm(null)),
toTemplate(values))).filter(([,value])=>value!==null),made=await app.api.post("/templates",{...Object.fromEntries(given),name:values.name}).catch(asFault);app.model.
sawWorkspaces([made]),app.toasts.say({text:`Created the template ${made.name}.`,tone:"good",action:profile2&&{label:"Show",run:()=>app.router.go(href("settings",
void 0,["templates"]))}}),await done?.(made),close()},foot=html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.
busy}>${form.busy?"Creating…":"Create"}</button>`;return html`<${Form} form=${form} work=${create} foot=${foot}><${Sections2} form=${form} fixed=${profile2?.workspaceId} /><//>`}
function EditForm2({data,etag,path,done,close}){let app=useApp(),form=useForm(toForm(data)),version=useVersion({form,data,etag,read:()=>app.api.full("GET",path),
toValues:toForm,fields:TEMPLATE_FIELDS}),save2=async values=>{let saved=await version.save((headers,before)=>app.api.full("PUT",path,{body:changes(toTemplate(toForm(
before)),toTemplate(values)),headers})).catch(asFault);saved&&(app.toasts.say({text:`Saved the template ${saved.data.name}.`,tone:"good"}),await done?.(saved.data),
close())},foot=html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy||!!version.conflict}>${form.busy?"Saving…":"Save"}</button>`;return html`<${Form} form=${form} work=${save2} foot=${foot} saved=${version.
first}>
    <${Conflict} version=${version} />
    <${Sections2} form=${form} fixed=${data.workspaceId} />
  <//>`}function Sections2({form,fixed}){let{values}=form,workspaceId=fixed||values.workspaceId.trim();return html`<div class="fields">
      <p class="hint wide">What you leave as it is stays open: the workspace or the server decides it for each new profile.</p>
      <${NameField} form=${form} />
      <${Choice} form=${form} name="how" member="proxies" label="Proxy" options=${HOW} wide />
      ${values.how==="one"&&html`<${ProfileProxy} form=${form} workspaceId=${workspaceId} />`}
      ${values.how==="tag"&&html`<${Text} form=${form} name="tag" member="proxies" label="Tag" maxlength="64" placeholder="de" /><${Choice} form=${form} name="pick" member="" label="Which one" options=${PICKS} />`}
      <${Tags2} form=${form} />
    </div>
    <${Section} form=${form} title="Identity" names=${IDENTITY} summary=${identitySummary(values)}><${IdentityFields} form=${form} /><//>
    <${Section} form=${form} title="Network" names=${NETWORK} summary=${networkSummary(values)}><${NetworkFields} form=${form} workspaceId=${workspaceId} /><//>
    <${Section} form=${form} title="Start and limits" names=${LIMITS} summary=${limitsSummary(values)}><${LimitFields} form=${form} /><//>
    <${Section} form=${form} title=${fixed?"Notes":"Notes and workspace"} names=${NOTES} summary=${values.notes.trim()?"Written":fixed?"None":workspaceId||"defa\
ult"}><${NotesFields} form=${form} saved=${!!fixed} /><//>`}var FixedRows=class{view=new Store({total:0,atLeast:!1,problem:null,version:0});#list=[];set(list){this.#list=list,this.view.set({...this.view.value,total:list.
length,version:this.view.value.version+1})}want(){}async reload(){}at(index){return this.#list[index]}loaded(){return this.#list}async range(from,to){return this.#list.
slice(from,to+1)}indexOf(id){return this.#list.findIndex(row=>row.id===id)}};function useAnswer(path,query,again2=()=>!1){let app=useApp(),[state,setState]=d({data:null,problem:null}),reload=()=>app.api.get(path,query).then(data=>setState(
{data,problem:null}),problem=>setState(before=>({...before,problem})));return A(()=>{reload();let planned=0,unwatch=app.model.event.watch(event=>{event.type!=="\
everything"&&event.type!=="events.lost"&&!again2(event)||(clearTimeout(planned),planned=setTimeout(reload,200))});return()=>{clearTimeout(planned),unwatch()}},[
path]),{...state,reload}}function Missing({problem,what,scope="admin"}){return problem?problem.status!==403?html`<${ProblemBox} problem=${problem} />`:html`<${Notice}><p>Your key may not see ${what}. That needs a key with the scope <code>${scope}</code>.</p><//>`:
null}function idOf({name,domain,path,partitionKey,partitionKeyOpaque}){return JSON.stringify([domain,name,path,partitionKey?[partitionKey.topLevelSite,partitionKey.hasCrossSiteAncestor]:
0,partitionKeyOpaque?1:0])}function keyOf({name,domain,path,partitionKey}){return{name,domain,path,...partitionKey&&{partitionKey}}}function bare(domain){return domain.
replace(/^\./,"")}var Jar=class{state=new Store({cookies:null,problem:null,busy:!1,old:!1,at:null});#api;#path;#turn=0;constructor(api,path){this.#api=api,this.#path=
path}async read(){let turn3=++this.#turn;this.#set({busy:!0});try{let cookies=await this.#api.get(`${this.#path}/cookies`,{format:"cdp"});turn3===this.#turn&&this.#set(
{cookies,problem:null,busy:!1,old:!1,at:new Date().toISOString()})}catch(problem){turn3===this.#turn&&this.#set({problem,busy:!1})}}async now(cookie){return(await this.#api.
get(`${this.#path}/cookies`,{format:"cdp",domain:bare(cookie.domain)})).find(one=>idOf(one)===idOf(cookie))}has(cookie){return(this.state.value.cookies||[]).some(
one=>idOf(one)===idOf(cookie))}async change(cookies,remove){let answer=await this.#api.put(`${this.#path}/cookies`,{cookies,remove});return this.changed(),answer}changed(){
this.#set({old:!0}),this.read()}async send(what,query,body){let search=new URLSearchParams(query);return(await this.#api.open("PUT",`api/v1${this.#path}/${what}\
?${search}`,{headers:{"Content-Type":"application/octet-stream"},body})).json().catch(()=>{throw new Problem(0,{title:"The answer did not arrive whole",detail:"\
Reload the list to see what the profile has now."},"")})}file(what,format,domains){let search=new URLSearchParams([...format?[["format",format]]:[],...domains.map(
domain=>["domain",domain])]);return this.#api.open("GET",`api/v1${this.#path}/${what}?${search}`)}#set(changes4){this.state.set({...this.state.value,...changes4})}};
function matching(cookies,text3){let wanted=text3.toLowerCase();return wanted?cookies.filter(({name,domain,value})=>[name,domain,value].some(part=>part.toLowerCase().
includes(wanted))):cookies}var byText=new Intl.Collator("en",{numeric:!0}).compare,ORDERS={__proto__:null,domain:(a,b)=>byText(a.site,b.site),name:(a,b)=>byText(
a.cookie.name,b.cookie.name),expires:(a,b)=>ends(a.cookie)-ends(b.cookie)};function ends({session,expires}){return session?-1:expires}function sorted(cookies,sort,order){
let rows=cookies.map(cookie=>({id:idOf(cookie),name:cookie.name,cookie,site:bare(cookie.domain).split(".").reverse().join(".")})),way=order==="desc"?-1:1;return rows.
sort((a,b)=>way*ORDERS[sort](a,b)||ORDERS.domain(a,b)||ORDERS.name(a,b)||byText(a.id,b.id))}function cookieColumns(open){return[{id:"domain",label:"Domain",min:150,grow:2,sort:"domain",first:"asc",rank:1,card:!0,draw:({cookie})=>html`<${Domain} cookie=${cookie} />`},
{id:"name",label:"Name",min:150,grow:2,sort:"name",first:"asc",always:!0,draw:row=>html`<button type="button" class="link title" title=${row.name} onClick=${()=>open(
row)}><bdi class="name">${row.name||"(no name)"}</bdi></button>`},{id:"value",label:"Value",min:130,grow:3,rank:3,card:!0,draw:row=>html`<${Value} row=${row} />`},
{id:"expires",label:"Expires",width:112,sort:"expires",first:"asc",rank:2,card:!0,draw:({cookie})=>html`<${Expires} cookie=${cookie} />`},{id:"flags",label:"Fla\
gs",width:252,rank:4,card:!0,draw:({cookie})=>html`<${Flags} cookie=${cookie} />`}]}function Domain({cookie:{domain,path}}){let host=html`<bdi class="one-line" title=${domain}>${bare(
domain)}</bdi>`;return path==="/"?host:html`<span class="two-lines">${host}<span class="sub not-in-card" title=${path}><bdi>${path}</bdi></span></span>`}function Value({
row:{cookie:{value},shown}}){return shown?value?html`<bdi class="mono one-line" title=${value}>${value}</bdi>`:html`<span class="muted">empty</span>`:html`<span class="muted not-in-card"><span aria-hidden="true">••••••••</span><span class="visually-hidden">hidden</span></span>`}
function Expires({cookie:{session,expires}}){let now=useNow();if(session)return html`<span class="muted" title="It ends with the session: when the browser closes, unless tabs are restored">Session</span>`;
let left=expires*1e3-now;return html`<time class="number" datetime=${new Date(expires*1e3).toISOString()} title=${new Date(expires*1e3).toLocaleString()}>${left>
0?`in ${rough(left)}`:"just now"}</time>`}var DAY=864e5;function rough(ms){if(ms<DAY)return span(ms).replace(/ \d+ min$/,"");let days=Math.round(ms/DAY);return days===
1?"1 day":`${days} days`}function flagsOf({domain,secure,httpOnly,sameSite,partitionKey,partitionKeyOpaque,portable}){return[portable==="suspect"&&["Device-boun\
d?","Probably bound to this device: it may not work elsewhere","is-wait"],secure&&["Secure","Sent over HTTPS alone"],httpOnly&&["HttpOnly","Scripts of pages do \
not see it"],sameSite&&[sameSite==="None"?"SameSite None":sameSite,`SameSite=${sameSite}`],!domain.startsWith(".")&&["Host only","Not sent to subdomains"],partitionKey&&
["Partitioned",`Only within pages of ${partitionKey.topLevelSite}`],partitionKeyOpaque&&["Opaque","In an opaque partition, which ends with its page. It cannot b\
e changed"]].filter(Boolean)}function Flags({cookie}){return html`<span class="flags">${flagsOf(cookie).map(([words,why,kind="is-quiet"])=>html`<span key=${words} class=${`\
mark ${kind}`} title=${why}>${words}</span>`)}</span>`}var NAMED=5;function DeleteDialog({cookies,jar,done,close}){let app=useApp(),told=useTold("The cookies were not deleted"),gone=cookies.filter(({partitionKeyOpaque})=>!partitionKeyOpaque),
opaque=cookies.length-gone.length,domains=[...new Set(gone.map(({domain})=>bare(domain)))],work=()=>told(async()=>{let{removed}=await jar.change([],gone.map(keyOf));
done(),app.toasts.say({text:`Deleted ${count(removed,"cookie")}.`,more:removed<gone.length?`${number(gone.length-removed)} had gone already.`:"",action:removed>
0&&{label:"Undo",run:()=>putBack(app,jar,gone)}})});return html`<${ConfirmDialog} title=${`Delete ${count(gone.length,"cookie")}?`} verb="Delete" doing="Deleting…" ...${{
work,close}}>
    <p>${gone.length===1?html`The cookie <bdi>${gone[0].name||"without a name"}</bdi> of <bdi>${gone[0].domain}</bdi> is deleted.`:html`Cookies of ${domains.slice(
0,NAMED).map((domain,i)=>html`${i?", ":""}<bdi>${domain}</bdi>`)}${domains.length>NAMED&&` and ${count(domains.length-NAMED,"other domain")}`} are deleted.`} Sites may ask the profile to log in again.</p>
    ${opaque>0&&html`<p class="muted">${opaque===1?"1 cookie of an opaque partition stays: it ends with its page.":`${number(opaque)} cookies of opaque partitio\
ns stay: they end with their pages.`}</p>`}<//>`}async function putBack(app,jar,cookies){try{let{taken}=await jar.change(cookies);app.toasts.say({text:`Put back\
 ${count(taken,"cookie")}.`,more:taken<cookies.length?`${number(cookies.length-taken)} were refused: they may have expired.`:"",tone:taken<cookies.length?"wait":
"good"})}catch(problem){app.fail("The cookies were not put back",problem)}app.keepFocus()}var SAME_SITE=[["","Not given: as Lax"],["Lax","Lax"],["Strict","Strict"],["None","None"]],LASTING=[["session","With the session"],["date","At a time"]],PRIORITIES=[
["Low","Low"],["Medium","Medium"],["High","High"]],SCHEMES=[["","The usual one"],["Secure","Secure"],["NonSecure","Not secure"],["Unset","Not known"]],MORE=["si\
te","priority","scheme","port"],FIELDS2=[[/^Name and value|neither a name|^It has no name|name begins|name or the value|^The name/,"name"],[/^The value/,"value"],
[/one host|domain|subdomains|hostOnly/i,"domain"],[/\bpath\b/,"path"],[/expired|\bdate\b|expires/,"date"],[/^SameSite/,"sameSite"],[/must be secure/,"secure"],[
/partition key|partitionKey/,"site"],[/sourcePort/,"port"],[/sourceScheme/,"scheme"]];function faultsOf2(reasons){return reasons.flatMap(reason=>reason.split(/(?<=\.) (?=[A-Z])/)).
map(message=>({location:`body.${(FIELDS2.find(([words])=>words.test(message))||[])[1]||""}`,message}))}function localTime(seconds){let at=new Date(seconds*1e3);
return new Date(at-at.getTimezoneOffset()*6e4).toISOString().slice(0,16)}var MONTH=30*86400;function valuesOf(cookie){let{name="",value="",domain="",path="/",session=!0,
expires,secure=!0,httpOnly=!1,sameSite="",priority="Medium",partitionKey,sourceScheme="",sourcePort=""}=cookie||{};return{name,value,domain:bare(domain),subdomains:domain.
startsWith("."),path,lasting:session?"session":"date",date:localTime(session?Math.floor(Date.now()/1e3)+MONTH:expires),secure,httpOnly,sameSite,priority,site:partitionKey?.
topLevelSite||"",ancestor:partitionKey?.hasCrossSiteAncestor??!1,scheme:sourceScheme,port:String(sourcePort)}}function cookieOf(values,before,cookie){let{name,value,
domain,subdomains,path,lasting:lasting2,date,secure,httpOnly,sameSite,priority,site,ancestor,scheme,port}=values,kept2=before.scheme===scheme&&before.port===port&&
before.secure!==secure;return{name,value,domain:subdomains?`.${bare(domain.trim())}`:domain.trim(),path:path.trim(),secure,httpOnly,priority,expires:lasting2===
"session"?-1:cookie&&!cookie.session&&date===before.date?cookie.expires:Date.parse(date)/1e3,...sameSite&&{sameSite},...site.trim()&&{partitionKey:{topLevelSite:site.
trim(),hasCrossSiteAncestor:ancestor}},...!kept2&&scheme&&{sourceScheme:scheme},...!kept2&&port.trim()&&{sourcePort:number2(port)}}}function checked(values,before,cookie,jar){
let next=cookieOf(values,before,cookie),errors=[];if(Number.isNaN(next.expires)&&errors.push({location:"body.date",message:"Choose a day and a time."}),!(cookie&&
idOf(next)===idOf(cookie))&&jar.has(next)&&errors.push({location:"body.name",message:"This domain and path have a cookie with this name already. Change that one\
, or choose another name."}),errors.length)throw new Problem(422,{code:"validation_failed",errors},"");return next}function worded2(problem){return problem.status===
422&&problem.errors.some(({location:location2})=>/^body\.cookies\[0]/.test(location2))&&(problem.errors=faultsOf2(problem.errors.map(({message})=>message))),problem}
function sameAs(a,b){return JSON.stringify([valuesOf(a),a.expires])===JSON.stringify([valuesOf(b),b.expires])}function EditDialog({cookie,profile:profile2,jar,close}){
let app=useApp(),[before]=d(()=>valuesOf(cookie)),form=useForm(before),[seen2,setSeen]=d(cookie),told=useTold(cookie?"The cookie was not saved":"The cookie was \
not added"),{values}=form,save2=now=>told(async()=>{let next=checked(now,before,cookie,jar);if(seen2&&profile2.status==="running"){let there=await jar.now(cookie);
if(!there||!sameAs(there,seen2))throw setSeen(there),meanwhile(there)}let{refused,notices}=await jar.change([next],cookie?[keyOf(cookie)]:[]).catch(problem=>{throw worded2(
problem)});if(refused.length)throw new Problem(422,{code:"cookie_refused",title:"The browser did not take it",detail:`${refused.map(({reason})=>reason).join(" ")}\
 Nothing was changed.`},"");app.toasts.say({text:`${cookie?"Saved":"Added"} ${next.name||"the cookie"} of ${next.domain}.`,more:notices.map(({message})=>message).
join(" "),tone:notices.length?"wait":"good"}),close()}),foot=html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.
busy}>${form.busy?"Saving…":cookie?"Save":"Add"}</button>`,summary=[values.site?"Partitioned":"Not partitioned",values.priority!=="Medium"&&`${values.priority}\
 priority`].filter(Boolean).join(", ");return html`<${Dialog} title=${cookie?"Edit cookie":"Add a cookie"} lead=${cookie?html`<bdi>${cookie.name||"Without a nam\
e"}</bdi> of <bdi>${cookie.domain}</bdi>`:void 0} about=${cookie&&idOf(cookie)} close=${close}><${Form} form=${form} work=${save2} foot=${foot}>
    <div class="fields"><${Text} form=${form} name="name" label="Name" wide autofocus class="mono" maxlength="4096" />
      <${ValueField} form=${form} hidden=${!!cookie} />
      <${Text} form=${form} name="domain" label="Domain" placeholder="shop.example" class="mono" /><${Text} form=${form} name="path" label="Path" class="mono" />
      <${Tick} form=${form} name="subdomains" label="Sent to subdomains too" />
      <${Choice} form=${form} name="lasting" label="It ends" options=${LASTING} />
      ${values.lasting==="date"?html`<${Text} form=${form} name="date" label="Time" type="datetime-local" />`:html`<span></span>`}
      <${Tick} form=${form} name="secure" label="Secure" hint="Sent over HTTPS alone." /><${Tick} form=${form} name="httpOnly" label="HttpOnly" hint="Scripts of pages do not see it." />
      <${Choice} form=${form} name="sameSite" label="SameSite" wide options=${SAME_SITE} hint="Lax and Strict keep it from requests that come from other sites." /></div>
    <${Section} form=${form} title="Partition, priority and source" summary=${summary} names=${MORE}>
      <${Text} form=${form} name="site" label="Partition: site of the top page" optional wide class="mono" placeholder="https://…" hint="The cookie is sent within pages of this site alone (CHIPS)." />
      ${values.site&&html`<${Tick} form=${form} name="ancestor" label="A frame of another site is between" />`}
      <${Choice} form=${form} name="priority" label="Priority" options=${PRIORITIES} />
      <${Choice} form=${form} name="scheme" label="Source" options=${SCHEMES} /><${Text} form=${form} name="port" label="Source port" optional inputmode="numeric" hint="-1: not known." /><//><//><//>`}
function meanwhile(there){return new Problem(409,there?{code:"cookie_changed",title:"This cookie changed meanwhile",detail:"The browser has another value or ano\
ther time for it. Save again to replace that, or close this and reload the list."}:{code:"cookie_gone",title:"This cookie is gone",detail:"The browser has delet\
ed it meanwhile. Save again to make it anew."},"")}function ValueField({form,hidden}){let[shown,setShown]=d(!hidden),typed2=event=>form.set("value",event.currentTarget.
value);return html`<${Field} wide ...${{form,name:"value",label:"Value",control:tied=>html`<div class="value-field">${shown?html`<textarea rows="3" class="mono" ...${tied} value=${form.
values.value} onInput=${typed2} spellcheck=${!1}></textarea>`:html`<input type="password" class="mono" ...${tied} value=${form.values.value} onInput=${typed2} autocomplete="new-password" />`}
    ${hidden&&html`<button type="button" class="icon-button" aria-pressed=${shown} aria-label="Show the value" title=${shown?"Hide the value":"Show the value"} onClick=${()=>setShown(
!shown)}><${Icon} name="eye" /></button>`}</div>`}} />`}var STORAGE="storage-state",FORMATS=[["playwright","JSON for Playwright, Puppeteer and Selenium"],["cookie-editor","JSON for Cookie-Editor and EditThisCookie"],
["cdp","JSON of Chrome’s protocol (CDP), with everything"],["netscape","cookies.txt for curl, wget and yt-dlp"],[STORAGE,"storageState of Playwright: with loc\
alStorage and databases"]],MOST3=1e3,LOST={__proto__:null,same_site:"SameSite",priority:"the priority",source:"source scheme and port",sub_second:"parts of a se\
cond",partitioned:"partitioned cookies",opaque_partition:"cookies of opaque partitions",unprintable:"cookies with control characters",partitioned_storage:"stora\
ge within other sites’ pages"};function lostWords(header){let words=(header||"").split(", ").map(one=>one.split("=")).filter(([code])=>code).map(([code,n])=>`${LOST[code]||
code} (${n})`);return words.length?`The format does not have: ${words.join(", ")}.`:""}function ExportDialog2({profile:profile2,jar,cookies,chosen:chosen2,close}){
let app=useApp(),domains=[...new Set(cookies.map(({domain})=>bare(domain)))],some=domains.length>0&&domains.length<=MOST3,form=useForm({format:"playwright",which:some?
"some":"all",copy:!1}),told=useTold("The cookies were not exported"),storage=form.values.format===STORAGE,file=async({format,which:which2})=>{let response=await(storage?
jar.file(STORAGE,"",which2==="some"?domains:[]):jar.file("cookies",format,which2==="some"?domains:[]));return{text:await response.blob(),lost:lostWords(response.
headers.get("X-Warren-Lost"))}},done=(text3,lost)=>{app.toasts.say({text:text3,more:lost,tone:lost?"wait":"good"}),close()},save2=values=>told(async()=>{let{text:text3,
lost}=await file(values);saveBlob(text3,fileNamed([profile2]).replace(/\.warren$/,` ${storage?"storage":"cookies"}.${values.format==="netscape"?"txt":"json"}`)),
done(`Exported ${storage?"the storage":"cookies"} of ${profile2.name}.`,lost)}),copy=()=>form.send(values=>told(async()=>{let{text:text3,lost}=await file(values);
await copyText(await text3.text(),form.root.current),done(`Copied ${storage?"the storage":"cookies"} of ${profile2.name}.`,lost)})),foot=html`${form.busy&&html`<span class="dialog-status" role="status">Reading…</span>`}<button type="button" class="button" onClick=${close}>Cancel</button>
    <button type="button" class="button" disabled=${form.busy} onClick=${copy}><${Icon} name="copy" />Copy</button><button class="button primary" disabled=${form.
busy}><${Icon} name="download" />Download</button>`,which=[["some",`Of ${domains.length===1?domains[0]:count(domains.length,"domain")} that ${chosen2?"you chose":
"the search shows"}, with subdomains`],["all","All"]];return html`<${Dialog} title="Export cookies" lead=${html`<${Name}>${profile2.name}<//>`} close=${close}><${Form} form=${form} work=${save2} foot=${foot}>
    <div class="fields"><${Choice} form=${form} name="format" label="Format" wide options=${FORMATS} />
      ${domains.length>MOST3&&html`<p class="hint wide">All cookies are exported: there are more than ${number(MOST3)} domains.</p>`}
      ${some&&html`<${Choice} form=${form} name="which" member="domain" label="Cookies" wide options=${which} />`}
      <div class="wide"><${Notice}><p>Whoever gets this is signed in wherever the profile is.</p><//></div></div><//><//>`}var MODES=[["merge","Stay"],["replace-domains","Go, if they are of the file’s domains"],["replace-all","Go, all of them"]],SHOWN2=50;function ImportDialog2({profile:profile2,
jar,close}){let app=useApp(),form=useForm({text:"",mode:"merge",storage:!1}),[file,setFile]=d(null),[answer,setAnswer]=d(null),told=useTold("The cookies were no\
t imported"),asked=JSON.stringify(form.values),tried=answer?.asked===asked&&answer.file===file?answer:null,send=values=>told(async()=>{let body=file?file.body:values.
text;if(!file&&!values.text.trim())throw fault("Paste cookies here, or choose a file.");let query={mode:values.mode,...!tried&&{dryRun:!0},...tried&&values.mode===
"replace-all"&&{confirm:!0}},done=await jar.send(values.storage?"storage-state":"cookies",query,body).catch(problem=>{throw worded3(problem)});return done.dryRun?
setAnswer({...done,asked,file}):(jar.state.value.cookies&&jar.changed(),done.refused.length||done.failed.length?setAnswer(done):(app.toasts.say({text:`Imported ${count(
done.taken,"cookie")}.`,more:tellsOf(done).slice(1).join(" "),tone:"good"}),close()))});if(answer&&!answer.dryRun)return html`<${Done2} ...${{answer,profile:profile2,
close}} />`;let nothing=tried&&!tried.taken&&!tried.removed&&!tried.origins,foot=html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class=${tried?.removed?"button danger":"button primary"} disabled=${form.busy||nothing}>${form.busy?tried?"Importing…":"Trying…":tried?tried.removed?
`Import ${number(tried.taken)}, remove ${number(tried.removed)}`:`Import ${count(tried.taken,"cookie")}`:"Try it"}</button>`;return html`<${Dialog} title="Import cookies" lead=${html`<${Name}>${profile2.
name}<//>`} close=${close}><${Form} form=${form} work=${send} foot=${foot}>
    <div class="fields">${!file&&html`<${Lines} form=${form} name="text" label="Cookies" rows=${6} class="mono" autofocus spellcheck=${!1} hint="JSON of Playwright, Puppeteer, Selenium, CDP, Cookie-Editor or EditThisCookie, or lines of a cookies.txt. The server sees which." />`}
      <${FileField} ...${{file,form,choose:setFile}} />
      <${Choice} form=${form} name="mode" label="Cookies that the file does not have" wide options=${MODES} />
      <${Tick} form=${form} name="storage" label="It is a storageState: write its localStorage and databases too" /></div>
    ${tried&&html`<${Outcome2} answer=${tried} />`}<//><//>`}function fault(message){return new Problem(422,{code:"validation_failed",errors:[{location:"body.te\
xt",message}]},"")}function worded3(problem){return problem.code==="malformed_json"&&problem.errors.length?fault(`${problem.errors.map(({message})=>message).join(
" ")} Nothing was changed.`):(problem.status===422&&problem.errors.length&&problem.errors.every(({location:location2})=>location2.startsWith("body"))&&Object.assign(
problem,{code:"cookies_refused",title:"The file was not taken",message:problem.detail.replace(" `errors` says why.",""),errors:[...new Set(problem.errors.map(({
message})=>message))].map(message=>({message}))}),problem)}function FileField({file,form,choose}){let[over,setOver]=d(!1),take=async chosen2=>{if(!(!chosen2||form.
busy)){form.setProblem(null);try{choose({name:chosen2.name,body:await chosen2.arrayBuffer()})}catch{form.setProblem(new Problem(0,{title:"The file could not be \
read",detail:"It may have been moved, or it is too large."},""))}}},drag=event=>{event.preventDefault(),setOver(event.type==="dragover"),event.type==="drop"&&take(
event.dataTransfer.files[0])};return html`<div class="wide file-line"><label class=${over?"drop is-over":"drop"} onDragOver=${drag} onDragLeave=${()=>setOver(!1)} onDrop=${drag}><${Icon} name="upload" />
    ${file?html`<span><strong><bdi>${file.name}</bdi></strong> <span class="muted number">${bytes(file.body.byteLength)}</span></span>`:html`<span><strong>Choose a file</strong> of this computer, or drop it here</span>`}
    <input type="file" class="visually-hidden" name="file" disabled=${form.busy} aria-label="File" onChange=${event=>take(event.currentTarget.files[0])} /></label>
    ${file&&html`<button type="button" class="button small" disabled=${form.busy} onClick=${()=>choose(null)}>Paste instead</button>`}</div>
    ${file&&form.faults("text").length>0&&html`<p class="fault wide" role="alert">${form.faults("text").map(({message})=>message).join(" ")}</p>`}`}function tellsOf({
dryRun,taken,changed,removed,origins}){let[are,is]=dryRun?["would be","would be"]:["were","was"];return[taken?`${count(taken,"cookie")} ${taken===1?is:are} take\
n: ${number(changed)} new or changed${taken>changed?`, ${number(taken-changed)} as before`:""}.`:"No cookie of it can be taken.",removed>0&&`${count(removed,"co\
okie")} of the profile ${removed===1?is:are} removed.`,origins>0&&`The storage of ${count(origins,"site")} ${origins===1?is:are} written.`].filter(Boolean)}function Outcome2({
answer}){let{refused,moreRefused,failed,lost,notices}=answer,box=T(null);A(()=>box.current.scrollIntoView({block:"nearest"}),[answer]);let all=refused.length+moreRefused,
where=({line,place:place2,index})=>place2||(line?`Line ${line}`:`Entry ${index+1}`);return html`<section class="cookie-outcome" ref=${box} aria-label=${answer.dryRun?
"What the import would do":"What the import did"} role="status">
    ${tellsOf(answer).map(sentence2=>html`<p key=${sentence2}>${sentence2}</p>`)}
    ${all>0&&html`<div><h3 class="bad-text">${number(all)} refused</h3><ul class="box-lines">${refused.slice(0,SHOWN2).map(one=>html`<li key=${`${one.place||one.
line||""}${one.index}`}><span class="muted">${where(one)}</span> <strong><bdi>${one.name}</bdi></strong>${one.domain&&html` of <bdi>${one.domain}</bdi>`}: ${one.
reason}</li>`)}
      ${all>SHOWN2&&html`<li>and ${number(all-Math.min(SHOWN2,refused.length))} more</li>`}</ul></div>`}
    ${failed.length>0&&html`<div><h3 class="bad-text">Not written</h3><ul class="box-lines">${failed.map(({origin,reason})=>html`<li key=${origin+reason}><bdi>${origin}</bdi>: ${reason}</li>`)}</ul></div>`}
    ${lost.length>0&&html`<div><h3>Left out</h3><ul class="plain-list">${lost.map(note=>html`<li key=${note.code}>${noteWords(note)}</li>`)}</ul></div>`}
    ${notices.length>0&&html`<div><h3>Good to know</h3><ul class="plain-list">${notices.map(note=>html`<li key=${note.code}>${noteWords(note)}</li>`)}</ul></div>`}</section>`}
function noteWords({code,message,count:n}){return code==="storage"?"The file has localStorage or databases. Tick the box above to write them too.":n>1?`${message}\
 (${number(n)})`:message}function Done2({answer,profile:profile2,close}){return html`<${Dialog} title=${`Imported ${count(answer.taken,"cookie")}`} lead=${html`<${Name}>${profile2.
name}<//>`} close=${close}>
    <div class="dialog-content"><${Outcome2} answer=${answer} /></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer><//>`}function Cookies({profile:profile2,path}){let app=useApp(),jar=w(()=>new Jar(app.api,path),[app,path]),{cookies,problem,busy}=useStore(jar.state),running=profile2.
status==="running";return cookies?html`<${List} ...${{profile:profile2,jar}} />`:problem?.status===403?html`<${Missing} problem=${problem} what="cookies: they are secrets" scope="secrets" />`:
html`<${ProblemBox} problem=${problem} />
    <div class="quiet-box cookie-ask"><p>Whoever has a profile’s cookies is signed in as its user. They are read when you ask for them, and each time is recorded.</p>
      <p class="hint">${running?"They come from the browser that is running.":"The profile is stopped: a hidden browser without a network is opened for a moment\
."}</p>
      <div class="button-line"><button type="button" class="button primary" aria-disabled=${busy} onClick=${()=>!busy&&jar.read()}>${busy?"Reading…":"Read the\
 cookies"}</button>
        <button type="button" class="button" onClick=${()=>app.open(ImportDialog2,{profile:profile2,jar})}><${Icon} name="upload" />Import</button></div></div>
    ${busy&&html`<${Waiting} />`}`}function useShown(){let[{all,ids},set]=d({all:!1,ids:new Set});return{all,ids,toggle:id=>set(now=>{let next=new Set(now.ids);
return next.delete(id)||next.add(id),{all:now.all,ids:next}}),toggleAll:()=>set({all:!all,ids:new Set})}}function List({profile:profile2,jar}){let app=useApp(),
box=T(null),{cookies,problem,old}=useStore(jar.state),offline=useStore(app.offline),[search,setSearch]=d(""),[{sort,order},setSort]=d({sort:"domain",order:"asc"}),
{all,ids,toggle,toggleAll}=useShown(),selection=w(()=>new Selection,[]),rows=w(()=>new FixedRows,[]),found=w(()=>sorted(matching(cookies,search),sort,order),[cookies,
search,sort,order]),shown=w(()=>found.map(row=>all===ids.has(row.id)?row:{...row,shown:!0}),[found,all,ids]),edit=row=>row.cookie.partitionKeyOpaque?app.toasts.
say({text:"This cookie cannot be changed.",more:"It is of an opaque partition, which ends with its page."}):app.open(EditDialog,{cookie:row.cookie,profile:profile2,
jar}),columns=useColumns("cookies",()=>cookieColumns(edit)),drop=some=>app.open(DeleteDialog,{cookies:some.map(({cookie})=>cookie),jar,done:()=>selection.clear()}),
chosen2=()=>shown.filter(({id})=>selection.has(id));A(()=>rows.set(shown),[shown]),A(()=>{let there=new Set(found.map(({id})=>id)),{all:every,ids:some}=selection.
state.value;every?selection.clear():some.size&&selection.keep([...some].filter(([id])=>there.has(id)))},[found]),A(()=>box.current.querySelector("input")?.focus(),
[]);let actions=w(()=>row=>html`<${RowActions} ...${{row,toggle,edit,drop}} />`,[]);return html`<div class="cookies" ref=${box} onKeyDown=${event=>{event.key!==
"Escape"||event.target.closest("[popover]")||!(search||selection.size(found.length))||(event.preventDefault(),selection.size(found.length)?selection.clear():setSearch(
""))}}>
    <div class="cookie-tools tools">
      <${SearchBox} value=${search} label="Search cookies" change=${setSearch} />
      <button type="button" class="button" aria-pressed=${all} onClick=${toggleAll}><${Icon} name="eye" /><span>${all?"Hide values":"Show values"}</span></button>
      <button type="button" class="button" disabled=${offline} onClick=${()=>app.open(ImportDialog2,{profile:profile2,jar})}><${Icon} name="upload" /><span>Import</span></button>
      <button type="button" class="button" disabled=${offline} onClick=${()=>app.open(ExportDialog2,{profile:profile2,jar,cookies:search?found.map(({cookie})=>cookie):
[]})}><${Icon} name="download" /><span>Export</span></button>
      <button type="button" class="button primary" disabled=${offline} onClick=${()=>app.open(EditDialog,{profile:profile2,jar})}><${Icon} name="plus" /><span>Add cookie</span></button>
    </div>
    <${Line} ...${{profile:profile2,jar,columns,sort,order,search,some:found.length}} onSort=${(by,way)=>setSort({sort:by,order:way})} />
    <${ProblemBox} problem=${problem}><p>${old?"The list below is from before your last change, which was made.":"The list below is as it was."}</p>
      <button type="button" class="button small" onClick=${()=>jar.read()}>Try again</button><//>
    ${cookies.length===0?html`<${Empty} title="No cookies"><p>Sites set them when the profile visits them. You can also import a file.</p><//>`:found.length===0?
html`<${Empty} title="No matches"><p>No cookie has this in its name, its domain or its value.</p><button type="button" class="button" onClick=${()=>{setSearch(""),
box.current.querySelector("input").focus()}}>Show all cookies</button><//>`:html`<${Grid} label="Cookies" ...${{rows,columns,selection,sort,order,actions,open:edit}} onSort=${(by,way)=>setSort(
{sort:by,order:way})} actionsWidth=${100}
        what=${({name,cookie})=>`${name||"(no name)"} of ${cookie.domain}`} keys=${{e:edit,v:({id})=>toggle(id),Delete:row=>drop([row])}} />`}
    <${BulkBar} selection=${selection} total=${found.length} what="cookies" actions=${[{label:"Export",icon:"download",run:()=>app.open(ExportDialog2,{profile:profile2,
jar,cookies:chosen2().map(({cookie})=>cookie),chosen:!0})},{label:"Delete",icon:"trash",danger:!0,run:()=>drop(chosen2())}]} />
  </div>`}function Line({profile:profile2,jar,columns,sort,order,onSort,search,some}){let{cookies,busy,at}=useStore(jar.state),running=profile2.status==="runnin\
g";return html`<div class="cookie-line"><p class="muted"><span role="status">${search?`${number(some)} of ${count(cookies.length,"cookie")}`:count(cookies.length,
"cookie")}</span> · read <${Ago} time=${at} />${running&&". Its browser goes on changing them."}</p>
    <button type="button" class="button quiet" aria-disabled=${busy} title=${running?void 0:"Opens a hidden browser for a moment"} onClick=${()=>!busy&&jar.read()}><${Icon} name="reload" /><span>${busy?
"Reading…":"Reload"}</span></button>
    <span class="view-button"><${ViewMenu} ...${{columns,sort,order,onSort}} /></span></div>`}function RowActions({row,toggle,edit,drop}){let app=useApp(),{id,name,
shown,cookie}=row,what=name||"the cookie without a name",copy=async()=>{await copyText(cookie.value),app.toasts.say({text:`Copied the value of ${what}.`,tone:"g\
ood"})};return html`<div class="actions">
    <button type="button" class="icon-button" aria-pressed=${!!shown} aria-label=${`Show the value of ${what}`} title=${shown?"Hide the value":"Show the value"} onClick=${()=>toggle(
id)}><${Icon} name="eye" /></button>
    <button type="button" class="icon-button" aria-label=${`Edit ${what}`} title="Edit" disabled=${cookie.partitionKeyOpaque} onClick=${()=>edit(row)}><${Icon} name="edit" /></button>
    <${Menu} label=${`More for ${what}`} items=${[{label:"Copy the value",icon:"copy",run:copy},"line",{label:"Delete",icon:"trash",danger:!0,run:()=>drop([row])}]} /></div>`}function StartButton({profile:profile2,rows,told,small}){let app=useApp(),busy=useStore(app.busy).has(profile2.id),why=useNoStart(),moving=["starting","stopping"].
includes(profile2.status);return html`<button type="button" class=${small?"button small primary":"button primary"} disabled=${!!why} aria-disabled=${busy||moving} title=${why||
void 0}
      onClick=${()=>!busy&&!moving&&start(app,profile2,rows)}><${Icon} name="play" />Start</button>
    ${told&&html`<p class="hint" role="status">${why}</p>`}`}function Connect({profile:profile2,path,rows}){let app=useApp(),busy=useStore(app.busy).has(profile2.id),offline=useStore(app.offline),running=profile2.status===
"running",[{run,problem},setState]=d({run:null,problem:null}),runId=profile2.run?.runId;return A(()=>{let gone=!1;return setState({run:null,problem:null}),running&&
addresses(app,path).then(found=>!gone&&setState({run:found,problem:null}),fault2=>!gone&&setState({run:null,problem:fault2})),()=>{gone=!0}},[path,running,runId]),
running?html`<${ProblemBox} problem=${problem} />${!run&&!problem&&html`<${Waiting} />`}
    ${run&&html`<p class="hint">Anyone with these URLs can control this browser. They expire when it stops.</p>
      <${Recipes} run=${run} noPort=${html`<div class="quiet-box"><p>Selenium needs a port of the server’s machine. It is opened when the browser starts. Any program of that machine can use it meanwhile.</p>
        <div><button type="button" class="button small" disabled=${offline||busy} onClick=${()=>restart(app,profile2,{debugPort:!0})}><${Icon} name="reload" />Restart with a port</button></div></div>`} />
      <section class="addresses"><h3>URLs</h3>
        <${Address} label="CDP over WebSocket" text=${run.wsEndpoint} />
        <${Address} label="CDP over HTTP" text=${run.cdpUrl} />
        <${Address} label="Live view" text=${run.liveUrl} />
        ${run.debuggerAddress&&html`<${Address} label="Debugger address" text=${run.debuggerAddress} />`}</section>`}`:html`<div class="quiet-box"><p>The addresses and the code are here while the browser runs.</p>
      <div><${StartButton} ...${{profile:profile2,rows}} told /></div></div>
      <p class="hint">A program can start it too: <code>POST /api/v1${path}/start</code> answers the same addresses. <a href="docs" target="_blank">API</a></p>`}
async function addresses(app,path){let{status}=await app.api.get(path);return status==="running"?app.api.post(`${path}/start`):null}var STATES2={__proto__:null,in_progress:"Downloading",cancelled:"Cancelled",interrupted:"Interrupted"},WHY={__proto__:null,files_quota:"the profile’s quota for \
files is used up"};function Data({profile:profile2,path}){let list=useList2(`${path}/downloads`,{limit:50},event=>isOf(profile2.id,event));return html`
    <${Facts} pairs=${[["On disk",profile2.diskBytes>0?html`${bytes(profile2.diskBytes)}${profile2.status==="running"&&html` <span class="muted">before this run</span>`}`:
"Nothing yet"]]} />
    <section><div class="section-head"><h3>Downloads</h3><button type="button" class="button small" disabled=${list.busy} onClick=${list.reload}><${Icon} name="reload" />Refresh</button></div>
      <p class="hint">Files of ${profile2.status==="running"?"this run":"the last run"}. The next start removes them.</p>
      <${ProblemBox} problem=${list.problem} />
      ${list.rows?list.rows.length===0?html`<p class="muted">No downloads.</p>`:html`<ul class="lines-list">${list.rows.map(file=>html`<${Download} key=${file.id} ...${{
file,path,list}} />`)}</ul>`:!list.problem&&html`<${Waiting} />`}
      ${list.next&&html`<button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button>`}</section>`}function Download({
file,path,list}){let app=useApp(),busy=useStore(app.busy).has(file.id),{name,size,totalBytes,state,reason,endedAt,startedAt}=file,at=`${path}/downloads/${encodeURIComponent(
name)}`,going=state==="in_progress",save2=()=>app.during(file.id,async()=>{try{saveBlob(await(await app.api.open("GET",`api/v1${at}`)).blob(),name)}catch(problem){
app.fail(`${name} was not saved`,problem)}}),drop=()=>app.open(ConfirmDialog,{title:going?"Cancel this download?":"Delete this file?",verb:going?"Cancel downloa\
d":"Delete",cancel:"Keep",work:async()=>{await app.api.delete(at),await list.reload()},children:html`<p><bdi>${name}</bdi> ${going?"is still being downloaded.":
"is removed now. This cannot be undone."}</p>`}),words=[STATES2[state]&&`${STATES2[state]}${reason?`: ${WHY[reason]||reason}`:""}`,going&&totalBytes?`${bytes(size)}\
 of ${bytes(totalBytes)}`:bytes(size)].filter(Boolean).join(" · ");return html`<li class="line-item"><span class="two-lines"><span class="title" title=${name}><${Name}>${name}<//></span><span class="sub">${words} · <${Ago} time=${endedAt||
startedAt} /></span></span>
    ${state==="complete"&&html`<button type="button" class="button small" disabled=${busy} aria-label=${`Save ${name}`} onClick=${save2}><${Icon} name="download" />${busy?
"Saving…":"Save"}</button>`}
    <button type="button" class="icon-button" aria-label=${`${going?"Cancel":"Delete"} ${name}`} title=${going?"Cancel":"Delete"} onClick=${drop}><${Icon} name=${going?
"close":"trash"} /></button></li>`}function ProfileForm({object,...rest}){return object.data&&object.etag?html`<${Inside} object=${object} ...${rest} />`:html`<${Waiting} />`}function Inside({object,
path,rows,children,pending=[]}){let app=useApp(),offline=useStore(app.offline),{data,etag}=object,form=useForm(toValues(data)),version=useVersion({form,data,etag,
read:()=>app.api.full("GET",path),toValues,fields:FIELDS}),newer=etag!==version.etag&&data.updatedAt>version.data.updatedAt;A(()=>{!newer||version.changed||form.
busy||(form.setAll(toValues(data)),version.rebase({data,etag}))},[etag,version.changed,form.busy]);let save2=async values=>{let saved=await saveProfile(app,version,
values);saved&&(rows.patch(saved.id,saved),object.reload(),app.toasts.say({text:`Saved ${saved.name}`,more:saved.run?.pending?.length?"Some of it takes effect w\
hen the browser starts next.":"",tone:"good"}))},reset=()=>{form.setProblem(null),form.setAll(JSON.parse(version.first))},foot=version.changed&&html`<button type="button" class="button" disabled=${form.
busy} onClick=${reset}>Undo changes</button>
    <button class="button primary" disabled=${form.busy||offline||!!version.conflict}>${form.busy?"Saving…":"Save"}</button>`;return html`<${Form} plain form=${form} work=${save2} foot=${foot} saved=${version.
first}>
    <${Conflict} version=${version} />
    ${newer&&version.changed&&!version.conflict&&!form.busy&&html`<p class="meanwhile" role="status"><span>This profile was changed elsewhere meanwhile.</span> <button type="button" class="button small" onClick=${()=>version.
compare({data,etag})}>Compare</button></p>`}
    <div class="fields">${children(form)}</div>
    ${pending.length>0&&html`<p class="hint">${`Takes effect when the browser starts next: ${pending.join(", ")}.`}</p>`}
  <//>`}function pendingWords(members=[]){return members.map(name=>FIELDS.find(({names:names2})=>names2[0]===name)?.label||name)}function Identity({profile:profile2,path,object,rows}){let{data,problem}=useExplain(profile2,path);return html`
    ${data?.findings.length>0&&html`<${Notice}><${Findings} ...${{profile:profile2}} findings=${data.findings} /><//>`}
    <${ProfileForm} ...${{object,path,rows}} pending=${pendingWords(data?.pending)}>${form=>html`<${IdentityFields} form=${form} saved />`}<//>
    <${ProblemBox} problem=${problem} />
    ${data&&html`<section><h3>${profile2.status==="running"?"What pages see now":"What pages would see"}</h3><${Effective} effective=${data.effective} /></section>`}`}var HEIGHT=132,BOTTOM=20,TOP=8,LEFT=52,LINES=3,TIP_WIDTH=150;function Bars({title:title2,points,parts,say:say2,empty="Nothing yet."}){let most=niceMost(Math.max(
0,...points.map(({values})=>sum(values))));return points.some(({values})=>sum(values)>0)?html`<${Frame} title=${title2} points=${points} parts=${parts} say=${say2} most=${most} draw=${({
x,y,step})=>points.map(({values},i)=>{let width=Math.max(1,Math.min(28,step-Math.min(6,step/4))),base=0;return values.map((value,part)=>{if(!value)return null;let from=y(
base);return base+=value,html`<rect key=${`${i} ${part}`} class=${`chart-bar ${parts[part].tone}`} x=${x(i)-width/2} y=${y(base)} width=${width} height=${Math.max(
1,from-y(base))} rx=${Math.min(2,width/4)} />`})})} />`:html`<p class="muted">${empty}</p>`}function Line2({title:title2,points,parts,say:say2,empty="Nothing ye\
t."}){let most=niceMost(Math.max(0,...points.flatMap(({values})=>values.map(value=>value??0))));return points.length?html`<${Frame} title=${title2} points=${points} parts=${parts} say=${say2} most=${most} draw=${({
x,y})=>[...parts.map(({tone},part)=>html`<path key=${part} class=${`chart-line ${tone}`} d=${pathOf(points.map(({values})=>values[part]),x,y)} />`),...points.flatMap(
({values,mark},i)=>[...values.map((value,part)=>value===null?null:html`<circle key=${`${i} ${part}`} class=${`chart-dot ${parts[part].tone}`} cx=${x(i)} cy=${y(
value)} r=${points.length>60?1.5:2.5} />`),mark&&html`<path key=${`${i} mark`} class="chart-mark" d=${`M${x(i)-3} ${y(0)-8}l6 6m0-6l-6 6`} />`])]} />`:html`<p class="muted">${empty}</p>`}
function pathOf(values,x,y){let path="",open=!1;return values.forEach((value,i)=>{value!==null&&(path+=`${open?"L":"M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}`),
open=value!==null}),path}function Frame({title:title2,points,parts,say:say2,most,draw}){let box=T(null),id=P(),[width,setWidth]=d(0),[at,setAt]=d(-1);F(()=>{let observer=new ResizeObserver(
()=>box.current&&setWidth(box.current.clientWidth));return observer.observe(box.current),setWidth(box.current.clientWidth),()=>observer.disconnect()},[]);let step=(width-
LEFT-4)/Math.max(1,points.length),x=i=>LEFT+step*(i+.5),y=value=>TOP+(HEIGHT-BOTTOM-TOP)*(1-value/(most||1)),every=Math.max(1,Math.ceil(54/step)),moved=event=>{
let i=Math.floor((event.clientX-box.current.getBoundingClientRect().left-LEFT)/step);setAt(i>=0&&i<points.length?i:-1)},scale=Array.from({length:LINES+1},(_,i)=>most/
LINES*i);return html`<figure class="chart" aria-labelledby=${id}>
    <figcaption class="chart-head"><span id=${id} class="chart-title">${title2}</span>${parts.length>1&&html`<span class="chart-legend" aria-hidden="true">${parts.
map(({label,tone})=>html`<span key=${label}><i class=${`chart-key ${tone}`}></i>${label}</span>`)}</span>`}</figcaption>
    <div class="chart-box" ref=${box} onPointerMove=${moved} onPointerLeave=${()=>setAt(-1)}>
      ${width>0&&html`<svg width=${width} height=${HEIGHT} aria-hidden="true">
        ${scale.map(value=>html`<line key=${value} class="chart-grid" x1=${LEFT} x2=${width} y1=${y(value)} y2=${y(value)} />
          <text class="chart-text" x=${LEFT-8} y=${y(value)+4} text-anchor="end">${say2(value)}</text>`)}
        ${at>=0&&html`<rect class="chart-under" x=${x(at)-step/2} y=${TOP} width=${step} height=${HEIGHT-BOTTOM-TOP} />`}
        ${draw({x,y,step})}
        ${points.map(({label},i)=>(points.length-1-i)%every===0&&html`<text key=${i} class="chart-text" x=${Math.min(x(i),width-25)} y=${HEIGHT-4} text-anchor="middle">${label}</text>`)}
      </svg>`}
      ${at>=0&&html`<div class="chart-tip" aria-hidden="true" style=${{left:`${Math.max(0,Math.min(width-TIP_WIDTH,x(at)-TIP_WIDTH/2))}px`,width:`${TIP_WIDTH}px`}}>
        <strong>${points[at].full}</strong>${parts.map(({label},part)=>html`<span key=${label}>${label}: ${points[at].values[part]===null?points[at].mark||"–":
say2(points[at].values[part])}</span>`)}</div>`}
    </div>
    <table class="visually-hidden"><caption>${title2}</caption><thead><tr><th scope="col">When</th>${parts.map(({label})=>html`<th key=${label} scope="col">${label}</th>`)}</tr></thead>
      <tbody>${points.map(({full,values,mark},i)=>html`<tr key=${i}><th scope="row">${full}</th>${values.map((value,part)=>html`<td key=${part}>${value===null?mark||
"none":say2(value)}</td>`)}</tr>`)}</tbody></table>
  </figure>`}function sum(values){return values.reduce((all,value)=>all+(value||0),0)}function niceMost(most){let step=most/LINES||1,power=10**Math.floor(Math.log10(
step));return[1,1.5,2,2.5,3,4,5,6,8,10].find(one=>one*power>=step)*power*LINES}var PARTS=[{label:"Received",tone:"tone-a"},{label:"Sent",tone:"tone-b"}],DAY_MS=24*3600*1e3;function firstDay(){return new Date(Date.now()-29*DAY_MS).toISOString().
slice(0,10)}function daysOf(data){let known=new Map(data.map(row=>[row.day,row])),format=new Intl.DateTimeFormat(void 0,{day:"numeric",month:"short",timeZone:"U\
TC"});return Array.from({length:30},(_,i)=>{let at=Date.now()-(29-i)*DAY_MS,row=known.get(new Date(at).toISOString().slice(0,10));return{label:format.format(at),
full:format.format(at),values:[row?.bytesDown??0,row?.bytesUp??0]}})}function Traffic({path,id}){let app=useApp(),[{data,problem},setState]=d({data:null,problem:null});return A(()=>{let read=()=>app.api.get(`${path}/traffic`,{by:"\
day",from:firstDay()}).then(({data:days})=>setState({data:days,problem:null}),fault2=>setState(before=>({...before,problem:fault2})));return read(),app.model.event.
watch(event=>{(event.type==="everything"||event.type==="run.ended"&&isOf(id,event))&&read()})},[path]),html`<section><h3>Traffic</h3><${ProblemBox} problem=${problem} />
    ${data&&html`<${Bars} title=${`The last ${30} days`} points=${daysOf(data)} parts=${PARTS} say=${n=>bytes(Math.round(n))} empty="Nothing was sent or received." />`}</section>`}function Network({profile:profile2,path,object,rows}){let running=["running","starting"].includes(profile2.status);return html`<${ProfileForm} ...${{object,path,
rows}}>${form=>html`
      <${ProfileProxy} form=${form} workspaceId=${profile2.workspaceId} hint=${running?"New connections of the running browser use it at once. “No proxy” takes \
effect when the browser starts next.":void 0} />
      <${NetworkFields} form=${form} workspaceId=${profile2.workspaceId} />`}<//>
    <${Traffic} path=${path} id=${profile2.id} />`}var USAGE_MS=5e3;function useRunUsage(running,path){let{api}=useApp(),[usage,setUsage]=d(null);return A(()=>{if(setUsage(null),!running)return;let ending=new AbortController,
read=()=>document.hidden||api.get(`${path}/runs`,{limit:1},{signal:ending.signal}).then(({data})=>setUsage(data[0]?.usage??null),()=>{});read();let timer=setInterval(
read,USAGE_MS);return()=>{ending.abort(),clearInterval(timer)}},[running,path]),usage}function usagePairs(usage){if(!usage)return[];let{words,most,more:more2,near}=usageWords(
usage);return[["Uses",words&&html`<span class=${near?"number bad-text":"number"} title=${more2}>${words}</span>`],["Most so far",most&&html`<span class="number">${most}</span>`],
["Disk",usage.readBytes!=null&&html`<span class="number">${diskWords(usage.readBytes,usage.writeBytes)}</span>`]]}function Overview({profile:profile2,path}){let app=useApp(),now=useNow(),proxy2=useProxy(profile2.proxyId),several=useSeveral(),node2=useNode(profile2.nodeId),explained=useExplain(
profile2,path).data,{run,lastRun,status}=profile2,running=status==="running",exit=running?run?.proxy:proxy2?.status==="alive"?proxy2.lastCheck:null,findings=explained?.
findings||[],warnings=warningWords(running&&run?.warnings||[],findings),usage=useRunUsage(running,path),pending=pendingWords(running&&run?.pending||[]);return html`
    ${profile2.proxyMissing&&html`<${Notice}><p>Its proxy was deleted. Choose another before you start it.</p><//>`}
    ${!running&&proxy2?.status==="dead"&&html`<${Notice}><p>Its proxy failed the last check. ${faultWords(proxy2.lastCheck?.error)?.happened}</p><//>`}
    ${several&&node2&&node2.state!=="up"&&html`<${Notice}><p>Its data are on the server <${Name}>${node2.name}<//>, which ${node2.state==="stopped"?"is stopped":
"does not answer"}. It starts again when that server is back.</p><//>`}
    ${!running&&lastRun?.reason==="out_of_memory"&&html`<${Notice}><p><strong>It ran out of memory.</strong> ${memoryWords(lastRun.memory)}</p><//>`}
    ${findings.length>0&&html`<${Notice}><${Findings} profile=${profile2} findings=${findings} /><//>`}
    ${warnings.length>0&&html`<${Notice}><ul>${warnings.map(({code,text:text3})=>html`<li key=${code}>${text3}</li>`)}</ul><//>`}
    ${pending.length>0&&html`<p class="hint">${`Changed, and taking effect when the browser starts next: ${pending.join(", ")}.`}</p>`}
    ${running&&html`<div class="big-picture"><${Preview} profile=${profile2} large /></div>`}
    <${Facts} pairs=${[["Proxy",proxy2?html`<span class="with-flag"><${Country} code=${exit?.country||proxy2.lastCheck?.country} /><${Name}>${proxyName(proxy2)}<//></span>`:
profile2.proxyId?"…":"None (direct connection)"],["Exit IP",exit?.exitIp&&html`<span class="number">${exit.exitIp}${exit.latencyMs!=null?` · ${span(exit.latencyMs)}`:
""}</span>`],["Through",running&&run?.proxy?.fallback&&"A fallback proxy"],["System",`${SYSTEMS[profile2.os]||profile2.os} ${profile2.browserVersion}`],["Timezo\
ne",running&&run?.effective?.timezone],["Languages",running&&[].concat(run?.effective?.locale||[]).join(", ")],...usagePairs(usage),["Running for",running&&run?.
startedAt&&lasting(run.startedAt,now)],["Last run",!running&&(lastRun?html`${endWords(lastRun)} <${Ago} time=${lastRun.endedAt||lastRun.startedAt} />`:"Never st\
arted")],["Tags",profile2.tags?.length>0&&html`<${Tags} tags=${profile2.tags} most=${20} choose=${tag=>app.router.refine({tag})} />`],["Notes",profile2.notes&&html`<bdi class="prose-lines">${profile2.
notes}</bdi>`],["Server",several&&(profile2.nodeId?html`<${NodeName} id=${profile2.nodeId} />`:"None yet: its first start chooses one")],["On disk",profile2.diskBytes>
0&&bytes(profile2.diskBytes)],["Created",html`<${Ago} time=${profile2.createdAt} />`],["Workspace",html`<bdi>${profile2.workspaceId}</bdi>`],["ID",html`<span class="mono">${profile2.
id}</span>`],["Activity",html`<a href=${activityOf(profile2.id)}>Who did what with it</a>`]]} />
    ${status==="failed"&&lastRun?.lines?.length>0&&html`<section><h3>The browser’s last lines</h3><pre class="lines" tabindex="0" role="group" aria-label="The browser’s last lines">${lastRun.
lines.join(`
`)}</pre></section>`}`}function Runs({profile:profile2,path,object,rows}){let list=useList2(`${path}/runs`,{limit:30},event=>isOf(profile2.id,event)&&/^run\.(started|ended|fallback|updated)$/.
test(event.type));return html`
    <${LogSwitch} ...${{profile:profile2,path,object,rows}} />
    <${ProblemBox} problem=${list.problem} />
    ${list.rows?list.rows.length===0?html`<p class="muted">It never ran.</p>`:html`<ul class="lines-list">${list.rows.map(run=>html`<${Run} key=${run.runId} run=${run} />`)}</ul>`:
!list.problem&&html`<${Waiting} />`}
    ${list.next&&html`<div><button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button></div>`}`}function LogSwitch({
profile:profile2,path,object,rows}){let app=useApp(),busy=useStore(app.busy).has(profile2.id),offline=useStore(app.offline),change=event=>{let logHosts=event.currentTarget.
checked;app.during(profile2.id,async()=>{try{let{data,etag}=await app.api.full("PUT",path,{body:{logHosts},headers:object.etag?{"If-Match":object.etag}:{}});object.
keep(data,etag),rows.patch(profile2.id,data)}catch(problem){object.reload(),app.fail("The log of hosts was not changed",problem)}})};return html`<label class="tick"><input type="checkbox" role="switch" checked=${profile2.
logHosts} disabled=${busy||offline||!object.data} onChange=${change} />
    <span>Keep a log of the hosts of each run <span class="optional">names only, never pages</span></span></label>`}function Run({run}){let[open,setOpen]=d(!1),
going=!run.endedAt,failed=run.status==="failed",traffic=run.bytesDown==null?null:bytes(run.bytesDown+run.bytesUp);return html`<li><details class="run" onToggle=${event=>setOpen(
event.currentTarget.open)}>
    <summary><span class="run-head"><span class=${going?"good-text":failed?"bad-text":""}>${going?run.status==="stopping"?"Closing":"Running":endWords(run)}</span><span class="muted"><${Ago} time=${run.
startedAt} /></span></span>
      <span class="run-sub muted number">${span(run.durationMs)}${run.proxy?html` · <${Country} code=${run.proxy.country} /> ${run.proxy.exitIp||"exit not know\
n"}`:" · direct"}${traffic&&` · ${traffic}`}</span></summary>
    ${open&&html`<${Details2} run=${run} />`}
  </details></li>`}function Details2({run}){let proxy2=useProxy(run.proxy?.id);return html`<div class="run-body"><${Facts} pairs=${[["Started",moment(run.startedAt)],
["Ended",run.endedAt&&moment(run.endedAt)],["Browser",run.browser&&`${run.browser.product} ${run.browser.version}${run.headless?", headless":""}`],["Proxy",run.
proxy?html`<bdi>${proxy2?proxyName(proxy2):proxy2===null?"Deleted":"…"}</bdi>${run.proxy.fallback?" (a fallback)":""}`:"None (direct connection)"],["Received",
run.bytesDown!=null&&bytes(run.bytesDown)],["Sent",run.bytesUp!=null&&bytes(run.bytesUp)],...usagePairs(run.usage),["Most memory",run.endedAt&&run.peakMemoryBytes!=
null&&bytes(run.peakMemoryBytes)],["Processor time",run.cpuMs!=null&&span(run.cpuMs)],["Refused by rules",run.refusedByRules>0&&count(run.refusedByRules,"connec\
tion")],["Exit code",run.status==="failed"&&run.exitCode!=null&&String(run.exitCode)],["Signal",run.signal],["Run",html`<span class="mono">${run.runId}</span>`]]} />
    ${run.reason==="out_of_memory"&&html`<p>${memoryWords(run.memory)}</p>`}
    ${run.lines?.length>0&&html`<pre class="lines" tabindex="0" aria-label="The browser’s last lines">${run.lines.join(`
`)}</pre>`}
    <${Hosts} run=${run} /></div>`}function Hosts({run}){let{data,problem}=useObject(`/runs/${encodeURIComponent(run.runId)}/hosts`,()=>!1);return problem?problem.
status===404?null:html`<${ProblemBox} problem=${problem} />`:data?data.logged?data.data.length?html`<table class="plain-table"><caption class="visually-hidden">Hosts of this run</caption><thead><tr><th scope="col">Host</th><th scope="col" class="is-number">Conn.</th><th scope="col" class="is-number">Refused</th><th scope="col" class="is-number">Traffic</th></tr></thead>
    <tbody>${data.data.map(host=>html`<tr key=${host.host}><th scope="row"><bdi>${host.host}</bdi></th><td class="is-number">${number(host.connections)}</td><td class=${`\
is-number ${host.refused?"bad-text":"muted"}`}>${host.refused||"–"}</td><td class="is-number">${bytes(host.bytesUp+host.bytesDown)}</td></tr>`)}</tbody></table>
    ${data.notKept>0&&html`<p class="hint">${`And ${count(data.notKept,"request")} to hosts beyond the first 1,000.`}</p>`}`:html`<p class="hint">It connected to no host.</p>`:
html`<p class="hint">No log of hosts was kept.</p>`:null}var HOUR_MS=36e5,EXPIRIES=[["1","In 1 hour"],["8","In 8 hours"],["24","In 1 day"],["168","In 7 days"],["","When the browser stops"]];function Share({profile:profile2,
path,rows}){return profile2.status!=="running"?html`<div class="quiet-box"><p>A link opens the running browser to somebody else, for a time. Start the browser to make one.</p>
      <div><${StartButton} ...${{profile:profile2,rows}} told /></div></div>`:html`<${Links} key=${profile2.run?.runId} ...${{profile:profile2,path}} />`}function Links({
profile:profile2,path}){let list=useList2(`${path}/capabilities`,{limit:50},event=>isOf(profile2.id,event)&&event.type.startsWith("capability.")),[made,setMade]=d(
null);return html`
    <${Notice}><p>A link works for anyone who has it, without a key. Whoever controls this browser acts as whoever is signed in there: send the link to one person, and revoke it when they are done.</p><//>
    ${made?html`<${Made} made=${made} again=${()=>setMade(null)} />`:html`<${MakeForm} path=${path} done=${fresh=>{setMade(fresh),list.reload()}} />`}
    <section><h3>Links of this run</h3><${ProblemBox} problem=${list.problem} />
      ${list.rows?list.rows.length===0?html`<p class="muted">No links.</p>`:html`<ul class="lines-list">${list.rows.map(one=>html`<${Link} key=${one.id} ...${{one,
path,list}} gone=${()=>made?.id===one.id&&setMade(null)} />`)}</ul>`:!list.problem&&html`<${Waiting} />`}
      ${list.next&&html`<button type="button" class="button small" disabled=${list.busy} onClick=${list.more}>Show more</button>`}</section>`}function MakeForm({
path,done}){let app=useApp(),offline=useStore(app.offline),form=useForm({name:"",rights:"view",hours:"1"}),make=async({name,rights,hours})=>done(await app.api.post(
`${path}/capabilities`,{...name.trim()?{name:name.trim()}:{},readonly:rights==="view",...hours?{expiresInMs:Number(hours)*HOUR_MS}:{}})),foot=html`<button class="button primary" disabled=${form.
busy||offline}>${form.busy?"One moment…":"Create link"}</button>`;return html`<${Form} plain form=${form} work=${make} saved=${JSON.stringify(form.values)}><div class="fields">
      <${Text} form=${form} name="name" label="For" optional wide placeholder="Ana, support" />
      <${Choice} form=${form} name="rights" member="readonly" label="They can" options=${[["view","Watch only"],["drive","Watch and control"]]} />
      <${Choice} form=${form} name="hours" member="expiresInMs" label="It expires" options=${EXPIRIES} />
    </div><div>${foot}</div><//>`}function Made({made,again:again2}){return html`<section class="panel made" role="status"><h3>${made.readonly?"Link to watch":"\
Link to watch and control"}</h3>
    <p class="hint">Copy it now. It is not shown again.</p>
    <${Address} label="Live view" text=${made.liveUrl} />
    ${made.wsEndpoint&&html`<${Address} label="CDP over WebSocket" text=${made.wsEndpoint} />`}
    ${made.cdpUrl&&html`<${Address} label="CDP over HTTP" text=${made.cdpUrl} />`}
    <div><button type="button" class="button small" onClick=${again2}>Create another</button></div></section>`}function Link({one,path,list,gone}){let app=useApp(),
now=useNow(),{id,name,readonly,files,createdAt,expiresAt}=one,revoke=()=>app.open(ConfirmDialog,{title:"Revoke this link?",verb:"Revoke",work:async()=>{await app.
api.delete(`${path}/capabilities/${encodeURIComponent(id)}`),gone(),await list.reload()},children:html`<p>Whoever uses it is disconnected at once. The link cannot be made valid again.</p>`}),
rights=`${readonly?"Watch only":"Watch and control"}${files?", and files of the server":""}`;return html`<li class="line-item"><span class="two-lines"><span class="title">${name?
html`<${Name}>${name}<//>`:"Without a name"}</span>
      <span class="sub">${rights} · <${Ago} time=${createdAt} prefix="made " /> · ${expiresAt?`until ${since(expiresAt,now)}`:"until the browser stops"}</span></span>
    <button type="button" class="button small" aria-label=${`Revoke ${name||"the link without a name"}`} onClick=${revoke}>Revoke</button></li>`}var REASONS={__proto__:null,stop:"After a stop",asked:"Kept by hand",live:"Kept while it ran",before_rollback:"Before a roll-back",before_downgrade:"Before an o\
lder browser",clone:"Start of this clone",import:"From an archive"};function whatOf({name,createdAt}){return name||`the snapshot of ${moment(createdAt)}`}function What({
of:one}){return one.name?html`“<${Name}>${one.name}<//>”`:whatOf(one)}function isAtRest({status}){return status==="stopped"||status==="failed"}function Snapshots({
profile:profile2,path,rows}){let app=useApp(),offline=useStore(app.offline),busy=useStore(app.busy).has(profile2.id),[going,setGoing]=d(""),list=useList2(`${path}\
/snapshots`,{},({type,data})=>(type.startsWith("snapshot.")?data?.profileId:type==="profile.rolled_back"&&data?.id)===profile2.id),during=async(words,work)=>{if(app.
busy.value.has(profile2.id))throw new Problem(409,{code:"profile_busy",detail:"Something else is being done with it. Try again when that is over."},"");setGoing(
words),await app.during(profile2.id,work).finally(()=>setGoing(""))},none=list.rows?.length===0,empty=none&&isAtRest(profile2)&&!profile2.lastRun,ask=(component,props)=>!busy&&
app.open(component,{profile:profile2,path,during,...props});return html`
    <section><div class="section-head"><h3>Snapshots</h3><button type="button" class="button small" disabled=${offline||empty} aria-disabled=${busy} title=${empty?
"It has never run, so it has no data yet.":void 0} onClick=${()=>ask(KeepDialog)}><${Icon} name="camera" />Keep a snapshot</button></div>
      <p class="hint">${profile2.snapshots==="off"?"This profile keeps none by itself.":"One is kept by itself each time the browser is closed."} The last 7 stay, one a day for 14 days, and those that are pinned.</p></section>
    ${going&&html`<p class="going status wait" role="status"><span class="dot"></span>${going}</p>`}
    <${ProblemBox} problem=${list.problem}><button type="button" class="button small" disabled=${list.busy} onClick=${list.reload}>Try again</button><//>
    ${list.rows?empty?html`<div class="quiet-box"><p>It has never run, so it has no data yet.</p><div><${StartButton} ...${{profile:profile2,rows}} told /></div></div>`:
none?html`<p class="muted">No snapshots yet.</p>`:html`<ul class="lines-list" aria-label="Snapshots">${list.rows.map(one=>html`<${Snapshot} key=${one.id} ...${{
one,profile:profile2,path,list,ask,busy,offline}} />`)}</ul>`:!list.problem&&html`<${Waiting} />`}`}function Snapshot({one,profile:profile2,path,list,ask,busy,offline}){
let app=useApp(),{id,name,pinned,reason,bytes:size,newBytes,current,createdAt,browserVersion}=one,at=`${path}/snapshots/${encodeURIComponent(id)}`,what=whatOf(one),
why=REASONS[reason]||reason,pin=()=>app.during(id,async()=>{try{await app.api.call("PATCH",at,{body:{pinned:!pinned}})}catch(problem){app.fail("The snapshot was\
 not changed",problem)}await list.reload()}),drop=()=>app.open(ConfirmDialog,{title:"Delete this snapshot?",verb:"Delete",work:async()=>{await app.api.delete(at),
await list.reload()},children:html`<p>This deletes <${What} of=${one} />${pinned&&", although it is pinned"}. It cannot be undone. The profile’s data stay as they are.</p>`});
return html`<li class="line-item snapshot"><span class="two-lines">
      <span class="with-mark"><span class="title" title=${name||void 0}>${name?html`<${Name}>${name}<//>`:why}</span>${current&&html`<span class="mark" title="The profile’s data go on from this one.">Current</span>`}</span>
      <span class="sub">${name&&`${why} · `}<${Ago} time=${createdAt} /></span>
      <span class="sub number" title=${browserVersion?`Last opened by browser ${browserVersion}`:void 0}>${bytes(size)}, ${newBytes?bytes(newBytes):"none"} of it new</span></span>
    <button type="button" class="icon-button" aria-pressed=${pinned} aria-label=${`Pin ${what}`} title=${pinned?"Pinned: kept until it is deleted":"Pin: keep it\
 until it is deleted"} disabled=${offline} onClick=${pin}><${Icon} name="pin" /></button>
    <button type="button" class="button small" aria-label=${`Roll back to ${what}`} disabled=${offline} aria-disabled=${busy} onClick=${()=>ask(RollBackDialog,{
one})}>Roll back</button>
    <${Menu} label=${`More for ${what}`} disabled=${offline} items=${[{label:name?"Rename":"Give it a name",icon:"edit",run:()=>app.open(NameDialog,{one,at,list})},
{label:"Clone from this one",icon:"copy",run:()=>app.open(CloneDialog,{profile:profile2,snapshot:one})},"line",{label:"Delete",icon:"trash",danger:!0,run:drop}]} /></li>`}
function RollBackDialog({profile:profile2,path,one,during,close}){let app=useApp(),told=useTold(`${profile2.name} was not rolled back`),[rest,setRest]=d(isAtRest(
profile2));return html`<${ConfirmDialog} title="Roll back to this snapshot?" tone="primary" verb=${rest?"Roll back":"Stop and roll back"} doing=${rest?"Rolling \
back…":"Stopping and rolling back…"} work=${()=>told(()=>during(rest?"Rolling back…":"Closing the browser and rolling back…",async()=>{try{rest||await app.
api.post(`${path}/stop`);let{kept:kept2}=await app.api.post(`${path}/rollback`,{snapshotId:one.id});app.toasts.say({text:`${profile2.name} is rolled back.`,more:kept2?
"What was there before is kept as a snapshot.":"",tone:"good"})}catch(problem){throw setRest(problem.code!=="profile_running"),problem}}))} close=${close}>
    <p><${Name}>${profile2.name}<//> gets the cookies, history and other data of <${What} of=${one} />. What is there now is kept as a snapshot first. Settings and downloads stay as they are.</p>
    ${!rest&&html`<p><strong>Its browser is running.</strong> It has to be stopped first.</p>`}<//>`}var HOW2=[["restart","Close it, and start it again with its\
 tabs"],["live","Copy while it goes on"]],HOW_HINTS={__proto__:null,restart:"Everything is kept. Programs that are connected have to connect again.",live:"What \
the browser has not written to its files yet is missing."};function KeepDialog({profile:profile2,path,during,close}){let app=useApp(),form=useForm({name:"",pinned:!1,
how:"restart"}),told=useTold("No snapshot was kept"),[rest,setRest]=d(isAtRest(profile2)),closes=!rest&&form.values.how==="restart",keep=({name,pinned,how})=>told(
()=>during(closes?"Closing the browser, keeping a snapshot, and starting it again…":"Keeping a snapshot…",async()=>{let torn;try{({torn}=await app.api.post(
`${path}/snapshots`,{name,pinned,...!rest&&{[how]:!0}}))}catch(problem){throw setRest(problem.code!=="profile_running"),problem}app.toasts.say({text:`Kept a sna\
pshot of ${profile2.name}.`,more:torn?.length?`The browser was writing meanwhile: ${count(torn.length,"file")} may be damaged in it.`:"",tone:"good"}),close()})),
foot=html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy}>${form.busy?"Keeping…":closes?"Close, keep and start again":"Keep"}</button>`;return html`<${Dialog} title="Keep a snapshot" lead=${html`<${Name}>${profile2.
name}<//>`} close=${close}><${Form} form=${form} work=${keep} foot=${foot}>
    <div class="fields"><${Text} form=${form} name="name" label="Name" optional wide autofocus placeholder="Signed in" />
      <${Tick} form=${form} name="pinned" label="Pin it" hint="It is kept until it is deleted." />
      ${!rest&&html`<${Choice} form=${form} name="how" label="Its browser is running" wide options=${HOW2} hint=${HOW_HINTS[form.values.how]} />`}</div><//><//>`}
function NameDialog({one,at,list,close}){let app=useApp(),form=useForm({name:one.name}),save2=async({name})=>{await app.api.call("PATCH",at,{body:{name:name.trim()||
null}}),close(),await list.reload()},foot=html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.
busy}>${form.busy?"Saving…":"Save"}</button>`;return html`<${Dialog} title="Name this snapshot" lead=${`${REASONS[one.reason]||one.reason}, ${moment(one.createdAt)}`} close=${close}><${Form} form=${form} work=${save2} foot=${foot}>
    <div class="fields"><${Text} form=${form} name="name" label="Name" optional wide autofocus placeholder="Signed in" /></div><//><//>`}function Tests({profile:profile2,path}){return html`<${LeakTest} path=${path} /><${Pictures} ...${{profile:profile2,path}} /><${Explained} ...${{profile:profile2,
path}} />`}var CHANNELS={__proto__:null,http:"Plain HTTP",https:"HTTPS",websocket:"WebSockets",eventsource:"Server-sent events",beacon:"Beacons",webtransport:"W\
ebTransport",quic:"QUIC (HTTP/3)",download:"Downloads",popup:"Popups",redirect:"Redirects",prefetch:"Prefetching",prerender:"Prerendering",preconnect:"Connectio\
ns made ahead",dns_prefetch:"Names looked up ahead",worker:"Workers",shared_worker:"Shared workers",service_worker:"Service workers",favicon:"Site icons",stun_udp:"\
WebRTC: STUN over UDP",turn_udp:"WebRTC: TURN over UDP",turn_tcp:"WebRTC: TURN over TCP",turn_tls:"WebRTC: TURN over TLS",mdns:"WebRTC: local names",webrtc_candidates:"\
WebRTC: addresses",dns:"Name look-ups",loopback:"This computer",lan:"The local network",metadata:"Cloud metadata"};function LeakTest({path}){let app=useApp(),offline=useStore(
app.offline),[state,setState]=d({since:0,result:null,problem:null}),ending=T(null);A(()=>()=>ending.current?.abort(),[]);let run=async()=>{ending.current=new AbortController,
setState({since:Date.now(),result:null,problem:null});try{let result2=await app.api.post(`${path}/leak-test`,{},{signal:ending.current.signal});setState({since:0,
result:result2,problem:null})}catch(problem2){setState({since:0,result:null,problem:problem2.name==="AbortError"?null:problem2})}},{since:since2,result,problem}=state;
return html`<section><h3>Leak test</h3>
    <p class="hint">A browser with these settings tries every way around its proxy, in a temporary folder. It takes about 15 seconds. The profile’s own data is not touched.</p>
    <p class="button-line">${since2?html`<button type="button" class="button" onClick=${()=>ending.current.abort()}>Cancel</button> <span class="status wait" role="status"><span class="dot"></span>Testing…</span>`:
html`<button type="button" class="button" disabled=${offline} onClick=${run}><${Icon} name="pulse" />${result?"Test again":"Run the leak test"}</button>`}</p>
    <${ProblemBox} problem=${problem} />
    ${result&&html`<${LeakResult} result=${result} />`}</section>`}function LeakResult({result}){let failed=result.channels.filter(({passed})=>!passed),sorted2=[
...failed,...result.channels.filter(({passed})=>passed)];return html`<div class="leak-result"><p class="leak-verdict" role="status"><span class=${`status ${result.
passed?"good":"bad"}`}><span class="dot"></span>${result.passed?"No leak found":`${number(failed.length)} of ${number(result.channels.length)} ways are not clos\
ed`}</span>
      <span class="muted">${moment(result.startedAt)} · ${span(result.durationMs)}</span></p>
    ${result.warnings.length>0&&html`<${Notice}><ul>${warningWords(result.warnings,[]).map(({code,text:text3})=>html`<li key=${code}>${text3}</li>`)}</ul><//>`}
    <table class="plain-table is-words"><caption class="visually-hidden">Ways out that were tried</caption><thead><tr><th scope="col">Way out</th><th scope="col">Result</th><th scope="col">What was seen</th></tr></thead>
      <tbody>${sorted2.map(({channel,passed,seen:seen2})=>html`<tr key=${channel}><th scope="row" title=${channel}>${CHANNELS[channel]||channel}</th>
        <td><span class=${passed?"good-text":"bad-text"}>${passed?"Closed":"Not closed"}</span></td><td class="muted">${seen2?sentence(seen2):"–"}</td></tr>`)}</tbody></table></div>`}
function Pictures({profile:profile2,path}){let app=useApp(),[busy,setBusy]=d(""),[problem,setProblem]=d(null),now=useNow(),running=profile2.status==="running",save2=(what,address3,ending)=>async()=>{
setBusy(what),setProblem(null);try{let response=await app.api.open("GET",`api/v1${path}/${address3}`);saveBlob(await response.blob(),fileName2(profile2.name,now,
ending))}catch(fault2){setProblem(fault2)}setBusy("")};return html`<section><h3>Picture of the page</h3><p class="hint">${running?"Of the tab in front.":"Start \
the browser first."}</p>
    <p class="button-line">${[["Screenshot","screenshot","png"],["Whole page","screenshot?fullPage=true","png"],["PDF","pdf","pdf"]].map(([label,address3,ending])=>html`<button type="button" class="button" key=${label} disabled=${!running||
!!busy} onClick=${save2(label,address3,ending)}><${Icon} name="download" />${busy===label?"Saving…":label}</button>`)}</p>
    <${ProblemBox} problem=${problem} /></section>`}function fileName2(name,now,ending){return`${name.replace(/[^\p{L}\p{N} ._-]+/gu," ").trim().slice(0,80)||"p\
age"} ${new Date(now).toISOString().slice(0,19).replaceAll(":","-")}.${ending}`}function Explained({profile:profile2,path}){let{data,problem}=useExplain(profile2,
path);return data?html`<section><h3>What sites can tell</h3>
    ${data.findings.length>0?html`<${Notice}><${Findings} profile=${profile2} findings=${data.findings} /><//>`:html`<p>${data.exit?"Nothing contradicts the pro\
xy.":"There is no proxy to compare with."}</p>`}
    <${Effective} effective=${data.effective} full />
    ${data.differences.length>0&&html`<h3 class="apart">What remains visible</h3><p class="hint">A site that looks closely can tell these apart from a real one.</p>
      <ul class="differences">${data.differences.map(({code,message,contexts})=>html`<li key=${code}>${sentence(message)} <span class="muted">${contexts.map(one=>one.
replaceAll("_"," ")).join(", ")}</span></li>`)}</ul>`}</section>`:html`<section><h3>What sites can tell</h3><${ProblemBox} problem=${problem} />${!problem&&html`<${Waiting} />`}</section>`}var TABS=[["overview","Overview",Overview],["identity","Identity",Identity],["network","Network",Network],["data","Data",Data],["cookies","Cookies",Cookies,!0],
["snapshots","Snapshots",Snapshots],["runs","Runs",Runs],["connect","Connect",Connect],["share","Share",Share],["tests","Tests",Tests]];function ProfileDrawer({
id,tab,rows}){let path=`/profiles/${encodeURIComponent(id)}`,object=useObject(path,({type,data})=>/^(profile|run)\./.test(type)&&(data?.profileId||data?.id)===id),
profile2=object.data||rows.find(id),tabs=TABS.map(([name,label,Tab,wide])=>({id:name,label,wide,draw:()=>html`<${Tab} ...${{profile:profile2,path,object,rows}} />`})),
exit=profile2?.run?.proxy,there=profile2&&object.problem?.status!==404;return html`<${Drawer} label="Profile" title=${profile2?html`<${Name}>${profile2.name}<//>`:
"Profile"} tab=${tab} tabs=${tabs} problem=${object.problem} ready=${!!there}
    below=${there&&html`<${Status} of=${PROFILE_STATUS[profile2.status]||{text:profile2.status,tone:"quiet"}} />${exit&&html`<${Country} code=${exit.country} /><span class="number">${exit.
exitIp}</span>`}`}
    note=${there&&profile2.temporary&&html`<${KeepIt} ...${{profile:profile2,path,rows,object}} />`}
    actions=${there&&html`<${DrawerActions} ...${{profile:profile2,rows,object}} />`} />`}function DrawerActions({profile:profile2,rows,object}){let app=useApp(),
busy=useStore(app.busy).has(profile2.id),offline=useStore(app.offline),running=profile2.status==="running",edit=()=>app.open(ProfileDialog,{profile:profile2,done:changed=>{
rows.patch(profile2.id,changed),object.reload()}});return html`
    ${running?html`<a class="button small" href=${viewOf(profile2.id)}><${Icon} name="eye" />View</a>
        <button type="button" class="button small" disabled=${offline||busy} onClick=${()=>stop(app,profile2,rows)}><${Icon} name="stop" />Stop</button>`:html`<${StartButton} ...${{
profile:profile2,rows}} small />`}
    <${Menu} label="More for this profile" items=${[{label:"Edit",icon:"edit",run:edit},{label:"Clone",icon:"copy",run:()=>app.open(CloneDialog,{profile:profile2})},
{label:"Export",icon:"download",run:()=>app.open(ExportDialog,{profiles:[profile2]})},{label:"Save as a template",icon:"bookmark",run:()=>app.open(TemplateDialog,
{profile:profile2})},{label:"Activity",icon:"activity",run:()=>app.router.go(activityOf(profile2.id))},running&&{label:"Restart",icon:"reload",run:()=>restart(app,
profile2)},"line",{label:"Move to trash",icon:"trash",danger:!0,run:()=>askToDelete(app,profile2,rows)}]} />`}function KeepIt({profile:profile2,path,rows,object}){
let app=useApp(),busy=useStore(app.busy).has(profile2.id),offline=useStore(app.offline);return html`<p class="meanwhile"><span>Temporary: it is deleted with its data when its run ends.</span>
    <button type="button" class="button small" disabled=${offline||busy} onClick=${()=>app.during(profile2.id,async()=>{try{let{data,etag}=await app.api.full("P\
UT",path,{body:{temporary:!1}});object.keep(data,etag),rows.patch(profile2.id,data),document.querySelector(".drawer h2")?.focus(),app.toasts.say({text:`${profile2.
name} is kept.`,tone:"good"})}catch(problem){app.fail(`${profile2.name} is still temporary`,problem)}})}>Keep it</button></p>`}var FIELDS3=[["Type","type",type=>PROXY_TYPES[type]||type],["Host","host"],["Port","port"],["User name","username"],["Name","name"],["Tags","tags",tags=>tags.join(
", ")],["Notes","notes"]].map(([label,name,words=value=>value])=>({label,names:[name],words:values=>words(values[name])||"None"}));function ProxyForm({proxy:proxy2,
done,close}){let app=useApp(),[read,setRead]=d(proxy2?null:{data:null,etag:null}),[problem,setProblem]=d(null),load=()=>(setProblem(null),app.api.full("GET",pathOf2(
proxy2)).then(setRead,setProblem));return A(()=>{proxy2&&load()},[]),html`<${Dialog} sheet title=${proxy2?html`Edit <${Name}>${proxyName(proxy2)}<//>`:"Add a pr\
oxy"} close=${close}>
    ${read?html`<${Fields} proxy=${read.data} etag=${read.etag} ...${{done,close}} />`:html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${problem?
html`<button type="button" class="button" onClick=${load}>Try again</button>`:html`<${Waiting} />`}</div>`}
  <//>`}function pathOf2({id}){return`/proxies/${encodeURIComponent(id)}`}function Fields({proxy:proxy2,etag,done,close}){let app=useApp(),workspace3=useStore(app.
model.workspace),form=useForm(toValues2(proxy2,workspace3)),version=useVersion({form,data:proxy2,etag,read:()=>app.api.full("GET",pathOf2(proxy2)),toValues:data=>toValues2(
data,workspace3),fields:FIELDS3}),[result,setResult]=d(null),send=values=>proxy2?version.save((headers,before)=>app.api.full("PUT",pathOf2(before),{body:changes2(
before,values),headers})):app.api.full("POST","/proxies",{body:toBody2(values)}),save2=async values=>{let answer=await send(values);answer&&(app.proxies.keep(answer.
data),app.toasts.say({text:`${proxy2?"Saved":"Added"} ${proxyName(answer.data)}.`,tone:"good"}),close(),done?.(answer.data))},test=()=>form.send(async values=>{
setResult(null),setResult(await app.api.post("/proxies/check",toBody2(values,!0)))}),explain=({body})=>body?.existingId&&html`<${Existing} id=${body.existingId} />`,
foot=html`
    ${!proxy2&&html`<button type="button" class="button apart" disabled=${form.busy} onClick=${test}>${form.busy?"One moment…":"Test connection"}</button>`}
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy||!!version.conflict}>${form.busy?"One moment…":proxy2?"Save":"Add proxy"}</button>`;return html`<${Form} form=${form} work=${save2} foot=${foot} explain=${explain} saved=${proxy2?
version.first:void 0}>
    <${Conflict} version=${version} />
    <${Parts} form=${form} proxy=${proxy2} />
    <div role="status">${result&&html`<div class="panel"><${CheckResult} result=${result} /></div>`}</div>
    <${Labels} form=${form} proxy=${proxy2} />
  <//>`}function Existing({id}){let proxy2=useProxy(id);return proxy2&&html`<p>Its name is <${Name}>${proxyName(proxy2)}<//>.</p>`}function Parts({form,proxy:proxy2}){
let{values}=form,saved=proxy2?.hasPassword&&!values.forget,moved=saved&&!values.password&&isElsewhere(proxy2,values),asked=moved&&"The saved password belongs to\
 the old server. Type it again for this one, or remove it. Only a key that may read passwords can keep it.",again2=form.faults("password").some(fault2=>fault2.message.
startsWith("Type the password again"));return html`<div class="fields">
    <${Choice} form=${form} name="type" label="Type" wide options=${Object.entries(PROXY_TYPES)}
      hint=${values.type==="socks4"&&"SOCKS4 has a user name only, no password."} />
    <${Text} form=${form} name="host" label="Host" class="mono" placeholder="proxy.example.net" autofocus=${!proxy2} />
    <${Text} form=${form} name="port" label="Port" class="mono" inputmode="numeric" placeholder="1080" />
    <${Text} form=${form} name="username" label="User name" optional autocomplete="off" />
    ${values.type!=="socks4"&&html`<${Text} form=${form} name="password" label="Password" optional type="password" autocomplete="new-password"
      placeholder=${moved?"Type it again":saved?"Saved. Type to replace it.":""} hint=${asked}
      say=${again2&&"Type the password again. The saved one is not sent to another server."} />`}
    ${values.type!=="socks4"&&proxy2?.hasPassword&&html`<label class="tick wide"><input type="checkbox" checked=${form.values.forget} onChange=${event=>form.set(
"forget",event.currentTarget.checked)} />
      <span>Remove the saved password</span></label>`}
  </div>`}function isElsewhere(proxy2,values){return values.type!==proxy2.type||values.host.trim().toLowerCase()!==proxy2.host||number2(values.port)!==proxy2.port}
function Labels({form,proxy:proxy2}){let known=useStore(useApp().model.workspaces);return html`<fieldset class="group"><legend>Details</legend><div class="fields">
    <${Text} form=${form} name="name" label="Name" optional wide placeholder="Berlin 1" />
    <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." />
    <${Lines} form=${form} name="notes" label="Notes" optional rows=${2} />
    ${!proxy2&&html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="known-workspaces" hint="Profiles of the same workspace can use it." />
      <datalist id="known-workspaces">${known.map(id=>html`<option key=${id} value=${id} />`)}</datalist>`}
  </div></fieldset>`}function toValues2(proxy2,workspace3){let p=proxy2||{};return{type:p.type||"socks5",host:p.host||"",port:p.port?String(p.port):"",username:p.
username||"",password:"",forget:!1,name:p.name||"",tags:p.tags||[],notes:p.notes||"",workspaceId:p.workspaceId||workspace3}}function toBody2(values,bare2=!1){let body={
type:values.type,host:values.host.trim(),port:number2(values.port)},given={workspaceId:values.workspaceId.trim(),username:values.username,password:values.type===
"socks4"?"":values.password};bare2||Object.assign(given,{name:values.name.trim(),notes:values.notes});for(let[name,value]of Object.entries(given))value&&(body[name]=
value);return!bare2&&values.tags.length&&(body.tags=values.tags),body}function changes2(proxy2,values){let wanted={type:values.type,host:values.host.trim(),port:number2(
values.port),username:values.username||null,name:values.name.trim(),tags:values.tags,notes:values.notes},known={...toValues2(proxy2,""),port:proxy2.port,username:proxy2.
username||null},body=Object.fromEntries(Object.entries(wanted).filter(([name,value])=>JSON.stringify(value)!==JSON.stringify(known[name]))),none=values.forget||
!values.username||values.type==="socks4";return values.password&&values.type!=="socks4"?body.password=values.password:proxy2.hasPassword&&none&&(body.password=null),
body}function AddProxies({done,close}){let app=useApp(),workspaceId=useStore(app.model.workspace),form=useForm(boxValues()),reading=useReading({...form.values,workspaceId}),
ready=reading.answer?.created??0,send=async values=>{let added=await addProxies(app,{values,choices:reading.choices,workspaceId});return done?.(added),added.rest?
(form.setAll({...values,text:added.rest}),reading.again()):close()},foot=html`<button type="button" class="button apart" disabled=${form.busy} onClick=${()=>app.
open(ProxyForm,{done:proxy2=>check(app,proxy2)})}>Enter fields instead</button>
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" aria-keyshortcuts="Control+Enter Meta+Enter" title="Ctrl Enter" disabled=${form.busy||!form.values.text.trim()||reading.answer&&
!ready}>${form.busy?"Adding…":ready>1?`Add ${count(ready,"proxy","proxies")}`:"Add"}</button>`;return html`<${Dialog} sheet title="Add proxies" lead="They are checked at once." close=${close}>
    <${Form} form=${form} work=${send} foot=${foot}><${ProxyBox} form=${form} reading=${reading} rows=${10} autofocus /><//><//>`}function TagDialog({size,tag,close}){let form=useForm({tags:[],action:"tag"}),send=async({tags,action})=>{tag(action,tags),close()};return html`<${Dialog} title="Change tags" lead=${count(
size,"proxy","proxies")} close=${close}><${Form} form=${form} work=${send} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.tags.length}>Apply</button>`}>
    <div class="fields"><${Choice} form=${form} name="action" label="Change" wide options=${[["tag","Add these tags"],["untag","Remove these tags"]]} />
      <${TagField} form=${form} name="tags" label="Tags" hint="Press Enter or comma to add a tag." /></div><//><//>`}var KEPT=100,LISTED2=20;function Checks({proxy:proxy2}){let app=useApp(),[state,setState]=d({data:null,problem:null}),[all,setAll]=d(!1),checkedAt=proxy2.lastCheck?.
checkedAt;A(()=>{app.api.get(`/proxies/${encodeURIComponent(proxy2.id)}/checks`,{limit:KEPT}).then(({data:data2})=>setState({data:data2,problem:null}),problem2=>setState(
before=>({...before,problem:problem2})))},[proxy2.id,checkedAt]);let{data,problem}=state;if(problem&&!data)return html`<${ProblemBox} problem=${problem} />`;if(!data)
return html`<${Waiting} />`;if(!data.length)return html`<p class="muted">It was never checked. Press “Check” above.</p>`;let listed=all?data:data.slice(0,LISTED2);
return html`
    <${Figures} proxy=${proxy2} checks=${data} />
    <${Line2} title="Latency" points=${pointsOf(data)} parts=${[{label:"Latency",tone:"tone-a"}]} say=${short} />
    ${data.some(({ok})=>!ok)&&html`<p class="hint"><span class="bad-text" aria-hidden="true">×</span> marks a failed check.</p>`}
    <${Exits} checks=${data} />
    <section><h3>${data.length>=KEPT?`The last ${KEPT} checks`:count(data.length,"check")}</h3>
      <ul class="event-list">${listed.map((check2,i)=>html`<li key=${`${check2.checkedAt} ${i}`}><button type="button" class="event-line" onClick=${()=>app.open(
CheckDialog,{proxy:proxy2,result:check2})}>
        <${Status} of=${PROXY_STATUS[check2.ok?"alive":"dead"]} /><span class="event-what">${check2.ok?html`<span class="with-flag"><${Country} code=${check2.country} bare /><span class="number">${check2.
exitIp}</span></span>`:html`<span class="one-line">${faultWords(check2.error)?.happened||"The check failed."}</span>`}</span>
        <span class="muted number">${check2.ok&&check2.latencyMs!=null?short(check2.latencyMs):""}</span><span class="muted event-when"><${Ago} time=${check2.checkedAt} /></span></button></li>`)}</ul>
      ${data.length>listed.length&&html`<button type="button" class="button small" onClick=${()=>setAll(!0)}>Show all ${data.length}</button>`}</section>`}function short(ms){
return ms>0&&ms<1?"< 1 ms":span(ms)}function Figures({proxy:proxy2,checks}){let good=checks.filter(({ok})=>ok).length,{p50Ms,p95Ms}=proxy2.latency||{};return html`<dl class="figures"><div><dt>Uptime</dt><dd>${Math.
floor(good/checks.length*100)} %</dd></div>
    <div><dt>Half take at most</dt><dd>${p50Ms==null?"–":short(p50Ms)}</dd></div>
    <div><dt>95 % take at most</dt><dd>${p95Ms==null?"–":short(p95Ms)}</dd></div></dl>`}function pointsOf(checks){let days=new Set(checks.map(({checkedAt})=>new Date(
checkedAt).toDateString())).size,format=new Intl.DateTimeFormat(void 0,days>1?{day:"numeric",month:"short"}:{timeStyle:"short"});return[...checks].reverse().map(
({checkedAt,ok,latencyMs})=>({label:format.format(Date.parse(checkedAt)),full:moment(checkedAt),values:[ok?latencyMs??null:null],mark:ok?"":"failed"}))}function Exits({
checks}){let turns=[];for(let{ok,exitIp,country,countryName,checkedAt}of checks){if(!ok||!exitIp)continue;let last=turns.at(-1);last?.exitIp===exitIp?Object.assign(
last,{from:checkedAt,seen:last.seen+1}):turns.push({exitIp,country,countryName,from:checkedAt,to:checkedAt,seen:1})}return turns.length?html`<section><h3>${turns.
length===1?"Exit":`Exits: ${turns.length} in turn`}</h3>
    <ul class="event-list">${turns.slice(0,LISTED2).map(({exitIp,country,countryName,from,to,seen:seen2})=>html`<li key=${to} class="event-line"><span class="with-flag"><${Country} code=${country} name=${countryName} /><span class="number">${exitIp}</span></span>
      <span class="event-what"></span><span class="muted">${count(seen2,"check")}</span><span class="muted event-when">${seen2>1?"since ":""}<${Ago} time=${from} /></span></li>`)}</ul></section>`:
null}var LISTED3=50,PAGE2=200;function Profiles({proxy:proxy2}){let app=useApp(),[state,setState]=d({list:null,problem:null});A(()=>{let read=()=>app.api.get("/profi\
les",{proxyId:proxy2.id,sort:"name",order:"asc",limit:LISTED3,page:1}).then(list2=>setState({list:list2,problem:null}),problem2=>setState(before=>({...before,problem:problem2})));
read();let planned=0,unwatch=app.model.event.watch(({type})=>{type!=="everything"&&type!=="events.lost"&&!type.startsWith("profile.")||(clearTimeout(planned),planned=
setTimeout(read,300))});return()=>{clearTimeout(planned),unwatch()}},[proxy2.id,proxy2.profileCount]);let{list,problem}=state;return problem&&!list?html`<${ProblemBox} problem=${problem} />`:
list?list.data.length?html`<div class="drawer-tools"><button type="button" class="button small" onClick=${()=>app.open(MoveDialog,{proxy:proxy2,total:list.total})}><${Icon} name="proxies" />Move to another proxy…</button>
      <a class="button small" href=${href("profiles",new URLSearchParams({proxyId:proxy2.id}))}><${Icon} name="profiles" />Show in the list</a></div>
    <section><h3>${count(list.total,"profile uses","profiles use")} it</h3>
    <ul class="event-list">${list.data.map(({id,name,status})=>html`<li key=${id}><a class="event-line" href=${href("profiles",void 0,[id])}><span class="event-what one-line"><${Name}>${name}<//></span>
      ${status!=="stopped"&&html`<${Status} of=${PROFILE_STATUS[status]||{text:status,tone:"quiet"}} />`}</a></li>`)}</ul>
    ${list.hasMore&&html`<p class="hint">And ${number(list.total-list.data.length)} more.</p>`}</section>`:html`<p class="muted">No profile uses it.</p>`:html`<${Waiting} />`}
function MoveDialog({proxy:proxy2,total,close}){let app=useApp(),form=useForm({proxyId:proxy2.id}),{proxyId}=form.values,move=async()=>{let items=await usersOf(
app.api,proxy2.id);app.works.each({title:`Moving ${count(items.length,"profile")}`,items,size:PAGE2,call:async(part,signal)=>(await app.api.post("/profiles/batc\
h",{action:"setProxy",proxyId:proxyId||null,ids:part.map(({id})=>id)},{signal})).results}),close()};return html`<${Dialog} title="Move to another proxy" lead=${html`${count(
total,"profile")} of <${Name}>${proxyName(proxy2)}<//>`} close=${close}><${Form} form=${form} work=${move} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy||proxyId===proxy2.id}>${form.busy?"\
One moment…":"Move"}</button>`}>
    <div class="fields"><${ProxyField} form=${form} workspaceId=${proxy2.workspaceId} hint=${proxyId?"New connections of running browsers use it at once.":"The \
profiles will connect directly, with this computer’s own address."} /></div><//><//>`}async function usersOf(api,proxyId){let out=[];for(let page=1;;page++){let{
data,hasMore}=await api.get("/profiles",{proxyId,sort:"createdAt",order:"asc",limit:PAGE2,page});if(out.push(...data.map(({id,name})=>({id,name}))),!hasMore)return out}}function Rotate({proxy:proxy2,object}){return html`${proxy2.rotateUrl?html`<${RotateNow} proxy=${proxy2} object=${object} />`:html`<p class="muted">Providers of mobile and residential proxies give an address that changes the exit IP. Enter it here, and Warren calls it and waits for the new exit.</p>`}
    <${Address3} key=${proxy2.rotateUrl} proxy=${proxy2} object=${object} />
    <section><h3>When it fails</h3><p class="muted">A profile can name other proxies that it goes on through while this one is dead. They are set in the profile’s form, as fallbacks. Without one its traffic stops: it never goes out directly.</p></section>`}
function RotateNow({proxy:proxy2,object}){let app=useApp(),busy=useStore(app.busy).has(proxy2.id),offline=useStore(app.offline),[result,setResult]=d(null),[problem,
setProblem]=d(null);return html`<section><p><button type="button" class="button" disabled=${offline||busy} onClick=${()=>app.during(proxy2.id,async()=>{setProblem(
null),setResult(null);try{let from=proxy2.lastCheck,answer=await app.api.post(`/proxies/${encodeURIComponent(proxy2.id)}/rotate`);setResult({...answer,country:from?.
exitIp===answer.before?from?.country:""}),object.reload()}catch(error){setProblem(error)}})}><${Icon} name="reload" />${busy?"Waiting for a new exit…":"Rotate\
 now"}</button></p>
    <div role="status">${result&&html`<div class="panel rotation"><p><strong>${result.changed?"It has a new exit.":"It kept its exit."}</strong>${result.durationMs!=
null&&html` <span class="muted">after ${span(result.durationMs)}</span>`}</p>
      <p class="rotation-line"><span class="rotation-end"><span class="muted">Before</span> <span class="with-flag"><${Country} code=${result.country} /><span class="number">${result.
before||"not known"}</span></span></span><${Icon} name="forward" />
        <span class="rotation-end"><span class="muted">Now</span> <span class="with-flag"><${Country} code=${result.check?.country} name=${result.check?.countryName} /><span class="number">${result.
exitIp||"not known"}</span></span></span></p></div>`}</div>
    <${ProblemBox} problem=${problem} /></section>`}function Address3({proxy:proxy2,object}){let app=useApp(),form=useForm({rotateUrl:proxy2.rotateUrl||""}),save2=async({
rotateUrl})=>{let headers=object.etag?{"If-Match":object.etag}:void 0,{data,etag}=await app.api.full("PUT",`/proxies/${encodeURIComponent(proxy2.id)}`,{body:{rotateUrl:rotateUrl.
trim()||null},headers});object.keep(data,etag),app.toasts.say({text:rotateUrl.trim()?"Saved the address.":"Removed the address.",tone:"good"})},same=form.values.
rotateUrl.trim()===(proxy2.rotateUrl||"");return html`<${Form} plain form=${form} work=${save2}>
    <${Text} form=${form} name="rotateUrl" label="Rotation address" class="mono" type="url" placeholder="https://example.com/rotate?key=…" hint="The server calls it directly, not through the proxy. It is kept sealed, as passwords are." />
    <p><button class="button" disabled=${form.busy||same}>${form.busy?"Saving…":"Save"}</button></p><//>`}var SHOWN_MS=3e4;function Secret({proxy:proxy2}){let{api}=useApp(),[password,setPassword]=d(null),[refusal,setRefusal]=d(""),[busy,setBusy]=d(!1);if(A(()=>{if(password===
null)return;let timer=setTimeout(()=>setPassword(null),SHOWN_MS);return()=>clearTimeout(timer)},[password]),A(()=>setPassword(null),[proxy2.updatedAt]),!proxy2.
hasPassword)return html`None`;let show=async()=>{setBusy(!0),setRefusal("");try{let{password:text3,base64}=await api.get(`/proxies/${encodeURIComponent(proxy2.id)}\
/secret`);setPassword(text3??`base64: ${base64}`)}catch(problem){setRefusal(problem.status===403?"Your key may not read passwords. That needs the scope secrets.":
`${problemTitle(problem)}. ${problemWords(problem)}`)}setBusy(!1)};return html`<span class="secret">${password===null?html`<span aria-hidden="true">••••••••</span><span class="visually-hidden">Saved</span>`:
html`<code class="path" tabindex="0" role="group" aria-label="The password">${password}</code>`}
    ${password===null?html`<button type="button" class="button small" disabled=${busy} aria-label="Show the password" title="Each time is recorded in the activity log" onClick=${show}><${Icon} name="eye" />Show</button>`:
html`<${Copy} text=${password} label="Copy the password" /><button type="button" class="button small" aria-label="Hide the password" onClick=${()=>setPassword(null)}>Hide</button>`}</span>
    <span role="status" class="secret-note">${password!==null&&html`<span class="hint">Recorded in the activity log. Hidden again in half a minute.</span>`}${refusal&&
html`<span class="bad-text">${refusal}</span>`}</span>`}var MOST4=8;function Traffic2({proxy:proxy2}){let app=useApp(),[state,setState]=d({days:null,profiles:null,problem:null});A(()=>{let from=firstDay(),path=`/prox\
ies/${encodeURIComponent(proxy2.id)}/traffic`;Promise.all([app.api.get(path,{from,by:"day"}),app.api.get(path,{from,by:"profile"})]).then(([days2,profiles2])=>setState(
{days:days2,profiles:profiles2,problem:null}),problem2=>setState(before=>({...before,problem:problem2})))},[proxy2.id]);let{days,profiles,problem}=state;return problem?
html`<${ProblemBox} problem=${problem} />`:days?days.connections?html`<dl class="figures"><div><dt>Received</dt><dd>${bytes(days.bytesDown)}</dd></div><div><dt>Sent</dt><dd>${bytes(
days.bytesUp)}</dd></div><div><dt>Connections</dt><dd>${number(days.connections)}</dd></div></dl>
    <${Bars} title=${`The last ${30} days`} points=${daysOf(days.data)} parts=${PARTS} say=${n=>bytes(Math.round(n))} />
    <p class="hint">Days are in UTC. What proxies and TLS add is not counted.</p>
    <section><h3>By profile</h3><ul class="event-list">${[...profiles.data].sort((a,b)=>b.bytesDown+b.bytesUp-a.bytesDown-a.bytesUp).slice(0,MOST4).map(row=>html`<li key=${row.
profileId} class="event-line">
      <span class="event-what one-line"><${ProfileLink} id=${row.profileId} /></span><span class="number muted">↓ ${bytes(row.bytesDown)}</span><span class="number muted">↑ ${bytes(
row.bytesUp)}</span></li>`)}</ul>
      ${profiles.data.length>MOST4&&html`<p class="hint">And ${number(profiles.data.length-MOST4)} more.</p>`}</section>`:html`<p class="muted">Nothing has gone through it in the last ${30} days.</p>`:
html`<${Waiting} />`}function ProfileLink({id}){let{api}=useApp(),[name,setName]=d("");return A(()=>{api.get(`/profiles/${encodeURIComponent(id)}`).then(profile2=>setName(
profile2.name),()=>setName(null))},[id]),name===null?html`<span class="muted">A deleted profile</span>`:html`<a href=${href("profiles",void 0,[id])}><${Name}>${name||
id}<//></a>`}function ProxyDrawer({id,tab,rows}){let object=useObject(`/proxies/${encodeURIComponent(id)}`,({type,data})=>type.startsWith("proxy.")&&(!data?.id||data.id===id)),
proxy2=object.data||rows.find(id),tabs=[{id:"overview",label:"Overview",draw:()=>html`<${Overview2} proxy=${proxy2} />`},{id:"checks",label:"Checks",draw:()=>html`<${Checks} proxy=${proxy2} />`},
{id:"profiles",label:"Profiles",draw:()=>html`<${Profiles} proxy=${proxy2} />`},{id:"traffic",label:"Traffic",draw:()=>html`<${Traffic2} proxy=${proxy2} />`},{id:"\
rotate",label:"Rotate",draw:()=>html`<${Rotate} proxy=${proxy2} object=${object} />`}];return html`<${Drawer} label="Proxy" title=${proxy2?html`<${Name}>${proxyName(
proxy2)}<//>`:"Proxy"} tab=${tab} tabs=${tabs} problem=${object.problem} ready=${!!proxy2}
    below=${proxy2&&html`<${Status} of=${PROXY_STATUS[proxy2.status]||PROXY_STATUS.unknown} />${proxy2.lastCheck?.ok&&html`<${Country} code=${proxy2.lastCheck.country} /><span class="number">${proxy2.
lastCheck.exitIp}</span>`}`}
    actions=${proxy2&&html`<${DrawerActions2} proxy=${proxy2} object=${object} />`} />`}function DrawerActions2({proxy:proxy2,object}){let app=useApp(),busy=useStore(
app.busy).has(proxy2.id),offline=useStore(app.offline);return html`<button type="button" class="button small" disabled=${offline||busy} onClick=${()=>check(app,
proxy2)}><${Icon} name="pulse" />Check</button>
    <button type="button" class="button small" onClick=${()=>app.open(ProxyForm,{proxy:proxy2,done:changed=>{object.reload(),changed.status==="unknown"&&check(app,
changed)}})}><${Icon} name="edit" />Edit</button>`}function Overview2({proxy:proxy2}){return html`
    ${proxy2.lastCheck&&html`<section><h3>Last check, <${Ago} time=${proxy2.lastCheck.checkedAt} /></h3><${CheckResult} result=${proxy2.lastCheck} /></section>`}
    <${Facts} pairs=${[["Type",PROXY_TYPES[proxy2.type]||proxy2.type],["Address",html`<bdi class="mono">${address(proxy2.host,proxy2.port)}</bdi>`],["User name",
proxy2.username&&html`<bdi>${proxy2.username}</bdi>`],["Password",html`<${Secret} proxy=${proxy2} />`],["Profiles",proxy2.profileCount>0?html`<a href=${href("pr\
ofiles",new URLSearchParams({proxyId:proxy2.id}))}>${count(proxy2.profileCount,"profile")}</a>`:"Not used"],["Uptime",proxy2.uptime!=null&&`${Math.floor(proxy2.
uptime*100)} %`],["Tags",proxy2.tags?.length>0&&html`<${Tags} tags=${proxy2.tags} most=${20} />`],["Notes",proxy2.notes&&html`<bdi>${proxy2.notes}</bdi>`],["Cre\
ated",html`<${Ago} time=${proxy2.createdAt} />`],["Workspace",html`<bdi>${proxy2.workspaceId}</bdi>`],["ID",html`<span class="mono">${proxy2.id}</span>`],["Acti\
vity",html`<a href=${activityOf(proxy2.id)}>Who did what with it</a>`]]} />`}function SaveView({params,close}){let app=useApp(),form=useForm({label:""});return html`<${Dialog} title="Save this view" lead="It is kept in this browser, in the sidebar." close=${close}><${Form} form=${form} work=${async({
label})=>{app.saveView({label:label.trim(),params}),close()}} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${!form.values.label.trim()}>Save</button>`}>
    <${Text} form=${form} name="label" label="Name" autofocus maxlength="40" placeholder="Shops in Germany" /><//><//>`}var STEPS={__proto__:null,looking:"Looking for the build…",downloading:"Downloading…",unpacking:"Unpacking…",checking:"Checking that it runs…"};function Install({
brief}){let{api,browsers}=useApp(),state=useInstallation(),form=useForm({version:ownMajor()}),now=state?.now,running=!!(now&&!now.endedAt),root=T(null),before=T(
null);if(A(()=>{before.current!==null&&before.current!==running&&document.activeElement===document.body&&root.current?.querySelector("button, input")?.focus(),state&&
(before.current=running)},[running,!!state]),A(()=>{now?.status==="done"&&form.set("version","")},[now?.endedAt]),!state||state.refused)return null;let install=async({
version})=>browsers.sawInstallation(await api.post("/browsers",{version:version.trim()})),submit=event=>{event.preventDefault(),form.send(install)},again2=()=>form.
send(()=>install(now));return html`<div class="install" ref=${root} aria-live=${brief?"off":void 0}>
    ${running?html`<${Progress} now=${now} />`:html`<form class="install-form" ref=${form.root} onSubmit=${submit} novalidate autocomplete="off">
      <${Text} form=${form} name="version" label="Version" inputmode="decimal" maxlength="23" placeholder="131" />
      <button class="button primary" disabled=${form.busy||!form.values.version.trim()}><${Icon} name="download" />${form.busy?"Asking…":"Install"}</button></form>
      ${!brief&&html`<p class="hint">A major version such as 131: its newest build. Or a build such as 131.0.6778.204.</p>`}
      <${ProblemBox} problem=${form.problem} shown=${form.shown()} />`}
    <div role="status" class="install-end">${now?.status==="done"&&html`<p class="good-text"><${Icon} name="check" />${now.browser.product} ${now.browser.version} is installed.</p>`}
      ${now?.error?.code==="installation_cancelled"&&html`<p class="muted">The installation of version ${now.version} was cancelled. Nothing was installed.</p>`}</div>
    ${now?.status==="failed"&&now.error.code!=="installation_cancelled"&&!form.problem&&html`<${ProblemBox} problem=${new Problem(now.error.status,now.error,"")}>
      <p><button type="button" class="button small" disabled=${form.busy} onClick=${again2}><${Icon} name="reload" />Try ${now.version} again</button></p><//>`}
  </div>`}function Progress({now}){let app=useApp(),cancel=()=>app.during("installation",()=>app.api.delete("/browsers/installation").catch(problem=>app.fail("T\
he installation was not cancelled",problem))),{step,doneBytes,totalBytes,version}=now,known=step!=="looking"&&totalBytes>0,title2=`Installing version ${version}`;
return html`<section class="install-progress" aria-label=${title2}>
    <div class="work-head"><p class="work-title">${title2}</p><button type="button" class="button small" onClick=${cancel}>Cancel</button></div>
    <progress max="1" value=${known?doneBytes/totalBytes:void 0} aria-label=${title2}></progress>
    <p class="work-words number"><span role="status">${STEPS[step]||step}</span>${known&&html`<span>${bytes(doneBytes)} of ${bytes(totalBytes)}</span>`}</p></section>`}
function ownMajor(){return/Chrom(?:e|ium)\/(\d+)/.exec(navigator.userAgent)?.[1]||""}function ProxyName({id,begin:begin2,was}){let proxy2=useProxy(id),kind=begin2?"Proxy":"proxy";if(proxy2)return html`${kind} <a href=${`#/proxies/${encodeURIComponent(
id)}`}><${Name}>${proxyName(proxy2)}<//></a>`;if(was)return html`${kind} <${Name}>${was}<//>`;let words=proxy2===null?"a proxy that is deleted":"a proxy";return begin2?
words.replace("a","A"):words}var PLACES={__proto__:null,profile:{path:"/profiles",words:"profile",link:id=>`#/profiles/${encodeURIComponent(id)}`},template:{path:"\
/templates",words:"template"},schedule:{path:"/schedules",words:"schedule"},webhook:{path:"/webhooks",words:"webhook",member:"url",link:id=>`#/settings/webhooks\
/${encodeURIComponent(id)}`}},names=new WeakMap;function useNameOf(path,member="name"){let{api}=useApp();names.has(api)||names.set(api,new Map);let known=names.
get(api),[,draw]=d(0);return A(()=>{if(!path)return;if(!known.has(path)){let one={name:void 0};one.read=api.get(path).then(object=>object[member],()=>null).then(
name=>{one.name=name??null}),known.set(path,one)}let shown=known.get(path).name===void 0;return shown&&known.get(path).read.then(()=>shown&&draw(n=>n+1)),()=>{shown=
!1}},[path]),path?known.get(path)?.name:null}function ObjectName({kind,id,begin:begin2,was,article}){let{path,words,member,link}=PLACES[kind],name=useNameOf(id&&
`${path}/${encodeURIComponent(id)}`,member),before=article&&`${article} ${words} `;if(name)return link?html`${before}<a href=${link(id)}><${Name}>${name}<//></a>`:
html`${before}<${Name}>${name}<//>`;if(was)return html`${before}<${Name}>${was}<//>`;let unnamed=name===null&&id?`a ${words} (deleted)`:`a ${words}`;return begin2?
unnamed.replace("a","A"):unnamed}function ProfileName(props){return html`<${ObjectName} kind="profile" ...${props} />`}function AnyName({id}){let proxy2=useProxy(
id),name=useNameOf(proxy2===null&&`/profiles/${encodeURIComponent(id)}`);return proxy2?proxyName(proxy2):name||id}var CHANGES={__proto__:null,proxyId:"proxy",os:"\
system",fallbackProxyIds:"fallbacks",browserVersion:"browser version",enabled:"on or off",events:"events",url:"address",cron:"time",timeZone:"time zone",everyMs:"\
interval",action:"what it does",catchUp:"missed runs",profileIds:"profiles",proxyIds:"proxies",username:"user name",password:"password",rotateUrl:"rotation addr\
ess",limits:"limits",keepOldMs:"how long the old secret signs"};function memberWords(member){let label=CHANGES[member]||FIELDS.find(({names:[first]})=>first===member)?.
label||member;return/^(?:WebRTC|Chrome|[A-Z]{2})/.test(label)?label:label.replace(/^./,first=>first.toLowerCase())}function changedWords(changed){let words=(changed||
[]).map(memberWords);return words.length?`: ${words.join(", ")}`:""}var text2=words=>()=>words,profile=({objectId,detail})=>html`<${ProfileName} id=${objectId} was=${detail.name} />`,proxy=({objectId,detail})=>html`<${ProxyName} id=${objectId} was=${detail.
name||detail.host} />`,the=kind=>({objectId,detail})=>html`<${ObjectName} kind=${kind} id=${objectId} was=${detail.name} article="the" />`,[template,schedule,webhook]=[
"template","schedule","webhook"].map(the),workspace=({objectId})=>objectId?html`workspace <bdi>${objectId}</bdi>`:"a workspace",node=({objectId,detail:{name}})=>html`the server <${Name}>${name||
objectId}<//>`,key=({detail:{name}})=>name?html`the key <${Name}>${name}<//>`:"a key",extension=({detail:{name,version}})=>name?html`the extension <${Name}>${name}<//> ${version}`:
"an extension",many=(n,one,more2=`${one}s`)=>n==null?more2:count(n,one,more2),of=(words,what)=>entry=>html`${words} ${what(entry)}`,changes3=what=>entry=>{let{changed=[],
from={},to={}}=entry.detail,words=changed.map(member=>isShort(from[member])&&isShort(to[member])?html`${memberWords(member)} <bdi>${from[member]??"none"}</bdi> → <bdi>${to[member]??
"none"}</bdi>`:memberWords(member));return html`${what(entry)}${words.map((one,i)=>html`${i?", ":": "}${one}`)}`};function isShort(value){return value===null||typeof value==
"number"||typeof value=="boolean"||typeof value=="string"&&value.length<=40}var BATCH={__proto__:null,start:"start",stop:"stop",restart:"restart",delete:"delete",
restore:"restore",tag:"tag",untag:"take tags from",setProxy:"give another proxy to"},SEALS2={__proto__:null,passphrase:", sealed with a passphrase",recipient:",\
 sealed for an age key"},DELETED2={__proto__:null,trash:", as its days in the trash were over",temporary:", as it was temporary"},QUOTAS=[["profiles","profile",
"profiles"],["running","running at once","running at once"],["diskMb","MiB of disk","MiB of disk"],["proxies","proxy","proxies"]];function quotaWords(quotas){let words=QUOTAS.
filter(([member])=>quotas?.[member]!=null).map(([member,one,more2])=>count(quotas[member],one,more2));return words.length?words.join(", "):"no limits"}function ranWords({
action,targets,done,failed}){return targets==null?"":`: ${action}, ${number(done)} of ${number(targets)} done${failed?`, ${number(failed)} failed`:""}`}var GROUPS=[
["Profiles",[["profile","Everything of a profile"],["profiles","Everything of many profiles"]],[["profile.create","Created","create","created",profile],["profil\
e.update","Changed","change","changed",changes3(profile)],["profile.delete","Deleted","delete","deleted",entry=>html`${profile(entry)}${entry.detail.permanent?DELETED2[entry.
detail.reason]||" for good":entry.result==="ok"&&". It is in the trash"}`],["profile.restore","Restored","restore","restored",entry=>html`${profile(entry)} from the trash`],
["profile.clone","Cloned","clone","cloned",entry=>html`${profile(entry)}${entry.detail.count>1&&` ${number(entry.detail.count)} times`}${entry.detail.data&&", w\
ith its data"}`],["profile.start","Started","start","started",entry=>html`${profile(entry)}${entry.detail.reason&&" with the server"}${entry.detail.reused&&". I\
t ran already"}`],["profile.stop","Stopped","stop","stopped",profile],["profile.restart","Restarted","restart","restarted",profile],["profile.failback","Back to\
 its own proxy","take back","took back",entry=>html`${profile(entry)} to its own proxy`],["profile.leak_test","Leak test","run","ran",of("the leak test of",profile)],
["profile.rollback","Rolled back","roll back","rolled back",entry=>html`${profile(entry)} to a snapshot`],["profile.clear","Data cleared","clear","cleared",entry=>html`${entry.
detail.kinds?.join(", ")||"data"} of ${profile(entry)}`],["profiles.create","Many created","create","created",({detail:{count:n,first}})=>html`${many(n,"profile")}${first&&
html`, the first is <${Name}>${first}<//>`}`],["profiles.batch","Many changed","","asked to",({detail:{action,count:n,tags}})=>html`${BATCH[action]||action||"ch\
ange"} ${many(n,"profile")}${tags?.length>0&&html`: <bdi>${tags.join(", ")}</bdi>`}`],["profiles.export","Exported","export","exported",({detail:{count:n,seal}})=>`${many(
n,"profile")} with data${n==null?"":SEALS2[seal]||", not sealed"}`],["profiles.import","Imported","import","imported",({detail:{count:n}})=>`${many(n,"profile")}\
 with data`]]],["Browsers that run",[["cdp"],["live"],["capability","Everything of shared views"]],[["cdp.open","Client connected","connect a client to","connec\
ted a client to",profile],["live.open","Live view opened","open","opened",entry=>html`the live view of ${profile(entry)}${entry.detail.capabilityId&&" by a link"}${entry.
detail.readonly&&", to watch only"}`],["capability.create","View shared","share","shared",entry=>html`a view of ${profile(entry)}${entry.detail.name&&html` with <${Name}>${entry.
detail.name}<//>`}${entry.detail.readonly&&", to watch only"}`],["capability.revoke","Shared view ended","end","ended",of("a shared view of",profile)]]],["Cooki\
es, storage and files",[["cookies","Everything with cookies"],["storage","Everything with storage"],["passkey"],["download"],["upload"]],[["cookies.read","Cooki\
es read","read","read",entry=>html`${many(entry.detail.count,"cookie")} of ${profile(entry)}`],["cookies.write","Cookies set","set","set",entry=>html`${many(entry.
detail.count,"cookie")}${entry.detail.remove>0&&` and removed ${number(entry.detail.remove)}`} in ${profile(entry)}${entry.detail.dryRun&&", as a trial"}`],["co\
okies.delete","Cookies deleted","delete","deleted",of("cookies of",profile)],["storage.read","Storage read","read","read",of("the cookies and storage of",profile)],
["storage.write","Storage set","set","set",entry=>html`cookies and storage in ${profile(entry)}${entry.detail.dryRun&&", as a trial"}`],["passkey.delete","Passk\
ey deleted","delete","deleted",entry=>html`a passkey${entry.detail.site&&html` for <bdi>${entry.detail.site}</bdi>`} of ${profile(entry)}`],["download.delete","\
Download deleted","delete","deleted",entry=>html`the download <bdi>${entry.detail.name}</bdi> of ${profileAlone(entry)}`],["upload.write","File uploaded","put",
"put",entry=>html`the file <bdi>${entry.detail.name}</bdi>${entry.detail.size!=null&&` (${bytes(entry.detail.size)})`} into ${profileAlone(entry)}`]]],["Snapsho\
ts",[["snapshot","Everything of snapshots"]],[["snapshot.create","Kept","keep","kept",of("a snapshot of",profileAlone)],["snapshot.update","Changed","change","c\
hanged",of("a snapshot of",profileAlone)],["snapshot.delete","Deleted","delete","deleted",of("a snapshot of",profileAlone)]]],["Proxies",[["proxy","Everything o\
f a proxy"],["proxies","Everything of many proxies"]],[["proxy.create","Added","add","added",proxy],["proxy.update","Changed","change","changed",changes3(proxy)],
["proxy.delete","Deleted","delete","deleted",proxy],["proxy.check","Checked","check","checked",proxy],["proxy.rotate","Rotated","rotate","rotated",proxy],["prox\
y.secret","Password read","read","read",of("the password of",proxy)],["proxies.check","Many checked","check","checked",({detail})=>many(detail.count,"proxy","pr\
oxies")],["proxies.import","Imported","import","imported",({detail})=>many(detail.count,"proxy","proxies")],["proxies.export","Passwords exported","export","exp\
orted",({detail:{count:n,format,tag}})=>html`${many(n,"proxy","proxies")} with passwords${format?` as ${format==="text"?"text":format.toUpperCase()}`:""}${tag?.
length>0&&html`, tagged <bdi>${tag.join(", ")}</bdi>`}`]]],["Keys and logins",[["key","Everything of keys"],["session","Everything of logins"],["login"]],[["key\
.create","Key created","create","created",entry=>html`${key(entry)}${entry.detail.scopes&&`, which may ${entry.detail.scopes.join(", ")}`}${entry.detail.workspaces?.
length>0&&html` in <bdi>${entry.detail.workspaces.join(", ")}</bdi>`}`],["key.revoke","Key revoked","revoke","revoked",key],["session.create","Login","log in","\
logged in",text2("to the page")],["session.end","Logout","log out","logged out",text2("of the page")],["login.create","Login link made","make","made",text2("a l\
ink to log in with")]]],["Workspaces",[["workspace","Everything of workspaces"]],[["workspace.create","Created","create","created",workspace],["workspace.update",
"Changed","change","changed",workspace],["workspace.rename","Renamed","rename","renamed",entry=>html`${workspace(entry)}${entry.detail.name?html` to <${Name}>${entry.
detail.name}<//>`:" to its ID alone"}`],["workspace.defaults","Defaults changed","change","changed",of("what new profiles get in",workspace)],["workspace.quotas",
"Quotas changed","change","changed",entry=>html`the quotas of ${workspace(entry)}: ${quotaWords(entry.detail.from)} → ${quotaWords(entry.detail.to)}`],["works\
pace.delete","Deleted","delete","deleted",workspace]]],["Templates",[["template","Everything of templates"]],[["template.create","Created","create","created",template],
["template.update","Changed","change","changed",changes3(template)],["template.delete","Deleted","delete","deleted",template]]],["Schedules",[["schedule","Every\
thing of schedules"],["job"]],[["schedule.create","Created","create","created",schedule],["schedule.update","Changed","change","changed",changes3(schedule)],["s\
chedule.delete","Deleted","delete","deleted",schedule],["schedule.run","Ran","run","ran",entry=>html`${schedule(entry)}${ranWords(entry.detail)}`],["job.cancel",
"Work cancelled","cancel","cancelled",text2("work on many profiles")]]],["Webhooks",[["webhook","Everything of webhooks"]],[["webhook.create","Added","add","add\
ed",entry=>html`${webhook(entry)}${entry.detail.events?.length>0&&html` for <bdi>${entry.detail.events.join(", ")}</bdi>`}`],["webhook.update","Changed","change",
"changed",changes3(webhook)],["webhook.delete","Deleted","delete","deleted",webhook],["webhook.test","Tested","test","tested",webhook],["webhook.rotate","New se\
cret","make","made",of("a new secret for",webhook)],["webhook.replay","Message sent again","send","sent",of("a message again to",webhook)]]],["Servers",[["node",
"Everything of servers"]],[["node.drain","Drained","drain","drained",node],["node.remove","Removed","remove","removed",entry=>html`${node(entry)}${entry.detail.
profiles>0&&entry.detail.forget&&html`, and gave up the data of ${count(entry.detail.profiles,"profile")}`}`],["node.undrain","Takes starts again","let","let",entry=>html`${node(
entry)} take starts again`]]],["Browsers and extensions",[["browser","Everything of browsers"],["extension","Everything of extensions"]],[["browser.install","Br\
owser asked for","install","asked to install",({objectId})=>html`${objectId?html`version <bdi>${objectId}</bdi> of the browser`:"a browser"}`],["browser.cancel",
"Installation cancelled","cancel","cancelled",text2("the installation of a browser")],["extension.add","Extension added","add","added",extension],["extension.de\
lete","Extension deleted","delete","deleted",extension]]],["Refusals",[["request"]],[["request.refused","Requests refused","ask for","asked for",({detail:{method,
path}})=>html`<code>${[method,path].filter(Boolean).join(" ")}</code>`]]]];function profileAlone({objectId}){return html`<${ProfileName} id=${objectId} />`}var ACTIONS=new Map(
GROUPS.flatMap(([,,actions])=>actions.map(([action,,verb,done,about])=>[action,{verb,done,about}])));function wordsOf(action){return ACTIONS.get(action)}var OPTIONS=GROUPS.
map(([label,kinds,actions])=>[label,[...kinds.filter(([,words])=>words).map(([kind,words])=>[`${kind}.*`,words]),...actions.map(([action,words])=>[action,words])]]);var FAILED=["browser_failed","browser_not_found","database_busy","database_damaged","disk_full","internal","no_server","node_conflict","node_failed","page_not_a\
nswering","proxy_unreachable","rotate_failed","server_stopping","start_timeout"],WHY2={__proto__:null,validation_failed:"The request had faults",forbidden:"The \
key may not do this",duplicate:"There is one already",quota_exceeded:"A quota is used up",etag_mismatch:"It had changed meanwhile",malformed_json:"The request c\
ould not be read",database_busy:"The database was busy",server_stopping:"Warren was stopping"};function whyWords(code){return WHY2[code]||problemTitle({code,title:code.
replaceAll("_"," ").replace(/^./,first=>first.toUpperCase())})}function resultOf({result}){return result==="ok"?{text:"Done",tone:"quiet"}:{text:FAILED.includes(
result)?"Failed":"Refused",tone:"bad"}}function Result({entry}){let why=entry.result==="ok"?"":whyWords(entry.result);return html`<span class=${why?"two-lines":
"not-in-card"}><${Status} of=${resultOf(entry)} />${why&&html`<span class="sub" title=${why}>${why}</span>`}</span>`}function Who({entry:{keyId,keyName,parentId}}){
return keyId==="environment"?"The server’s key":keyId==="server"?"Warren":keyName?html`${parentId?"The login of":"Key"} <${Name}>${parentId?keyName.replace(/^Page, /,
""):keyName}<//>`:"A key that is gone"}function Sentence({entry}){let words=wordsOf(entry.action);if(!words)return html`<${Who} entry=${entry} />: <code>${entry.
action}</code>`;let about=words.about({...entry,detail:entry.detail||{}});return entry.result==="ok"?html`<${Who} entry=${entry} /> ${words.done} ${about}`:html`<${Who} entry=${entry} /> ${entry.
result==="forbidden"?"was not allowed to":"could not"} ${words.verb} ${about}`}function Value2({of:of2}){return of2==null||of2===""?html`<span class="muted">none</span>`:
typeof of2=="number"?number(of2):typeof of2=="boolean"?of2?"yes":"no":Array.isArray(of2)&&of2.every(one=>typeof one=="string")?of2.length?html`<bdi class="path">${of2.
join(", ")}</bdi>`:html`<span class="muted">none</span>`:html`<bdi class="path">${typeof of2=="string"?of2:JSON.stringify(of2)}</bdi>`}function Changes({changed,
from={},to={}}){let told=member=>member in from||member in to;return html`<div class="table-box" tabindex="0" role="region" aria-label="What changed"><table class="plain-table"><thead><tr><th scope="col">Changed</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
    <tbody>${changed.map(member=>html`<tr key=${member}><th scope="row">${memberWords(member).replace(/^./,first=>first.toUpperCase())}</th>${told(member)?html`<td><${Value2} of=${from[member]} /></td><td><${Value2} of=${to[member]} /></td>`:
html`<td class="muted" colspan="2">The value is not recorded, or is the same</td>`}</tr>`)}</tbody></table></div>`}function EntryDialog({entry,close}){let app=useApp(),
{changed,from,to,...detail}=entry.detail||{},members=changed||(from&&typeof from=="object"&&to?Object.keys(to).sort():null),only=(name,value)=>{close(),app.router.
go(activityOf(value,name))};return html`<${Dialog} title=${html`<${Sentence} entry=${entry} />`} about=${entry.id} close=${close}>
    <div class="dialog-content">
      ${members&&html`<${Changes} changed=${members} ...${{from,to}} />`}
      <${Facts} pairs=${[["Result",html`<${Result} entry=${entry} />`],["Time",html`<span class="number">${moment(entry.at)}</span>`],["From",entry.remote&&html`<span class="number">${entry.
remote}</span>`],["Workspace",entry.workspaceId&&html`<bdi>${entry.workspaceId}</bdi>`],["Action",html`<code>${entry.action}</code>`],["Object",entry.objectId&&
html`<span class="mono path">${entry.objectId}</span>`],["Key",html`<span class="mono path">${entry.keyId}</span>`],["Login of the key",entry.parentId&&html`<span class="mono path">${entry.
parentId}</span>`],...members?[]:[["Before",from!=null&&html`<${Value2} of=${from} />`]],...Object.entries(detail).map(([name,value])=>[memberWords(name).replace(
/^./,first=>first.toUpperCase()),html`<${Value2} of=${value} />`]),["Request",entry.requestId&&html`<span class="with-copy"><span class="mono path">${entry.requestId}</span><${Copy} text=${entry.
requestId} label="Copy the request’s ID" /></span>`],["Number",html`<span class="number">${number(entry.seq)}</span>`]]} /></div>
    <footer class="dialog-foot">${entry.objectId&&html`<button type="button" class="button" onClick=${()=>only("objectId",entry.objectId)}>All of this object</button>`}
      <button type="button" class="button" onClick=${()=>only("keyId",entry.keyId)}>All of this key</button>
      <button type="button" class="button primary" autofocus onClick=${close}>Close</button></footer>
  <//>`}async function readKeys(api){let all=[];for(let after="";all.length<1e3;){let{data,next,hasMore}=await api.get("/keys",{limit:200,after});if(all.push(...data),!hasMore)
break;after=next}return all}var HOUR_MS2=3600*1e3,DAY_MS2=24*HOUR_MS2,AGO=[["Last hour",HOUR_MS2],["Last 24 hours",DAY_MS2],["Last 7 days",7*DAY_MS2],["Last 30 days",30*DAY_MS2]],BY_ITSELF=[
["environment","The server’s key"],["server","Warren itself"]],LOG_FILTERS=[{name:"action",label:"What",panel:ActionFilter,text:actionWords},{name:"result",label:"\
Result",options:[["ok","Done"],["refused","Refused or failed"],["forbidden","Not allowed"]]},{name:"keyId",label:"Key",panel:KeyFilter,text:id=>html`<${KeyName} id=${id} />`},
{name:"objectId",label:"Object",panel:FreeFilter({placeholder:"ID"}),text:id=>html`<${AnyName} id=${id} />`},{name:"from",label:"From",panel:SinceFilter,text:time2=>moment(
time2)||time2},{name:"to",label:"Before",panel:TimeFilter,text:time2=>moment(time2)||time2}];function actionWords(action){for(let[group,options]of OPTIONS){let words=options.
find(([value])=>value===action)?.[1];if(words)return action.endsWith(".*")?words:`${group}: ${words}`}return action}function ActionFilter({value,choose,label}){
return html`<select aria-label=${label} value=${value} onChange=${event=>choose(event.currentTarget.value)}><option value="">Everything</option>
    ${OPTIONS.map(([group,options])=>html`<optgroup key=${group} label=${group}>${options.map(([action,words])=>html`<option key=${action} value=${action} selected=${action===
value}>${words}</option>`)}</optgroup>`)}</select>`}function useAllKeys(){let{api}=useApp(),[keys,setKeys]=d([]);return A(()=>{readKeys(api).then(setKeys,()=>{})},
[]),[...BY_ITSELF,...keys.map(({id,name,revokedAt})=>[id,revokedAt?`${name} (revoked)`:name])]}function KeyFilter({value,choose,label}){let keys=useAllKeys();return html`<select aria-label=${label} value=${value} onChange=${event=>choose(
event.currentTarget.value)}><option value="">Every key</option>
    ${keys.map(([id,name])=>html`<option key=${id} value=${id} selected=${id===value}>${name}</option>`)}</select>`}function KeyName({id}){return useAllKeys().find(
([one])=>one===id)?.[1]??id}function TimeFilter({choose,label}){return html`<form class="filter-free" onSubmit=${event=>{event.preventDefault();let at=new Date(
new FormData(event.currentTarget).get("value"));Number.isNaN(at.getTime())||choose(at.toISOString())}}><input name="value" type="datetime-local" aria-label=${label} required /><button class="button small" aria-label=${`\
Apply ${label}`}>Apply</button></form>`}function SinceFilter({choose,label}){return html`<span class="filter-find"><span class="filter-options" role="group" aria-label=${label}>${AGO.
map(([words,ms])=>html`<button type="button" key=${words} class="chip-option" onClick=${()=>choose(new Date(Date.now()-ms).toISOString())}>${words}</button>`)}</span>
    <${TimeFilter} ...${{choose,label}} /></span>`}var ABOUT=[["profile","Profiles"],["snapshot","Snapshots"],["run","Browsers"],["proxy","Proxies"],["key","Keys"],["workspace","Workspaces"],["template","Templat\
es"],["schedule","Schedules"],["extension","Extensions"],["browser","Installations"],["capability","Shared views"],["webhook","Webhooks"],["backup","Backups"]],
WORKSPACE={__proto__:null,name:"was renamed",defaults:"gives new profiles other settings",quotas:"has other quotas"},EVENTS={__proto__:null,"profile.created":({
profile:profile2})=>html`${profile2} was created`,"profile.batch_created":({data})=>html`${count(data.count??0,"profile was","profiles were")} created`,"profile\
.updated":({profile:profile2,data})=>html`${profile2} was changed${changedWords(data.changed)}`,"profile.deleted":({profile:profile2,data})=>data.permanent?"A p\
rofile was deleted for good":html`${profile2} went to the trash`,"profile.restored":({profile:profile2})=>html`${profile2} came back from the trash`,"profile.ro\
lled_back":({profile:profile2})=>html`${profile2} was rolled back to a snapshot`,"snapshot.created":({profile:profile2})=>html`A snapshot of ${profile2} was kept`,
"snapshot.updated":({profile:profile2})=>html`A snapshot of ${profile2} was changed`,"snapshot.deleted":({profile:profile2})=>html`A snapshot of ${profile2} was deleted`,
"profile.status":({profile:profile2,data})=>html`${profile2} is ${data.status}`,"run.started":({profile:profile2,data})=>html`The browser of ${profile2} ${data.
restarted?"restarted":"started"}`,"run.updated":({profile:profile2})=>html`The exit or the place of ${profile2} changed`,"run.expiring":({profile:profile2})=>html`The browser of ${profile2} closes soon`,
"run.fallback":({profile:profile2,data})=>html`${profile2} goes on through ${data.to?html`<${ProxyName} id=${data.to} />`:"another proxy"}`,"run.frozen":({profile:profile2})=>html`The browser of ${profile2} is frozen`,
"run.thawed":({profile:profile2})=>html`The browser of ${profile2} goes on`,"run.ended":({profile:profile2,data})=>html`The browser of ${profile2} ended: ${endWords(
data).toLowerCase()}`,"proxy.created":({proxy:proxy2})=>html`${proxy2} was added`,"proxy.updated":({proxy:proxy2,data})=>html`${proxy2} was changed${changedWords(
data.changed)}`,"proxy.deleted":()=>"A proxy was deleted","proxy.checked":({proxy:proxy2,data})=>html`${proxy2} was checked: ${data.ok?"alive":"dead"}`,"proxy.d\
ied":({proxy:proxy2})=>html`${proxy2} stopped working`,"proxy.returned":({proxy:proxy2})=>html`${proxy2} works again`,"proxy.exit_changed":({proxy:proxy2,data})=>html`${proxy2} has another exit${data.
exitIp?`: ${data.exitIp}`:""}`,"proxy.all_checked":({data})=>`All proxies were checked: ${data.alive??0} alive, ${data.dead??0} dead`,"proxy.imported":({data})=>`${count(
data.created??0,"proxy was","proxies were")} imported`,"key.created":()=>"A key was created","key.revoked":()=>"A key was revoked","browser.installed":({data})=>`${data.
browser?.product??"A browser"} ${data.browser?.version??""} was installed`,"browser.failed":({data})=>`Version ${data.version} of the browser was not installed`,
"extension.created":()=>"An extension was added","extension.deleted":()=>"An extension was deleted","workspace.created":({data})=>html`Workspace <bdi>${data.id}</bdi> was created`,
"workspace.updated":({data})=>html`Workspace <bdi>${data.id}</bdi> ${(data.changed||[]).map(member=>WORKSPACE[member]).filter(Boolean).join(" and ")||"was chang\
ed"}`,"workspace.deleted":({data})=>html`Workspace <bdi>${data.id}</bdi> was deleted`,"template.created":()=>"A template was created","template.updated":({data})=>`\
A template was changed${changedWords(data.changed)}`,"template.deleted":()=>"A template was deleted","schedule.created":()=>"A schedule was created","schedule.u\
pdated":({data})=>`A schedule was changed${changedWords(data.changed)}`,"schedule.deleted":()=>"A schedule was deleted","schedule.started":()=>"A schedule ran",
"schedule.ended":({data})=>data.failed?`A schedule failed for ${count(data.failed,"profile or proxy","profiles or proxies")}`:"A schedule has done its work","sc\
hedule.skipped":()=>"A schedule was skipped, as its last run goes on","schedule.missed":({data})=>`A schedule missed ${count(data.missed??0,"run")}`,"profile.st\
art_failed":({profile:profile2})=>html`${profile2} was not started with the server`,"profile.batch_changed":({data})=>`${count(data.count??0,"profile was","prof\
iles were")} changed`,"webhook.created":()=>"A webhook was added","webhook.updated":()=>"A webhook was changed","webhook.deleted":()=>"A webhook was deleted","w\
ebhook.disabled":({data})=>`A webhook was turned off, as its endpoint ${data.reason==="gone"?"is gone":"failed for five days"}`,"webhook.dropped":()=>"Messages \
of a webhook were dropped, as too many were waiting","backup.made":()=>"A backup was made","backup.failed":()=>"A backup failed","capability.created":({profile:profile2})=>html`A view of ${profile2} was shared`,
"capability.revoked":({profile:profile2})=>html`A shared view of ${profile2} was ended`};function EventSentence({event}){let{type,data={}}=event,words=EVENTS[type];
if(!words)return type;let profileId=data.profileId||(/^(?:profile|run)\./.test(type)?data.id:"");return words({data,profile:profileId?html`<${ProfileName} id=${profileId} begin=${type.
startsWith("profile.")||type==="run.fallback"} />`:"A profile",proxy:data.id?html`<${ProxyName} id=${data.id} begin />`:"A proxy"})}var NOTHING=html`<span class="muted not-in-card">–</span>`,when={id:"at",label:"When",width:128,rank:1,card:!0,draw:({at})=>html`<span class="muted"><${Ago} time=${at} /></span>`},
time={id:"time",label:"Time",width:190,rank:6,hidden:!0,draw:({at})=>html`<span class="number">${moment(at)}</span>`},workspace2={id:"workspace",label:"Workspac\
e",width:130,rank:4,draw:({workspaceId})=>workspaceId?html`<bdi class="one-line">${workspaceId}</bdi>`:NOTHING},LOG=[{id:"what",label:"What happened",min:260,grow:3,
always:!0,draw:entry=>html`<span class="one-line sentence"><${Sentence} entry=${entry} /></span>`},{id:"result",label:"Result",width:172,rank:2,card:!0,draw:entry=>html`<${Result} entry=${entry} />`},
when,time,{id:"remote",label:"From",width:132,rank:5,card:!0,draw:({remote})=>remote?html`<span class="number one-line" title=${remote}>${remote}</span>`:NOTHING},
workspace2,{id:"action",label:"Action",width:160,rank:8,hidden:!0,draw:({action})=>html`<span class="mono">${action}</span>`},{id:"request",label:"Request",width:292,
rank:7,hidden:!0,draw:({requestId})=>html`<span class="mono">${requestId}</span>`}],HAPPENED=[{id:"what",label:"What happened",min:260,grow:3,always:!0,draw:event=>html`<span class="one-line sentence"><${EventSentence} event=${event} /></span>`},
when,time,workspace2,{id:"type",label:"Type",width:170,rank:7,hidden:!0,draw:({type})=>html`<span class="mono">${type}</span>`}],EVENT_FILTERS=[{name:"about",label:"\
About",options:ABOUT}];function Activity({params,path}){let recent=path[1]==="events";return html`<div class="settings-head"><p class="lead">${recent?"What has \
happened since this page was opened, newest first.":html`<${Kept} />`}</p>
      <nav class="segments" aria-label="Activity"><a class="segment-button" href=${href("settings",void 0,["activity"])} aria-current=${recent?void 0:"page"}>Log</a>
        <a class="segment-button" href=${href("settings",void 0,["activity","events"])} aria-current=${recent?"page":void 0}>Events</a></nav></div>
    ${recent?html`<${Events} key="events" params=${params} />`:html`<${Log} key="log" params=${params} />`}`}function Kept(){let days=useStore(useApp().model.counts)?.
auditDays;return html`Who changed what, read secrets, or was refused. Entries are kept ${days>0?`for ${count(days,"day")}`:days===0?"for ever":""}. Nobody can change one unseen: <code>warren check</code> verifies their chain.`}
function isRecorded({type}){return!/\.(?:progress|checked|all_checked|status|expiring|exit_changed|returned|died)$/.test(type)}function Log({params}){let app=useApp(),
query=Object.fromEntries(LOG_FILTERS.map(({name})=>[name,params.get(name)||""])),filtered=Object.values(query).some(Boolean),{rows,selection,view}=useList("/aud\
it",query,(event,list)=>isRecorded(event)&&list.changed(null,!0)),columns=useColumns("audit",()=>LOG),[saving,setSaving]=d(!1);if(view.problem?.status===403)return html`<${Missing} problem=${view.
problem} what="the log" />`;let save2=async()=>{setSaving(!0);try{let found=new URLSearchParams(Object.entries({...query,format:"jsonl"}).filter(([,value])=>value));
saveBlob(await(await app.api.open("GET",`api/v1/audit?${found}`)).blob(),`warren-audit-${new Date().toISOString().slice(0,10)}.jsonl`)}catch(problem){app.fail("\
The log was not exported",problem)}setSaving(!1)};return html`<div class="filters"><${Chips} filters=${LOG_FILTERS} params=${params} />
      <button type="button" class="button quiet" disabled=${saving||!view.total} title="All entries that are listed here, as one JSON object a line" onClick=${save2}><${Icon} name="download" /><span>${saving?
"Exporting…":"Export"}</span></button><${ViewMenu} columns=${columns} /></div>
    <${Missing} problem=${view.problem} what="the log" />
    ${view.total===0?html`<${Empty} title=${filtered?"No matches":"Nothing is recorded yet"} drawing=${!1}><p>${filtered?"No entry fits all of these filters.":"\
Each change, and each reading of a password or of cookies, shows up here."}</p><//>`:!view.problem&&html`<div class="page-body"><${Grid} label="Log" ...${{rows,
columns,selection}} ticks=${!1} open=${entry=>app.open(EntryDialog,{entry})} what=${({action,seq})=>`${action} ${number(seq)}`}
        actionsWidth=${88} actions=${entry=>html`<div class="actions"><button type="button" class="button small" aria-label=${`Details of entry ${number(entry.seq)}`} onClick=${()=>app.
open(EntryDialog,{entry})}>Details</button></div>`} /></div>`}
    <p class="visually-hidden" role="status">${view.total!==null&&count(view.total,"entry","entries")}</p>`}function Events({params}){let app=useApp(),about=params.
get("about")||"",all=useStore(app.model.recent),rows=w(()=>new FixedRows,[]),[selection]=d(()=>new Selection),columns=useColumns("events",()=>HAPPENED),shown=about?
all.filter(({type})=>type.startsWith(`${about}.`)):all;return A(()=>rows.set(shown),[all,about]),html`<div class="filters"><${Chips} filters=${EVENT_FILTERS} params=${params} /><${ViewMenu} columns=${columns} /></div>
    ${shown.length===0?html`<${Empty} title=${about?"No matches":"Nothing has happened yet"} drawing=${!1}><p>Starts, checks and changes show up here as they happen.</p><//>`:
html`<div class="page-body"><${Grid} label="Events" ...${{rows,columns,selection}} ticks=${!1} what=${({type})=>type} actionsWidth=${16} /></div>`}`}var THEMES=[["system","Like the system"],["light","Light"],["dark","Dark"]],DENSITIES=[["compact","Compact"],["comfortable","Comfortable"]];function Appearance(){
let app=useApp(),[theme,setTheme]=d(()=>recall("theme","system")),density=useStore(app.density),views=useStore(app.views),[columns,setColumns]=d(()=>kept("colum\
ns.")),choose=value=>{app.setTheme(value),setTheme(value)},reset=()=>{forget("columns."),setColumns([]),app.toasts.say({text:"All lists have their columns of be\
fore.",tone:"good"})};return html`<p class="lead">These choices are kept in this browser, for this page alone.</p>
    <section class="settings-part"><h2>Theme</h2><${Options2} label="Theme" options=${THEMES} value=${theme} choose=${choose} /></section>
    <section class="settings-part"><h2>Rows</h2><${Options2} label="Row height" options=${DENSITIES} value=${density} choose=${value=>app.setDensity(value)} /></section>
    <section class="settings-part"><h2>Columns</h2><p class="muted">${columns.length?`You have chosen the columns of ${count(columns.length,"list")}.`:"Every li\
st has its usual columns."}</p>
      <p><button type="button" class="button" disabled=${!columns.length} onClick=${reset}>Reset all columns</button></p></section>
    <section class="settings-part"><h2>Saved views</h2>${views.length===0?html`<p class="muted">None yet. Filter the profiles, then choose “Save this view” in the sidebar.</p>`:
html`
      <ul class="saved-views">${views.map(view=>html`<li key=${view.label}><bdi class="one-line">${view.label}</bdi><button type="button" class="icon-button" aria-label=${`\
Remove the view ${view.label}`} title="Remove" onClick=${()=>app.dropView(view)}><${Icon} name="close" /></button></li>`)}</ul>
      <p><button type="button" class="button" onClick=${()=>views.forEach(view=>app.dropView(view))}>Remove all views</button></p>`}</section>`}function Options2({
label,options,value,choose}){return html`<div class="segments" role="group" aria-label=${label}>${options.map(([one,words])=>html`<button type="button" key=${one} class="segment-button" aria-pressed=${value===
one} onClick=${()=>choose(one)}>${words}</button>`)}</div>`}var SOURCES2={__proto__:null,default:"The default",path:"Found by its name",usual:"Found in a usual place",added:"Added by a command",folder:"Found in a folder \
of --browsers",installed:"Installed"};function Browsers(){let{data,problem}=useAnswer("/browsers",{},({type})=>type==="browser.installed"),runs=useAnswer("/runs",
{},({type})=>type.startsWith("run.")),server=useAnswer("/server"),standard=data?.data.find(({source})=>source==="default"),runningOf=path=>(runs.data?.data||[]).
filter(({browser})=>browser?.path===path).length;return html`<p class="lead">Profiles that name no version run with the default browser${standard?html`, <strong>${standard.
product} ${standard.version}</strong>`:""}. It is the first one found, or the one of <code>warren serve --browser PATH</code>. Profiles that name a version run with the nearest one that is here.</p>
    <${Missing} problem=${problem} what="the browsers" scope="read" />
    ${!data&&!problem&&html`<${Waiting} />`}
    ${data?.data.length===0&&html`<${Empty} title="No browser on the server" drawing=${!1}><p>Nothing can start until there is one. Install one below, or install Chromium or Chrome with the system’s packages.</p><//>`}
    ${data?.data.length>0&&html`<div class="table-box" tabindex="0" role="region" aria-label="List of browsers"><table class="plain-table"><thead><tr><th scope="col">Browser</th><th scope="col">Where from</th><th scope="col" class="is-number">Running</th><th scope="col">Path</th></tr></thead>
      <tbody>${data.data.map(({path,product,version,source})=>html`<tr key=${path}>
        <th scope="row"><span class="with-mark">${product} <span class="number">${version}</span>${source==="default"&&html`<span class="mark">Default</span>`}</span></th>
        <td class="no-wrap">${SOURCES2[source]||source}</td><td class="is-number">${runningOf(path)||html`<span class="muted">–</span>`}</td><td class="wide-cell"><code class="path">${path}</code></td></tr>`)}</tbody></table></div>
      <p class="visually-hidden" role="status">${count(data.data.length,"browser")}</p>`}
    <${Commands} folder=${server.data?.dataFolder} />`}function Commands({folder}){let state=useInstallation(),here=state&&!state.refused,[version,setVersion]=d(
""),wanted=/^\d{2,3}(?:\.\d+){0,3}$/.test(version.trim())?version.trim():"131",data=folder?` --data ${quoted(folder)}`:"";return html`${here&&html`<section class="settings-part"><h2>Install a version</h2>
      <p class="muted">The build is Chrome for Testing. The server downloads it, verifies it and keeps it in its data folder. Nothing of one that fails stays.</p><${Install} /></section>`}
    <section class="settings-part"><h2>${here?"With commands":"Install another version"}</h2>
    <p class="muted">A browser is a program that the server runs. ${here?"So only somebody with access to the server’s machine can name one that is there alread\
y, or remove one.":state?.refused.code==="installation_not_allowed"?"This server is set to install none from here. Somebody with access to its machine can, with\
 these commands.":"Administrators of all workspaces can install one here. Others need access to the server’s machine, and these commands."} The server sees it within ten seconds.</p>
    ${!here&&html`<label class="inline-field"><span>Version</span><input type="text" inputmode="decimal" class="mono" value=${version} placeholder="131" maxlength="20" onInput=${event=>setVersion(
event.currentTarget.value)} aria-describedby="version-hint" /></label>
    <p class="hint" id="version-hint">A major version such as 131, or a build such as 131.0.6778.204. Builds are Chrome for Testing, downloaded from Google and verified.</p>
      <${Command} label="Install it" text=${`warren browser install ${wanted}${data}`} />`}
    <${Command} label="Use a browser that is on the machine already" text=${`warren browser add /path/to/chrome${data}`} />
    <${Command} label="Remove one" text=${`warren browser remove ${wanted}${data}`} />
    </section>`}function Command({label,text:text3}){return html`<div class="copy-line"><span class="copy-label">${label}</span><code tabindex="0">${text3}</code><${Copy} text=${text3} label=${`\
Copy: ${label}`} /></div>`}function quoted(text3){return/^[\w:/.~-]+$/.test(text3)?text3:`'${text3.replaceAll("'","'\\''")}'`}var may=({may:words})=>words.join(". ")||"Nothing of note",COLUMNS=[{id:"name",label:"Extension",min:190,grow:2,always:!0,draw:({name,extensionId})=>html`<span class="two-lines"><span class="title" title=${name}><${Name}>${name}<//></span><span class="sub mono">${extensionId}</span></span>`},
{id:"version",label:"Version",width:110,rank:1,card:!0,draw:({version})=>html`<span class="number">${version}</span>`},{id:"may",label:"It may",min:220,grow:3,rank:2,
draw:one=>html`<span class="one-line" title=${may(one)}>${may(one)}</span>`},{id:"workspace",label:"Workspace",min:110,grow:1,rank:5,draw:({workspaceId})=>html`<bdi class="one-line">${workspaceId}</bdi>`},
{id:"size",label:"Size",width:96,numeric:!0,rank:4,card:!0,draw:({bytes:size})=>html`<span class="number">${bytes(size)}</span>`},{id:"created",label:"Added",width:112,
rank:6,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`}];function Extensions(){let app=useApp(),{rows,selection,view}=useList(
"/extensions",{},({type},list)=>type.startsWith("extension.")&&list.changed(null,!0)),columns=useColumns("extensions",()=>COLUMNS),{total,problem}=view,reload=()=>rows.
reload().catch(()=>{});return html`
    <div class="settings-head"><p class="lead">Extensions that profiles can have. Chrome loads those of a profile before its first page. They get no files of this computer.</p>
      <div class="tools"><${ViewMenu} columns=${columns} /><button type="button" class="button primary" onClick=${()=>app.open(AddDialog,{done:reload})}><${Icon} name="plus" /><span>Add an extension</span></button></div></div>
    <${Missing} problem=${problem} what="the extensions" scope="read" />
    ${total===0?html`<${Empty} title="No extensions yet" drawing=${!1}><p>Add a zip of an extension’s folder, or a CRX file. Then choose it in a profile.</p><//>`:
html`<div class="page-body"><${Grid} label="Extensions" ...${{rows,columns,selection}} ticks=${!1} what=${({name})=>name}
      actionsWidth=${104} actions=${one=>html`<div class="actions"><button type="button" class="button small" aria-label=${`Delete ${one.name} ${one.version}`} onClick=${()=>askToDelete2(
app,one,reload)}>Delete</button></div>`} /></div>`}
    <p class="visually-hidden" role="status">${total!==null&&count(total,"extension")}</p>`}function askToDelete2(app,{id,name,version},reload){app.open(ConfirmDialog,
{title:"Delete this extension?",verb:"Delete",work:async()=>{try{await app.api.delete(`/extensions/${encodeURIComponent(id)}`)}catch(problem){throw problem.code===
"extension_in_use"&&await nameUsers(app,problem),problem}app.toasts.say({text:`${name} ${version} is deleted.`}),await reload()},children:html`<p><${Name}>${name}<//> ${version} can then be chosen no more. What profiles have kept with it stays in their data. While a profile has it, it cannot be deleted.</p>`})}
var NAMED2=10;async function nameUsers(app,problem){let ids=problem.body.profileIds||[],read=id=>app.api.get(`/profiles/${encodeURIComponent(id)}`).catch(()=>null);
problem.users=(await Promise.all(ids.slice(0,NAMED2).map(read))).filter(Boolean),problem.moreUsers=ids.length-problem.users.length}function worded4(problem){return problem.
code==="duplicate"&&Object.assign(problem,{code:"package_there",title:"This package is here already",detail:"Nothing was added. Choose it in the form of a profi\
le."}),problem}function AddDialog({done,close}){let app=useApp(),[file,setFile]=d(null),[found,setFound]=d(null),ending=T(null),form=useForm({}),told=useTold("T\
he extension was not added"),send=dryRun=>{let{signal}=ending.current=new AbortController;return app.api.upload("/extensions",{workspaceId:app.model.workspace.value,
dryRun:dryRun||void 0},{"Content-Type":"application/octet-stream"},file,signal,()=>{})};A(()=>(setFound(null),form.setProblem(null),file&&send(!0).then(setFound,
problem=>problem.name!=="AbortError"&&form.setProblem(worded4(problem))),()=>ending.current?.abort()),[file]);let add=()=>told(async()=>{let made=await send(!1).
catch(problem=>{throw worded4(problem)});app.toasts.say({text:`Added ${made.name}`,more:"Choose it in the form of a profile.",tone:"good"}),await done(),close()}),
foot=html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy||!found}>${form.busy?"Adding…":
"Add"}</button>`;return html`<${Dialog} title="Add an extension" lead="A zip of its folder, or a CRX file as a store gives it." close=${close}><${Form} form=${form} work=${add} foot=${foot}>
    <div class="fields"><${Chooser3} file=${file} choose=${setFile} busy=${form.busy} />
      ${file&&!found&&!form.problem&&html`<p class="hint wide" role="status">Reading it…</p>`}
      ${found&&html`<${Found} of=${found} />`}</div><//><//>`}function Found({of:{name,version,description,extensionId,files,bytes:size,may:words,mayAsk}}){return html`<div class="wide found" aria-live="polite"><p><strong><${Name}>${name}<//></strong> <span class="number">${version}</span></p>
    ${description&&html`<p class="muted">${description}</p>`}
    <p class="muted"><span class="mono">${extensionId}</span>, ${count(files,"file")}, ${bytes(size)}</p>
    ${words.length?html`<${Notice}><p>It may:</p><ul>${words.map(text3=>html`<li key=${text3}>${text3}</li>`)}</ul><//>`:html`<p>It asks for nothing of note.</p>`}
    ${mayAsk.length>0&&html`<p>Later it may ask to:</p><ul>${mayAsk.map(text3=>html`<li key=${text3}>${text3}</li>`)}</ul>`}</div>`}function Chooser3({file,choose,
busy}){let[over,setOver]=d(!1),drag=event=>{event.preventDefault(),setOver(event.type==="dragover"),event.type==="drop"&&event.dataTransfer.files[0]&&!busy&&choose(
event.dataTransfer.files[0])};return html`<label class=${over?"drop wide is-over":"drop wide"} onDragOver=${drag} onDragLeave=${()=>setOver(!1)} onDrop=${drag}>
    <${Icon} name="upload" />${file?html`<span><strong><bdi>${file.name}</bdi></strong> <span class="muted number">${bytes(file.size)}</span></span>`:html`<span><strong>Choose a file</strong> of this computer, or drop it here</span>`}
    <input type="file" class="visually-hidden" name="file" accept=".zip,.crx" disabled=${busy} autofocus=${!file} aria-label="Package" onChange=${event=>{event.
currentTarget.files[0]&&choose(event.currentTarget.files[0])}} /></label>`}var SCOPES=[["read","Read","See profiles, proxies, runs and events. No passwords."],["run","Run browsers","Start, stop, watch and control browsers. Check and ro\
tate proxies."],["write","Change","Create, change, import and delete profiles and proxies."],["secrets","Read passwords","See and export proxy passwords, cookie\
s and storage. Each time is recorded."],["files","Use files of the server","With “Run browsers”: read and write files as the user that runs Warren."],["admi\
n","Everything","All of these, and keys, workspaces, the log and the server."]];function scopeWords(scopes){return scopes.includes("admin")?"Everything":SCOPES.
filter(([scope])=>scopes.includes(scope)).map(([,short2])=>short2).map((word,i)=>i?word.replace(/^./,first=>first.toLowerCase()):word).join(", ")}var DAY_MS3=24*3600*1e3,LIVES=[["","Never"],["7","In 7 days"],["30","In 30 days"],["90","In 90 days"],["365","In a year"],["day","On a day…"]];function KeyForm({
done,close}){let app=useApp(),known=useStore(app.model.workspaces),form=useForm({name:"",scopes:["read","run","write"],workspaces:[],life:"",day:""}),[made,setMade]=d(
null),make=async values2=>{let key2=await app.api.post("/keys",toBody3(values2));setMade(key2),done?.(key2)},{values}=form;return html`<${Dialog} title=${made?html`Created <${Name}>${made.
name}<//>`:"New key"} close=${close}>${made?html`<${MadeKey} made=${made} close=${close} />`:html`<${Form} form=${form} work=${make} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy||!values.name.trim()||!values.scopes.length||values.life==="day"&&!values.day}>${form.busy?"Creating…":
"Create key"}</button>`}>
    <div class="fields">
      <${Text} form=${form} name="name" label="Name" wide autofocus maxlength="200" placeholder="Nightly tests" hint="Who or what uses it." />
      <${Scopes} form=${form} />
      <${TagField} form=${form} name="workspaces" label="Workspaces" hint=${`Leave empty for all workspaces.${known.length>1?` There are: ${known.join(", ")}.`:
""}`} />
      <${Choice} form=${form} name="life" member="expiresAt" label="Expires" options=${LIVES} />
      ${values.life==="day"&&html`<${Text} form=${form} name="day" label="Day" type="date" min=${new Date(Date.now()+DAY_MS3).toISOString().slice(0,10)} />`}
    </div><//>`}<//>`}function Scopes({form}){let{scopes}=form.values,all=scopes.includes("admin"),toggle=(scope,on)=>form.set("scopes",on?[...scopes,scope]:scopes.
filter(other=>other!==scope));return html`<${Field} wide form=${form} name="scopes" label="May" control=${({id,name:_,...tied})=>html`<div role="group" id=${id} aria-label="What it may do" class="scopes" ...${tied}>${SCOPES.
map(([scope,words,what])=>html`<label key=${scope} class="tick scope">
    <input type="checkbox" checked=${all||scopes.includes(scope)} disabled=${all&&scope!=="admin"} onChange=${event=>toggle(scope,event.currentTarget.checked)} />
    <span><span class="scope-name">${words}</span> <code>${scope}</code><span class="hint scope-what">${what}</span></span></label>`)}</div>`} />`}function toBody3({
name,scopes,workspaces,life,day}){let body={name:name.trim(),scopes:scopes.includes("admin")?["admin"]:scopes};return workspaces.length&&(body.workspaces=workspaces),
life==="day"?body.expiresAt=new Date(`${day}T23:59:59`).toISOString():life&&(body.expiresAt=new Date(Date.now()+Number(life)*DAY_MS3).toISOString()),body}function MadeKey({
made,close}){return html`<div class="dialog-content"><${Notice}><p>Copy the key now. It is not shown again.</p><//>
      <div class="copy-line"><span class="copy-label">Key</span><code tabindex="0" role="group" aria-label="The key">${made.key}</code><${Copy} text=${made.key} label="Copy the key" /></div>
      <p class="hint">Programs send it as <code>Authorization: Bearer …</code>, or read it from <code>WARREN_API_KEY</code>. People log in to this page with it.</p></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>`}var HINT=8;function isOwn(key2){return!key2.revokedAt&&key2.hint===readKey().slice(0,HINT)}function stateOf({revokedAt,expiresAt},now){return revokedAt?{text:"R\
evoked",tone:"quiet",over:!0}:expiresAt&&Date.parse(expiresAt)<=now?{text:"Expired",tone:"quiet",over:!0}:{text:"Active",tone:"good",over:!1}}var COLUMNS2=[{id:"\
name",label:"Key",min:190,grow:2,always:!0,draw:key2=>html`<${NameCell} apiKey=${key2} />`},{id:"state",label:"State",width:104,rank:2,card:!0,draw:key2=>html`<${State} apiKey=${key2} />`},
{id:"scopes",label:"May",min:180,grow:1.6,rank:1,draw:({scopes})=>html`<span class="one-line" title=${scopeWords(scopes)}>${scopeWords(scopes)}</span>`},{id:"wo\
rkspaces",label:"Workspaces",min:110,grow:1,rank:5,draw:({workspaces})=>workspaces?html`<bdi class="one-line" title=${workspaces.join(", ")}>${workspaces.join("\
, ")}</bdi>`:html`<span class="muted">All</span>`},{id:"used",label:"Last used",width:118,rank:3,card:!0,draw:({lastUsedAt})=>lastUsedAt?html`<span class="in-card">Used </span><${Ago} time=${lastUsedAt} />`:
html`<span class="muted">Not used yet</span>`},{id:"expires",label:"Expires",width:112,rank:4,draw:({expiresAt})=>expiresAt?html`<${Until} time=${expiresAt} />`:
html`<span class="muted">Never</span>`},{id:"created",label:"Created",width:112,rank:6,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`},
{id:"id",label:"ID",width:292,rank:9,hidden:!0,draw:({id})=>html`<span class="mono">${id}</span>`}];function NameCell({apiKey:key2}){return html`<span class="two-lines"><span class="title" title=${key2.
name}><${Name}>${key2.name}<//></span>
    <span class="with-mark"><span class="sub mono">${key2.hint}…</span>${isOwn(key2)&&html`<span class="mark">This page</span>`}${key2.session&&html`<span class="mark is-quiet" title="Made by logging in to the page">Login</span>`}</span></span>`}
function State({apiKey}){return html`<${Status} of=${stateOf(apiKey,useNow())} />`}function Until({time:time2}){let at=Date.parse(time2);return html`<time datetime=${time2} title=${new Intl.
DateTimeFormat(void 0,{dateStyle:"medium",timeStyle:"short"}).format(at)}>${new Intl.DateTimeFormat(void 0,{dateStyle:"medium"}).format(at)}</time>`}function Keys(){
let app=useApp(),{rows,selection,view}=useList("/keys",{},({type},list)=>type.startsWith("key.")&&list.changed(null,!0)),columns=useColumns("keys",()=>COLUMNS2),
{total,problem}=view;return problem?.status===403?html`<${Missing} problem=${problem} what="the keys" />`:html`
    <div class="settings-head"><p class="lead">A key is a password for programs and people. Give each its own, with no more than it needs.</p>
      <div class="tools"><${ViewMenu} columns=${columns} /><button type="button" class="button primary" onClick=${()=>app.open(KeyForm,{done:()=>rows.reload().catch(
()=>{})})}><${Icon} name="plus" /><span>New key</span></button></div></div>
    <${Missing} problem=${problem} what="the keys" />
    ${total===0?html`<${Empty} title="No keys yet" drawing=${!1} />`:html`<div class="page-body"><${Grid} label="Keys" ...${{rows,columns,selection}} what=${({name})=>name} tone=${key2=>key2.
revokedAt?"is-over":""}
      actionsWidth=${172} actions=${key2=>html`<div class="actions"><a class="button small" href=${activityOf(key2.id,"keyId")} aria-label=${`Activity of ${key2.
name}`}>Activity</a>${!key2.revokedAt&&html`<button type="button" class="button small" aria-label=${`Revoke ${key2.name}`} onClick=${()=>askToRevoke(app,[key2],
rows)}>Revoke</button>`}</div>`} /></div>`}
    <${BulkBar} selection=${selection} total=${total??0} what="key" actions=${[{label:"Revoke",icon:"close",danger:!0,run:()=>{let keys=rows.loaded().filter(key2=>selection.
has(key2.id)&&!key2.revokedAt);selection.clear(),keys.length&&askToRevoke(app,keys,rows)}}]} />
    <p class="visually-hidden" role="status">${total!==null&&count(total,"key")}</p>`}function askToRevoke(app,keys,rows){let own=keys.some(isOwn),used=keys.length===
1&&keys[0].lastUsedAt;app.open(ConfirmDialog,{title:keys.length===1?"Revoke this key?":`Revoke ${number(keys.length)} keys?`,verb:"Revoke",work:async()=>{for(let key2 of[
...keys].sort((a,b)=>isOwn(a)-isOwn(b)))await app.api.delete(`/keys/${encodeURIComponent(key2.id)}`).catch(problem=>{if(problem.status!==404)throw problem});app.
toasts.say({text:keys.length===1?`${keys[0].name} is revoked.`:`${number(keys.length)} keys are revoked.`}),await rows.reload().catch(()=>{})},children:html`${own&&
html`<p class="bad-text"><strong>This page is logged in with ${keys.length===1?"this key":"one of them"}.</strong> You are logged out at once.</p>`}
      <p>${keys.length===1?html`Whoever uses <${Name}>${keys[0].name}<//> is refused from now on.`:"Whoever uses them is refused from now on."} Live views and clients that came with ${keys.
length===1?"it":"them"} are cut off. This cannot be undone.</p>
      ${used&&html`<p class="muted">Last used <${Ago} time=${used} />.</p>`}`})}var NOTHING2=html`<span class="muted not-in-card">–</span>`,SOON=5,MINUTE=60;function seen(seconds){if(seconds>=SOON&&seconds<MINUTE)return`${Math.round(seconds)}\
 s ago`;let now=Date.now();return ago(new Date(now-1e3*seconds).toISOString(),now)}var COLUMNS3=[{id:"name",label:"Server",min:200,grow:2,always:!0,draw:node2=>html`<${NameCell2} node=${node2} />`},
{id:"state",label:"State",width:124,rank:1,card:!0,draw:node2=>html`<span class="two-lines"><${Status} of=${nodeState(node2)} />${node2.draining&&node2.state!==
"up"&&html`<span class="sub">Draining</span>`}</span>`},{id:"running",label:"Running",width:100,numeric:!0,rank:2,card:!0,draw:({running,maxRunning})=>html`<span title="Browsers that run there, and may run at once">${number(
running)}${maxRunning!==null&&html`<span class="muted"> of ${number(maxRunning)}</span>`}<span class="in-card"> running</span></span>`},{id:"pressure",label:"Pr\
essure",width:96,numeric:!0,rank:3,card:!0,draw:({state,pressure})=>state==="up"?html`<span title="What the machine has least of: processor, memory or places for browsers">${number(
pressure)} %<span class="in-card"> busy</span></span>`:NOTHING2},{id:"labels",label:"Labels",min:120,grow:1.2,rank:4,draw:({labels})=>html`<${Tags} tags=${Object.
entries(labels).map(([name,value])=>`${name}=${value}`)} most=${2} />`},{id:"seen",label:"Seen",width:116,rank:5,draw:({seenSecondsAgo:s,startedAt})=>html`<span class="muted number" title=${`\
Started ${moment(startedAt)}`}>${seen(s)}</span>`},{id:"version",label:"Version",width:110,rank:6,draw:({version})=>html`<span class="one-line" title=${version}>${version}</span>`},
{id:"browsers",label:"Browsers",min:120,grow:1,rank:7,hidden:!0,draw:({browsers})=>html`<span class="one-line">${browsers.map(({version})=>version).join(", ")||
"None"}</span>`},{id:"id",label:"ID",width:292,rank:9,hidden:!0,draw:({id})=>html`<span class="mono">${id}</span>`}];function NameCell2({node:{name,address:address3,
self}}){return html`<span class="two-lines"><span class="with-mark"><span class="title" title=${name}><${Name}>${name}<//></span>${self&&html`<span class="mark" title="The server that answers this page">This page</span>`}</span>
    <span class="sub" title=${address3}>${address3}</span></span>`}function useMayChange(){let{api}=useApp(),[may2,setMay]=d(!1);return A(()=>{api.get("/keys",{
limit:1}).then(()=>setMay(!0),()=>{})},[]),may2}function Nodes(){let app=useApp(),all=useStore(app.nodes.all),[problem,setProblem]=d(null);useFreshNodes(!0,setProblem);
let mayChange=useMayChange(),rows=w(()=>new FixedRows,[]),selection=w(()=>new Selection,[]);A(()=>rows.set(all),[all]);let columns=useColumns("nodes",()=>COLUMNS3),
show=({id})=>app.router.go(href("profiles",new URLSearchParams({nodeId:id})));return html`
    <div class="settings-head"><p class="lead">The servers that share the database. A profile runs on the one that has its data.${mayChange?"":" To drain and re\
move them you need a key with the scope admin that sees all workspaces."}</p>
      <div class="tools"><${ViewMenu} columns=${columns} /></div></div>
    <${Missing} problem=${problem} what="the servers" scope="read" />
    ${all.length?html`<div class="page-body"><${Grid} label="Servers" ...${{rows,columns,selection}} ticks=${!1} open=${show} what=${({name})=>name} tone=${({state})=>state===
"up"?"":"is-over"}
      actionsWidth=${mayChange?144:60} actions=${node2=>html`<${Actions2} ...${{node:node2,mayChange,show}} />`} /></div>`:!problem&&html`<${Waiting} />`}
    <p class="visually-hidden" role="status">${all.length>0&&count(all.length,"server")}</p>`}function Actions2({node:node2,mayChange,show}){let app=useApp(),busy=useStore(
app.busy).has(node2.id),{name,draining}=node2;return html`<div class="actions">
    ${mayChange&&html`<button type="button" class="button small" disabled=${busy} aria-label=${`${draining?"Undrain":"Drain"} ${name}`} onClick=${()=>draining?undrain(
app,node2):askToDrain(app,node2)}>${draining?"Undrain":"Drain"}</button>`}
    <${Menu} label=${`More for ${name}`} items=${[{label:"Show its profiles",icon:"profiles",run:()=>show(node2)},mayChange&&{label:"Activity",icon:"activity",run:()=>app.
router.go(activityOf(node2.id))},mayChange&&node2.state!=="up"&&{label:"Remove",icon:"trash",danger:!0,run:()=>askToRemove(app,node2)}]} /></div>`}function again(app){
return app.nodes.read().catch(()=>{})}function undrain(app,{id,name}){return app.during(id,async()=>{try{await app.api.post(`/nodes/${encodeURIComponent(id)}/un\
drain`),app.toasts.say({text:`${name} takes starts again.`,tone:"good"})}catch(problem){app.fail(`${name} still takes no starts`,problem)}await again(app)})}function askToDrain(app,{
id,name}){app.open(ConfirmDialog,{title:"Drain this server?",verb:"Drain",tone:"primary",work:async()=>{await app.api.post(`/nodes/${encodeURIComponent(id)}/dra\
in`),app.toasts.say({text:`${name} takes no new starts.`}),await again(app)},children:html`<p><${Name}>${name}<//> takes no new starts, over its restarts too, until you undrain it. What runs there goes on.</p>
      <p>Profiles whose data it has cannot start meanwhile. Those without a server go to others.</p>`})}function askToRemove(app,node2){let forget3={current:!1};
app.open(ConfirmDialog,{title:"Remove this server?",verb:"Remove",work:async()=>{await app.api.delete(`/nodes/${encodeURIComponent(node2.id)}`,{forget:forget3.current?
"true":""}).catch(problem=>{if(problem.status!==404)throw problem}),app.toasts.say({text:`Removed the server ${node2.name}.`}),await again(app)},children:html`<${WhatGoes} ...${{
node:node2,forget:forget3}} />`})}function WhatGoes({node:{id,name,seenSecondsAgo},forget:forget3}){let{api}=useApp(),[profiles,setProfiles]=d(null),box=T(null);
return A(()=>{api.get("/profiles",{nodeId:id,limit:1,page:1}).then(({total})=>setProfiles(total),()=>{})},[]),html`<p>Only for a server that does not come back. <${Name}>${name}<//> was last seen ${seen(
seenSecondsAgo)}. Its runs count as lost.</p>
    ${profiles>0&&html`<p>It has the data of ${count(profiles,"profile")}. ${profiles===1?"It waits":"They wait"} for the server, unless you give the data up.</p>`}
    <label class="tick"><input type="checkbox" ref=${box} onChange=${()=>{forget3.current=box.current.checked}} /> Give up the data. The profiles start anew on other servers, without their logins.</label>`}var ACTIONS_OF=[["start","Start profiles"],["stop","Stop profiles"],["snapshot","Keep snapshots of profiles"],["check","Check proxies"],["rotate","Change the ex\
its of proxies"]],WHEN=[["cron","At certain times"],["every","At an interval"]];function ofProxies(action){return action==="check"||action==="rotate"}function toForm2(schedule2,workspace3=""){
let s=schedule2||{};return{name:s.name||"",workspaceId:s.workspaceId||workspace3,when:s.everyMs==null?"cron":"every",cron:s.cron||"",timeZone:s.timeZone||(schedule2?
"":Intl.DateTimeFormat().resolvedOptions().timeZone||"UTC"),everyMs:s.everyMs==null?"":String(Number((s.everyMs/6e4).toFixed(6))),action:s.action||"start",by:s.
profileIds||s.proxyIds?"ids":"tag",tag:s.tag||"",ids:(s.profileIds||s.proxyIds||[]).join(`
`),startUrls:(s.startUrls||[]).join(`
`),maxRunMs:s.maxRunMs==null?"":String(s.maxRunMs/6e4),catchUp:!!s.catchUp,enabled:s.enabled??!0}}function milliseconds2(text3,empty){let value=number2(text3);return value===
""?empty:typeof value=="number"?Math.round(value*6e4):value}function toSchedule(values){let start2=values.action==="start",urls=linesOf(values.startUrls);return{
name:values.name,enabled:values.enabled,...values.when==="cron"?{cron:values.cron.trim(),timeZone:values.timeZone.trim()||null}:{everyMs:milliseconds2(values.everyMs,
0)},action:values.action,...values.by==="tag"?{tag:values.tag}:{[ofProxies(values.action)?"proxyIds":"profileIds"]:linesOf(values.ids)},...start2&&{startUrls:urls.
length?urls:null,maxRunMs:milliseconds2(values.maxRunMs,null)},catchUp:values.catchUp}}var FIELDS4=[{label:"Name",names:["name"],words:({name})=>name},{label:"E\
nabled",names:["enabled"],words:({enabled})=>enabled?"Yes":"No"},{label:"When",names:["when","cron","timeZone","everyMs"],words:({when:when2,cron,timeZone,everyMs})=>when2===
"cron"?`${cron} (${timeZone||"UTC"})`:`Every ${everyMs} minutes`},{label:"What",names:["action"],words:({action})=>ACTIONS_OF.find(([value])=>value===action)?.[1]??
action},{label:"Which",names:["by","tag","ids"],words:({by,tag,ids})=>by==="tag"?`Tagged ${tag}`:ids.trim()||"None"},{label:"Start pages",names:["startUrls"],words:({
startUrls})=>startUrls.trim()||"Those of the profile"},{label:"Maximum run time",names:["maxRunMs"],words:({maxRunMs})=>maxRunMs.trim()||"That of the profile"},
{label:"Make up for missed runs",names:["catchUp"],words:({catchUp})=>catchUp?"Once":"No"}];function ScheduleDialog({schedule:schedule2,done,close}){let app=useApp(),
[read,setRead]=d(null),[problem,setProblem]=d(null),path=schedule2&&`/schedules/${encodeURIComponent(schedule2.id)}`;return A(()=>{path&&app.api.full("GET",path).
then(setRead,setProblem)},[]),html`<${Dialog} sheet title=${schedule2?html`Edit <${Name}>${schedule2.name}<//>`:"New schedule"} close=${close}>
    ${path&&!read?html`<div class="dialog-content"><${ProblemBox} problem=${problem} />${!problem&&html`<${Waiting} />`}</div>`:schedule2?html`<${EditForm3} ...${{
...read,path,done,close}} />`:html`<${NewForm3} ...${{done,close}} />`}
  <//>`}function NewForm3({done,close}){let app=useApp(),form=useForm(toForm2(null,useStore(app.model.workspace))),create=async values=>{let workspaceId=values.
workspaceId.trim(),made=await app.api.post("/schedules",{...toSchedule(values),...workspaceId&&{workspaceId}});app.model.sawWorkspaces([made]),app.toasts.say({text:`\
Created the schedule ${made.name}.`,tone:"good"}),await done?.(made),close()},foot=html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.
busy}>${form.busy?"Creating…":"Create"}</button>`;return html`<${Form} form=${form} work=${create} foot=${foot}><${Fields2} form=${form} /><//>`}function EditForm3({
data,etag,path,done,close}){let app=useApp(),form=useForm(toForm2(data)),version=useVersion({form,data,etag,read:()=>app.api.full("GET",path),toValues:toForm2,fields:FIELDS4}),
save2=async values=>{let saved=await version.save((headers,before)=>app.api.full("PUT",path,{body:differing(toSchedule(toForm2(before)),toSchedule(values)),headers}));
saved&&(app.toasts.say({text:`Saved the schedule ${saved.data.name}.`,tone:"good"}),await done?.(saved.data),close())},foot=html`<button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy||!!version.conflict}>${form.busy?"Saving…":"Save"}</button>`;return html`<${Form} form=${form} work=${save2} foot=${foot} saved=${version.
first}>
    <${Conflict} version=${version} />
    <${Course} schedule=${data} />
    <${Fields2} form=${form} fixed=${data.workspaceId} />
  <//>`}function differing(before,after){return Object.fromEntries(Object.entries(after).filter(([name,value])=>JSON.stringify(value)!==JSON.stringify(before[name])))}
function Course({schedule:{nextRuns,lastRun,missed,skipped}}){return html`<dl class="facts-list">
    <div><dt>Next</dt><dd>${nextRuns.length?nextRuns.map(time2=>html`<div key=${time2}><time class="number" datetime=${time2}>${moment(time2)}</time></div>`):"N\
othing is planned"}</dd></div>
    <div><dt>Last run</dt><dd>${lastRun?html`<time class="number" datetime=${lastRun.at}>${moment(lastRun.at)}</time>: ${outcomeWords(lastRun)}`:"None yet"}
      ${lastRun?.errors.map(({id,message})=>html`<div key=${id} class="muted"><span class="mono">${id}</span> ${sentence(message)}</div>`)}</dd></div>
    ${missed+skipped>0&&html`<div><dt>Did not run</dt><dd>${leftOutWords({missed,skipped})}</dd></div>`}
  </dl>`}var OUTCOMES={running:{text:"Running",tone:"good"},done:{text:"Done",tone:"quiet"},partial:{text:"Failed in part",tone:"bad"},failed:{text:"Failed",tone:"\
bad"},interrupted:{text:"Interrupted",tone:"wait"}};function outcomeWords({status,targets,done,message}){return message?sentence(message):status==="interrupted"?
"The server ended first.":status==="running"?"It goes on.":`Done for ${done} of ${targets}.`}function leftOutWords({missed,skipped}){return[missed>0&&`${count(missed,
"run was","runs were")} missed`,skipped>0&&`${count(skipped,"run was","runs were")} skipped, as the one before went on`].filter(Boolean).join("; ")}function Fields2({
form,fixed}){let{values}=form,proxies=ofProxies(values.action),what=proxies?"proxies":"profiles",zones2=Intl.supportedValuesOf?Intl.supportedValuesOf("timeZone"):
[];return html`<div class="fields">
    <${Text} form=${form} name="name" label="Name" wide autofocus maxlength="200" />
    <${Choice} form=${form} name="action" label="What to do" wide options=${ACTIONS_OF} />
    <${Choice} form=${form} name="by" member="" label=${`Which ${what}`} options=${[["tag","Those with a tag"],["ids","These"]]} />
    ${values.by==="tag"?html`<${Text} form=${form} name="tag" label="Tag" maxlength="64" placeholder="shop" hint="Whatever has it when it is due." />`:html`<${Ids} form=${form} member=${proxies?
"proxyIds":"profileIds"} label=${`IDs of the ${what}`} />`}
    <${Choice} form=${form} name="when" member="" label="When" options=${WHEN} />
    ${values.when==="every"?html`<${Text} form=${form} name="everyMs" label="Every (minutes)" inputmode="decimal" placeholder="30" />`:html`<${Text} form=${form} name="cron" label="Cron expression" placeholder="0 9 * * 1-5" hint="Minute, hour, day of month, month, day of week." />
      <${Text} form=${form} name="timeZone" label="Time zone" list="schedule-zones" placeholder="UTC" wide />
      <datalist id="schedule-zones">${zones2.map(zone=>html`<option key=${zone} value=${zone} />`)}</datalist>`}
    ${values.action==="start"&&html`<${Lines} form=${form} name="startUrls" label="Start pages" optional rows=${2} placeholder="https://…" hint="One URL per line, instead of the profile’s." />
      <${Text} form=${form} name="maxRunMs" label="Maximum run time (minutes)" inputmode="decimal" placeholder="As the profile says" hint="Then the browser is closed." />`}
    <${Tick} form=${form} name="catchUp" label="Make up for missed runs" hint="Once, if no server ran or the machine slept when it was due." />
    <${Tick} form=${form} name="enabled" label="Enabled" />
    ${!fixed&&html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" hint="It cannot be changed later." />`}
  </div>`}function Ids({form,member,label}){return html`<${Lines} form=${form} name="ids" member=${member} label=${label} rows=${3} hint="One per line. The column ID of the list has them." />`}var NOTHING3=html`<span class="muted not-in-card">–</span>`,COLUMNS4=[{id:"name",label:"Schedule",min:150,grow:2,always:!0,draw:({name})=>html`<span class="title" title=${name}><${Name}>${name}<//></span>`},
{id:"what",label:"What",min:150,grow:1.6,rank:2,card:!0,draw:schedule2=>html`<bdi class="one-line" title=${whatWords(schedule2)}>${whatWords(schedule2)}</bdi>`},
{id:"when",label:"When",min:130,grow:1.2,rank:4,draw:schedule2=>html`<bdi class="one-line" title=${whenWords(schedule2)}>${whenWords(schedule2)}</bdi>`},{id:"ne\
xt",label:"Next",width:142,rank:3,card:!0,draw:({nextRuns,enabled})=>nextRuns.length?html`<time class="number" datetime=${nextRuns[0]} title=${nextRuns.map(moment).
join(`
`)}>${soon(nextRuns[0])}</time>`:html`<span class="muted">${enabled?"Nothing":"Off"}</span>`},{id:"last",label:"Last result",min:130,grow:1.2,rank:1,card:!0,draw:({
lastRun})=>lastRun?html`<span class="one-line" title=${outcomeWords(lastRun)}><${Status} of=${OUTCOMES[lastRun.status]||OUTCOMES.failed} /></span>`:NOTHING3},{id:"\
ran",label:"Last run",width:118,rank:5,draw:({lastRun})=>lastRun?html`<span class="muted"><${Ago} time=${lastRun.at} /></span>`:NOTHING3},{id:"left",label:"Did \
not run",width:104,numeric:!0,rank:6,draw:schedule2=>schedule2.missed+schedule2.skipped?html`<span title=${leftOutWords(schedule2)}>${number(schedule2.missed+schedule2.
skipped)}</span>`:NOTHING3},{id:"workspace",label:"Workspace",width:130,rank:7,draw:({workspaceId})=>html`<bdi class="one-line">${workspaceId}</bdi>`},{id:"id",
label:"ID",width:292,rank:9,hidden:!0,draw:({id})=>html`<span class="mono">${id}</span>`}];function whatWords({action,tag,profileIds,proxyIds}){let which=tag!=null?
`tag ${tag}`:profileIds?count(profileIds.length,"profile"):count(proxyIds.length,"proxy","proxies");return`${ACTIONS_OF.find(([value])=>value===action)?.[1]??action}\
: ${which}`}function whenWords({cron,timeZone,everyMs}){return everyMs==null?`${cron} (${timeZone})`:`Every ${span(everyMs)}`}function Schedules({params}){let app=useApp(),
workspaceId=useStore(app.model.workspace),search=params.get("search")||"",{rows,selection,view}=useList("/schedules",{workspaceId,search},({type},list)=>type.startsWith(
"schedule.")&&list.changed(null,!0)),columns=useColumns("schedules",()=>COLUMNS4),{total,problem}=view,reload=()=>rows.reload().catch(()=>{}),make=()=>app.open(
ScheduleDialog,{done:reload}),edit=schedule2=>app.open(ScheduleDialog,{schedule:schedule2,done:reload});return html`
    <div class="settings-head"><p class="lead">A schedule starts, stops or keeps profiles, or checks proxies, while the server runs. It never overlaps itself.</p>
      <div class="tools">${(total>0||search)&&html`<${SearchBox} value=${search} label="Search schedules" change=${text3=>app.router.refine({search:text3},{replace:!0})} /><${ViewMenu} columns=${columns} />`}
        <button type="button" class="button primary" onClick=${make}><${Icon} name="plus" /><span>New schedule</span></button></div></div>
    <${Missing} problem=${problem} what="the schedules" scope="read" />
    ${total===0&&!problem?html`<${Empty} title=${search?"No matches":"No schedules yet"} drawing=${!1}>${!search&&html`<p>With one, a profile can start each morning, or proxies can be checked at night.</p>`}<//>`:
html`<div class="page-body"><${Grid} label="Schedules" ...${{rows,columns,selection}} ticks=${!1} open=${edit} what=${({name})=>name}
      actionsWidth=${132} actions=${schedule2=>html`<div class="actions"><button type="button" class="button small" aria-label=${`Edit ${schedule2.name}`} onClick=${()=>edit(
schedule2)}><${Icon} name="edit" />Edit</button>
        <${Menu} label=${`More for ${schedule2.name}`} items=${[{label:schedule2.enabled?"Switch off":"Switch on",icon:schedule2.enabled?"stop":"play",run:()=>turn(
app,schedule2,reload)},{label:"Delete",icon:"trash",danger:!0,run:()=>askToDelete3(app,schedule2,reload)}]} /></div>`} /></div>`}
    <p class="visually-hidden" role="status">${total!==null&&count(total,"schedule")}</p>`}async function turn(app,{id,name,enabled},reload){try{await app.api.put(
`/schedules/${encodeURIComponent(id)}`,{enabled:!enabled}),app.toasts.say({text:`${name} is switched ${enabled?"off":"on"}.`})}catch(problem){app.fail(`${name} \
was not changed`,problem)}await reload()}function askToDelete3(app,schedule2,reload){app.open(ConfirmDialog,{title:"Delete this schedule?",verb:"Delete",work:async()=>{
await app.api.delete(`/schedules/${encodeURIComponent(schedule2.id)}`).catch(problem=>{if(problem.status!==404)throw problem}),app.toasts.say({text:`Deleted the\
 schedule ${schedule2.name}.`}),await reload()},children:html`<p><${Name}>${schedule2.name}<//> does not run any more. What runs now goes on. This cannot be undone.</p>`})}function ServerSection(){let server=useAnswer("/server"),pressure=useAnswer("/pressure",{},({type})=>/^run\.(?:started|ended)$/.test(type));return html`<div class="settings-head"><p class="lead">How the server does, and what it was started with.</p>
      <div class="tools"><button type="button" class="button" onClick=${()=>{server.reload(),pressure.reload()}}><${Icon} name="reload" /><span>Refresh</span></button></div></div>
    ${!pressure.data&&!pressure.problem&&html`<${Waiting} />`}
    <${Missing} problem=${pressure.problem} what="the server’s load" scope="read" />
    ${pressure.data&&html`<${Load} now=${pressure.data} />`}
    <${Missing} problem=${server.problem} what="the settings of the server and what its doctor finds" />
    ${server.data&&html`<${About} server=${server.data} /><${Findings2} findings=${server.data.findings} /><${Flags2} settings=${server.data.settings} />`}`}function Load({
now}){let{cpu,memory,disk}=now,used=memory&&memory.totalBytes-memory.availableBytes,waits=[now.starting>0&&count(now.starting,"is starting","are starting"),now.
queued>0&&count(now.queued,"start waits","starts wait"),now.recentRejected>0&&`${count(now.recentRejected,"start was","starts were")} refused within the last mi\
nute`].filter(Boolean).join(". ");return html`<section class="settings-part" aria-label="Load"><div class="gauges">
    <${Gauge} label="Browsers" value=${number(now.running)} more=${now.maxRunning?`of ${number(now.maxRunning)} at most`:"running, no limit set"} share=${now.maxRunning?
now.running/now.maxRunning:null} />
    <${Gauge} label="Processor" value=${cpu.percent==null?"–":`${Math.round(cpu.percent)} %`} more=${`of ${count(cpu.cores,"core")}${cpu.load1==null?"":` · lo\
ad ${cpu.load1.toFixed(1)}`}`} share=${cpu.percent==null?null:cpu.percent/100} />
    <${Gauge} label="Memory" value=${memory?bytes(used):"–"} more=${memory?`of ${bytes(memory.totalBytes)}`:"not known here"} share=${memory?used/memory.totalBytes:
null} />
    <${Gauge} label="Disk" value=${disk?bytes(disk.freeBytes):"–"} more=${disk?"free for profiles":"not known here"} share=${null} />
    </div><p class="load-words"><${Status} of=${now.accepting?{text:"Ready for more browsers",tone:"good"}:{text:"Further starts wait",tone:"wait"}} />${waits&&
html`<span class="muted">${waits}.</span>`}</p></section>`}function Gauge({label,value,more:more2,share}){return html`<div class="gauge"><p class="gauge-label">${label}</p><p class="gauge-value number">${value}</p><p class="gauge-more">${more2}</p>
    ${share!==null&&html`<meter class="gauge-bar" min="0" max="1" high="0.85" value=${Math.min(1,share)} aria-label=${`${label} in use`}>${Math.round(share*100)} %</meter>`}</div>`}
function About({server}){let now=useNow(),{version,go,commit}=server.version,nodes=useStore(useApp().nodes.all);return html`<section class="settings-part"><h2>This server</h2><${Facts} pairs=${[
["Name",nodes.length>1&&html`<bdi>${nodes.find(({self})=>self)?.name}</bdi> <a href=${href("settings",void 0,["servers"])}>of ${count(nodes.length,"server")}</a>`],
["Version",html`${version}${commit&&commit!=="unknown"?html` <span class="muted mono">${commit.slice(0,12)}</span>`:""}`],["Built with",go],["Running for",html`<time datetime=${server.
startedAt} title=${moment(server.startedAt)}>${lasting(server.startedAt,now)}</time>`],["Listens on",html`<span class="mono">${server.address}</span>`],["Data f\
older",html`<span class="with-copy"><span class="mono">${server.dataFolder}</span><${Copy} text=${server.dataFolder} label="Copy the data folder" /></span>`]]} /></section>`}
var NAMES={__proto__:null,browser:"Browser",browsers:"Versions",sandbox:"Sandbox",isolation:"Isolation",files:"Files",display:"Display",clock:"Clock",disk:"Disk",
data:"Data folder","open files":"Open files","/dev/shm":"Shared memory"};function Findings2({findings}){let bad=findings.filter(({ok})=>!ok),sorted2=[...bad,...findings.
filter(({ok})=>ok)];return html`<section class="settings-part"><h2>Doctor</h2><p class="muted">${bad.length?`${count(bad.length,"thing needs","things need")} a \
look.`:"Everything is in order."} <code>warren doctor --leaks</code> also tries every way out of a browser.</p>
    <ul class="findings">${sorted2.map(({name,ok,detail,advice})=>html`<li key=${name} class=${ok?"finding":"finding is-bad"}><${Icon} name=${ok?"check":"warnin\
g"} /><p class="finding-name">${NAMES[name]||name} <span class="visually-hidden">${ok?"in order":"needs a look"}</span></p>
      <div><p class="muted prose-lines">${sentence(detail)}</p>${advice&&html`<p class="prose-lines">${sentence(advice)}</p>`}</div></li>`)}</ul></section>`}function Flags2({
settings}){let changed=settings.filter(setting=>setting.changed),[all,setAll]=d(!1),shown=all?settings:changed;return html`<section class="settings-part"><div class="settings-head"><h2>Settings in force</h2>
      <div class="segments" role="group" aria-label="Which settings"><button type="button" class="segment-button" aria-pressed=${!all} onClick=${()=>setAll(!1)}>Changed ${number(
changed.length)}</button>
        <button type="button" class="segment-button" aria-pressed=${all} onClick=${()=>setAll(!0)}>All ${number(settings.length)}</button></div></div>
    <p class="muted">They are given as flags, in the environment or in the configuration file, and apply from the next start of <code>warren serve</code>. Passwords in addresses are not shown.</p>
    ${shown.length===0?html`<p>Everything is at its default.</p>`:html`<div class="table-box" tabindex="0" role="region" aria-label="Settings in force"><table class="plain-table"><thead><tr><th scope="col">Flag</th><th scope="col">Value</th><th scope="col">What it does</th></tr></thead>
      <tbody>${shown.map(({name,values,changed:other,help,default:byDefault})=>html`<tr key=${name}><th scope="row"><code>--${name}</code></th>
        <td class=${other?"value-cell":"value-cell muted"}>${values.length?values.map(value=>html`<code key=${value} class="path">${value}</code>`):"–"}${other&&
byDefault?html`<span class="hint">Default: ${byDefault}</span>`:""}</td><td class="muted wide-cell">${help}</td></tr>`)}</tbody></table></div>`}</section>`}var NOTHING4=html`<span class="muted not-in-card">–</span>`,ITS_OWN=["id","workspaceId","name","createdAt","updatedAt"],COLUMNS5=[{id:"name",label:"Template",
min:190,grow:2.4,always:!0,draw:({name})=>html`<span class="title" title=${name}><${Name}>${name}<//></span>`},{id:"os",label:"System",width:112,rank:3,card:!0,
draw:({os})=>os?SYSTEMS[os]:NOTHING4},{id:"proxy",label:"Proxy",min:160,grow:1.4,rank:1,draw:({proxies,proxyId})=>proxies?html`<bdi class="one-line" title=${dealtWords(
proxies)}>${dealtWords(proxies)}</bdi>`:proxyId?"All the same":NOTHING4},{id:"tags",label:"Tags",min:110,grow:1,rank:4,draw:({tags})=>tags?.length?html`<${Tags} tags=${tags} />`:
NOTHING4},{id:"settings",label:"Settings",width:96,numeric:!0,rank:2,card:!0,draw:template2=>html`${number(settingsOf(template2))}<span class="in-card"> ${settingsOf(
template2)===1?"setting":"settings"}</span>`},{id:"workspace",label:"Workspace",width:130,rank:6,draw:({workspaceId})=>html`<bdi class="one-line">${workspaceId}</bdi>`},
{id:"updated",label:"Changed",width:118,rank:5,draw:({updatedAt})=>html`<span class="muted"><${Ago} time=${updatedAt} /></span>`},{id:"id",label:"ID",width:292,
rank:9,hidden:!0,draw:({id})=>html`<span class="mono">${id}</span>`}];function settingsOf(template2){return Object.keys(template2).filter(name=>!ITS_OWN.includes(
name)).length}function Templates({params}){let app=useApp(),workspaceId=useStore(app.model.workspace),search=params.get("search")||"",{rows,selection,view}=useList(
"/templates",{workspaceId,search},({type},list)=>type.startsWith("template.")&&list.changed(null,!0)),columns=useColumns("templates",()=>COLUMNS5),{total,problem}=view,
reload=()=>rows.reload().catch(()=>{}),make=()=>app.open(TemplateDialog,{done:reload}),edit=template2=>app.open(TemplateDialog,{template:template2,done:reload});
return html`
    <div class="settings-head"><p class="lead">A template fills in the settings of new profiles. They keep them when the template changes or is deleted.</p>
      <div class="tools">${(total>0||search)&&html`<${SearchBox} value=${search} label="Search templates" change=${text3=>app.router.refine({search:text3},{replace:!0})} /><${ViewMenu} columns=${columns} />`}
        <button type="button" class="button primary" onClick=${make}><${Icon} name="plus" /><span>New template</span></button></div></div>
    <${Missing} problem=${problem} what="the templates" scope="read" />
    ${total===0&&!problem?html`<${Empty} title=${search?"No matches":"No templates yet"} drawing=${!1}>${!search&&html`<p>Make one here, or from a profile: “Save as a template” in its menu.</p>`}<//>`:
html`<div class="page-body"><${Grid} label="Templates" ...${{rows,columns,selection}} ticks=${!1} open=${edit} what=${({name})=>name}
      actionsWidth=${132} actions=${template2=>html`<div class="actions"><button type="button" class="button small" aria-label=${`Edit ${template2.name}`} onClick=${()=>edit(
template2)}><${Icon} name="edit" />Edit</button>
        <${Menu} label=${`More for ${template2.name}`} items=${[{label:"Delete",icon:"trash",danger:!0,run:()=>askToDelete4(app,template2,reload)}]} /></div>`} /></div>`}
    <p class="visually-hidden" role="status">${total!==null&&count(total,"template")}</p>`}function askToDelete4(app,template2,reload){app.open(ConfirmDialog,{title:"\
Delete this template?",verb:"Delete",work:async()=>{await app.api.delete(`/templates/${encodeURIComponent(template2.id)}`).catch(problem=>{if(problem.status!==404)
throw problem}),app.toasts.say({text:`Deleted the template ${template2.name}.`}),await reload()},children:html`<p>Profiles that were created with <${Name}>${template2.
name}<//> keep their settings. This cannot be undone.</p>`})}var STATES3={__proto__:null,pending:{text:"Waiting",tone:"wait"},delivered:{text:"Delivered",tone:"good"},failed:{text:"Failed",tone:"bad"}};function Attempts({
attempts}){return html`<ul class="lines-list">${[...attempts].reverse().map(attempt=>html`<li key=${attempt.at} class="attempt"><p class="attempt-head"><${Status} of=${attempt.
error?STATES3.failed:STATES3.delivered} /><span class="muted number">${moment(attempt.at)} · ${span(attempt.durationMs)}${attempt.status==null?"":` · HTTP ${attempt.
status}`}</span></p>
    ${attempt.error&&html`<p>${sentence(attempt.error.message)}</p>`}
    ${attempt.answer&&html`<pre class="lines" tabindex="0" aria-label="How the answer begins">${attempt.answer}</pre>`}</li>`)}</ul>`}function useTest({id}){let{
api}=useApp(),[state,setState]=d({busy:!1,sent:null,problem:null});return{...state,send:async()=>{setState({busy:!0,sent:null,problem:null}),await api.post(`/we\
bhooks/${encodeURIComponent(id)}/test`).then(sent=>setState({busy:!1,sent,problem:null}),problem=>setState({busy:!1,sent:null,problem}))}}}function TestResult({
test:{sent,problem,busy}}){return html`<div role="status">${busy?"Waiting for the answer, for up to 20 seconds…":sent&&html`<${Attempts} attempts=${sent.attempts} />`}</div><${ProblemBox} problem=${problem} />`}
function TestDialog({webhook:webhook2,close}){let test=useTest(webhook2);return A(()=>{test.send()},[]),html`<${Dialog} title="Test the webhook" lead=${html`<bdi class="path">${webhook2.
url}</bdi>`} close=${close}>
    <div class="dialog-content"><p class="hint">An event <code>webhook.test</code> is sent once.</p><${TestResult} test=${test} /></div>
    <footer class="dialog-foot"><button type="button" class="button" disabled=${test.busy} onClick=${test.send}>Test again</button><button type="button" class="button primary" autofocus onClick=${close}>Close</button></footer><//>`}var HOUR_MS3=3600*1e3,EVENT_KINDS=[["profile","Profiles"],["run","Browsers that run"],["proxy","Proxies"],["snapshot","Snapshots"],["template","Templates"],["sc\
hedule","Schedules"],["extension","Extensions"],["capability","Shared views"],["workspace","The workspace"],["webhook","Webhooks"]];function eventWords(patterns){
return patterns.includes("*")?"Everything":patterns.map(pattern=>pattern.endsWith(".*")?EVENT_KINDS.find(([kind])=>`${kind}.*`===pattern)?.[1]??pattern:pattern).
join(", ")}function toForm3(webhook2,workspaceId=""){let events=webhook2?.events||["run.*","proxy.died"],isKind=pattern=>EVENT_KINDS.some(([kind])=>`${kind}.*`===
pattern);return{url:webhook2?.url||"",all:events.includes("*"),kinds:events.filter(isKind),types:events.filter(pattern=>pattern!=="*"&&!isKind(pattern)),workspaceId,
enabled:webhook2?.enabled??!0}}function eventsOf({all,kinds,types}){return all?["*"]:[...kinds,...types]}function WebhookDialog({webhook:webhook2,done,close}){let app=useApp(),
form=useForm(toForm3(webhook2,useStore(app.model.workspace))),known=useStore(app.model.workspaces),[made,setMade]=d(null),before=toForm3(webhook2),save2=async values2=>{
let body={url:values2.url.trim(),events:eventsOf(values2),enabled:values2.enabled};if(!webhook2){let fresh=await app.api.post("/webhooks",{...body,...values2.workspaceId.
trim()&&{workspaceId:values2.workspaceId.trim()}});app.model.sawWorkspaces([fresh]),setMade(fresh),done?.(fresh);return}let changed=Object.fromEntries(Object.entries(
body).filter(([name,value])=>JSON.stringify(value)!==JSON.stringify({...before,events:webhook2.events}[name]))),saved=await app.api.put(`/webhooks/${encodeURIComponent(
webhook2.id)}`,changed);app.toasts.say({text:"Saved the webhook.",tone:"good"}),await done?.(saved),close()},{values}=form;return made?html`<${Dialog} title="Created the webhook" lead=${html`<bdi class="path">${made.
url}</bdi>`} close=${close}><${MadeSecret} webhook=${made} close=${close} /><//>`:html`<${Dialog} title=${webhook2?"Edit the webhook":"New webhook"} close=${close}><${Form} form=${form} work=${save2} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button>
    <button class="button primary" disabled=${form.busy||!values.url.trim()||!eventsOf(values).length}>${form.busy?"Saving…":webhook2?"Save":"Create"}</button>`}>
    <div class="fields">
      <${Text} form=${form} name="url" label="Address" wide autofocus maxlength="2048" inputmode="url" class="mono" placeholder="https://example.com/hook" hint="Each event is a POST to it. It answers 2xx within 20 seconds, and works afterwards." />
      <${Kinds} form=${form} />
      ${!values.all&&html`<${TagField} form=${form} name="types" label="Single events" hint="Types such as run.ended or proxy.died." />`}
      ${!webhook2&&html`<${Text} form=${form} name="workspaceId" label="Workspace" wide placeholder="default" list="webhook-workspaces" hint="Its events are told. * is the whole server. It cannot be changed later." />
        <datalist id="webhook-workspaces">${known.map(id=>html`<option key=${id} value=${id} />`)}<option value="*" /></datalist>`}
      <${Tick} form=${form} name="enabled" label="On" hint="While it is off nothing is sent, and new events are not kept for it." />
    </div><//><//>`}function Kinds({form}){let{all,kinds}=form.values,toggle=(pattern,on)=>form.set("kinds",on?[...kinds,pattern]:kinds.filter(other=>other!==pattern));
return html`<${Field} wide form=${form} name="events" label="Tell it of" control=${({id,name:_,...tied})=>html`<div role="group" id=${id} aria-label="Tell it of" class="event-kinds" ...${tied}>
    <label class="tick wide"><input type="checkbox" checked=${all} onChange=${event=>form.set("all",event.currentTarget.checked)} /><span>Everything</span></label>
    ${EVENT_KINDS.map(([kind,words])=>html`<label key=${kind} class="tick"><input type="checkbox" checked=${all||kinds.includes(`${kind}.*`)} disabled=${all} onChange=${event=>toggle(
`${kind}.*`,event.currentTarget.checked)} /><span>${words}</span></label>`)}</div>`} />`}function MadeSecret({webhook:webhook2,close,more:more2}){let test=useTest(
webhook2);return html`<div class="dialog-content"><${Notice}><p>Copy the secret now. It is not shown again.</p><//>
      <div class="copy-line"><span class="copy-label">Secret</span><code tabindex="0" role="group" aria-label="The secret">${webhook2.secret}</code><${Copy} text=${webhook2.
secret} label="Copy the secret" /></div>
      <p class="hint">The endpoint verifies the header <code>webhook-signature</code> with it, by the rules of Standard Webhooks.${more2}</p>
      <${TestResult} test=${test} /></div>
    <footer class="dialog-foot"><button type="button" class="button apart" disabled=${test.busy} onClick=${test.send}>${test.busy?"Sending…":"Send a test"}</button>
      <button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>`}var KEEP=[["0","At once: others know it"],[String(HOUR_MS3),
"In an hour"],[String(24*HOUR_MS3),"In 24 hours"],[String(168*HOUR_MS3),"In 7 days"]];function RotateDialog({webhook:webhook2,done,close}){let app=useApp(),form=useForm(
{keepOldMs:String(24*HOUR_MS3)}),[made,setMade]=d(null),rotate=async({keepOldMs})=>{setMade(await app.api.post(`/webhooks/${encodeURIComponent(webhook2.id)}/rot\
ate-secret`,{keepOldMs:Number(keepOldMs)})),done?.()};return html`<${Dialog} title=${made?"The new secret":"Make a new secret?"} lead=${html`<bdi class="path">${webhook2.
url}</bdi>`} close=${close}>${made?html`<${MadeSecret} webhook=${made} close=${close} more=${made.oldSecretUntil?` The former secret signs too until ${moment(made.
oldSecretUntil)}.`:" The former secret signs nothing more."} />`:html`<${Form} form=${form} work=${rotate} foot=${html`<button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.
busy}>${form.busy?"Making…":"New secret"}</button>`}>
      <div class="fields"><${Choice} form=${form} name="keepOldMs" label="The former secret ends" wide options=${KEEP} hint="Until then both sign each message, so that the endpoint can change at leisure." /></div><//>`}<//>`}function stateOf2({enabled,disabledReason,failingSince}){return disabledReason==="gone"?{text:"Off",tone:"bad",why:"The endpoint answered 410"}:disabledReason?{
text:"Off",tone:"bad",why:"It failed for five days"}:enabled?failingSince?{text:"Failing",tone:"bad",since:failingSince}:{text:"On",tone:"good"}:{text:"Off",tone:"\
quiet"}}function State2({webhook:webhook2}){let state=stateOf2(webhook2);return html`<span class=${state.why||state.since?"two-lines":""}><${Status} of=${state} />${state.
why?html`<span class="sub">${state.why}</span>`:state.since&&html`<span class="sub">First <${Ago} time=${state.since} /></span>`}</span>`}function Actions3({webhook:webhook2,
reload,gone=reload}){let app=useApp(),{id,url,enabled}=webhook2;return html`<div class="actions"><button type="button" class="button small" aria-label=${`Test ${url}`} onClick=${()=>app.
open(TestDialog,{webhook:webhook2})}><${Icon} name="pulse" />Test</button>
    <${Menu} label=${`More for ${url}`} items=${[{label:"Edit",icon:"edit",run:()=>app.open(WebhookDialog,{webhook:webhook2,done:reload})},{label:enabled?"Switc\
h off":"Switch on",icon:enabled?"stop":"play",run:()=>turn2(app,webhook2,reload)},{label:"New secret",icon:"key",run:()=>app.open(RotateDialog,{webhook:webhook2,
done:reload})},{label:"Activity",icon:"activity",run:()=>app.router.go(activityOf(id))},"line",{label:"Delete",icon:"trash",danger:!0,run:()=>askToDelete5(app,webhook2,
gone)}]} /></div>`}async function turn2(app,{id,enabled},reload){try{await app.api.put(`/webhooks/${encodeURIComponent(id)}`,{enabled:!enabled}),app.toasts.say(
{text:`The webhook is switched ${enabled?"off. What is waiting to be sent waits.":"on."}`})}catch(problem){app.fail("The webhook was not changed",problem)}await reload()}
function askToDelete5(app,{id,url},gone){app.open(ConfirmDialog,{title:"Delete this webhook?",verb:"Delete",work:async()=>{await app.api.delete(`/webhooks/${encodeURIComponent(
id)}`).catch(problem=>{if(problem.status!==404)throw problem}),app.toasts.say({text:"Deleted the webhook."}),await gone()},children:html`<p><bdi class="path">${url}</bdi> is told of nothing more. What is waiting to be sent to it is dropped. This cannot be undone.</p>`})}var LOOK_MS=3e3,SOON_MS=15e3,FILTERS=[{name:"state",label:"State",options:Object.entries(STATES3).map(([value,{text:text3}])=>[value,text3])}],stateOf3=({state})=>STATES3[state]||
{text:state,tone:"quiet"};function attemptWords({status,error}){return error&&error.code!=="bad_status"?error.message:`Answered ${status}`}var COLUMNS6=[{id:"ty\
pe",label:"Event",min:150,grow:1.4,always:!0,draw:({type})=>html`<span class="mono title one-line">${type}</span>`},{id:"state",label:"State",width:116,rank:1,card:!0,
draw:delivery=>html`<${Status} of=${stateOf3(delivery)} />`},{id:"last",label:"Last answer",min:180,grow:2.4,rank:2,draw:({attempts})=>attempts.length?html`<span class="one-line" title=${attemptWords(
attempts.at(-1))}>${attemptWords(attempts.at(-1))}</span>`:html`<span class="muted">None yet</span>`},{id:"tries",label:"Attempts",width:88,numeric:!0,rank:4,card:!0,
draw:({attempts})=>html`${number(attempts.length)}<span class="in-card"> ${attempts.length===1?"attempt":"attempts"}</span>`},{id:"created",label:"Happened",width:118,
rank:3,card:!0,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`},{id:"next",label:"Next attempt",width:142,rank:5,draw:({nextAt})=>nextAt?
html`<time class="number" datetime=${nextAt} title=${moment(nextAt)}>${soon(nextAt)}</time>`:html`<span class="muted not-in-card">–</span>`},{id:"event",label:"\
Event ID",width:292,rank:9,hidden:!0,draw:({eventId})=>html`<span class="mono">${eventId}</span>`}];function Deliveries({id,params}){let app=useApp(),path=`/web\
hooks/${encodeURIComponent(id)}`,object=useObject(path,({type,data})=>type.startsWith("webhook.")&&data?.id===id),state=params.get("state")||"",{rows,selection,
view}=useList(`${path}/deliveries`,{state},({type},list)=>!type.endsWith(".progress")&&list.changed(null,!0)),columns=useColumns("deliveries",()=>COLUMNS6),now=useNow(),
waits=object.data?.enabled&&rows.loaded().some(({nextAt})=>nextAt&&Date.parse(nextAt)<now+SOON_MS);A(()=>{if(!waits)return;let timer=setInterval(()=>document.hidden||
rows.reload().catch(()=>{}),LOOK_MS);return()=>clearInterval(timer)},[waits,rows]);let webhook2=object.data,back=href("settings",void 0,["webhooks"]);if(object.
problem&&!webhook2)return html`<p><a class="button" href=${back}><${Icon} name="back" />All webhooks</a></p><${Missing} problem=${object.problem} what="the webhooks" />`;
if(!webhook2)return html`<${Waiting} />`;let reload=async()=>{await object.reload(),await rows.reload().catch(()=>{})};return html`
    <div class="settings-head"><div class="webhook-head"><a class="icon-button" href=${back} aria-label="All webhooks" title="All webhooks"><${Icon} name="back" /></a>
        <span class="two-lines"><h2 class="one-line" title=${webhook2.url}><bdi>${webhook2.url}</bdi></h2><span class="sub">${eventWords(webhook2.events)} · ${webhook2.
workspaceId}${webhook2.oldSecretUntil?` · two secrets until ${moment(webhook2.oldSecretUntil)}`:""}</span></span><${State2} webhook=${webhook2} /></div>
      <div class="tools"><${Actions3} webhook=${webhook2} reload=${reload} gone=${()=>app.router.go(back)} /></div></div>
    ${webhook2.dropped>0&&html`<p class="bad-text">${`${count(webhook2.dropped,"message was","messages were")} dropped, as more than 10,000 were waiting.`}</p>`}
    <div class="filters"><${Chips} filters=${FILTERS} params=${params} /><${ViewMenu} columns=${columns} /></div>
    <${Missing} problem=${view.problem} what="the messages" />
    ${view.total===0?html`<${Empty} title=${state?"No matches":"Nothing was sent yet"} drawing=${!1}><p>${state?"":"Its messages are listed here, with each atte\
mpt to deliver them."}</p><//>`:html`<div class="page-body"><${Grid} label="Messages" ...${{rows,columns,selection}} ticks=${!1} open=${delivery=>app.open(DeliveryDialog,
{delivery,webhook:webhook2,done:reload})} what=${({type})=>type} tone=${delivery=>delivery.state==="failed"?"is-failed":""}
        actionsWidth=${104} actions=${delivery=>html`<div class="actions"><button type="button" class="button small" aria-label=${`Attempts of ${delivery.type}`} onClick=${()=>app.
open(DeliveryDialog,{delivery,webhook:webhook2,done:reload})}>Attempts</button></div>`} /></div>`}
    <p class="visually-hidden" role="status">${view.total!==null&&count(view.total,"message")}</p>`}function DeliveryDialog({delivery,webhook:webhook2,done,close}){
let app=useApp(),[problem,setProblem]=d(null),[busy,setBusy]=d(!1),{type,state,attempts,nextAt,createdAt,eventId}=delivery,replay=async()=>{setBusy(!0),setProblem(
null);try{await app.api.post(`/webhooks/${encodeURIComponent(webhook2.id)}/deliveries/${encodeURIComponent(delivery.id)}/replay`),app.toasts.say({text:"The mess\
age is sent again.",tone:"good"}),close(),await done()}catch(error){setProblem(error),setBusy(!1)}};return html`<${Dialog} title=${html`<span class="mono">${type}</span>`} about=${delivery.
id} close=${close}><div class="dialog-content">
      <${Facts} pairs=${[["State",html`<${Status} of=${stateOf3(delivery)} />`],["Happened",html`<span class="number">${moment(createdAt)}</span>`],["Next attem\
pt",nextAt&&html`<span class="number">${moment(nextAt)}</span>`],["ID of the event",html`<span class="with-copy"><span class="mono path">${eventId}</span><${Copy} text=${eventId} label="Copy the event’s ID" /></span>`]]} />
      ${attempts.length?html`<${Attempts} attempts=${attempts} />`:html`<p class="muted">No attempt yet.</p>`}
      <${ProblemBox} problem=${problem} /></div>
    <footer class="dialog-foot"><button type="button" class="button" autofocus onClick=${close}>Close</button>
      <button type="button" class="button primary" disabled=${busy} onClick=${replay}>${busy?"Sending…":state==="pending"?"Send now":"Send again"}</button></footer><//>`}var COLUMNS7=[{id:"url",label:"Address",min:220,grow:2.4,always:!0,draw:({id,url})=>html`<a class="title one-line" href=${href("settings",void 0,["webhooks",id])} title=${url}><bdi>${url}</bdi></a>`},
{id:"state",label:"State",width:164,rank:1,card:!0,draw:webhook2=>html`<${State2} webhook=${webhook2} />`},{id:"events",label:"Told of",min:150,grow:1.4,rank:2,
card:!0,draw:({events})=>html`<span class="one-line" title=${events.join(", ")}>${eventWords(events)}</span>`},{id:"dropped",label:"Dropped",width:92,numeric:!0,
rank:5,draw:({dropped,lastDroppedAt})=>dropped?html`<span class="bad-text" title="Messages that were dropped, as more than 10,000 were waiting">${number(dropped)}<span class="visually-hidden">, last <${Ago} time=${lastDroppedAt} /></span></span>`:
html`<span class="muted not-in-card">–</span>`},{id:"workspace",label:"Workspace",width:120,rank:3,draw:({workspaceId})=>workspaceId==="*"?"Whole server":html`<bdi class="one-line">${workspaceId}</bdi>`},
{id:"created",label:"Created",width:112,rank:4,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`},{id:"id",label:"ID",width:292,
rank:9,hidden:!0,draw:({id})=>html`<span class="mono">${id}</span>`}];function Webhooks({params,path}){return path[1]?html`<${Deliveries} key=${path[1]} id=${path[1]} params=${params} />`:
html`<${List2} />`}function List2(){let app=useApp(),workspaceId=useStore(app.model.workspace),{rows,selection,view}=useList("/webhooks",{workspaceId},({type},list)=>type.
startsWith("webhook.")&&list.changed(null,!0)),columns=useColumns("webhooks",()=>COLUMNS7),{total,problem}=view;if(problem?.status===403)return html`<${Missing} problem=${problem} what="the webhooks" />`;
let reload=()=>rows.reload().catch(()=>{}),make=()=>app.open(WebhookDialog,{done:reload});return html`
    <div class="settings-head"><p class="lead">A webhook is an address that Warren tells of events, signed with a secret. What is not taken is sent again, for up to three days.</p>
      <div class="tools">${total>0&&html`<${ViewMenu} columns=${columns} />`}<button type="button" class="button primary" onClick=${make}><${Icon} name="plus" /><span>New webhook</span></button></div></div>
    <${Missing} problem=${problem} what="the webhooks" />
    ${total===0&&!problem?html`<${Empty} title="No webhooks yet" drawing=${!1}><p>With one, a program of yours hears when a browser ends or a proxy dies.</p><//>`:
html`<div class="page-body"><${Grid} label="Webhooks" ...${{rows,columns,selection}} ticks=${!1} open=${({id})=>app.router.go(href("settings",void 0,["webhooks",
id]))} what=${({url})=>url}
      actionsWidth=${132} actions=${webhook2=>html`<${Actions3} webhook=${webhook2} reload=${reload} />`} /></div>`}
    <p class="visually-hidden" role="status">${total!==null&&count(total,"webhook")}</p>`}var NOTHING5=html`<span class="muted not-in-card">–</span>`,GIB=1024,QUOTAS2=[["profiles","Profiles","profile","profiles"],["running","Running","running","run\
ning"],["diskMb","Disk","of disk","of disk"],["proxies","Proxies","proxy","proxies"]];function figure(member,n){return member!=="diskMb"?number(n):n<GIB?`${number(
n)} MiB`:`${number(Number((n/GIB).toFixed(n<10*GIB?1:0)))} GiB`}function Used({member,use,quota,words,label,go}){let shown=html`${figure(member,use)}${quota!==null&&
html`<span class=${use>=quota?"bad-text":"muted"}> of ${figure(member,quota)}</span>`}`;return!use&&quota===null?NOTHING5:html`<span class="quota">${use>0&&go?html`<button type="button" class="link is-figure" title=${`\
Show them in ${label}`} onClick=${go}>${shown}</button>`:html`<span>${shown}</span>`}<span class="in-card"> ${words}</span>
    ${quota!==null&&html`<meter class="gauge-bar" min="0" max="1" high="0.9" value=${quota?Math.min(1,use/quota):1} aria-label=${`${label} in use`}></meter>`}</span>`}
function workspaceColumns(keys,go){let amount=([member,label,one,others],rank,place2)=>({id:member,label,width:122,numeric:!0,rank,card:member!=="proxies",draw:({
id,use,quotas})=>html`<${Used} ...${{member,label}} use=${use[member]} quota=${quotas[member]} words=${(quotas[member]??use[member])===1?one:others} go=${place2&&
(()=>go(place2,id))} />`}),[profiles,running,disk,proxies]=QUOTAS2;return[{id:"name",label:"Workspace",min:150,grow:2,always:!0,draw:({id,name})=>html`<span class="two-lines"><bdi class="title one-line" title=${name||
id}>${name||id}</bdi>${name&&html`<bdi class="sub">${id}</bdi>`}</span>`},amount(profiles,1,"profiles"),amount(running,2,"running"),amount(disk,3),amount(proxies,
4,"proxies"),{id:"trash",label:"Trash",width:76,numeric:!0,rank:6,draw:({id,trashedCount})=>trashedCount?html`<button type="button" class="link is-figure" title="Show them in Trash" onClick=${()=>go(
"trash",id)}>${number(trashedCount)}</button>`:NOTHING5},{id:"keys",label:"Keys that see it",min:130,grow:1.4,rank:5,draw:({id})=>html`<${SeenBy} keys=${keys} id=${id} />`},
{id:"created",label:"Created",width:118,rank:7,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`}]}function SeenBy({keys,id}){let known=useStore(
keys);if(!known)return NOTHING5;let names2=known.filter(({workspaces})=>!workspaces||workspaces.includes(id)).map(({name})=>name),words=names2.length?names2.join(
", "):"None";return html`<bdi class="one-line" title=${words}>${words}</bdi>`}function useKeys(){let app=useApp(),[keys]=d(()=>new Store(null));return A(()=>{let read=async()=>keys.
set((await readKeys(app.api)).filter(({revokedAt,expiresAt})=>!revokedAt&&!(expiresAt&&Date.parse(expiresAt)<Date.now())));return read().catch(()=>{}),app.model.
event.watch(({type})=>type.startsWith("key.")&&read().catch(()=>{}))},[]),keys}function Workspaces(){let app=useApp(),keys=useKeys(),mayChange=useStore(keys)!==
null,{rows,selection,view}=useList("/workspaces",{},({type},list)=>/^(workspace|profile|proxy)\./.test(type)&&!/\.(checked|status)$/.test(type)&&list.changed(null,
!0)),go=(place2,id)=>{app.model.chooseWorkspace(id),app.router.go(href(place2))},columns=useColumns("workspaces",()=>workspaceColumns(keys,go)),reload=()=>rows.
reload().catch(()=>{}),{total,problem}=view,edit=workspace3=>app.open(WorkspaceForm,{workspace:workspace3,done:reload});return html`
    <div class="settings-head"><p class="lead">A workspace keeps its profiles and proxies apart. A key sees all workspaces, or only those it was made for.${mayChange?
"":" To create and change them you need a key with the scope admin."}</p>
      <div class="tools"><${ViewMenu} columns=${columns} />${mayChange&&html`<button type="button" class="button primary" onClick=${()=>app.open(WorkspaceForm,{
done:reload})}><${Icon} name="plus" /><span>New workspace</span></button>`}</div></div>
    <${Missing} problem=${problem} what="the workspaces" scope="read" />
    ${total===0?html`<${Empty} title="No workspaces yet" drawing=${!1}><p>The first profile or proxy makes one.</p><//>`:html`<div class="page-body"><${Grid} label="Workspaces" ...${{
rows,columns,selection}} ticks=${!1} what=${({id,name})=>name||id} open=${mayChange?edit:void 0}
      actionsWidth=${mayChange?132:16} actions=${mayChange?workspace3=>html`<div class="actions"><button type="button" class="button small" aria-label=${`Edit ${workspace3.
name||workspace3.id}`} onClick=${()=>edit(workspace3)}><${Icon} name="edit" />Edit</button>
        <${Menu} label=${`More for ${workspace3.name||workspace3.id}`} items=${[{label:"Activity",icon:"activity",run:()=>app.router.go(activityOf(workspace3.id))},
{label:"Delete",icon:"trash",danger:!0,run:()=>askToDelete6(app,workspace3,reload)}]} /></div>`:null} /></div>`}`}function asFault2(problem){throw problem.code===
"duplicate"&&Object.assign(problem,{code:"validation_failed",errors:[{location:"body.id",message:"There is a workspace with this id already."}]}),problem}function askToDelete6(app,workspace3,reload){
app.open(ConfirmDialog,{title:"Delete this workspace?",verb:"Delete",work:async()=>{await app.api.delete(`/workspaces/${encodeURIComponent(workspace3.id)}`).catch(
problem=>{if(problem.code!=="workspace_not_found")throw problem}),app.model.workspace.value===workspace3.id&&app.model.chooseWorkspace(""),app.toasts.say({text:`\
Deleted the workspace ${workspace3.name||workspace3.id}.`}),await reload()},children:html`<p><bdi>${workspace3.name||workspace3.id}</bdi> goes with its name, its defaults and its quotas. Only an empty workspace can be deleted.</p>`})}
function quotaValues(quotas){return Object.fromEntries(QUOTAS2.map(([member])=>[member,quotas?.[member]==null?"":String(member==="diskMb"?Number((quotas[member]/
GIB).toFixed(3)):quotas[member])]))}function quotaBody(values,before){let body={};for(let[member]of QUOTAS2){if(values[member]===before[member])continue;let value=number2(
values[member]);body[member]=value===""?null:member==="diskMb"&&typeof value=="number"?Math.round(value*GIB):value}return body}function WorkspaceForm({workspace:workspace3,
done,close}){let app=useApp(),before=quotaValues(workspace3?.quotas),form=useForm({id:"",name:workspace3?.name||"",...before}),save2=async({id,name,...quotas})=>{
let changed=quotaBody(quotas,before),body={...name.trim()!==(workspace3?.name||"")&&{name:name.trim()||null},...Object.keys(changed).length&&{quotas:changed}};workspace3?
await app.api.call("PATCH",`/workspaces/${encodeURIComponent(workspace3.id)}`,{body}):await app.api.post("/workspaces",{id:id.trim(),...body}).catch(asFault2),app.
toasts.say({text:workspace3?`Saved the workspace ${name.trim()||workspace3.id}.`:`Created ${name.trim()||id.trim()}.`,tone:"good"}),done(),close()},quota=(name,label)=>html`<${Text} form=${form} name=${name} member=${`\
quotas.${name}`} label=${label} inputmode="decimal" placeholder="No limit" hint=${workspace3&&`Now ${figure(name,workspace3.use[name])}.`} />`;return html`<${Dialog} title=${workspace3?
"Edit the workspace":"New workspace"} lead=${workspace3&&html`<bdi>${workspace3.id}</bdi>`} close=${close}><${Form} form=${form} work=${save2} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy||!workspace3&&!form.values.id.trim()}>${form.
busy?"Saving…":workspace3?"Save":"Create"}</button>`}>
    <div class="fields">
      ${!workspace3&&html`<${Text} form=${form} name="id" label="ID" wide autofocus maxlength="64" class="mono" placeholder="team-b" hint="Programs name the workspace by it. It never changes. Letters, digits and . _ - are allowed." />`}
      <${Text} form=${form} name="name" label="Name" wide optional autofocus=${!!workspace3} maxlength="200" placeholder="Team B" /></div>
    <fieldset class="group"><legend>Quotas</legend><div class="fields">
      ${quota("profiles","Profiles")}${quota("running","Running at once")}${quota("diskMb","Disk (GiB)")}${quota("proxies","Proxies")}
      <p class="hint wide">What would exceed one is refused. A quota below what is used removes nothing.</p></div></fieldset><//><//>`}var SECTIONS=[{id:"keys",label:"Keys",draw:Keys,list:!0},{id:"workspaces",label:"Workspaces",draw:Workspaces,list:!0},{id:"templates",label:"Templates",draw:Templates,
list:!0},{id:"schedules",label:"Schedules",draw:Schedules,list:!0},{id:"webhooks",label:"Webhooks",draw:Webhooks,list:!0},{id:"browsers",label:"Browsers",draw:Browsers},
{id:"extensions",label:"Extensions",draw:Extensions,list:!0},{id:"server",label:"Server",draw:ServerSection},{id:"servers",label:"Servers",draw:Nodes,list:!0,several:!0},
{id:"activity",label:"Activity",draw:Activity,list:!0},{id:"appearance",label:"Appearance",draw:Appearance}];function SettingsPage({params,path}){let shown=SECTIONS.
find(({id})=>id===path[0])||SECTIONS[0],several=useSeveral(),sections=SECTIONS.filter(section=>several||!section.several||section===shown),nav=T(null);return A(
()=>nav.current?.querySelector("[aria-current]")?.scrollIntoView({block:"nearest",inline:"nearest"}),[shown.id]),html`<div class="page settings">
    <header class="page-head"><h1 tabindex="-1">Settings</h1></header>
    <nav class="settings-nav" aria-label="Settings" ref=${nav}>${sections.map(({id,label})=>html`<a key=${id} href=${href("settings",void 0,[id])} aria-current=${id===
shown.id?"page":void 0}>${label}</a>`)}</nav>
    <section class=${shown.list?"settings-list":"settings-body"} aria-label=${shown.label} key=${shown.id} tabindex=${shown.list?void 0:0}><${shown.draw} params=${params} path=${path} /></section>
  </div>`}export{AddProxies,CheckDialog,CloneDialog,ConnectDialog,ExportDialog,FirstRun,ImportDialog,Install,LivePage,Palette,ProfileDialog,ProfileDrawer,ProxyBulkDialog,
ProxyDialog,ProxyDrawer,ProxyForm,SaveView,SettingsPage,TagBulkDialog,TagDialog,TemplateDialog,Tile};
