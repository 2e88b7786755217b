// The graph page: calls and events above, tasks and event elements below, both laid out in layers from left to right.
const deviceNames = [...new Set(data.calls.map((call) => call.device))];
const callColour = (call) => colour(deviceNames.indexOf(data.calls[call].device));

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const textWidth = (() => {
  const pen = document.createElement('canvas').getContext('2d');
  return (text, font = '12px system-ui, sans-serif') => { pen.font = font; return pen.measureText(text).width; };
})();
// From the right side of one box to the left side of another; backwards it runs below both, `lane` by `lane`.
function curve(a, b, lane = 0) {
  const x0 = a.x + a.width / 2, x1 = b.x - b.width / 2;
  if (x1 > x0) {
    const bend = Math.min(60, (x1 - x0) / 2);
    return `M${x0} ${a.y}C${x0 + bend} ${a.y} ${x1 - bend} ${b.y} ${x1} ${b.y}`;
  }
  const from = a.y + a.height / 2, to = b.y + b.height / 2, low = Math.max(from, to) + 16 + 12 * lane;
  const turn = a.x > b.x ? 10 : -10;
  return `M${a.x} ${from}V${low - 10}Q${a.x} ${low} ${a.x - turn} ${low}H${b.x + turn}Q${b.x} ${low} ${b.x} ${low - 10}V${to}`;
}
const forward = (a, b) => b.x - b.width / 2 > a.x + a.width / 2;

// ---- calls and events -----------------------------------------------------------------------------------------

