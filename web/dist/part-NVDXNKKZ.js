import{BulkBar,Chips,Choice,Facts,Field,Form,Grid,Selection,TagField,Text,ViewMenu,forget,kept,readKey,recall,useColumns,useForm,useList,useProxy}from"./part-ZUY4Y7R3.js";
import{A,Ago,ConfirmDialog,Copy,Dialog,Empty,Icon,Name,Notice,ProblemBox,Status,Store,T,Waiting,bytes,count,d,endWords,href,html,lasting,moment,number,proxyName,
sentence,useApp,useNow,useStore,w}from"./part-B7Y6SKBI.js";var FixedRows=class{view=new Store({total:0,atLeast:!1,problem:null,version:0});#list=[];set(list){this.#list=list,this.view.set({...this.view.value,total:list.
length,version:this.view.value.version+1})}want(){}async reload(){}at(index){return this.#list[index]}loaded(){return this.#list}async range(from,to){return this.#list.
slice(from,to+1)}indexOf(id){return this.#list.findIndex(row=>row.id===id)}};function useAnswer(path,query,again=()=>!1){let app=useApp(),[state,setState]=d({data:null,problem:null}),reload=()=>app.api.get(path,query).then(data=>setState(
{data,problem:null}),problem=>setState(before=>({...before,problem})));return A(()=>{reload();let planned=0,unwatch=app.model.event.watch(event=>{event.type!=="\
everything"&&event.type!=="events.lost"&&!again(event)||(clearTimeout(planned),planned=setTimeout(reload,200))});return()=>{clearTimeout(planned),unwatch()}},[path]),
{...state,reload}}function Missing({problem,what,scope="admin"}){return problem?problem.status!==403?html`<${ProblemBox} problem=${problem} />`:html`<${Notice}><p>Your key may not see ${what}. That needs a key with the scope <code>${scope}</code>.</p><//>`:
null}var ACTIONS=[["proxy.secret","Password read"],["proxies.export","Passwords exported"],["workspace.create","Workspace created"],["workspace.rename","Workspace re\
named"]],ABOUT=[["profile","Profiles"],["run","Browsers"],["proxy","Proxies"],["key","Keys"],["workspace","Workspaces"],["capability","Shared views"]];function Sentence({
entry}){let{action,objectId,detail={}}=entry,who=entry.keyId==="environment"?"The key in WARREN_API_KEY":html`Key <${Name}>${entry.keyName}<//>`,space=html`<bdi>${objectId}</bdi>`,
words={__proto__:null,"proxy.secret":()=>html`${who} read the password of <${ProxyName} id=${objectId} />`,"proxies.export":()=>html`${who} exported ${count(detail.
count??0,"proxy","proxies")} with passwords${detail.format?` as ${detail.format==="text"?"text":detail.format.toUpperCase()}`:""}${detail.tag?.length?html`, tagged <bdi>${detail.
tag.join(", ")}</bdi>`:""}`,"workspace.create":()=>html`${who} created workspace ${space}`,"workspace.rename":()=>detail.name?html`${who} renamed workspace ${space} to <${Name}>${detail.
name}<//>`:html`${who} removed the name of workspace ${space}`}[action];return words?words():html`${who}: ${action}`}function ProxyName({id,begin}){let proxy=useProxy(
id);if(proxy)return html`${begin?"Proxy":"proxy"} <a href=${`#/proxies/${encodeURIComponent(id)}`}><${Name}>${proxyName(proxy)}<//></a>`;let words=proxy===null?
"a proxy that is deleted":"a proxy";return begin?words.replace("a","A"):words}var names=new WeakMap;function ProfileName({id,begin}){let{api}=useApp();names.has(
api)||names.set(api,new Map);let known=names.get(api),[name,setName]=d(known.get(id));if(A(()=>{known.has(id)||api.get(`/profiles/${encodeURIComponent(id)}`).then(
profile=>profile.name,()=>null).then(found=>{known.set(id,found),setName(found)})},[id]),name)return html`<a href=${`#/profiles/${encodeURIComponent(id)}`}><${Name}>${name}<//></a>`;
let words=name===null?"a deleted profile":"a profile";return begin?words.replace("a","A"):words}var CHANGES={__proto__:null,proxyId:"proxy",tags:"tags",name:"na\
me",notes:"notes",os:"system",startUrls:"start pages",fallbackProxyIds:"fallbacks"};function changedWords(changed){let words=(changed||[]).map(member=>CHANGES[member]||
member);return words.length?`: ${words.join(", ")}`:""}var EVENTS={__proto__:null,"profile.created":({profile})=>html`${profile} was created`,"profile.batch_cre\
ated":({data})=>html`${count(data.count??0,"profile was","profiles were")} created`,"profile.updated":({profile,data})=>html`${profile} was changed${changedWords(
data.changed)}`,"profile.deleted":({profile,data})=>data.permanent?"A profile was deleted for good":html`${profile} went to the trash`,"profile.restored":({profile})=>html`${profile} came back from the trash`,
"profile.status":({profile,data})=>html`${profile} is ${data.status}`,"run.started":({profile,data})=>html`The browser of ${profile} ${data.restarted?"restarted":
"started"}`,"run.updated":({profile})=>html`The exit or the place of ${profile} changed`,"run.expiring":({profile})=>html`The browser of ${profile} closes soon`,
"run.fallback":({profile,data})=>html`${profile} goes on through ${data.to?html`<${ProxyName} id=${data.to} />`:"another proxy"}`,"run.ended":({profile,data})=>html`The browser of ${profile} ended: ${endWords(
data).toLowerCase()}`,"proxy.created":({proxy})=>html`${proxy} was added`,"proxy.updated":({proxy,data})=>html`${proxy} was changed${changedWords(data.changed)}`,
"proxy.deleted":()=>"A proxy was deleted","proxy.checked":({proxy,data})=>html`${proxy} was checked: ${data.ok?"alive":"dead"}`,"proxy.died":({proxy})=>html`${proxy} stopped working`,
"proxy.returned":({proxy})=>html`${proxy} works again`,"proxy.exit_changed":({proxy,data})=>html`${proxy} has another exit${data.exitIp?`: ${data.exitIp}`:""}`,
"proxy.all_checked":({data})=>`All proxies were checked: ${data.alive??0} alive, ${data.dead??0} dead`,"proxy.imported":({data})=>`${count(data.created??0,"prox\
y was","proxies were")} imported`,"key.created":()=>"A key was created","key.revoked":()=>"A key was revoked","workspace.created":({data})=>html`Workspace <bdi>${data.
id}</bdi> was created`,"workspace.updated":({data})=>html`Workspace <bdi>${data.id}</bdi> was renamed`,"capability.created":({profile})=>html`A view of ${profile} was shared`,
"capability.revoked":({profile})=>html`A shared view of ${profile} was ended`};function EventSentence({event}){let{type,data={}}=event,words=EVENTS[type];if(!words)
return type;let profileId=data.profileId||(/^(?:profile|run)\./.test(type)?data.id:"");return words({data,profile:profileId?html`<${ProfileName} id=${profileId} begin=${type.
startsWith("profile.")||type==="run.fallback"} />`:"A profile",proxy:data.id?html`<${ProxyName} id=${data.id} begin />`:"A proxy"})}var NOTHING=html`<span class="muted">–</span>`,when={id:"at",label:"When",width:128,rank:1,card:!0,draw:({at})=>html`<span class="muted"><${Ago} time=${at} /></span>`},
time={id:"time",label:"Time",width:190,rank:6,hidden:!0,draw:({at})=>html`<span class="number">${moment(at)}</span>`},workspace={id:"workspace",label:"Workspace",
width:130,rank:4,draw:({workspaceId})=>workspaceId?html`<bdi class="one-line">${workspaceId}</bdi>`:NOTHING},LOG=[{id:"what",label:"What happened",min:260,grow:3,
always:!0,draw:entry=>html`<span class="one-line sentence"><${Sentence} entry=${entry} /></span>`},when,time,{id:"remote",label:"From",width:150,rank:3,card:!0,
draw:({remote})=>html`<span class="number one-line" title=${remote}>${remote}</span>`},workspace,{id:"request",label:"Request",width:292,rank:7,hidden:!0,draw:({
requestId})=>html`<span class="mono">${requestId}</span>`}],HAPPENED=[{id:"what",label:"What happened",min:260,grow:3,always:!0,draw:event=>html`<span class="one-line sentence"><${EventSentence} event=${event} /></span>`},
when,time,workspace,{id:"type",label:"Type",width:170,rank:7,hidden:!0,draw:({type})=>html`<span class="mono">${type}</span>`}],LOG_FILTERS=[{name:"action",label:"\
What",options:ACTIONS}],EVENT_FILTERS=[{name:"about",label:"About",options:ABOUT}];function Activity({params,path}){let recent=path[1]==="events";return html`<div class="settings-head"><p class="lead">${recent?
"What has happened since this page was opened, newest first.":"Who read or exported passwords, and who changed workspaces. Records are kept for good."}</p>
      <nav class="segments" aria-label="Activity"><a class="segment-button" href=${href("settings",void 0,["activity"])} aria-current=${recent?void 0:"page"}>Log</a>
        <a class="segment-button" href=${href("settings",void 0,["activity","events"])} aria-current=${recent?"page":void 0}>Events</a></nav></div>
    ${recent?html`<${Events} key="events" params=${params} />`:html`<${Log} key="log" params=${params} />`}`}function Log({params}){let action=params.get("actio\
n")||"",{rows,selection,view}=useList("/audit",{action},({type},list)=>type.startsWith("workspace.")&&list.changed(null,!0)),columns=useColumns("audit",()=>LOG);
return view.problem?html`<${Missing} problem=${view.problem} what="the log" />`:html`<div class="filters"><${Chips} filters=${LOG_FILTERS} params=${params} /><${ViewMenu} columns=${columns} /></div>
    ${view.total===0?html`<${Empty} title=${action?"No matches":"Nothing is recorded yet"} drawing=${!1}><p>Each time a key reads or exports a password, it shows up here.</p><//>`:
html`<div class="page-body"><${Grid} label="Log" ...${{rows,columns,selection}} ticks=${!1} what=${({action:name})=>name} actionsWidth=${16} /></div>`}
    <p class="visually-hidden" role="status">${view.total!==null&&count(view.total,"record")}</p>`}function Events({params}){let app=useApp(),about=params.get("\
about")||"",all=useStore(app.model.recent),rows=w(()=>new FixedRows,[]),[selection]=d(()=>new Selection),columns=useColumns("events",()=>HAPPENED),shown=about?all.
filter(({type})=>type.startsWith(`${about}.`)):all;return A(()=>rows.set(shown),[all,about]),html`<div class="filters"><${Chips} filters=${EVENT_FILTERS} params=${params} /><${ViewMenu} columns=${columns} /></div>
    ${shown.length===0?html`<${Empty} title=${about?"No matches":"Nothing has happened yet"} drawing=${!1}><p>Starts, checks and changes show up here as they happen.</p><//>`:
html`<div class="page-body"><${Grid} label="Events" ...${{rows,columns,selection}} ticks=${!1} what=${({type})=>type} actionsWidth=${16} /></div>`}`}var THEMES=[["system","Like the system"],["light","Light"],["dark","Dark"]],DENSITIES=[["compact","Compact"],["comfortable","Comfortable"]];function Appearance(){
let app=useApp(),[theme,setTheme]=d(()=>recall("theme","system")),density=useStore(app.density),views=useStore(app.views),[columns,setColumns]=d(()=>kept("colum\
ns.")),choose=value=>{app.setTheme(value),setTheme(value)},reset=()=>{forget("columns."),setColumns([]),app.toasts.say({text:"All lists have their columns of be\
fore.",tone:"good"})};return html`<p class="lead">These choices are kept in this browser, for this page alone.</p>
    <section class="settings-part"><h2>Theme</h2><${Options} label="Theme" options=${THEMES} value=${theme} choose=${choose} /></section>
    <section class="settings-part"><h2>Rows</h2><${Options} label="Row height" options=${DENSITIES} value=${density} choose=${value=>app.setDensity(value)} /></section>
    <section class="settings-part"><h2>Columns</h2><p class="muted">${columns.length?`You have chosen the columns of ${count(columns.length,"list")}.`:"Every li\
st has its usual columns."}</p>
      <p><button type="button" class="button" disabled=${!columns.length} onClick=${reset}>Reset all columns</button></p></section>
    <section class="settings-part"><h2>Saved views</h2>${views.length===0?html`<p class="muted">None yet. Filter the profiles, then choose “Save this view” in the sidebar.</p>`:
html`
      <ul class="saved-views">${views.map(view=>html`<li key=${view.label}><bdi class="one-line">${view.label}</bdi><button type="button" class="icon-button" aria-label=${`\
Remove the view ${view.label}`} title="Remove" onClick=${()=>app.dropView(view)}><${Icon} name="close" /></button></li>`)}</ul>
      <p><button type="button" class="button" onClick=${()=>views.forEach(view=>app.dropView(view))}>Remove all views</button></p>`}</section>`}function Options({
label,options,value,choose}){return html`<div class="segments" role="group" aria-label=${label}>${options.map(([one,words])=>html`<button type="button" key=${one} class="segment-button" aria-pressed=${value===
one} onClick=${()=>choose(one)}>${words}</button>`)}</div>`}var SOURCES={__proto__:null,default:"The default",path:"Found by its name",usual:"Found in a usual place",added:"Added by a command",folder:"Found in a folder o\
f --browsers",installed:"Installed by a command"};function Browsers(){let{data,problem}=useAnswer("/browsers"),runs=useAnswer("/runs",{},({type})=>type.startsWith(
"run.")),server=useAnswer("/server"),runningOf=path=>(runs.data?.data||[]).filter(({browser})=>browser?.path===path).length;return html`<p class="lead">Profiles that name no version run with the default browser. The others run with the nearest version that is here.</p>
    <${Missing} problem=${problem} what="the browsers" scope="read" />
    ${!data&&!problem&&html`<${Waiting} />`}
    ${data?.data.length===0&&html`<${Empty} title="No browser on the server" drawing=${!1}><p>Nothing can start until there is one. Install one with the command below, or install Chromium or Chrome with the system’s packages.</p><//>`}
    ${data?.data.length>0&&html`<div class="table-box" tabindex="0" role="region" aria-label="List of browsers"><table class="plain-table"><thead><tr><th scope="col">Browser</th><th scope="col">Where from</th><th scope="col" class="is-number">Running</th><th scope="col">Path</th></tr></thead>
      <tbody>${data.data.map(({path,product,version,source})=>html`<tr key=${path}>
        <th scope="row"><span class="with-mark">${product} <span class="number">${version}</span>${source==="default"&&html`<span class="mark">Default</span>`}</span></th>
        <td class="no-wrap">${SOURCES[source]||source}</td><td class="is-number">${runningOf(path)||html`<span class="muted">–</span>`}</td><td class="wide-cell"><code class="path">${path}</code></td></tr>`)}</tbody></table></div>
      <p class="visually-hidden" role="status">${count(data.data.length,"browser")}</p>`}
    <${Commands} folder=${server.data?.dataFolder} />`}function Commands({folder}){let[version,setVersion]=d(""),wanted=/^\d{2,3}(?:\.\d+){0,3}$/.test(version.trim())?
version.trim():"131",data=folder?` --data ${quoted(folder)}`:"";return html`<section class="settings-part"><h2>Install another version</h2>
    <p class="muted">A browser is a program that the server runs. So only somebody with access to the server’s machine can add one, with these commands. The server sees it within ten seconds.</p>
    <label class="inline-field"><span>Version</span><input type="text" inputmode="decimal" class="mono" value=${version} placeholder="131" maxlength="20" onInput=${event=>setVersion(
event.currentTarget.value)} aria-describedby="version-hint" /></label>
    <p class="hint" id="version-hint">A major version such as 131, or a build such as 131.0.6778.204. Builds are Chrome for Testing, downloaded from Google and verified.</p>
    <${Command} label="Install it" text=${`warren browser install ${wanted}${data}`} />
    <${Command} label="Use a browser that is on the machine already" text=${`warren browser add /path/to/chrome${data}`} />
    <${Command} label="Remove one" text=${`warren browser remove ${wanted}${data}`} />
    <p class="hint">The default browser is the first one found, or the one that <code>warren serve --browser PATH</code> names.</p></section>`}function Command({
label,text}){return html`<div class="copy-line"><span class="copy-label">${label}</span><code tabindex="0">${text}</code><${Copy} text=${text} label=${`Copy: ${label}`} /></div>`}
function quoted(text){return/^[\w:/.~-]+$/.test(text)?text:`'${text.replaceAll("'","'\\''")}'`}var SCOPES=[["read","Read","See profiles, proxies, runs and events. No passwords."],["run","Run browsers","Start, stop, watch and control browsers. Check and ro\
tate proxies."],["write","Change","Create, change, import and delete profiles and proxies."],["secrets","Read passwords","See and export proxy passwords. Each t\
ime is recorded."],["files","Use files of the server","With “Run browsers”: read and write files as the user that runs Warren."],["admin","Everything","All \
of these, and keys, workspaces, the log and the server."]];function scopeWords(scopes){return scopes.includes("admin")?"Everything":SCOPES.filter(([scope])=>scopes.
includes(scope)).map(([,short])=>short).map((word,i)=>i?word.replace(/^./,first=>first.toLowerCase()):word).join(", ")}var DAY_MS=24*3600*1e3,LIVES=[["","Never"],["7","In 7 days"],["30","In 30 days"],["90","In 90 days"],["365","In a year"],["day","On a day…"]];function KeyForm({
done,close}){let app=useApp(),known=useStore(app.model.workspaces),form=useForm({name:"",scopes:["read","run","write"],workspaces:[],life:"",day:""}),[made,setMade]=d(
null),make=async values2=>{let key=await app.api.post("/keys",toBody(values2));setMade(key),done?.(key)},{values}=form;return html`<${Dialog} title=${made?html`Created <${Name}>${made.
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
      ${values.life==="day"&&html`<${Text} form=${form} name="day" label="Day" type="date" min=${new Date(Date.now()+DAY_MS).toISOString().slice(0,10)} />`}
    </div><//>`}<//>`}function Scopes({form}){let{scopes}=form.values,all=scopes.includes("admin"),toggle=(scope,on)=>form.set("scopes",on?[...scopes,scope]:scopes.
