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
__}function A2(n3,u3){var i3=y2(t2++,3);!a2.__s&&E2(i3.__H,u3)&&(i3.__P=!0,i3.__=n3,i3.u=u3,r2.__H.__h.push(i3))}function T2(n3){return f2=5,w2(function(){return{current:n3}},[])}function w2(n3,r3){var u3=y2(t2++,7);return E2(u3.__H,r3)&&(u3.__=n3(),u3.__H=r3),u3.__}function g2(){var n3;do{for(;n3=e2.shift();)try{C2(n3)}catch(t5){a2.__e(t5,{__:(n3=n3.__P)&&n3.__v})}for(;n3=c2.shift();){var t4=n3.__H;if(n3.__P&&t4)try{t4.__h.
some(C2),t4.__h.some(D2),t4.__h=[]}catch(r3){t4.__h=[],a2.__e(r3,n3.__v)}}}while(e2.length)}a2.__b=function(n3){r2=null,v2&&v2(n3)},a2.__=function(n3,t4){n3&&t4.
__k&&t4.__k.__m&&(n3.__m=t4.__k.__m),p2&&p2(n3,t4)},a2.__r=function(n3){l2&&l2(n3),t2=0;var i3=(r2=n3.__c).__H;i3&&(u2==r2?r2.__h=[]:(i3.__h.some(C2),i3.__h.some(
D2),t2=0),i3.__h=[],i3.__.some(function(n4){n4.__N&&(n4.__=n4.__N),n4.u=n4.__N=void 0})),u2=r2},a2.diffed=function(n3){m2&&m2(n3);var t4=n3.__c;t4&&t4.__H&&(t4.
__H.__h.length&&B2(c2.push(t4)),t4.__H.__.some(function(n4){n4.u&&(n4.__H=n4.u)})),u2=r2=null},a2.__c=function(n3,t4){t4.some(function(n4){try{n4.__h.some(C2),n4.
__h=n4.__h.filter(function(n5){return!n5.__||D2(n5)})}catch(t5){n4.__h=[function(){throw t5}]}}),h2&&h2(n3,t4)},a2.unmount=function(n3){s2&&s2(n3);var t4,r3,u3=n3.
__c;u3&&u3.__H&&(u3.__H.__.some(function(u4){try{if(u4.__P&&u4.__c){if(r3===void 0){for(r3=n3.__;r3&&(!r3.__c||!r3.__c.__P);)r3=r3.__;r3=r3&&r3.__c}u4.__P=r3,B2(
e2.push(u4))}else C2(u4)}catch(n4){t4=n4}}),u3.__H=void 0,t4&&a2.__e(t4,u3.__v))};var k2=typeof requestAnimationFrame=="function";function z2(n3){var t4,r3=function(){
clearTimeout(u3),k2&&cancelAnimationFrame(t4),setTimeout(n3)},u3=setTimeout(r3,35);k2&&(t4=requestAnimationFrame(r3))}function B2(n3){n3!=1&&i2==a2.requestAnimationFrame||
((i2=a2.requestAnimationFrame)||z2)(g2)}function C2(n3){var t4=r2,u3=n3.__c;typeof u3=="function"&&(n3.__c=void 0,u3()),r2=t4}function D2(n3){var t4=r2;n3.__c=n3.
__(),r2=t4}function E2(n3,t4){return!n3||n3.length!=t4.length||t4.some(function(t5,r3){return!o2(t5,n3[r3])})}function G2(n3,t4){return typeof t4=="function"?t4(
n3):t4}var n2=function(t4,s3,r3,e3){var u3;s3[0]=0;for(var h3=1;h3<s3.length;h3++){var p3=s3[h3++],a3=s3[h3]?(s3[0]|=p3?1:2,r3[s3[h3++]]):s3[++h3];p3===3?e3[0]=a3:p3===
4?e3[1]=Object.assign(e3[1]||{},a3):p3===5?(e3[1]=e3[1]||{})[s3[++h3]]=a3:p3===6?e3[1][s3[++h3]]+=a3+"":p3?(u3=t4.apply(a3,n2(t4,a3,r3,["",null])),e3.push(u3),a3[0]?
s3[0]|=2:(s3[h3-2]=0,s3[h3]=u3)):e3.push(a3)}return e3},t3=new Map;function htm_default(s3){var r3=t3.get(this);return r3||(r3=new Map,t3.set(this,r3)),(r3=n2(this,
r3.get(s3)||(r3.set(s3,r3=(function(n3){for(var t4,s4,r4=1,e3="",u3="",h3=[0],p3=function(n4){r4===1&&(n4||(e3=e3.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?h3.push(0,
n4,e3):r4===3&&(n4||e3)?(h3.push(3,n4,e3),r4=2):r4===2&&e3==="..."&&n4?h3.push(4,n4,0):r4===2&&e3&&!n4?h3.push(5,0,!0,e3):r4>=5&&((e3||!n4&&r4===5)&&(h3.push(r4,
0,e3,s4),r4=6),n4&&(h3.push(r4,n4,0,s4),r4=6)),e3=""},a3=0;a3<n3.length;a3++){a3&&(r4===1&&p3(),p3(a3));for(var l3=0;l3<n3[a3].length;l3++)t4=n3[a3][l3],r4===1?
t4==="<"?(p3(),h3=[h3],r4=3):e3+=t4:r4===4?e3==="--"&&t4===">"?(r4=1,e3=""):e3=t4+e3[0]:u3?t4===u3?u3="":e3+=t4:t4==='"'||t4==="'"?u3=t4:t4===">"?(p3(),r4=1):r4&&
(t4==="="?(r4=5,s4=e3,e3=""):t4==="/"&&(r4<5||n3[a3][l3+1]===">")?(p3(),r4===3&&(h3=h3[0]),r4=h3,(h3=h3[0]).push(2,0,r4),r4=0):t4===" "||t4==="	"||t4===`
`||t4==="\r"?(p3(),r4=2):e3+=t4),r4===3&&e3==="!--"&&(r4=4,h3=h3[0])}return p3(),h3})(s3)),r3),arguments,[])).length>1?r3:r3[0]}var html=htm_default.bind(k);var BASE="api/v1",Problem=class extends Error{constructor(status,body,requestId){super(body.detail||body.title||`The server answered ${status}.`),this.status=status,
this.code=body.code||"",this.title=body.title||"",this.detail=body.detail||"",this.errors=Array.isArray(body.errors)?body.errors:[],this.requestId=requestId,this.
body=body}static field(error){let[,name]=/^(?:body|query|path)\.([^.[]+)/.exec(error.location||"")||[];return name||""}},UNREACHABLE={code:"unreachable",title:"\
Warren does not answer",detail:"The server may have stopped, or the network is down. What you see may be out of date."},Api=class{#key;#refused;constructor(key,refused=()=>{}){
this.#key=key,this.#refused=refused}get(path,query,options){return this.call("GET",path,{query,...options})}post(path,body,options){return this.call("POST",path,
{body,...options})}put(path,body,options){return this.call("PUT",path,{body,...options})}delete(path,query){return this.call("DELETE",path,{query})}async send(path,query,kind,text){
let response=await this.open("POST",BASE+path+search(query),{headers:{"Content-Type":kind},body:text});return parse(await response.text())}async lines(path,body,signal,total,line){
let response=await this.open("POST",BASE+path,{headers:{"Content-Type":"application/json"},body:JSON.stringify(body),signal}),expected=Number(response.headers.get(
"X-Total-Count"));total(expected);let seen=0,rest="";for(let reader=response.body.pipeThrough(new TextDecoderStream).getReader();;){let{done,value}=await reader.
read().catch(error=>{throw error.name==="AbortError"?error:new Problem(0,UNREACHABLE,"")});if(done)break;let texts=(rest+value).split(`
`);rest=texts.pop();for(let text of texts)line(parse(text));seen+=texts.length}if(seen<expected)throw new Problem(0,{...UNREACHABLE,detail:`The answer ended aft\
er ${seen} of ${expected}. The server’s log says why.`},"")}async call(method,path,options={}){return(await this.full(method,path,options)).data}async full(method,path,{
query,body,headers,signal}={}){let response=await this.open(method,BASE+path+search(query),{headers:body===void 0?headers:{"Content-Type":"application/json",...headers},
body:body===void 0?void 0:JSON.stringify(body),signal}),text=await response.text().catch(()=>"");return{data:text?parse(text):null,etag:response.headers.get("ET\
ag")}}async open(method,address,{headers,...rest}={}){let response;try{response=await fetch(address,{method,headers:{Authorization:`Bearer ${this.#key}`,...headers},
cache:"no-store",credentials:"omit",redirect:"error",...rest})}catch(error){throw error.name==="AbortError"?error:new Problem(0,UNREACHABLE,"")}if(response.ok)return response;
let body=parse(await response.text().catch(()=>""))||{},problem=new Problem(response.status,body,response.headers.get("X-Request-Id")||"");throw problem.status===
401&&this.#refused(problem),problem}};function search(query){let params=new URLSearchParams;for(let[name,value]of Object.entries(query||{}))for(let one of Array.
isArray(value)?value:[value])one!=null&&one!==""&&params.append(name,one);let text=params.toString();return text&&`?${text}`}function parse(text){try{return JSON.
parse(text)}catch{return null}}var AppContext=U(null);function span(ms){return ms<1e3?`${Math.max(0,Math.round(ms))} ms`:ms<10*1e3?`${(ms/1e3).toFixed(1)} s`:ms<6e4?`${Math.round(ms/1e3)} s`:ms<36e5?`${Math.floor(ms/
6e4)} min`:ms<864e5?two(ms,36e5,"h",6e4,"min"):two(ms,864e5,"d",36e5,"h")}function two(ms,big,bigName,small,smallName){let rest=Math.floor(ms%big/small);return`${Math.
floor(ms/big)} ${bigName}${rest?` ${rest} ${smallName}`:""}`}var PATHS={play:"M7 5.5v13l11-6.5z",stop:"M7 7h10v10H7z",edit:"M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4",more:"M5 12h.01M12 12h.01M19 12h.01",plus:"M12 5v14M5 12h14",
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
 16.2l-2.2 2.2",activity:"M4 5h16M4 12h16M4 19h10",collapse:"M14 6l-6 6 6 6",expand:"M10 6l6 6-6 6",bookmark:"M7 4h10v16l-5-4-5 4z",key:"M8 8a4 4 0 1 0 0 8 4 4 \
0 0 0 0-8zM12 12h9M18 12v4M21 12v3",exit:"M4 12h14M13 7l5 5-5 5M21 4v16"};function Icon({name}){return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`}
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
  </svg>`}var FAULTS={__proto__:null,dns_failed:["Its host name cannot be found.","Look for a typing error in the host."],connection_refused:["Nothing listens at its addr\
ess.","Check host and port. The proxy may be switched off."],connection_closed:["It hung up during the handshake.","Check the type. Some proxies hang up on addr\
esses that are not on their allow-list, or on a wrong password."],timed_out:["It did not answer in time.","Try again. If it stays so, the host, the port or a fi\
rewall is in the way."],host_unreachable:["No route leads to its address.","Check the host and this machine’s network."],tls_failed:["Encryption with it faile\
d.","If it speaks plain HTTP, choose the type HTTP. Else its certificate is not valid."],not_a_proxy:["Something answers there, but it is not a proxy of this ty\
pe.","Try another type, and check the port."],auth_required:["It wants a user name and a password.","Enter both."],auth_unsupported:["It wants a login of a kind\
 that is not spoken here.","Ask the provider for one with Basic or Digest, or for a SOCKS5 address."],auth_failed:["It refused the user name or the password.","\
Enter both again, or ask the provider."],password_unreadable:["Its saved password cannot be opened: it was sealed with another secret key.","Enter the password \
again, or serve Warren with the key of before."],request_refused:["It refused to connect on.","The account may have no traffic left, or its rules forbid the che\
ck’s address. Ask the provider."],target_unreachable:["It works, but cannot reach the check’s address.","Is the proxy online? Try again. If it stays so, ask\
 the provider, or serve Warren with another --check-url."],bad_response:["What came back through it is not an answer of the check’s address.","It may show a l\
ogin page first, or change what passes through. Ask the provider."],blocked_address:["Its address, or the check’s, is one that Warren does not dial.","What is\
 in a private network, or a proxy on this machine, needs a server that was started with --allow-private=yes."]};function faultWords(error){if(!error)return null;
if(error.code==="dns_failed"&&error.stage!=="resolve")return{happened:"It cannot find the name of the check’s address.",advice:"The proxy’s own name lookup fa\
ils. Ask the provider."};let behind=error.stage==="request"&&["host_unreachable","connection_refused"].includes(error.code),[happened,advice]=FAULTS[behind?"tar\
get_unreachable":error.code]||[error.message||"The check failed.",""];return{happened,advice}}function checkSentence(check){if(!check.ok)return faultWords(check.
error)?.happened||"The check failed.";let place=check.countryName||check.country,parts=[`The world sees ${check.exitIp||"an unknown address"}${place?` in ${place}`:
""}`];return check.latencyMs!=null&&parts.push(span(check.latencyMs)),`${parts.join(", ")}.`}var TITLES={__proto__:null,unauthorized:"The key is not valid here",forbidden:"Your key may not do this",origin_not_allowed:"The server does not take requests f\
rom this address of the page",host_not_allowed:"The server does not answer to this address",profile_not_found:"This profile does not exist any more",proxy_not_found:"\
This proxy does not exist any more",profile_running:"The profile is running",profile_busy:"The profile is busy",proxy_missing:"The profile has lost its proxy",proxy_in_use:"\
Profiles still use this proxy",duplicate:"This proxy is there already",etag_mismatch:"Someone else changed this meanwhile",validation_failed:"Please check the h\
ighlighted fields",malformed_json:"The server could not read the request",rate_limited:"Too many requests",start_queue_full:"Too many browsers are starting",proxy_unreachable:"\
The proxy does not work",browser_not_found:"No browser was found",browser_failed:"The browser did not start",capacity_exceeded:"No more browsers may run",database_busy:"\
The database is busy",database_damaged:"The database is damaged",start_timeout:"The browser took too long to start",disk_full:"The disk is full"},WORDS={__proto__:null,
proxy_in_use:"Nothing was deleted. Give the profiles another proxy first, or none: they must not go out directly by accident.",duplicate:"A proxy with this type\
, host, port and user name is in this workspace already."};function problemWords(problem){return WORDS[problem.code]||problem.message}function problemTitle(problem){
return TITLES[problem.code]||problem.title||"That did not work"}var SHEET=new URL("flags.svg",import.meta.url).href;function Name({children}){return html`<bdi class="name">${children}</bdi>`}function ProblemBox({problem,shown=[],children}){if(!problem)return null;let errors=(problem.errors||[]).filter(error=>!shown.includes(error));if(problem.code===
"validation_failed"&&errors.length===0&&shown.length>0)return null;let{check,lines,exitCode}=problem.body||{};return html`<div class="problem" role="alert" tabindex="-1">
    <p class="problem-title"><${Icon} name="warning" />${problemTitle(problem)}</p>
    ${problem.message&&problem.code!=="validation_failed"&&html`<${Prose} text=${problemWords(problem)} />`}
    ${problem.users?.length>0&&html`<ul aria-label="Profiles that use it">${problem.users.map(profile=>html`<li key=${profile.id}><${Name}>${profile.name}<//></li>`)}
      ${problem.moreUsers>0&&html`<li>and ${problem.moreUsers} more</li>`}</ul>`}
    ${errors.length>0&&html`<ul>${errors.map(error=>html`<li>${error.location?html`<code>${error.location}</code>: `:""}${error.message}</li>`)}</ul>`}
    ${check&&html`<p>${checkSentence(check)} ${faultWords(check.error)?.advice}</p>`}
    ${exitCode!=null&&html`<p>Exit code ${exitCode}.</p>`}
    ${lines?.length>0&&html`<pre class="lines" tabindex="0" aria-label="The browser’s last lines">${lines.join(`
`)}</pre>`}
    ${children}
    ${problem.requestId&&html`<p class="request">Request ${problem.requestId}</p>`}
  </div>`}function Prose({text}){return text?html`<div class="prose">${text.split(/\n\n+/).map((paragraph,i3)=>html`<p key=${i3}>${paragraph.split(/(`[^`]+`)/).
map(part=>/^`.+`$/.test(part)?html`<code>${part.slice(1,-1)}</code>`:part)}</p>`)}</div>`:null}function Copy({text,label="Copy"}){let[done,setDone]=d2(!1),button=T2(null);return html`<button type="button" class="button small" ref=${button} onClick=${async()=>{
try{await navigator.clipboard.writeText(text)}catch{copyByCommand(text,button.current)}setDone(!0),setTimeout(()=>setDone(!1),2e3)}} aria-label=${done?"Copied":
label}>
    <${Icon} name=${done?"check":"copy"} /><span aria-live="polite">${done?"Copied":"Copy"}</span>
  </button>`}function copyByCommand(text,beside){let field=document.createElement("textarea");field.value=text,field.className="visually-hidden",beside.after(field),
field.select(),document.execCommand("copy"),field.remove(),beside.focus()}function Waiting(){return html`<div class="waiting" role="status"><span class="visually-hidden">Reading…</span>
    ${[1,2,3,4,5].map(row=>html`<div class="bone" key=${row}></div>`)}
  </div>`}var NAME="warren.key",memory="";function takeKeyFromAddress(){let[,given2]=/^#key=(.+)$/.exec(location.hash)||[];if(!given2)return"";history.replaceState(null,"",
location.pathname+location.search);let key=given2;try{key=decodeURIComponent(given2)}catch{}return looksLikeKey(key)?(saveKey(key),key):""}function looksLikeKey(text){
return/^[\x21-\x7e]{1,200}$/.test(text)}function readKey(){try{return sessionStorage.getItem(NAME)||memory}catch{return memory}}function saveKey(key){memory=key;
try{sessionStorage.setItem(NAME,key)}catch{}}function dropKey(){memory="";try{sessionStorage.removeItem(NAME)}catch{}}function Login({enter,reason,what="your profiles and proxies"}){let[key,setKey]=d2(""),[fault,setFault]=d2(reason),[problem,setProblem]=d2(null),[busy,setBusy]=d2(
!1),field=T2(null);return html`<main class="login">
    <form class="login-card" onSubmit=${async event=>{event.preventDefault();let given2=key.trim();if(setFault(""),setProblem(null),!looksLikeKey(given2)){setFault(
given2?"This is not a key: it has spaces or letters that no key has.":"Paste your key first."),field.current.focus();return}setBusy(!0);try{await new Api(given2).
get("/profiles",{limit:1}),enter(given2)}catch(error){error.status===401?setFault("The server does not know this key. It may be mistyped, revoked or expired."):
setProblem(error),setBusy(!1),field.current?.focus()}}} novalidate>
      <p class="brand"><${Logo} />Warren</p>
      <h1 tabindex="-1">Welcome</h1>
      <p class="lead">Log in with your API key to see ${what}.</p>
      <div class="field">
        <label for="key">API key</label>
        <input id="key" ref=${field} type="password" autocomplete="current-password" autofocus spellcheck=${!1} placeholder="wrn_…"
          aria-invalid=${fault?"true":void 0} aria-describedby=${fault?"key-fault key-hint":"key-hint"}
          value=${key} onInput=${event=>setKey(event.currentTarget.value)} />
        <div role="alert">${fault&&html`<p class="fault" id="key-fault">${fault}</p>`}</div>
        <p class="hint" id="key-hint">Warren printed it when it first started, and keeps it in <code>admin.key</code> in its data folder. <code>warren key create</code> makes another.</p>
      </div>
      <${ProblemBox} problem=${problem} />
      <button class="button primary large" disabled=${busy}>${busy?"Looking…":"Log in"}</button>
      <p class="hint">The key stays in this tab and is forgotten when you close it.</p>
    </form>
    <div class="landscape">${[1,2,3,4].map(part=>html`<${Burrows} key=${part} />`)}</div>
  </main>`}var DEPTH=6;function resolve(doc,value){let found=value;for(let i3=0;found?.$ref&&i3<DEPTH;i3+=1)found=found.$ref.replace(/^#\//,"").split("/").map(step=>step.replaceAll(
"~1","/").replaceAll("~0","~")).reduce((at,step)=>at?.[step],doc);return found||{}}function typeOf(doc,given2){let schema=resolve(doc,given2),types=[].concat(schema.
type||[]),main=types.find(type=>type!=="null"),alternatives=schema.oneOf||schema.anyOf;if(alternatives)return alternatives.map(one=>typeOf(doc,one)).join(" or ");
let words=main||(schema.properties?"object":types[0]||"any");return main==="array"&&(words=`list of ${typeOf(doc,schema.items||{})}`),schema.format&&!/^(int|double|float)/.
test(schema.format)&&(words+=` (${schema.format})`),main&&types.includes("null")?`${words} or null`:words}function Schema({doc,schema,depth=0}){let found=resolve(
doc,schema),inner=found.items?resolve(doc,found.items):found,members=Object.entries(inner.properties||{});return!members.length||depth>DEPTH?html`<p class="type">${typeOf(
doc,schema)}</p>`:html`<ul class="members">${members.map(([name,member])=>html`<${Member} key=${name}
    ...${{doc,name,member,depth,required:inner.required?.includes(name)}} />`)}</ul>`}function Member({doc,name,member,required,depth}){let schema=resolve(doc,member),
nested=schema.properties||resolve(doc,schema.items||{}).properties;return html`<li>
    <p><code class="member">${name}</code> <span class="type">${typeOf(doc,member)}</span>${required&&depth===0&&html` <span class="required">required</span>`}</p>
    <${Prose} text=${member.description||schema.description} />
    <${Bounds} schema=${schema} />
    ${nested&&html`<details class="fold"><summary>Members of ${name}</summary><${Schema} doc=${doc} schema=${member} depth=${depth+1} /></details>`}
  </li>`}function Bounds({schema}){let{minimum,maximum,minLength,maxLength,minItems,maxItems,pattern}=schema,values=schema.enum||schema.items?.enum,bounds=[range(
minimum,maximum,""),range(minLength,maxLength," characters"),range(minItems,maxItems," of them"),pattern&&`like ${pattern}`].filter(Boolean).join(", ");return!values&&
!bounds&&schema.default===void 0?null:html`<p class="bounds">
    ${values&&html`One of ${values.map(value=>html`<code key=${value}>${String(value)}</code> `)}`}
    ${bounds} ${schema.default!==void 0&&html`Default <code>${JSON.stringify(schema.default)}</code>`}
  </p>`}function range(from,to,unit){let[least,most]=[from,to].map(n3=>n3===void 0?n3:new Intl.NumberFormat("en").format(n3));return least===void 0&&most===void 0?
"":least===void 0?`at most ${most}${unit}`:most===void 0?`at least ${least}${unit}`:`${least} to ${most}${unit}`}function exampleOf(doc,given2,{asked=!1,depth=0}={}){
let schema=resolve(doc,given2),own=given2?.examples?.[0]??schema.examples?.[0]??schema.example??schema.const??schema.default??schema.enum?.[0];if(own!==void 0)return own;
let types=[].concat(schema.type||(schema.properties?"object":[])),type=types.find(one=>one!=="null");if(types.includes("null")&&!["object","array"].includes(type))
return null;let next={asked,depth:depth+1};if(depth>DEPTH)return null;if(schema.oneOf||schema.anyOf)return exampleOf(doc,(schema.oneOf||schema.anyOf)[0],next);if(type===
"array")return asked?[]:[exampleOf(doc,schema.items||{},next)];if(type==="object"){let members=Object.entries(schema.properties||{}).filter(([name,member])=>!asked||
schema.required?.includes(name)||(member.examples??resolve(doc,member).examples)!==void 0);return Object.fromEntries(members.map(([name,member])=>[name,exampleOf(
doc,member,next)]))}return plain(type,schema)}function plain(type,schema){return type==="integer"||type==="number"?schema.minimum??0:type==="boolean"?!1:type!==
"string"?null:{__proto__:null,"date-time":"2026-01-31T12:00:00.000Z",uri:"https://example.com/"}[schema.format]??""}function Operation({doc,operation}){let{id,method,path,summary,description,parameters,requestBody,responses={}}=operation,body=jsonOf(requestBody&&resolve(doc,requestBody)),
good=Object.entries(responses).filter(([status])=>/^[123]/.test(status)),bad=Object.entries(responses).filter(([status])=>!/^[123]/.test(status)),command=curl(doc,
operation,body);return html`<article class="operation" id=${id} aria-labelledby=${`${id}-title`}>
    <div class="operation-words">
      <h3 id=${`${id}-title`}><a href=${`#${id}`}>${summary||id}</a></h3>
      <p class="operation-path"><span class="method ${method}">${method}</span><code>${path}</code></p>
      <${Prose} text=${description} />
      <${Parameters} doc=${doc} parameters=${parameters.map(parameter=>resolve(doc,parameter))} />
      ${body&&html`<h4>Body${requestBody.required?"":html` <span class="optional">optional</span>`}</h4><${Schema} doc=${doc} schema=${body.schema} />`}
      ${good.map(([status,response])=>html`<${Answer} key=${status} doc=${doc} status=${status} response=${resolve(doc,response)} />`)}
      ${bad.length>0&&html`<h4>Errors</h4><ul class="errors">${bad.map(([status,response])=>html`<${ErrorLine} key=${status} doc=${doc} status=${status} response=${resolve(
doc,response)} />`)}</ul>`}
    </div>
    <div class="operation-code">
      <${Code} title="Call" text=${command} />
      ${good.map(([status,response])=>html`<${AnswerExample} key=${status} doc=${doc} status=${status} response=${resolve(doc,response)} />`)}
    </div>
  </article>`}function Parameters({doc,parameters}){return parameters.length?html`<h4>Parameters</h4><ul class="members">${parameters.map(({name,in:place,required,
description,schema={}})=>html`<li key=${place+name}>
    <p><code class="member">${name}</code> <span class="type">${typeOf(doc,schema)}, in ${place}</span>${required&&html` <span class="required">required</span>`}</p>
    <${Prose} text=${description||schema.description} />
  </li>`)}</ul>`:null}function Answer({doc,status,response}){let content=jsonOf(response);return html`<h4>Answer ${status} <span class="optional">${response.description}</span></h4>
    ${content?.schema?html`<details class="fold"><summary>What it holds</summary><${Schema} doc=${doc} schema=${content.schema} /></details>`:html`<p class="lead">${Object.
keys(response.content||{}).join(", ")||"No body."}</p>`}`}function AnswerExample({doc,status,response}){let content=jsonOf(response);return content?html`<${Code} title=${`\
Answer ${status}`} text=${JSON.stringify(given(content)??exampleOf(doc,content.schema),null,2)} />`:null}function ErrorLine({doc,status,response}){let examples=jsonOf(
response)?.examples||{},codes=Object.entries(examples).map(([name,example])=>resolve(doc,example).value?.code||name);return html`<li><strong>${status}</strong> ${response.
description} ${codes.map(code=>html`<code key=${code}>${code}</code> `)}</li>`}function Code({title,text}){return html`<div class="code"><p class="code-title">${title}</p><pre tabindex="0" aria-label=${title}>${text}</pre><${Copy} text=${text} label=${`\
Copy: ${title}`} /></div>`}function jsonOf(holder){let content=holder?.content||{},type=Object.keys(content).find(name=>/json$/.test(name));return type?content[type]:
null}function given(content){if(content.example!==void 0)return content.example;let[first]=Object.values(content.examples||{});return first?.value}function curl(doc,{
method,path,parameters,security,requestBody},body){let query=parameters.map(parameter=>resolve(doc,parameter)).filter(({in:place,required,example,schema})=>place===
"query"&&(required||(example??schema?.examples?.[0])!==void 0)).map(({name,example,schema})=>`${name}=${encodeURIComponent(example??exampleOf(doc,schema))}`).join(
"&"),address=new URL(`.${path.replace(/\{(\w+)[^}]*\}/g,(_3,name)=>name.toUpperCase())}`,document.baseURI).href+(query&&`?${query}`),parts=[`curl ${method==="ge\
t"?"":`-X ${method.toUpperCase()} `}${quote(address)}`];(!security||security.length)&&parts.push('-H "Authorization: Bearer $WARREN_API_KEY"');let sent=body&&JSON.
stringify(given(body)??exampleOf(doc,body.schema,{asked:!0}),null,2);return sent&&(sent!=="{}"||requestBody.required)&&parts.push("-H 'Content-Type: application\
/json'",`-d ${quote(sent)}`),parts.join(` \\
  `)}function quote(text){return/^[\w:/.-]+$/.test(text)?text:`'${text.replaceAll("'","'\\''")}'`}var PAUSE_MS=200;function SearchBox({value,label,change}){let[text,setText]=d2(value),timer=T2(0);return A2(()=>setText(now=>now.trim()===value?now:value),[value]),
A2(()=>()=>clearTimeout(timer.current),[]),html`<div class="search"><${Icon} name="search" />
    <input type="search" aria-label=${label} placeholder=${label} value=${text} onInput=${event=>{let next=event.currentTarget.value;setText(next),clearTimeout(
timer.current),timer.current=setTimeout(()=>change(next.trim()),PAUSE_MS)}} spellcheck=${!1} />
    <kbd aria-hidden="true" title="Press / to search">/</kbd>
  </div>`}var METHODS=["get","post","put","patch","delete"];function Root(){let[key,setKey]=d2(()=>takeKeyFromAddress()||readKey()),[reason,setReason]=d2("");return key?html`<${Docs} secret=${key} leave=${()=>{
dropKey(),setReason("The server no longer takes this key. It may have been revoked, or have expired."),setKey("")}} />`:html`<${Login} enter=${fresh=>{saveKey(fresh),
setKey(fresh)}} reason=${reason} what="the description of the API" />`}function Docs({secret,leave}){let[doc,setDoc]=d2(null),[problem,setProblem]=d2(null),[search2,
setSearch]=d2(""),read=()=>new Api(secret,leave).open("GET","openapi.json").then(response=>response.json()).then(setDoc,setProblem);A2(()=>{read()},[]);let shown=w2(
()=>doc?operationsOf(doc):[],[doc]).filter(operation=>matches(operation,search2.toLowerCase())),groups=groupsOf(doc,shown),current=useCurrent(doc);return A2(()=>{
let slash=event=>{event.key!=="/"||event.target.closest("input")||(event.preventDefault(),document.querySelector('input[type="search"]')?.focus())};return addEventListener(
"keydown",slash),()=>removeEventListener("keydown",slash)},[]),html`<a class="skip" href="#main" onClick=${event=>{event.preventDefault(),document.querySelector(
"main h1")?.focus()}}>Skip to content</a>
    <div class="frame docs">
      <aside class="side">
        <a class="brand" href="./"><${Logo} />Warren</a>
        <${SearchBox} value=${search2} label="Search the API" change=${setSearch} />
        <nav aria-label="Operations" class="contents">
          ${groups.map(({name,operations})=>html`<div key=${name}><h2>${name}</h2>
            <ul>${operations.map(({id,method,summary})=>html`<li key=${id}><a href=${`#${id}`} aria-current=${current===id?"true":void 0}>
              <span class="method ${method}">${method}</span>${summary}</a></li>`)}</ul></div>`)}
        </nav>
        <p class="visually-hidden" role="status">${search2?`${shown.length} operations fit`:""}</p>
      </aside>
      <main id="main">
        <${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${()=>{setProblem(null),read()}}>Try again</button><//>
        ${!doc&&!problem&&html`<${Waiting} />`}
        ${doc&&html`<${Intro} doc=${doc} />`}
        ${doc&&groups.map(({name,about,operations})=>html`<section key=${name} class="group-of-operations">
          <h2>${name}</h2>${about&&html`<${Prose} text=${about} />`}
          ${operations.map(operation=>html`<${Operation} key=${operation.id} doc=${doc} operation=${operation} />`)}
        </section>`)}
        ${doc&&shown.length===0&&html`<p class="lead">No operation fits this search.</p>`}
      </main>
    </div>`}function Intro({doc}){let{info}=doc;return html`<header class="intro">
    <p class="back"><a href="./"><${Icon} name="exit" />Back to the profiles</a></p>
    <h1 tabindex="-1">${info.title} API <span class="total">${info.version}</span></h1>
    <${Prose} text=${info.description} />
    <p>The examples take the key from the environment. The description itself is <a href="openapi.json" download="openapi.json" onClick=${event=>save(event,doc)}>openapi.json</a> (OpenAPI ${doc.
openapi}).</p>
    <div class="code"><pre tabindex="0" aria-label="Shell">${"export WARREN_API_KEY=wrn_…   # your key"}</pre><${Copy} text="export WARREN_API_KEY=" label="Copy" /></div>
  </header>`}function save(event,doc){event.preventDefault();let link=document.createElement("a");link.href=URL.createObjectURL(new Blob([JSON.stringify(doc,null,
2)],{type:"application/json"})),link.download="openapi.json",link.click(),setTimeout(()=>URL.revokeObjectURL(link.href),1e3)}function operationsOf(doc){let list=[];
for(let[path,item]of Object.entries(doc.paths||{}))for(let method of METHODS){let operation=item[method];if(!operation)continue;let server=(operation.servers||item.
servers||doc.servers||[{url:""}])[0].url.replace(/\/$/,"");list.push({...operation,id:operation.operationId||`${method}${path}`.replace(/\W+/g,"-"),method,path:server+
path,parameters:[...item.parameters||[],...operation.parameters||[]]})}return list}function groupsOf(doc,operations){return[...new Set([...(doc?.tags||[]).map(tag=>tag.
name),...operations.map(tagOf)])].map(name=>({name,about:(doc.tags||[]).find(tag=>tag.name===name)?.description,operations:operations.filter(operation=>tagOf(operation)===
name)})).filter(group=>group.operations.length)}function tagOf(operation){return operation.tags?.[0]||"other"}function matches({id,method,path,summary="",description=""},search2){
let text=`${id} ${method} ${path} ${summary} ${description}`.toLowerCase();return search2.split(/\s+/).every(word=>text.includes(word))}function useCurrent(doc){
let[current,setCurrent]=d2("");return A2(()=>{if(!doc)return;let go=()=>document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();go();
let seen=new IntersectionObserver(entries=>{let entry=entries.find(one=>one.isIntersecting);entry&&setCurrent(entry.target.id)},{rootMargin:"-10% 0px -75%"});for(let section of document.
querySelectorAll(".operation"))seen.observe(section);return addEventListener("hashchange",go),()=>{seen.disconnect(),removeEventListener("hashchange",go)}},[doc]),
current}Q(html`<${Root} />`,document.body);
