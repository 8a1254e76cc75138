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
__}function A2(n3,u3){var i3=y2(t2++,3);!a2.__s&&E2(i3.__H,u3)&&(i3.__P=!0,i3.__=n3,i3.u=u3,r2.__H.__h.push(i3))}function F2(n3,u3){var i3=y2(t2++,4);!a2.__s&&E2(
i3.__H,u3)&&(i3.__P=!1,i3.__=n3,i3.u=u3,r2.__h.push(i3))}function T2(n3){return f2=5,w2(function(){return{current:n3}},[])}function w2(n3,r3){var u3=y2(t2++,7);return E2(u3.__H,r3)&&(u3.__=n3(),u3.__H=r3),u3.__}function P2(){var n3=y2(t2++,11);if(!n3.__){for(var u3=r2.__v;!u3.__m&&u3.__;)u3=u3.__;var i3=u3.__m||(u3.__m=[0,0]);n3.__="P"+i3[0]+"-"+i3[1]++}return n3.__}function g2(){
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
`||t4==="\r"?(p3(),r4=2):e3+=t4),r4===3&&e3==="!--"&&(r4=4,h3=h3[0])}return p3(),h3})(s3)),r3),arguments,[])).length>1?r3:r3[0]}var html=htm_default.bind(k);var PATHS={play:"M7 5.5v13l11-6.5z",stop:"M7 7h10v10H7z",edit:"M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4",more:"M5 12h.01M12 12h.01M19 12h.01",plus:"M12 5v14M5 12h14",
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
  </svg>`}function Burrows(){return html`<svg class="burrows" viewBox="0 0 240 150" preserveAspectRatio="xMidYMin slice" aria-hidden="true">
    <path class="earth" d="M0 40C36 22 72 16 112 27s86 29 128 13v111H0z" />
    <g class="hollow">
      <path d="M40 20c2 22-12 26-11 50M106 20c-8 24 14 34 4 60M182 34c0 18 20 24 10 52M31 80c8 22 32 18 44 36M118 88c16 4 24 18 40 26M84 119c18 12 52 12 70 0" />
      <ellipse cx="29" cy="74" rx="16" ry="10" /><ellipse cx="108" cy="82" rx="18" ry="11" /><ellipse cx="191" cy="88" rx="21" ry="12" />
      <ellipse cx="78" cy="120" rx="15" ry="9" /><ellipse cx="162" cy="117" rx="16" ry="9" />
    </g>
    <path class="grass" d="M68 21l-2-6M72 20l1-7M76 20l3-6M146 38l-2-6M150 39l1-7M154 40l3-5M218 46l-1-6M222 46l2-6" />
    <g class="lamps"><circle cx="29" cy="75" r="3" /><circle cx="108" cy="83" r="3" /><circle cx="191" cy="89" r="3" /></g>
  </svg>`}var Store=class{#value;#watchers=new Set;constructor(value){this.#value=value}get value(){return this.#value}set(value){if(value!==this.#value){this.#value=value;
for(let watcher of[...this.#watchers])watcher(value)}}watch(watcher){return this.#watchers.add(watcher),()=>this.#watchers.delete(watcher)}};function useStore(store){
let[,redraw]=d2(null),drawn=store.value;return F2(()=>{let draw=()=>redraw({});return store.value!==drawn&&draw(),store.watch(draw)},[store]),store.value}var SAMPLES=30,MAX_LATENCY_MS=1e3,SECOND_MS=1e3,Meter=class{shown=new Store({latency:null,rate:0});#sent=new Map;#samples=[];#drawn=[];#timer=0;begin(){this.#timer=
setInterval(()=>this.#show(),SECOND_MS)}end(){clearInterval(this.#timer)}reset(){this.#sent.clear()}sent(n3){this.#sent.set(n3,performance.now());let[oldest]=this.#sent.
keys();performance.now()-this.#sent.get(oldest)>MAX_LATENCY_MS&&this.#sent.delete(oldest)}drawn(input){let now=performance.now();this.#drawn.push(now);let took=now-
this.#sent.get(input);for(let n3 of this.#sent.keys())n3<=input&&this.#sent.delete(n3);took<=MAX_LATENCY_MS&&(this.#samples=[...this.#samples.slice(1-SAMPLES),took],
this.#samples.length===1&&this.#show())}#show(){let now=performance.now();this.#drawn=this.#drawn.filter(at=>now-at<SECOND_MS);let sorted=[...this.#samples].sort(
(a3,b)=>a3-b),latency=sorted.length?sorted[sorted.length>>1]:null,{latency:before,rate}=this.shown.value;(latency!==before||rate!==this.#drawn.length)&&this.shown.
set({latency,rate:this.#drawn.length})}};var FIRST_WAIT_MS=1e3,LONGEST_WAIT_MS=15e3,PING_MS=5e3,MAX_UNANSWERED=2,CHUNK=1<<20,KEPT_DOWNLOADS=100,TEXT_CHUNK=16384,MAX_BUFFERED=4<<20,ENDED=[1e3,1008],CapabilityAccess=class{constructor(capability,readonly){
this.path=`live/${encodeURIComponent(capability)}`,this.query=readonly?"?readonly=1":""}async protocols(){return[]}async probe(){let response=await fetch(this.path,
{cache:"no-store",credentials:"omit",redirect:"error"}),body=await response.json().catch(()=>null);return{status:response.status,words:body?.detail||""}}download(id){
return{href:`${this.path}/downloads/${encodeURIComponent(id)}`}}};var LiveLink=class{phase=new Store({name:"connecting"});hello=new Store(null);tabs=new Store({active:"",tabs:[]});page=new Store(null);control=new Store({holder:null,
you:!1,viewers:[],asking:[]});script=new Store({active:!1});cursor=new Store("default");dialog=new Store(null);chooser=new Store(null);uploads=new Store(new Map);options=new Store(
null);downloads=new Store(new Map);passkey=new Store(null);copied=new Store(null);window=new Store({resized:!1});error=new Store(null);roundTrip=new Store(null);meter=new Meter;draw=async()=>{};#socket=null;#timer=0;#ping=0;#unanswered=0;#wait=FIRST_WAIT_MS;#n=0;#pendingAck=null;#bye="";#ended=!1;#askedToCopy=!1;constructor(access){
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
let n3=++this.#n;this.meter.sent(n3),this.send({...message,n:n3})}text(text){let letters=[...text];for(let at=0;at<letters.length;at+=TEXT_CHUNK)this.input({type:"\
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
text})=>link.onCopied(text),uploaded:(link,{name,received})=>link.uploads.set(new Map(link.uploads.value).set(name,received)),window:(link,body)=>link.window.set(
body),pong:(link,{t:t4})=>typeof t4=="number"&&link.roundTrip.set(performance.now()-t4),error:(link,body)=>link.error.set(body),bye:(link,{reason})=>link.onBye(
reason)};function clear(store,id){store.value?.id===id&&store.set(null)}function withDownload(downloads,one){let all=new Map(downloads),over=all.has(one.id)||all.
size<KEPT_DOWNLOADS?null:[...all.values()].find(({state})=>state!=="running");return over&&all.delete(over.id),all.set(one.id,one)}function pack(header,bytes2){
let text=new TextEncoder().encode(JSON.stringify(header)),whole=new Uint8Array(2+text.length+bytes2.byteLength);return new DataView(whole.buffer).setUint16(0,text.
length),whole.set(text,2),whole.set(new Uint8Array(bytes2),2+text.length),whole}var NAME="warren.live.name";function readName(){try{return localStorage.getItem(
NAME)||""}catch{return""}}function saveName(name){try{localStorage.setItem(NAME,name)}catch{}}function span(ms){return ms<1?"< 1 ms":ms<1e3?`${Math.round(ms)} ms`:ms<10*1e3?`${(ms/1e3).toFixed(1)} s`:ms<6e4?`${Math.round(ms/1e3)} s`:ms<36e5?`${Math.floor(
ms/6e4)} min`:ms<864e5?two(ms,36e5,"h",6e4,"min"):two(ms,864e5,"d",36e5,"h")}function two(ms,big,bigName,small,smallName){let rest=Math.floor(ms%big/small);return`${Math.
floor(ms/big)} ${bigName}${rest?` ${rest} ${smallName}`:""}`}function number(n3,atLeast=!1){return`${new Intl.NumberFormat("en").format(n3)}${atLeast?"+":""}`}function count(n3,one,many=`${one}s`){return`${number(n3)} ${n3===1?one:many}`}function bytes(n3){if(n3<1e3)return`${n3} B`;let step=Math.min(4,Math.floor(Math.
log10(n3)/3)),size=n3/1e3**step;return`${size<10?size.toFixed(1):Math.round(size)} ${["","kB","MB","GB","TB"][step]}`}var SHOWN_MS=6e3,LONG_MS=12e3,Toasts=class{list=new Store([]);#last=0;say(toast){let id=++this.#last;return this.list.set([...this.list.value.slice(-3),{id,...toast}]),
toast.tone!=="bad"&&setTimeout(()=>this.close(id),toast.more||toast.actions?LONG_MS:SHOWN_MS),id}close(id){this.list.set(this.list.value.filter(toast=>toast.id!==
id))}};function ToastArea({toasts}){let list=useStore(toasts.list);return html`<div class="toasts" role="status" aria-live="polite">
    ${list.map(toast=>html`<div key=${toast.id} class="toast ${toast.tone||"plain"}">
      <div>
        <p class="toast-text">${toast.text}</p>
        ${toast.more&&html`<p class="toast-more">${toast.more}</p>`}
      </div>
      ${(toast.actions||[toast.action]).filter(Boolean).map(({label,run})=>html`<button type="button" key=${label} class="button small" onClick=${()=>{toasts.close(
toast.id),run()}}>${label}</button>`)}
      <button type="button" class="icon-button" aria-label="Close message" onClick=${()=>toasts.close(toast.id)}><${Icon} name="close" /></button>
    </div>`)}
  </div>`}var AppContext=U(null);var WORDS={__proto__:null,extension_in_use:"Nothing was deleted. Take it from these profiles first.",proxy_in_use:"Nothing was deleted. Give these profiles anot\
her proxy first, or none.",duplicate:"This workspace already has a proxy with this type, host, port and user name.",server_stopping:"This page goes on by itself\
 when Warren is back. Then try again.",login_link_gone:"This link was used before, or its 10 minutes are over. Run “warren open” on the server’s machine for ano\
ther, or log in with a key.",unauthorized:"This key isn’t valid. It may be mistyped, revoked or expired.",webhook_disabled:"Switch it on first."},QUOTAS={__proto__:null,
profiles:["profile","profiles","Move some to the trash"],running:["running browser","running browsers","Stop some"],diskMb:["MiB of data","MiB of data","Delete \
profiles for good, or files and snapshots of them"],proxies:["proxy","proxies","Delete some"]};function quotaWords({quota,limit,use}){let[one,many,room]=QUOTAS[quota]||
[quota,quota,"Remove some"];return`The workspace may have ${count(limit,one,many)}, and has ${number(use)}. ${room}, or ask an administrator for a higher quota.`}
var CONTENTS={__proto__:null,profiles:"profile",trashed:["profile in the trash","profiles in the trash"],proxies:["proxy","proxies"],templates:"template",schedules:"\
schedule",extensions:"extension",keys:["key that names it","keys that name it"]};function contentsWords(contents){return`It still has ${Object.entries(contents).
filter(([,n3])=>n3>0).map(([name,n3])=>count(n3,...[].concat(CONTENTS[name]||name))).join(", ")}. Delete that first, and revoke the keys. Nothing was changed.`}
function problemWords(problem){if(problem.code==="profile_damaged")return`The browser cannot open the files below, and would begin them anew. Nothing was change\
d. ${problem.body.snapshots?.length>0?"What is there now is kept when you go back to a snapshot.":"There is no snapshot that opens. Files that are set aside sta\
y on the server’s disk, and the browser begins without them."}`;let{body=problem}=problem;return problem.code==="quota_exceeded"&&body.quota?quotaWords(body):
problem.code==="workspace_not_empty"&&body.contents?contentsWords(body.contents):WORDS[problem.code]||problem.message}var SHEET=new URL("flags.svg",import.meta.url).href;function Country({code,name,bare}){return code?html`<span class="country" title=${name||countryName(code)}><svg class="flag" viewBox="0 0 3 2" aria-hidden="true"><use href=${`${SHEET}\
#${code}`} /></svg>${!bare&&html`<span>${code}</span>`}</span>`:null}function countryName(code){try{return new Intl.DisplayNames(["en"],{type:"region"}).of(code)||
code}catch{return code}}var GAP=4,TYPED_MS=700;function Menu({label,items,children,class:kind="icon-button",title="More",disabled}){let id=P2(),button=T2(null),list=T2(null),[open,setOpen]=d2(
!1),toggled2=event=>setOpen(event.newState==="open");F2(()=>{open&&list.current.querySelector('[role^="menuitem"]')?.focus()},[open]);let choose=item=>{list.current.
hidePopover(),button.current.focus(),item.run()};return html`<button type="button" class=${kind} ref=${button} popovertarget=${id} aria-haspopup="menu" aria-expanded=${open} disabled=${disabled}
      aria-label=${label} title=${title} onKeyDown=${event=>event.key==="ArrowDown"&&(event.preventDefault(),list.current.showPopover())}>
      ${children||html`<${Icon} name="more" />`}</button>
    <div id=${id} ref=${list} class="menu" popover="auto" role="menu" aria-label=${label} onBeforeToggle=${event=>placed(event,button.current,list.current)}
      onToggle=${toggled2} onKeyDown=${menuKeys}>
      ${open&&items.filter(Boolean).map((item,i3)=>item==="line"?html`<hr key=${i3} />`:html`<button type="button" key=${item.label}
        role=${item.checked===void 0?"menuitem":"menuitemcheckbox"} aria-checked=${item.checked} tabindex="-1"
        class=${item.danger?"menu-item danger":"menu-item"} onClick=${()=>choose(item)}>
        ${item.checked!==void 0?html`<span class="menu-tick">${item.checked&&html`<${Icon} name="check" />`}</span>`:item.icon&&html`<${Icon} name=${item.icon} />`}
        <span class="menu-label">${item.label}</span>${item.keys&&html`<kbd>${item.keys}</kbd>`}
      </button>`)}
    </div>`}function placed(event,button,popover){if(event.newState!=="open")return;let at=button.getBoundingClientRect(),{style}=popover,below=innerHeight-at.bottom>320||innerHeight-
at.bottom>at.top;style.top=below?`${at.bottom+GAP}px`:"auto",style.bottom=below?"auto":`${innerHeight-at.top+GAP}px`,style.maxHeight=`${Math.max(120,(below?innerHeight-
at.bottom:at.top)-3*GAP)}px`;let left=at.left+at.width/2<innerWidth/2;style.left=left?`${Math.max(8,at.left)}px`:"auto",style.right=left?"auto":`${Math.max(8,document.
documentElement.clientWidth-at.right)}px`}var typed=new WeakMap;function menuKeys(event){let menu=event.currentTarget,items=[...menu.querySelectorAll('[role^="m\
enuitem"]')],at=items.indexOf(document.activeElement),to={ArrowDown:at+1,ArrowUp:at-1,Home:0,End:items.length-1}[event.key];if(to!==void 0)event.preventDefault(),
items.at(to%items.length)?.focus();else if(event.key==="Tab")menu.hidePopover();else if(event.key.length===1&&event.key!==" "&&!event.ctrlKey&&!event.metaKey&&!event.
altKey){event.preventDefault(),event.stopPropagation();let before=typed.get(menu),text=(before&&event.timeStamp-before.at<TYPED_MS?before.text:"")+event.key.toLowerCase();
typed.set(menu,{text,at:event.timeStamp});let from=text.length===1?at+1:Math.max(0,at);[...items.slice(from),...items.slice(0,from)].find(item=>item.textContent.
trim().toLowerCase().startsWith(text))?.focus()}}function Copy({text,label="Copy"}){let[done,setDone]=d2(!1),button=T2(null);return html`<button type="button" class="button small" ref=${button} onClick=${async()=>{
await copyText(text,button.current),setDone(!0),setTimeout(()=>setDone(!1),2e3)}} aria-label=${done?"Copied":label}>
    <${Icon} name=${done?"check":"copy"} /><span aria-live="polite">${done?"Copied":"Copy"}</span>
  </button>`}async function copyText(text,beside=document.activeElement){try{await navigator.clipboard.writeText(text)}catch{copyByCommand(text,beside)}}function copyByCommand(text,beside){
let field=document.createElement("textarea");field.value=text,field.className="visually-hidden",beside.after(field),field.select(),document.execCommand("copy"),
field.remove(),beside.focus()}var TYPED_MS2=800;function Prompt({title,drives,refuse,children,foot}){let box=T2(null),titleId=P2();F2(()=>{let before=document.activeElement;return drives?box.
current.showModal():box.current.show(),()=>{box.current?.close(),drives&&before?.focus?.({preventScroll:!0})}},[drives]);let cancel=event=>{event.preventDefault(),
drives&&refuse()};return html`<dialog ref=${box} class="dialog asked" closedby="none" aria-labelledby=${titleId} onCancel=${cancel}
    onKeyDown=${event=>event.key==="Escape"&&cancel(event)}>
    <div class="dialog-body">
      <header class="dialog-head"><h2 id=${titleId}>${title}</h2></header>
      <div class="dialog-content">${children}</div>
      ${drives?html`<footer class="dialog-foot">${foot}</footer>`:html`<p class="hint asked-hint">Who has the controls answers this.</p>`}
    </div>
  </dialog>`}var BEFORE="Changes that you made may not be saved.";function PageDialog({link,drives}){let asked=useStore(link.dialog);return asked&&html`<${OneDialog} key=${`${asked.
id} ${drives}`} ...${{link,asked,drives}} />`}function OneDialog({link,asked,drives}){let{id,kind,message,url}=asked,[text,setText]=d2(asked.text||""),answer=accept=>link.
send({type:"dialog",id,accept,text:accept&&kind==="prompt"?text:""}),leaving=kind==="beforeunload",submit=event=>{event.preventDefault(),answer(!0)};return html`<${Prompt} title=${leaving?
"Leave this page?":html`<bdi>${hostOf(url)}</bdi> says`} drives=${drives} refuse=${()=>answer(!1)} foot=${html`
    ${kind!=="alert"&&html`<button type="button" class="button" onClick=${()=>answer(!1)}>${leaving?"Stay":"Cancel"}</button>`}
    <button type="button" class="button primary" autofocus=${kind!=="prompt"} onClick=${()=>answer(!0)}>${leaving?"Leave":"OK"}</button>`}>
    <p class="asked-text">${message||(leaving?BEFORE:"")}</p>
    ${kind==="prompt"&&html`<form onSubmit=${submit}>
      <input aria-label="Answer" value=${text} autofocus disabled=${!drives} autocomplete="off" onInput=${event=>setText(event.currentTarget.value)} /></form>`}
  <//>`}function hostOf(url){try{return new URL(url).host||"This page"}catch{return"This page"}}function Chooser({link,drives}){let asked=useStore(link.chooser);
return asked&&html`<${OneChooser} key=${`${asked.id} ${drives}`} ...${{link,asked,drives}} />`}function OneChooser({link,asked,drives}){let[files,setFiles]=d2([]),
[over,setOver]=d2(!1),uploads=useStore(link.uploads),cancel=()=>link.send({type:"chooser",id:asked.id,cancel:!0}),give=list=>{let chosen=asked.multiple?[...list]:
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
[at,setAt]=d2(first),[chosen,setChosen]=d2(()=>new Set([].concat(asked.selected??[]))),list=T2(null),typed3=T2({word:"",at:0}),listId=P2(),answer=indexes=>drives&&
link.send({type:"options",id,indexes}),pick=index=>{!drives||!options[index]||options[index].disabled||(setAt(index),multiple?setChosen(toggled(chosen,index)):answer(
[index]))};F2(()=>{placeList(list.current,asked,place);let before=document.activeElement;return drives&&list.current.focus(),()=>before?.focus?.({preventScroll:!0})},
[]),A2(()=>list.current.children[at]?.scrollIntoView({block:"nearest"}),[at]);let key=event=>{event.preventDefault(),event.stopPropagation();let to=nextIndex(options,
at,event.key);to!==void 0?setAt(to):event.key==="Escape"||event.key==="Tab"?answer(null):event.key==="Enter"?answer(multiple?[...chosen].sort((a3,b)=>a3-b):[at]):
event.key===" "&&!typed3.current.word?pick(at):[...event.key].length===1&&setAt(typeAhead(options,at,typed3.current,event.key))};return html`<ul ref=${list} class="options" role="listbox" tabindex=${drives?
0:void 0} aria-label="Choose" aria-multiselectable=${multiple?"true":void 0}
    aria-activedescendant=${at>=0?`${listId}-${at}`:void 0} onKeyDown=${drives?key:void 0} onBlur=${()=>link.options.value?.id===id&&answer(null)}>
    ${options.map((option,i3)=>html`<li key=${i3} id=${`${listId}-${i3}`} role="option" data-group=${option.group&&option.group!==options[i3-1]?.group?option.group:
void 0}
      class=${`${i3===at?"is-at":""}${option.group?" in-group":""}`} aria-selected=${multiple?chosen.has(i3):i3===at} aria-disabled=${option.disabled?"true":void 0}
      onPointerDown=${event=>{event.preventDefault(),pick(i3)}} onPointerMove=${()=>drives&&!option.disabled&&setAt(i3)}>${option.text||" "}</li>`)}
    ${multiple&&drives&&html`<li role="none" class="options-done"><button type="button" class="button small primary" tabindex="-1"
      onPointerDown=${event=>{event.preventDefault(),answer([...chosen].sort((a3,b)=>a3-b))}}>Done</button></li>`}
  </ul>`}function toggled(set,index){let changed=new Set(set);return changed.delete(index)||changed.add(index),changed}function placeList(list,{x:x2,y:y3,width,
height},place){let room=list.parentElement,{scrollLeft,scrollTop}=room.querySelector(".stage-room"),[left,top]=[place.left-scrollLeft+x2*place.scale,place.top-scrollTop+
y3*place.scale],bottom=top+height*place.scale,below=room.clientHeight-bottom;list.style.minWidth=`${width*place.scale}px`,list.style.left=`${Math.max(4,Math.min(
left,room.clientWidth-list.offsetWidth-4))}px`,list.style.maxHeight=`${Math.max(below,top,120)-8}px`,below>=Math.min(list.scrollHeight,top)?list.style.top=`${bottom}\
px`:list.style.bottom=`${room.clientHeight-top}px`}function nextIndex(options,at,key){let step={__proto__:null,ArrowDown:1,ArrowUp:-1,Home:1,End:-1,PageDown:1,PageUp:-1}[key];
if(!step)return;let to={__proto__:null,Home:0,End:options.length-1,PageDown:at+10,PageUp:at-10}[key]??at+step;for(to=Math.max(0,Math.min(options.length-1,to));options[to]?.
disabled;)to+=step;return options[to]?to:at}function typeAhead(options,at,typed3,letter2){let now=performance.now();typed3.word=(now-typed3.at<TYPED_MS2?typed3.
word:"")+letter2.toLowerCase(),typed3.at=now;let same=[...typed3.word].every(one=>one===typed3.word[0]),word=same?typed3.word[0]:typed3.word;for(let i3=same?1:0;i3<=
options.length;i3++){let to=(at+i3+options.length)%options.length;if(!options[to].disabled&&options[to].text.trim().toLowerCase().startsWith(word))return to}return at}async function paste(link,refused){let text;try{text=await navigator.clipboard.readText()}catch{return refused()}return link.text(text)}function PasteBox({link,
close}){let field=T2(null);return html`<${Prompt} title="Paste into the page" drives=${!0} refuse=${close}
    foot=${html`<button type="button" class="button" onClick=${close}>Cancel</button><button type="button" class="button primary" onClick=${()=>{link.text(field.
current.value),close()}}>Paste</button>`}>
    <label>This browser keeps its clipboard closed here. Paste the text into this field.
      <textarea ref=${field} rows="4" autofocus></textarea></label>
  <//>`}function Copied({link,toasts}){let copied=useStore(link.copied),[refused,setRefused]=d2(null),box=T2(null);return A2(()=>{if(!copied?.text){copied?.asked&&
toasts.say({text:"Nothing is selected in the page."});return}let done=()=>{setRefused(null),copied.asked&&toasts.say({text:"Copied.",tone:"good"})};Promise.resolve().
then(()=>navigator.clipboard.writeText(copied.text)).then(done,()=>setRefused(copied))},[copied]),A2(()=>box.current?.select(),[refused]),refused?html`<div class="copied" role="status">
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
  </div>`}function Viewers({link}){let control=useStore(link.control),hello=useStore(link.hello),id=P2(),button=T2(null),list=T2(null),say=(what,more)=>link.send(
{type:"control",do:what,...more}),{holder,you,viewers,asking}=control,place=event=>{if(event.newState!=="open")return;let at=button.current.getBoundingClientRect();
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
    </div>`}function OwnName({link}){let[name,setName]=d2(readName);return html`<form class="own-name" onSubmit=${event=>{event.preventDefault(),link.name(name.
trim())}}>
    <label>Your name, as others see it <input maxlength="60" autocomplete="nickname" value=${name} onInput=${event=>setName(event.currentTarget.value)} /></label>
    <button class="button small">Save</button>
  </form>`}var REVOKE_MS=6e4;function save(blob,name){let a3=document.createElement("a");a3.href=URL.createObjectURL(blob),a3.download=name,a3.click(),setTimeout(()=>URL.revokeObjectURL(
a3.href),REVOKE_MS)}function Transfers({link,toasts}){let downloads=useStore(link.downloads),[closed,setClosed]=d2(()=>new Set),shown=[...downloads.values()].filter(
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
html`<${SaveButton} name=${name} fetchIt=${access.fetch} toasts=${toasts} />`}function SaveButton({name,fetchIt,toasts}){let[busy,setBusy]=d2(!1),work=async()=>{
setBusy(!0);try{save(await fetchIt(),name)}catch(problem){toasts.say({text:`${name} was not saved.`,more:problem.message,tone:"bad"})}setBusy(!1)};return html`<button type="button" class="button small" disabled=${busy} aria-label=${`\
Save ${name}`} onClick=${work}><${Icon} name="download" />${busy?"One moment…":"Save"}</button>`}var STATES={__proto__:null,in_progress:"Under way",cancelled:"\
Cancelled",interrupted:"Broken off"};function DownloadList({id,link,owner,toasts}){let told=useStore(link.downloads),[open,setOpen]=d2(!1),[list,setList]=d2(null),
[problem,setProblem]=d2(null),panel=T2(null),ended=[...told.values()].filter(({state})=>state!=="running").length;return A2(()=>{let wanted=open;return open&&owner.
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
link.control),hello=useStore(link.hello),script=useStore(link.script),live=phase.name==="live",narrow=useMedia(NARROW),panel=P2(),[shooting,shoot]=useScreenshot(
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
  </select>`}function useScreenshot(link,owner,toasts){let[busy,setBusy]=d2(!1);return[busy,async whole=>{setBusy(!0);try{save(await owner.screenshot(link.tabs.
value.active,whole),`${fileName(owner.profile?.name||"screenshot")} ${stamp(new Date)}.png`)}catch(problem){toasts.say({text:"There is no screenshot.",more:problemWords(
problem),tone:"bad"})}setBusy(!1)}]}function fileName(text){return text.replace(/[\p{C}\\/:*?"<>|]+/gu,"_").slice(0,80)}function stamp(now){let two2=n3=>String(
n3).padStart(2,"0");return`${now.getFullYear()}-${two2(now.getMonth()+1)}-${two2(now.getDate())} ${two2(now.getHours())}.${two2(now.getMinutes())}.${two2(now.getSeconds())}`}
function useFullScreen(view){let[full,setFull]=d2(!1);A2(()=>{let changed=()=>setFull(!!document.fullscreenElement);return document.addEventListener("fullscreen\
change",changed),()=>document.removeEventListener("fullscreenchange",changed)},[]);let toggle=()=>(document.fullscreenElement?document.exitFullscreen():view.current.
requestFullscreen({navigationUI:"hide"})).catch(()=>{});return[full,document.fullscreenEnabled?toggle:null]}function useMedia(query){let[matches,setMatches]=d2(
()=>matchMedia(query).matches);return A2(()=>{let list=matchMedia(query),changed=()=>setMatches(list.matches);return list.addEventListener("change",changed),()=>list.
removeEventListener("change",changed)},[query]),matches}var MAC=/^Mac|^iP/.test(navigator.platform),ESCAPES=3,KEY_CODES={__proto__:null,59:186,61:187,173:189},PLACEHOLDER=matchMedia("(pointer: coarse)").matches?" ":
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
this.#link),text:typed2(event),location:event.location,modifiers:typedModifiers(event,this.#link)};this.#link.input({type:"key",kind:"down",...pressed,repeat:event.
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
function typed2(event){return event.key==="Enter"?"\r":insertsText(event)?event.key:""}function typedModifiers(event,link){let all=modifiers(event,link);return insertsText(
event)&&(event.getModifierState("AltGraph")||MAC)?all&-4:all}var BUTTONS=["left","middle","right","back","forward"],BITS=[1,4,2,8,16],CLICKS=3,LINE=40,FrameThrottle=class{#work;#given=null;#frame=0;constructor(work){this.#work=
work}schedule(what){this.#given=what,this.#frame||=requestAnimationFrame(()=>this.flush())}flush(){cancelAnimationFrame(this.#frame),this.#frame=0;let given=this.#given;
this.#given=null,given&&this.#work(given)}};function clicks({detail}){return Math.min(Math.max(detail,1),CLICKS)}function listen(target,handlers){for(let[name,handler]of Object.
entries(handlers))target.addEventListener(name,handler,{passive:!1});return()=>{for(let[name,handler]of Object.entries(handlers))target.removeEventListener(name,
handler)}}var Mouse=class{#canvas;#picture;#link;#focus;#held=0;#move=new FrameThrottle(message=>this.#link.input(message));constructor(canvas,picture,link,focus){
this.#canvas=canvas,this.#picture=picture,this.#link=link,this.#focus=focus}begin(){let ends=[listen(this.#canvas,{mousedown:event=>this.#down(event),wheel:event=>this.#wheel(
event),contextmenu:event=>event.preventDefault()}),listen(window,{mousemove:event=>this.#moved(event),mouseup:event=>this.#up(event)}),this.#link.control.watch(
()=>{this.#link.drives||(this.#held=0)})];return()=>ends.forEach(end=>end())}#message(event,kind,more){return{type:"mouse",kind,...this.#picture.point(event),button:"\
none",buttons:this.#held,clicks:0,modifiers:modifiers(event,this.#link),dx:0,dy:0,...more}}#moved(event){if(event.target!==this.#canvas&&!this.#held)return;let lost=this.#held&
~event.buttons;lost&&BITS.forEach((bit,i3)=>lost&bit&&this.#release(event,i3)),this.#move.schedule(this.#message(event,"move"))}#down(event){event.preventDefault(),
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
return"view"}}function fitScale(room,page){return Math.min(room.width/page.width,room.height/page.height)}function placed2(room,page,scale){let[width,height]=[page.
width*scale,page.height*scale];return{left:Math.max(0,(room.width-width)/2),top:Math.max(0,(room.height-height)/2),width,height}}function fingersAt([a3,b=a3]){return{
x:(a3.x+b.x)/2,y:(a3.y+b.y)/2,apart:Math.hypot(a3.x-b.x,a3.y-b.y)}}function pinched({room,page,scale,scroll,from,to}){let fit=fitScale(room,page),ratio=from.apart>
0&&to.apart>0?to.apart/from.apart:1,wanted=Math.min(Math.max(scale*ratio,fit),Math.max(MOST,fit)),now=wanted<fit*NEARLY?fit:wanted,[before,after]=[placed2(room,
page,scale),placed2(room,page,now)],x2=(scroll.left+from.x-before.left)/scale,y3=(scroll.top+from.y-before.top)/scale,within=(at,whole,seen)=>Math.min(Math.max(
at,0),Math.max(0,whole-seen));return{scale:now===fit?null:now,scroll:{left:within(x2*now+after.left-to.x,after.width,room.width),top:within(y3*now+after.top-to.
y,after.height,room.height)}}}var RESIZED_MS=150,SCRIPT_MS=1500,CURSORS=new Set(["default","none","context-menu","help","pointer","progress","wait","cell","crosshair","text","vertical-text",
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
...placed2(this.#zoom.room,this.#frame,this.#scale()),scale:this.#scale()}}#scale(){return this.#zoom.scale.value??fitScale(this.#zoom.room,this.#frame)}#layout(){
if(this.#room.classList.toggle("is-zoomed",this.#zoom.scale.value!==null),this.#zoom.room={width:this.#room.clientWidth,height:this.#room.clientHeight},!this.#frame)
return;let whole=size=>Math.round(size*devicePixelRatio)/devicePixelRatio,place=this.#place();for(let side of["left","top","width","height"])place[side]=whole(place[side]),
this.#canvas.style[side]=`${place[side]}px`;this.#canvas.hidden=!1,this.place.set(place)}};function Stage({link,zoom,away,label,leave,over}){let[room,canvas,field]=[
T2(null),T2(null),T2(null)],[place,setPlace]=d2(null),phase=useStore(link.phase),control=useStore(link.control),hello=useStore(link.hello),cursor=useStore(link.
cursor),zoomed=useStore(zoom.scale)!==null,drives=phase.name==="live"&&control.you&&!hello?.readonly;return F2(()=>{let picture=new Picture(room.current,canvas.
current,link,zoom),keys=new Keyboard(field.current,link,leave),focus=event=>{let{left,top}=room.current.getBoundingClientRect();field.current.style.left=`${event.
clientX-left+room.current.scrollLeft}px`,field.current.style.top=`${event.clientY-top+room.current.scrollTop}px`,field.current.focus({preventScroll:!0}),keys.resetEscapes()},
ends=[...[picture,keys,new Mouse(canvas.current,picture,link,focus),new Touch(room.current,picture,link,zoom)].map(part=>part.begin()),picture.place.watch(setPlace)];
return()=>ends.forEach(end=>end())},[link,zoom]),A2(()=>{canvas.current.style.cursor=drives&&CURSORS.has(cursor)?cursor:"default"},[cursor,drives]),html`<div class=${`\
stage${away?" is-away":""}${drives?" drives":""}`}>
    <div class="stage-room" ref=${room} role=${zoomed?"group":void 0} tabindex=${zoomed?0:void 0} aria-label=${zoomed?"The enlarged picture. Arrow keys move it.":
void 0}>
      <canvas ref=${canvas} hidden role="img" aria-label=${label}></canvas>
      <textarea ref=${field} class="typing" disabled=${!drives} aria-label="The page. What you type goes to it. Press Esc three times to release the keyboard."
        autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${!1} rows="1"></textarea>
      <${ScriptPointer} link=${link} place=${place} />
    </div>
    ${over(place)}
  </div>`}function ScriptPointer({link,place}){let script=useStore(link.script),pointer=T2(null),[shown,setShown]=d2(!1),placed3=place&&typeof script.x=="number"&&
typeof script.y=="number";return A2(()=>{if(!placed3)return;setShown(!0);let timer=setTimeout(()=>setShown(!1),SCRIPT_MS);return()=>clearTimeout(timer)},[script]),
F2(()=>{!placed3||!pointer.current||(pointer.current.style.left=`${place.left+script.x*place.scale}px`,pointer.current.style.top=`${place.top+script.y*place.scale}\
px`)}),placed3?html`<div ref=${pointer} class=${`script-pointer${shown?"":" is-gone"}`} aria-hidden="true">
    <svg viewBox="0 0 16 16"><path d="M2 1l11 6.5-5 1.2L5.6 14z" /></svg><span>script</span></div>`:null}function Tabs({link,drives}){let{tabs=[],active}=useStore(link.tabs),list=T2(null),tab=(what,more)=>link.send({type:"tab",do:what,...more});return A2(()=>list.current?.
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
  </ul>`}function nameOf(title,url=""){return!title||title==="about:blank"?url==="about:blank"||!url?"New tab":url.replace(/^\w+:\/\//,"").slice(0,60):title}function addressOf(typed3){
let text=typed3.trim();if(text===""||/^about:blank$/i.test(text))return"about:blank";let named=/^[a-z][a-z0-9+.-]*:(?!\d+(?:[/?#]|$))/i.test(text),bare=/^(?:localhost|[\d.]+|\[[\da-f:.]+\]|[^/?#:]+\.localhost)(?=[:/?#]|$)/i.
test(text);try{let url=new URL(named?text:`${bare?"http":"https"}:${"/".repeat(2)}${text}`);return["http:","https:"].includes(url.protocol)&&!/\s/.test(text)?url.
href:""}catch{return""}}function Address({link,drives}){let page=useStore(link.page),[typed3,setTyped]=d2(null),[fault,setFault]=d2(""),field=T2(null),url=page?.
url&&page.url!=="about:blank"?page.url:"",go=(what,more)=>link.send({type:"go",do:what,...more}),reset=()=>{setTyped(null),setFault("")};A2(reset,[page?.tab]);let submit=event=>{
event.preventDefault();let to=addressOf(field.current.value);if(!to){setFault("Only http, https and about:blank addresses can be opened.");return}go("to",{url:to}),
reset(),document.querySelector(".typing")?.focus({preventScroll:!0})};return html`<div class="live-address">
    <button type="button" class="icon-button" aria-label="Back" title="Back" disabled=${!drives||!page?.canGoBack} onClick=${()=>go("back")}><${Icon} name="back" /></button>
    <button type="button" class="icon-button" aria-label="Forward" title="Forward" disabled=${!drives||!page?.canGoForward} onClick=${()=>go("forward")}><${Icon} name="forward" /></button>
    ${page?.loading?html`<button type="button" class="icon-button" aria-label="Stop loading" title="Stop loading" disabled=${!drives} onClick=${()=>go("stop")}><${Icon} name="close" /></button>`:
html`<button type="button" class="icon-button" aria-label="Reload" title="Reload" disabled=${!drives||!page} onClick=${()=>go("reload")}><${Icon} name="reload" /></button>`}
    <form onSubmit=${submit}>
      <input ref=${field} class=${page?.loading?"is-loading":""} aria-label="Address" inputmode="url" autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck=${!1}
        readonly=${!drives} placeholder=${drives?"Type an address":"New tab"} value=${typed3??url} aria-invalid=${fault?"true":void 0} aria-describedby=${fault?
"address-fault":void 0}
        onInput=${event=>{setTyped(event.currentTarget.value),setFault("")}} onFocus=${event=>event.currentTarget.select()}
        onBlur=${reset} onKeyDown=${event=>event.key==="Escape"&&reset()} />
      <p class="fault" id="address-fault" role="alert">${fault}</p>
    </form>
  </div>`}var SAME_ERROR_MS=4e3;function LiveView({link,owner=null}){let[toasts]=d2(()=>new Toasts),[zoom]=d2(()=>new Zoom),[pasting,setPasting]=d2(!1),phase=useStore(link.
phase),hello=useStore(link.hello),control=useStore(link.control),page=useStore(link.page),{tabs=[],active}=useStore(link.tabs),crashed=!!tabs.find(tab=>tab.id===
active)?.crashed,drives=phase.name==="live"&&control.you&&!hello?.readonly,view=T2(null),title=owner?.profile?.name||page?.title||"Live view";A2(()=>(document.title=
`${title} — Warren`,()=>{document.title="Warren"}),[title]),useErrors(link,toasts),usePasskeys(link,toasts);let leave=()=>view.current.querySelector(".live-ad\
dress input").focus(),type=()=>view.current.querySelector(".typing").focus();return html`<div class="live" ref=${view}>
    <header class="live-bars">
      <${Bar} ...${{link,zoom,owner,drives,toasts,view,paste:()=>setPasting(!0)}} />
      <div class="live-top">
        ${hello?.readonly?html`<${TabName} link=${link} />`:html`<nav class="live-tabs-room" aria-label="The browser’s tabs"><${Tabs} link=${link} drives=${drives} /></nav>`}
      </div>
      ${!hello?.readonly&&html`<div class="live-row">
        <${Address} link=${link} drives=${drives} />
        ${drives&&hello?.passkeys&&html`<button type="button" class="button small passkey-button" title="Press it before the site’s button: this tab may then make or use one passkey, within a minute" onClick=${()=>link.
send({type:"passkey"})}><${Icon} name="key" />Allow passkey</button>`}
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
A2(()=>{let last={text:"",at:0};return link.error.watch(({message,code})=>{let text=message||`The server refused that (${code}).`;text===last.text&&performance.
now()-last.at<SAME_ERROR_MS||(last={text,at:performance.now()},toasts.say({text}))})},[link])}function usePasskeys(link,toasts){A2(()=>{let last=0;return link.passkey.
watch(({tab,seconds})=>{let one=link.tabs.value.tabs.find(({id})=>id===tab);toasts.close(last),last=toasts.say({text:`“${one?.title||one?.url||"This tab"}” ma\
y make or use one passkey within ${span(seconds*1e3)}.`,more:"Press the site’s button now. If the site waits already, reload its page first.",tone:"good"})})},
[link])}function Overlay({link,phase,drives,crashed,home,start,starting}){let{tabs=[]}=useStore(link.tabs),hello=useStore(link.hello);return phase.name!=="live"?
html`<${Away} ...${{link,phase,home,start,starting}} />`:crashed?html`<${Card} title="This page has crashed"><p>The tab’s process has ended. Its cookies and the other tabs are untouched.</p>
      ${drives&&html`<button type="button" class="button primary" onClick=${()=>link.send({type:"go",do:"reload"})}><${Icon} name="reload" />Reload</button>`}<//>`:
hello&&tabs.length===0&&drives?html`<${Card} title="No tab is open"><button type="button" class="button primary" onClick=${()=>link.send({type:"tab",do:"open",url:"\
about:blank"})}><${Icon} name="plus" />Open a tab</button><//>`:null}function Card({title,children}){return html`<div class="over" role="status"><div class="over-card"><h2>${title}</h2>${children}</div></div>`}
function Away({link,phase,home,start,starting}){let again=html`<button type="button" class="button" onClick=${()=>link.connect()}>Try now</button>`,back=home&&html`<a class="button" href=${home}>Go to the profiles</a>`,
words=phase.words&&html`<p>${phase.words}</p>`;return phase.name==="connecting"?html`<${Card} title="Connecting…"><p class="muted">The picture comes in a moment.</p><//>`:
phase.name==="lost"?html`<${Card} title="The connection is lost">${words}<p>The browser may run on. The page tries again by itself.</p>${again}<//>`:phase.status===
409?html`<${Card} title="The browser is not running">${start?html`<p>Its picture shows here once it runs.</p>`:words}
      ${start&&html`<button type="button" class="button primary" disabled=${starting} onClick=${start}><${Icon} name="play" />${starting?"Starting…":"Start it"}</button>`}${back}<//>`:
phase.status===1e3?html`<${Card} title="The view has ended">${words}${again}${back}<//>`:phase.status===401||phase.status===403?html`<${Card} title="You may not see this">${words}${back}<//>`:
html`<${Card} title="This link is over">${words}<p>${home?"The profile or its run is gone.":"It was for one run of the browser. Ask for a new one from whoever g\
ave it to you."}</p>${back}<//>`}function Speed({link}){let{latency,rate}=useStore(link.meter.shown),roundTrip=useStore(link.roundTrip),about=`From your input t\
o the changed picture: the middle of the last 30.${roundTrip==null?"":` The link’s round trip: ${span(roundTrip)}.`}`;return html`<p class="live-speed number" title=${about}>${latency==
null?"":html`<span><span class="visually-hidden">From input to picture: </span>${Math.round(latency)} ms</span>`}
    <span title=${rate?"Pictures in the last second":"The page does not change, so there are no new pictures."}>${rate?`${rate} fps`:"idle"}</span></p>`}var KEPT="warren.live";function takeCapability(){let[,given]=/^#([\x21-\x7e]{16,300})$/.exec(location.hash)||[];try{if(!given)return sessionStorage.getItem(KEPT)||
"";sessionStorage.setItem(KEPT,given)}catch{}return given&&history.replaceState(null,"",location.pathname+location.search),given||""}function Root(){let[capability,
setCapability]=d2(takeCapability);return A2(()=>{let given=()=>setCapability(before=>takeCapability()||before);return addEventListener("hashchange",given),()=>removeEventListener(
"hashchange",given)},[]),capability?html`<${View} key=${capability} capability=${capability} />`:html`<${NoLink} />`}function View({capability}){let readonly=new URLSearchParams(
location.search).has("readonly"),link=w2(()=>new LiveLink(new CapabilityAccess(capability,readonly)),[]);return A2(()=>link.begin(),[]),html`<${LiveView} link=${link} />`}
function NoLink(){return html`<main class="login">
    <div class="login-card">
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">This link is not whole</h1>
      <p class="lead">A link to a live view ends with a mark and a long word, which opens it. Ask for the whole link again, or log in and choose View beside a running profile.</p>
      <a class="button primary large" href="./">Go to the profiles</a>
    </div>
    <div class="landscape">${[1,2,3,4].map(part=>html`<${Burrows} key=${part} />`)}</div>
  </main>`}Q(html`<${Root} />`,document.body);
