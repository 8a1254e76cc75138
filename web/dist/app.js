import{A,AddProxies,Ago,Api,AppContext,Browsers,BulkBar,Burrows,CheckAll,CheckDialog,Checked,Chips,CloneDialog,ConfirmDialog,Country,Dialog,Empty,ExportDialog,F,
FirstRun,FreeFilter,Grid,GridProblem,Icon,ImportDialog,LivePage,Logo,Menu,NO_BROWSER,Name,NoBrowser,Nodes,O,PROFILE_STATUS,PROXY_STATUS,PROXY_TYPES,Palette,Preview,
Previews,ProblemBox,ProblemDialog,ProfileDialog,ProfileDrawer,ProxyBulkDialog,ProxyCache,ProxyDialog,ProxyDrawer,ProxyForm,Q,Refresher,Router,SYSTEMS,SaveView,SearchBox,
SettingsPage,Status,Store,T,TagBulkDialog,TagDialog,Tags,TemplateDialog,Temporary,Tile,ToastArea,Toasts,ViewMenu,address,askToDelete,askToDeleteProxy,askToDestroy,
bytes,check,connect,count,countryName,d,diskWords,dropKey,endWords,exchange,faultWords,href,html,isOfThisTab,keptFor,lasting,looksLikeKey,moment,nodeColumn,number,
problemTitle,problemWords,proxyName,readKey,recall,remember,restore,revoke,saveKey,span,start,stop,takeFromAddress,usageWords,useApp,useColumns,useFreshNodes,useList,
useNoStart,useNow,useProxy,useSeveral,useSort,useStore,viewOf,watchKey}from"./part-MBNZESFF.js";var PREFIX_MS=1500,PLACES={p:"profiles",x:"proxies",r:"running",t:"trash",s:"settings"},LIST=[["On every page",[["Ctrl K","Search and commands"],["/","Search th\
e list"],["N","New profile; on the Proxies page, add proxies"],["G then P, X, R, T, S","Go to profiles, proxies, running, trash, settings"],["?","Show this list"],
["Esc","Close what is open, or clear the selection"]]],["In a list",[["J K ↓ ↑","Next and previous row"],["X or Space","Select the row; with Shift all since\
 the last"],["Enter","Open the row"],["S","Start or stop"],["V","View a running browser"],["E","Edit"],["P","Choose a proxy"],["D","Clone a profile"],["C","Conn\
ect to a running browser, or check a proxy"],["Delete","Move to the trash, or delete a proxy"]]]],Keys=class{#app;#prefix=0;constructor(app){this.#app=app}begin(){
let press=event=>this.#press(event);return addEventListener("keydown",press),()=>removeEventListener("keydown",press)}isPlace({timeStamp,key}){return this.#prefix>
0&&timeStamp-this.#prefix<PREFIX_MS&&Object.hasOwn(PLACES,key)}#press(event){let app=this.#app;if((event.ctrlKey||event.metaKey)&&!event.altKey&&event.key.toLowerCase()===
"k")return event.preventDefault(),app.openPalette();if(event.ctrlKey||event.metaKey||event.altKey||event.defaultPrevented)return;let{target}=event;if(target.closest?.(
'input:not([type="checkbox"]), textarea, select, dialog, [role="menu"], [popover], .stage, [contenteditable]'))return;if(event.key==="Escape")return app.escape();
if((event.key===" "||event.key==="Enter")&&target.closest?.("button, a, input, summary"))return;if(this.isPlace(event))return this.#prefix=0,event.preventDefault(),
app.router.go(href(PLACES[event.key]));this.#prefix=event.key==="g"?event.timeStamp:0;let act={"/":()=>focusSearch(),n:()=>app.createHere(),"?":()=>app.open(KeysDialog,
{})}[event.key];return act?(event.preventDefault(),act()):app.grids.at(-1)?.(event)}};function focusSearch(){let box=[...document.querySelectorAll('main input[t\
ype="search"]')].find(it=>it.checkVisibility({visibilityProperty:!0}));box?.focus(),box?.select()}function KeysDialog({close}){return html`<${Dialog} title="Keyboard shortcuts" close=${close}><div class="dialog-content">
    ${LIST.map(([title,keys])=>html`<section key=${title}><h3>${title}</h3><dl class="keys">${keys.map(([key,words])=>html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${words}</dd></div>`)}</dl></section>`)}
  </div><footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Close</button></footer><//>`}function useEntry(enter,reason=""){let[key,type]=d(""),[fault,setFault]=d(reason),[problem,setProblem]=d(null),[busy,setBusy]=d(!1),field=T(null);return{key,type,
fault,problem,busy,field,submit:async event=>{event.preventDefault();let given=key.trim();if(setFault(""),setProblem(null),!looksLikeKey(given)){setFault(given?
"This is not a key: it has characters that no key has.":"Paste your key first."),field.current.focus();return}setBusy(!0);try{enter(await exchange({key:given}))}catch(error){
error.status===401?setFault("This key isn’t valid. It may be mistyped, revoked or expired."):setProblem(error),setBusy(!1),field.current?.focus()}}}}function KeyField({
entry,hint}){let{key,type,fault,field}=entry;return html`<div class="field">
    <label for="key">API key</label>
    <input id="key" ref=${field} type="password" autocomplete="current-password" autofocus spellcheck=${!1} placeholder="wrn_…"
      aria-invalid=${fault?"true":void 0} aria-describedby=${fault?"key-fault key-hint":"key-hint"}
      value=${key} onInput=${event=>type(event.currentTarget.value)} />
    <div role="alert">${fault&&html`<p class="fault" id="key-fault">${fault}</p>`}</div>
    <p class="hint" id="key-hint">${hint}</p>
  </div>`}function Login({enter,reason}){let[onlyThisTab,setOnlyThisTab]=d(!1),entry=useEntry(fresh=>enter(fresh,onlyThisTab),reason);return html`<main class="login">
    <form class="login-card" onSubmit=${entry.submit} novalidate>
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">Welcome</h1>
      <p class="lead">Log in with your API key to see your profiles and proxies.</p>
      <${KeyField} entry=${entry} hint=${html`Warren printed it when it first started, and keeps it in <code>admin.key</code> in its data folder. On the server’s machine <code>warren open</code> logs you in without it.`} />
      <label class="tick"><input type="checkbox" checked=${onlyThisTab} onChange=${event=>setOnlyThisTab(event.currentTarget.checked)} />
        Only this tab</label>
      <${ProblemBox} problem=${entry.problem} />
      <button class="button primary large" disabled=${entry.busy}>${entry.busy?"Checking…":"Log in"}</button>
      <p class="hint">The page keeps a key of its own in place of yours. It ends when you log out, or 30 days after its last use${onlyThisTab?", and is forgotte\
n with this tab":""}.</p>
    </form>
    <${Landscape} />
  </main>`}function LogInAgain({reason,enter,leave,close}){let entry=useEntry(enter);return html`<${Dialog} title="You are logged out" lead=${reason} close=${close}><form class="form" onSubmit=${entry.
submit} novalidate>
    <div class="dialog-content">
      <p>What you typed is still here, and not saved. Log in again to save it.</p>
      <${KeyField} entry=${entry} hint=${html`Or run <code>warren open</code> on the server’s machine, and come back to this tab.`} />
      <${ProblemBox} problem=${entry.problem} />
    </div>
    <footer class="dialog-foot"><button type="button" class="button danger-quiet" onClick=${leave}>Discard and leave</button>
      <button class="button primary" disabled=${entry.busy}>${entry.busy?"Checking…":"Log in again"}</button></footer>
  </form><//>`}function Entering(){return html`<main class="login">
    <div class="login-card" role="status">
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">Logging in…</h1>
    </div>
    <${Landscape} />
  </main>`}function Landscape(){return html`<div class="landscape">${[1,2,3,4].map(part=>html`<${Burrows} key=${part} />`)}</div>`}var ADDRESS="api/v1/events";var Parser=class{#rest="";#event=blank();#emit;lastId="";constructor(emit){this.#emit=emit}push(text){this.#rest+=text;let lines=this.#rest.split(/\r\n|\n|\r(?!$)/);
this.#rest=lines.pop();for(let line of lines)this.#line(line)}#line(line){if(line==="")return this.#done();let colon=line.indexOf(":");if(colon===0)return;let name=colon<
0?line:line.slice(0,colon),value=colon<0?"":line.slice(colon+1).replace(/^ /,"");name==="data"&&this.#event.data.push(value),name==="event"&&(this.#event.type=value),
name==="id"&&!value.includes("\0")&&(this.lastId=value)}#done(){let{type,data}=this.#event;this.#event=blank(),data.length&&this.#emit({type,text:data.join(`
`)})}};function blank(){return{type:"message",data:[]}}async function follow(api,{signal,event,state}){let parser={lastId:""},wait=500,before=!1;for(;!signal.aborted;){
try{await read(api,parser,signal,event,()=>{state(before?"again":"live"),before=!0,wait=500})}catch(error){if(signal.aborted)return;if([401,403,404].includes(error.
status)){state("off");return}state("lost")}await pause(wait*(.75+Math.random()/2),signal),wait=Math.min(wait*2,15e3)}}async function read(api,previous,signal,event,opened){
let connection=new AbortController,stop2=()=>connection.abort();signal.addEventListener("abort",stop2);let watchdog=setTimeout(stop2,6e4);try{let headers={Accept:"\
text/event-stream"};previous.lastId&&(headers["Last-Event-ID"]=previous.lastId);let response=await api.open("GET",ADDRESS,{headers,signal:connection.signal});opened();
let parser=new Parser(({type,text})=>deliver(type,text,event));parser.lastId=previous.lastId;let reader=response.body.pipeThrough(new TextDecoderStream).getReader();
for(;;){let{value,done}=await reader.read();if(done)return;clearTimeout(watchdog),watchdog=setTimeout(stop2,6e4),parser.push(value),previous.lastId=parser.lastId}}finally{
clearTimeout(watchdog),signal.removeEventListener("abort",stop2)}}function deliver(type,text,event){let body;try{body=JSON.parse(text)}catch{return}event({...body,
type:body.type||type})}function pause(ms,signal){return new Promise(resolve=>{let timer=setTimeout(done,ms),visible=()=>document.visibilityState==="visible"&&done();
function done(){clearTimeout(timer),removeEventListener("online",done),document.removeEventListener("visibilitychange",visible),signal.removeEventListener("abor\
t",done),resolve()}addEventListener("online",done),document.addEventListener("visibilitychange",visible),signal.addEventListener("abort",done)})}var WORKSPACE="warren.workspace",RECENT=300,Model=class{workspaces=new Store([]);workspace=new Store(remembered());counts=new Store(null);connection=new Store("\
connecting");event=new Store(null);recent=new Store([]);#api;#ending=new AbortController;#counts=new Refresher(()=>this.readCounts(),()=>this.readCounts());constructor(api){
this.#api=api}begin(){this.#counts.markAll(),this.#follow()}renew(){this.#ending.abort(),this.#ending=new AbortController,this.#follow(),this.readAll()}#follow(){
follow(this.#api,{signal:this.#ending.signal,event:event=>this.#onEvent(event),state:state=>{this.connection.set(state==="again"?"live":state),state==="again"&&
this.readAll()}})}end(){this.#ending.abort(),this.#counts.stop()}readAll(){this.#counts.markAll(),this.event.set({type:"everything"})}async readCounts(){let summary=await this.#api.
get("/summary",{workspaceId:this.workspace.value});this.#addWorkspaces(summary.workspaces),this.counts.set(summary)}sawWorkspaces(objects){this.#addWorkspaces(objects.
map(object=>object.workspaceId))}#addWorkspaces(ids){let known=this.workspaces.value,all=new Set([...known,...ids.filter(Boolean)]);all.size!==known.length&&this.
workspaces.set([...all].sort())}chooseWorkspace(id){this.workspace.set(id),this.#counts.markAll();try{sessionStorage.setItem(WORKSPACE,id)}catch{}}#onEvent(event){
return event.type==="events.lost"?this.readAll():(/^(profile|proxy|run|workspace)\./.test(event.type)&&this.#counts.markAll(),event.workspaceId&&this.#addWorkspaces(
[event.workspaceId]),event.id&&!event.type.endsWith(".progress")&&this.recent.set([event,...this.recent.value.slice(0,RECENT-1)]),this.event.set(event))}};function remembered(){
try{return sessionStorage.getItem(WORKSPACE)||""}catch{return""}}var PART={start:10,restart:10,stop:20},REST=200,VERBS={__proto__:null,start:"Starting",stop:"Stopping",restart:"Restarting",delete:"Moving to the trash",restore:"\
Restoring",tag:"Tagging",untag:"Removing tags from",setProxy:"Setting the proxy of"};function batch(app,{selection,query,total,action,members={}}){let{all,ids}=selection.
state.value,title=n=>`${VERBS[action]} ${count(n,"profile")}`;selection.clear();let send=items=>app.works.each({title:title(items.length),items,size:PART[action]||
REST,call:async(part,signal)=>(await app.api.post("/profiles/batch",{action,...members,ids:part.map(({id})=>id)},{signal})).results});if(!all)return send([...ids].
map(([id,name])=>({id,name})));let job=filter=>app.works.follow({title:title(total),api:app.api,events:app.model.event,start:()=>app.api.post("/profiles/batch",
{action,...members,filter}),retry:({id})=>job({failedIn:id})}).catch(problem=>app.fail(`${title(total)} did not begin`,problem));return job(filterOf(query,[...ids.
keys()]))}function filterOf({tag,neverStarted,trashed,...query},except){let filter=Object.fromEntries(Object.entries(query).filter(([name,value])=>value&&!["sor\
t","order"].includes(name)));return tag?.length&&(filter.tag=tag),neverStarted&&(filter.neverStarted=neverStarted==="true"),trashed&&(filter.trashed=!0),except.
length&&(filter.except=except),filter}function ProfileBulk({selection,rows,total}){let app=useApp(),todo=(action,members)=>batch(app,{selection,query:rows.query,
total:selection.size(total),action,members}),begin=action=>app.browsers.missing()?app.toasts.say({text:"Nothing was started.",more:NO_BROWSER,tone:"bad"}):todo(
action),ask=(component,props)=>app.open(component,{...props,size:selection.size(total),todo});return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.
view.value.atLeast} what="profiles" actions=${[{label:"Start",icon:"play",run:()=>begin("start")},{label:"Stop",icon:"stop",run:()=>todo("stop")},{label:"Proxy…",
icon:"proxies",run:()=>ask(ProxyBulkDialog)},{label:"Tag…",icon:"tag",run:()=>ask(TagBulkDialog)}]} more=${[{label:"Restart",icon:"reload",run:()=>begin("rest\
art")},{label:"Export",icon:"download",run:()=>exportChosen(app,selection,rows.query,total)},"line",{label:"Move to trash",icon:"trash",danger:!0,run:()=>ask(TrashBulk)}]} />`}
var MOST=1e3;async function exportChosen(app,selection,query,total){let{all,ids}=selection.state.value;if(selection.size(total)>MOST)return app.toasts.say({text:"\
Nothing was exported.",more:`Export at most ${MOST.toLocaleString("en")} profiles at a time.`,tone:"bad"});let profiles=[...ids].map(([id,name])=>({id,name}));if(all){
profiles=[];try{for(let after;after!==null&&profiles.length<MOST;){let{data,next}=await app.api.get("/profiles",{...query,limit:200,after});profiles.push(...data.
filter(({id})=>!ids.has(id))),after=next||null}}catch(problem){return app.fail("The profiles could not be read",problem)}}app.open(ExportDialog,{profiles})}function TrashBulk({
size,todo,close}){let{model}=useApp();return html`<${ConfirmDialog} title=${`Move ${count(size,"profile")} to the trash?`} verb="Move to trash" work=${async()=>{
todo("delete")}} close=${close}>
    <p>Running browsers are closed first. The profiles can be restored${keptFor(model.counts.value)}, with their cookies and data.</p><//>`}var NOTHING=html`<span class="muted not-in-card">–</span>`;function profileColumns({choose,open,several}){return[{id:"name",label:"Name",min:several?160:200,grow:3,
sort:"name",first:"asc",always:!0,draw:profile=>html`<${NameCell} profile=${profile} open=${open} />`},{id:"status",label:"Status",width:108,rank:1,card:!0,draw:profile=>html`<${StatusCell} profile=${profile} />`},
{id:"proxy",label:"Proxy",min:180,grow:2,rank:2,card:!0,draw:profile=>html`<${ProxyCell} profile=${profile} />`},{id:"tags",label:"Tags",min:130,grow:1.3,rank:4,
draw:profile=>html`<${Tags} tags=${profile.tags} choose=${choose} most=${2} />`},{id:"lastRun",label:"Last run",width:158,sort:"lastStartedAt",rank:3,card:!0,draw:profile=>html`<${LastRun} profile=${profile} />`},
...several?[nodeColumn(5)]:[],{id:"os",label:"System",width:122,rank:6,draw:profile=>html`<${System} profile=${profile} />`},{id:"created",label:"Created",width:112,
sort:"createdAt",rank:7,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`},{id:"updated",label:"Changed",width:112,sort:"updated\
At",rank:8,hidden:!0,draw:({updatedAt})=>html`<span class="muted"><${Ago} time=${updatedAt} /></span>`},{id:"notes",label:"Notes",min:140,grow:1.5,rank:9,hidden:!0,
draw:({notes})=>notes?html`<bdi class="one-line" title=${notes}>${notes}</bdi>`:NOTHING},{id:"workspace",label:"Workspace",width:120,rank:10,hidden:!0,draw:({workspaceId})=>html`<bdi class="one-line">${workspaceId}</bdi>`},
{id:"disk",label:"On disk",width:88,numeric:!0,rank:11,hidden:!0,draw:({diskBytes})=>diskBytes?bytes(diskBytes):NOTHING},{id:"id",label:"ID",width:292,rank:12,hidden:!0,
draw:({id})=>html`<span class="mono">${id}</span>`}]}function NameCell({profile,open}){return html`${profile.status==="running"&&html`<${Preview} profile=${profile} />`}<span class="two-lines">
    <button type="button" class="link title" title=${profile.name} onClick=${()=>open(profile)}><${Name}>${profile.name}<//></button></span><${Temporary} of=${profile} />`}
function StatusCell({profile}){let status=PROFILE_STATUS[profile.status]||{text:profile.status,tone:"quiet"};return profile.status!=="stopped"?html`<${Status} of=${status} />`:
html`<span class="status quiet" title="Stopped"><span class="dot"></span><span class="visually-hidden">Stopped</span></span>`}function System({profile}){return html`<span class="one-line muted">${SYSTEMS[profile.
os]||profile.os} ${profile.browserVersion}</span>`}function ProxyCell({profile}){let proxy=useProxy(profile.proxyId);if(profile.proxyMissing)return html`<span class="bad-text">Proxy deleted</span>`;
if(!profile.proxyId)return html`<span class="muted" title="No proxy (direct connection)"><span class="not-in-card">–</span><span class="in-card">No proxy</span></span>`;
if(proxy===void 0)return html`<span class="bone"></span>`;if(proxy===null)return html`<span class="muted">Unknown</span>`;let{lastCheck,status}=proxy,exit=profile.
run?.proxy?.exitIp?profile.run.proxy:status==="alive"?lastCheck:null,below=status==="dead"&&!exit?html`<span class="bad-text">${faultWords(lastCheck?.error)?.happened||
"The last check failed."}</span>`:exit?.exitIp?html`${exit.exitIp}${exit.latencyMs!=null?` · ${span(exit.latencyMs)}`:""}`:"Not checked";return html`<span class="two-lines"><span class="with-flag"><${Country} code=${exit?.
country||lastCheck?.country} name=${lastCheck?.countryName} /> <${Name}>${proxyName(proxy)}<//></span>
    <span class="sub number">${below}</span></span>`}function LastRun({profile}){let now=useNow(),{run,lastRun,status}=profile;if(run?.startedAt&&status!=="fail\
ed"){let words=lasting(run.startedAt,now);return html`<time class="number" datetime=${run.startedAt} title=${`Since ${moment(run.startedAt)}`}>${/^\d/.test(words)&&
html`<span class="not-in-card">Now · </span>`}${words}</time>`}if(!lastRun)return html`<span class="muted">Never<span class="in-card"> started</span></span>`;let took=lastRun.
durationMs??Date.parse(lastRun.endedAt)-Date.parse(lastRun.startedAt),title=`${endWords(lastRun)}${took>=0?` after ${span(took)}`:""}`;if(status!=="failed")return html`<span class="muted" title=${title}><${Ago} time=${lastRun.
endedAt||lastRun.startedAt} /></span>`;let code=lastRun.signal?`, ${lastRun.signal}`:lastRun.exitCode>0?`, exit code ${lastRun.exitCode}`:"";return html`<span class="two-lines"><${Ago} time=${lastRun.
endedAt||lastRun.startedAt} />
    <span class="sub bad-text" title=${(lastRun.lines||[]).join(`
`)}><${Icon} name="warning" />${endWords(lastRun)}${code}</span></span>`}var FILTERS=["search","status","tag","proxyId","country","os","proxyStatus","neverStarted","nodeId"];function profileFilters(tags,nodes){return[{name:"status",label:"\
Status",options:Object.entries(PROFILE_STATUS).map(([value,{text}])=>[value,text])},{name:"neverStarted",label:"Started",options:[["true","Never"],["false","At \
least once"]]},{name:"proxyStatus",label:"Proxy state",options:[["alive","Alive"],["dead","Dead"],["unknown","Not checked"]]},{name:"os",label:"System",options:Object.
entries(SYSTEMS)},{name:"tag",label:"Tag",many:!0,panel:FreeFilter({suggestions:tags,placeholder:"shop"})},{name:"country",label:"Country",panel:FreeFilter({placeholder:"\
DE",pattern:"[A-Za-z]{2}"}),text:code=>countryName(code.toUpperCase())},{name:"proxyId",label:"Proxy",panel:ProxyFilter,text:id=>id==="none"?"None (direct)":html`<${ProxyName} id=${id} />`},
...nodes.length>1?[{name:"nodeId",label:"Server",options:nodes.map(({id,name})=>[id,name])}]:[]]}function ProxyName({id}){let proxy=useProxy(id);return proxy?proxyName(
proxy):id}function ProxyFilter({choose,label}){let{api}=useApp(),[text,setText]=d(""),[found,setFound]=d([]);return A(()=>{let ending=new AbortController;return api.
get("/proxies",{search:text.trim(),limit:8,page:1},{signal:ending.signal}).then(({data})=>setFound(data),()=>{}),()=>ending.abort()},[text]),html`<span class="filter-find"><input type="text" aria-label=${label} placeholder="Name or host" value=${text} onInput=${event=>setText(
event.currentTarget.value)} spellcheck=${!1} />
    <span class="filter-options"><button type="button" class="chip-option" onClick=${()=>choose("none")}>None (direct)</button>
      ${found.map(proxy=>html`<button type="button" key=${proxy.id} class="chip-option" onClick=${()=>choose(proxy.id)}><bdi>${proxyName(proxy)}</bdi></button>`)}</span></span>`}
var VIEWS=[{name:"running",label:"Running",params:{status:"running"}},{name:"failed",counted:"failed",label:"Failed",params:{status:"failed"}},{name:"dead",counted:"\
deadProxy",label:"Dead proxy",params:{proxyStatus:"dead"}},{name:"never",counted:"neverStarted",label:"Never started",params:{neverStarted:"true"}}];function queryOf(params,workspaceId){
return{...Object.fromEntries(FILTERS.map(name=>[name,name==="tag"?params.getAll(name):params.get(name)||""])),workspaceId}}function isFiltered(params){return FILTERS.
some(name=>params.get(name))}function onProfileEvent({type,data},rows){let[kind,what]=type.split(".");if(kind!=="profile"&&kind!=="run")return;let came=kind==="profile"&&["created","batch_c\
reated","batch_changed","deleted","restored"].includes(what);rows.changed(data?.profileId||data?.id,came)}function isRefined(query){return FILTERS.some(name=>query[name]?.
length>0)||["updatedAt","lastStartedAt","name"].includes(query.sort)}function ProfilesPage({params,path}){let app=useApp(),workspaceId=useStore(app.model.workspace),
order=useSort(params,"createdAt"),query={...queryOf(params,workspaceId),sort:order.sort,order:order.order},{rows,selection,view}=useList("/profiles",query,onProfileEvent,
{filtered:isRefined}),open=profile=>app.router.open(profile.id),several=useSeveral();useFreshNodes(several);let columns=useColumns("profiles",()=>profileColumns(
{choose:tag=>app.router.refine({tag}),open,several}),several),filtered=isFiltered(params),{total,atLeast}=view,known=()=>[...new Set(rows.loaded().flatMap(({tags})=>tags||
[]))].sort(),{first,hold,end}=useFirst(total===0&&!filtered&&!view.problem,rows);return html`<div class="page" onDragOver=${event=>dropped(event)} onDrop=${event=>dropped(
event,app)}>
    <header class="page-head">
      <h1 tabindex="-1">Profiles ${total!==null&&html`<span class="total number">${number(total,atLeast)}</span>`}</h1>
      <div class="tools">
        ${!first&&html`<${SearchBox} value=${params.get("search")||""} label="Search profiles" change=${search=>app.router.refine({search},{replace:!0})} />`}
        <button type="button" class="button" onClick=${()=>app.open(ImportDialog,{})}><${Icon} name="upload" /><span>Import</span></button>
        <button type="button" class=${first?"button":"button primary"} onClick=${()=>create(app)}><${Icon} name="plus" /><span>New profile</span></button>
      </div>
    </header>
    ${!first&&(filtered||total!==0)&&html`<div class="filters"><${Chips} filters=${profileFilters(known,app.nodes.all.value)} params=${params} /><${ViewMenu} columns=${columns} ...${order} /></div>`}
    <${NoBrowser} />
    <${GridProblem} rows=${rows} />
    <div class="page-body">${first?html`<${FirstRun} hold=${hold} end=${end} />`:total===0&&!view.problem?html`<${NoProfiles} />`:html`<${Grid} label="Profiles" ...${{
rows,columns,selection,open}} ...${order} opened=${path[0]}
      what=${({name})=>name} tone=${({status})=>`is-${status}`} actionsWidth=${152}
      actions=${profile=>html`<${RowActions} profile=${profile} rows=${rows} />`}
      keys=${{s:profile=>canStart(profile)?start(app,profile,rows):stop(app,profile,rows),v:profile=>profile.status==="running"&&app.router.go(viewOf(profile.id)),
e:profile=>edit(app,profile,rows),p:profile=>chooseProxy(app,profile,rows),d:profile=>clone(app,profile),Delete:profile=>askToDelete(app,profile,rows)}} />`}
      ${path[0]&&html`<${ProfileDrawer} key=${path[0]} id=${path[0]} tab=${path[1]} rows=${rows} />`}</div>
    <${ProfileBulk} ...${{selection,rows,total:total??0}} />
    <p class="visually-hidden" role="status">${total!==null&&filtered?`${number(total,atLeast)} profiles match`:""}</p>
  </div>`}function dropped(event,app){!event.dataTransfer?.types.includes("Files")||event.target.closest("dialog")||(event.preventDefault(),app&&event.dataTransfer.
files[0]&&app.open(ImportDialog,{file:event.dataTransfer.files[0]}))}function useFirst(none,rows){let[held,setHeld]=d(!1);return{first:none||held,hold:()=>setHeld(
!0),end:async()=>{await rows.reload().catch(()=>{}),setHeld(!1)}}}function NoProfiles(){let app=useApp();return html`<${Empty} title="No matches"><p>No profile matches ${app.
router.current.value.params.get("search")?"this search":"these filters"}.</p>
    <button type="button" class="button" onClick=${()=>app.router.refine(Object.fromEntries(FILTERS.map(name=>[name,""])))}>Show all profiles</button><//>`}function create(app){
app.open(ProfileDialog,{})}function edit(app,profile,rows){app.open(ProfileDialog,{profile,done:changed=>rows.patch(profile.id,changed)})}function chooseProxy(app,profile,rows){
app.open(ProxyDialog,{profile,done:changed=>rows.patch(profile.id,changed)})}function clone(app,profile){app.open(CloneDialog,{profile})}function canStart({status}){
return status==="stopped"||status==="failed"}function RowActions({profile,rows}){let app=useApp(),busy=useStore(app.busy).has(profile.id),offline=useStore(app.offline),
why=useNoStart(),{name,status}=profile,running=status==="running";return html`<div class="actions">
    ${running&&html`<a class="icon-button" href=${viewOf(profile.id)} aria-label=${`View ${name}`} title="View"><${Icon} name="eye" /></a>`}
    ${running||status==="stopping"?html`<button type="button" class="button small" disabled=${offline} aria-disabled=${busy||!running} aria-label=${`Stop ${name}`} onClick=${()=>stop(
app,profile,rows)}><${Icon} name="stop" />Stop</button>`:html`<button type="button" class="button small go" disabled=${!!why} title=${why||void 0} aria-disabled=${busy||
status==="starting"} aria-label=${`Start ${name}`} onClick=${()=>start(app,profile,rows)}><${Icon} name="play" />Start</button>`}
    <${Menu} label=${`More for ${name}`} items=${[running&&{label:"Connect",icon:"plug",run:()=>connect(app,profile,rows)},{label:"Edit",icon:"edit",keys:"E",run:()=>edit(
app,profile,rows)},{label:"Choose a proxy",icon:"proxies",keys:"P",run:()=>chooseProxy(app,profile,rows)},{label:"Clone",icon:"copy",keys:"D",run:()=>clone(app,
profile)},{label:"Export",icon:"download",run:()=>app.open(ExportDialog,{profiles:[profile]})},{label:"Save as a template",icon:"bookmark",run:()=>app.open(TemplateDialog,
{profile})},"line",{label:"Move to trash",icon:"trash",danger:!0,run:()=>askToDelete(app,profile,rows)}]} />
  </div>`}async function chosenOf(api,path,{selection,query,name}){let{all,ids}=selection.state.value;if(!all)return[...ids].map(([id,known])=>({id,name:known}));let out=[];
for(let page=1;;page++){let{data,hasMore}=await api.get(path,{...query,page,limit:200});if(out.push(...data.filter(({id})=>!ids.has(id)).map(object=>({id:object.
id,name:name(object)}))),!hasMore)return out}}var AT_ONCE=4;function one(call){return part=>Promise.all(part.map(item=>call(item).then(()=>({id:item.id}),error=>({id:item.id,error}))))}function ProxyBulk({selection,
rows,total}){let app=useApp(),size=()=>selection.size(total),begin=(verb,call,part=AT_ONCE)=>chosenOf(app.api,"/proxies",{selection,query:rows.query,name:proxyName}).
then(items=>(selection.clear(),app.works.each({title:`${verb} ${count(items.length,"proxy","proxies")}`,items,size:part,call}))).catch(problem=>app.fail("Nothin\
g was started",problem)),path=({id})=>`/proxies/${encodeURIComponent(id)}`,check2=()=>begin("Checking",one(item=>app.api.post(`${path(item)}/check`)),16),remove=()=>app.
open(ConfirmDialog,{title:`Delete ${count(size(),"proxy","proxies")}?`,verb:"Delete",work:async()=>{begin("Deleting",one(item=>app.api.delete(path(item))))},children:html`<p>Their saved passwords are removed. Proxies that profiles still use are kept, and listed afterwards.</p>`}),
tag=(action,tags)=>begin("Tagging",one(async item=>{let now=await app.api.get(path(item)),next=action==="tag"?[...new Set([...now.tags,...tags])]:now.tags.filter(
other=>!tags.includes(other));await app.api.put(path(item),{tags:next})}));return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.view.value.
atLeast} what="proxies" actions=${[{label:"Check",icon:"pulse",run:check2},{label:"Tag…",icon:"tag",run:()=>app.open(TagDialog,{size:size(),tag})},{label:"Del\
ete",icon:"trash",danger:!0,run:remove}]} />`}var NOTHING2=html`<span class="muted not-in-card">–</span>`,PROXY_FILTERS=["search","status","tag","type","country"];function onProxyEvent({type,data},rows){type.
startsWith("proxy.")?rows.changed(data?.id,["proxy.created","proxy.deleted"].includes(type)||!data?.id):(["profile.created","profile.batch_created","profile.bat\
ch_changed","profile.deleted","profile.restored"].includes(type)||type==="profile.updated"&&data?.changed?.includes("proxyId"))&&rows.changed(null,!0)}function isRefined2(query){
return PROXY_FILTERS.some(name=>query[name]?.length>0)||!["","createdAt"].includes(query.sort)}function filtersOf(tags){return[{name:"status",label:"State",options:Object.
entries(PROXY_STATUS).map(([value,{text}])=>[value,text])},{name:"type",label:"Type",options:Object.keys(PROXY_TYPES).map(type=>[type,typeName(type)])},{name:"t\
ag",label:"Tag",many:!0,panel:FreeFilter({suggestions:tags,placeholder:"residential"})},{name:"country",label:"Country",panel:FreeFilter({placeholder:"DE",pattern:"\
[A-Za-z]{2}"}),text:code=>countryName(code.toUpperCase())}]}function typeName(type){return(PROXY_TYPES[type]||type).replace(/ .*/,"")}function proxyColumns({open,
choose}){return[{id:"name",label:"Proxy",min:200,grow:2.4,sort:"name",first:"asc",always:!0,draw:proxy=>html`<${NameCell2} proxy=${proxy} open=${open} />`},{id:"\
status",label:"State",width:118,rank:1,card:!0,draw:proxy=>html`<${StateCell} proxy=${proxy} />`},{id:"exit",label:"Exit",min:210,grow:2,sort:"country",first:"a\
sc",rank:2,card:!0,draw:proxy=>html`<${ExitCell} proxy=${proxy} />`},{id:"latency",label:"Latency",width:96,numeric:!0,sort:"latency",first:"asc",rank:4,draw:({
lastCheck})=>lastCheck?.ok&&lastCheck.latencyMs!=null?span(lastCheck.latencyMs):NOTHING2},{id:"uptime",label:"Uptime",width:88,numeric:!0,rank:6,draw:({uptime})=>uptime==
null?NOTHING2:`${Math.floor(uptime*100)} %`},{id:"checked",label:"Checked",width:118,sort:"checkedAt",rank:3,card:!0,draw:proxy=>html`<${CheckedCell} proxy=${proxy} />`},
{id:"profiles",label:"Profiles",width:92,numeric:!0,rank:5,draw:({id,profileCount})=>profileCount>0?html`<a href=${href("profiles",new URLSearchParams({proxyId:id}))} aria-label=${count(
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
checkedAt} /></button>`:html`<span class="muted not-in-card">Never</span>`}function ProxiesPage({params,path}){let app=useApp(),workspaceId=useStore(app.model.workspace),
order=useSort(params,"createdAt"),query={...Object.fromEntries(PROXY_FILTERS.map(name=>[name,name==="tag"?params.getAll(name):params.get(name)||""])),workspaceId,
sort:order.sort,order:order.order},{rows,selection,view}=useList("/proxies",query,onProxyEvent,{filtered:isRefined2}),open=proxy=>app.router.open(proxy.id);A(()=>app.
checked.last.watch(checks=>rows.patchAll(new Map(checks.map(check2=>[check2.id,{lastCheck:check2,status:check2.status}])))),[rows]);let columns=useColumns("prox\
ies",()=>proxyColumns({open,choose:tag=>app.router.refine({tag})})),filtered=PROXY_FILTERS.some(name=>params.get(name)),{total,atLeast}=view,known=()=>[...new Set(
rows.loaded().flatMap(({tags})=>tags||[]))].sort();return html`<div class="page">
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
    <${ProxyBulk} ...${{selection,rows,total:total??0}} />
    <p class="visually-hidden" role="status">${total!==null&&filtered?`${number(total,atLeast)} proxies match`:""}</p>
  </div>`}function NoProxies({filtered}){let app=useApp();return filtered?html`<${Empty} title="No matches"><p>No proxy matches ${app.router.current.value.params.
get("search")?"this search":"these filters"}.</p>
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
Boolean).join(" → "),tone:changed?"good":"plain"})}catch(problem){app.fail(`${proxyName(proxy)} was not rotated`,problem)}})}var USAGE_MS=5e3,NOTHING3=html`<span class="muted not-in-card">–</span>`;function useUsage(api){let[usage]=d(()=>new Store(new Map));return A(()=>{let ending=new AbortController,
timer=0,read2=async()=>{if(clearTimeout(timer),!document.hidden){let answer=await api.get("/runs",{},{signal:ending.signal}).catch(()=>null);if(ending.signal.aborted)
return;answer&&usage.set(new Map(answer.data.map(run=>[run.profileId,run.usage])))}clearTimeout(timer),timer=setTimeout(read2,USAGE_MS)},visible=()=>document.hidden||
read2();return read2(),document.addEventListener("visibilitychange",visible),()=>{ending.abort(),clearTimeout(timer),document.removeEventListener("visibilitycha\
nge",visible)}},[api]),usage}function runColumns(usage,open,several){return[{id:"name",label:"Profile",min:200,grow:2,sort:"name",first:"asc",always:!0,draw:profile=>html`${profile.
status==="running"&&html`<${Preview} profile=${profile} />`}<button type="button" class="link title" title=${profile.name} onClick=${()=>open(profile)}><${Name}>${profile.
name}<//></button><${Temporary} of=${profile} />`},{id:"exit",label:"Exit",min:150,grow:1.2,rank:1,card:!0,draw:({run})=>html`<${Exit} run=${run||{}} />`},{id:"\
for",label:"Running for",width:122,sort:"lastStartedAt",rank:2,card:!0,draw:({run})=>html`<${For} run=${run} />`},{id:"resources",label:"Resources",width:208,numeric:!0,
rank:3,card:!0,draw:({id})=>html`<${Resources} usage=${usage} id=${id} />`},{id:"traffic",label:"Traffic",width:160,numeric:!0,rank:5,draw:({id})=>html`<${Traffic} usage=${usage} id=${id} />`},
{id:"disk",label:"Disk",width:190,rank:9,hidden:!0,draw:({id})=>html`<${Disk} usage=${usage} id=${id} />`},{id:"clients",label:"Clients",width:112,rank:4,draw:({
id})=>html`<${Clients} usage=${usage} id=${id} />`},...several?[nodeColumn(5)]:[],{id:"identity",label:"Identity",min:150,grow:1,rank:6,draw:({run})=>html`<${Identity} effective=${run?.
effective} />`},{id:"isolation",label:"Isolation",width:148,rank:7,draw:({run})=>html`<${Isolation} isolation=${run?.isolation} />`},{id:"browser",label:"Browse\
r",width:190,rank:8,hidden:!0,draw:({run})=>run?.browser?html`<span class="one-line">${run.browser.product} ${run.browser.version}${run.headless?", headless":""}</span>`:
NOTHING3},{id:"pid",label:"Process",width:92,numeric:!0,rank:9,hidden:!0,draw:({run})=>run?.pid??NOTHING3}]}function Exit({run}){return run.proxy?html`<span class="with-flag"><${Country} code=${run.
proxy.country} /> ${run.proxy.exitIp?html`<span class="number">${run.proxy.exitIp}</span>`:html`<span class="muted">Not known yet</span>`}</span>`:html`<span class="muted">No proxy</span>`}
function For({run}){let now=useNow();return run?.startedAt?html`<time class="number" datetime=${run.startedAt} title=${moment(run.startedAt)}>${lasting(run.startedAt,
now)}</time>`:NOTHING3}function Resources({usage,id}){let now=useStore(usage).get(id);if(!now)return NOTHING3;let{words,more,near}=usageWords(now);return html`<span class=${near?
"one-line bad-text":"one-line"} title=${more}>${words||"–"}</span>`}function Disk({usage,id}){let{readBytes:read2,writeBytes:written}=useStore(usage).get(id)||
{};return read2==null&&written==null?NOTHING3:html`<span class="one-line" title="Read from disks and written to them, since the start">${diskWords(read2,written)}</span>`}
function Traffic({usage,id}){let{bytesUp:up,bytesDown:down}=useStore(usage).get(id)||{};return up==null&&down==null?NOTHING3:html`<span class="one-line">↓ ${bytes(
down||0)} ↑ ${bytes(up||0)}</span>`}function Clients({usage,id}){let{clients=0,viewers=0}=useStore(usage).get(id)||{},words=[clients>0&&count(clients,"client"),
viewers>0&&count(viewers,"viewer")].filter(Boolean);return words.length?html`<span class="two-lines">${words.map(one2=>html`<span class="one-line" key=${one2}>${one2}</span>`)}</span>`:
NOTHING3}function Identity({effective}){if(!effective?.os)return NOTHING3;let{os,browserVersion,timezone,locale}=effective;return html`<span class="two-lines"><span class="one-line">${SYSTEMS[os]||
os} ${browserVersion}</span><span class="sub">${[timezone,[].concat(locale||[])[0]].filter(Boolean).join(" · ")}</span></span>`}function Isolation({isolation}){
if(!isolation)return NOTHING3;let network={__proto__:null,namespace:"Own network",loopback:"Own relay"}[isolation.network]||isolation.network;return html`<span class="two-lines"><span class="one-line">${network}</span><span class="sub">${isolation.
files==="namespace"?"Own files · ":""}${isolation.sandbox?"Sandbox on":html`<span class="bad-text">Sandbox off</span>`}</span></span>`}function RunningPage({params,
path}){let app=useApp(),workspaceId=useStore(app.model.workspace),order=useSort(params,"lastStartedAt"),[wall,setWall]=d(()=>recall("running.wall",!1)),{rows,selection,
view}=useList("/profiles",{status:"running",search:params.get("search")||"",workspaceId,sort:order.sort,order:order.order},onProfileEvent),usage=useUsage(app.api),
open=profile=>app.router.open(profile.id),several=useSeveral(),columns=useColumns("running",()=>runColumns(usage,open,several),several),{total,atLeast}=view,show=on=>{
setWall(on),remember("running.wall",on||null)};return html`<div class="page">
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
map(profile=>html`<li key=${profile.id} class="wall-item" data-id=${profile.id}>
    <${Tile} profile=${profile} />
    <div class="wall-foot"><span class="wall-name"><${Country} code=${profile.run?.proxy?.country} bare /><${Name}>${profile.name}<//><${Temporary} of=${profile} /></span>
      <a class="icon-button" href=${viewOf(profile.id)} aria-label=${`View ${profile.name}`} title="View"><${Icon} name="eye" /></a></div></li>`)}</ul>`}function NothingRuns(){
let app=useApp(),[last,setLast]=d([]);return A(()=>{app.api.get("/profiles",{sort:"lastStartedAt",limit:3,page:1,neverStarted:!1}).then(({data})=>setLast(data),
()=>{})},[]),html`<${Empty} title="Nothing is running"><p>Start a profile to see its browser here.</p>
    ${last.length>0&&html`<ul class="last-started" aria-label="Started last">${last.map(profile=>html`<li key=${profile.id}><${StartAgain} profile=${profile} /></li>`)}</ul>`}
    <a class="button" href=${href("profiles")}>All profiles</a><//>`}function StartAgain({profile}){let app=useApp(),busy=useStore(app.busy).has(profile.id),why=useNoStart();
return html`<button type="button" class="button" disabled=${!!why} title=${why||void 0} aria-disabled=${busy} onClick=${()=>app.start(profile)}><${Icon} name="play" /><span>Start <bdi>${profile.
name}</bdi></span></button>`}function sameView(view,params){let sorted=all=>[...new URLSearchParams(all)].map(pair=>pair.join("=")).sort().join("&");return sorted(view)===sorted(params)}var PLACES2=[{name:"profiles",label:"Profiles",count:({profiles})=>profiles.total},{name:"proxies",label:"Proxies",count:({proxies})=>proxies.total},{name:"runn\
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
        <button type="button" title=${narrow?"Log out":void 0} onClick=${()=>app.logOut()}><${Icon} name="leave" /><span>Log out</span></button>
        <button type="button" aria-expanded=${!narrow} title=${narrow?"Widen the sidebar":void 0} onClick=${fold}><${Icon} name=${narrow?"widen":"collapse"} /><span>Collapse</span></button>
      </nav>
      <${Version} />
    </div>
  </aside>`}function Views({route,counts}){let app=useApp(),own=useStore(app.views),present=route.name==="profiles"?route.params:null,unsaved=present&&isFiltered(
present)&&![...VIEWS,...own].some(view=>sameView(view.params,present)),shown=VIEWS.filter(({name})=>name!=="running").map(view=>({...view,count:counts?.profiles[view.
counted]}));return html`<nav class="places views" aria-label="Views"><p class="side-title">Views</p>
    ${shown.map(view=>html`<${View} key=${view.name} view=${view} present=${present} tone=${["failed","dead"].includes(view.name)&&view.count>0?"is-bad":""} />`)}
    ${own.map(view=>html`<${View} key=${`own ${view.label}`} view=${view} present=${present} drop=${()=>app.dropView(view)} />`)}
    ${unsaved&&html`<button type="button" onClick=${()=>app.open(SaveView,{params:pick(present)})}><${Icon} name="plus" /><span>Save this view</span></button>`}
  </nav>`}function short(n){return n<1e5?number(n):`${Math.round(n/1e3)}k`}function pick(params){return[...params].filter(([name])=>FILTERS.includes(name)||["so\
rt","order"].includes(name))}function View({view,present,tone="",drop}){let app=useApp(),params=new URLSearchParams(view.params),[counted,setCounted]=d(null),event=useStore(
app.model.counts);A(()=>{view.count!==void 0||!drop||app.api.get("/profiles",{...Object.fromEntries([...params.keys()].map(name=>[name,params.getAll(name)])),workspaceId:app.
model.workspace.value,limit:1,page:1}).then(({total,totalIsExact})=>setCounted(number(total,totalIsExact===!1)),()=>{})},[event]);let count2=counted??(view.count>
0?short(view.count):""),ask=()=>app.open(ConfirmDialog,{title:"Remove this view?",verb:"Remove",work:async()=>drop(),children:html`<p><bdi>${view.label}</bdi> is removed from the sidebar. No profile changes.</p>`});
return html`<span class="view"><a href=${href("profiles",params)} aria-current=${present&&sameView(view.params,present)?"page":void 0}><${Icon} name="bookmark" /><span><bdi>${view.
label}</bdi></span>
    ${count2!==""&&html`<span class=${`badge ${tone}`}>${count2}</span>`}</a>
    ${drop&&html`<button type="button" class="icon-button view-drop" aria-label=${`Remove the view ${view.label}`} onClick=${ask}><${Icon} name="close" /></button>`}</span>`}
function Workspaces(){let{model}=useApp(),known=useStore(model.workspaces),chosen=useStore(model.workspace);if(known.length<2&&!chosen)return null;let options=chosen&&
!known.includes(chosen)?[chosen,...known]:known;return html`<label class="workspaces"><span class="side-title">Workspace</span>
    <select aria-label="Workspace" value=${chosen} onChange=${event=>model.chooseWorkspace(event.currentTarget.value)}>
      <option value="" selected=${chosen===""}>All</option>
      ${options.map(id=>html`<option key=${id} value=${id} selected=${id===chosen}>${id}</option>`)}
    </select>
  </label>`}var CONNECTION={connecting:["wait","Connecting"],live:["good","Live"],lost:["bad","Connection lost"],off:["quiet","No live updates"]};function Connection(){
let[tone,words]=CONNECTION[useStore(useApp().model.connection)];return html`<p class="connection status ${tone}" role="status"><span class="dot"></span><span>${words}</span></p>`}
function Version(){let version=useStore(useApp().model.counts)?.version;return version&&html`<p class="version">warren ${version}</p>`}function applyTheme(){let theme=recall("theme","system");document.documentElement.dataset.theme=["light","dark"].includes(theme)?theme:"system"}var DAY_MS=24*3600*1e3,COLUMNS=[{id:"name",label:"Profile",min:200,grow:3,sort:"name",first:"asc",always:!0,draw:({name})=>html`<span class="title"><${Name}>${name}<//></span>`},
{id:"tags",label:"Tags",min:130,grow:1.3,rank:4,draw:({tags})=>html`<${Tags} tags=${tags} />`},{id:"deleted",label:"Deleted",width:130,rank:1,card:!0,draw:({trashedAt})=>html`<span class="in-card">Deleted </span><${Ago} time=${trashedAt} />`},
{id:"left",label:"Days left",width:100,numeric:!0,rank:2,card:!0,draw:({trashedAt})=>html`<${DaysLeft} time=${trashedAt} />`},{id:"workspace",label:"Workspace",
width:130,rank:5,draw:({workspaceId})=>html`<bdi class="one-line">${workspaceId}</bdi>`}];function DaysLeft({time}){let now=useNow(),kept=useStore(useApp().model.
counts)?.trashDays;if(kept===void 0)return"–";let left=Math.max(0,Math.ceil(kept-(now-Date.parse(time))/DAY_MS));return html`${left}<span class="in-card"> ${left===
1?"day":"days"} left</span>`}function TrashPage({params}){let app=useApp(),workspaceId=useStore(app.model.workspace),order=useSort(params,"updatedAt"),search=params.
get("search")||"",{rows,selection,view}=useList("/profiles",{trashed:!0,search,workspaceId,sort:order.sort,order:order.order},onProfileEvent),columns=useColumns(
"trash",()=>COLUMNS),{total,atLeast}=view,summary=useStore(app.model.counts);return html`<div class="page">
    <header class="page-head"><h1 tabindex="-1">Trash ${total!==null&&html`<span class="total number">${number(total,atLeast)}</span>`}</h1>
      ${(total>0||search)&&html`<div class="tools"><${SearchBox} value=${search} label="Search the trash" change=${text=>app.router.refine({search:text},{replace:!0})} /><${ViewMenu} columns=${columns} ...${order} /></div>`}
      <p class="lead">Deleted profiles stay here${keptFor(summary)}, and are then deleted for good.</p></header>
    <${GridProblem} rows=${rows} />
    <div class="page-body">${total===0&&!view.problem?html`<${Empty} title=${search?"No matches":"The trash is empty"} />`:html`<${Grid} label="Deleted profiles" ...${{
rows,columns,selection}} ...${order}
      what=${({name})=>name} actionsWidth=${140} actions=${profile=>html`<${RowActions3} profile=${profile} rows=${rows} />`} />`}</div>
    <${TrashBulk2} ...${{selection,rows,total:total??0}} />
  </div>`}function RowActions3({profile,rows}){let app=useApp(),busy=useStore(app.busy).has(profile.id);return html`<div class="actions">
    <button type="button" class="button small" aria-disabled=${busy} aria-label=${`Restore ${profile.name}`} onClick=${()=>restore(app,profile,rows)}><${Icon} name="restore" />Restore</button>
    <${Menu} label=${`More for ${profile.name}`} items=${[{label:"Delete permanently",icon:"trash",danger:!0,run:()=>askToDestroy(app,profile,rows)}]} /></div>`}
function TrashBulk2({selection,rows,total}){let app=useApp(),begin=async()=>{let items=await chosenOf(app.api,"/profiles",{selection,query:rows.query,name:({name})=>name});
selection.clear(),app.works.each({title:`Deleting ${count(items.length,"profile")} permanently`,items,size:4,call:part=>Promise.all(part.map(({id})=>app.api.delete(
`/profiles/${encodeURIComponent(id)}`,{permanent:!0}).then(()=>({id}),error=>({id,error}))))})},destroy=()=>app.open(ConfirmDialog,{title:`Delete ${count(selection.
size(total),"profile")} permanently?`,verb:"Delete permanently",work:begin,children:html`<p>Their cookies, history and files are removed now. This cannot be undone.</p>`});
return html`<${BulkBar} selection=${selection} total=${total} atLeast=${rows.view.value.atLeast} what="profiles" actions=${[{label:"Restore",icon:"restore",run:()=>batch(
app,{selection,query:rows.query,total:selection.size(total),action:"restore"})},{label:"Delete permanently",icon:"trash",danger:!0,run:destroy}]} />`}var SHOWN=200,DONE_MS=8e3,DRAW_MS=100,GUESS_MS=2e3,Works=class{list=new Store([]);#last=0;async each({title,items,size=20,call}){let ending=new AbortController,
work=this.#begin(title,items.length,()=>ending.abort(),failed=>this.each({title,items:failed,size,call}));for(let i=0;i<items.length&&!ending.signal.aborted;i+=
size){let part=items.slice(i,i+size),results;try{results=await call(part,ending.signal)}catch(error){if(error.name==="AbortError")break;results=part.map(({id})=>({
id,error}))}let names=new Map(part.map(({id,name})=>[id,name])),failed=results.filter(({error})=>error).map(({id,error})=>({id,name:names.get(id)||id,error}));work.
set({...work.value,done:work.value.done+part.length,failed:[...work.value.failed,...failed]})}return this.#end(work,ending.signal.aborted),work.value}async follow({
title,api,events,start:start2,retry}){let job=await start2(),work=this.#begin(title,job.total,()=>api.delete(`/jobs/${encodeURIComponent(job.id)}`).catch(()=>{}),
()=>retry(job)),read2=async()=>{let now=await api.get(`/jobs/${encodeURIComponent(job.id)}`).catch(problem=>problem.status===404?{...job,status:"cancelled"}:null);
return!now||(work.set({...work.value,total:now.total,done:Math.max(work.value.done,now.done),failedCount:now.failed,failed:(now.failures||[]).map(({id,name,error})=>({
id,name:name||id,error}))}),now.status==="running")?!1:(this.#end(work,now.status==="cancelled"),!0)},unwatch=events.watch(async({type,data})=>{if(type==="every\
thing")return void await read2();!type.startsWith("job.")||data?.id!==job.id||(type==="job.progress"?work.set({...work.value,done:data.done,failedCount:data.failed}):
await read2()&&unwatch())});return await read2()&&unwatch(),work.value}async stream({key="",title,total,words,call,show,retry}){if(key&&this.list.value.some(({value})=>value.
key===key&&value.state==="running"))return null;let ending=new AbortController,work=this.#begin(title(total),total,()=>ending.abort(),retry);work.set({...work.value,
key,words,show,began:performance.now()});let failed=[],done=0,planned=0,draw=()=>{planned=0,work.set({...work.value,done,failed:[...failed]})},problem=null;try{
await call(ending.signal,n=>work.set({...work.value,total:n,title:title(n)}),one2=>{done+=1,one2.error&&failed.push({...one2,name:one2.name||""}),planned||=setTimeout(
draw,DRAW_MS)})}catch(error){error.name!=="AbortError"&&(problem=error)}return clearTimeout(planned),draw(),work.set({...work.value,problem,title:title(work.value.
total,!0)}),this.#end(work,ending.signal.aborted||problem!==null),work.value}close(work){this.list.set(this.list.value.filter(other=>other!==work))}#begin(title,total,cancel,retry){
let work=new Store({id:++this.#last,title,total,done:0,failed:[],state:"running",cancel,retry});return this.list.set([...this.list.value.filter(other=>other.value.
state==="running"||failures(other.value)||other.value.problem),work]),work}#end(work,cancelled){work.set({...work.value,state:cancelled?"cancelled":"done"}),!failures(
work.value)&&!work.value.problem&&setTimeout(()=>this.close(work),DONE_MS)}};function failures({failed,failedCount}){return Math.max(failed.length,failedCount??
0)}function WorkArea(){let{works}=useApp(),list=useStore(works.list);return html`<div class="works">${list.map(work=>html`<${WorkPanel} key=${work.value.id} work=${work} />`)}</div>`}
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
work,close}){let app=useApp(),now=useStore(work),[busy,setBusy]=d(!1),failed=failures(now),reasons=Map.groupBy?Map.groupBy(now.failed.slice(0,SHOWN),({error})=>problemTitle(
error)):new Map([["Failed",now.failed.slice(0,SHOWN)]]),again=()=>{setBusy(!0),close(),app.works.close(work),now.retry(now.failed)};return html`<${Dialog} title=${count(
failed,"failed","failed")} lead=${now.title} close=${close}>
    <div class="dialog-content">${[...reasons].map(([reason,ones])=>html`<section key=${reason} class="reason"><h3>${reason} <span class="total">${number(ones.length)}</span></h3>
      <p class="muted">${problemWords({...ones[0].error,message:ones[0].error.detail||ones[0].error.message})}</p>
      <ul class="names">${ones.map(({id,name})=>html`<li key=${id}>${name?html`<${Name}>${name}<//>`:html`<${ProxyLabel} id=${id} />`}</li>`)}</ul></section>`)}
      ${failed>SHOWN&&html`<p class="hint">And ${number(failed-SHOWN)} more.</p>`}</div>
    <footer class="dialog-foot"><button type="button" class="button" onClick=${close}>Close</button>
      <button type="button" class="button primary" autofocus disabled=${busy||now.state==="running"} onClick=${again}>Try these again</button></footer>
  <//>`}function ProxyLabel({id}){let proxy=useProxy(id);return html`<${Name}>${proxy?proxyName(proxy):proxy===null?"A deleted proxy":"…"}<//>`}var TICK_MS=1e4,FOCUS_FRAMES=300,PAGES={__proto__:null,profiles:ProfilesPage,proxies:ProxiesPage,running:RunningPage,trash:TrashPage,settings:SettingsPage,live:LivePage},
FULL=["live"],App=class{toasts=new Toasts;works=new Works;checked=new Checked;router=new Router("profiles");dialog=new Store(null);busy=new Store(new Set);now=new Store(
Date.now());offline=new Store(!1);density=new Store(recall("density","compact")==="comfortable"?"comfortable":"compact");views=new Store(recall("views",[]));asking=new Store(
null);signedOut=new Store("");#changed=new Set;#typed=new Set;grids=[];constructor(key,leave){this.leave=leave,this.api=new Api(key,()=>this.holds(REFUSED)||leave(
REFUSED)),this.model=new Model(this.api),this.proxies=new ProxyCache(this.api),this.previews=new Previews(this.api),this.browsers=new Browsers(this.api),this.nodes=
new Nodes(this.api),this.keys=new Keys(this),this.router.leaving=goOn=>this.leaving(goOn)}begin(){let unwatch=[this.model.connection.watch(state=>this.offline.set(
state==="lost")),this.model.event.watch(event=>this.proxies.onEvent(event)),this.model.counts.watch(summary=>this.browsers.count.set(summary.browsers)),this.keys.
begin(),this.previews.begin(),this.browsers.begin(this.model.event),this.nodes.begin(this.model.event),this.checked.last.watch(checks=>this.proxies.checked(checks))];
this.model.begin();let unload=event=>this.#changed.size&&event.preventDefault();addEventListener("beforeunload",unload),unwatch.push(()=>removeEventListener("be\
foreunload",unload));let timer=setInterval(()=>this.now.set(Date.now()),TICK_MS);return()=>{unwatch.forEach(end=>end()),clearInterval(timer),this.model.end()}}open(component,props){
let shown={component,key:(this.dialog.value?.key||0)+Math.random()};shown.props={...props,close:()=>this.dialog.value===shown&&this.leaving(()=>this.dialog.set(
null))},this.leaving(()=>this.dialog.set(shown))}holdForm(root,{changed=!1,typed=!1}){changed?this.#changed.add(root):this.#changed.delete(root),typed?this.#typed.
add(root):this.#typed.delete(root)}holds(reason){return this.#typed.size?(this.signedOut.set(this.signedOut.value||reason),!0):!1}renew(key){this.api.renew(key)&&
(this.signedOut.set(""),this.model.renew())}logOut(){this.leaving(()=>this.leave())}giveUp(){let reason=this.signedOut.value;this.#changed.clear(),this.signedOut.
set(""),this.leave(reason)}leaving(goOn){this.#changed.size?this.asking.set(goOn):goOn()}discard(){let goOn=this.asking.value;this.#changed.clear(),this.asking.
set(null),goOn?.()}openPalette(){this.dialog.value||this.open(Palette,{})}createProfile(){this.open(ProfileDialog,{})}createProxy(){add(this)}createHere(){this.
router.current.value.name==="proxies"?this.createProxy():this.createProfile()}start(profile){return start(this,profile)}escape(){this.router.current.value.path.
length&&this.closeDrawer()}closeDrawer(){let[object]=this.router.current.value.path;this.leaving(()=>{this.router.open(),setTimeout(()=>document.activeElement===
document.body&&this.focusPage(object))})}fail(subject,problem,action){this.dialog.value?this.toasts.say({text:subject,more:`${problemTitle(problem)}. ${problemWords(
problem)}`,tone:"bad",action}):this.open(ProblemDialog,{subject,problem,action})}setDensity(density){this.density.set(density),remember("density",density==="com\
pact"?null:density)}setTheme(theme){remember("theme",theme==="system"?null:theme),applyTheme()}saveView(view){this.#keepViews([...this.views.value.filter(({label})=>label!==
view.label),view])}dropView(view){this.#keepViews(this.views.value.filter(other=>other!==view))}#keepViews(views){this.views.set(views),remember("views",views.length?
views:null)}async during(id,work){if(!this.busy.value.has(id)){this.busy.set(new Set(this.busy.value).add(id));try{await work()}finally{let busy=new Set(this.busy.
value);busy.delete(id),this.busy.set(busy)}}}keepFocus(){requestAnimationFrame(()=>document.activeElement===document.body&&this.focusPage())}focusPage(id,frames=FOCUS_FRAMES){
let row=id&&document.querySelector(`[data-id="${CSS.escape(id)}"]`);(row||document.querySelector(".drawer.is-wide h2")||document.querySelector("h1"))?.focus({preventScroll:!row}),
!(document.activeElement!==document.body||!frames)&&requestAnimationFrame(()=>document.activeElement===document.body&&this.focusPage(id,frames-1))}};function Root(){
let[given,setGiven]=d(takeFromAddress),[{key,turn},setShown]=d(()=>({key:readKey(),turn:0})),setKey=next=>setShown(now2=>({key:next,turn:now2.turn+1})),now=T(key);
now.current=key;let page=T(null),[reason,setReason]=d(""),enter=(fresh,onlyThisTab)=>{saveKey(fresh,onlyThisTab),setReason(""),setKey(fresh)},leave=(why="")=>{why||
revoke(now.current).catch(problem=>![401,404].includes(problem.status)&&setReason(STILL_VALID)),readKey()===now.current&&dropKey(),setReason(why),setKey(why?readKey():
"")},renew=fresh=>setShown(({turn:same})=>({key:fresh,turn:same}));return A(()=>{let look=()=>setGiven(before=>takeFromAddress()||before);return addEventListener(
"hashchange",look),()=>removeEventListener("hashchange",look)},[]),A(()=>{if(!given)return;let before=readKey();exchange(given).then(fresh=>{enter(fresh),before&&
revoke(before).catch(()=>{})},problem=>setReason(problemWords(problem))).then(()=>setGiven(null))},[given]),A(()=>watchKey(()=>{let other=readKey();if(other!==key){
if(other?page.current?.signedOut.value:page.current?.holds(LOGGED_OUT)){other&&renew(other);return}setReason(other?"":LOGGED_OUT),setKey(other)}}),[key]),given?
html`<${Entering} />`:key?html`<${Frame} key=${turn} secret=${key} ...${{leave,page,renew}} />`:html`<${Login} enter=${enter} reason=${reason} />`}var REFUSED="\
This key is no longer valid. It may have been revoked, or have expired.",LOGGED_OUT="You have logged out in another tab.",STILL_VALID="You are logged out here. \
The server did not answer, so the key of this page is still valid: revoke it in the list of keys.";function Frame({secret,leave,page:shown,renew}){let[app]=d(()=>new App(
secret,leave));A(()=>{shown.current=app;let end=app.begin();return()=>{shown.current=null,end()}},[]),A(()=>app.renew(secret),[secret]);let route=useStore(app.router.
current),dialog=useStore(app.dialog);F(()=>app.dialog.set(null),[route]);let before=T(route.name);A(()=>{before.current!==route.name&&app.keepFocus(),before.current=
route.name},[route.name]);let Page=PAGES[route.name]||ProfilesPage,page=html`<${ErrorBoundary} key=${route.name} page=${Page} ...${{route}} />`;return html`<${AppContext.
Provider} value=${app}>
    <a class="skip" href="#main" onClick=${event=>{event.preventDefault(),app.focusPage()}}>Skip to content</a>
    ${FULL.includes(route.name)?page:html`<div class="frame">
      <${ServerGone} />
      <${Sidebar} route=${route} />
      <main id="main">${page}</main>
    </div>`}
    ${dialog&&html`<${dialog.component} key=${dialog.key} ...${dialog.props} />`}
    <${Discard} app=${app} />
    <${SignedOut} app=${app} renew=${renew} />
    <div class="corner"><${WorkArea} /><${ToastArea} toasts=${app.toasts} /></div>
  <//>`}function Discard({app}){return useStore(app.asking)&&html`<${ConfirmDialog} title="Discard your changes?" verb="Discard" cancel="Keep editing" work=${async()=>app.
discard()} close=${()=>app.asking.set(null)}>
    <p>Your changes are not saved.</p><//>`}function SignedOut({app,renew}){let reason=useStore(app.signedOut);return reason&&html`<${LogInAgain} reason=${reason} enter=${fresh=>{
saveKey(fresh,isOfThisTab()),renew(fresh)}} leave=${()=>app.giveUp()} close=${()=>app.signedOut.set("")} />`}function ServerGone(){let app=useApp(),offline=useStore(
app.offline);return html`<div class="gone" role="alert">${offline&&html`<p><${Icon} name="warning" /><strong>Warren does not answer.</strong> <span>What you see may be out of date. What you typed is kept. Trying again…</span></p>`}</div>`}
function ErrorBoundary({page:Page,route}){let[error]=O();return error?html`<h1 tabindex="-1">Something went wrong</h1>
    <${ProblemBox} problem=${{title:"The page has an error",message:String(error),errors:[]}}>
      <button type="button" class="button small" onClick=${()=>location.reload()}>Reload the page</button><//>`:html`<${Page} params=${route.params} path=${route.
path} route=${route} />`}applyTheme();Q(html`<${Root} />`,document.body);
