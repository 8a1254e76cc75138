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
var s3,p3,v3,d3,k3,b,m3,M,C3,j3,L2,H2,q2,A3,O2,P3,T3,N2,V2=r3.type;if(r3.constructor!==h)return null;128&u3.__u&&(c3=32&u3.__u,s3=u3.__c.__z)&&(r3.__u|=c3,p3=o3=
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
o3){for(~(T3=o3.indexOf(l3||void 0))||(T3=o3.length);(N2=o3[T3-1])&&N2.nodeType==8;)T3--;for(;T3<o3.length;T3++)if(N2=o3[T3])if(o3[T3]=null,O2){if(N2==P3)break}else{
if(N2.nodeType!=8)break;N2.data.startsWith("$s")&&(P3=B(O2=N2))}}if(!O2){for(;l3&&l3.nodeType==8&&l3.nextSibling;)l3=l3.nextSibling;O2=l3}(s3=B(O2=r3.__c.__z||(r3.
__c.__z=O2)))?(r3.__e=O2,l3=s3):r3.__e=l3,l3=l3&&l3.nextSibling}else o3&&o3.some(g);else r3.__e=u3.__e;r3.__k||(r3.__k=u3.__k||[]),t5&&t5.then||D(r3),n.__e(t5,r3,
u3)}}else l3=r3.__e=F(u3.__e,r3,u3,i3,f3,o3,e3,c3,a3,t4);return(s3=n.diffed)&&s3(r3),l3}function B(n3,t4){if(n3&&n3.nodeType==8&&n3.data.startsWith("$s"))for(var r3=1;n3=
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
i3.__H,u3)&&(i3.__P=!1,i3.__=n3,i3.u=u3,r2.__h.push(i3))}function T2(n3){return f2=5,w2(function(){return{current:n3}},[])}function w2(n3,r3){var u3=y2(t2++,7);return E2(u3.__H,r3)&&(u3.__=n3(),u3.__H=r3),u3.__}function j2(n3){var u3=r2.context[n3.__c],i3=y2(t2++,9);return i3.c=n3,u3?(i3.__==null&&(i3.__=!0,u3.sub(r2)),u3.props.value):n3.__}function O(n3){var u3=y2(t2++,10),i3=d2();return u3.__=n3,r2.componentDidCatch||(r2.componentDidCatch=function(n4,t4){u3.__&&u3.__(n4,t4),i3[1](n4)}),[i3[0],function(){
return i3[1]()}]}function P2(){var n3=y2(t2++,11);if(!n3.__){for(var u3=r2.__v;!u3.__m&&u3.__;)u3=u3.__;var i3=u3.__m||(u3.__m=[0,0]);n3.__="P"+i3[0]+"-"+i3[1]++}
return n3.__}function g2(){var n3;do{for(;n3=e2.shift();)try{C2(n3)}catch(t5){a2.__e(t5,{__:(n3=n3.__P)&&n3.__v})}for(;n3=c2.shift();){var t4=n3.__H;if(n3.__P&&
t4)try{t4.__h.some(C2),t4.__h.some(D2),t4.__h=[]}catch(r3){t4.__h=[],a2.__e(r3,n3.__v)}}}while(e2.length)}a2.__b=function(n3){r2=null,v2&&v2(n3)},a2.__=function(n3,t4){
n3&&t4.__k&&t4.__k.__m&&(n3.__m=t4.__k.__m),p2&&p2(n3,t4)},a2.__r=function(n3){l2&&l2(n3),t2=0;var i3=(r2=n3.__c).__H;i3&&(u2==r2?r2.__h=[]:(i3.__h.some(C2),i3.
__h.some(D2),t2=0),i3.__h=[],i3.__.some(function(n4){n4.__N&&(n4.__=n4.__N),n4.u=n4.__N=void 0})),u2=r2},a2.diffed=function(n3){m2&&m2(n3);var t4=n3.__c;t4&&t4.
__H&&(t4.__H.__h.length&&B2(c2.push(t4)),t4.__H.__.some(function(n4){n4.u&&(n4.__H=n4.u)})),u2=r2=null},a2.__c=function(n3,t4){t4.some(function(n4){try{n4.__h.some(
C2),n4.__h=n4.__h.filter(function(n5){return!n5.__||D2(n5)})}catch(t5){n4.__h=[function(){throw t5}]}}),h2&&h2(n3,t4)},a2.unmount=function(n3){s2&&s2(n3);var t4,
r3,u3=n3.__c;u3&&u3.__H&&(u3.__H.__.some(function(u4){try{if(u4.__P&&u4.__c){if(r3===void 0){for(r3=n3.__;r3&&(!r3.__c||!r3.__c.__P);)r3=r3.__;r3=r3&&r3.__c}u4.
__P=r3,B2(e2.push(u4))}else C2(u4)}catch(n4){t4=n4}}),u3.__H=void 0,t4&&a2.__e(t4,u3.__v))};var k2=typeof requestAnimationFrame=="function";function z2(n3){var t4,
r3=function(){clearTimeout(u3),k2&&cancelAnimationFrame(t4),setTimeout(n3)},u3=setTimeout(r3,35);k2&&(t4=requestAnimationFrame(r3))}function B2(n3){n3!=1&&i2==a2.
requestAnimationFrame||((i2=a2.requestAnimationFrame)||z2)(g2)}function C2(n3){var t4=r2,u3=n3.__c;typeof u3=="function"&&(n3.__c=void 0,u3()),r2=t4}function D2(n3){
var t4=r2;n3.__c=n3.__(),r2=t4}function E2(n3,t4){return!n3||n3.length!=t4.length||t4.some(function(t5,r3){return!o2(t5,n3[r3])})}function G2(n3,t4){return typeof t4==
"function"?t4(n3):t4}var n2=function(t4,s3,r3,e3){var u3;s3[0]=0;for(var h3=1;h3<s3.length;h3++){var p3=s3[h3++],a3=s3[h3]?(s3[0]|=p3?1:2,r3[s3[h3++]]):s3[++h3];p3===3?e3[0]=a3:p3===
4?e3[1]=Object.assign(e3[1]||{},a3):p3===5?(e3[1]=e3[1]||{})[s3[++h3]]=a3:p3===6?e3[1][s3[++h3]]+=a3+"":p3?(u3=t4.apply(a3,n2(t4,a3,r3,["",null])),e3.push(u3),a3[0]?
s3[0]|=2:(s3[h3-2]=0,s3[h3]=u3)):e3.push(a3)}return e3},t3=new Map;function htm_default(s3){var r3=t3.get(this);return r3||(r3=new Map,t3.set(this,r3)),(r3=n2(this,
r3.get(s3)||(r3.set(s3,r3=(function(n3){for(var t4,s4,r4=1,e3="",u3="",h3=[0],p3=function(n4){r4===1&&(n4||(e3=e3.replace(/^\s*\n\s*|\s*\n\s*$/g,"")))?h3.push(0,
n4,e3):r4===3&&(n4||e3)?(h3.push(3,n4,e3),r4=2):r4===2&&e3==="..."&&n4?h3.push(4,n4,0):r4===2&&e3&&!n4?h3.push(5,0,!0,e3):r4>=5&&((e3||!n4&&r4===5)&&(h3.push(r4,
0,e3,s4),r4=6),n4&&(h3.push(r4,n4,0,s4),r4=6)),e3=""},a3=0;a3<n3.length;a3++){a3&&(r4===1&&p3(),p3(a3));for(var l3=0;l3<n3[a3].length;l3++)t4=n3[a3][l3],r4===1?
t4==="<"?(p3(),h3=[h3],r4=3):e3+=t4:r4===4?e3==="--"&&t4===">"?(r4=1,e3=""):e3=t4+e3[0]:u3?t4===u3?u3="":e3+=t4:t4==='"'||t4==="'"?u3=t4:t4===">"?(p3(),r4=1):r4&&
(t4==="="?(r4=5,s4=e3,e3=""):t4==="/"&&(r4<5||n3[a3][l3+1]===">")?(p3(),r4===3&&(h3=h3[0]),r4=h3,(h3=h3[0]).push(2,0,r4),r4=0):t4===" "||t4==="	"||t4===`
`||t4==="\r"?(p3(),r4=2):e3+=t4),r4===3&&e3==="!--"&&(r4=4,h3=h3[0])}return p3(),h3})(s3)),r3),arguments,[])).length>1?r3:r3[0]}var html=htm_default.bind(k);var BASE="api/v1",Problem=class extends Error{constructor(status,body,requestId){super(body.detail||body.title||`The server answered ${status}.`),this.status=status,
this.code=body.code||"",this.title=body.title||"",this.detail=body.detail||"",this.errors=Array.isArray(body.errors)?body.errors:[],this.requestId=requestId,this.
body=body}static field(error){let[,name]=/^(?:body|query|path|header)\.([^.[]+)/.exec(error.location||"")||[];return name||""}static path(error){return(error.location||
"").replace(/^[a-z]+\./,"")}},UNREACHABLE={code:"unreachable",title:"Warren does not answer",detail:"The server may have stopped, or the network is down. What y\
ou see may be out of date."},Api=class{#key;#refused;constructor(key,refused=()=>{}){this.#key=key,this.#refused=refused}renew(key){let other=key!==this.#key;return this.#key=
key,other}get(path,query,options){return this.call("GET",path,{query,...options})}post(path,body,options){return this.call("POST",path,{body,...options})}put(path,body,options){
return this.call("PUT",path,{body,...options})}delete(path,query){return this.call("DELETE",path,{query})}async send(path,query,kind,text,signal){let response=await this.
open("POST",BASE+path+search(query),{headers:{"Content-Type":kind},body:text,signal});return parse(await response.text())}upload(path,query,headers,file,signal,progress){
return new Promise((resolve,reject)=>{let request=new XMLHttpRequest;request.open("POST",BASE+path+search(query));for(let[name,value]of Object.entries({...this.#key&&
{Authorization:`Bearer ${this.#key}`},...headers}))request.setRequestHeader(name,value);request.upload.onprogress=({loaded:loaded2})=>progress(loaded2),request.
upload.onload=()=>progress(file.size),request.onerror=()=>reject(new Problem(0,UNREACHABLE,"")),request.onabort=()=>reject(new DOMException("","AbortError")),request.
onload=()=>{let body=parse(request.responseText);if(request.status<300)return resolve(body);let problem=new Problem(request.status,body||{},request.getResponseHeader(
"X-Request-Id")||"");problem.status===401&&this.#refused(problem),reject(problem)},signal.addEventListener("abort",()=>request.abort()),request.send(file)})}async lines(path,body,signal,total,line){
let response=await this.open("POST",BASE+path,{headers:{"Content-Type":"application/json"},body:JSON.stringify(body),signal}),expected=Number(response.headers.get(
"X-Total-Count"));total(expected);let seen=0,rest="";for(let reader=response.body.pipeThrough(new TextDecoderStream).getReader();;){let{done,value}=await reader.
read().catch(error=>{throw error.name==="AbortError"?error:new Problem(0,UNREACHABLE,"")});if(done)break;let texts=(rest+value).split(`
`);rest=texts.pop();for(let text of texts)line(parse(text));seen+=texts.length}if(seen<expected)throw new Problem(0,{...UNREACHABLE,detail:`The answer ended aft\
er ${seen} of ${expected}. The server’s log says why.`},"")}async call(method,path,options={}){return(await this.full(method,path,options)).data}async full(method,path,{
query,body,headers,...rest}={}){let response=await this.open(method,BASE+path+search(query),{headers:body===void 0?headers:{"Content-Type":"application/json",...headers},
body:body===void 0?void 0:JSON.stringify(body),...rest}),text=await response.text().catch(()=>"");return{data:text?parse(text):null,etag:response.headers.get("E\
Tag")}}async open(method,address2,{headers,...rest}={}){let response;try{response=await fetch(address2,{method,headers:{...this.#key&&{Authorization:`Bearer ${this.#key}`},
...headers},cache:"no-store",credentials:"omit",redirect:"error",...rest})}catch(error){throw error.name==="AbortError"?error:new Problem(0,UNREACHABLE,"")}if(response.
ok)return response;let body=parse(await response.text().catch(()=>""))||{},problem=new Problem(response.status,body,response.headers.get("X-Request-Id")||"");throw problem.
status===401&&this.#refused(problem),problem}};function search(query){let params=new URLSearchParams;for(let[name,value]of Object.entries(query||{}))for(let one of Array.
isArray(value)?value:[value])one!=null&&one!==""&&params.append(name,one);let text=params.toString();return text&&`?${text}`}function parse(text){try{return JSON.
parse(text)}catch{return null}}var Store=class{#value;#watchers=new Set;constructor(value){this.#value=value}get value(){return this.#value}set(value){if(value!==this.#value){this.#value=value;
for(let watcher of[...this.#watchers])watcher(value)}}watch(watcher){return this.#watchers.add(watcher),()=>this.#watchers.delete(watcher)}};function useStore(store){
let[,redraw]=d2(null),drawn=store.value;return F2(()=>{let draw=()=>redraw({});return store.value!==drawn&&draw(),store.watch(draw)},[store]),store.value}var AppContext=U(null);function useApp(){return j2(AppContext)}function useNow(){return useStore(useApp().now)}var PATHS={play:"M7 5.5v13l11-6.5z",stop:"M7 7h10v10H7z",edit:"M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4",more:"M5 12h.01M12 12h.01M19 12h.01",plus:"M12 5v14M5 12h14",
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
  </svg>`}function span(ms){return ms<1?"< 1 ms":ms<1e3?`${Math.round(ms)} ms`:ms<10*1e3?`${(ms/1e3).toFixed(1)} s`:ms<6e4?`${Math.round(ms/1e3)} s`:ms<36e5?`${Math.floor(
ms/6e4)} min`:ms<864e5?two(ms,36e5,"h",6e4,"min"):two(ms,864e5,"d",36e5,"h")}function two(ms,big,bigName,small,smallName){let rest=Math.floor(ms%big/small);return`${Math.
floor(ms/big)} ${bigName}${rest?` ${rest} ${smallName}`:""}`}function ago(time,now){let past=now-Date.parse(time);return Number.isNaN(past)?"":past<6e4?"just no\
w":past<36e5?`${Math.floor(past/6e4)} min ago`:past<864e5?`${Math.floor(past/36e5)} h ago`:past<2*864e5?"yesterday":past<30*864e5?`${Math.floor(past/864e5)} day\
s ago`:new Intl.DateTimeFormat(void 0,{dateStyle:"medium"}).format(Date.parse(time))}function moment(time){let at=Date.parse(time);return Number.isNaN(at)?"":new Intl.
DateTimeFormat(void 0,{dateStyle:"medium",timeStyle:"medium"}).format(at)}function soon(time){let at=Date.parse(time);return Number.isNaN(at)?"":new Intl.DateTimeFormat(
void 0,{month:"short",day:"numeric",hour:"numeric",minute:"2-digit"}).format(at)}function lasting(time,now){let past=now-Date.parse(time);return Number.isNaN(past)?
"":past<6e4?"just started":span(past)}function since(time,now){let at=Date.parse(time);if(Number.isNaN(at))return"";let today=new Date(at).toDateString()===new Date(
now).toDateString();return new Intl.DateTimeFormat(void 0,today?{timeStyle:"short"}:{dateStyle:"medium"}).format(at)}function number(n3,atLeast=!1){return`${new Intl.
NumberFormat("en").format(n3)}${atLeast?"+":""}`}function keptFor(summary){return summary?.trashDays>0?` for ${count(summary.trashDays,"day")}`:""}function count(n3,one,many=`${one}\
s`){return`${number(n3)} ${n3===1?one:many}`}function bytes(n3){if(n3<1e3)return`${n3} B`;let step=Math.min(4,Math.floor(Math.log10(n3)/3)),size=n3/1e3**step;return`${size<
10?size.toFixed(1):Math.round(size)} ${["","kB","MB","GB","TB"][step]}`}function sentence(text){return text.replace(/^./,first=>first.toUpperCase()).replace(/[^.!?]$/,
"$&.")}function address(host,port){return host?.includes(":")?`[${host}]:${port}`:`${host}:${port}`}function proxyName(proxy){return proxy.name||address(proxy.host,
proxy.port)}var PROFILE_STATUS={__proto__:null,stopped:{text:"Stopped",tone:"quiet"},starting:{text:"Starting",tone:"wait"},running:{text:"Running",tone:"good"},stopping:{text:"\
Stopping",tone:"wait"},failed:{text:"Failed",tone:"bad"}},PROXY_STATUS={__proto__:null,unknown:{text:"Not checked",tone:"quiet"},alive:{text:"Alive",tone:"good"},
dead:{text:"Dead",tone:"bad"}},SYSTEMS={__proto__:null,win:"Windows",mac:"macOS",linux:"Linux"},PROXY_TYPES={__proto__:null,socks5:"SOCKS5",http:"HTTP",https:"H\
TTPS (TLS to the proxy)",socks4:"SOCKS4"},STAGES={__proto__:null,resolve:"while looking up the host name",connect:"while connecting to the proxy",tls:"while set\
ting up TLS",greeting:"while greeting the proxy",auth:"while logging in to the proxy",request:"while the proxy connected to the check service",response:"while w\
aiting for the check service’s answer"};function stageWords(stage){return STAGES[stage]||""}var FAULTS={__proto__:null,dns_failed:["The host name was not foun\
d.","Check the spelling of the host."],connection_refused:["Nothing answers at this address.","Check the host and the port. The proxy may be switched off."],connection_closed:[
"The proxy closed the connection.","Check the type and the password. Some proxies only accept addresses on their allow-list."],timed_out:["The proxy did not ans\
wer in time.","Try again. If that does not help, check the host, the port and the firewall."],host_unreachable:["The address cannot be reached.","Check the host\
 and the network of this computer."],tls_failed:["The TLS connection to the proxy failed.","For a plain HTTP proxy, choose the type HTTP. Otherwise its certific\
ate is not valid."],not_a_proxy:["The server there is not a proxy of this type.","Try another type, and check the port."],auth_required:["The proxy requires a u\
ser name and a password.","Enter both."],auth_unsupported:["The proxy requires a login method that Warren does not support.","Ask the provider for Basic or Dige\
st, or for a SOCKS5 address."],auth_failed:["The user name or the password is wrong.","Enter both again, or ask the provider."],password_unreadable:["The saved \
password cannot be read: it was encrypted with another secret key.","Enter the password again, or start Warren with the previous key."],request_refused:["The pr\
oxy refused to connect to the check service.","The account may be out of traffic, or the provider may block that address. Ask the provider."],target_unreachable:[
"The proxy answers, but cannot reach the check service.","Try again. If that does not help, ask the provider, or start Warren with another --check-url."],bad_response:[
"The answer did not come from the check service.","The proxy may show a login page first, or change what passes through. Ask the provider."],blocked_address:["W\
arren does not connect to this address, or to the check service’s.","For proxies in a private network or on this computer, start Warren with --allow-private=y\
es."]};function faultWords(error){if(!error)return null;if(error.code==="dns_failed"&&error.stage!=="resolve")return{happened:"The proxy cannot find the check s\
ervice’s name.",advice:"The proxy’s own DNS fails. Ask the provider."};let behind=error.stage==="request"&&["host_unreachable","connection_refused"].includes(
error.code),[happened,advice]=FAULTS[behind?"target_unreachable":error.code]||[error.message||"The check failed.",""];return{happened,advice}}function checkSentence(check2){
if(!check2.ok)return faultWords(check2.error)?.happened||"The check failed.";let place=check2.countryName||check2.country,parts=[`Exit IP ${check2.exitIp||"unkn\
own"}${place?`, ${place}`:""}`];return check2.latencyMs!=null&&parts.push(span(check2.latencyMs)),`${parts.join(", ")}.`}var ENDS={__proto__:null,stopped:"Stopp\
ed",closed:"Window closed",out_of_memory:"Ran out of memory",orphaned:"Closed while the server was down",expired:"Closed at the time limit",idle:"Closed when id\
le",crashed:"Crashed",lost:"Lost while the server was down",start_failed:"Did not start"};function endWords(lastRun){let reason=lastRun?.reason||"";return ENDS[reason]||
reason&&reason.replaceAll("_"," ").replace(/^./,c3=>c3.toUpperCase())||"Ended"}function memoryWords(memory2){if(!memory2)return"";let{peakBytes:peak,limitBytes:limit,
tab}=memory2,had=peak==null?"":limit==null?`It had ${mebibytes(peak)} when the server’s memory was used up. `:`It had ${mebibytes(peak)} of the ${mebibytes(limit)}\
 that it may have. `,most=tab?`The tab with most was ${tab.origin}${tab.heapBytes==null?"":`, with ${mebibytes(tab.heapBytes)}`}. `:"";return`${had}${most}${limit==
null?"Run fewer browsers at once, or give the server more memory.":"Give it more memory, or open fewer tabs."}`}function mebibytes(n3){return`${number(Math.round(
n3/2**20))} MiB`}var TITLES={__proto__:null,unauthorized:"This key is not valid",forbidden:"Your key does not allow this",origin_not_allowed:"The server does no\
t accept requests from this page’s address",host_not_allowed:"The server does not answer to this address",profile_not_found:"This profile no longer exists",proxy_not_found:"\
This proxy no longer exists",snapshot_not_found:"This snapshot no longer exists",snapshot_in_use:"This snapshot is all that there is",snapshot_damaged:"This sna\
pshot is damaged",profile_damaged:"The profile’s data are damaged",profile_empty:"The profile has no data yet",profile_running:"The profile is running",profile_busy:"\
The profile is busy",proxy_missing:"The profile’s proxy was deleted",proxy_in_use:"Profiles still use this proxy",proxy_taken:"Another profile has this proxy \
by now",extension_in_use:"Profiles still have this extension",duplicate:"This proxy already exists",etag_mismatch:"Somebody else changed this meanwhile",validation_failed:"\
Please check the highlighted fields",malformed_json:"The server could not read the request",rate_limited:"Too many requests",start_queue_full:"Too many browsers\
 are starting",proxy_unreachable:"The proxy does not work",browser_not_found:"No browser is installed on the server",browser_failed:"The browser did not start",
node_unreachable:"The profile’s data are on another server",profiles_elsewhere:"Some of these profiles are on other servers",node_failed:"The server with the \
profile’s data did not answer",no_server:"No server takes the profile",node_alive:"The server is up",node_not_found:"This server is no longer in the list",node_draining:"\
The server takes no new starts",node_conflict:"Another server uses this one’s id",capacity_exceeded:"The limit of running browsers is reached",database_busy:"\
The database is busy",database_damaged:"The database is damaged",start_timeout:"The browser took too long to start",disk_full:"The disk is full",server_stopping:"\
Warren is stopping",login_link_gone:"This link is used up",archive_refused:"This file was not imported",ids_taken:"These ids are taken",broken_off:"The file did\
 not arrive whole",browsers_busy:"Another installation is under way",installation_not_allowed:"This server installs no browsers from here",mirror_unreachable:"T\
he download did not work",build_not_found:"There is no such build",download_untrusted:"The download is not what it should be",browser_unusable:"This build does \
not run on the server",quota_exceeded:"The workspace may not have more",workspace_not_empty:"The workspace is not empty",webhook_limit:"The workspace has all th\
e webhooks that it may have",webhook_disabled:"The webhook is off",webhook_not_found:"This webhook no longer exists",delivery_not_found:"This message is no long\
er kept"},WORDS={__proto__:null,extension_in_use:"Nothing was deleted. Take it from these profiles first.",proxy_in_use:"Nothing was deleted. Give these profile\
s another proxy first, or none.",duplicate:"This workspace already has a proxy with this type, host, port and user name.",server_stopping:"This page goes on by \
itself when Warren is back. Then try again.",login_link_gone:"This link was used before, or its 10 minutes are over. Run “warren open” on the server’s machine f\
or another, or log in with a key.",unauthorized:"This key isn’t valid. It may be mistyped, revoked or expired.",webhook_disabled:"Switch it on first."},QUOTAS={
__proto__:null,profiles:["profile","profiles","Move some to the trash"],running:["running browser","running browsers","Stop some"],diskMb:["MiB of data","MiB of\
 data","Delete profiles for good, or files and snapshots of them"],proxies:["proxy","proxies","Delete some"]};function quotaWords({quota,limit,use}){let[one,many,
room]=QUOTAS[quota]||[quota,quota,"Remove some"];return`The workspace may have ${count(limit,one,many)}, and has ${number(use)}. ${room}, or ask an administrato\
r for a higher quota.`}var CONTENTS={__proto__:null,profiles:"profile",trashed:["profile in the trash","profiles in the trash"],proxies:["proxy","proxies"],templates:"\
template",schedules:"schedule",extensions:"extension",keys:["key that names it","keys that name it"]};function contentsWords(contents){return`It still has ${Object.
entries(contents).filter(([,n3])=>n3>0).map(([name,n3])=>count(n3,...[].concat(CONTENTS[name]||name))).join(", ")}. Delete that first, and revoke the keys. Noth\
ing was changed.`}function problemWords(problem){if(problem.code==="profile_damaged")return`The browser cannot open the files below, and would begin them anew. \
Nothing was changed. ${problem.body.snapshots?.length>0?"What is there now is kept when you go back to a snapshot.":"There is no snapshot that opens. Files that\
 are set aside stay on the server’s disk, and the browser begins without them."}`;let{body=problem}=problem;return problem.code==="quota_exceeded"&&body.quota?
quotaWords(body):problem.code==="workspace_not_empty"&&body.contents?contentsWords(body.contents):WORDS[problem.code]||problem.message}function problemTitle(problem){
return TITLES[problem.code]||problem.title||"Something went wrong"}var SHEET=new URL("flags.svg",import.meta.url).href;function Country({code,name,bare}){return code?html`<span class="country" title=${name||countryName(code)}><svg class="flag" viewBox="0 0 3 2" aria-hidden="true"><use href=${`${SHEET}\
#${code}`} /></svg>${!bare&&html`<span>${code}</span>`}</span>`:null}function countryName(code){try{return new Intl.DisplayNames(["en"],{type:"region"}).of(code)||
code}catch{return code}}var GAP=4,TYPED_MS=700;function Menu({label,items,children,class:kind="icon-button",title="More",disabled}){let id=P2(),button=T2(null),list=T2(null),[open,setOpen]=d2(
!1),toggled=event=>setOpen(event.newState==="open");F2(()=>{open&&list.current.querySelector('[role^="menuitem"]')?.focus()},[open]);let choose=item=>{list.current.
hidePopover(),button.current.focus(),item.run()};return html`<button type="button" class=${kind} ref=${button} popovertarget=${id} aria-haspopup="menu" aria-expanded=${open} disabled=${disabled}
      aria-label=${label} title=${title} onKeyDown=${event=>event.key==="ArrowDown"&&(event.preventDefault(),list.current.showPopover())}>
      ${children||html`<${Icon} name="more" />`}</button>
    <div id=${id} ref=${list} class="menu" popover="auto" role="menu" aria-label=${label} onBeforeToggle=${event=>placed(event,button.current,list.current)}
      onToggle=${toggled} onKeyDown=${menuKeys}>
      ${open&&items.filter(Boolean).map((item,i3)=>item==="line"?html`<hr key=${i3} />`:html`<button type="button" key=${item.label}
        role=${item.checked===void 0?"menuitem":"menuitemcheckbox"} aria-checked=${item.checked} tabindex="-1"
        class=${item.danger?"menu-item danger":"menu-item"} onClick=${()=>choose(item)}>
        ${item.checked!==void 0?html`<span class="menu-tick">${item.checked&&html`<${Icon} name="check" />`}</span>`:item.icon&&html`<${Icon} name=${item.icon} />`}
        <span class="menu-label">${item.label}</span>${item.keys&&html`<kbd>${item.keys}</kbd>`}
      </button>`)}
    </div>`}function Panel({label,class:kind="button",face,children,title}){let id=P2(),button=T2(null),panel=T2(null),[open,setOpen]=d2(!1);return html`<button type="button" class=${kind} ref=${button} popovertarget=${id} aria-haspopup="dialog" aria-expanded=${open} aria-label=${label} title=${title}>${face}</button>
    <div id=${id} ref=${panel} class="menu panel-menu" popover="auto" role="dialog" aria-label=${label}
      onBeforeToggle=${event=>placed(event,button.current,panel.current)} onToggle=${event=>{setOpen(event.newState==="open"),event.newState==="open"&&requestAnimationFrame(
()=>panel.current?.querySelector("input, select, button")?.focus())}}>${open&&children(()=>{panel.current?.hidePopover(),button.current?.focus()})}</div>`}function placed(event,button,popover){
if(event.newState!=="open")return;let at=button.getBoundingClientRect(),{style}=popover,below=innerHeight-at.bottom>320||innerHeight-at.bottom>at.top;style.top=
below?`${at.bottom+GAP}px`:"auto",style.bottom=below?"auto":`${innerHeight-at.top+GAP}px`,style.maxHeight=`${Math.max(120,(below?innerHeight-at.bottom:at.top)-3*
GAP)}px`;let left=at.left+at.width/2<innerWidth/2;style.left=left?`${Math.max(8,at.left)}px`:"auto",style.right=left?"auto":`${Math.max(8,document.documentElement.
clientWidth-at.right)}px`}var typed=new WeakMap;function menuKeys(event){let menu=event.currentTarget,items=[...menu.querySelectorAll('[role^="menuitem"]')],at=items.
indexOf(document.activeElement),to={ArrowDown:at+1,ArrowUp:at-1,Home:0,End:items.length-1}[event.key];if(to!==void 0)event.preventDefault(),items.at(to%items.length)?.
focus();else if(event.key==="Tab")menu.hidePopover();else if(event.key.length===1&&event.key!==" "&&!event.ctrlKey&&!event.metaKey&&!event.altKey){event.preventDefault(),
event.stopPropagation();let before=typed.get(menu),text=(before&&event.timeStamp-before.at<TYPED_MS?before.text:"")+event.key.toLowerCase();typed.set(menu,{text,
at:event.timeStamp});let from=text.length===1?at+1:Math.max(0,at);[...items.slice(from),...items.slice(0,from)].find(item=>item.textContent.trim().toLowerCase().
startsWith(text))?.focus()}}function Status({of:{text,tone}}){return html`<span class="status ${tone}"><span class="dot"></span>${text}</span>`}function Ago({time,prefix=""}){let now=useNow();
return time?html`<time datetime=${time} title=${moment(time)}>${prefix}${ago(time,now)}</time>`:null}function Name({children}){return html`<bdi class="name">${children}</bdi>`}
function Tags({tags=[],choose,most=3}){if(!tags.length)return null;let shown=tags.length>most?tags.slice(0,most-1):tags,rest=tags.slice(shown.length);return html`<ul class="tags" aria-label="Tags">
    ${shown.map(tag=>html`<li key=${tag}>
      ${choose?html`<button type="button" class="tag" title=${`Show only ${tag}`} onClick=${()=>choose(tag)}><bdi>${tag}</bdi></button>`:html`<span class="tag" title=${tag}><bdi>${tag}</bdi></span>`}
    </li>`)}
    ${rest.length>0&&html`<li><span class="tag more" title=${rest.join(", ")}>+${rest.length}</span></li>`}
  </ul>`}function Temporary({of:{temporary}}){return temporary&&html`<span class="temporary" title="Temporary: deleted with its data when its run ends"><${Icon} name="hourglass" /><span class="visually-hidden">Temporary</span></span>`}
function ProblemBox({problem,shown=[],children}){if(!problem)return null;let errors=(problem.errors||[]).filter(error=>!shown.includes(error));if(problem.code===
"validation_failed"&&errors.length===0&&shown.length>0)return null;let{check:check2,damaged,lines,exitCode}=problem.body||{};return html`<div class="problem" role="alert" tabindex="-1" aria-label=${problemTitle(
problem)}>
    <p class="problem-title"><${Icon} name="warning" />${problemTitle(problem)}</p>
    ${problem.message&&problem.code!=="validation_failed"&&html`<${Prose} text=${problemWords(problem)} />`}
    ${problem.users?.length>0&&html`<ul aria-label="Profiles that use it">${problem.users.map(profile=>html`<li key=${profile.id}><${Name}>${profile.name}<//></li>`)}
      ${problem.moreUsers>0&&html`<li>and ${problem.moreUsers} more</li>`}</ul>`}
    ${errors.length>0&&html`<ul>${errors.map(error=>html`<li>${error.location?html`<code>${error.location}</code>: `:""}${error.message}</li>`)}</ul>`}
    ${damaged?.length>0&&html`<ul aria-label="What is damaged">${damaged.map(({file,problem:wrong})=>html`<li key=${file}><code>${file}</code>: ${wrong}</li>`)}</ul>`}
    ${check2&&html`<p>${checkSentence(check2)} ${faultWords(check2.error)?.advice}</p>`}
    ${exitCode!=null&&html`<p>Exit code ${exitCode}.</p>`}
    ${lines?.length>0&&html`<pre class="lines" tabindex="0" aria-label="The browser’s last lines">${lines.join(`
`)}</pre>`}
    ${children}
    ${problem.requestId&&html`<p class="request">Request ${problem.requestId}</p>`}
  </div>`}function Prose({text}){return text?html`<div class="prose">${text.split(/\n\n+/).map((paragraph,i3)=>html`<p key=${i3}>${paragraph.split(/(`[^`]+`)/).
map(part=>/^`.+`$/.test(part)?html`<code>${part.slice(1,-1)}</code>`:part)}</p>`)}</div>`:null}function Notice({children}){return html`<div class="notice"><${Icon} name="warning" /><div>${children}</div></div>`}
function Copy({text,label="Copy"}){let[done,setDone]=d2(!1),button=T2(null);return html`<button type="button" class="button small" ref=${button} onClick=${async()=>{
await copyText(text,button.current),setDone(!0),setTimeout(()=>setDone(!1),2e3)}} aria-label=${done?"Copied":label}>
    <${Icon} name=${done?"check":"copy"} /><span aria-live="polite">${done?"Copied":"Copy"}</span>
  </button>`}async function copyText(text,beside=document.activeElement){try{await navigator.clipboard.writeText(text)}catch{copyByCommand(text,beside)}}function copyByCommand(text,beside){
let field=document.createElement("textarea");field.value=text,field.className="visually-hidden",beside.after(field),field.select(),document.execCommand("copy"),
field.remove(),beside.focus()}function Empty({title,children}){return html`<div class="empty">
    <h2>${title}</h2>
    ${children}
  </div>`}function Waiting(){return html`<div class="waiting" role="status"><span class="visually-hidden">Reading…</span>
    ${[1,2,3,4,5].map(row=>html`<div class="bone" key=${row}></div>`)}
  </div>`}function Dialog({title,lead,sheet,about,close,children}){let app=useApp(),box=T2(null),gone=T2(!1),titleId=P2();return F2(()=>{let dialog=box.current;return dialog.
showModal(),()=>{gone.current=!0,dialog.close(),about?requestAnimationFrame(()=>app.focusPage(about)):app.keepFocus()}},[]),html`<dialog ref=${box} class=${sheet?
"dialog sheet":"dialog"} closedby=${sheet?"closerequest":"any"}
    aria-labelledby=${titleId} onCancel=${event=>{event.preventDefault(),close()}} onClose=${()=>!gone.current&&close()}>
    <div class="dialog-body">
      <header class="dialog-head">
        <div>
          <h2 id=${titleId}>${title}</h2>
          ${lead&&html`<p class="lead">${lead}</p>`}
        </div>
        <button type="button" class="icon-button" aria-label="Close" onClick=${close}><${Icon} name="close" /></button>
      </header>
      ${children}
    </div>
  </dialog>`}function useTold(subject){let app=useApp(),gone=T2(!1);return A2(()=>()=>{gone.current=!0},[]),work=>work().catch(problem=>{throw gone.current&&app.
fail(subject,problem),problem})}function ConfirmDialog({title,children,verb,doing="One moment…",work,tone="danger",cancel="Cancel",close}){let[busy,setBusy]=d2(
!1),[problem,setProblem]=d2(null),app=useApp(),confirm=async()=>{setBusy(!0),setProblem(null);try{await work(),close(),app.keepFocus()}catch(error){setProblem(error),
setBusy(!1)}};return html`<${Dialog} title=${title} close=${close}>
    <div class="dialog-content">${children}<${ProblemBox} problem=${problem} /></div>
    <footer class="dialog-foot">
      <button type="button" class="button" autofocus onClick=${close}>${cancel}</button>
      <button type="button" class=${`button ${tone}`} disabled=${busy} onClick=${confirm}>${busy?doing:verb}</button>
    </footer>
  <//>`}function ProblemDialog({problem,subject,action,close}){return html`<${Dialog} title=${subject} close=${close}>
    <div class="dialog-content"><${ProblemBox} problem=${problem} /></div>
    <footer class="dialog-foot">
      <button type="button" class="button" autofocus onClick=${close}>Close</button>
      ${action&&html`<button type="button" class="button primary" onClick=${()=>{close(),action.run()}}>${action.label}</button>`}
    </footer>
  <//>`}var Router=class{leaving=goOn=>goOn();#shown=location.hash;constructor(fallback){this.fallback=fallback,this.current=new Store(this.#read()),addEventListener("h\
ashchange",()=>this.#arrive()),addEventListener("popstate",()=>this.#arrive())}#arrive(){let wanted=location.hash;if(wanted===this.#shown)return;let gone=!1;this.
leaving(()=>{gone=!0,this.#show(wanted)}),gone||history.pushState(null,"",this.#shown||"#")}#show(address2){location.hash!==address2&&history.pushState(null,"",
address2),this.#shown=address2,this.current.set(this.#read())}#read(){let[,path="",search2=""]=/^#\/([^?]*)(?:\?(.*))?$/.exec(location.hash)||[],[name,...rest]=path.
split("/").map(decoded);return{name:name||this.fallback,path:rest,params:new URLSearchParams(search2)}}refine(changes,{replace=!1}={}){let params=new URLSearchParams(
this.current.value.params);for(let[name,value]of Object.entries(changes)){params.delete(name);for(let one of[].concat(value))one&&params.append(name,one)}this.#go(
href(this.current.value.name,params,this.current.value.path),replace)}open(...path){this.#go(this.beside(...path),!1)}beside(...path){return href(this.current.value.
name,this.current.value.params,path)}go(address2){this.#go(address2,!1)}#go(address2,replace){address2!==location.hash&&(replace?(history.replaceState(null,"",address2),
this.#show(address2)):this.leaving(()=>this.#show(address2)))}};function href(name,params,path=[]){let search2=params?params.toString():"";return`#/${[name,...path].
map(encodeURIComponent).join("/")}${search2&&`?${search2}`}`}function activityOf(id,filter="objectId"){return href("settings",new URLSearchParams({[filter]:id}),
["activity"])}function decoded(part){try{return decodeURIComponent(part)}catch{return part}}function checkMany(app,{ids,workspaceId,tags=[]}){let body=ids?{ids}:workspaceId?{workspaceId}:{},dead=new URLSearchParams([["status","dead"],...tags.map(tag=>[
"tag",tag])]),params=failed=>failed?dead:new URLSearchParams(tags.map(tag=>["tag",tag]));return app.works.stream({key:ids?"":`check ${workspaceId}`,title:(total,over)=>`${over?
"Checked":"Checking"} ${count(total,"proxy","proxies")}`,total:ids?.length??0,words:{good:"alive",bad:"dead"},call:(signal,total,one)=>app.api.lines("/proxies/c\
heck-all",body,signal,total,check2=>{app.checked.add(check2);let fault=check2.ok?null:faultWords(check2.error)||{happened:"The check failed.",advice:""};one({id:check2.
id,error:fault&&{title:fault.happened,message:fault.advice}})}),show:failed=>app.router.go(href("proxies",params(failed))),retry:failed=>checkMany(app,{ids:failed.
map(({id})=>id),tags})})}function CheckAll({workspace}){let app=useApp();return html`<button type="button" class="button" onClick=${()=>checkMany(app,{workspaceId:workspace})}><${Icon} name="pulse" /><span>Check all</span></button>`}
var Checked=class{last=new Store([]);#waiting=[];add(check2){this.#waiting.push(check2)===1&&requestAnimationFrame(()=>this.#pass())}#pass(){this.last.set(this.#waiting),
this.#waiting=[]}};var MANY=100,KEPT=3e3,ProxyCache=class{#api;#known=new Map;#watchers=new Map;#missing=new Set;#reading=new Set;#planned=!1;constructor(api){this.#api=api}get(id){
return this.#known.get(id)}watch(id,watcher){let watchers=this.#watchers.get(id)||new Set;return this.#watchers.set(id,watchers.add(watcher)),this.#known.has(id)||
this.#ask(id),()=>{watchers.delete(watcher),watchers.size||this.#watchers.delete(id)}}keep(proxy){this.#set(proxy.id,proxy)}checked(checks){for(let check2 of checks){
let proxy=this.#known.get(check2.id);proxy&&this.keep({...proxy,lastCheck:check2,status:check2.status}),this.#reading.has(check2.id)&&this.#ask(check2.id)}}onEvent({
type,data}){if(type==="everything"||type.startsWith("proxy.")&&!data?.id)for(let id of[...this.#known.keys()])this.#forget(id);else type==="proxy.deleted"?this.#set(
data.id,null):type.startsWith("proxy.")&&this.#forget(data.id)}#forget(id){this.#watchers.has(id)||this.#reading.has(id)?this.#ask(id):this.#known.delete(id)}#ask(id){
this.#missing.add(id),!this.#planned&&(this.#planned=!0,requestAnimationFrame(()=>this.#read()))}async#read(){let ids=[...this.#missing].slice(0,MANY);ids.forEach(
id=>this.#missing.delete(id)),this.#reading=new Set(ids);try{let{data}=await this.#api.get("/proxies",{id:ids}),found=new Map(data.map(proxy=>[proxy.id,proxy]));
for(let id of ids)this.#set(id,found.get(id)??null)}catch{}this.#reading.clear(),this.#planned=!1;let[next]=this.#missing;next&&this.#ask(next)}#set(id,proxy){this.#known.
delete(id),this.#known.set(id,proxy);for(let[old]of this.#known){if(this.#known.size<=KEPT)break;this.#watchers.has(old)||this.#known.delete(old)}this.#watchers.
get(id)?.forEach(watcher=>watcher(proxy))}};function useProxy(id){let{proxies}=useApp(),[,draw]=d2(0);return A2(()=>id?proxies.watch(id,()=>draw(n3=>n3+1)):void 0,
[id]),id?proxies.get(id):void 0}var SHOWN_MS=6e3,LONG_MS=12e3,Toasts=class{list=new Store([]);#last=0;say(toast){let id=++this.#last;return this.list.set([...this.list.value.slice(-3),{id,...toast}]),
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
  </div>`}var RENEW_MS=15e3,MAX_MISSED=3,Previews=class{#api;#watched=new Set;#failed=new Set;#timer=0;#working=!1;constructor(api){this.#api=api}watch(profileId,runId,draw){
let one={profileId,runId,draw,due:0,missed:0};return this.#watched.add(one),this.#plan(),()=>this.#watched.delete(one)}begin(){let visible=()=>this.#plan();return document.
addEventListener("visibilitychange",visible),()=>{document.removeEventListener("visibilitychange",visible),this.#watched.clear(),clearTimeout(this.#timer)}}#plan(){
if(clearTimeout(this.#timer),this.#working||document.hidden)return;let[next]=[...this.#watched].filter(({runId})=>!this.#failed.has(runId)).sort((a3,b)=>a3.due-
b.due);next&&(this.#timer=setTimeout(()=>this.#fetch(next),Math.max(0,next.due-performance.now())))}async#fetch(one){this.#working=!0;try{let response=await this.#api.
open("GET",`api/v1/profiles/${encodeURIComponent(one.profileId)}/screenshot?size=small`),bitmap=await createImageBitmap(await response.blob());this.#watched.has(
one)&&one.draw(bitmap),bitmap.close(),one.missed=0}catch(problem){one.missed++,(![503,504].includes(problem.status)||one.missed>=MAX_MISSED)&&this.#failed.add(one.
runId)}one.due=performance.now()+RENEW_MS,this.#working=!1,this.#plan()}};function Preview({profile,large}){let{previews}=useApp(),canvas=T2(null),[drawn,setDrawn]=d2(
!1),{id,run}=profile;return A2(()=>{let end=null;setDrawn(!1);let draw=bitmap=>{canvas.current.width=bitmap.width,canvas.current.height=bitmap.height,canvas.current.
getContext("2d").drawImage(bitmap,0,0),setDrawn(!0)},observer=new IntersectionObserver(entries=>{let seen=entries.at(-1).isIntersecting;seen||end?.(),end=seen?end||
previews.watch(id,run.runId,draw):null});return observer.observe(canvas.current.parentElement),()=>{observer.disconnect(),end?.()}},[id,run?.runId]),html`<a class=${drawn?
"preview":"preview is-empty"} href=${viewOf(id)} tabindex="-1" aria-hidden="true" title="View"><canvas ref=${canvas}></canvas></a>`}function viewOf(id){return href(
"live",new URLSearchParams({profile:id}))}var PREFIX="warren.";function recall(name,fallback){try{let text=localStorage.getItem(PREFIX+name);return text===null?fallback:JSON.parse(text)}catch{return fallback}}
function remember(name,value){try{value===null?localStorage.removeItem(PREFIX+name):localStorage.setItem(PREFIX+name,JSON.stringify(value))}catch{}}function kept(prefix){
try{return Object.keys(localStorage).filter(name=>name.startsWith(PREFIX+prefix)).map(name=>name.slice(PREFIX.length))}catch{return[]}}function forget(prefix){for(let name of kept(
prefix))remember(name,null)}var FRESH_MS=5e3,Nodes=class{all=new Store([]);#api;#asked=new Set;#turn=0;constructor(api){this.#api=api}begin(events){let read=()=>this.read().catch(()=>{});return read(),
events.watch(({type})=>type==="everything"&&read())}async read(){let turn=++this.#turn,{data}=await this.#api.get("/nodes");turn===this.#turn&&this.all.set(data)}meet(id){
this.#asked.has(id)||(this.#asked.add(id),this.read().catch(()=>this.#asked.delete(id)))}};function useSeveral(){return useStore(useApp().nodes.all).length>1}function useFreshNodes(wanted=!0,failed=()=>{}){
let{nodes}=useApp();A2(()=>{if(!wanted)return;let timer=0,ended=!1,read=async()=>{clearTimeout(timer);let problem=document.hidden?null:await nodes.read().then(()=>null,
error=>error);ended||(failed(problem),clearTimeout(timer),timer=setTimeout(read,FRESH_MS))},visible=()=>document.hidden||read();return read(),document.addEventListener(
"visibilitychange",visible),()=>{ended=!0,clearTimeout(timer),document.removeEventListener("visibilitychange",visible)}},[nodes,wanted])}var STATES={__proto__:null,
up:{text:"Up",tone:"good"},stopped:{text:"Stopped",tone:"quiet"},unreachable:{text:"Unreachable",tone:"bad"}};function nodeState({state,draining}){return draining&&
state==="up"?{text:"Draining",tone:"wait"}:STATES[state]||{text:state,tone:"quiet"}}function useNode(id){let{nodes}=useApp(),node=useStore(nodes.all).find(one=>one.
id===id);return A2(()=>{id&&!node&&nodes.meet(id)},[id,!node]),node}function NodeName({id}){let node=useNode(id);if(!id)return html`<span class="muted not-in-card" title="Its first start chooses a server">–</span>`;
if(!node)return html`<span class="muted" title=${id}>Unknown</span>`;let state=nodeState(node);return html`<span class="two-lines"><span class="one-line" title=${node.
name}><${Name}>${node.name}<//></span>${state.tone!=="good"&&html`<span class=${state.tone==="bad"?"sub bad-text":"sub"}>${state.text}</span>`}</span>`}function nodeColumn(rank){
return{id:"server",label:"Server",min:96,grow:.8,rank,card:!0,draw:({nodeId})=>html`<${NodeName} id=${nodeId} />`}}var NAME="warren.key",memory="";function takeFromAddress(){let[,kind,given]=/^#(code|key)=(.+)$/.exec(location.hash)||[];if(!given)return null;history.replaceState(
null,"",location.pathname+location.search);let text=given;try{text=decodeURIComponent(given)}catch{}return looksLikeKey(text)?{[kind]:text}:null}function looksLikeKey(text){
return/^[\x21-\x7e]{1,200}$/.test(text)}async function exchange({key="",code}){return(await new Api(key).post("/session-keys",code?{code}:{})).key}function revoke(key){
return new Api(key).call("DELETE","/session-keys/current",{keepalive:!0})}function readKey(){return stored(()=>sessionStorage)||stored(()=>localStorage)||memory}
function stored(storage){try{return storage().getItem(NAME)||""}catch{return""}}function isOfThisTab(){return!!stored(()=>sessionStorage)}function saveKey(key,onlyThisTab=!1){
memory="";try{onlyThisTab?sessionStorage.setItem(NAME,key):(sessionStorage.removeItem(NAME),localStorage.setItem(NAME,key))}catch{memory=key}}function dropKey(){
memory="";let own=stored(()=>sessionStorage);try{(own?sessionStorage:localStorage).removeItem(NAME)}catch{}}function watchKey(changed){let listen=event=>(event.
key===NAME||event.key===null)&&changed();return addEventListener("storage",listen),()=>removeEventListener("storage",listen)}var loaded=null;async function more(){return loaded||=await import("./part-Q7U6BYLK.js"),loaded}function lazy(name){return function(props){let app=useApp(),
[ready,setReady]=d2(!!loaded);return A2(()=>{ready||more().then(()=>setReady(!0),()=>{app.toasts.say({text:"This part of the page could not be read.",more:"Is W\
arren running? Try again.",tone:"bad"}),props.close?.()})},[]),ready&&html`<${loaded[name]} ...${props} />`}}var AddProxies=lazy("AddProxies"),CheckDialog=lazy(
"CheckDialog"),CloneDialog=lazy("CloneDialog"),ConnectDialog=lazy("ConnectDialog"),ExportDialog=lazy("ExportDialog"),FirstRun=lazy("FirstRun"),ImportDialog=lazy(
"ImportDialog"),Install=lazy("Install"),LivePage=lazy("LivePage"),Palette=lazy("Palette"),ProfileDialog=lazy("ProfileDialog"),ProfileDrawer=lazy("ProfileDrawer"),
ProxyBulkDialog=lazy("ProxyBulkDialog"),ProxyDialog=lazy("ProxyDialog"),ProxyDrawer=lazy("ProxyDrawer"),ProxyForm=lazy("ProxyForm"),SaveView=lazy("SaveView"),SettingsPage=lazy(
"SettingsPage"),TagBulkDialog=lazy("TagBulkDialog"),TagDialog=lazy("TagDialog"),TemplateDialog=lazy("TemplateDialog"),Tile=lazy("Tile");var COMMAND="warren browser install",Browsers=class{count=new Store(null);installation=new Store(null);#api;constructor(api){this.#api=api}begin(events){let look=()=>this.
missing()&&this.read();addEventListener("focus",look),document.addEventListener("visibilitychange",look);let unwatch=events.watch(({type,data})=>{type==="everyt\
hing"&&this.installation.value&&this.readInstallation(),(type==="everything"||type==="browser.installed")&&this.read(),type.startsWith("browser.")&&this.sawInstallation(
data)});return()=>{removeEventListener("focus",look),document.removeEventListener("visibilitychange",look),unwatch()}}async read(){let answer=await this.#api.get(
"/browsers").catch(()=>null);answer&&this.count.set(answer.data.length)}async readInstallation(){try{this.sawInstallation(await this.#api.get("/browsers/install\
ation"))}catch(problem){problem.status===404?this.installation.set({now:null}):problem.status===403&&this.installation.set({refused:problem})}}sawInstallation(now){
let before=this.installation.value?.now;before&&(now.createdAt<before.createdAt||now.createdAt===before.createdAt&&before.endedAt)||this.installation.set({now})}missing(){
return this.count.value===0}},NO_BROWSER='No browser is installed on the server. Install one first: in Settings, Browsers, or there with "warren browser install\
".';function useInstallation(){let{browsers}=useApp();return A2(()=>{browsers.installation.value||browsers.readInstallation()},[]),useStore(browsers.installation)}
function useNone(){let{browsers,nodes}=useApp(),count2=useStore(browsers.count),all=useStore(nodes.all);return count2===0&&!all.some(({state,browsers:installed})=>state===
"up"&&installed.length>0)}function useNoStart(){let{offline}=useApp(),none=useNone();return useStore(offline)?"Warren does not answer.":none?NO_BROWSER:""}function NoBrowser(){
let none=useNone();return html`<div role="status" class="no-browser">${none&&html`<div class="notice"><${Icon} name="warning" /><${HowToInstall} /></div>`}</div>`}
function HowToInstall(){let{browsers}=useApp(),state=useInstallation();return state&&!state.refused?html`<div class="no-browser-words"><p><strong>No browser is installed on the server.</strong> Profiles cannot start. Install one here: a build of Chrome for Testing, verified.</p><${Install} brief /></div>`:
html`<div class="no-browser-words">
    <p><strong>No browser is installed on the server.</strong> Profiles cannot start. Run this command there, or install Chrome or Chromium yourself.</p>
    <p class="no-browser-do"><code>${COMMAND}</code><${Copy} text=${COMMAND} label="Copy the command" /><button type="button" class="button small" onClick=${()=>browsers.
read()}><${Icon} name="reload" />Check again</button></p></div>`}var NAMED=10;async function start(app,profile,rows){if(app.browsers.missing())return app.toasts.say({text:`${profile.name} was not started.`,more:NO_BROWSER,tone:"\
bad"});let proxy=profile.proxyId&&app.proxies.get(profile.proxyId);if(proxy?.status!=="dead")return begin(app,profile,rows);let happened=faultWords(proxy.lastCheck?.
error)?.happened||"The last check failed.";return app.open(ConfirmDialog,{title:"Start through a dead proxy?",verb:"Start anyway",tone:"primary",work:async()=>{
begin(app,profile,rows)},children:html`<p><${Name}>${proxyName(proxy)}<//>, the proxy of <${Name}>${profile.name}<//>, failed its last check. ${happened}</p>
      <p class="muted">Warren checks it again before the browser starts. Nothing goes out without it.</p>`})}function begin(app,profile,rows,body){return app.during(
profile.id,async()=>{rows?.patch(profile.id,{status:"starting"});try{let run=await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/start`,body);rows?.
patch(profile.id,{status:run.status||"running",run}),app.toasts.say({text:`${profile.name} is running.`,tone:"good",actions:[{label:"View",run:()=>app.router.go(
viewOf(profile.id))},{label:"Connect",run:()=>app.open(ConnectDialog,{profile,run})},run.warnings?.length>0&&{label:count(run.warnings.length,"note"),run:()=>app.
router.go(href("profiles",void 0,[profile.id]))}]})}catch(problem){app.fail(`${profile.name} did not start`,problem,remedy(app,profile,problem,rows))}rows?.again(
profile.id)})}function beginMany(app,profiles){return app.works.each({title:`Starting ${count(profiles.length,"profile")}`,items:profiles.map(({id,name})=>({id,
name})),size:10,call:async(part,signal)=>(await app.api.post("/profiles/batch",{action:"start",ids:part.map(({id})=>id)},{signal})).results})}function restart(app,profile,body){
return app.during(profile.id,async()=>{try{await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/restart`,body),app.toasts.say({text:`${profile.name} \
is running again.`,tone:"good"})}catch(problem){app.fail(`${profile.name} did not restart`,problem,remedy(app,profile,problem))}})}function connect(app,profile,rows){
return app.during(profile.id,async()=>{try{let run=await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/start`);app.open(ConnectDialog,{profile,run})}catch(problem){
app.fail(`The URLs of ${profile.name} could not be read`,problem)}rows?.again(profile.id)})}function remedy(app,profile,problem,rows){let[newest]=problem.body?.
snapshots||[];return problem.code==="profile_damaged"&&newest?{label:`Go back to the snapshot of ${since(newest.createdAt,Date.now())}`,run:()=>begin(app,profile,
rows,{repair:!0})}:problem.code==="profile_damaged"?{label:"Set the damaged files aside",run:()=>begin(app,profile,rows,{repair:!0,setAside:!0})}:problem.code===
"proxy_missing"||problem.code==="proxy_unreachable"?{label:"Choose a proxy",run:()=>app.open(ProxyDialog,{profile})}:null}function stop(app,profile,rows){return app.
during(profile.id,async()=>{rows?.patch(profile.id,{status:"stopping"});try{await app.api.post(`/profiles/${encodeURIComponent(profile.id)}/stop`),app.toasts.say(
{text:profile.temporary?`${profile.name} is stopped and deleted. It was temporary.`:`${profile.name} is stopped. Its tabs and cookies are kept.`,tone:"good"})}catch(problem){
app.fail(`${profile.name} did not stop`,problem)}rows?.again(profile.id)})}function askToDelete(app,profile,rows){app.open(ConfirmDialog,{title:"Move this profi\
le to the trash?",verb:"Move to trash",work:async()=>{await app.api.delete(`/profiles/${encodeURIComponent(profile.id)}`),app.toasts.say({text:`Moved ${profile.
name} to the trash.`,action:{label:"Undo",run:()=>restore(app,profile,rows)}}),await rows?.reload().catch(()=>{})},children:html`<p><${Name}>${profile.name}<//> ${profile.
status==="running"?"is running. Its browser is closed first. The profile":""} goes
      to the trash with its cookies and data. You can restore it${keptFor(app.model.counts.value)}.</p>`})}function askToDestroy(app,profile,rows){app.open(ConfirmDialog,
{title:"Delete this profile permanently?",verb:"Delete permanently",work:async()=>{await app.api.delete(`/profiles/${encodeURIComponent(profile.id)}`,{permanent:!0}),
app.toasts.say({text:`Deleted ${profile.name}.`}),await rows.reload().catch(()=>{})},children:html`<p><${Name}>${profile.name}<//> and its cookies, history and files are deleted now. This cannot be undone.</p>`})}
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
id,sort:"name",order:"asc",limit:NAMED}).catch(()=>null);problem.users=users?.data||[],problem.moreUsers=(users?.total||0)-problem.users.length}function BulkBar({selection,total,atLeast,what,actions,more:more2}){let{all}=useStore(selection.state),size=selection.size(total);return size?html`<div class="bulk" role="region" aria-label="Selection">
    <p class="bulk-count" role="status"><strong class="number">${number(size,all&&atLeast)}</strong> selected</p>
    ${!all&&size<total&&html`<button type="button" class="button quiet small" onClick=${()=>selection.chooseAll()}>Select all ${number(total,atLeast)}</button>`}
    <span class="bulk-actions">${actions.map(({label,icon,run,danger})=>html`<button type="button" key=${label} class=${`button small ${danger?"danger-quiet":""}`} onClick=${run}><${Icon} name=${icon} /><span>${label}</span></button>`)}
    ${more2?.length>0&&html`<${Menu} label="More actions for the selection" items=${more2} class="button small" title="More"><${Icon} name="more" /><//>`}</span>
    <button type="button" class="icon-button" aria-label=${`Clear the selection of ${what}`} title="Clear (Esc)" onClick=${()=>selection.clear()}><${Icon} name="close" /></button>
  </div>`:null}var Columns=class{chosen;#key;constructor(name,columns){this.all=columns,this.#key=`columns.${name}`;let known=new Set(columns.map(({id})=>id)),kept2=recall(this.#key,
null),ids=Array.isArray(kept2)?kept2.filter(id=>known.has(id)):[];this.chosen=new Store(ids.length?ids:this.preset())}preset(){return this.all.filter(({hidden})=>!hidden).
map(({id})=>id)}show(id,shown){let ids=this.chosen.value;this.#keep(shown?[...ids,id]:ids.filter(other=>other!==id))}move(id,by){let ids=[...this.chosen.value],
from=ids.indexOf(id),to=from+by;from<0||to<0||to>=ids.length||(ids.splice(to,0,...ids.splice(from,1)),this.#keep(ids))}reset(){this.#keep(this.preset())}#keep(ids){
this.chosen.set(ids),remember(this.#key,ids.join()===this.preset().join()?null:ids)}},CHECKBOX=40,PADDING=28;function fitting(columns,ids,width,actions,ticks=!0){
let before=ticks?CHECKBOX:0,shown=ids.map(id=>columns.find(column=>column.id===id)).filter(Boolean),needed=()=>shown.reduce((sum,{min,width:fixed})=>sum+(min??fixed),
before+PADDING+actions);for(;needed()>width&&shown.some(({always})=>!always);){let weakest=shown.filter(({always})=>!always).reduce((a3,b)=>(b.rank??0)>=(a3.rank??
0)?b:a3);shown=shown.filter(column=>column!==weakest)}let tracks=shown.map(({width:fixed,min,grow})=>grow?`minmax(${min??fixed}px, ${grow}fr)`:`${fixed}px`);return{
shown,tracks:[...ticks?[`${CHECKBOX}px`]:[],...tracks,`${actions}px`].join(" ")}}var TALLEST=15e6,OVER=4,STEP=4,FAST=5,SETTLED=120;function useScroll(box,total,rowHeight,height){let whole=total*rowHeight,tall=Math.min(whole,TALLEST),ratio=whole>
TALLEST?(whole-height)/(TALLEST-height):1,[{top,fast},setPlace]=d2({top:0,fast:!1}),stepOf=T2(null);stepOf.current=at=>ratio===1?Math.floor(at/rowHeight/STEP)*STEP*
rowHeight:at;let far=FAST*rowHeight;A2(()=>{let[frame,timer,before,farFrames]=[0,0,box.current.scrollTop,0],put=now=>setPlace(last=>last.top===now.top&&last.fast===
now.fast?last:now),read=()=>{frame=0;let at=box.current.scrollTop;farFrames=Math.abs(at-before)>far?farFrames+1:0,before=at,clearTimeout(timer),timer=setTimeout(
()=>{farFrames=0,setPlace(last=>last.fast?{...last,fast:!1}:last)},SETTLED),put({top:stepOf.current(at),fast:farFrames>1})},scrolled=()=>{frame||=requestAnimationFrame(
read)};return box.current.addEventListener("scroll",scrolled,{passive:!0}),()=>{cancelAnimationFrame(frame),clearTimeout(timer),box.current?.removeEventListener(
"scroll",scrolled)}},[far]);let screen=Math.ceil(height/rowHeight),first=Math.max(0,Math.floor(top*ratio/rowHeight));return w2(()=>({from:Math.max(0,first-OVER),
to:Math.min(total,first+screen+STEP+OVER),page:Math.max(1,screen-1),fast,tall,shift:ratio===1?0:top-top*ratio,scrollTo:index=>scrollTo(box.current,index,rowHeight,
ratio)}),[first,screen,total,fast,tall,ratio===1?0:top,rowHeight,ratio])}function scrollTo(box,index,rowHeight,ratio){let head=box.querySelector(".grid-head").offsetHeight,
at=index*rowHeight,top=box.scrollTop*ratio,end=top+box.clientHeight-head;at<top?box.scrollTop=at/ratio:at+rowHeight>end&&(box.scrollTop=(at+rowHeight-box.clientHeight+
head)/ratio)}var CARDS_BELOW=720,ROW={compact:44,comfortable:52},CARD=92;function Grid({label,rows,columns,selection,sort,order,onSort,actions,actionsWidth=120,open,opened,tone=()=>"",
keys={},what,ticks=!0}){let app=useApp(),box=T2(null),{width,height}=useSize(box),view=useStore(rows.view),chosenColumns=useStore(columns.chosen),chosen=useStore(
selection.state),density=useStore(app.density),cards=width>0&&width<CARDS_BELOW,rowHeight=cards?CARD:ROW[density],total=view.total??0,place=useScroll(box,total,
rowHeight,height),{shown,tracks}=w2(()=>fitting(columns.all,chosenColumns,cards?1/0:width,actionsWidth,ticks),[columns,chosenColumns,width,cards,actionsWidth,ticks]),
cursor=useCursor({app,box,rows,total,selection,open,keys,place,rowHeight,ticks});A2(()=>rows.want(place.from,place.to),[rows,place.from,place.to,view.version]);
let whole=T2(new Set),toggle=w2(()=>(row,index,extend)=>extend?selection.extend(row,index,(from,to)=>rows.range(from,to)):selection.toggle(row,index),[selection,
rows]),drawn=[],nowWhole=new Set;for(let index=place.from;index<Math.min(total,place.to);index++){let row=rows.at(index),top=index*rowHeight+place.shift;if(!row){
drawn.push(html`<div key=${`-${index}`} class="row is-coming" role="row" aria-rowindex=${index+2} style=${{transform:`translateY(${top}px)`}}>
        ${ticks&&html`<span role="cell" class="cell"></span>`}<span role="cell" class="cell"><span class="bone"></span></span></div>`);continue}let brief=place.
fast&&!whole.current.has(row.id)&&cursor.index!==index;brief||nowWhole.add(row.id),drawn.push(html`<${Row} key=${row.id} ...${{row,index,top,shown,actions,open,
toggle,cards,what,ticks,brief}} tone=${tone(row)}
      chosen=${chosen.all!==chosen.ids.has(row.id)} opened=${opened===row.id} cursor=${cursor.index===index} />`)}return F2(()=>{whole.current=nowWhole}),html`<div class=${`\
grid ${cards?"is-cards":""} ${ticks?"":"has-no-ticks"}`} ref=${box} role="table" aria-label=${label} aria-rowcount=${total+1} aria-busy=${view.total===null}
      style=${{"--tracks":tracks,"--row":`${rowHeight}px`}} onKeyDown=${cursor.onKey} onFocusIn=${cursor.onFocus}>
    <${Head} ...${{shown,rows,total,selection,chosen,sort,order,onSort,cards,ticks}} />
    <div class="grid-body" role="rowgroup" style=${{height:`${place.tall}px`}}>${drawn}</div>
  </div>`}function Head({shown,rows,total,selection,chosen,sort,order,onSort,cards,ticks}){let size=selection.size(total),some=size>0&&size<total,all=T2(null);F2(
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
  </div></div>`}function Row({row,index,top,shown,actions,open,toggle,cards,what,ticks,tone,chosen,opened,cursor,brief}){let name=what(row);return w2(()=>brief?
html`<div role="row" aria-label=${name} aria-rowindex=${index+2} data-id=${row.id} data-index=${index} tabindex="-1" class=${`row ${tone} is-brief`} style=${{transform:`\
translateY(${top}px)`}}>
    ${ticks&&html`<span role="cell" class="cell"></span>`}<span role="cell" class="cell title">${name}</span></div>`:html`<div role="row" aria-label=${name} aria-rowindex=${index+
2} data-id=${row.id} data-index=${index} tabindex=${cursor?0:-1}
      class=${`row ${tone} ${chosen?"is-chosen":""} ${opened?"is-open":""}`} style=${{transform:`translateY(${top}px)`}}
      onDblClick=${event=>!event.target.closest("button, a, input")&&open?.(row)}>
    ${ticks&&html`<span role="cell" class="cell cell-tick"><input type="checkbox" checked=${chosen} aria-label=${`Select ${name}`}
      onClick=${event=>ticked(event,()=>toggle(row,index,event.shiftKey))} /></span>`}
    ${cards?html`<${Card} row=${row} shown=${shown} />`:shown.map(column=>html`<span key=${column.id} role="cell" class=${`cell cell-${column.id} ${column.numeric?
"is-number":""}`}>${column.draw(row)}</span>`)}
    <span role="cell" class="cell cell-actions">${actions?.(row)}</span>
  </div>`,[row,index,top,shown,actions,toggle,cards,tone,chosen,opened,cursor,brief])}function ticked(event,choose){event.preventDefault(),setTimeout(choose)}function Card({
row,shown}){let[main,...rest]=[...shown].sort((a3,b)=>!!b.always-!!a3.always);return html`<span role="cell" class="cell card-main">${main.draw(row)}</span>
    <span role="cell" class="cell card-rest">${rest.filter(({card})=>card).map(column=>html`<span key=${column.id} class=${`cell-${column.id}`}>${column.draw(row)}</span>`)}</span>`}
function useSize(box){let[size,setSize]=d2({width:0,height:0});return F2(()=>{let read=()=>{let{clientWidth:width,clientHeight:height}=box.current;setSize(before=>before.
width===width&&before.height===height?before:{width,height})},observer=new ResizeObserver(read);return observer.observe(box.current),read(),()=>observer.disconnect()},
[]),size}function useCursor({app,box,rows,total,selection,open,keys,place,ticks}){let[index,setIndex]=d2(0),wanted=T2(-1);F2(()=>{if(wanted.current<0)return;let row=box.
current.querySelector(`.row[data-index="${wanted.current}"]`);row&&(wanted.current=-1,row.focus({preventScroll:!0}))});let move=to=>{let next=Math.max(0,Math.min(
total-1,to));if(total===0)return;setIndex(next),place.scrollTo(next);let drawn=box.current.querySelector(`.row[data-index="${next}"]`);drawn?drawn.focus({preventScroll:!0}):
wanted.current=next},act=event=>{let row=rows.at(index),to={ArrowDown:index+1,j:index+1,ArrowUp:index-1,k:index-1,PageDown:index+place.page,PageUp:index-place.page,
Home:0,End:total-1}[event.key],focused=document.activeElement?.classList.contains("row");if(to!==void 0)move(focused?to:index);else if(ticks&&row&&[" ","x","X"].
includes(event.key))event.shiftKey?selection.extend(row,index,(from,last)=>rows.range(from,last)):selection.toggle(row,index);else if(row&&event.key==="Enter"&&
open)open(row);else if(row&&Object.hasOwn(keys,event.key))keys[event.key](row);else return!1;return event.preventDefault(),!0};A2(()=>{let tab=({key})=>{if(key===
"Tab")for(let it of box.current.querySelectorAll(".grid-body .row :is(button, a, input)"))it.closest("[popover]")||(it.tabIndex=it.closest(".row").tabIndex)};return addEventListener(
"keydown",tab,!0),()=>removeEventListener("keydown",tab,!0)},[]);let latest=T2(act);return latest.current=act,A2(()=>{let key=event=>latest.current(event);return app.
grids.push(key),()=>{app.grids=app.grids.filter(other=>other!==key)}},[]),{index:Math.min(index,Math.max(0,total-1)),onFocus:event=>{let at=event.target.closest(
".row[data-index]")?.dataset.index;at!==void 0&&setIndex(Number(at))},onKey:event=>{event.target.classList.contains("row")&&!app.keys.isPlace(event)&&!event.ctrlKey&&
!event.metaKey&&!event.altKey&&act(event)&&event.stopPropagation()}}}function GridProblem({rows}){let{problem}=useStore(rows.view);return html`<${ProblemBox} problem=${problem}><button type="button" class="button small" onClick=${()=>rows.
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
    <h2>Rows</h2>
    <div class="segments" role="group" aria-label="Row height">${[["compact","Compact"],["comfortable","Comfortable"]].map(([value,words])=>html`<button type="button" key=${value}
      class="segment-button" aria-pressed=${density===value} onClick=${()=>app.setDensity(value)}>${words}</button>`)}</div>
    ${onSort&&html`<h2>Sort</h2>
    <div class="sort-line"><select aria-label="Sort by" value=${sort} onChange=${event=>onSort(event.currentTarget.value,order)}>
      ${columns.all.filter(column=>column.sort).map(column=>html`<option key=${column.sort} value=${column.sort} selected=${column.sort===sort}>${column.label}</option>`)}</select>
      <button type="button" class="icon-button" aria-label=${order==="asc"?"Ascending":"Descending"} title=${order==="asc"?"Ascending":"Descending"}
        onClick=${()=>onSort(sort,order==="asc"?"desc":"asc")}><${Icon} name=${order==="asc"?"up":"down"} /></button></div>`}
    <h2>Columns</h2>
    <ul class="column-list">${listed.map((column,i3)=>html`<li key=${column.id}>
      <label class="tick"><input type="checkbox" checked=${chosen.includes(column.id)} disabled=${column.always} onChange=${event=>columns.show(column.id,event.
currentTarget.checked)} /> ${column.label}</label>
      <button type="button" class="icon-button" aria-label=${`Move ${column.label} left`} disabled=${i3===0||!chosen.includes(column.id)} onClick=${()=>columns.
move(column.id,-1)}><${Icon} name="up" /></button>
      <button type="button" class="icon-button" aria-label=${`Move ${column.label} right`} disabled=${i3>=chosen.length-1} onClick=${()=>columns.move(column.id,
1)}><${Icon} name="down" /></button>
    </li>`)}</ul>
    <button type="button" class="button small" onClick=${()=>columns.reset()}>Reset columns</button>
  </div>`}<//></span>`}var Refresher=class{#one;#all;#ids=new Set;#everything=!1;#timer=0;#working=!1;#stopped=!1;#again=1e3;constructor(one,all){this.#one=one,this.#all=all}mark(id){
this.#ids.add(id),this.#plan(60)}markAll(){this.#everything=!0,this.#plan(60)}stop(){clearTimeout(this.#timer),this.#working=!0,this.#stopped=!0}#plan(ms){this.#working||
this.#timer||(this.#timer=setTimeout(()=>this.#work(),ms))}async#work(){let ids=[...this.#ids],all=this.#everything||ids.length>10;this.#timer=0,this.#working=!0,
this.#everything=!1,this.#ids.clear();let work=all?[this.#all()]:ids.map(id=>this.#one(id)),failed=(await Promise.allSettled(work)).map(({reason})=>isTemporary(
reason));if(this.#stopped)return;this.#working=!1;let soon2=all?300:60;failed.includes(!0)?(soon2=this.#again,this.#again=Math.min(2*this.#again,6e4),all?this.#everything=
!0:ids.filter((_3,i3)=>failed[i3]).forEach(id=>this.#ids.add(id))):this.#again=1e3,(this.#ids.size||this.#everything)&&this.#plan(soon2)}};function isTemporary(problem){
return!!problem&&(!problem.status||problem.status===429||problem.status>=500)}var BLOCK=50,KEPT2=40,AT_ONCE=2,Rows=class{view=new Store({total:null,atLeast:!1,problem:null,version:0});#api;#path;#query=null;#blocks=new Map;#stale=new Set;#reading=new Map;#wanted={
from:0,to:BLOCK-1};#turn=0;#fresh=!1;#refresh;constructor(api,path,{filtered=()=>!0}={}){this.#api=api,this.#path=path,this.filtered=filtered,this.#refresh=new Refresher(
id=>this.#readOne(id),()=>this.reload())}get query(){return this.#query}show(query){return this.#query=query,this.#turn++,this.#fresh=!1,this.#wanted={from:0,to:BLOCK-
1},this.#abort(),this.#read(0)}async reload(){if(!this.#query)return;for(let n3 of this.#blocks.keys())this.#stale.add(n3);this.#abort();let[first,last]=this.#blocksInView();
if(await this.#read(first),last!==first&&this.#fill(),this.view.value.problem)throw this.view.value.problem}at(index){return this.#blocks.get(Math.floor(index/BLOCK))?.[index%
BLOCK]}find(id){let index=this.indexOf(id);return index<0?void 0:this.at(index)}indexOf(id){for(let[n3,rows]of this.#blocks){let i3=rows.findIndex(row=>row.id===
id);if(i3>=0)return n3*BLOCK+i3}return-1}loaded(){return[...this.#blocks.values()].flat()}want(from,to){this.#wanted={from,to},this.#fresh&&this.#fill()}async range(from,to){
let turn=this.#turn,out=[];for(let n3=Math.floor(from/BLOCK);n3<=Math.floor(to/BLOCK)&&turn===this.#turn;n3++)(this.#blocks.get(n3)||(await this.#ask(n3)).data).
forEach((row,i3)=>n3*BLOCK+i3>=from&&n3*BLOCK+i3<=to&&out.push(row));return out}patch(id,changes){for(let[n3,rows]of this.#blocks)rows.some(row=>row.id===id)&&(this.#blocks.
set(n3,rows.map(row=>row.id===id?{...row,...changes}:row)),this.#changed({}))}patchAll(all){let any=!1;for(let[n3,rows]of this.#blocks)rows.some(({id})=>all.has(
id))&&(any=!0,this.#blocks.set(n3,rows.map(row=>all.has(row.id)?{...row,...all.get(row.id)}:row)));any&&this.#changed({})}again(id){this.#refresh.mark(id)}changed(id,came=!1){
came||!id||this.filtered(this.#query||{})?this.#refresh.markAll():this.indexOf(id)>=0&&this.#refresh.mark(id)}stop(){this.#abort(),this.#refresh.stop()}#blocksInView(){
let total=this.view.value.total??0,last=Math.max(0,Math.ceil(total/BLOCK)-1);return[Math.min(last,Math.floor(this.#wanted.from/BLOCK)),Math.min(last,Math.floor(
this.#wanted.to/BLOCK))]}#fill(){let[first,last]=this.#blocksInView();for(let[n3,controller]of this.#reading)n3>=first-1&&n3<=last+1||(controller.abort(),this.#reading.
delete(n3));for(let n3=first;n3<=last&&this.#reading.size<AT_ONCE;n3++)(!this.#blocks.has(n3)||this.#stale.has(n3))&&!this.#reading.has(n3)&&this.#read(n3)}#ask(n3,signal){
return this.#api.get(this.#path,{...this.#query,page:n3+1,limit:BLOCK},{signal})}async#read(n3){let turn=this.#turn,controller=new AbortController;this.#reading.
set(n3,controller);try{let answer=await this.#ask(n3,controller.signal);turn===this.#turn&&this.#take(n3,answer)}catch(problem){if(turn!==this.#turn||problem.name===
"AbortError")return;this.#changed({problem}),isTemporary(problem)&&this.#refresh.markAll()}finally{this.#reading.get(n3)===controller&&this.#reading.delete(n3)}
turn===this.#turn&&!this.view.value.problem&&this.#fill()}#take(n3,{data,total,totalIsExact,hasMore}){this.#fresh||this.#blocks.clear(),this.#fresh=!0,this.#stale.
delete(n3),this.#blocks.set(n3,data),this.#forget();let end=n3*BLOCK+data.length,atLeast=totalIsExact===!1&&hasMore,known=atLeast?Math.max(total,end+BLOCK):totalIsExact===
!1?end:total;this.#changed({total:known??end,atLeast,problem:null})}#forget(){let middle=Math.floor((this.#wanted.from+this.#wanted.to)/2/BLOCK),far=[...this.#blocks.
keys()].sort((a3,b)=>Math.abs(b-middle)-Math.abs(a3-middle));for(let n3 of far.slice(0,Math.max(0,far.length-KEPT2)))this.#blocks.delete(n3),this.#stale.delete(
n3)}async#readOne(id){if(!(this.indexOf(id)<0))try{this.patch(id,await this.#api.get(`${this.#path}/${encodeURIComponent(id)}`))}catch(problem){if(problem.status!==
404)throw problem;await this.reload()}}#abort(){for(let controller of this.#reading.values())controller.abort();this.#reading.clear()}#changed(changes){this.view.
set({...this.view.value,...changes,version:this.view.value.version+1})}};var RANGE=1e3,NONE={all:!1,ids:new Map},Selection=class{state=new Store(NONE);#last=-1;has(id){let{all,ids}=this.state.value;return all!==ids.has(id)}size(total){
let{all,ids}=this.state.value;return all?Math.max(0,total-ids.size):ids.size}clear(){this.#last=-1,this.state.set(NONE)}chooseAll(){this.state.set({all:!0,ids:new Map})}toggle(row,index){
this.#last=index,this.#set([row],!this.has(row.id))}async extend(row,index,read){if(this.#last<0||this.#last===index)return this.toggle(row,index);let[from,to]=[
Math.min(this.#last,index),Math.max(this.#last,index)],wanted=this.has(row.id)===!1,rows=await read(from,Math.min(to,from+RANGE-1));return this.#last=index,this.#set(
rows,wanted)}choose(rows,wanted){this.#set(rows,wanted)}keep(pairs){this.state.set({all:!1,ids:new Map(pairs)})}drop(id){this.has(id)&&this.#set([{id}],!1)}#set(rows,wanted){
let{all}=this.state.value,ids=new Map(this.state.value.ids);for(let row of rows)wanted!==all?ids.set(row.id,row.name||""):ids.delete(row.id);this.state.set({all,
ids})}};function useList(path,query,on,options){let app=useApp(),rows=w2(()=>new Rows(app.api,path,options),[app,path]),selection=w2(()=>new Selection,[app,path]),asked=JSON.
stringify(query);return A2(()=>{selection.clear(),rows.show(JSON.parse(asked)).then(()=>app.model.sawWorkspaces(rows.loaded()))},[rows,asked]),A2(()=>{let unwatch=app.
model.event.watch(event=>event.type==="everything"||event.type==="events.lost"?rows.changed(null,!0):on(event,rows));return()=>{unwatch(),rows.stop()}},[rows]),
{rows,selection,view:useStore(rows.view)}}function useColumns(name,make,which){return w2(()=>new Columns(name,make()),[name,which])}function useSort(params,fallback,order="\
desc"){let{router}=useApp();return{sort:params.get("sort")||fallback,order:params.get("order")||(params.get("sort")?"desc":order),onSort:(by,way)=>router.refine(
{sort:by,order:way})}}var PAUSE_MS=200;function SearchBox({value,label,change}){let[text,setText]=d2(value),timer=T2(0);return A2(()=>setText(now=>now.trim()===value?now:value),[value]),
A2(()=>()=>clearTimeout(timer.current),[]),html`<div class="search"><${Icon} name="search" />
    <input type="search" aria-label=${label} placeholder=${label} value=${text} onInput=${event=>{let next=event.currentTarget.value;setText(next),clearTimeout(
timer.current),timer.current=setTimeout(()=>change(next.trim()),PAUSE_MS)}} spellcheck=${!1} />
    <kbd aria-hidden="true" title="Press / to search">/</kbd>
  </div>`}var MEMORY={__proto__:null,cgroup:"Memory as the kernel counts it for the run, with files in use",pss:"Memory, with its share of what processes share (PSS)",private:"\
Memory of its processes, without what they share"},NEAR=.9;function memoryOf(n3,limit){return limit?`${mebibytes2(n3)} MiB`:bytes(n3)}function mebibytes2(n3){return number(
Math.round(n3/2**20))}function usageWords({cpuPercent:cpu,memoryBytes:memory2,memoryKind,memoryLimitBytes:limit,peakMemoryBytes:peak,processes,pids}){let now=memory2==
null?"":limit?`${mebibytes2(memory2)} of ${memoryOf(limit,limit)}`:bytes(memory2),most=peak==null?"":memoryOf(peak,limit),words=[now,cpu==null?"":`CPU ${cpu<10?
cpu.toFixed(1):Math.round(cpu)} %`].filter(Boolean).join(" · "),more2=[MEMORY[memoryKind],most&&`At most ${most} so far`,processes!=null&&count(processes,"proc\
ess","processes"),pids!=null&&`${number(pids)} with threads`].filter(Boolean).join(". ");return{words,most,more:more2,near:!!limit&&memory2!=null&&memory2>=NEAR*
limit}}function diskWords(read,written){return`${bytes(read||0)} read · ${bytes(written||0)} written`}export{Q,d2 as d,A2 as A,F2 as F,T2 as T,w2 as w,O,P2 as P,html,Problem,Api,Store,useStore,AppContext,useApp,useNow,span,ago,moment,soon,lasting,since,number,keptFor,
count,bytes,sentence,address,proxyName,Icon,Logo,Burrows,PROFILE_STATUS,PROXY_STATUS,SYSTEMS,PROXY_TYPES,stageWords,faultWords,endWords,memoryWords,problemWords,
problemTitle,Country,countryName,Menu,Status,Ago,Name,Tags,Temporary,ProblemBox,Prose,Notice,Copy,copyText,Empty,Waiting,Dialog,useTold,ConfirmDialog,ProblemDialog,
Router,href,activityOf,checkMany,CheckAll,Checked,ProxyCache,useProxy,Toasts,ToastArea,Previews,Preview,viewOf,BulkBar,recall,remember,kept,forget,Grid,GridProblem,
Selection,Chips,FreeFilter,ViewMenu,Refresher,useList,useColumns,useSort,SearchBox,Nodes,useSeveral,useFreshNodes,nodeState,useNode,NodeName,nodeColumn,usageWords,
diskWords,takeFromAddress,looksLikeKey,exchange,revoke,readKey,isOfThisTab,saveKey,dropKey,watchKey,AddProxies,CheckDialog,CloneDialog,ExportDialog,FirstRun,ImportDialog,
LivePage,Palette,ProfileDialog,ProfileDrawer,ProxyBulkDialog,ProxyDialog,ProxyDrawer,ProxyForm,SaveView,SettingsPage,TagBulkDialog,TagDialog,TemplateDialog,Tile,
Browsers,NO_BROWSER,useInstallation,useNoStart,NoBrowser,start,begin,beginMany,restart,connect,stop,askToDelete,askToDestroy,restore,check,askToDeleteProxy};
