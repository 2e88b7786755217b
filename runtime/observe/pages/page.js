// Shared by the pages: data, colours, formats, the tooltip, and the actions a test asks for in the address.
'use strict';
const root = document.documentElement;
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId('data').textContent);

// Errors are visible from outside: <html data-errors="0">.
root.dataset.errors = '0';
function countError(text) {
  root.dataset.errors = String(Number(root.dataset.errors) + 1);
  root.dataset.error = String(text);
}
addEventListener('error', (event) => countError(event.message));
addEventListener('unhandledrejection', (event) => countError(event.reason));

// Told apart in both themes; grey is left to waits.
const palette = ['#4c78c8', '#ef8a3c', '#47a06a', '#d8575a', '#8f6cc4', '#2ba6b3', '#d9a62e', '#c8649f', '#8a6d56', '#7a9a2e'];
function colour(index) {
  return index < palette.length ? palette[index] : `hsl(${(index * 137.508) % 360} 48% 54%)`;
}

const count = (value) => value.toLocaleString('en-US');
const percent = (part, whole) => (whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : '–');
function duration(ns) {
  const [scale, unit] = ns < 1e3 ? [1, 'ns'] : ns < 1e6 ? [1e3, 'µs'] : ns < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  const value = ns / scale;
  return `${scale === 1 ? Math.round(value) : value >= 100 ? value.toFixed(1) : value >= 10 ? value.toFixed(2) : value.toFixed(3)} ${unit}`;
}

// "partial(i=1, j=3)" and "done[1, 2]", as everywhere else in evt.
function taskName(call, coord) {
  return `${call.name}(${coord.map((value, d) => `${call.coords[d] ?? `d${d}`}=${value}`).join(', ')})`;
}
function elementName(event, linear) {
  if (event.shape.length === 0) return event.name;
  const index = [];
  for (let d = event.shape.length; d-- > 0;) {
    index.unshift(linear % event.shape[d]);
    linear = Math.floor(linear / event.shape[d]);
  }
  return `${event.name}[${index.join(', ')}]`;
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// Lines are [text, class]; the first is the heading.
function showTip(x, y, lines) {
  const tip = byId('tip');
  tip.replaceChildren(...lines.map(([text, kind], at) => element(at === 0 ? 'b' : 'div', kind ? { class: kind } : {}, text)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, x + 16 + box.width > innerWidth ? x - 12 - box.width : x + 16)}px`;
  tip.style.top = `${Math.max(4, y + 16 + box.height > innerHeight ? y - 12 - box.height : y + 16)}px`;
}
function hideTip() { byId('tip').hidden = true; }

// #test=hover:0:2;wheel:0.5:-240 runs the page's own actions in order and then sets <html data-test="done">.
// Each action goes through real events, so what is tested is what a hand would do.
function runTest(actions) {
  const match = /[#&]test=([^&]*)/.exec(location.hash);
  if (!match) return;
  for (const step of decodeURIComponent(match[1]).split(';').filter(Boolean)) {
    const [name, ...rest] = step.split(':');
    if (!actions[name]) throw new Error(`no test action ${name}`);
    actions[name](...rest.map(Number));
  }
  root.dataset.test = 'done';
}
