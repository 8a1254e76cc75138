import{A,F,Icon,Menu,P,Panel,ProblemBox,Store,T,Waiting,d,html,number,sentence,useApp,useStore,w}from"./part-B7Y6SKBI.js";var BASE="api/v1",Problem=class extends Error{constructor(status,body,requestId){super(body.detail||body.title||`The server answered ${status}.`),this.status=status,
this.code=body.code||"",this.title=body.title||"",this.detail=body.detail||"",this.errors=Array.isArray(body.errors)?body.errors:[],this.requestId=requestId,this.
body=body}static field(error){let[,name]=/^(?:body|query|path)\.([^.[]+)/.exec(error.location||"")||[];return name||""}},UNREACHABLE={code:"unreachable",title:"\
Warren does not answer",detail:"The server may have stopped, or the network is down. What you see may be out of date."},Api=class{#key;#refused;constructor(key,refused=()=>{}){
this.#key=key,this.#refused=refused}get(path,query,options){return this.call("GET",path,{query,...options})}post(path,body,options){return this.call("POST",path,
{body,...options})}put(path,body,options){return this.call("PUT",path,{body,...options})}delete(path,query){return this.call("DELETE",path,{query})}async send(path,query,kind,text,signal){
let response=await this.open("POST",BASE+path+search(query),{headers:{"Content-Type":kind},body:text,signal});return parse(await response.text())}async lines(path,body,signal,total,line){
let response=await this.open("POST",BASE+path,{headers:{"Content-Type":"application/json"},body:JSON.stringify(body),signal}),expected=Number(response.headers.get(
"X-Total-Count"));total(expected);let seen=0,rest="";for(let reader=response.body.pipeThrough(new TextDecoderStream).getReader();;){let{done,value}=await reader.
read().catch(error=>{throw error.name==="AbortError"?error:new Problem(0,UNREACHABLE,"")});if(done)break;let texts=(rest+value).split(`
`);rest=texts.pop();for(let text of texts)line(parse(text));seen+=texts.length}if(seen<expected)throw new Problem(0,{...UNREACHABLE,detail:`The answer ended aft\
er ${seen} of ${expected}. The server’s log says why.`},"")}async call(method,path,options={}){return(await this.full(method,path,options)).data}async full(method,path,{
query,body,headers,...rest}={}){let response=await this.open(method,BASE+path+search(query),{headers:body===void 0?headers:{"Content-Type":"application/json",...headers},
body:body===void 0?void 0:JSON.stringify(body),...rest}),text=await response.text().catch(()=>"");return{data:text?parse(text):null,etag:response.headers.get("E\
Tag")}}async open(method,address,{headers,...rest}={}){let response;try{response=await fetch(address,{method,headers:{...this.#key&&{Authorization:`Bearer ${this.#key}`},
...headers},cache:"no-store",credentials:"omit",redirect:"error",...rest})}catch(error){throw error.name==="AbortError"?error:new Problem(0,UNREACHABLE,"")}if(response.
ok)return response;let body=parse(await response.text().catch(()=>""))||{},problem=new Problem(response.status,body,response.headers.get("X-Request-Id")||"");throw problem.
status===401&&this.#refused(problem),problem}};function search(query){let params=new URLSearchParams;for(let[name,value]of Object.entries(query||{}))for(let one of Array.
isArray(value)?value:[value])one!=null&&one!==""&&params.append(name,one);let text=params.toString();return text&&`?${text}`}function parse(text){try{return JSON.
parse(text)}catch{return null}}var MANY=100,KEPT=3e3,ProxyCache=class{#api;#known=new Map;#watchers=new Map;#missing=new Set;#planned=!1;constructor(api){this.#api=api}get(id){return this.#known.
get(id)}watch(id,watcher){let watchers=this.#watchers.get(id)||new Set;return this.#watchers.set(id,watchers.add(watcher)),this.#known.has(id)||this.#ask(id),()=>{
watchers.delete(watcher),watchers.size||this.#watchers.delete(id)}}keep(proxy){this.#set(proxy.id,proxy)}checked(checks){for(let check of checks){let proxy=this.#known.
get(check.id);proxy&&this.keep({...proxy,lastCheck:check,status:check.status})}}onEvent({type,data}){if(type==="everything"||type.startsWith("proxy.")&&!data?.id)
for(let id of[...this.#known.keys()])this.#forget(id);else type==="proxy.deleted"?this.#set(data.id,null):type.startsWith("proxy.")&&this.#forget(data.id)}#forget(id){
this.#watchers.has(id)?this.#ask(id):this.#known.delete(id)}#ask(id){this.#missing.add(id),!this.#planned&&(this.#planned=!0,requestAnimationFrame(()=>this.#read()))}async#read(){
let ids=[...this.#missing].slice(0,MANY);ids.forEach(id=>this.#missing.delete(id));try{let{data}=await this.#api.get("/proxies",{id:ids}),found=new Map(data.map(
proxy=>[proxy.id,proxy]));for(let id of ids)this.#set(id,found.get(id)??null)}catch{}this.#planned=!1;let[next]=this.#missing;next&&this.#ask(next)}#set(id,proxy){
this.#known.delete(id),this.#known.set(id,proxy);for(let[old]of this.#known){if(this.#known.size<=KEPT)break;this.#watchers.has(old)||this.#known.delete(old)}this.#watchers.
get(id)?.forEach(watcher=>watcher(proxy))}};function useProxy(id){let{proxies}=useApp(),[,draw]=d(null);return A(()=>id?proxies.watch(id,draw):void 0,[id]),id?proxies.
get(id):void 0}var NAME="warren.key",memory="";function takeFromAddress(){let[,kind,given]=/^#(code|key)=(.+)$/.exec(location.hash)||[];if(!given)return null;history.replaceState(
null,"",location.pathname+location.search);let text=given;try{text=decodeURIComponent(given)}catch{}return looksLikeKey(text)?{[kind]:text}:null}function looksLikeKey(text){
return/^[\x21-\x7e]{1,200}$/.test(text)}async function exchange({key="",code}){return(await new Api(key).post("/session-keys",code?{code}:{})).key}function revoke(key){
return new Api(key).call("DELETE","/session-keys/current",{keepalive:!0})}function readKey(){return stored(()=>sessionStorage)||stored(()=>localStorage)||memory}
function stored(storage){try{return storage().getItem(NAME)||""}catch{return""}}function saveKey(key,onlyThisTab=!1){memory="";try{onlyThisTab?sessionStorage.setItem(
NAME,key):(sessionStorage.removeItem(NAME),localStorage.setItem(NAME,key))}catch{memory=key}}function dropKey(){memory="";let own=stored(()=>sessionStorage);try{
(own?sessionStorage:localStorage).removeItem(NAME)}catch{}}function watchKey(changed){let listen=event=>(event.key===NAME||event.key===null)&&changed();return addEventListener(
"storage",listen),()=>removeEventListener("storage",listen)}var PREFIX="warren.";function recall(name,fallback){try{let text=localStorage.getItem(PREFIX+name);return text===null?fallback:JSON.parse(text)}catch{return fallback}}
function remember(name,value){try{value===null?localStorage.removeItem(PREFIX+name):localStorage.setItem(PREFIX+name,JSON.stringify(value))}catch{}}function kept(prefix){
try{return Object.keys(localStorage).filter(name=>name.startsWith(PREFIX+prefix)).map(name=>name.slice(PREFIX.length))}catch{return[]}}function forget(prefix){for(let name of kept(
prefix))remember(name,null)}function useForm(initial){let[values,setValues]=d(initial),[problem,setProblem]=d(null),[busy,setBusy]=d(!1),root=T(null),names=T(new Set);A(()=>{if(!problem)return;
(root.current?.querySelector('[aria-invalid="true"]')||root.current?.querySelector('[role="alert"]'))?.focus()},[problem]);let faults=name=>(problem?.errors||[]).
filter(error=>name&&Problem.field(error)===name);return{values,problem,busy,root,names:names.current,set:(name,value)=>setValues(before=>({...before,[name]:value})),
setAll:all=>setValues(all),setProblem,faults,shown:()=>[...names.current].flatMap(faults),async send(work){if(!busy){setBusy(!0),setProblem(null);try{await work(
values)}catch(error){setProblem(error)}setBusy(!1)}}}}function Form({form,work,children,foot,explain,plain,saved}){let app=useApp(),first=T(JSON.stringify(form.
values)),changed=!form.busy&&JSON.stringify(form.values)!==(saved??first.current);A(()=>form.root.current.querySelector("[autofocus]")?.focus(),[]),A(()=>app.holdForm(
form.root,changed),[changed]),A(()=>()=>app.holdForm(form.root,!1),[]);let submit=event=>{event.preventDefault(),form.send(work)};return html`<form class="form" ref=${form.
root} onSubmit=${submit} novalidate autocomplete="off">
    <div class=${plain?"form-content":"dialog-content"}>
      ${children}
      <${ProblemBox} problem=${form.problem} shown=${form.shown()}>${form.problem&&explain?.(form.problem)}<//>
    </div>
    ${foot&&html`<footer class=${plain?"form-foot":"dialog-foot"}>${foot}</footer>`}
  </form>`}function Field({form,name,member=name,say,label,hint,optional,control,wide}){let id=P();A(()=>(form.names.add(member),()=>form.names.delete(member)),
[member]);let faults=form.faults(member),described=[hint&&`${id}-hint`,faults.length&&`${id}-fault`].filter(Boolean).join(" "),tied={id,name,"aria-describedby":described||
void 0,"aria-invalid":faults.length?"true":void 0};return html`<div class=${wide?"field wide":"field"}>
    <label for=${id}>${label}${optional&&html`<span class="optional"> optional</span>`}</label>
    ${control(tied)}
    ${faults.length>0&&html`<p class="fault" id=${`${id}-fault`}>${say||faults.map(fault=>sentence(fault.message)).join(" ")}</p>`}
    ${hint&&html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`}function Text({form,name,member,say,label,hint,optional,wide,...rest}){return html`<${Field} ...${{form,name,member,say,label,hint,optional,wide,control:tied=>html`<input type="text" ...${tied} ...${rest} value=${form.
values[name]}
    onInput=${event=>form.set(name,event.currentTarget.value)} spellcheck=${!1} />`}} />`}function Lines({form,name,label,hint,optional,rows=3,...rest}){return html`<${Field} wide ...${{
form,name,label,hint,optional,control:tied=>html`<textarea rows=${rows} ...${tied} ...${rest} value=${form.values[name]}
    onInput=${event=>form.set(name,event.currentTarget.value)}></textarea>`}} />`}function Choice({form,name,member,label,hint,options,wide}){return html`<${Field} ...${{
form,name,member,label,hint,wide,control:tied=>html`<select ...${tied} value=${form.values[name]} onChange=${event=>form.set(name,event.currentTarget.value)}>
    ${options.map(([value,words])=>html`<option key=${value} value=${value} selected=${value===form.values[name]}>${words}</option>`)}
  </select>`}} />`}function TagField({form,name,label,hint}){let[text,setText]=d(""),tags=form.values[name],take=raw=>{let fresh=raw.split(",").map(tag=>tag.trim()).
filter(tag=>tag&&!tags.includes(tag));fresh.length&&form.set(name,[...tags,...fresh]),setText("")},drop=tag=>form.set(name,tags.filter(other=>other!==tag)),typed=event=>{
event.key==="Enter"&&text.trim()?(event.preventDefault(),take(text)):event.key==="Backspace"&&!text&&tags.length&&drop(tags.at(-1))},input=event=>event.currentTarget.
value.includes(",")?take(event.currentTarget.value):setText(event.currentTarget.value);return html`<${Field} wide ...${{form,name,label,hint,optional:!0,control:tied=>html`<div class="tag-field">
    ${tags.map(tag=>html`<span class="tag" key=${tag}><bdi>${tag}</bdi>
      <button type="button" aria-label=${`Remove tag ${tag}`} onClick=${()=>drop(tag)}><${Icon} name="close" /></button></span>`)}
    <input type="text" ...${tied} value=${text} onInput=${input} onKeyDown=${typed} onBlur=${()=>take(text)} spellcheck=${!1} />
  </div>`}} />`}function Tick({form,name,member=name,label,hint}){let id=P(),faults=form.faults(member);return A(()=>(form.names.add(member),()=>form.names.delete(
member)),[member]),html`<div class="field wide"><label class="tick"><input type="checkbox" name=${name} checked=${form.values[name]} aria-describedby=${hint?`${id}\
-hint`:void 0} onChange=${event=>form.set(name,event.currentTarget.checked)} /><span>${label}</span></label>
    ${faults.length>0&&html`<p class="fault">${faults.map(fault=>sentence(fault.message)).join(" ")}</p>`}
    ${hint&&html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}</div>`}function Section({form,title,summary,names,children}){let faulty=names.some(name=>form.
faults(name).length>0),[open,setOpen]=d(!1);return html`<details class="section" open=${open||faulty} onToggle=${event=>setOpen(event.currentTarget.open)}>
    <summary><span class="section-title">${title}</span><span class="section-summary">${summary}</span></summary>
    <div class="fields">${children}</div>
  </details>`}function number2(text){let trimmed=String(text).trim();return trimmed!==""&&Number.isFinite(Number(trimmed))?Number(trimmed):trimmed}function linesOf(text){
return text.split(`
`).map(line=>line.trim()).filter(Boolean)}var Refresher=class{#one;#all;#ids=new Set;#everything=!1;#timer=0;#working=!1;#stopped=!1;#again=1e3;constructor(one,all){this.#one=one,this.#all=all}mark(id){
this.#ids.add(id),this.#plan(60)}markAll(){this.#everything=!0,this.#plan(60)}stop(){clearTimeout(this.#timer),this.#working=!0,this.#stopped=!0}#plan(ms){this.#working||
this.#timer||(this.#timer=setTimeout(()=>this.#work(),ms))}async#work(){let ids=[...this.#ids],all=this.#everything||ids.length>10;this.#timer=0,this.#working=!0,
this.#everything=!1,this.#ids.clear();let work=all?[this.#all()]:ids.map(id=>this.#one(id)),failed=(await Promise.allSettled(work)).map(({reason})=>isTemporary(
reason));if(this.#stopped)return;this.#working=!1;let soon=all?300:60;failed.includes(!0)?(soon=this.#again,this.#again=Math.min(2*this.#again,6e4),all?this.#everything=
!0:ids.filter((_,i)=>failed[i]).forEach(id=>this.#ids.add(id))):this.#again=1e3,(this.#ids.size||this.#everything)&&this.#plan(soon)}};function isTemporary(problem){
return!!problem&&(!problem.status||problem.status===429||problem.status>=500)}var Columns=class{chosen;#key;constructor(name,columns){this.all=columns,this.#key=`columns.${name}`;let known=new Set(columns.map(({id})=>id)),kept2=recall(this.#key,
null),ids=Array.isArray(kept2)?kept2.filter(id=>known.has(id)):[];this.chosen=new Store(ids.length?ids:this.preset())}preset(){return this.all.filter(({hidden})=>!hidden).
map(({id})=>id)}show(id,shown){let ids=this.chosen.value;this.#keep(shown?[...ids,id]:ids.filter(other=>other!==id))}move(id,by){let ids=[...this.chosen.value],
from=ids.indexOf(id),to=from+by;from<0||to<0||to>=ids.length||(ids.splice(to,0,...ids.splice(from,1)),this.#keep(ids))}reset(){this.#keep(this.preset())}#keep(ids){
this.chosen.set(ids),remember(this.#key,ids.join()===this.preset().join()?null:ids)}},CHECKBOX=40,PADDING=28;function fitting(columns,ids,width,actions,ticks=!0){
let before=ticks?CHECKBOX:0,shown=ids.map(id=>columns.find(column=>column.id===id)).filter(Boolean),needed=()=>shown.reduce((sum,{min,width:fixed})=>sum+(min??fixed),
before+PADDING+actions);for(;needed()>width&&shown.some(({always})=>!always);){let weakest=shown.filter(({always})=>!always).reduce((a,b)=>(b.rank??0)>=(a.rank??
0)?b:a);shown=shown.filter(column=>column!==weakest)}let tracks=shown.map(({width:fixed,min,grow})=>grow?`minmax(${min??fixed}px, ${grow}fr)`:`${fixed}px`);return{
shown,tracks:[...ticks?[`${CHECKBOX}px`]:[],...tracks,`${actions}px`].join(" ")}}var CARDS_BELOW=720,ROW={compact:44,comfortable:52},CARD=92,OVER=6,TALLEST=15e6;function Grid({label,rows,columns,selection,sort,order,onSort,actions,actionsWidth=120,
open,opened,tone=()=>"",keys={},what,ticks=!0}){let app=useApp(),box=T(null),{width,height}=useSize(box),view=useStore(rows.view),chosenColumns=useStore(columns.
chosen),chosen=useStore(selection.state),density=useStore(app.density),cards=width>0&&width<CARDS_BELOW,rowHeight=cards?CARD:ROW[density],total=view.total??0,place=useScroll(
box,total,rowHeight,height),{shown,tracks}=w(()=>fitting(columns.all,chosenColumns,cards?1/0:width,actionsWidth,ticks),[columns,chosenColumns,width,cards,actionsWidth,
ticks]),cursor=useCursor({app,box,rows,total,selection,open,keys,place,rowHeight,ticks});A(()=>rows.want(Math.max(0,place.first-OVER),place.last+OVER),[rows,place.
first,place.last,view.version]);let toggle=(row,index,extend)=>extend?selection.extend(row,index,(from,to)=>rows.range(from,to)):selection.toggle(row,index),drawn=[];
for(let index=Math.max(0,place.first-OVER);index<Math.min(total,place.last+OVER);index++){let row=rows.at(index),top=index*rowHeight+place.shift;drawn.push(row?
html`<${Row} key=${row.id} ...${{row,index,top,shown,actions,open,toggle,cards,what,ticks}} tone=${tone(row)}
          chosen=${chosen.all!==chosen.ids.has(row.id)} opened=${opened===row.id} cursor=${cursor.index===index} />`:html`<div key=${`-${index}`} class="row is-coming" role="row" aria-rowindex=${index+
2} style=${{transform:`translateY(${top}px)`}}>
          ${ticks&&html`<span role="cell" class="cell"></span>`}<span role="cell" class="cell"><span class="bone"></span></span></div>`)}return html`<div class=${`\
grid ${cards?"is-cards":""} ${ticks?"":"has-no-ticks"}`} ref=${box} role="table" aria-label=${label} aria-rowcount=${total+1} aria-busy=${view.total===null}
      style=${{"--tracks":tracks,"--row":`${rowHeight}px`}} onKeyDown=${cursor.onKey} onFocusIn=${cursor.onFocus}>
    <${Head} ...${{shown,rows,total,selection,chosen,sort,order,onSort,cards,ticks}} />
    <div class="grid-body" role="rowgroup" style=${{height:`${place.tall}px`}}>${drawn}</div>
  </div>`}function Head({shown,rows,total,selection,chosen,sort,order,onSort,cards,ticks}){let size=selection.size(total),some=size>0&&size<total,all=T(null);F(
()=>{all.current&&(all.current.indeterminate=some)});let toggleAll=()=>size>0?selection.clear():total===rows.loaded().length?selection.choose(rows.loaded(),!0):
selection.chooseAll();return html`<div class="grid-head" role="rowgroup"><div class="row" role="row" aria-rowindex="1">
    ${ticks&&html`<span role="columnheader" class="cell cell-tick"><input type="checkbox" ref=${all} checked=${size>0&&!some} disabled=${total===0}
      aria-label=${size>0?"Clear the selection":"Select all"} onChange=${toggleAll} /></span>`}
    ${!cards&&shown.map(column=>{let active=column.sort&&column.sort===sort;return html`<span key=${column.id} role="columnheader" class=${column.numeric?"cell \
is-number":"cell"} aria-sort=${active?order==="asc"?"ascending":"descending":column.sort?"none":void 0}>
        ${column.sort?html`<button type="button" class="sort" onClick=${()=>onSort(column.sort,active?order==="asc"?"desc":"asc":column.first||"desc")}>
              <span>${column.label}</span><${Icon} name=${active?order==="asc"?"up":"down":"unsorted"} /></button>`:column.label}</span>`})}
    ${cards&&html`<span role="columnheader" class="cell">${ticks?"Select all":""}</span>`}
    <span role="columnheader" class="cell"><span class="visually-hidden">Actions</span></span>
  </div></div>`}function Row({row,index,top,shown,actions,open,toggle,cards,what,ticks,tone,chosen,opened,cursor}){let name=what(row);return w(()=>html`<div role="row" aria-rowindex=${index+
2} data-id=${row.id} data-index=${index} tabindex=${cursor?0:-1}
      class=${`row ${tone} ${chosen?"is-chosen":""} ${opened?"is-open":""}`} style=${{transform:`translateY(${top}px)`}}
      onDblClick=${event=>!event.target.closest("button, a, input")&&open?.(row)}>
    ${ticks&&html`<span role="cell" class="cell cell-tick"><input type="checkbox" checked=${chosen} aria-label=${`Select ${name}`}
      onClick=${event=>{event.preventDefault(),toggle(row,index,event.shiftKey)}} /></span>`}
    ${cards?html`<${Card} row=${row} shown=${shown} />`:shown.map(column=>html`<span key=${column.id} role="cell" class=${`cell cell-${column.id} ${column.numeric?
"is-number":""}`}>${column.draw(row)}</span>`)}
    <span role="cell" class="cell cell-actions">${actions?.(row)}</span>
  </div>`,[row,index,top,shown,actions,toggle,cards,tone,chosen,opened,cursor])}function Card({row,shown}){let[main,...rest]=[...shown].sort((a,b)=>!!b.always-!!a.
always);return html`<span role="cell" class="cell card-main">${main.draw(row)}</span>
    <span role="cell" class="cell card-rest">${rest.filter(({card})=>card).map(column=>html`<span key=${column.id} class=${`cell-${column.id}`}>${column.draw(row)}</span>`)}</span>`}
function useSize(box){let[size,setSize]=d({width:0,height:0});return F(()=>{let read=()=>{let{clientWidth:width,clientHeight:height}=box.current;setSize(before=>before.
width===width&&before.height===height?before:{width,height})},observer=new ResizeObserver(read);return observer.observe(box.current),read(),()=>observer.disconnect()},
[]),size}function useScroll(box,total,rowHeight,height){let[top,setTop]=d(0);A(()=>{let frame=0,scrolled=()=>{frame||=requestAnimationFrame(()=>{frame=0,setTop(
box.current?.scrollTop??0)})};return box.current.addEventListener("scroll",scrolled,{passive:!0}),()=>{cancelAnimationFrame(frame),box.current?.removeEventListener(
"scroll",scrolled)}},[]);let whole=total*rowHeight,tall=Math.min(whole,TALLEST),ratio=whole>TALLEST?(whole-height)/(TALLEST-height):1,start=ratio===1?Math.floor(
top/rowHeight):top*ratio/rowHeight,first=Math.max(0,Math.floor(start)),last=Math.min(total,first+Math.ceil(height/rowHeight)+1);return w(()=>({first,last,tall,shift:ratio===
1?0:top-top*ratio,scrollTo:index=>scrollTo(box.current,index,rowHeight,ratio)}),[first,last,tall,ratio===1?0:top,rowHeight,ratio])}function scrollTo(box,index,rowHeight,ratio){
let head=box.querySelector(".grid-head").offsetHeight,at=index*rowHeight,top=box.scrollTop*ratio,end=top+box.clientHeight-head;at<top?box.scrollTop=at/ratio:at+
rowHeight>end&&(box.scrollTop=(at+rowHeight-box.clientHeight+head)/ratio)}function useCursor({app,box,rows,total,selection,open,keys,place,ticks}){let[index,setIndex]=d(
0),wanted=T(-1);F(()=>{if(wanted.current<0)return;let row=box.current.querySelector(`.row[data-index="${wanted.current}"]`);row&&(wanted.current=-1,row.focus({preventScroll:!0}))});
let move=to=>{let next=Math.max(0,Math.min(total-1,to));if(total===0)return;setIndex(next),place.scrollTo(next);let drawn=box.current.querySelector(`.row[data-i\
ndex="${next}"]`);drawn?drawn.focus({preventScroll:!0}):wanted.current=next},act=event=>{let row=rows.at(index),page=Math.max(1,place.last-place.first-2),to={ArrowDown:index+
1,j:index+1,ArrowUp:index-1,k:index-1,PageDown:index+page,PageUp:index-page,Home:0,End:total-1}[event.key],focused=document.activeElement?.classList.contains("r\
ow");if(to!==void 0)move(focused?to:index);else if(ticks&&row&&(event.key===" "||event.key==="x"))event.shiftKey?selection.extend(row,index,(from,last)=>rows.range(
from,last)):selection.toggle(row,index);else if(row&&event.key==="Enter"&&open)open(row);else if(row&&Object.hasOwn(keys,event.key))keys[event.key](row);else return!1;
return event.preventDefault(),!0},latest=T(act);return latest.current=act,A(()=>{let key=event=>latest.current(event);return app.gridKey=key,()=>{app.gridKey===
key&&(app.gridKey=null)}},[]),{index:Math.min(index,Math.max(0,total-1)),onFocus:event=>{let at=event.target.closest(".row[data-index]")?.dataset.index;at!==void 0&&
setIndex(Number(at))},onKey:event=>{event.target.classList.contains("row")&&!event.ctrlKey&&!event.metaKey&&!event.altKey&&act(event)&&event.stopPropagation()}}}
function GridProblem({rows}){let{problem}=useStore(rows.view);return html`<${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${()=>rows.
reload().catch(()=>{})}>Try again</button><//>`}function Chips({filters,params}){let{router}=useApp(),set=(name,value)=>router.refine({[name]:value}),active=filters.flatMap(filter=>params.getAll(filter.name).
filter(Boolean).map(value=>({filter,value}))),drop=({filter,value})=>set(filter.name,params.getAll(filter.name).filter(other=>other!==value)),add=(filter,value)=>set(
filter.name,filter.many?[...new Set([...params.getAll(filter.name),value])]:value);return html`<div class="chips" role="group" aria-label="Filters">
    ${active.map(one=>html`<span key=${`${one.filter.name}=${one.value}`} class="filter-chip"><span class="filter-chip-words"><span class="filter-chip-label">${one.
filter.label}</span>
      <bdi>${one.filter.text?one.filter.text(one.value):wordsOf(one)}</bdi></span>
      <button type="button" class="filter-chip-drop" aria-label=${`Remove the filter ${one.filter.label}`} onClick=${()=>drop(one)}><${Icon} name="close" /></button></span>`)}
    <${Panel} label="Add a filter" class="button quiet" face=${html`<${Icon} name="filter" /><span>Filter</span>`}>${close=>html`<${FilterList} ...${{filters,params,
add,close}} />`}<//>
    ${active.length>1&&html`<button type="button" class="button quiet" onClick=${()=>router.refine(Object.fromEntries(filters.map(({name})=>[name,""])))}>Clear all</button>`}
  </div>`}function wordsOf({filter,value}){return filter.options?.find(([one])=>one===value)?.[1]??value}function FilterList({filters,params,add,close}){return html`<div class="filter-list">${filters.
map(filter=>{let choose=value2=>{close(),value2&&add(filter,value2)},value=params.get(filter.name)||"";return html`<div class="filter-line" key=${filter.name}><span class="filter-name" id=${`\
f-${filter.name}`}>${filter.label}</span>
      ${filter.options?html`<span class="filter-options" role="group" aria-labelledby=${`f-${filter.name}`}>${filter.options.map(([one,words])=>html`<button type="button" key=${one} class="chip-option" aria-pressed=${value===
one} onClick=${()=>choose(one)}>${words}</button>`)}</span>`:html`<${filter.panel} value=${value} choose=${choose} label=${filter.label} />`}</div>`})}</div>`}function FreeFilter({
suggestions=[],placeholder,pattern}){return({choose,label})=>html`<form class="filter-free" onSubmit=${event=>{event.preventDefault(),choose(new FormData(event.
currentTarget).get("value").trim())}}>
    <input name="value" aria-label=${label} placeholder=${placeholder} pattern=${pattern} required list=${`list-${label}`} autocomplete="off" spellcheck=${!1} />
    <datalist id=${`list-${label}`}>${(typeof suggestions=="function"?suggestions():suggestions).map(one=>html`<option key=${one} value=${one} />`)}</datalist>
    <button class="button small">Apply</button></form>`}function ViewMenu({columns,sort,order,onSort}){let app=useApp(),chosen=useStore(columns.chosen),density=useStore(
app.density),hidden=columns.all.filter(({id})=>!chosen.includes(id)),listed=[...chosen.map(id=>columns.all.find(column=>column.id===id)),...hidden];return html`<span class="view-button"><${Panel} label="View: columns, order and density" class="button quiet" face=${html`<${Icon} name="columns" /><span>View</span>`}>${()=>html`<div class="view-menu">
    <h3>Rows</h3>
    <div class="segments" role="group" aria-label="Row height">${[["compact","Compact"],["comfortable","Comfortable"]].map(([value,words])=>html`<button type="button" key=${value}
      class="segment-button" aria-pressed=${density===value} onClick=${()=>app.setDensity(value)}>${words}</button>`)}</div>
    ${onSort&&html`<h3>Sort</h3>
    <div class="sort-line"><select aria-label="Sort by" value=${sort} onChange=${event=>onSort(event.currentTarget.value,order)}>
      ${columns.all.filter(column=>column.sort).map(column=>html`<option key=${column.sort} value=${column.sort} selected=${column.sort===sort}>${column.label}</option>`)}</select>
      <button type="button" class="icon-button" aria-label=${order==="asc"?"Ascending":"Descending"} title=${order==="asc"?"Ascending":"Descending"}
        onClick=${()=>onSort(sort,order==="asc"?"desc":"asc")}><${Icon} name=${order==="asc"?"up":"down"} /></button></div>`}
    <h3>Columns</h3>
    <ul class="column-list">${listed.map((column,i)=>html`<li key=${column.id}>
      <label class="tick"><input type="checkbox" checked=${chosen.includes(column.id)} disabled=${column.always} onChange=${event=>columns.show(column.id,event.
currentTarget.checked)} /> ${column.label}</label>
      <button type="button" class="icon-button" aria-label=${`Move ${column.label} left`} disabled=${i===0||!chosen.includes(column.id)} onClick=${()=>columns.move(
column.id,-1)}><${Icon} name="up" /></button>
      <button type="button" class="icon-button" aria-label=${`Move ${column.label} right`} disabled=${i>=chosen.length-1} onClick=${()=>columns.move(column.id,1)}><${Icon} name="down" /></button>
    </li>`)}</ul>
    <button type="button" class="button small" onClick=${()=>columns.reset()}>Reset columns</button>
  </div>`}<//></span>`}var RANGE=1e3,NONE={all:!1,ids:new Map},Selection=class{state=new Store(NONE);#last=-1;has(id){let{all,ids}=this.state.value;return all!==ids.has(id)}size(total){
let{all,ids}=this.state.value;return all?Math.max(0,total-ids.size):ids.size}clear(){this.#last=-1,this.state.set(NONE)}chooseAll(){this.state.set({all:!0,ids:new Map})}toggle(row,index){
this.#last=index,this.#set([row],!this.has(row.id))}async extend(row,index,read){if(this.#last<0||this.#last===index)return this.toggle(row,index);let[from,to]=[
Math.min(this.#last,index),Math.max(this.#last,index)],wanted=this.has(row.id)===!1,rows=await read(from,Math.min(to,from+RANGE-1));return this.#last=index,this.#set(
rows,wanted)}choose(rows,wanted){this.#set(rows,wanted)}keep(pairs){this.state.set({all:!1,ids:new Map(pairs)})}drop(id){this.has(id)&&this.#set([{id}],!1)}#set(rows,wanted){
let{all}=this.state.value,ids=new Map(this.state.value.ids);for(let row of rows)wanted!==all?ids.set(row.id,row.name||""):ids.delete(row.id);this.state.set({all,
ids})}};var BLOCK=50,KEPT2=40,AT_ONCE=2,Rows=class{view=new Store({total:null,atLeast:!1,problem:null,version:0});#api;#path;#query=null;#blocks=new Map;#stale=new Set;#reading=new Map;#wanted={
from:0,to:BLOCK};#turn=0;#fresh=!1;#refresh;constructor(api,path,{filtered=()=>!0}={}){this.#api=api,this.#path=path,this.filtered=filtered,this.#refresh=new Refresher(
id=>this.#readOne(id),()=>this.reload())}get query(){return this.#query}show(query){return this.#query=query,this.#turn++,this.#fresh=!1,this.#wanted={from:0,to:BLOCK},
this.#abort(),this.#read(0)}async reload(){if(!this.#query)return;for(let n of this.#blocks.keys())this.#stale.add(n);this.#abort();let[first,last]=this.#blocksInView();
if(await this.#read(first),last!==first&&this.#fill(),this.view.value.problem)throw this.view.value.problem}at(index){return this.#blocks.get(Math.floor(index/BLOCK))?.[index%
BLOCK]}find(id){let index=this.indexOf(id);return index<0?void 0:this.at(index)}indexOf(id){for(let[n,rows]of this.#blocks){let i=rows.findIndex(row=>row.id===id);
if(i>=0)return n*BLOCK+i}return-1}loaded(){return[...this.#blocks.values()].flat()}want(from,to){this.#wanted={from,to},this.#fresh&&this.#fill()}async range(from,to){
let turn=this.#turn,out=[];for(let n=Math.floor(from/BLOCK);n<=Math.floor(to/BLOCK)&&turn===this.#turn;n++)(this.#blocks.get(n)||(await this.#ask(n)).data).forEach(
(row,i)=>n*BLOCK+i>=from&&n*BLOCK+i<=to&&out.push(row));return out}patch(id,changes){for(let[n,rows]of this.#blocks)rows.some(row=>row.id===id)&&(this.#blocks.set(
n,rows.map(row=>row.id===id?{...row,...changes}:row)),this.#changed({}))}patchAll(all){let any=!1;for(let[n,rows]of this.#blocks)rows.some(({id})=>all.has(id))&&
(any=!0,this.#blocks.set(n,rows.map(row=>all.has(row.id)?{...row,...all.get(row.id)}:row)));any&&this.#changed({})}again(id){this.#refresh.mark(id)}changed(id,came=!1){
came||!id||this.filtered(this.#query||{})?this.#refresh.markAll():this.indexOf(id)>=0&&this.#refresh.mark(id)}stop(){this.#abort(),this.#refresh.stop()}#blocksInView(){
let total=this.view.value.total??0,last=Math.max(0,Math.ceil(total/BLOCK)-1);return[Math.min(last,Math.floor(this.#wanted.from/BLOCK)),Math.min(last,Math.floor(
this.#wanted.to/BLOCK))]}#fill(){let[first,last]=this.#blocksInView();for(let[n,controller]of this.#reading)n>=first-1&&n<=last+1||(controller.abort(),this.#reading.
delete(n));for(let n=first;n<=last&&this.#reading.size<AT_ONCE;n++)(!this.#blocks.has(n)||this.#stale.has(n))&&!this.#reading.has(n)&&this.#read(n)}#ask(n,signal){
return this.#api.get(this.#path,{...this.#query,page:n+1,limit:BLOCK},{signal})}async#read(n){let turn=this.#turn,controller=new AbortController;this.#reading.set(
n,controller);try{let answer=await this.#ask(n,controller.signal);turn===this.#turn&&this.#take(n,answer)}catch(problem){if(turn!==this.#turn||problem.name==="A\
bortError")return;this.#changed({problem})}finally{this.#reading.get(n)===controller&&this.#reading.delete(n)}turn===this.#turn&&!this.view.value.problem&&this.#fill()}#take(n,{
data,total,totalIsExact,hasMore}){this.#fresh||this.#blocks.clear(),this.#fresh=!0,this.#stale.delete(n),this.#blocks.set(n,data),this.#forget();let end=n*BLOCK+
data.length,atLeast=totalIsExact===!1&&hasMore,known=atLeast?Math.max(total,end+BLOCK):totalIsExact===!1?end:total;this.#changed({total:known??end,atLeast,problem:null})}#forget(){
let middle=Math.floor((this.#wanted.from+this.#wanted.to)/2/BLOCK),far=[...this.#blocks.keys()].sort((a,b)=>Math.abs(b-middle)-Math.abs(a-middle));for(let n of far.
slice(0,Math.max(0,far.length-KEPT2)))this.#blocks.delete(n),this.#stale.delete(n)}async#readOne(id){if(!(this.indexOf(id)<0))try{this.patch(id,await this.#api.
get(`${this.#path}/${encodeURIComponent(id)}`))}catch(problem){if(problem.status!==404)throw problem;await this.reload()}}#abort(){for(let controller of this.#reading.
values())controller.abort();this.#reading.clear()}#changed(changes){this.view.set({...this.view.value,...changes,version:this.view.value.version+1})}};function useList(path,query,on,options){let app=useApp(),rows=w(()=>new Rows(app.api,path,options),[app,path]),selection=w(()=>new Selection,[app,path]),asked=JSON.
stringify(query);return A(()=>{selection.clear(),rows.show(JSON.parse(asked)).then(()=>app.model.sawWorkspaces(rows.loaded()))},[rows,asked]),A(()=>{let unwatch=app.
model.event.watch(event=>event.type==="everything"||event.type==="events.lost"?rows.changed(null,!0):on(event,rows));return()=>{unwatch(),rows.stop()}},[rows]),
{rows,selection,view:useStore(rows.view)}}function useColumns(name,make){return w(()=>new Columns(name,make()),[name])}function useSort(params,fallback,order="d\
esc"){let{router}=useApp();return{sort:params.get("sort")||fallback,order:params.get("order")||(params.get("sort")?"desc":order),onSort:(by,way)=>router.refine(
{sort:by,order:way})}}function BulkBar({selection,total,atLeast,what,actions,more}){let{all}=useStore(selection.state),size=selection.size(total);return size?html`<div class="bulk" role="region" aria-label="Selection">
    <p class="bulk-count" role="status"><strong class="number">${number(size,all&&atLeast)}</strong> selected</p>
    ${!all&&size<total&&html`<button type="button" class="button quiet small" onClick=${()=>selection.chooseAll()}>Select all ${number(total,atLeast)}</button>`}
    <span class="bulk-actions">${actions.map(({label,icon,run,danger})=>html`<button type="button" key=${label} class=${`button small ${danger?"danger-quiet":""}`} onClick=${run}><${Icon} name=${icon} /><span>${label}</span></button>`)}
    ${more?.length>0&&html`<${Menu} label="More actions for the selection" items=${more} class="button small" title="More"><${Icon} name="more" /><//>`}</span>
    <button type="button" class="icon-button" aria-label=${`Clear the selection of ${what}s`} title="Clear (Esc)" onClick=${()=>selection.clear()}><${Icon} name="close" /></button>
  </div>`:null}function useObject(path,names){let app=useApp(),[state,setState]=d({data:null,etag:null,problem:null}),reload=()=>app.api.full("GET",path).then(({data,etag})=>setState(
{data,etag,problem:null}),problem=>setState(before=>({...before,problem})));return A(()=>{setState({data:null,etag:null,problem:null}),reload();let planned=0,unwatch=app.
model.event.watch(event=>{event.type!=="everything"&&event.type!=="events.lost"&&!names(event)||(clearTimeout(planned),planned=setTimeout(reload,60))});return()=>{
clearTimeout(planned),unwatch()}},[path]),{...state,reload,keep:(data,etag=null)=>setState({data,etag,problem:null})}}function Drawer({label,title,below,actions,
tabs,tab,problem,ready}){let app=useApp(),box=T(null),shown=tabs.find(({id})=>id===tab)||tabs[0],close=()=>app.router.open(),[object]=app.router.current.value.path;
A(()=>{box.current?.querySelector(".drawer-body")?.scrollTo(0,0),box.current?.querySelector('[role="tab"][aria-selected="true"]')?.scrollIntoView({block:"neares\
t",inline:"center"})},[shown.id,object]);let press=event=>{let by={ArrowRight:1,ArrowLeft:-1}[event.key];if(!by)return;event.preventDefault();let next=tabs[(tabs.
indexOf(shown)+by+tabs.length)%tabs.length];app.router.open(object,next.id),requestAnimationFrame(()=>box.current?.querySelector('[role="tab"][aria-selected="tr\
ue"]')?.focus())};return html`<aside class="drawer" ref=${box} aria-label=${label} onKeyDown=${event=>{event.key!=="Escape"||event.defaultPrevented||event.target.
closest("[popover]")||(event.stopPropagation(),close(),app.focusPage(object))}}>
    <header class="drawer-head"><div class="drawer-title"><h2>${title}</h2>${below&&html`<p class="muted drawer-below">${below}</p>`}</div>
      <div class="drawer-actions">${actions}<button type="button" class="icon-button" aria-label="Close" title="Close (Esc)" onClick=${close}><${Icon} name="close" /></button></div></header>
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${press}>${tabs.map(({id,label:words,note})=>html`<button type="button" key=${id} role="tab" id=${`\
tab-${id}`} aria-selected=${id===shown.id} aria-controls="tab-panel"
      tabindex=${id===shown.id?0:-1} class="tab" onClick=${()=>app.router.open(object,id)}>${words}${note&&html`<span class="tab-note">${note}</span>`}</button>`)}</div>
    <div class="drawer-body" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${shown.id}`} tabindex="0" key=${shown.id}>
      <${ProblemBox} problem=${problem} />${ready?shown.draw():!problem&&html`<${Waiting} />`}</div>
  </aside>`}function Facts({pairs}){return html`<dl class="fact-list">${pairs.filter(pair=>pair&&pair[1]!==null&&pair[1]!==void 0&&pair[1]!==""&&pair[1]!==!1).map(
([label,value])=>html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`}export{Problem,Api,ProxyCache,useProxy,useForm,Form,Field,Text,Lines,Choice,TagField,Tick,Section,number2 as number,linesOf,takeFromAddress,looksLikeKey,exchange,
revoke,readKey,saveKey,dropKey,watchKey,recall,remember,kept,forget,Refresher,Grid,GridProblem,Chips,FreeFilter,ViewMenu,Selection,useList,useColumns,useSort,BulkBar,
useObject,Drawer,Facts};
