var n,t,r,u,i,f,o,e,l,c,a,s,h=Symbol.for("pv"),p={},y=[],v=/^m(i|n|o|s|text|space)$/,w=Array.isArray,d=y.slice,_=Object.assign;function g(n3){n3&&n3.parentNode&&
n3.remove()}function k(n3,t4,r3){var u3,i3,f3,o3={},e3=arguments.length;for(f3 in t4)f3=="key"?u3=t4[f3]:f3=="ref"&&typeof n3!="function"?i3=t4[f3]:o3[f3]=t4[f3];
return e3>2&&(o3.children=e3>3?d.call(arguments,2):r3),m(n3,o3,u3,i3,null)}function m(r3,u3,i3,f3,o3){var e3={type:r3,props:u3,key:i3,ref:f3,__k:null,__:null,__b:0,__e:null,__c:null,constructor:h,__v:o3||++t,__i:-1,__u:0};return!o3&&n.
vnode&&n.vnode(e3),e3}function $(n3){return n3.children}function x(n3,t4){this.props=n3,this.context=t4,this.__g=0}function S(n3,t4){if(t4==null)return n3.__&&S(n3.__,n3.__i+1);for(var r3;t4<
n3.__k.length;t4++)if((r3=n3.__k[t4])&&r3.__e)return r3.__e;return typeof n3.type!="function"||n3.props.__P?null:S(n3)}function C(t4){var r3,u3=t4.__v,i3=u3.__e,
f3=[],o3=[],e3=t4.__P;e3&&((r3=_({constructor:h},u3)).__v=u3.__v+1,n.vnode&&n.vnode(r3),z(e3,r3,u3,t4.__n,e3.namespaceURI,32&u3.__u?[i3]:null,f3,i3||S(u3),32&u3.
__u,o3),r3.__v=u3.__v,r3.__.__k[r3.__i]=r3,E(f3,r3,o3),u3.__=u3.__e=null,r3.__e!=i3&&j(r3))}function j(n3){if((n3=n3.__)&&n3.__c&&!n3.props.__P)return n3.__e=null,
n3.__k.some(function(t4){return t4&&(n3.__e=t4.__e)}),j(n3)}function L(t4){(8&t4.__g||(t4.__g|=8,u.push(t4),f++))&&i==n.debounceRendering||((i=n.debounceRendering)||
queueMicrotask)(H)}function H(){try{for(var n3,t4=1;u.length;)u.length>t4&&u.sort(o),n3=u.shift(),t4=u.length,8&n3.__g&&C(n3)}finally{(f=u.length)&&(i||queueMicrotask)(
H)}}function I(n3,t4,r3,u3,i3,f3,o3,e3,l3,c3,a3){var s3,h3,v3,w3,d3,_3,g3=u3.__k||y,k3=t4.length;for(l3=q(r3,t4,g3,l3,k3),s3=0;s3<k3;s3++)(v3=r3.__k[s3])!=null&&
(h3=~v3.__i&&g3[v3.__i]||p,v3.__i=s3,_3=z(n3,v3,h3,i3,f3,o3,e3,l3,c3,a3),w3=v3.__e,(h3.ref!=v3.ref||8&h3.__u)&&(h3.ref&&G(h3.ref,null,v3,h3),v3.ref&&a3.push(v3.
ref,v3.__c||w3,v3)),d3=d3||w3,4&v3.__u?(l3=A(v3,l3,n3,!h3.__v),h3.__e&&(h3.__e=null)):typeof v3.type=="function"&&_3!==void 0?l3=_3:w3&&(l3=w3.nextSibling),v3.__u&=
-21);return r3.__e=d3,l3}function q(n3,t4,r3,u3,i3){var f3,o3,e3,l3,c3,a3,s3,p3,y3,v3=r3.length,d3=v3,_3=0,g3=0,k3=n3.__k=Array(i3);for(f3=0;f3<i3;f3++)(o3=t4[f3])!=
null&&typeof o3!="boolean"&&typeof o3!="function"?(typeof o3!="object"||o3.constructor===String?o3=k3[f3]=m(null,o3):w(o3)?o3=k3[f3]=m($,{children:o3}):o3.constructor===
h&&o3.__b?o3=k3[f3]=m(o3.type,o3.props,o3.key,o3.ref,o3.__v):k3[f3]=o3,l3=f3+_3,o3.__=n3,o3.__b=n3.__b+1,e3=null,~(c3=o3.__i=P(o3,r3,l3,d3))&&(d3--,(e3=r3[c3])&&
(e3.__u|=2)),e3&&e3.__v?(o3.__u|=16,c3==l3-1?_3--:c3==l3+1?_3++:c3!=l3&&(c3>l3?_3--:_3++,g3=1)):(~c3||(i3>v3?_3--:i3<v3&&_3++),typeof o3.type!="function"&&(o3.__u|=
4))):k3[f3]=null;if(g3){for(a3=[],s3=[],f3=0;f3<i3;f3++)if((o3=k3[f3])&&16&o3.__u){for(_3=0,p3=a3.length;_3<p3;)a3[y3=_3+p3>>1]<o3.__i?_3=y3+1:p3=y3;a3[_3]=o3.__i,
s3[f3]=_3+1}for(_3=a3.length;f3--;)s3[f3]&&(s3[f3]==_3?_3--:k3[f3].__u|=4)}if(d3)for(f3=0;f3<v3;f3++)!(e3=r3[f3])||2&e3.__u||(e3.__e==u3&&(u3=S(e3)),J(e3,e3));return u3}
function A(n3,t4,r3,u3){var i3,f3,o3,e3;if(typeof n3.type=="function"){if(n3.props.__P)return t4;if(i3=n3.__k)for(f3=0;f3<i3.length;f3++)i3[f3]&&(i3[f3].__=n3,t4=
A(i3[f3],t4,r3,!1));return t4}for(t4&&!t4.parentNode&&(t4=S(n3))&&!t4.parentNode&&(t4=null),o3=n3.__e,e3=t4;e3&&e3.nodeType==8;)e3=e3.nextSibling;for(o3!=e3&&(!u3&&
r3.moveBefore&&o3.parentNode?r3.moveBefore(o3,t4):r3.insertBefore(o3,t4||null)),t4=o3;(t4=t4&&t4.nextSibling)&&t4.nodeType==8&&!t4.data.startsWith("$s"););return t4}function P(n3,t4,r3,u3){var i3,f3=n3.key,o3=n3.type,e3=t4[r3],l3=e3&&!(2&e3.__u);if(e3===null&&f3==null||l3&&f3==e3.key&&o3==e3.type)return r3;if(u3>(l3?1:0)){for(i3=
r3-1;i3>=0;i3--)if((e3=t4[i3])&&!(2&e3.__u)&&f3==e3.key&&o3==e3.type)return i3;for(i3=r3+1;i3<t4.length;i3++)if((e3=t4[i3])&&!(2&e3.__u)&&f3==e3.key&&o3==e3.type)
return i3}return-1}function T(n3,t4,r3){r3==null&&(r3=""),t4[0]=="-"?n3.setProperty(t4,r3):n3[t4]=r3}function N(n3,t4,r3,u3,i3){var f3,o3;if(t4=="style")if(typeof r3==
"string")n3.style.cssText=r3;else{if(typeof u3=="string"&&(n3.style.cssText=u3=""),u3)for(t4 in u3)r3&&t4 in r3||T(n3.style,t4);if(r3)for(t4 in r3)u3&&r3[t4]==u3[t4]||
T(n3.style,t4,r3[t4])}else if(t4[0]=="o"&&t4[1]=="n")typeof r3!="function"&&(r3=null),typeof u3!="function"&&(u3=null),(n3.__e||(n3.__e={}))[t4]=r3,r3&&u3||(o3=
a[t4]||(a[t4]=V(t4)),(n3.__a||(n3.__a={}))[t4]=c,f3=t4!=(t4=t4.replace(l,"$1")),(t4=t4.slice(2))[0]<"a"&&(t4=t4.toLowerCase()),r3?n3.addEventListener(t4,o3,f3):
n3.removeEventListener(t4,o3,f3));else{if(i3=="http://www.w3.org/2000/svg")t4=t4.replace(/xlink(H|:h)/,"h").replace(/sName$/,"s");else if(t4!="width"&&t4!="heig\
ht"&&t4!="href"&&t4!="list"&&t4!="form"&&t4!="tabIndex"&&t4!="download"&&t4!="rowSpan"&&t4!="colSpan"&&t4!="role"&&t4!="popover"&&t4 in n3)try{return void(n3[t4]=
r3??"")}catch{}if(typeof r3=="function")return;r3==null||r3===!1&&t4[4]!="-"?n3.removeAttribute(t4):n3.setAttribute(t4,t4=="popover"&&r3==1?"":r3)}}function V(t4){
return function(r3){var u3=this.__e;if(u3){if(u3=u3[t4],r3[e]==null)r3[e]=c++;else if(r3[e]<this.__a[t4])return;return u3(n.event?n.event(r3):r3)}}}function z(t4,r3,u3,i3,f3,o3,e3,l3,c3,a3){
var s3,p3,v3,d3,k3,b,m3,M,C3,j3,L2,H2,q2,A3,O,P3,T3,N2,V2=r3.type;if(r3.constructor!==h)return null;128&u3.__u&&(c3=32&u3.__u,s3=u3.__c.__z)&&(r3.__u|=c3,p3=o3=
[],s3.nodeType==8?l3=B(s3,o3):o3.push(s3),l3=o3[0]||l3),(s3=n.__b)&&s3(r3);n:if(typeof V2=="function"){v3=e3.length;try{if(M=r3.props,C3=(s3=V2.prototype)&&s3.render,
j3=(s3=V2.contextType)&&i3[s3.__c],L2=s3?j3?j3.props.value:s3.__:i3,(d3=u3.__c)?(r3.__c=d3,2&d3.__g&&(d3.__g|=1)):(C3?r3.__c=d3=new V2(M,L2):(r3.__c=d3=new x(M,
L2),d3.constructor=V2,d3.render=K),j3&&j3.sub(d3),d3.state||(d3.state={}),d3.__n=i3,d3.__g|=8,d3.__h=[],d3.__k=[]),C3&&(d3.__s||(d3.__s=d3.state),V2.getDerivedStateFromProps&&
(d3.__s==d3.state&&(d3.__s=_({},d3.__s)),_(d3.__s,V2.getDerivedStateFromProps(M,d3.__s)))),k3=d3.props,b=d3.state,d3.__v=r3,u3.__c){if(M!==k3&&C3&&!V2.getDerivedStateFromProps&&
d3.componentWillReceiveProps&&d3.componentWillReceiveProps(M,L2),r3.__v==u3.__v&&!(8&d3.__g)||!(4&d3.__g)&&d3.shouldComponentUpdate&&d3.shouldComponentUpdate(M,
d3.__s,L2)===!1){r3.__v!=u3.__v&&(d3.props=M,d3.state=d3.__s,d3.__g&=-9),r3.__e=u3.__e,r3.__k=u3.__k,r3.__k.some(function(n3){n3&&(n3.__=r3)}),y.push.apply(d3.__h,
d3.__k),d3.__k=[],d3.__h.length&&e3.push(d3),l3=S(u3);break n}d3.componentWillUpdate&&d3.componentWillUpdate(M,d3.__s,L2),C3&&d3.componentDidUpdate&&d3.__h.push(
function(){d3.componentDidUpdate(k3,b,m3)})}else C3&&!V2.getDerivedStateFromProps&&d3.componentWillMount&&d3.componentWillMount(),C3&&d3.componentDidMount&&d3.__h.
push(d3.componentDidMount);d3.context=L2,d3.props=M,d3.__P=t4,d3.__g&=-5,H2=n.__r,q2=C3?25:0;do d3.__g&=-9,H2&&H2(r3),s3=d3.render(d3.props,d3.state=d3.__s,d3.context);while(8&
d3.__g&&++q2<25);C3&&(y.push.apply(d3.__h,d3.__k),d3.__k=[]),d3.state=d3.__s,d3.getChildContext&&(i3=_({},i3,d3.getChildContext())),C3&&u3.__c&&d3.getSnapshotBeforeUpdate&&
(m3=d3.getSnapshotBeforeUpdate(k3,b)),A3=s3&&s3.type===$&&s3.key==null?s3.props.children:s3,M.__P&&(s3=l3,f3=(t4=M.__P).namespaceURI,c3=o3=null,u3.props&&u3.props.
__P!=t4&&(u3.__k.some(function(n3){n3&&J(n3,n3)}),u3.__k=null),l3=u3.__k?S(u3,0):null),l3=I(t4,w(A3)?A3:[A3],r3,u3,i3,f3,o3,e3,l3,c3,a3),M.__P&&(r3.__e=null,l3=
s3),r3.__u&=-161,p3&&p3.some(g),d3.__h.length&&e3.push(d3),1&d3.__g&&(d3.__g&=-4)}catch(t5){if(e3.length=v3,r3.__v=null,c3||o3)if(t5&&t5.then){if(r3.__u|=128|c3,
o3){for(~(T3=o3.indexOf(l3||void 0))||(T3=o3.length);(N2=o3[T3-1])&&N2.nodeType==8;)T3--;for(;T3<o3.length;T3++)if(N2=o3[T3])if(o3[T3]=null,O){if(N2==P3)break}else{
if(N2.nodeType!=8)break;N2.data.startsWith("$s")&&(P3=B(O=N2))}}if(!O){for(;l3&&l3.nodeType==8&&l3.nextSibling;)l3=l3.nextSibling;O=l3}(s3=B(O=r3.__c.__z||(r3.__c.
__z=O)))?(r3.__e=O,l3=s3):r3.__e=l3,l3=l3&&l3.nextSibling}else o3&&o3.some(g);else r3.__e=u3.__e;r3.__k||(r3.__k=u3.__k||[]),t5&&t5.then||D(r3),n.__e(t5,r3,u3)}}else
l3=r3.__e=F(u3.__e,r3,u3,i3,f3,o3,e3,c3,a3,t4);return(s3=n.diffed)&&s3(r3),l3}function B(n3,t4){if(n3&&n3.nodeType==8&&n3.data.startsWith("$s"))for(var r3=1;n3=
n3.nextSibling;){if(n3.nodeType==8){if(n3.data.startsWith("$s"))r3++;else if(n3.data.startsWith("/$s")&&!--r3)return n3}t4&&t4.push(n3)}}function D(n3){n3&&(n3.
__c&&(n3.__c.__g|=4),n3.__k&&n3.__k.some(D))}function E(t4,r3,u3){for(var i3=0;i3<u3.length;)G(u3[i3++],u3[i3++],u3[i3++]);n.__c&&n.__c(r3,t4),t4.some(function(r4){
try{t4=r4.__h,r4.__h=[],t4.some(function(n3){n3.call(r4)})}catch(t5){n.__e(t5,r4.__v)}})}function F(t4,r3,u3,i3,f3,o3,e3,l3,c3,a3){var s3,h3,y3,_3,k3,b,m3,M,$2=u3.
props||p,x2=r3.props,C3=r3.type;if(C3=="svg"?f3="http://www.w3.org/2000/svg":C3=="math"?f3="http://www.w3.org/1998/Math/MathML":f3||(f3="http://www.w3.org/1999/\
xhtml"),o3){for(s3=0;s3<o3.length;s3++)if((k3=o3[s3])&&(C3?k3.localName==C3:k3.nodeType==3)){t4=k3,o3[s3]=null;break}}if(!t4){if(M=a3.ownerDocument||document,!C3)
return M.createTextNode(x2);t4=M.createElementNS(f3,C3,x2.is?x2:a3),l3&&(n.__m&&n.__m(r3,o3),l3=!1),o3=null}if(C3){if(a3=C3=="template"&&t4.content||t4,o3=C3=="\
textarea"&&x2.defaultValue!=null?null:o3&&d.call(a3.childNodes),!l3&&o3)for($2={},s3=0;s3<t4.attributes.length;s3++)$2[(k3=t4.attributes[s3]).name]=k3.value;for(s3 in $2)
k3=$2[s3],s3=="dangerouslySetInnerHTML"?y3=k3:s3=="children"||s3 in x2||s3=="value"&&"defaultValue"in x2||s3=="checked"&&"defaultChecked"in x2||N(t4,s3,null,k3,
f3);for(s3 in x2)k3=x2[s3],s3=="children"?_3=k3:s3=="dangerouslySetInnerHTML"?h3=k3:s3=="value"?b=k3:s3=="checked"?m3=k3:l3&&typeof k3!="function"||$2[s3]===k3||
N(t4,s3,k3,$2[s3],f3);h3?(l3||y3&&(h3.__html==y3.__html||h3.__html==t4.innerHTML)||(t4.innerHTML=h3.__html),r3.__k=[]):(y3&&(t4.textContent=""),(C3=="foreignObj\
ect"||f3=="http://www.w3.org/1998/Math/MathML"&&v.test(C3))&&(f3="http://www.w3.org/1999/xhtml"),I(a3,w(_3)?_3:[_3],r3,u3,i3,f3,o3,e3,o3?o3[0]:u3.__k&&S(u3,0),l3,
c3),o3&&o3.some(g)),l3&&C3!="textarea"||(s3="value",C3=="progress"&&b==null?t4.removeAttribute(s3):b==null||b===t4[s3]&&(C3!="progress"||b)||N(t4,s3,b,$2[s3],f3),
s3="checked",m3!=null&&m3!=t4[s3]&&N(t4,s3,m3,$2[s3],f3))}else $2===x2||l3&&t4.data==x2||(t4.data=x2);return t4}function G(t4,r3,u3,i3){try{typeof t4=="function"?
r3?r3.__x=t4(r3)||1:i3&&(i3=i3.__c||i3.__e)&&(r3=i3.__x)&&(i3.__x=null,typeof r3=="function"?r3():t4(null)):t4.current=r3}catch(t5){n.__e(t5,u3)}}function J(t4,r3,u3){
var i3,f3,o3,e3;if(n.unmount&&n.unmount(t4),!(i3=t4.ref)||i3.current&&i3.current!=t4.__e||G(i3,null,r3,t4),i3=t4.__c){if(i3.componentWillUnmount)try{i3.componentWillUnmount()}catch(t5){
n.__e(t5,r3)}i3.__P=i3.__n=null}if(i3=t4.__k)for(e3=0;e3<i3.length;e3++)i3[e3]&&J(i3[e3],r3,typeof t4.type!="function"||u3&&!t4.props.__P);!u3&&(i3=t4.__c)&&(i3=
i3.__z)&&(f3=B(i3,o3=[]))&&(i3==t4.__e&&o3.some(g),g(f3),g(i3)),u3||g(t4.__e),t4.__e=t4.__c=t4.__=null}function K(n3,t4,r3){return this.constructor(n3,r3)}function Q(t4,r3){
var u3,i3,f3,o3;n.__&&n.__(t4,r3),r3.nodeType==9&&(r3=r3.documentElement),i3=(u3=t4&&32&t4.__u)?null:r3.__k,r3.__k=m($,{children:[t4]}),f3=[],o3=[],z(r3,r3.__k,
i3||p,p,r3.namespaceURI,i3?null:r3.firstChild?d.call(r3.childNodes):null,f3,i3?i3.__e:r3.firstChild,u3,o3),E(f3,r3.__k,o3),r3.__k.props.children=null}function U(n3){function t4(n4){var r3,u3;return this.getChildContext||(r3=new Set,(u3={})[t4.__c]=this,this.getChildContext=function(){return u3},this.shouldComponentUpdate=
function(n5){this.props.value!=n5.value&&r3.forEach(function(n6){n6.__g|=4,L(n6)})},this.sub=function(n5){r3.add(n5);var t5=n5.componentWillUnmount;n5.componentWillUnmount=
function(){r3.delete(n5),t5&&t5.call(n5)}}),n4.children}return t4.__c="__cC"+s++,t4.__=n3,t4.Provider=(t4.Consumer=function(n4,t5){return n4.children(t5)}).contextType=
t4,t4}n={__e:function(n3,t4,r3,u3){for(var i3,o3,e3;t4=t4.__;)if((i3=t4.__c)&&!(1&i3.__g)){i3.__g|=4;try{if((e3=(o3=i3.constructor)&&o3.getDerivedStateFromError)&&i3.
setState(o3.getDerivedStateFromError(n3)),i3.componentDidCatch&&(i3.componentDidCatch(n3,u3||{}),e3=1),e3&&8&i3.__g)return void(i3.__g|=2)}catch(t5){n3=t5}}throw f=
0,n3}},t=0,r=function(n3){return n3!=null&&n3.constructor===h},x.prototype.setState=function(n3,t4){var r3=this.__s;r3&&r3!=this.state||(r3=this.__s=_({},this.state)),
typeof n3=="function"&&(n3=n3(_({},r3),this.props)),n3&&(_(r3,n3),this.__v&&(t4&&this.__k.push(t4),L(this)))},x.prototype.forceUpdate=function(n3){this.__v&&(this.
__g|=4,n3&&this.__h.push(n3),L(this))},x.prototype.render=$,u=[],f=0,o=function(n3,t4){return n3.__v.__b-t4.__v.__b},e=Symbol(),l=/(PointerCapture)$|Capture$/i,
c=0,a={},s=0;var t2,r2,u2,i2,o2=Object.is,f2=0,c2=[],e2=[],a2=n,v2=a2.__b,l2=a2.__r,m2=a2.diffed,h2=a2.__c,s2=a2.unmount,p2=a2.__;function y2(n3,t4){a2.__h&&a2.__h(r2,n3,f2||
t4),f2=0;var u3=r2.__H||(r2.__H={__:[],__h:[]});return n3>=u3.__.length&&u3.__.push({}),u3.__[n3]}function d2(n3){return f2=1,_2(G2,n3)}function _2(n3,u3,i3){var f3=y2(
t2++,2);if(f3.t=n3,!f3.__c&&(f3.__=[i3?i3(u3):G2(void 0,u3),function(n4){var t4=(f3.__N||f3.__)[0],r3=f3.t(t4,n4);o2(t4,r3)||(f3.__N=[r3,f3.__[1]],f3.__c.setState(
{}))}],f3.__c=r2,!r2.__f)){r2.__f=!0;var c3=r2.shouldComponentUpdate;r2.shouldComponentUpdate=function(n4,t4,r3){var u4=this.__H;if(!u4)return!0;var i4=!1,f4=this.
props!=n4;if(u4.__.some(function(n5){n5.__N&&(i4=!0,o2(n5.__[0],n5.__N[0])||(f4=!0))}),c3){var e3=c3.call(this,n4,t4,r3);return i4?e3||f4:e3}return!i4||f4}}return f3.
__}function A2(n3,u3){var i3=y2(t2++,3);!a2.__s&&E2(i3.__H,u3)&&(i3.__P=!0,i3.__=n3,i3.u=u3,r2.__H.__h.push(i3))}function T2(n3){return f2=5,w2(function(){return{current:n3}},[])}function w2(n3,r3){var u3=y2(t2++,7);return E2(u3.__H,r3)&&(u3.__=n3(),u3.__H=r3),u3.__}function j2(n3){var u3=r2.context[n3.__c],i3=y2(t2++,9);return i3.c=n3,u3?(i3.__==null&&(i3.__=!0,u3.sub(r2)),u3.props.value):n3.__}function P2(){var n3=y2(t2++,11);if(!n3.__){for(var u3=r2.__v;!u3.__m&&u3.__;)u3=u3.__;var i3=u3.__m||(u3.__m=[0,0]);n3.__="P"+i3[0]+"-"+i3[1]++}return n3.__}function g2(){
var n3;do{for(;n3=e2.shift();)try{C2(n3)}catch(t5){a2.__e(t5,{__:(n3=n3.__P)&&n3.__v})}for(;n3=c2.shift();){var t4=n3.__H;if(n3.__P&&t4)try{t4.__h.some(C2),t4.__h.
some(D2),t4.__h=[]}catch(r3){t4.__h=[],a2.__e(r3,n3.__v)}}}while(e2.length)}a2.__b=function(n3){r2=null,v2&&v2(n3)},a2.__=function(n3,t4){n3&&t4.__k&&t4.__k.__m&&
(n3.__m=t4.__k.__m),p2&&p2(n3,t4)},a2.__r=function(n3){l2&&l2(n3),t2=0;var i3=(r2=n3.__c).__H;i3&&(u2==r2?r2.__h=[]:(i3.__h.some(C2),i3.__h.some(D2),t2=0),i3.__h=
[],i3.__.some(function(n4){n4.__N&&(n4.__=n4.__N),n4.u=n4.__N=void 0})),u2=r2},a2.diffed=function(n3){m2&&m2(n3);var t4=n3.__c;t4&&t4.__H&&(t4.__H.__h.length&&B2(
c2.push(t4)),t4.__H.__.some(function(n4){n4.u&&(n4.__H=n4.u)})),u2=r2=null},a2.__c=function(n3,t4){t4.some(function(n4){try{n4.__h.some(C2),n4.__h=n4.__h.filter(
function(n5){return!n5.__||D2(n5)})}catch(t5){n4.__h=[function(){throw t5}]}}),h2&&h2(n3,t4)},a2.unmount=function(n3){s2&&s2(n3);var t4,r3,u3=n3.__c;u3&&u3.__H&&
(u3.__H.__.some(function(u4){try{if(u4.__P&&u4.__c){if(r3===void 0){for(r3=n3.__;r3&&(!r3.__c||!r3.__c.__P);)r3=r3.__;r3=r3&&r3.__c}u4.__P=r3,B2(e2.push(u4))}else
C2(u4)}catch(n4){t4=n4}}),u3.__H=void 0,t4&&a2.__e(t4,u3.__v))};var k2=typeof requestAnimationFrame=="function";function z2(n3){var t4,r3=function(){clearTimeout(
u3),k2&&cancelAnimationFrame(t4),setTimeout(n3)},u3=setTimeout(r3,35);k2&&(t4=requestAnimationFrame(r3))}function B2(n3){n3!=1&&i2==a2.requestAnimationFrame||((i2=
a2.requestAnimationFrame)||z2)(g2)}function C2(n3){var t4=r2,u3=n3.__c;typeof u3=="function"&&(n3.__c=void 0,u3()),r2=t4}function D2(n3){var t4=r2;n3.__c=n3.__(),
r2=t4}function E2(n3,t4){return!n3||n3.length!=t4.length||t4.some(function(t5,r3){return!o2(t5,n3[r3])})}function G2(n3,t4){return typeof t4=="function"?t4(n3):
t4}var n2=function(t4,s3,r3,e3){var u3;s3[0]=0;for(var h3=1;h3<s3.length;h3++){var p3=s3[h3++],a3=s3[h3]?(s3[0]|=p3?1:2,r3[s3[h3++]]):s3[++h3];p3===3?e3[0]=a3:p3===
4?e3[1]=Object.assign(e3[1]||{},a3):p3===5?(e3[1]=e3[1]||{})[s3[++h3]]=a3:p3===6?e3[1][s3[++h3]]+=a3+"":p3?(u3=t4.apply(a3,n2(t4,a3,r3,["",null])),e3.push(u3),a3[0]?
s3[0]|=2:(s3[h3-2]=0,s3[h3]=u3)):e3.push(a3)}return e3},t3=new Map;function htm_default(s3){var r3=t3.get(this);return r3||(r3=new Map,t3.set(this,r3)),(r3=n2(this,
r3.get(s3)||(r3.set(s3,r3=(function(n3){for(var t4,s4,r4=1,e3="",u3="",h3=[0],p3=function(n4){r4===1&&(n4||(e3=e3.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?h3.push(0,
n4,e3):r4===3&&(n4||e3)?(h3.push(3,n4,e3),r4=2):r4===2&&e3==="..."&&n4?h3.push(4,n4,0):r4===2&&e3&&!n4?h3.push(5,0,!0,e3):r4>=5&&((e3||!n4&&r4===5)&&(h3.push(r4,
0,e3,s4),r4=6),n4&&(h3.push(r4,n4,0,s4),r4=6)),e3=""},a3=0;a3<n3.length;a3++){a3&&(r4===1&&p3(),p3(a3));for(var l3=0;l3<n3[a3].length;l3++)t4=n3[a3][l3],r4===1?
t4==="<"?(p3(),h3=[h3],r4=3):e3+=t4:r4===4?e3==="--"&&t4===">"?(r4=1,e3=""):e3=t4+e3[0]:u3?t4===u3?u3="":e3+=t4:t4==='"'||t4==="'"?u3=t4:t4===">"?(p3(),r4=1):r4&&
(t4==="="?(r4=5,s4=e3,e3=""):t4==="/"&&(r4<5||n3[a3][l3+1]===">")?(p3(),r4===3&&(h3=h3[0]),r4=h3,(h3=h3[0]).push(2,0,r4),r4=0):t4===" "||t4==="	"||t4===`
`||t4==="\r"?(p3(),r4=2):e3+=t4),r4===3&&e3==="!--"&&(r4=4,h3=h3[0])}return p3(),h3})(s3)),r3),arguments,[])).length>1?r3:r3[0]}var html=htm_default.bind(k);var AppContext=U(null);var PATHS={play:"M7 5.5v13l11-6.5z",stop:"M7 7h10v10H7z",edit:"M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4",more:"M5 12h.01M12 12h.01M19 12h.01",plus:"M12 5v14M5 12h14",
close:"M6 6l12 12M18 6L6 18",trash:"M4 7h16M10 11v6M14 11v6M6 7l1 13h10l1-13M9 7V4h6v3",restore:"M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5",plug:"M9 3v5M15 3v5M6 8h12\
v3a6 6 0 0 1-12 0zM12 17v4",copy:"M9 9h11v11H9zM5 15H4V4h11v1",check:"M5 12.5l4.5 4.5L19 7.5",pulse:"M3 12h4l3-7 4 14 3-7h4",search:"M11 4a7 7 0 1 0 0 14 7 7 0 \
0 0 0-14zM16 16l4.5 4.5",profiles:"M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 20c.6-3.6 4-5.5 8-5.5s7.4 1.9 8 5.5",proxies:"M3 12h5M16 12h5M12 8a4 4 0 1 0 0 8 4 4 0 0\
 0 0-8zM12 3v5M12 16v5",running:"M4 5h16v11H4zM9 20h6M12 16v4M10.5 8v5l4-2.5z",docs:"M5 4h9l5 5v11H5zM14 4v5h5M9 13h6M9 16.5h6",leave:"M14 4H5v16h9M10 12h11M17.\
5 8.5L21 12l-3.5 3.5",warning:"M12 4L2.5 20h19zM12 10v4.5M12 17.2h.01",back:"M20 12H5M11 6l-6 6 6 6",forward:"M4 12h15M13 6l6 6-6 6",reload:"M20 12a8 8 0 1 1-2.\
6-5.9M20 4v4.5h-4.5",upload:"M12 16V5M7.5 9.5L12 5l4.5 4.5M4 16v4h16v-4",download:"M12 4v11M7.5 10.5L12 15l4.5-4.5M4 16v4h16v-4",people:"M9 5.5a3.5 3.5 0 1 0 0 \
7 3.5 3.5 0 0 0 0-7zM2.5 19.5c.5-3.2 3.3-4.8 6.5-4.8s6 1.6 6.5 4.8M16 6a3 3 0 0 1 0 6M18 15c2 .6 3.2 2.2 3.5 4.5",keyboard:"M3 6h18v12H3zM7 10h.01M11 10h.01M15 \
10h.01M18 10h.01M8 14.5h8",eye:"M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12zM12 9.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",filter:"M4 6h16\
M7 12h10M10 18h4",columns:"M4 5h16v14H4zM10 5v14M15 5v14",up:"M12 19V5M6 11l6-6 6 6",down:"M12 5v14M6 13l6 6 6-6",unsorted:"M8 10l4-4 4 4M8 14l4 4 4-4",tag:"M4 \
4h8l8 8-8 8-8-8zM8.5 8.5h.01",settings:"M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.2 2.2M16.2 16.2l2.2 2.2M18.4 5.6l-2.2 2.2M7.8\
 16.2l-2.2 2.2",activity:"M4 5h16M4 12h16M4 19h10",collapse:"M14 6l-6 6 6 6",widen:"M10 6l6 6-6 6",bookmark:"M7 4h10v16l-5-4-5 4z",key:"M8 8a4 4 0 1 0 0 8 4 4 0\
 0 0 0-8zM12 12h9M18 12v4M21 12v3",camera:"M4 8h3l2-3h6l2 3h3v11H4zM12 10a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z",page:"M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",paste:"\
M8 5H5v15h14V5h-3M8 3.5h8V7H8zM9 12h6M9 15.5h6",expand:"M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",shrink:"M9 4v5H4M20 9h-5V4M15 20v-5h5M4 15h5v5",fingers:"M8 13V6\
a2 2 0 0 1 4 0v6M12 11V4.5a2 2 0 0 1 4 0V13M8 13l-2-2a1.8 1.8 0 0 0-2.5 2.6L8 20h8c2-1.5 3-3.5 3-6v-2a1.5 1.5 0 0 0-3 0",pin:"M9 4h6l-.5 6 3.5 3.5H6L9.5 10zM12 \
13.5V21",hourglass:"M7 4h10M7 20h10M8.5 4c0 4.5 7 5 7 8s-7 3.5-7 8M15.5 4c0 4.5-7 5-7 8s7 3.5 7 8",exit:"M4 12h14M13 7l5 5-5 5M21 4v16"};function Icon({name}){return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`}
function Logo(){return html`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
    <rect class="logo-ground" width="32" height="32" rx="9" />
    <path class="logo-mark" d="M6 24a10 10 0 0 1 20 0h-4.2a5.8 5.8 0 0 0-11.6 0z" />
    <circle class="logo-mark" cx="16" cy="23.6" r="2.4" />
  </svg>`}var SHEET=new URL("flags.svg",import.meta.url).href;function Prose({text}){return text?html`<div class="prose">${text.split(/\n\n+/).map((paragraph,i3)=>html`<p key=${i3}>${paragraph.split(/(`[^`]+`)/).map(part=>/^`.+`$/.
test(part)?html`<code>${part.slice(1,-1)}</code>`:part)}</p>`)}</div>`:null}function Copy({text,label="Copy"}){let[done,setDone]=d2(!1),button=T2(null);return html`<button type="button" class="button small" ref=${button} onClick=${async()=>{
await copyText(text,button.current),setDone(!0),setTimeout(()=>setDone(!1),2e3)}} aria-label=${done?"Copied":label}>
    <${Icon} name=${done?"check":"copy"} /><span aria-live="polite">${done?"Copied":"Copy"}</span>
  </button>`}async function copyText(text,beside=document.activeElement){try{await navigator.clipboard.writeText(text)}catch{copyByCommand(text,beside)}}function copyByCommand(text,beside){
let field=document.createElement("textarea");field.value=text,field.className="visually-hidden",beside.after(field),field.select(),document.execCommand("copy"),
field.remove(),beside.focus()}function Waiting(){return html`<div class="waiting" role="status"><span class="visually-hidden">Reading…</span>
    ${[1,2,3,4,5].map(row=>html`<div class="bone" key=${row}></div>`)}
  </div>`}var PAUSE_MS=200;function SearchBox({value,label,change}){let[text,setText]=d2(value),timer=T2(0);return A2(()=>setText(now=>now.trim()===value?now:value),[value]),
A2(()=>()=>clearTimeout(timer.current),[]),html`<div class="search"><${Icon} name="search" />
    <input type="search" aria-label=${label} placeholder=${label} value=${text} onInput=${event=>{let next=event.currentTarget.value;setText(next),clearTimeout(
timer.current),timer.current=setTimeout(()=>change(next.trim()),PAUSE_MS)}} spellcheck=${!1} />
    <kbd aria-hidden="true" title="Press / to search">/</kbd>
  </div>`}var NAME="warren.key",memory="";function readKey(){return stored(()=>sessionStorage)||stored(()=>localStorage)||memory}function stored(storage){try{return storage().getItem(NAME)||""}catch{return""}}var METHODS=["get","post","put","patch","delete"];function operationsOf(doc){let list=[];for(let[path,item]of Object.entries(doc.paths||{})){let first=new Map;for(let method of METHODS){
if(!item[method])continue;let operation=operationOf(doc,path,item,method),{description,parameters,requestBody,responses}=operation,same=requestBody?JSON.stringify(
[description,parameters,requestBody,responses]):method;first.has(same)?first.get(same).twins.push({id:operation.id,method}):(first.set(same,operation),list.push(
operation))}}return list}function operationOf(doc,path,item,method){let operation=item[method],server=(operation.servers||item.servers||doc.servers||[{url:""}])[0].
url.replace(/\/$/,"");return{...operation,id:operation.operationId||`${method}${path}`.replace(/\W+/g,"-"),method,twins:[],path:server+path,parameters:[...item.
parameters||[],...operation.parameters||[]]}}function groupsOf(doc,operations){return[...new Set([...(doc?.tags||[]).map(tag=>tag.name),...operations.map(tagOf)])].
map(name=>({name,about:(doc.tags||[]).find(tag=>tag.name===name)?.description,operations:operations.filter(operation=>tagOf(operation)===name)})).filter(group=>group.
operations.length)}function tagOf(operation){return operation.tags?.[0]||"other"}function matches({id,method,twins,path,summary="",description=""},search){let text=[
id,method,...twins.map(twin=>`${twin.method} ${twin.id}`),path,summary,description].join(" ").toLowerCase();return search.toLowerCase().split(/\s+/).every(word=>text.
includes(word))}function named(operations,id){return operations.find(operation=>operation.id===id||operation.twins.some(twin=>twin.id===id))}function resolve(doc,value){let found=value;for(let i3=0;found?.$ref&&i3<6;i3+=1)found=found.$ref.replace(/^#\//,"").split("/").map(step=>step.replaceAll("~1","\
/").replaceAll("~0","~")).reduce((at,step)=>at?.[step],doc);return found||{}}function schemaOf(doc,value){let found=resolve(doc,value);if(!found.allOf)return found;
let parts=[...found.allOf.map(part=>schemaOf(doc,part)),{...found,allOf:void 0}];return{...Object.assign({},...parts),properties:Object.assign({},...parts.map(part=>part.
properties)),required:parts.flatMap(part=>part.required||[])}}function membersOf(doc,value,example){let{properties={},required=[]}=schemaOf(doc,value),rank=name=>required.
includes(name)?0:example&&Object.hasOwn(example,name)?1:2;return Object.entries(properties).map(([name,member])=>[name,member,required.includes(name)]).sort(([a3],[
b])=>rank(a3)-rank(b))}function jsonOf(holder){let content=holder?.content||{},type=Object.keys(content).find(name=>/json$/.test(name));return type?content[type]:
null}function givenExample(content){if(content?.example!==void 0)return content.example;let[first]=Object.values(content?.examples||{});return first?.value}function exampleOf(doc,given,{
asked=!1,depth=0}={}){let schema=schemaOf(doc,given),own=given?.examples?.[0]??schema.examples?.[0]??schema.example??schema.const??schema.default??schema.enum?.[0];
if(own!==void 0)return own;let types=[].concat(schema.type||(schema.properties?"object":[])),type=types.find(one=>one!=="null");if(types.includes("null")&&!["ob\
ject","array"].includes(type))return null;let next={asked,depth:depth+1};if(depth>6)return null;if(schema.oneOf||schema.anyOf)return exampleOf(doc,(schema.oneOf||
schema.anyOf)[0],next);if(type==="array")return asked?[]:[exampleOf(doc,schema.items||{},next)];if(type==="object"){let members=membersOf(doc,schema).filter(([,
member,required])=>!asked||required||(member.examples??resolve(doc,member).examples)!==void 0);return Object.fromEntries(members.map(([name,member])=>[name,exampleOf(
doc,member,next)]))}return plain(type,schema)}function plain(type,schema){return type==="integer"||type==="number"?schema.minimum??0:type==="boolean"?!1:type!==
"string"?null:{__proto__:null,"date-time":"2026-01-31T12:00:00.000Z",uri:"https://example.com/"}[schema.format]??""}function bodyExample(doc,requestBody){let body=resolve(
doc,requestBody),content=jsonOf(body);if(!content){let[first]=Object.values(body.content||{});return first?.schema?.format==="binary"?"":String(first?.example??
"")}let example=givenExample(content)??exampleOf(doc,content.schema,{asked:!0});return!body.required&&Object.keys(example||{}).length===0?"":JSON.stringify(sorted(
doc,content.schema,example),null,2)}function sorted(doc,schema,example){if(!example||typeof example!="object"||Array.isArray(example))return example;let names=membersOf(
doc,schema,example).map(([name])=>name).filter(name=>Object.hasOwn(example,name));return Object.fromEntries([...new Set([...names,...Object.keys(example)])].map(
name=>[name,example[name]]))}function requestOf(doc,operation,base,values=valuesOf(doc,operation)){let{method,path,security,requestBody,responses}=operation,parameters=operation.parameters.
map(parameter=>resolve(doc,parameter)),filled=path.replace(/\{(\w+)[^}]*\}/g,(_3,name)=>values.parameters[name]?encodeURIComponent(values.parameters[name]):name.
toUpperCase()),query=parameters.filter(({in:place})=>place==="query").flatMap(({name,schema})=>listOf(values.parameters[name],schema).map(value=>`${encodeURIComponent(
name)}=${encodeURIComponent(value)}`)),headers=parameters.filter(({in:place,name})=>place==="header"&&values.parameters[name]).map(({name})=>[name,values.parameters[name]]),
kind=kindOf(doc,requestBody),file=kind==="application/octet-stream";return kind&&(values.body||file)&&headers.push(["Content-Type",kind]),{method:method.toUpperCase(),
url:new URL(`.${filled}`,base).href+(query.length?`?${query.join("&")}`:""),headers,body:kind&&!file&&values.body?values.body:null,file,secured:!security||security.
length>0&&Object.keys(security[0]).length>0,answer:answerOf(doc,responses)}}function valuesOf(doc,operation){return{parameters:{__proto__:null},body:bodyExample(
doc,operation.requestBody)}}function listOf(value,schema){return value===void 0||value===""?[]:[].concat(schema?.type||[]).includes("array")?value.split(",").map(
one=>one.trim()).filter(Boolean):[value]}function kindOf(doc,requestBody){let body=resolve(doc,requestBody);return jsonOf(body)?"application/json":Object.keys(body.
content||{})[0]||""}function answerOf(doc,responses={}){let good=Object.entries(responses).find(([status])=>/^2/.test(status)),types=Object.keys(resolve(doc,good?.[1]).
content||{});return types.length?types.some(type=>/event-stream|ndjson/.test(type))?"lines":types.every(type=>type==="application/json")?"json":types.some(type=>type.
startsWith("text/"))?"text":"file":"none"}var LANGUAGES=[{id:"curl",name:"curl",write:curl},{id:"javascript",name:"JavaScript",write:javascript},{id:"python",name:"\
Python",write:python},{id:"go",name:"Go",write:go}];function curl({method,url,headers,body,file,secured,answer}){let parts=[`curl ${method==="GET"?"":`-X ${method}\
 `}${answer==="lines"?"-N ":""}${shell(url)}`];secured&&parts.push('-H "Authorization: Bearer $WARREN_API_KEY"');for(let[name,value]of headers)parts.push(`-H ${shell(
`${name}: ${value}`)}`);return file?parts.push("--data-binary @FILE"):body!==null&&parts.push(`${body.startsWith("@")?"--data-raw":"-d"} ${shell(body)}`),answer===
"file"&&parts.push("-o ANSWER"),parts.join(` \\
  `)}function shell(text){return/^[\w:/.-]+$/.test(text)?text:`'${text.replaceAll("'","'\\''")}'`}function javascript({method,url,headers,body,file,secured,answer}){
let lines=secured?["Authorization: `Bearer ${process.env.WARREN_API_KEY}`,"]:[];for(let[name,value2]of headers)lines.push(`${/^\w+$/.test(name)?name:literal(name)}\
: ${literal(value2)},`);let options=[];method!=="GET"&&options.push(`method: ${literal(method)},`),lines.length&&options.push("headers: {",...lines.map(line=>` \
 ${line}`),"},");let value=jsonValue(body);file?options.push('body: await readFile("FILE"),'):value!==void 0?options.push(`body: JSON.stringify(${indented(body,
"  ")}),`):body!==null&&options.push(`body: ${literal(body)},`);let read2={json:"console.log(answer.status, await answer.json());",text:"console.log(answer.stat\
us, await answer.text());",none:"console.log(answer.status);",file:'await writeFile("ANSWER", Buffer.from(await answer.arrayBuffer()));',lines:"for await (const\
 part of answer.body.pipeThrough(new TextDecoderStream())) console.log(part);"}[answer],tools=[file&&"readFile",answer==="file"&&"writeFile"].filter(Boolean);return[
...tools.length?[`import { ${tools.join(", ")} } from "node:fs/promises";`,""]:[],options.length?`const answer = await fetch(${literal(url)}, {`:`const answer =\
 await fetch(${literal(url)});`,...options.map(line=>`  ${line}`),...options.length?["});"]:[],read2].join(`
`)}function python({method,url,headers,body,file,secured,answer}){let value=jsonValue(body),modules=[value!==void 0&&"json",secured&&"os","urllib.request"].filter(
Boolean),all=secured?['"Authorization": "Bearer " + os.environ["WARREN_API_KEY"],']:[];for(let[name,text]of headers)all.push(`${literal(name)}: ${literal(text)}\
,`);let lines=[`${literal(url)},`,`method=${literal(method)},`];all.length&&lines.push("headers={",...all.map(line=>`    ${line}`),"},"),file?lines.push('data=o\
pen("FILE", "rb"),'):value!==void 0?lines.push(`data=json.dumps(${pythonValue(value,"    ")}).encode(),`):body!==null&&lines.push(`data=${literal(body)}.encode(\
),`);let read2={json:"print(answer.status, answer.read().decode())",text:"print(answer.status, answer.read().decode())",none:"print(answer.status)",file:'open("\
ANSWER", "wb").write(answer.read())',lines:`for line in answer:
        print(line.decode(), end="")`}[answer];return[...modules.map(name=>`import ${name}`),"","request = urllib.request.Request(",...lines.map(line=>`    ${line}`),
")","with urllib.request.urlopen(request) as answer:",`    ${read2}`].join(`
`)}function pythonValue(value,indent){let deeper=`${indent}    `;if(Array.isArray(value))return value.length?`[
${value.map(one=>`${deeper}${pythonValue(one,deeper)},
`).join("")}${indent}]`:"[]";if(value&&typeof value=="object"){let members=Object.entries(value).map(([name,one])=>`${deeper}${literal(name)}: ${pythonValue(one,
deeper)},
`);return members.length?`{
${members.join("")}${indent}}`:"{}"}return{true:"True",false:"False",null:"None"}[typeof value=="string"?"":String(value)]??literal(value)}function go({method,url,
headers,body,file,secured,answer}){let tools=['"fmt"',answer!=="none"&&'"io"','"log"','"net/http"',(secured||file||answer!=="none")&&'"os"',body!==null&&'"strin\
gs"'],failed=["	if err != nil {","		log.Fatal(err)","	}"],lines=[];file?lines.push('	body, err := os.Open("FILE")',...failed):body!==null&&lines.push(`	body := \
strings.NewReader(${raw(body)})`),lines.push(`	request, err := http.NewRequest(${literal(method)}, ${literal(url)}, ${file||body!==null?"body":"nil"})`,...failed),
secured&&lines.push('	request.Header.Set("Authorization", "Bearer "+os.Getenv("WARREN_API_KEY"))');for(let[name,value]of headers)lines.push(`	request.Header.Set\
(${literal(name)}, ${literal(value)})`);return lines.push("	answer, err := http.DefaultClient.Do(request)",...failed,"	defer answer.Body.Close()","	fmt.Println(\
answer.Status)"),answer==="file"&&lines.push('	out, err := os.Create("ANSWER")',...failed),answer!=="none"&&lines.push(`	if _, err := io.Copy(${answer==="file"?
"out":"os.Stdout"}, answer.Body); err != nil {`,"		log.Fatal(err)","	}"),["package main","","import (",...tools.filter(Boolean).map(name=>`	${name}`),")","","fu\
nc main() {",...lines,"}"].join(`
`)}function raw(text){return/[`\r\ufeff]/.test(text)?literal(text):`\`${text}\``}function literal(value){return JSON.stringify(value)}function indented(text,indent){
return JSON.stringify(JSON.parse(text),null,2).replaceAll(`
`,`
${indent}`)}function jsonValue(body){try{return body===null?void 0:JSON.parse(body)}catch{return}}var NAME2="warren.docs.language",Language=U(null);function LanguageChoice({children}){let[id,setId]=d2(read),choose=next=>{setId(next);try{localStorage.setItem(
NAME2,next)}catch{}};return html`<${Language.Provider} value=${{id,choose}}>${children}<//>`}function read(){try{return LANGUAGES.find(({id})=>id===localStorage.
getItem(NAME2))?.id||LANGUAGES[0].id}catch{return LANGUAGES[0].id}}function useLanguage(){let{id}=j2(Language);return LANGUAGES.find(language=>language.id===id)}
function Languages(){let{id:chosen,choose}=j2(Language);return html`<div class="languages" role="group" aria-label="Language of the examples">
    ${LANGUAGES.map(({id,name})=>html`<button key=${id} type="button" aria-pressed=${id===chosen?"true":"false"} onClick=${()=>choose(id)}>${name}</button>`)}
  </div>`}function Code({title,text}){return html`<div class="code"><p class="code-title">${title}</p><pre tabindex="0" role="group" aria-label=${title}>${text}</pre><${Copy} text=${text} label=${`\
Copy: ${title}`} /></div>`}function typeOf(doc,given){let schema=schemaOf(doc,given),types=[].concat(schema.type||[]),main=types.find(type=>type!=="null"),alternatives=schema.oneOf||schema.
anyOf;if(alternatives)return alternatives.map(one=>typeOf(doc,one)).join(" or ");let words=main||(schema.properties?"object":types[0]||"any");return main==="arr\
ay"&&(words=`list of ${typeOf(doc,schema.items||{})}`),schema.format&&!/^(int|double|float)/.test(schema.format)&&(words+=` (${schema.format})`),main&&types.includes(
"null")?`${words} or null`:words}var FEW=8;function Schema({doc,schema,example,depth=0}){let found=schemaOf(doc,schema),inner=found.items?schemaOf(doc,found.items):
found,members=membersOf(doc,inner,example);if(!members.length||depth>6)return html`<p class="type">${typeOf(doc,schema)}</p>`;let chosen=members.filter(([name,,
required])=>required||example&&Object.hasOwn(example,name)).length,count2=members.length>2*FEW?Math.max(chosen,FEW):members.length,rest=members.slice(count2);return html`<${Members} ...${{
doc,depth,members:members.slice(0,count2)}} />
    ${rest.length>0&&html`<${Fold} title=${`${rest.length} more members`}>${()=>html`<${Members} ...${{doc,depth,members:rest}} />`}<//>`}`}function Members({doc,
depth,members}){return html`<ul class="members">${members.map(([name,member,required])=>html`<${Member} key=${name} ...${{doc,name,member,depth,required}} />`)}</ul>`}
function Member({doc,name,member,required,depth}){let schema=schemaOf(doc,member),nested=schema.properties||resolve(doc,schema.items||{}).properties;return html`<li>
    <p><code class="member">${name}</code> <span class="type">${typeOf(doc,member)}</span>${required&&depth===0&&html` <span class="required">required</span>`}</p>
    <${Prose} text=${member.description||schema.description} />
    <${Bounds} schema=${schema} />
    ${nested&&html`<${Fold} title=${`Members of ${name}`}>${()=>html`<${Schema} doc=${doc} schema=${member} depth=${depth+1} />`}<//>`}
  </li>`}function Fold({title,children}){let[open,setOpen]=d2(!1);return html`<details class="fold" onToggle=${event=>setOpen(event.currentTarget.open)}><summary>${title}</summary>${open&&
children()}</details>`}function Bounds({schema}){let{minimum,maximum,minLength,maxLength,minItems,maxItems,pattern}=schema,values=schema.enum||schema.items?.enum,
bounds=[range(minimum,maximum,""),range(minLength,maxLength," characters"),range(minItems,maxItems," of them"),pattern&&`like ${pattern}`].filter(Boolean).join(
", ");return!values&&!bounds&&schema.default===void 0?null:html`<p class="bounds">
    ${values&&html`One of ${values.map(value=>html`<code key=${value}>${String(value)}</code> `)}`}
    ${bounds} ${schema.default!==void 0&&html`Default <code>${JSON.stringify(schema.default)}</code>`}
  </p>`}function range(from,to,unit){let[least,most]=[from,to].map(n3=>n3===void 0?n3:new Intl.NumberFormat("en").format(n3));return least===void 0&&most===void 0?
"":least===void 0?`at most ${most}${unit}`:most===void 0?`at least ${least}${unit}`:`${least} to ${most}${unit}`}async function send({method,url,headers,body},{key,file,signal,progress}){let began=performance.now(),response=await fetch(url,{method,headers:key?[...headers,[
"Authorization",`Bearer ${key}`]]:headers,body:file??body??void 0,signal,cache:"no-store",credentials:"omit"}),kind=response.headers.get("Content-Type")||"",answer={
status:response.status,ok:response.ok,title:response.statusText,headers:[...response.headers],kind,bytes:0,text:"",blob:null,done:!1},tell=more=>progress(Object.
assign(answer,more,{ms:Math.round(performance.now()-began)}));if(tell({}),kind&&!/json|text\//.test(kind)){let blob=await response.blob();tell({blob,bytes:blob.
size,done:!0});return}let decoder=new TextDecoder;for(let reader=response.body?.getReader();reader;){let{done,value}=await reader.read();if(done)break;let more=decoder.
decode(value,{stream:!0});tell({bytes:answer.bytes+value.length,text:(answer.text+more).slice(0,2e5)})}tell({text:pretty(answer),done:!0})}function pretty({text,
kind,bytes}){if(!/[/+]json/.test(kind)||bytes>=2e5)return text;try{return JSON.stringify(JSON.parse(text),null,2)}catch{return text}}function asksFirst({method,
url,body}){return method==="DELETE"||/\/(stop|restart|failback|rotate)$/.test(new URL(url).pathname)?!0:/\/batch$/.test(new URL(url).pathname)&&/"(delete|stop|restart|setProxy)"/.
test(body||"")}function Trial({doc,operation,request,values,change,close}){let parameters=operation.parameters.map(parameter=>resolve(doc,parameter)),sorted2=[...parameters.filter(
({required})=>required),...parameters.filter(({required})=>!required)],[file,setFile]=d2(null),[fault,setFault]=d2(""),[asking,setAsking]=d2(!1),{answer,error,busy,
run,stop}=useSender(),form=T2(null),key=request.secured?readKey():"";A2(()=>form.current.querySelector("input, select, textarea, button")?.focus(),[]);let set=(name,value)=>change(
{...values,parameters:{__proto__:null,...values.parameters,[name]:value}}),go2=()=>{setAsking(!1),run(request,{key,file})},submit=event=>{event.preventDefault();
let missing=sorted2.find(({name,required})=>required&&!values.parameters[name]);setFault(missing?`Enter ${missing.name} first.`:bodyFault(request)),missing?form.
current.elements[missing.name]?.focus():bodyFault(request)||(asksFirst(request)?setAsking(!0):go2())};return request.secured&&!key?html`<div ref=${form}><${SignIn} close=${close} /></div>`:
html`<form class="trial" ref=${form} onSubmit=${submit} novalidate aria-label=${`Try: ${operation.summary||operation.id}`}>
    ${sorted2.map(parameter=>html`<${Parameter} key=${parameter.in+parameter.name} parameter=${parameter}
      value=${values.parameters[parameter.name]??""} set=${value=>set(parameter.name,value)} />`)}
    ${request.file&&html`<label class="field"><span>File</span><input type="file" onChange=${event=>setFile(event.currentTarget.files[0]||null)} /></label>`}
    ${!request.file&&kindOf(doc,operation.requestBody)&&html`<${BodyField} kind=${kindOf(doc,operation.requestBody)} value=${values.body} set=${body=>change({...values,
body})} />`}
    <div role="alert">${fault&&html`<p class="fault">${fault}</p>`}</div>
    ${asking?html`<${Question} request=${request} yes=${go2} no=${()=>setAsking(!1)} />`:html`<p class="trial-buttons">
        <button class="button primary" disabled=${busy}><${Icon} name="play" />Send</button>
        ${busy&&html`<button type="button" class="button" onClick=${stop}><${Icon} name="stop" />Stop</button>`}
        <button type="button" class="button" onClick=${()=>{stop(),close()}}>Close</button>
      </p>`}
    <p class="visually-hidden" role="status">${answer?.done?`Answer ${answer.status} after ${answer.ms} milliseconds`:""}</p>
    ${error&&html`<p class="fault" role="alert">${error}</p>`}
    ${answer&&html`<${AnswerBox} answer=${answer} />`}
  </form>`}function SignIn({close}){return html`<div class="notice"><${Icon} name="warning" /><div>
    <p>Log in to try this: run <code>warren open</code> in a terminal, or <a href="./">log in with a key</a>. Then come back to this page.</p>
    <p><button type="button" class="button small" onClick=${close}>Close</button></p>
  </div></div>`}function bodyFault({body,headers}){if(!body||!headers.some(([name,value])=>name==="Content-Type"&&value==="application/json"))return"";try{return JSON.
parse(body),""}catch(error){return`The body is no JSON: ${error.message}.`}}function Parameter({parameter:{name,in:place,required,schema={},example},value,set}){
let id=P2(),options=schema.enum||(schema.type==="boolean"?["true","false"]:null),isList=[].concat(schema.type||[]).includes("array"),shown=example??schema.examples?.[0],
tied={id,name,value,required};return html`<div class="field">
    <label for=${id}><code>${name}</code> <span class="optional">${required?"required":place}</span></label>
    ${options?html`<select ...${tied} onChange=${event=>set(event.currentTarget.value)}>
        <option value="">–</option>${options.map(option=>html`<option key=${option} value=${String(option)} selected=${String(option)===value}>${String(option)}</option>`)}</select>`:
html`<input type="text" ...${tied} spellcheck=${!1} autocomplete="off" placeholder=${isList?"a, b":shown===void 0?"":String(shown)}
        onInput=${event=>set(event.currentTarget.value)} />`}
  </div>`}function BodyField({kind,value,set}){let id=P2();return html`<div class="field"><label for=${id}>Body <span class="optional">${kind}</span></label>
    <textarea id=${id} class="mono" rows=${Math.min(16,Math.max(3,value.split(`
`).length+1))} spellcheck=${!1} value=${value} onInput=${event=>set(event.currentTarget.value)}></textarea>
  </div>`}function Question({request,yes,no}){let back=T2(null);return A2(()=>back.current.focus(),[]),html`<div class="notice" role="alertdialog" aria-label="Really send?" onKeyDown=${event=>event.
key==="Escape"&&no()}><${Icon} name="warning" /><div>
    <p>This acts on the real server: <code>${request.method} ${new URL(request.url).pathname}</code></p>
    <p class="trial-buttons"><button type="button" class="button" ref=${back} onClick=${no}>Cancel</button>
      <button type="button" class="button danger" onClick=${yes}>Send it</button></p>
  </div></div>`}function AnswerBox({answer:{status,title,ok,ms,bytes,headers,kind,text,blob,done}}){let save2=()=>{let link=document.createElement("a");link.href=
URL.createObjectURL(blob),link.download=`answer.${(kind.split(";")[0].split("/")[1]||"bin").replace("octet-stream","bin")}`,link.click(),setTimeout(()=>URL.revokeObjectURL(
link.href),1e3)};return html`<div class="answer">
    <p class="answer-line"><strong class=${ok?"good-text":"bad-text"}>${status} ${title}</strong> <span class="muted">${ms} ms · ${bytes} bytes${done?"":" · re\
ading"}</span></p>
    <details class="fold"><summary>Headers</summary><dl class="headers">${headers.map(([name,value])=>html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></details>
    ${blob&&html`<p><button type="button" class="button small" onClick=${save2}><${Icon} name="download" />Save the answer</button> <span class="muted">${kind}</span></p>`}
    ${text&&html`<${Code} title="The answer" text=${text} />`}
  </div>`}function useSender(){let[state,setState]=d2({answer:null,error:"",busy:!1}),current=T2(null),stop=()=>current.current?.abort();return A2(()=>stop,[]),
{...state,run:async(request,{key,file})=>{stop();let mine=new AbortController;current.current=mine;let show=more=>current.current===mine&&setState(now=>({...now,
...more}));show({answer:null,error:"",busy:!0});try{await send(request,{key,file,signal:mine.signal,progress:answer=>show({answer:{...answer}})})}catch(error){error.
name!=="AbortError"&&show({error:"Warren does not answer. The server may have stopped, or the network is down."})}show({busy:!1})},stop}}function Operation({doc,operation,open,toggle}){let{id,method,twins,path,summary}=operation;return html`<article class="operation" id=${id}>
    <h3><button type="button" class="operation-head" aria-expanded=${open?"true":"false"} aria-controls=${open?`${id}-body`:void 0} onClick=${toggle}>
      <span class="method ${method}">${method}</span>
      <span class="operation-summary">${summary||id}${twins.map(twin=>html` <span key=${twin.method} class="method ${twin.method}">${twin.method}</span>`)}</span>
      <code class="operation-path">${path}</code>
      <${Icon} name="play" />
    </button></h3>
    ${open&&html`<${Body} doc=${doc} operation=${operation} />`}
  </article>`}function Body({doc,operation}){let{id,method,twins,description,parameters,requestBody,responses={}}=operation,[values,setValues]=d2(()=>valuesOf(doc,
operation)),[trying,setTrying]=d2(!1),body=jsonOf(requestBody&&resolve(doc,requestBody)),good=Object.entries(responses).filter(([status])=>/^[123]/.test(status)),
bad=Object.entries(responses).filter(([status])=>!/^[123]/.test(status)),request=requestOf(doc,operation,document.baseURI,values);return html`<div class="operation-body" id=${`${id}\
-body`}>
    <div class="operation-words">
      ${twins.length>0&&html`<p>${twins.map(twin=>twin.method.toUpperCase()).join(" and ")} does the same as ${method.toUpperCase()}.</p>`}
      <${Prose} text=${description} />
      <${Parameters} doc=${doc} parameters=${parameters.map(parameter=>resolve(doc,parameter))} />
      ${body&&html`<h4>Body${requestBody.required?"":html` <span class="optional">optional</span>`}</h4><${Schema} doc=${doc} schema=${body.schema} example=${givenExample(
body)} />`}
      ${good.map(([status,response])=>html`<${Answer} key=${status} doc=${doc} status=${status} response=${resolve(doc,response)} />`)}
      ${bad.length>0&&html`<h4>Errors</h4><ul class="errors">${bad.map(([status,response])=>html`<${ErrorLine} key=${status} doc=${doc} status=${status} response=${resolve(
doc,response)} />`)}</ul>`}
    </div>
    <div class="operation-code">
      <${Call} request=${request} />
      ${trying?html`<${Trial} doc=${doc} operation=${operation} request=${request} values=${values} change=${setValues} close=${()=>setTrying(!1)} />`:html`<p><button type="button" class="button" onClick=${()=>setTrying(
!0)}><${Icon} name="play" />Try it</button></p>`}
      ${good.map(([status,response])=>html`<${AnswerExample} key=${status} doc=${doc} status=${status} response=${resolve(doc,response)} />`)}
    </div>
  </div>`}function Call({request}){let{name,write}=useLanguage();return html`<div><${Languages} /><${Code} title=${`Call in ${name}`} text=${write(request)} /></div>`}
function Parameters({doc,parameters}){if(!parameters.length)return null;let sorted2=[...parameters.filter(({required})=>required),...parameters.filter(({required})=>!required)];
return html`<h4>Parameters</h4><ul class="members">${sorted2.map(({name,in:place,required,description,schema={}})=>html`<li key=${place+name}>
    <p><code class="member">${name}</code> <span class="type">${typeOf(doc,schema)}, in ${place}</span>${required&&html` <span class="required">required</span>`}</p>
    <${Prose} text=${description||schema.description} />
    ${schema.enum&&html`<p class="bounds">One of ${schema.enum.map(value=>html`<code key=${value}>${String(value)}</code> `)}</p>`}
  </li>`)}</ul>`}function Answer({doc,status,response}){let content=jsonOf(response);return html`<h4>Answer ${status} <span class="optional">${response.description}</span></h4>
    ${content?.schema?html`<${Fold} title="What it holds">${()=>html`<${Schema} doc=${doc} schema=${content.schema} />`}<//>`:html`<p class="lead">${Object.keys(
response.content||{}).join(", ")||"No body."}</p>`}`}function AnswerExample({doc,status,response}){let content=jsonOf(response);return content?html`<${Code} title=${`\
Answer ${status}`} text=${JSON.stringify(givenExample(content)??exampleOf(doc,content.schema),null,2)} />`:null}function ErrorLine({doc,status,response}){let examples=jsonOf(
response)?.examples||{},codes=Object.entries(examples).map(([name,example])=>resolve(doc,example).value?.code||name);return html`<li><strong>${status}</strong> ${response.
description} ${codes.map(code=>html`<code key=${code}>${code}</code> `)}</li>`}function Docs(){let{doc,fault,read:read2}=useDocument(),[search,setSearch]=d2(""),all=w2(()=>doc?operationsOf(doc):[],[doc]),shown=all.filter(operation=>matches(
operation,search)),groups=groupsOf(doc,shown),{opened,open,toggle}=useOpened(all,operation=>setSearch(now=>matches(operation,now)?now:"")),current=useCurrent(shown);
return useSlash(),html`<a class="skip" href="#main" onClick=${event=>{event.preventDefault(),document.querySelector("main h1")?.focus()}}>Skip to content</a>
    <div class="frame docs">
      <aside class="side">
        <a class="brand" href="./"><${Logo} />Warren</a>
        <div onKeyDown=${event=>{if(event.key!=="Enter")return;let[hit]=all.filter(operation=>matches(operation,event.target.value.trim()));hit&&open(hit.id)}}><${SearchBox} value=${search} label="Search the API" change=${setSearch} /></div>
        <nav aria-label="Operations" class="contents">
          ${groups.map(({name,operations})=>html`<div key=${name}><h2>${name}</h2>
            <ul>${operations.map(({id,method,summary})=>html`<li key=${id}><a href=${`#${id}`} aria-current=${current===id?"true":void 0} onClick=${()=>open(id)}>
              <span class="method ${method}">${method}</span>${summary}</a></li>`)}</ul></div>`)}
        </nav>
        <p class="visually-hidden" role="status">${search?`${shown.length} operations fit. Enter opens the first.`:""}</p>
      </aside>
      <main id="main">
        ${fault&&html`<div class="problem" role="alert"><p class="problem-title"><${Icon} name="warning" />${fault}</p>
          <button type="button" class="button small" onClick=${read2}>Try again</button></div>`}
        ${!doc&&!fault&&html`<${Waiting} />`}
        ${doc&&html`<${Intro} doc=${doc} />`}
        ${groups.map(({name,about,operations})=>html`<section key=${name} class="group-of-operations">
          <h2>${name}</h2>${about&&html`<${Prose} text=${about} />`}
          ${operations.map(operation=>html`<${Operation} key=${operation.id} doc=${doc} operation=${operation}
            open=${opened.has(operation.id)||shown.length===1} toggle=${()=>toggle(operation.id)} />`)}
        </section>`)}
        ${doc&&shown.length===0&&html`<p class="lead">No operation fits this search.</p>`}
      </main>
    </div>`}function useDocument(){let[doc,setDoc]=d2(null),[fault,setFault]=d2(""),read2=async()=>{setFault("");let key=readKey();try{let response=await fetch(
"openapi.json",{headers:key?{Authorization:`Bearer ${key}`}:{},cache:"no-store",credentials:"omit"});response.ok?setDoc(await response.json()):setFault(response.
status===401?"Log in to read this: run “warren open” in a terminal, or log in on the page.":`The server answered ${response.status}.`)}catch{setFault("Warre\
n does not answer. The server may have stopped, or the network is down.")}};return A2(()=>{read2()},[]),{doc,fault,read:read2}}function useOpened(all,reveal){let[
opened,setOpened]=d2(new Set),target=T2(""),open=id=>{let operation=named(all,id);operation&&(target.current=operation.id,reveal(operation),location.hash.slice(
1)!==id&&history.replaceState(null,"",`#${id}`),setOpened(now=>new Set([...now,operation.id])))};return A2(()=>{let go2=()=>open(decodeURIComponent(location.hash.
slice(1)));return go2(),addEventListener("hashchange",go2),()=>removeEventListener("hashchange",go2)},[all]),A2(()=>{if(!target.current)return;let article=document.
getElementById(target.current);target.current="",article?.scrollIntoView(),article?.querySelector("button")?.focus({preventScroll:!0})},[opened]),{opened,open,toggle:id=>setOpened(
now=>{let next=new Set(now);return next.delete(id)?next:(history.replaceState(null,"",`#${id}`),next.add(id))})}}function useSlash(){A2(()=>{let slash=event=>{event.
key!=="/"||event.target.closest("input, textarea, select")||(event.preventDefault(),document.querySelector('input[type="search"]')?.focus())};return addEventListener(
"keydown",slash),()=>removeEventListener("keydown",slash)},[])}function Intro({doc}){let{info}=doc;return html`<header class="intro">
    <p class="back"><a href="./"><${Icon} name="exit" />Back to the profiles</a></p>
    <h1 tabindex="-1">${info.title} API <span class="total">${info.version}</span></h1>
    <${Prose} text=${info.description} />
    <p>The examples take the key from the environment. The description itself is <a href="openapi.json" download="openapi.json" onClick=${event=>save(event,doc)}>openapi.json</a> (OpenAPI ${doc.
openapi}).</p>
    <div class="code"><pre tabindex="0" role="group" aria-label="Shell">${"export WARREN_API_KEY=wrn_…   # your key"}</pre><${Copy} text="export WARREN_API_KEY=" label="Copy" /></div>
    ${!readKey()&&html`<p>To try operations here, log in: run <code>warren open</code> in a terminal, or <a href="./">log in with a key</a>.</p>`}
  </header>`}function save(event,doc){event.preventDefault();let link=document.createElement("a");link.href=URL.createObjectURL(new Blob([JSON.stringify(doc,null,
2)],{type:"application/json"})),link.download="openapi.json",link.click(),setTimeout(()=>URL.revokeObjectURL(link.href),1e3)}function useCurrent(shown){let[current,
setCurrent]=d2(""),names=shown.map(({id})=>id).join(" ");return A2(()=>{let seen=new IntersectionObserver(entries=>{let entry=entries.find(one=>one.isIntersecting);
entry&&setCurrent(entry.target.id)},{rootMargin:"-10% 0px -75%"});for(let section of document.querySelectorAll(".operation"))seen.observe(section);return()=>seen.
disconnect()},[names]),current}Q(html`<${LanguageChoice}><${Docs} /><//>`,document.body);