filter(other=>other!==scope));return html`<${Field} wide form=${form} name="scopes" label="May" control=${({id,name:_,...tied})=>html`<div role="group" id=${id} aria-label="What it may do" class="scopes" ...${tied}>${SCOPES.
map(([scope,words,what])=>html`<label key=${scope} class="tick scope">
    <input type="checkbox" checked=${all||scopes.includes(scope)} disabled=${all&&scope!=="admin"} onChange=${event=>toggle(scope,event.currentTarget.checked)} />
    <span><span class="scope-name">${words}</span> <code>${scope}</code><span class="hint scope-what">${what}</span></span></label>`)}</div>`} />`}function toBody({
name,scopes,workspaces,life,day}){let body={name:name.trim(),scopes:scopes.includes("admin")?["admin"]:scopes};return workspaces.length&&(body.workspaces=workspaces),
life==="day"?body.expiresAt=new Date(`${day}T23:59:59`).toISOString():life&&(body.expiresAt=new Date(Date.now()+Number(life)*DAY_MS).toISOString()),body}function MadeKey({
made,close}){return html`<div class="dialog-content"><${Notice}><p>Copy the key now. It is not shown again.</p><//>
      <div class="copy-line"><span class="copy-label">Key</span><code tabindex="0">${made.key}</code><${Copy} text=${made.key} label="Copy the key" /></div>
      <p class="hint">Programs send it as <code>Authorization: Bearer …</code>, or read it from <code>WARREN_API_KEY</code>. People sign in to this page with it.</p></div>
    <footer class="dialog-foot"><button type="button" class="button primary" autofocus onClick=${close}>Done</button></footer>`}var HINT=8;function isOwn(key){return!key.revokedAt&&key.hint===readKey().slice(0,HINT)}function stateOf({revokedAt,expiresAt},now){return revokedAt?{text:"Revo\
ked",tone:"quiet",over:!0}:expiresAt&&Date.parse(expiresAt)<=now?{text:"Expired",tone:"quiet",over:!0}:{text:"Active",tone:"good",over:!1}}var COLUMNS=[{id:"nam\
e",label:"Key",min:190,grow:2,always:!0,draw:key=>html`<${NameCell} apiKey=${key} />`},{id:"state",label:"State",width:104,rank:2,card:!0,draw:key=>html`<${State} apiKey=${key} />`},
{id:"scopes",label:"May",min:180,grow:1.6,rank:1,draw:({scopes})=>html`<span class="one-line" title=${scopeWords(scopes)}>${scopeWords(scopes)}</span>`},{id:"wo\
rkspaces",label:"Workspaces",min:110,grow:1,rank:5,draw:({workspaces})=>workspaces?html`<bdi class="one-line" title=${workspaces.join(", ")}>${workspaces.join("\
, ")}</bdi>`:html`<span class="muted">All</span>`},{id:"used",label:"Last used",width:118,rank:3,card:!0,draw:({lastUsedAt})=>lastUsedAt?html`<${Ago} time=${lastUsedAt} />`:
html`<span class="muted">Not used yet</span>`},{id:"expires",label:"Expires",width:112,rank:4,draw:({expiresAt})=>expiresAt?html`<${Until} time=${expiresAt} />`:
html`<span class="muted">Never</span>`},{id:"created",label:"Created",width:112,rank:6,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`},
{id:"id",label:"ID",width:292,rank:9,hidden:!0,draw:({id})=>html`<span class="mono">${id}</span>`}];function NameCell({apiKey:key}){return html`<span class="two-lines"><span class="with-mark"><span class="title"><${Name}>${key.
name}<//></span>
    ${isOwn(key)&&html`<span class="mark">This page</span>`}${key.session&&html`<span class="mark is-quiet" title="Made by signing in to the page">Sign-in</span>`}</span>
    <span class="sub mono">${key.hint}…</span></span>`}function State({apiKey}){return html`<${Status} of=${stateOf(apiKey,useNow())} />`}function Until({time:time2}){
let at=Date.parse(time2);return html`<time datetime=${time2} title=${new Intl.DateTimeFormat(void 0,{dateStyle:"medium",timeStyle:"short"}).format(at)}>${new Intl.
DateTimeFormat(void 0,{dateStyle:"medium"}).format(at)}</time>`}function Keys(){let app=useApp(),{rows,selection,view}=useList("/keys",{},({type},list)=>type.startsWith(
"key.")&&list.changed(null,!0)),columns=useColumns("keys",()=>COLUMNS),{total,problem}=view;return problem?.status===403?html`<${Missing} problem=${problem} what="the keys" />`:
html`
    <div class="settings-head"><p class="lead">A key is a password for programs and people. Give each its own, with no more than it needs.</p>
      <div class="tools"><${ViewMenu} columns=${columns} /><button type="button" class="button primary" onClick=${()=>app.open(KeyForm,{done:()=>rows.reload().catch(
()=>{})})}><${Icon} name="plus" /><span>New key</span></button></div></div>
    <${Missing} problem=${problem} what="the keys" />
    ${total===0?html`<${Empty} title="No keys yet" drawing=${!1} />`:html`<div class="page-body"><${Grid} label="Keys" ...${{rows,columns,selection}} what=${({name})=>name} tone=${key=>key.
revokedAt?"is-over":""}
      actionsWidth=${104} actions=${key=>!key.revokedAt&&html`<div class="actions"><button type="button" class="button small" aria-label=${`Revoke ${key.name}`} onClick=${()=>askToRevoke(
app,[key],rows)}>Revoke</button></div>`} /></div>`}
    <${BulkBar} selection=${selection} total=${total??0} what="key" actions=${[{label:"Revoke",icon:"close",danger:!0,run:()=>{let keys=rows.loaded().filter(key=>selection.
has(key.id)&&!key.revokedAt);selection.clear(),keys.length&&askToRevoke(app,keys,rows)}}]} />
    <p class="visually-hidden" role="status">${total!==null&&count(total,"key")}</p>`}function askToRevoke(app,keys,rows){let own=keys.some(isOwn),used=keys.length===
1&&keys[0].lastUsedAt;app.open(ConfirmDialog,{title:keys.length===1?"Revoke this key?":`Revoke ${number(keys.length)} keys?`,verb:"Revoke",work:async()=>{for(let key of[
...keys].sort((a,b)=>isOwn(a)-isOwn(b)))await app.api.delete(`/keys/${encodeURIComponent(key.id)}`).catch(problem=>{if(problem.status!==404)throw problem});app.
toasts.say({text:keys.length===1?`${keys[0].name} is revoked.`:`${number(keys.length)} keys are revoked.`}),await rows.reload().catch(()=>{})},children:html`${own&&
html`<p class="bad-text"><strong>This page is signed in with ${keys.length===1?"this key":"one of them"}.</strong> You are signed out at once.</p>`}
      <p>${keys.length===1?html`Whoever uses <${Name}>${keys[0].name}<//> is refused from now on.`:"Whoever uses them is refused from now on."} Live views and clients that came with ${keys.
length===1?"it":"them"} are cut off. This cannot be undone.</p>
      ${used&&html`<p class="muted">Last used <${Ago} time=${used} />.</p>`}`})}function ServerSection(){let server=useAnswer("/server"),pressure=useAnswer("/pressure",{},({type})=>/^run\.(?:started|ended)$/.test(type));return html`<div class="settings-head"><p class="lead">How the server does, and what it was started with.</p>
      <div class="tools"><button type="button" class="button" onClick=${()=>{server.reload(),pressure.reload()}}><${Icon} name="reload" /><span>Refresh</span></button></div></div>
    ${!pressure.data&&!pressure.problem&&html`<${Waiting} />`}
    <${Missing} problem=${pressure.problem} what="the server’s load" scope="read" />
    ${pressure.data&&html`<${Load} now=${pressure.data} />`}
    <${Missing} problem=${server.problem} what="the settings of the server and what its doctor finds" />
    ${server.data&&html`<${About} server=${server.data} /><${Findings} findings=${server.data.findings} /><${Flags} settings=${server.data.settings} />`}`}function Load({
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
html`<span class="muted">${waits}.</span>`}</p></section>`}function Gauge({label,value,more,share}){return html`<div class="gauge"><p class="gauge-label">${label}</p><p class="gauge-value number">${value}</p><p class="gauge-more">${more}</p>
    ${share!==null&&html`<meter class="gauge-bar" min="0" max="1" high="0.85" value=${Math.min(1,share)} aria-label=${`${label} in use`}>${Math.round(share*100)} %</meter>`}</div>`}
function About({server}){let now=useNow(),{version,go,commit}=server.version;return html`<section class="settings-part"><h2>This server</h2><${Facts} pairs=${[[
"Version",html`${version}${commit&&commit!=="unknown"?html` <span class="muted mono">${commit.slice(0,12)}</span>`:""}`],["Built with",go],["Running for",html`<time datetime=${server.
startedAt} title=${moment(server.startedAt)}>${lasting(server.startedAt,now)}</time>`],["Listens on",html`<span class="mono">${server.address}</span>`],["Data f\
older",html`<span class="with-copy"><span class="mono">${server.dataFolder}</span><${Copy} text=${server.dataFolder} label="Copy the data folder" /></span>`]]} /></section>`}
var NAMES={__proto__:null,browser:"Browser",browsers:"Versions",sandbox:"Sandbox",isolation:"Isolation",files:"Files",display:"Display",clock:"Clock",disk:"Disk",
data:"Data folder","open files":"Open files","/dev/shm":"Shared memory"};function Findings({findings}){let bad=findings.filter(({ok})=>!ok),sorted=[...bad,...findings.
filter(({ok})=>ok)];return html`<section class="settings-part"><h2>Doctor</h2><p class="muted">${bad.length?`${count(bad.length,"thing needs","things need")} a \
look.`:"Everything is in order."} <code>warren doctor --leaks</code> also tries every way out of a browser.</p>
    <ul class="findings">${sorted.map(({name,ok,detail,advice})=>html`<li key=${name} class=${ok?"finding":"finding is-bad"}><${Icon} name=${ok?"check":"warning"} /><p class="finding-name">${NAMES[name]||
name} <span class="visually-hidden">${ok?"in order":"needs a look"}</span></p>
      <div><p class="muted prose-lines">${sentence(detail)}</p>${advice&&html`<p class="prose-lines">${sentence(advice)}</p>`}</div></li>`)}</ul></section>`}function Flags({
settings}){let changed=settings.filter(setting=>setting.changed),[all,setAll]=d(!1),shown=all?settings:changed;return html`<section class="settings-part"><div class="settings-head"><h2>Settings in force</h2>
      <div class="segments" role="group" aria-label="Which settings"><button type="button" class="segment-button" aria-pressed=${!all} onClick=${()=>setAll(!1)}>Changed ${number(
changed.length)}</button>
        <button type="button" class="segment-button" aria-pressed=${all} onClick=${()=>setAll(!0)}>All ${number(settings.length)}</button></div></div>
    <p class="muted">They are given as flags, in the environment or in the configuration file, and apply from the next start of <code>warren serve</code>. Passwords in addresses are not shown.</p>
    ${shown.length===0?html`<p>Everything is at its default.</p>`:html`<div class="table-box" tabindex="0" role="region" aria-label="Settings in force"><table class="plain-table"><thead><tr><th scope="col">Flag</th><th scope="col">Value</th><th scope="col">What it does</th></tr></thead>
      <tbody>${shown.map(({name,values,changed:other,help,default:byDefault})=>html`<tr key=${name}><th scope="row"><code>--${name}</code></th>
        <td class=${other?"value-cell":"value-cell muted"}>${values.length?values.map(value=>html`<code key=${value} class="path">${value}</code>`):"–"}${other&&
byDefault?html`<span class="hint">Default: ${byDefault}</span>`:""}</td><td class="muted wide-cell">${help}</td></tr>`)}</tbody></table></div>`}</section>`}var NOTHING2=html`<span class="muted">–</span>`,PAGE=200,MOST_KEYS=1e3;function workspaceColumns(keys,go){let amount=(id,label,name,member,rank,words)=>({id,label,
width:96,numeric:!0,rank,card:!0,draw:workspace2=>workspace2[member]?html`<button type="button" class="link is-figure" title=${`Show them in ${label}`} onClick=${()=>go(
name,workspace2.id)}>${number(workspace2[member])}<span class="in-card"> ${words(workspace2[member])}</span></button>`:html`<span class="muted not-in-card">–</span>`});
return[{id:"name",label:"Workspace",min:170,grow:2,always:!0,draw:({id,name})=>html`<span class="two-lines"><bdi class="title one-line" title=${name||id}>${name||
id}</bdi>${name&&html`<bdi class="sub">${id}</bdi>`}</span>`},amount("profiles","Profiles","profiles","profileCount",1,n=>n===1?"profile":"profiles"),amount("pr\
oxies","Proxies","proxies","proxyCount",2,n=>n===1?"proxy":"proxies"),amount("trash","Trash","trash","trashedCount",5,()=>"in the trash"),{id:"keys",label:"Keys\
 that see it",min:170,grow:2,rank:3,draw:({id})=>html`<${SeenBy} keys=${keys} id=${id} />`},{id:"created",label:"Created",width:118,rank:6,draw:({createdAt})=>html`<span class="muted"><${Ago} time=${createdAt} /></span>`}]}
function SeenBy({keys,id}){let known=useStore(keys);if(!known)return NOTHING2;let names2=known.filter(({workspaces})=>!workspaces||workspaces.includes(id)).map(
({name})=>name),words=names2.length?names2.join(", "):"None";return html`<bdi class="one-line" title=${words}>${words}</bdi>`}function useKeys(){let app=useApp(),
[keys]=d(()=>new Store(null));return A(()=>{let read=async()=>{let all=[];for(let after="";all.length<MOST_KEYS;){let{data,next,hasMore}=await app.api.get("/key\
s",{limit:PAGE,after});if(all.push(...data),!hasMore)break;after=next}keys.set(all.filter(({revokedAt,expiresAt})=>!revokedAt&&!(expiresAt&&Date.parse(expiresAt)<
Date.now())))};return read().catch(()=>{}),app.model.event.watch(({type})=>type.startsWith("key.")&&read().catch(()=>{}))},[]),keys}function Workspaces(){let app=useApp(),
keys=useKeys(),mayChange=useStore(keys)!==null,{rows,selection,view}=useList("/workspaces",{},({type},list)=>/^(workspace|profile|proxy)\./.test(type)&&!/\.(checked|status)$/.
test(type)&&list.changed(null,!0)),go=(place,id)=>{app.model.chooseWorkspace(id),app.router.go(href(place))},columns=useColumns("workspaces",()=>workspaceColumns(
keys,go)),reload=()=>rows.reload().catch(()=>{}),{total,problem}=view,rename=workspace2=>app.open(WorkspaceForm,{workspace:workspace2,done:reload});return html`
    <div class="settings-head"><p class="lead">A workspace keeps its profiles and proxies apart. A key sees all workspaces, or only those it was made for.${mayChange?
"":" To create and rename them you need a key with the scope admin."}</p>
      <div class="tools"><${ViewMenu} columns=${columns} />${mayChange&&html`<button type="button" class="button primary" onClick=${()=>app.open(WorkspaceForm,{
done:reload})}><${Icon} name="plus" /><span>New workspace</span></button>`}</div></div>
    <${Missing} problem=${problem} what="the workspaces" scope="read" />
    ${total===0?html`<${Empty} title="No workspaces yet" drawing=${!1}><p>The first profile or proxy makes one.</p><//>`:html`<div class="page-body"><${Grid} label="Workspaces" ...${{
rows,columns,selection}} ticks=${!1} what=${({id,name})=>name||id}
      actionsWidth=${mayChange?104:16} actions=${mayChange?workspace2=>html`<div class="actions"><button type="button" class="button small" aria-label=${`Rename\
 ${workspace2.name||workspace2.id}`} onClick=${()=>rename(workspace2)}>Rename</button></div>`:null} /></div>`}`}function asFault(problem){throw problem.code==="\
duplicate"&&Object.assign(problem,{code:"validation_failed",errors:[{location:"body.id",message:"There is a workspace with this id already."}]}),problem}function WorkspaceForm({
workspace:workspace2,done,close}){let app=useApp(),form=useForm({id:"",name:workspace2?.name||""}),save=async({id,name})=>{workspace2?await app.api.call("PATCH",
`/workspaces/${encodeURIComponent(workspace2.id)}`,{body:{name:name.trim()||null}}):await app.api.post("/workspaces",{id:id.trim(),...name.trim()?{name:name.trim()}:
{}}).catch(asFault),app.toasts.say({text:workspace2?`Renamed ${workspace2.id}.`:`Created ${name.trim()||id.trim()}.`,tone:"good"}),done(),close()};return html`<${Dialog} title=${workspace2?
"Rename the workspace":"New workspace"} lead=${workspace2&&html`<bdi>${workspace2.id}</bdi>`} close=${close}><${Form} form=${form} work=${save} foot=${html`
    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button primary" disabled=${form.busy||!workspace2&&!form.values.id.trim()}>${form.
busy?"Saving…":workspace2?"Rename":"Create"}</button>`}>
    <div class="fields">
      ${!workspace2&&html`<${Text} form=${form} name="id" label="ID" wide autofocus maxlength="64" class="mono" placeholder="team-b" hint="Programs name the workspace by it. It never changes. Letters, digits and . _ - are allowed." />`}
      <${Text} form=${form} name="name" label="Name" wide optional autofocus=${!!workspace2} maxlength="200" placeholder="Team B" /></div><//><//>`}var SECTIONS=[{id:"keys",label:"Keys",draw:Keys,list:!0},{id:"workspaces",label:"Workspaces",draw:Workspaces,list:!0},{id:"browsers",label:"Browsers",draw:Browsers},
{id:"server",label:"Server",draw:ServerSection},{id:"activity",label:"Activity",draw:Activity,list:!0},{id:"appearance",label:"Appearance",draw:Appearance}];function SettingsPage({
params,path}){let shown=SECTIONS.find(({id})=>id===path[0])||SECTIONS[0],nav=T(null);return A(()=>nav.current?.querySelector("[aria-current]")?.scrollIntoView({
block:"nearest",inline:"nearest"}),[shown.id]),html`<div class="page settings">
    <header class="page-head"><h1 tabindex="-1">Settings</h1></header>
    <nav class="settings-nav" aria-label="Settings" ref=${nav}>${SECTIONS.map(({id,label})=>html`<a key=${id} href=${href("settings",void 0,[id])} aria-current=${id===
shown.id?"page":void 0}>${label}</a>`)}</nav>
    <section class=${shown.list?"settings-list":"settings-body"} aria-label=${shown.label} key=${shown.id} tabindex=${shown.list?void 0:0}><${shown.draw} params=${params} path=${path} /></section>
  </div>`}export{SettingsPage};
