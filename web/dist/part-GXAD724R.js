import{Icon,Store,html,useStore}from"./part-B7Y6SKBI.js";var SHOWN_MS=6e3,LONG_MS=12e3,Toasts=class{list=new Store([]);#last=0;say(toast){let id=++this.#last;this.list.set([...this.list.value.slice(-3),{id,...toast}]),
toast.tone!=="bad"&&setTimeout(()=>this.close(id),toast.more||toast.actions?LONG_MS:SHOWN_MS)}close(id){this.list.set(this.list.value.filter(toast=>toast.id!==id))}};
function ToastArea({toasts}){let list=useStore(toasts.list);return html`<div class="toasts" role="status" aria-live="polite">
    ${list.map(toast=>html`<div key=${toast.id} class="toast ${toast.tone||"plain"}">
      <div>
        <p class="toast-text">${toast.text}</p>
        ${toast.more&&html`<p class="toast-more">${toast.more}</p>`}
      </div>
      ${(toast.actions||[toast.action]).filter(Boolean).map(({label,run})=>html`<button type="button" key=${label} class="button small" onClick=${()=>{toasts.close(
toast.id),run()}}>${label}</button>`)}
      <button type="button" class="icon-button" aria-label="Close message" onClick=${()=>toasts.close(toast.id)}><${Icon} name="close" /></button>
    </div>`)}
  </div>`}export{Toasts,ToastArea};