// A call stands right of every earlier call it waits for; events that lead back, or to their own call, do not count.
function drawCalls() {
  const { summary } = data;
  const notifiers = data.events.map(() => []), waiters = data.events.map(() => []);
  for (const [call, event, times] of summary.notifies) notifiers[event].push({ call, times });
  for (const [call, event, times] of summary.waits) waiters[event].push({ call, times });
  const column = data.calls.map(() => 0);
  data.calls.forEach((_, call) => {
    waiters.forEach((list, event) => {
      if (list.some((one) => one.call === call))
        for (const from of notifiers[event]) if (from.call < call) column[call] = Math.max(column[call], column[from.call] + 2);
    });
  });
  const used = data.events.map((_, event) => event).filter((event) => summary.elements[event] > 0);
  const eventColumn = new Map(used.map((event) => {
    const forward = notifiers[event].filter((from) => waiters[event].some((to) => to.call > from.call));
    const froms = forward.length > 0 ? forward : notifiers[event];
    return [event, froms.length > 0 ? Math.max(...froms.map((from) => column[from.call])) + 1 : -1];
  }));
  const boxes = [];
  data.calls.forEach((call, at) => boxes.push({ kind: 'call', at, column: column[at], title: call.name,
    detail: `${count(summary.tasks[at])} ${summary.tasks[at] === 1 ? 'task' : 'tasks'}` }));
  used.forEach((at) => boxes.push({ kind: 'event', at, column: eventColumn.get(at), title: data.events[at].name,
    detail: `${count(summary.elements[at])} ${summary.elements[at] === 1 ? 'element' : 'elements'}` }));
  const columns = new Map();
  for (const box of boxes) {
    box.width = Math.max(70, textWidth(box.title, '650 12px system-ui, sans-serif'), textWidth(box.detail, '11px system-ui, sans-serif')) + 24;
    box.height = 42;
    if (!columns.has(box.column)) columns.set(box.column, []);
    columns.get(box.column).push(box);
  }
  const rows = Math.max(...[...columns.values()].map((list) => list.length));
  let x = 6;
  for (const key of [...columns.keys()].sort((a, b) => a - b)) {
    const list = columns.get(key), widest = Math.max(...list.map((box) => box.width));
    list.forEach((box, row) => { box.x = x + widest / 2; box.y = (row + .5) / list.length * rows * 62; });
    x += widest + 84;
  }
  const find = (kind, at) => boxes.find((box) => box.kind === kind && box.at === at);
  const drawing = byId('calls');
  let lanes = 0;
  const edge = (from, to, times) => {
    const back = !forward(from, to);
    drawing.append(svg('path', { class: 'edges', d: curve(from, to, lanes), 'data-edge': `${from.title}>${to.title}`, 'marker-end': 'url(#tip-of-edge)' }));
    const mid = back ? [(from.x + to.x) / 2, Math.max(from.y, to.y) + 37 + 12 * lanes - 9] :
      [(from.x + from.width / 2 + to.x - to.width / 2) / 2, (from.y + to.y) / 2 - 9];
    drawing.append(svg('text', { class: 'muted', x: mid[0], y: mid[1] }, count(times)));
    if (back) lanes++;
  };
  drawing.append(svg('defs', {}, svg('marker', { id: 'tip-of-edge', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' },
    svg('path', { d: 'M0 .5L8 4L0 7.5z', style: 'fill:var(--wait-line)' }))));
  for (const [call, event, times] of summary.notifies) edge(find('call', call), find('event', event), times);
  for (const [call, event, times] of summary.waits) edge(find('event', event), find('call', call), times);
  for (const box of boxes) {
    const call = box.kind === 'call';
    const shape = svg('rect', { x: box.x - box.width / 2, y: box.y - box.height / 2, width: box.width, height: box.height, rx: call ? 6 : 21 });
    if (call) shape.setAttribute('style', `fill:color-mix(in srgb, ${callColour(box.at)} 22%, var(--panel));stroke:${callColour(box.at)}`);
    drawing.append(svg('g', { class: call ? 'task' : 'counter', [`data-${box.kind}`]: box.title }, shape,
      svg('text', { class: 'head', x: box.x, y: box.y - 8 }, box.title),
      svg('text', { class: 'muted', x: box.x, y: box.y + 9 }, box.detail)));
  }
  const width = Math.max(1, x - 78), height = rows * 62 + (lanes > 0 ? 12 + 12 * lanes : 0);
  const scale = Math.min(1, Math.max(.6, drawing.parentElement.clientWidth / width));
  for (const [name, value] of Object.entries({ width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}` }))
    drawing.setAttribute(name, value);
}

// ---- tasks and elements -----------------------------------------------------------------------------------------

const tasks = data.tasks.map(([call, ...coord], at) => ({ at, task: true, call, coord, label: coord.join(', ') || '·', in: [], out: [], height: 22 }));
const elements = data.elements.map(([event, linear, needed, got], at) => ({ at, task: false, event, needed, got, in: [], out: [], height: 22,
  label: elementName(data.events[event], linear), number: needed >= 0 ? String(needed) : '–', bad: needed >= 0 && needed !== got }));
const nodes = [...tasks, ...elements];
// A task that notifies an element twice is one edge.
function connect(flat, forward) {
  const seen = new Set();
  for (let e = 0; e < flat.length; e += 2) {
    const key = `${flat[e]},${flat[e + 1]}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const task = tasks[flat[e]], one = elements[flat[e + 1]];
    const [from, to] = forward ? [task, one] : [one, task];
    from.out.push(to);
    to.in.push(from);
  }
}
connect(data.notifies, true);
connect(data.waits, false);
nodes.forEach((node, id) => { node.id = id; });

// Longest path from the left. On a circle the first task in program order goes as if it waited for nothing. Returns how
// many tasks are on a circle or behind one.
function assignLayers() {
  const open = nodes.map((node) => node.in.length);
  const placed = new Set();
  let stuck = 0;
  const queue = nodes.filter((node) => node.in.length === 0);
  for (const node of nodes) node.layer = node.task ? 0 : -1;
  for (let at = 0; placed.size < nodes.length; ++at) {
    if (at === queue.length) {
      const rest = tasks.filter((task) => !placed.has(task) && open[task.id] > 0);
      if (stuck === 0) stuck = rest.length;
      queue.push(rest[0]);
    }
    const node = queue[at];
    if (placed.has(node)) continue;
    placed.add(node);
    for (const next of node.out) {
      if (!placed.has(next)) next.layer = Math.max(next.layer, node.layer + 1);
      if (--open[next.id] === 0) queue.push(next);
    }
  }
  return stuck;
}

// A column holds the tasks of one call in one layer, or the elements of one event in one layer.
function place() {
  const columns = new Map();
  for (const node of nodes) {
    const key = node.task ? node.call : node.event;
    const name = `${node.layer}/${node.task ? 'task' : 'element'}/${key}`;
    if (!columns.has(name)) columns.set(name, { layer: node.layer, task: node.task, key, nodes: [], title: node.task ? data.calls[key].name : data.events[key].name });
    columns.get(name).nodes.push(node);
  }
  const sorted = [...columns.values()].sort((a, b) => a.layer - b.layer || a.key - b.key);
  const rows = Math.max(1, ...sorted.map((column) => column.nodes.length)), pitch = 30, top = 44;
  let x = 16;
  for (const column of sorted) {
    column.nodes.forEach((node, row) => { node.y = top + (row + .5) / column.nodes.length * rows * pitch; });
    if (!column.task) {
      // Elements stand beside the tasks that notify them.
      const mean = (node) => (node.in.length ? node.in : node.out).reduce((sum, one) => sum + (one.y ?? 0), 0) / Math.max(1, (node.in.length ? node.in : node.out).length);
      const ordered = column.nodes.map((node) => [mean(node), node]).sort((a, b) => a[0] - b[0] || a[1].at - b[1].at).map((pair) => pair[1]);
      ordered.forEach((node, row) => { node.y = top + (row + .5) / ordered.length * rows * pitch; });
    }
    const widest = Math.max(36, ...column.nodes.map((node) => textWidth(node.label) + (node.task ? 18 : 30 + textWidth(node.number))));
    const head = textWidth(column.title, '650 12px system-ui, sans-serif');
    const full = Math.max(widest, head);
    column.x = x + full / 2;
    for (const node of column.nodes) { node.x = column.x; node.width = widest; }
    x += full + (column.task ? 64 : 52);
  }
  return { columns: sorted, width: x - 36, height: top + rows * pitch + 40 };
}

function drawTasks() {
  const onCircle = assignLayers();
  const layout = place();
  const drawing = byId('drawing');
  drawing.setAttribute('viewBox', `0 0 ${layout.width} ${layout.height}`);
  const all = [];
  for (const node of nodes) for (const next of node.out) all.push(curve(node, next));
  drawing.append(svg('path', { class: 'edges', d: all.join('') }), svg('g', { id: 'hot' }));
  for (const column of layout.columns)
    drawing.append(svg('text', { class: column.task ? 'head' : 'muted', x: column.x, y: 20 }, column.title));
  for (const node of nodes) {
    const left = node.x - node.width / 2;
    const shape = svg('rect', { x: left, y: node.y - 11, width: node.width, height: 22, rx: node.task ? 5 : 11 });
    const group = svg('g', { class: `node ${node.task ? 'task' : 'counter'}${node.bad ? ' bad' : ''}`, 'data-id': node.id }, shape);
    if (node.task) {
      shape.setAttribute('style', `fill:color-mix(in srgb, ${callColour(node.call)} 26%, var(--panel));stroke:${callColour(node.call)}`);
      group.append(svg('text', { x: node.x, y: node.y }, node.label));
    } else {
      const numberWidth = textWidth(node.number) + 14;
      group.append(svg('text', { x: left + (node.width - numberWidth) / 2 + 2, y: node.y, class: 'muted' }, node.label),
        svg('text', { x: left + node.width - numberWidth / 2 - 2, y: node.y, class: 'n' }, node.number));
    }
    node.group = group;
    drawing.append(group);
  }
  return { ...layout, onCircle, edges: all.length };
}

// Everything reachable from a node in one direction, with the number of tasks passed on the way to it.
function reach(node, side) {
  const found = new Map([[node, 0]]);
  const queue = [node];
  for (let at = 0; at < queue.length; ++at)
    for (const next of queue[at][side])
      if (!found.has(next)) {
        found.set(next, found.get(queue[at]) + (queue[at].task && queue[at] !== node ? 1 : 0));
        queue.push(next);
      }
  found.delete(node);
  return found;
}

const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;
function listed(list) {
  return list.slice(0, 6).map((node) => (node.task ? taskName(data.calls[node.call], node.coord) : node.label)).join(', ') +
    (list.length > 6 ? ` and ${list.length - 6} more` : '');
}
function describe(node, before, after) {
  const tasksIn = (found) => [...found.keys()].filter((one) => one.task).length;
  const lines = node.task ? [[taskName(data.calls[node.call], node.coord)], [`device function ${data.calls[node.call].device}`],
    [node.in.length ? `waits for ${listed(node.in)}` : 'waits for nothing', 'strong'],
    [node.out.length ? `notifies ${listed(node.out)}` : 'notifies nothing', 'strong']]
    : [[node.label], [node.needed >= 0 ? `count ${node.needed}, ${plural(node.got, 'notification')}` : `${plural(node.got, 'notification')}, nobody waits for it`, 'strong'],
      [node.in.length ? `notified by ${listed(node.in)}` : 'notified by no task drawn here'],
      [node.out.length ? `waited for by ${listed(node.out)}` : 'waited for by no task drawn here']];
  lines.push([`${plural(tasksIn(before), 'task')} before, ${plural(tasksIn(after), 'task')} after`]);
  return lines;
}

function focus(node, x, y) {
  clearFocus();
  const before = reach(node, 'in'), after = reach(node, 'out');
  byId('drawing').classList.add('focus');
  node.group.classList.add('near', 'self');
  const paths = { 'hot before': [], 'hot before far': [], hot: [], 'hot far': [] };
  for (const [found, side, name] of [[before, 'in', 'hot before'], [after, 'out', 'hot']]) {
    for (const [one, hops] of found) one.group.classList.add('near', ...(hops > 0 ? ['far'] : []));
    for (const one of [node, ...found.keys()])
      for (const next of one[side]) {
        const far = (found.get(next) ?? 0) > 0;
        paths[name + (far ? ' far' : '')].push(side === 'in' ? curve(next, one) : curve(one, next));
      }
  }
  byId('hot').replaceChildren(...Object.entries(paths).map(([kind, list]) => svg('path', { class: kind, d: list.join('') })));
  root.dataset.before = [...before.keys()].filter((one) => one.task).length;
  root.dataset.after = [...after.keys()].filter((one) => one.task).length;
  showTip(x, y, describe(node, before, after));
}
function clearFocus() {
  byId('drawing').classList.remove('focus');
  for (const group of byId('drawing').querySelectorAll('.near')) group.classList.remove('near', 'far', 'self');
  byId('hot').replaceChildren();
  delete root.dataset.before;
  delete root.dataset.after;
  hideTip();
}

function fillPage(layout) {
  byId('name').textContent = data.name;
  byId('caption').textContent = data.caption;
  const facts = [['tasks', data.total.tasks], ['event elements', data.total.elements], ['waits and notifies', data.total.edges],
    ['calls', data.calls.length]];
  // Known only where every task is drawn and none waits for itself.
  if (tasks.length === data.total.tasks && layout.onCircle === 0)
    facts.push(['longest chain', plural(1 + Math.max(-1, ...tasks.map((task) => Math.floor(task.layer / 2))), 'task')]);
  byId('facts').replaceChildren(...facts.map(([label, value]) => element('div', { 'data-fact': label },
    element('b', {}, typeof value === 'number' ? count(value) : value), element('span', {}, label))));
  const notices = [];
  if (tasks.length < data.total.tasks)
    notices.push(`Drawn are the first ${count(tasks.length)} of ${plural(data.total.tasks, 'task')}, in program order; the graph above covers all.`);
  if (layout.onCircle > 0) notices.push(`${plural(layout.onCircle, 'task')} wait for each other in a circle, or for tasks that do.`);
  byId('notice').textContent = notices.join(' ');
  byId('notice').hidden = notices.length === 0;
  byId('badkey').hidden = !elements.some((one) => one.bad);
  Object.assign(root.dataset, { tasks: tasks.length, elements: elements.length, edges: layout.edges, bad: elements.filter((one) => one.bad).length });
}

drawCalls();
const layout = drawTasks();
fillPage(layout);

let scale = 1;
function setScale(value) {
  scale = Math.max(.1, Math.min(3, value));
  byId('drawing').setAttribute('width', layout.width * scale);
  byId('drawing').setAttribute('height', layout.height * scale);
}
const fit = (least) => setScale(Math.min(1, Math.max(least, (byId('tasks').clientWidth - 2) / layout.width)));
fit(.65);
byId('in').addEventListener('click', () => setScale(scale * 1.25));
byId('out').addEventListener('click', () => setScale(scale / 1.25));
byId('fit').addEventListener('click', () => fit(.1));

byId('drawing').addEventListener('mouseover', (event) => {
  const group = event.target.closest('.node');
  if (group) focus(nodes[Number(group.dataset.id)], event.clientX, event.clientY);
});
byId('drawing').addEventListener('mouseout', (event) => {
  if (event.target.closest('.node')) clearFocus();
});

window.evt = { data, tasks, elements };
function over(node, type) {
  const shape = node.group.querySelector('rect'), box = shape.getBoundingClientRect();
  shape.dispatchEvent(new MouseEvent(type, { bubbles: true, clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 }));
}
runTest({
  task: (at) => over(tasks[at], 'mouseover'),
  element: (at) => over(elements[at], 'mouseover'),
  leave: (at) => over(tasks[at], 'mouseout'),
});
