import{ToastArea,Toasts}from"./part-GXAD724R.js";import{A,ConfirmDialog,Copy,Country,F,Icon,Logo,Menu,Name,P,Store,T,bytes,count,d,href,html,problemTitle,
problemWords,span,useApp,useStore,w}from"./part-B7Y6SKBI.js";var SAMPLES=30,MAX_LATENCY_MS=1e3,SECOND_MS=1e3,Meter=class{shown=new Store({latency:null,rate:0});#sent=new Map;#samples=[];#drawn=[];#timer=0;begin(){this.#timer=
setInterval(()=>this.#show(),SECOND_MS)}end(){clearInterval(this.#timer)}reset(){this.#sent.clear()}sent(n){this.#sent.set(n,performance.now());let[oldest]=this.#sent.
keys();performance.now()-this.#sent.get(oldest)>MAX_LATENCY_MS&&this.#sent.delete(oldest)}drawn(input){let now=performance.now();this.#drawn.push(now);let took=now-
this.#sent.get(input);for(let n of this.#sent.keys())n<=input&&this.#sent.delete(n);took<=MAX_LATENCY_MS&&(this.#samples=[...this.#samples.slice(1-SAMPLES),took],
this.#samples.length===1&&this.#show())}#show(){let now=performance.now();this.#drawn=this.#drawn.filter(at=>now-at<SECOND_MS);let sorted=[...this.#samples].sort(
(a,b)=>a-b),latency=sorted.length?sorted[sorted.length>>1]:null,{latency:before,rate}=this.shown.value;(latency!==before||rate!==this.#drawn.length)&&this.shown.
set({latency,rate:this.#drawn.length})}};var FIRST_WAIT_MS=1e3,LONGEST_WAIT_MS=15e3,PING_MS=5e3,MAX_UNANSWERED=2,CHUNK=1<<20,KEPT_DOWNLOADS=100,TEXT_CHUNK=16384,MAX_BUFFERED=4<<20,ENDED=[1e3,1008];var KeyAccess=class{#api;constructor(api,profileId,readonly){this.#api=api,this.path=`api/v1/profiles/${encodeURIComponent(profileId)}/live`,this.query=readonly?
"?readonly=1":""}async protocols(){let{ticket}=await this.#api.post("/tickets",{path:`/${this.path}`});return[`warren.ticket.${ticket}`]}async probe(){try{return await this.#api.
open("GET",this.path),{status:200,words:""}}catch(problem){return{status:problem.status,words:problem.message}}}download(id){return{fetch:async()=>(await this.#api.
open("GET",`${this.path}/downloads/${encodeURIComponent(id)}`)).blob()}}},LiveLink=class{phase=new Store({name:"connecting"});hello=new Store(null);tabs=new Store(
{active:"",tabs:[]});page=new Store(null);control=new Store({holder:null,you:!1,viewers:[],asking:[]});script=new Store({active:!1});cursor=new Store("default");dialog=new Store(
null);chooser=new Store(null);uploads=new Store(new Map);options=new Store(null);downloads=new Store(new Map);copied=new Store(null);window=new Store({resized:!1});error=new Store(
null);roundTrip=new Store(null);meter=new Meter;draw=async()=>{};#socket=null;#timer=0;#ping=0;#unanswered=0;#wait=FIRST_WAIT_MS;#n=0;#pendingAck=null;#bye="";#ended=!1;#askedToCopy=!1;constructor(access){
this.access=access}begin(){let soon=()=>document.visibilityState==="visible"&&this.#reconnectSoon();return addEventListener("online",soon),document.addEventListener(
"visibilitychange",soon),this.#ping=setInterval(()=>this.#sendPing(),PING_MS),this.meter.begin(),this.connect(),()=>{this.#ended=!0,removeEventListener("online",
soon),document.removeEventListener("visibilitychange",soon),clearInterval(this.#ping),clearTimeout(this.#timer),this.meter.end(),this.#disconnect()}}async connect(){
clearTimeout(this.#timer),this.#timer=0,this.#disconnect();let{name,...rest}=this.phase.value;this.phase.set(name==="over"?{name:"connecting"}:{...rest,name,at:0});
let turn={};this.#socket=turn;let protocols;try{protocols=await this.access.protocols()}catch(problem){this.#socket===turn&&this.#failed(problem.status,problem.
message);return}if(this.#ended||this.#socket!==turn)return;let address=new URL(this.access.path+this.access.query,document.baseURI);address.protocol=address.protocol.
replace("http","ws"),this.#listen(new WebSocket(address,["warren.live",...protocols]))}#listen(socket){let opened=!1;this.#socket=socket,socket.binaryType="arra\
ybuffer",socket.onopen=()=>{opened=!0},socket.onmessage=({data})=>{this.#socket===socket&&(this.#unanswered=0,typeof data=="string"?this.#receive(data):this.#frame(
socket,data))},socket.onclose=async({code,reason})=>{if(this.#socket!==socket)return;if(ENDED.includes(code))return this.#over(code,this.#bye||reason);if(opened)
return this.#lost(this.#bye||reason);let{status,words}=await this.access.probe().catch(()=>({status:0,words:""}));this.#socket===socket&&this.#failed(status,words)}}#failed(status,words){
[401,403,404,409,410].includes(status)?this.#over(status,words):this.#lost(words)}#over(status,words){this.#disconnect(),this.phase.set({name:"over",status,words})}#lost(words){
this.#disconnect(),!this.#ended&&(this.phase.set({name:"lost",words,at:Date.now()+this.#wait}),this.#timer=setTimeout(()=>this.connect(),this.#wait),this.#wait=
Math.min(this.#wait*2,LONGEST_WAIT_MS))}#reconnectSoon(){this.#pendingAck?.socket===this.#socket&&this.#ack(this.#pendingAck.socket,this.#pendingAck.seq),this.#pendingAck=
null,this.#timer&&this.connect()}#disconnect(){let socket=this.#socket;this.#socket=null,socket instanceof WebSocket&&socket.close();for(let asked of[this.dialog,
this.chooser,this.options])asked.set(null);this.script.set({active:!1}),this.control.set({holder:null,you:!1,viewers:[],asking:[]}),this.window.set({resized:!1}),
this.roundTrip.set(null)}#receive(text){let message;try{message=JSON.parse(text)}catch{return}let{type,...body}=message||{};Object.hasOwn(HANDLERS,type)&&HANDLERS[type](
this,body)}onHello(hello){this.#n=0,this.#wait=FIRST_WAIT_MS,this.#bye="",this.meter.reset(),this.hello.set(hello),this.phase.set({name:"live"});let name=readName();
name&&this.send({type:"name",name})}onBye(reason){this.#bye=reason}onCopied(text){this.copied.set({text,asked:this.#askedToCopy}),this.#askedToCopy=!1}async#frame(socket,data){
let header;try{let length=new DataView(data).getUint16(0);header=JSON.parse(new TextDecoder().decode(new Uint8Array(data,2,length))),await this.draw(header,new Blob(
[new Uint8Array(data,2+length)])),this.meter.drawn(header.input||0)}catch{if(!header)return}document.hidden?this.#pendingAck={socket,seq:header.seq}:this.#ack(socket,
header.seq)}#ack(socket,seq){this.#socket===socket&&this.send({type:"ack",seq})}#sendPing(){if(this.phase.value.name==="live"){if(this.#unanswered>=MAX_UNANSWERED)
return this.#lost("");this.#unanswered++,this.send({type:"ping",t:performance.now()})}}get drives(){return this.phase.value.name==="live"&&this.control.value.you&&
!this.hello.value?.readonly}send(message){this.#socket?.readyState===WebSocket.OPEN&&this.#socket.send(JSON.stringify(message))}input(message){if(!this.drives)return;
let n=++this.#n;this.meter.sent(n),this.send({...message,n})}text(text){let letters=[...text];for(let at=0;at<letters.length;at+=TEXT_CHUNK)this.input({type:"te\
xt",text:letters.slice(at,at+TEXT_CHUNK).join("")})}copy(){this.#askedToCopy=!0,this.input({type:"copy",cut:!1})}fitWindow({width,height}){this.send({type:"wind\
ow",do:"fit",width:Math.round(width),height:Math.round(height)})}restoreWindow(){this.send({type:"window",do:"restore"})}name(name){saveName(name),this.send({type:"\
name",name})}async upload(chooser,files){let socket=this.#socket,wanted=()=>this.#socket===socket&&this.chooser.value?.id===chooser&&this.drives;for(let[file,content]of files.
entries()){let at=0;do{for(;wanted()&&socket.bufferedAmount>MAX_BUFFERED;)await new Promise(go=>{setTimeout(go,20)});let bytes2=await content.slice(at,at+CHUNK).
arrayBuffer();if(!wanted())return;at+=bytes2.byteLength;let header={chooser,file,files:files.length,name:content.name,size:content.size,last:at>=content.size};socket.
send(pack(header,bytes2))}while(at<content.size)}}},HANDLERS={__proto__:null,hello:(link,body)=>link.onHello(body),tabs:(link,body)=>link.tabs.set(body),page:(link,body)=>link.
page.set(body),control:(link,body)=>link.control.set({asking:[],viewers:[],...body}),script:(link,body)=>link.script.set({...body,at:performance.now()}),cursor:(link,{
cursor})=>link.cursor.set(cursor),dialog:(link,body)=>link.dialog.set(body),dialogClosed:(link,{id})=>clear(link.dialog,id),chooser:(link,body)=>{link.uploads.set(
new Map),link.chooser.set(body)},chooserClosed:(link,{id})=>clear(link.chooser,id),options:(link,body)=>link.options.set(body),optionsClosed:(link,{id})=>clear(
link.options,id),download:(link,body)=>link.downloads.set(withDownload(link.downloads.value,body)),copied:(link,{text})=>link.onCopied(text),uploaded:(link,{name,
received})=>link.uploads.set(new Map(link.uploads.value).set(name,received)),window:(link,body)=>link.window.set(body),pong:(link,{t})=>typeof t=="number"&&link.
roundTrip.set(performance.now()-t),error:(link,body)=>link.error.set(body),bye:(link,{reason})=>link.onBye(reason)};function clear(store,id){store.value?.id===id&&
store.set(null)}function withDownload(downloads,one){let all=new Map(downloads),over=all.has(one.id)||all.size<KEPT_DOWNLOADS?null:[...all.values()].find(({state})=>state!==
"running");return over&&all.delete(over.id),all.set(one.id,one)}function pack(header,bytes2){let text=new TextEncoder().encode(JSON.stringify(header)),whole=new Uint8Array(
2+text.length+bytes2.byteLength);return new DataView(whole.buffer).setUint16(0,text.length),whole.set(text,2),whole.set(new Uint8Array(bytes2),2+text.length),whole}
var NAME="warren.live.name";function readName(){try{return localStorage.getItem(NAME)||""}catch{return""}}function saveName(name){try{localStorage.setItem(NAME,
name)}catch{}}var TYPED_MS=800;function Prompt({title,drives,refuse,children,foot}){let box=T(null),titleId=P();F(()=>{let before=document.activeElement;return drives?box.current.
showModal():box.current.show(),()=>{box.current?.close(),drives&&before?.focus?.({preventScroll:!0})}},[drives]);let cancel=event=>{event.preventDefault(),drives&&
refuse()};return html`<dialog ref=${box} class="dialog asked" closedby="none" aria-labelledby=${titleId} onCancel=${cancel}
    onKeyDown=${event=>event.key==="Escape"&&cancel(event)}>
    <div class="dialog-body">
      <header class="dialog-head"><h2 id=${titleId}>${title}</h2></header>
      <div class="dialog-content">${children}</div>
      ${drives?html`<footer class="dialog-foot">${foot}</footer>`:html`<p class="hint asked-hint">Who has the controls answers this.</p>`}
    </div>
  </dialog>`}var BEFORE="Changes that you made may not be saved.";function PageDialog({link,drives}){let asked=useStore(link.dialog);return asked&&html`<${OneDialog} key=${`${asked.
id} ${drives}`} ...${{link,asked,drives}} />`}function OneDialog({link,asked,drives}){let{id,kind,message,url}=asked,[text,setText]=d(asked.text||""),answer=accept=>link.
send({type:"dialog",id,accept,text:accept&&kind==="prompt"?text:""}),leaving=kind==="beforeunload",submit=event=>{event.preventDefault(),answer(!0)};return html`<${Prompt} title=${leaving?
"Leave this page?":html`<bdi>${hostOf(url)}</bdi> says`} drives=${drives} refuse=${()=>answer(!1)} foot=${html`
    ${kind!=="alert"&&html`<button type="button" class="button" onClick=${()=>answer(!1)}>${leaving?"Stay":"Cancel"}</button>`}
    <button type="button" class="button primary" autofocus=${kind!=="prompt"} onClick=${()=>answer(!0)}>${leaving?"Leave":"OK"}</button>`}>
    <p class="asked-text">${message||(leaving?BEFORE:"")}</p>
    ${kind==="prompt"&&html`<form onSubmit=${submit}>
      <input aria-label="Answer" value=${text} autofocus disabled=${!drives} autocomplete="off" onInput=${event=>setText(event.currentTarget.value)} /></form>`}
  <//>`}function hostOf(url){try{return new URL(url).host||"This page"}catch{return"This page"}}function Chooser({link,drives}){let asked=useStore(link.chooser);
return asked&&html`<${OneChooser} key=${`${asked.id} ${drives}`} ...${{link,asked,drives}} />`}function OneChooser({link,asked,drives}){let[files,setFiles]=d([]),
[over,setOver]=d(!1),uploads=useStore(link.uploads),cancel=()=>link.send({type:"chooser",id:asked.id,cancel:!0}),give=list=>{let chosen=asked.multiple?[...list]:
[...list].slice(0,1);setOver(!1),!(!chosen.length||files.length||!drives)&&(setFiles(chosen),link.upload(asked.id,chosen))},drop=event=>{event.preventDefault(),
give(event.dataTransfer.files)};return html`<${Prompt} title=${asked.multiple?"The page wants files":"The page wants a file"} drives=${drives} refuse=${cancel}
    foot=${html`<button type="button" class="button" onClick=${cancel}>Cancel</button>`}>
    ${files.length===0?drives&&html`<label class=${over?"drop is-over":"drop"} onDrop=${drop} onDragOver=${event=>{event.preventDefault(),setOver(!0)}} onDragLeave=${()=>setOver(
!1)}>
          <${Icon} name="upload" /><span><strong>${asked.multiple?"Choose files":"Choose a file"}</strong> of this computer, or drop ${asked.multiple?"them":"it"} here</span>
          <input type="file" class="visually-hidden" multiple=${asked.multiple} onChange=${event=>give(event.currentTarget.files)} /></label>`:html`<ul class="transfers" aria-label="Files on their way">${files.
map(file=>html`<li key=${file.name}>
          <bdi class="transfer-name">${file.name}</bdi><span class="muted number">${bytes(uploads.get(file.name)||0)} of ${bytes(file.size)}</span>
          <progress max=${file.size||1} value=${uploads.get(file.name)||0} aria-label=${file.name}></progress></li>`)}</ul>`}
  <//>`}function Options({link,drives,place}){let asked=useStore(link.options);return asked&&place&&html`<${OneList} key=${asked.id} ...${{link,asked,drives,place}} />`}
function OneList({link,asked,drives,place}){let{id,multiple,options=[]}=asked,first=[].concat(asked.selected??[])[0]??options.findIndex(option=>!option.disabled),
[at,setAt]=d(first),[chosen,setChosen]=d(()=>new Set([].concat(asked.selected??[]))),list=T(null),typed2=T({word:"",at:0}),listId=P(),answer=indexes=>drives&&link.
send({type:"options",id,indexes}),pick=index=>{!drives||!options[index]||options[index].disabled||(setAt(index),multiple?setChosen(toggled(chosen,index)):answer(
[index]))};F(()=>{placeList(list.current,asked,place);let before=document.activeElement;return drives&&list.current.focus(),()=>before?.focus?.({preventScroll:!0})},
[]),A(()=>list.current.children[at]?.scrollIntoView({block:"nearest"}),[at]);let key=event=>{event.preventDefault(),event.stopPropagation();let to=nextIndex(options,
at,event.key);to!==void 0?setAt(to):event.key==="Escape"||event.key==="Tab"?answer(null):event.key==="Enter"?answer(multiple?[...chosen].sort((a,b)=>a-b):[at]):
event.key===" "&&!typed2.current.word?pick(at):[...event.key].length===1&&setAt(typeAhead(options,at,typed2.current,event.key))};return html`<ul ref=${list} class="options" role="listbox" tabindex=${drives?
0:void 0} aria-label="Choose" aria-multiselectable=${multiple?"true":void 0}
    aria-activedescendant=${at>=0?`${listId}-${at}`:void 0} onKeyDown=${drives?key:void 0} onBlur=${()=>link.options.value?.id===id&&answer(null)}>
    ${options.map((option,i)=>html`<li key=${i} id=${`${listId}-${i}`} role="option" data-group=${option.group&&option.group!==options[i-1]?.group?option.group:
void 0}
      class=${`${i===at?"is-at":""}${option.group?" in-group":""}`} aria-selected=${multiple?chosen.has(i):i===at} aria-disabled=${option.disabled?"true":void 0}
      onPointerDown=${event=>{event.preventDefault(),pick(i)}} onPointerMove=${()=>drives&&!option.disabled&&setAt(i)}>${option.text||" "}</li>`)}
    ${multiple&&drives&&html`<li role="none" class="options-done"><button type="button" class="button small primary" tabindex="-1"
      onPointerDown=${event=>{event.preventDefault(),answer([...chosen].sort((a,b)=>a-b))}}>Done</button></li>`}
  </ul>`}function toggled(set,index){let changed=new Set(set);return changed.delete(index)||changed.add(index),changed}function placeList(list,{x,y,width,height},place){
let room=list.parentElement,{scrollLeft,scrollTop}=room.querySelector(".stage-room"),[left,top]=[place.left-scrollLeft+x*place.scale,place.top-scrollTop+y*place.
scale],bottom=top+height*place.scale,below=room.clientHeight-bottom;list.style.minWidth=`${width*place.scale}px`,list.style.left=`${Math.max(4,Math.min(left,room.
clientWidth-list.offsetWidth-4))}px`,list.style.maxHeight=`${Math.max(below,top,120)-8}px`,below>=Math.min(list.scrollHeight,top)?list.style.top=`${bottom}px`:list.
style.bottom=`${room.clientHeight-top}px`}function nextIndex(options,at,key){let step={__proto__:null,ArrowDown:1,ArrowUp:-1,Home:1,End:-1,PageDown:1,PageUp:-1}[key];
if(!step)return;let to={__proto__:null,Home:0,End:options.length-1,PageDown:at+10,PageUp:at-10}[key]??at+step;for(to=Math.max(0,Math.min(options.length-1,to));options[to]?.
disabled;)to+=step;return options[to]?to:at}function typeAhead(options,at,typed2,letter2){let now=performance.now();typed2.word=(now-typed2.at<TYPED_MS?typed2.word:
"")+letter2.toLowerCase(),typed2.at=now;let same=[...typed2.word].every(one=>one===typed2.word[0]),word=same?typed2.word[0]:typed2.word;for(let i=same?1:0;i<=options.
length;i++){let to=(at+i+options.length)%options.length;if(!options[to].disabled&&options[to].text.trim().toLowerCase().startsWith(word))return to}return at}async function paste(link,refused){let text;try{text=await navigator.clipboard.readText()}catch{return refused()}return link.text(text)}function PasteBox({link,
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
"live")return null;let say=(what,more)=>link.send({type:"control",do:what,...more}),asked=asking.includes(hello?.viewer),wanting=you?asking.find(id=>id!==hello?.
viewer):null,name=viewers.find(({id})=>id===wanting)?.name||"Someone",may=!you&&!hello?.readonly;return!script.active&&!wanting&&!may?null:html`<div class="live-control">
    ${script.active&&html`<span class="chip script" role="status">A script drives this tab</span>`}
    ${wanting&&html`<span class="chip wait" role="status"><bdi>${name}</bdi> asks for the controls</span>
      <button type="button" class="button small primary" onClick=${()=>say("give",{to:wanting})}>Give</button>`}
    ${may&&holder&&html`<button type="button" class="button small" onClick=${()=>say(asked?"unask":"ask")}>${asked?"Do not ask":"Ask"}</button>`}
    ${may&&html`<button type="button" class="button small" onClick=${()=>say("take")}>Take the controls</button>`}
  </div>`}function Viewers({link}){let control=useStore(link.control),hello=useStore(link.hello),id=P(),button=T(null),list=T(null),say=(what,more)=>link.send({
type:"control",do:what,...more}),{holder,you,viewers,asking}=control,place=event=>{if(event.newState!=="open")return;let at=button.current.getBoundingClientRect();
list.current.style.top=`${at.bottom+6}px`,list.current.style.right=`${Math.max(8,document.documentElement.clientWidth-at.right)}px`};return html`<button type="button" class="button small people-button" ref=${button} popovertarget=${id} aria-label=${`\
Who is here: ${viewers.length}`} title="Who is here">
      <${Icon} name="people" /><span class="number">${viewers.length}</span></button>
    <div id=${id} ref=${list} class="menu people" popover="auto" role="dialog" aria-label="Who is here" onBeforeToggle=${place}>
      <ul aria-label="Who is here">${viewers.map(viewer=>html`<li key=${viewer.id}>
        <span><bdi>${viewer.name||"No name"}</bdi>${viewer.id===hello?.viewer?" (you)":""}
          <span class="sub">${viewer.id===holder?"Drives":viewer.readonly?"Can only watch":asking.includes(viewer.id)?"Asks for the controls":"Watches"}</span></span>
        ${you&&viewer.id!==hello?.viewer&&!viewer.readonly&&html`<button type="button" class="button small" aria-label=${`Give the controls to ${viewer.name||"t\
his viewer"}`} onClick=${()=>say("give",{to:viewer.id})}>Give</button>`}
        ${you&&viewer.id===hello?.viewer&&viewers.length>1&&html`<button type="button" class="button small" onClick=${()=>say("leave")}>Let go</button>`}
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
link,owner,toasts),sizes=useSizes(link,zoom,drives),[full,toggleFull]=useFullScreen(view),words=live?drivingWords(control,hello):"Not connected",stop=()=>owner.
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
      <${More} ...${{link,zoom,owner,drives,paste:paste2,live,narrow,shoot,sizes,stop,toggleFull,panel}} />
      ${!narrow&&owner&&html`<button type="button" class="button small danger-quiet" disabled=${!live} onClick=${stop}><${Icon} name="stop" />Stop</button>`}
    </div>
    ${owner&&html`<${DownloadList} id=${panel} link=${link} owner=${owner} toasts=${toasts} />`}
    ${full&&html`<button type="button" class="button small live-unfull" onClick=${toggleFull}><${Icon} name="shrink" />Leave full screen</button>`}
  </div>`}function More({link,zoom,owner,drives,paste:paste2,live,narrow,shoot,sizes,stop,toggleFull,panel}){let touch=useMedia(TOUCH),fingers=useStore(zoom.fingers),
items=[owner&&live&&narrow&&{label:"Screenshot",icon:"camera",run:()=>shoot(!1)},owner&&live&&{label:"Screenshot of the whole page",icon:"page",run:()=>shoot(!0)},
owner&&narrow&&{label:"Downloads of this run",icon:"download",run:()=>document.getElementById(panel).showPopover()},drives&&{label:"Copy what is selected",icon:"\
copy",run:()=>link.copy()},drives&&{label:"Paste from this device",icon:"paste",run:()=>paste(link,paste2)},...narrow?sizes.list.filter(({value})=>value!==sizes.
value).map(({value,label})=>({label:`Size: ${label.toLowerCase()}`,icon:"expand",run:()=>sizes.choose(value)})):[],touch&&drives&&(fingers==="view"?{label:"Give\
 two fingers to the page",icon:"fingers",run:()=>zoom.chooseFingers("page")}:{label:"Zoom with two fingers",icon:"fingers",run:()=>zoom.chooseFingers("view")}),
narrow&&toggleFull&&{label:"Full screen",icon:"expand",run:toggleFull},owner&&live&&narrow&&{label:"Stop the browser",icon:"stop",danger:!0,run:stop}].filter(Boolean);
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
problem),tone:"bad"})}setBusy(!1)}]}function fileName(text){return text.replace(/[\p{C}\\/:*?"<>|]+/gu,"_").slice(0,80)}function stamp(now){let two=n=>String(n).
padStart(2,"0");return`${now.getFullYear()}-${two(now.getMonth()+1)}-${two(now.getDate())} ${two(now.getHours())}.${two(now.getMinutes())}.${two(now.getSeconds())}`}
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
event.code||event.key)&&(event.preventDefault(),this.#releaseKey(event.code||event.key,typedModifiers(event,this.#link)))}#releaseKey(place,withModifiers=0){let pressed=this.#held.
get(place);this.#held.delete(place)&&this.#link.input({type:"key",kind:"up",...pressed,text:"",repeat:!1,modifiers:withModifiers})}#releaseAll(){for(let place of[
...this.#held.keys()])this.#releaseKey(place);this.#dead=!1,this.#escapes=0}#composed(text){this.#link.input(text?{type:"text",text}:{type:"compose",text:"",start:0,
end:0}),this.#empty()}#input(event){if(event.isComposing||/Composition/.test(event.inputType))return;let text=event.data??this.#field.value.replace(PLACEHOLDER,
"");this.#empty(),this.#dead=!1,/^delete.*Forward$/.test(event.inputType)?this.#pressKey("Delete"):event.inputType.startsWith("delete")?this.#pressKey("Backspac\
e"):/^insert(LineBreak|Paragraph)$/.test(event.inputType)?this.#pressKey("Enter"):text&&this.#link.input({type:"text",text})}#pressKey(name){let pressed={type:"\
key",...KEY_PRESSES[name],location:0,repeat:!1,modifiers:0};this.#link.input({...pressed,kind:"down"}),this.#link.input({...pressed,kind:"up",text:""})}#paste(event){
event.preventDefault(),this.#link.text(event.clipboardData?.getData("text/plain")||"")}#copy(event,cut){event.preventDefault(),this.#link.input({type:"copy",cut})}#empty(){
this.#field.value=PLACEHOLDER}};function isModifier(key){return["Shift","Control","Alt","AltGraph","Meta","CapsLock"].includes(key)}function letter({key,code}){
if(/^[a-z]$/i.test(key))return key.toLowerCase();let[,latin=""]=key.codePointAt(0)>127&&/^Key([A-Z])$/.exec(code)||[];return latin.toLowerCase()}function keyNames({
key,code,keyCode},link){return key==="Meta"&&cmdIsCtrl(link)?{key:"Control",code:code.replace("Meta","Control"),keyCode:17}:{key,code,keyCode:KEY_CODES[keyCode]||
keyCode}}function insertsText(event){return[...event.key].length!==1||event.metaKey?!1:event.getModifierState("AltGraph")||!event.ctrlKey&&(MAC||!event.altKey)}
function typed(event){return event.key==="Enter"?"\r":insertsText(event)?event.key:""}function typedModifiers(event,link){let all=modifiers(event,link);return insertsText(
event)&&(event.getModifierState("AltGraph")||MAC)?all&-4:all}var BUTTONS=["left","middle","right","back","forward"],BITS=[1,4,2,8,16],CLICKS=3,LINE=40,FrameThrottle=class{#work;#given=null;#frame=0;constructor(work){this.#work=
work}schedule(what){this.#given=what,this.#frame||=requestAnimationFrame(()=>this.flush())}flush(){cancelAnimationFrame(this.#frame),this.#frame=0;let given=this.#given;
this.#given=null,given&&this.#work(given)}};function clicks({detail}){return Math.min(Math.max(detail,1),CLICKS)}function listen(target,handlers){for(let[name,handler]of Object.
entries(handlers))target.addEventListener(name,handler,{passive:!1});return()=>{for(let[name,handler]of Object.entries(handlers))target.removeEventListener(name,
handler)}}var Mouse=class{#canvas;#picture;#link;#focus;#held=0;#move=new FrameThrottle(message=>this.#link.input(message));constructor(canvas,picture,link,focus){
this.#canvas=canvas,this.#picture=picture,this.#link=link,this.#focus=focus}begin(){let ends=[listen(this.#canvas,{mousedown:event=>this.#down(event),wheel:event=>this.#wheel(
event),contextmenu:event=>event.preventDefault()}),listen(window,{mousemove:event=>this.#moved(event),mouseup:event=>this.#up(event)}),this.#link.control.watch(
()=>{this.#link.drives||(this.#held=0)})];return()=>ends.forEach(end=>end())}#message(event,kind,more){return{type:"mouse",kind,...this.#picture.point(event),button:"\
none",buttons:this.#held,clicks:0,modifiers:modifiers(event,this.#link),dx:0,dy:0,...more}}#moved(event){if(event.target!==this.#canvas&&!this.#held)return;let lost=this.#held&
~event.buttons;lost&&BITS.forEach((bit,i)=>lost&bit&&this.#release(event,i)),this.#move.schedule(this.#message(event,"move"))}#down(event){event.preventDefault(),
!(!this.#link.drives||!BUTTONS[event.button])&&(this.#focus(event),this.#move.flush(),this.#held|=BITS[event.button],this.#link.input(this.#message(event,"down",
{button:BUTTONS[event.button],clicks:clicks(event)})))}#up(event){this.#held&BITS[event.button]&&(event.preventDefault(),this.#release(event,event.button))}#release(event,button){
this.#move.flush(),this.#held&=~BITS[button],this.#link.input(this.#message(event,"up",{button:BUTTONS[button],clicks:clicks(event)}))}#wheel(event){event.preventDefault();
let unit=[1,LINE,this.#canvas.clientHeight][event.deltaMode];this.#move.flush(),this.#link.input(this.#message(event,"wheel",{dx:event.deltaX*unit,dy:event.deltaY*
unit}))}},Touch=class{#room;#picture;#link;#zoom;#moving=null;#move=new FrameThrottle(message=>this.#link.input(message));#drag=new FrameThrottle(touches=>this.#picture.
drag(touches));constructor(room,picture,link,zoom){this.#room=room,this.#picture=picture,this.#link=link,this.#zoom=zoom}begin(){return listen(this.#room,{touchstart:event=>this.#start(
event),touchmove:event=>{event.preventDefault(),this.#moving?this.#drag.schedule(this.#here(event)):this.#move.schedule(this.#message(event,"move"))},touchend:event=>this.#end(
event,event.targetTouches.length?"move":"end"),touchcancel:event=>this.#end(event,"cancel")})}#start(event){let more=this.#moving===!1&&this.#here(event).length>
1&&this.#zoom.fingers.value==="view";more&&this.#sendNow(event,"cancel"),this.#moving===null&&(this.#moving=event.target===this.#room||!this.#link.drives&&this.#picture.
zoomed),(more||!this.#link.drives&&this.#here(event).length>1)&&(this.#moving=!0),this.#moving?this.#hold(event):this.#sendNow(event,"start")}#end(event,kind){this.#moving?
this.#here(event).length?this.#hold(event):event.preventDefault():this.#sendNow(event,kind),this.#here(event).length||(this.#moving=null)}#hold(event){event.preventDefault(),
this.#drag.flush(),this.#picture.hold(this.#here(event))}#sendNow(event,kind){event.preventDefault(),this.#move.flush(),this.#link.input(this.#message(event,kind))}#message(event,kind){
let points=(kind==="cancel"?[]:this.#here(event)).map(touch=>({id:touch.identifier,...this.#picture.point(touch),force:touch.force}));return{type:"touch",kind,points,
modifiers:modifiers(event,this.#link)}}#here({touches}){return[...touches].filter(({target})=>this.#room.contains(target))}};var MOST=5,NEARLY=1.03,FINGERS="warren.live.fingers",Zoom=class{scale=new Store(null);fingers=new Store(readFingers());room={width:0,height:0};chooseFingers(what){
this.fingers.set(what);try{localStorage.setItem(FINGERS,what)}catch{}}};function readFingers(){try{return localStorage.getItem(FINGERS)==="page"?"page":"view"}catch{
return"view"}}function fitScale(room,page){return Math.min(room.width/page.width,room.height/page.height)}function placed(room,page,scale){let[width,height]=[page.
width*scale,page.height*scale];return{left:Math.max(0,(room.width-width)/2),top:Math.max(0,(room.height-height)/2),width,height}}function fingersAt([a,b=a]){return{
x:(a.x+b.x)/2,y:(a.y+b.y)/2,apart:Math.hypot(a.x-b.x,a.y-b.y)}}function pinched({room,page,scale,scroll,from,to}){let fit=fitScale(room,page),ratio=from.apart>0&&
to.apart>0?to.apart/from.apart:1,wanted=Math.min(Math.max(scale*ratio,fit),Math.max(MOST,fit)),now=wanted<fit*NEARLY?fit:wanted,[before,after]=[placed(room,page,
scale),placed(room,page,now)],x=(scroll.left+from.x-before.left)/scale,y=(scroll.top+from.y-before.top)/scale,within=(at,whole,seen)=>Math.min(Math.max(at,0),Math.
max(0,whole-seen));return{scale:now===fit?null:now,scroll:{left:within(x*now+after.left-to.x,after.width,room.width),top:within(y*now+after.top-to.y,after.height,
room.height)}}}var RESIZED_MS=150,SCRIPT_MS=1500,CURSORS=new Set(["default","none","context-menu","help","pointer","progress","wait","cell","crosshair","text","vertical-text",
"alias","copy","move","no-drop","not-allowed","grab","grabbing","all-scroll","col-resize","row-resize","n-resize","e-resize","s-resize","w-resize","ne-resize","\
nw-resize","se-resize","sw-resize","ew-resize","ns-resize","nesw-resize","nwse-resize","zoom-in","zoom-out"]),Picture=class{place=new Store(null);#room;#canvas;#link;#zoom;#frame=null;#timer=0;#asked="";#fitted="";#gesture=null;constructor(room,canvas,link,zoom){
this.#room=room,this.#canvas=canvas,this.#link=link,this.#zoom=zoom}begin(){this.#link.draw=(header,blob)=>this.draw(header,blob);let observer=new ResizeObserver(
()=>this.#resized());try{observer.observe(this.#room.parentElement,{box:"device-pixel-content-box"})}catch{observer.observe(this.#room.parentElement)}let unwatch=[
this.#link.hello.watch(()=>this.#ask(!0)),this.#zoom.scale.watch(()=>this.#resized()),...[this.#link.window,this.#link.control,this.#link.tabs].map(store=>store.
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
return;let whole=size=>Math.round(size*devicePixelRatio)/devicePixelRatio,place=this.#place();for(let side of["left","top","width","height"])place[side]=whole(place[side]),
this.#canvas.style[side]=`${place[side]}px`;this.#canvas.hidden=!1,this.place.set(place)}};function Stage({link,zoom,away,label,leave,over}){let[room,canvas,field]=[
T(null),T(null),T(null)],[place,setPlace]=d(null),phase=useStore(link.phase),control=useStore(link.control),hello=useStore(link.hello),cursor=useStore(link.cursor),
zoomed=useStore(zoom.scale)!==null,drives=phase.name==="live"&&control.you&&!hello?.readonly;return F(()=>{let picture=new Picture(room.current,canvas.current,link,
zoom),keys=new Keyboard(field.current,link,leave),focus=event=>{let{left,top}=room.current.getBoundingClientRect();field.current.style.left=`${event.clientX-left+
room.current.scrollLeft}px`,field.current.style.top=`${event.clientY-top+room.current.scrollTop}px`,field.current.focus({preventScroll:!0}),keys.resetEscapes()},
ends=[...[picture,keys,new Mouse(canvas.current,picture,link,focus),new Touch(room.current,picture,link,zoom)].map(part=>part.begin()),picture.place.watch(setPlace)];
return()=>ends.forEach(end=>end())},[link,zoom]),A(()=>{canvas.current.style.cursor=drives&&CURSORS.has(cursor)?cursor:"default"},[cursor,drives]),html`<div class=${`\
stage${away?" is-away":""}${drives?" drives":""}`}>
    <div class="stage-room" ref=${room} role=${zoomed?"group":void 0} tabindex=${zoomed?0:void 0} aria-label=${zoomed?"The enlarged picture. Arrow keys move it.":
void 0}>
      <canvas ref=${canvas} hidden role="img" aria-label=${label}></canvas>
      <textarea ref=${field} class="typing" disabled=${!drives} aria-label="The page. What you type goes to it. Press Esc three times to release the keyboard."
        autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${!1} rows="1"></textarea>
      <${ScriptPointer} link=${link} place=${place} />
    </div>
    ${over(place)}
  </div>`}function ScriptPointer({link,place}){let script=useStore(link.script),pointer=T(null),[shown,setShown]=d(!1),placed2=place&&typeof script.x=="number"&&
typeof script.y=="number";return A(()=>{if(!placed2)return;setShown(!0);let timer=setTimeout(()=>setShown(!1),SCRIPT_MS);return()=>clearTimeout(timer)},[script]),
F(()=>{!placed2||!pointer.current||(pointer.current.style.left=`${place.left+script.x*place.scale}px`,pointer.current.style.top=`${place.top+script.y*place.scale}\
px`)}),placed2?html`<div ref=${pointer} class=${`script-pointer${shown?"":" is-gone"}`} aria-hidden="true">
    <svg viewBox="0 0 16 16"><path d="M2 1l11 6.5-5 1.2L5.6 14z" /></svg><span>script</span></div>`:null}function Tabs({link,drives}){let{tabs=[],active}=useStore(link.tabs),list=T(null),tab=(what,more)=>link.send({type:"tab",do:what,...more});return A(()=>list.current?.
querySelector("[aria-current]")?.scrollIntoView({block:"nearest",inline:"nearest"}),[active,tabs.length]),html`<ul class="live-tabs" ref=${list} aria-label="Tabs">
    ${tabs.map(({id,title,url,crashed})=>html`<li key=${id} class=${`live-tab${id===active?" is-active":""}`}>
      <button type="button" class="live-tab-name" disabled=${!drives&&id!==active} aria-current=${id===active?"true":void 0} title=${title||url}
        onClick=${()=>drives&&id!==active&&tab("show",{tab:id})}>
        ${crashed&&html`<span class="crashed"><${Icon} name="warning" /><span class="visually-hidden">Crashed: </span></span>`}
        <bdi>${nameOf(title,url)}</bdi></button>
      ${drives&&html`<button type="button" class="icon-button" aria-label=${`Close ${nameOf(title,url)}`} title="Close" onClick=${()=>tab("close",{tab:id})}><${Icon} name="close" /></button>`}
    </li>`)}
    ${drives&&html`<li class="live-tab-new"><button type="button" class="icon-button" aria-label="Open a tab" title="Open a tab" onClick=${()=>tab("open",{url:"\
about:blank"})}><${Icon} name="plus" /></button></li>`}
  </ul>`}function nameOf(title,url=""){return!title||title==="about:blank"?url==="about:blank"||!url?"New tab":url.replace(/^\w+:\/\//,"").slice(0,60):title}function addressOf(typed2){
let text=typed2.trim();if(text===""||/^about:blank$/i.test(text))return"about:blank";let named=/^[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|$))/i.test(text),bare=/^(?:localhost|[\d.]+|\[[\da-f:.]+\]|[^/?#:]+\.localhost)(?=[:/?#]|$)/i.
test(text);try{let url=new URL(named?text:`${bare?"http":"https"}:${"/".repeat(2)}${text}`);return["http:","https:"].includes(url.protocol)&&!/\s/.test(text)?url.
href:""}catch{return""}}function Address({link,drives}){let page=useStore(link.page),[typed2,setTyped]=d(null),[fault,setFault]=d(""),field=T(null),url=page?.url&&
page.url!=="about:blank"?page.url:"",go=(what,more)=>link.send({type:"go",do:what,...more}),reset=()=>{setTyped(null),setFault("")};A(reset,[page?.tab]);let submit=event=>{
event.preventDefault();let to=addressOf(field.current.value);if(!to){setFault("Only http, https and about:blank addresses can be opened.");return}go("to",{url:to}),
reset(),document.querySelector(".typing")?.focus({preventScroll:!0})};return html`<div class="live-address">
    <button type="button" class="icon-button" aria-label="Back" title="Back" disabled=${!drives||!page?.canGoBack} onClick=${()=>go("back")}><${Icon} name="back" /></button>
    <button type="button" class="icon-button" aria-label="Forward" title="Forward" disabled=${!drives||!page?.canGoForward} onClick=${()=>go("forward")}><${Icon} name="forward" /></button>
    ${page?.loading?html`<button type="button" class="icon-button" aria-label="Stop loading" title="Stop loading" disabled=${!drives} onClick=${()=>go("stop")}><${Icon} name="close" /></button>`:
html`<button type="button" class="icon-button" aria-label="Reload" title="Reload" disabled=${!drives||!page} onClick=${()=>go("reload")}><${Icon} name="reload" /></button>`}
    <form onSubmit=${submit}>
      <input ref=${field} class=${page?.loading?"is-loading":""} aria-label="Address" inputmode="url" autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${!1}
        readonly=${!drives} placeholder=${drives?"Type an address":"New tab"} value=${typed2??url} aria-invalid=${fault?"true":void 0} aria-describedby=${fault?
"address-fault":void 0}
        onInput=${event=>{setTyped(event.currentTarget.value),setFault("")}} onFocus=${event=>event.currentTarget.select()}
        onBlur=${reset} onKeyDown=${event=>event.key==="Escape"&&reset()} />
      <p class="fault" id="address-fault" role="alert">${fault}</p>
    </form>
  </div>`}var SAME_ERROR_MS=4e3;function LiveView({link,owner=null}){let[toasts]=d(()=>new Toasts),[zoom]=d(()=>new Zoom),[pasting,setPasting]=d(!1),phase=useStore(link.phase),
hello=useStore(link.hello),control=useStore(link.control),page=useStore(link.page),{tabs=[],active}=useStore(link.tabs),crashed=!!tabs.find(tab=>tab.id===active)?.
crashed,drives=phase.name==="live"&&control.you&&!hello?.readonly,view=T(null),title=owner?.profile?.name||page?.title||"Live view";A(()=>(document.title=`${title}\
 — Warren`,()=>{document.title="Warren"}),[title]),useErrors(link,toasts);let leave=()=>view.current.querySelector(".live-address input").focus(),type=()=>view.
current.querySelector(".typing").focus();return html`<div class="live" ref=${view}>
    <header class="live-bars">
      <${Bar} ...${{link,zoom,owner,drives,toasts,view,paste:()=>setPasting(!0)}} />
      <div class="live-top">
        ${hello?.readonly?html`<${TabName} link=${link} />`:html`<nav class="live-tabs-room" aria-label="The browser’s tabs"><${Tabs} link=${link} drives=${drives} /></nav>`}
      </div>
      ${!hello?.readonly&&html`<div class="live-row">
        <${Address} link=${link} drives=${drives} />
        ${drives&&html`<button type="button" class="icon-button keyboard-button" aria-label="Show the keyboard" title="Show the keyboard" onClick=${type}><${Icon} name="keyboard" /></button>`}
      </div>`}
    </header>
    <main class="live-main" id="main">
      <${Stage} link=${link} zoom=${zoom} away=${phase.name!=="live"||crashed} leave=${leave} label=${`Picture of the page ${page?.title||page?.url||""}`}
        over=${place=>html`<${Options} link=${link} drives=${drives} place=${place} /><${Overlay} ...${{link,phase,drives,crashed,...owner}} />`} />
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
A(()=>{let last={text:"",at:0};return link.error.watch(({message,code})=>{let text=message||`The server refused that (${code}).`;text===last.text&&performance.now()-
last.at<SAME_ERROR_MS||(last={text,at:performance.now()},toasts.say({text}))})},[link])}function Overlay({link,phase,drives,crashed,home,start,starting}){let{tabs=[]}=useStore(
link.tabs),hello=useStore(link.hello);return phase.name!=="live"?html`<${Away} ...${{link,phase,home,start,starting}} />`:crashed?html`<${Card} title="This page has crashed"><p>The tab’s process has ended. Its cookies and the other tabs are untouched.</p>
      ${drives&&html`<button type="button" class="button primary" onClick=${()=>link.send({type:"go",do:"reload"})}><${Icon} name="reload" />Reload</button>`}<//>`:
hello&&tabs.length===0&&drives?html`<${Card} title="No tab is open"><button type="button" class="button primary" onClick=${()=>link.send({type:"tab",do:"open",url:"\
about:blank"})}><${Icon} name="plus" />Open a tab</button><//>`:null}function Card({title,children}){return html`<div class="over" role="status"><div class="over-card"><h2>${title}</h2>${children}</div></div>`}
function Away({link,phase,home,start,starting}){let again=html`<button type="button" class="button" onClick=${()=>link.connect()}>Try now</button>`,back=home&&html`<a class="button" href=${home}>Go to the profiles</a>`,
words=phase.words&&html`<p>${phase.words}</p>`;return phase.name==="connecting"?html`<${Card} title="Connecting…"><p class="muted">The picture comes in a moment.</p><//>`:
phase.name==="lost"?html`<${Card} title="The connection is lost">${words}<p>The browser may run on. The page tries again by itself.</p>${again}<//>`:phase.status===
409?html`<${Card} title="The browser does not run">${words}
      ${start&&html`<button type="button" class="button primary" disabled=${starting} onClick=${start}><${Icon} name="play" />${starting?"Starting…":"Start it"}</button>`}${back}<//>`:
phase.status===1e3?html`<${Card} title="The view has ended">${words}${again}${back}<//>`:phase.status===401||phase.status===403?html`<${Card} title="You may not see this">${words}${back}<//>`:
html`<${Card} title="This link is over">${words}<p>${home?"The profile or its run is gone.":"It was for one run of the browser. Ask for a new one from whoever g\
ave it to you."}</p>${back}<//>`}function Speed({link}){let{latency,rate}=useStore(link.meter.shown),roundTrip=useStore(link.roundTrip),about=`From your input t\
o the changed picture: the middle of the last 30.${roundTrip==null?"":` The link’s round trip: ${span(roundTrip)}.`}`;return html`<p class="live-speed number" title=${about}>${latency==
null?"":html`<span><span class="visually-hidden">From input to picture: </span>${Math.round(latency)} ms</span>`}
    <span title=${rate?"Pictures in the last second":"The page does not change, so there are no new pictures."}>${rate?`${rate} fps`:"idle"}</span></p>`}var LISTED=100;function LivePage({params}){let app=useApp(),id=params.get("profile")||"",readonly=params.has("readonly"),link=w(()=>new LiveLink(new KeyAccess(app.
api,id,readonly)),[app,id,readonly]),profile=useProfile(app,id);A(()=>link.begin(),[link]);let starting=useStore(app.busy).has(id),actions=w(()=>new Actions(app,
id,link),[app,id,link]),owner={profile,starting,home:href("profiles"),start:()=>actions.start(profile),stop:drivers=>actions.stop(profile,drivers),screenshot:(tab,whole)=>actions.
screenshot(tab,whole),downloads:()=>actions.downloads(),download:name=>actions.download(name)};return html`<${LiveView} link=${link} owner=${owner} />`}function useProfile(app,id){
let[profile,setProfile]=d(null),event=useStore(app.model.event),turn=T(0),about=event?.type==="everything"||event?.data?.id===id||event?.data?.profileId===id?event:
null,last=T(null);return about&&(last.current=about),A(()=>{let mine=++turn.current;app.api.get(`/profiles/${encodeURIComponent(id)}`).then(answer=>mine===turn.
current&&setProfile(answer),()=>{})},[app,id,last.current]),profile}var Actions=class{#app;#link;#id;#path;constructor(app,id,link){this.#app=app,this.#id=id,this.#link=
link,this.#path=`/profiles/${encodeURIComponent(id)}`}start(profile){return this.#app.during(this.#id,async()=>{try{await this.#app.api.post(`${this.#path}/star\
t`),this.#link.connect()}catch(problem){this.#failed(`${nameOf2(profile)} did not start`,problem)}})}stop(profile,drivers){return drivers?this.#app.open(ConfirmDialog,
{title:"Stop this browser?",verb:"Stop",work:()=>this.#stop(),children:html`<p>${drivers}. <${Name}>${nameOf2(profile)}<//> is closed for everybody. Its tabs and cookies are kept.</p>`}):
this.#stop().then(()=>this.#app.toasts.say({text:`${nameOf2(profile)} is closed. Its tabs and cookies are kept.`,tone:"good"}),problem=>this.#failed(`${nameOf2(
profile)} did not stop`,problem))}#stop(){return this.#app.api.post(`${this.#path}/stop`)}async screenshot(tab,whole){let query=new URLSearchParams({tab,fullPage:String(
whole)});return(await this.#open(`screenshot?${query}`)).blob()}async downloads(){return(await this.#app.api.get(`${this.#path}/downloads`,{limit:LISTED})).data}async download(name){
return(await this.#open(`downloads/${encodeURIComponent(name)}`)).blob()}#open(rest){return this.#app.api.open("GET",`api/v1${this.#path}/${rest}`)}#failed(text,problem){
this.#app.toasts.say({text,more:`${problemTitle(problem)}. ${problemWords(problem)}`,tone:"bad"})}};function nameOf2(profile){return profile?.name||"The profile"}export{LivePage};
