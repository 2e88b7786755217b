// The trace page: every task of every worker on one canvas.
const span = Math.max(1, data.span);
const canvas = byId('timeline');
const pen = canvas.getContext('2d');
const gutter = 84;   // worker names
const ruler = 26;    // times
const foot = 12;     // which part of the run is in view

// One worker's flat list (Trace.cpp) as columns, in order of beginning. Tasks of a CPU's worker do not overlap; a GPU's block
// begins a task while it ends the one before. `until` is when all tasks up to here have ended.
function readWorker(flat) {
  const tasks = { call: [], begin: [], end: [], finished: [], coord: [], waits: [], until: [], size: 0 };
  for (let at = 0; at < flat.length;) {
    tasks.call.push(flat[at]);
    tasks.begin.push(flat[at + 1]);
    tasks.end.push(flat[at + 2]);
    tasks.until.push(Math.max(flat[at + 2], tasks.until[tasks.size - 1] ?? 0));
    tasks.finished.push(flat[at + 3] === 1);
    at += 4;
    const rank = flat[at++];
    tasks.coord.push(flat.slice(at, at + rank));
    at += rank;
    const waits = [];
    for (let left = flat[at++]; left > 0; --left, at += 5)
      waits.push({ event: flat[at], element: flat[at + 1], elements: flat[at + 2], begin: flat[at + 3], end: flat[at + 4] });
    tasks.waits.push(waits);
    tasks.size++;
  }
  return tasks;
}
const workers = data.workers.map(readWorker);
delete data.workers;
const taskCount = workers.reduce((sum, worker) => sum + worker.size, 0);
const deviceOf = (worker, task) => data.calls[worker.call[task]].device;
const waited = (worker, task) => worker.waits[task].reduce((sum, wait) => sum + wait.end - wait.begin, 0);

// Totals in nanoseconds. Of a device function: its tasks' time without waits, their waits, and the part of the workers' time that
// was theirs, shared where tasks overlap. Of a worker: busy while a task works, waiting while tasks only wait, else idle.
const zero = () => ({ tasks: 0, busy: 0, wait: 0, idle: 0, part: 0 });
const deviceTotals = data.devices.map(zero);
// [time, device (-1: a wait), one more or one less] whenever a task begins or ends, or its wait does.
function changesOf(worker) {
  const changes = [];
  for (let task = 0; task < worker.size; ++task) {
    const device = deviceOf(worker, task);
    changes.push([worker.begin[task], device, 1], [worker.end[task], device, -1]);
    for (const wait of worker.waits[task])
      changes.push([wait.begin, device, -1], [wait.end, device, 1], [wait.begin, -1, 1], [wait.end, -1, -1]);
  }
  return changes.sort((a, b) => a[0] - b[0]);
}
const workerTotals = workers.map((worker) => {
  const total = zero();
  const working = new Int32Array(data.devices.length);
  let now = 0, busy = 0, waiting = 0;
  for (const [time, device, more] of changesOf(worker)) {
    if (busy > 0) {
      total.busy += time - now;
      working.forEach((tasks, at) => { deviceTotals[at].part += (time - now) * tasks / busy; });
    } else if (waiting > 0) total.wait += time - now;
    now = time;
    if (device < 0) waiting += more;
    else {
      busy += more;
      working[device] += more;
    }
  }
  for (let task = 0; task < worker.size; ++task) {
    const sum = deviceTotals[deviceOf(worker, task)], wait = waited(worker, task);
    sum.tasks++;
    sum.busy += worker.end[task] - worker.begin[task] - wait;
    sum.wait += wait;
  }
  total.tasks = worker.size;
  total.idle = data.span - total.busy - total.wait;
  return total;
});
const all = workerTotals.reduce((sum, one) => {
  for (const key of Object.keys(sum)) sum[key] += one[key];
  return sum;
}, zero());

// The part of the run in view, in nanoseconds, and the device function singled out (-1: none).
const view = { from: 0, to: span };
let single = -1;
let rowHeight = 30;
let drawn = 0, merged = 0;
const width = () => canvas.clientWidth - gutter;
const xOf = (time) => gutter + (time - view.from) / (view.to - view.from) * width();
const timeAt = (x) => view.from + (x - gutter) / width() * (view.to - view.from);
const rowTop = (row) => ruler + row * rowHeight;

let shade = {};
function readTheme() {
  const style = getComputedStyle(root);
  shade = {};
  for (const name of ['panel', 'text', 'muted', 'line', 'track', 'wait', 'wait-line', 'bad', 'accent'])
    shade[name] = style.getPropertyValue(`--${name}`).trim();
  const tile = element('canvas', { width: 6, height: 6 });
  const brush = tile.getContext('2d');
  brush.fillStyle = shade.wait;
  brush.fillRect(0, 0, 6, 6);
  brush.strokeStyle = shade['wait-line'];
  brush.lineWidth = 1.2;
  for (const shift of [-6, 0, 6]) {
    brush.beginPath();
    brush.moveTo(shift - 1, 7);
    brush.lineTo(shift + 7, -1);
    brush.stroke();
  }
  shade.hatch = pen.createPattern(tile, 'repeat');
}

// Black or white, whichever reads better on a device function's colour.
const inks = new Map();
function ink(device) {
  if (!inks.has(device)) {
    const one = element('canvas', { width: 1, height: 1 }).getContext('2d');
    one.fillStyle = colour(device);
    one.fillRect(0, 0, 1, 1);
    const [red, green, blue] = one.getImageData(0, 0, 1, 1).data;
    inks.set(device, .299 * red + .587 * green + .114 * blue > 140 ? '#10141a' : '#fff');
  }
  return inks.get(device);
}

// First task that may end after `time`: all before it have ended.
function firstAfter(worker, time) {
  let low = 0, high = worker.size;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (worker.until[middle] > time) high = middle; else low = middle + 1;
  }
  return low;
}

function drawRuler() {
  const visible = view.to - view.from;
  const raw = visible / Math.max(1, width() / 110);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= raw);
  pen.font = '11px system-ui, sans-serif';
  pen.textAlign = 'left';
  pen.textBaseline = 'middle';
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    const x = Math.round(xOf(time)) + .5;
    pen.strokeStyle = shade.line;
    pen.beginPath();
    pen.moveTo(x, ruler - 6);
    pen.lineTo(x, rowTop(workers.length));
    pen.stroke();
    pen.fillStyle = shade.muted;
    if (x < canvas.clientWidth - 50) pen.fillText(rulerTime(time, step), x + 4, ruler - 12);
  }
}
// Enough digits to tell neighbours apart.
function rulerTime(time, step) {
  if (time === 0) return '0';
  const [scale, unit] = step < 1e3 && view.to < 1e4 ? [1, 'ns'] : view.to < 1e6 ? [1e3, 'µs'] : view.to < 1e9 ? [1e6, 'ms'] : [1e9, 's'];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  return `${(time / scale).toFixed(digits)} ${unit}`;
}

function drawWaits(worker, task, top, height) {
  for (const wait of worker.waits[task]) {
    const left = Math.max(gutter, xOf(wait.begin)), right = Math.min(canvas.clientWidth, xOf(wait.end));
    if (right - left < .5) continue;
    pen.fillStyle = shade.hatch;
    pen.fillRect(left, top, right - left, height);
  }
}

function drawWorker(row) {
  const worker = workers[row];
  const top = rowTop(row) + (rowHeight > 12 ? 2 : .5);
  const height = rowHeight - (rowHeight > 12 ? 4 : 1);
  pen.fillStyle = shade.track;
  pen.fillRect(gutter, top, width(), height);
  const columns = newColumns(top, height);
  for (let task = firstAfter(worker, view.from); task < worker.size && worker.begin[task] < view.to; ++task) {
    if (worker.end[task] <= view.from) continue;
    const left = Math.max(gutter, xOf(worker.begin[task])), right = Math.min(canvas.clientWidth, xOf(worker.end[task]));
    const device = deviceOf(worker, task);
    if (right - left < 1) {
      merged++;
      columns.add(Math.floor(left), device, worker.end[task] - worker.begin[task], waited(worker, task));
      continue;
    }
    drawn++;
    pen.globalAlpha = single >= 0 && single !== device ? .15 : 1;
    pen.fillStyle = colour(device);
    const wide = right - left > 3;
    pen.fillRect(left, top, wide ? right - left - .6 : Math.max(1, right - left), height);
    drawWaits(worker, task, top, height);
    if (!worker.finished[task]) {
      pen.fillStyle = shade.bad;
      pen.fillRect(right - 3, top, 3, height);
    }
    if (rowHeight > 14) drawLabel(worker, task, left, right, top + height / 2);
    pen.globalAlpha = 1;
  }
  columns.flush();
}

// Tasks narrower than a pixel share a column: a stack of what the time there went to, idle left open.
function newColumns(top, height) {
  const share = new Float64Array(data.devices.length + 1);  // the last one is waiting
  let at = -1;
  function flush() {
    if (at < 0) return;
    const whole = Math.max((view.to - view.from) / width(), share.reduce((sum, part) => sum + part, 0));
    let bottom = top + height;
    share.forEach((time, device) => {
      if (time === 0) return;
      const part = height * time / whole;
      bottom -= part;
      pen.globalAlpha = single >= 0 && single !== device ? .15 : 1;
      pen.fillStyle = device < data.devices.length ? colour(device) : shade['wait-line'];
      pen.fillRect(at, bottom, 1, part);
    });
    pen.globalAlpha = 1;
    share.fill(0);
    at = -1;
  }
  function add(x, device, time, wait) {
    if (x !== at) flush();
    at = x;
    share[device] += time - wait;
    share[data.devices.length] += wait;
  }
  return { add, flush };
}

// In the largest stretch of the task that is not a wait.
function drawLabel(worker, task, left, right, middle) {
  let from = left, best = [left, left];
  for (const wait of [...worker.waits[task], { begin: worker.end[task], end: worker.end[task] }]) {
    const to = Math.min(right, xOf(wait.begin));
    if (to - from > best[1] - best[0]) best = [from, to];
    from = Math.max(from, xOf(wait.end));
  }
  const room = best[1] - best[0] - 10;
  if (room < 24) return;
  const call = data.calls[worker.call[task]];
  pen.font = '11px system-ui, sans-serif';
  const text = [`${call.name} ${worker.coord[task].join(', ')}`, call.name].find((one) => pen.measureText(one).width <= room);
  if (!text) return;
  pen.fillStyle = ink(call.device);
  pen.textAlign = 'left';
  pen.textBaseline = 'middle';
  pen.fillText(text, best[0] + 5, middle + .5);
}

function draw() {
  const ratio = devicePixelRatio || 1;
  const most = Math.max(220, innerHeight * .62);
  rowHeight = Math.max(7, Math.min(30, Math.floor((most - ruler - foot) / Math.max(1, workers.length))));
  const height = ruler + workers.length * rowHeight + foot;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawn = merged = 0;
  drawRuler();
  for (let row = 0; row < workers.length; ++row) drawWorker(row);
  pen.clearRect(0, ruler, gutter, height);
  pen.fillStyle = shade.muted;
  pen.font = '12px system-ui, sans-serif';
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  const every = Math.ceil(14 / rowHeight);
  for (let row = 0; row < workers.length; row += every)
    pen.fillText(`worker ${row}`, gutter - 10, rowTop(row) + rowHeight / 2);
  pen.fillStyle = shade.track;
  pen.fillRect(gutter, height - 5, width(), 4);
  pen.fillStyle = shade.accent;
  pen.fillRect(gutter + view.from / span * width(), height - 5, Math.max(2, (view.to - view.from) / span * width()), 4);
  root.dataset.drawn = drawn;
  root.dataset.merged = merged;
  root.dataset.from = Math.round(view.from);
  root.dataset.to = Math.round(view.to);
}
let pending = false;
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => { pending = false; draw(); });
}

function setView(from, to) {
  const length = Math.min(span, Math.max(Math.min(span, 20), to - from));
  view.from = Math.max(0, Math.min(span - length, from));
  view.to = view.from + length;
  redraw();
}
function zoom(x, factor) {
  const at = timeAt(Math.max(gutter, x));
  setView(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function describeTask(worker, task, time) {
  const call = data.calls[worker.call[task]];
  const length = worker.end[task] - worker.begin[task];
  const waits = worker.waits[task];
  const waitName = (wait) => elementName(data.events[wait.event], wait.element) +
      (wait.elements > 1 ? ` and ${wait.elements - 1} more` : '');
  const lines = [[taskName(call, worker.coord[task])], [`device function ${data.devices[call.device]}`],
    [`${duration(length)}, of which ${duration(length - waited(worker, task))} busy, from ${duration(worker.begin[task])}`, 'strong']];
  const current = waits.find((wait) => wait.begin <= time && time < wait.end);
  if (current) lines.push([`here waiting for ${waitName(current)}`, 'strong']);
  const shown = [...waits].sort((a, b) => (b.end - b.begin) - (a.end - a.begin)).slice(0, 4);
  for (const wait of shown) lines.push([`waited for ${waitName(wait)}: ${duration(wait.end - wait.begin)}`]);
  if (waits.length > shown.length) lines.push([`and ${waits.length - shown.length} shorter waits`]);
  if (!worker.finished[task]) lines.push(['did not end', 'strong']);
  return lines;
}

function hover(event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left, row = Math.floor((event.clientY - box.top - ruler) / rowHeight);
  if (x < gutter || row < 0 || row >= workers.length) return hideTip();
  const worker = workers[row], time = timeAt(x), reach = (view.to - view.from) / width();
  let task = firstAfter(worker, time);
  // The last that has begun lies on top.
  while (task + 1 < worker.size && worker.begin[task + 1] <= time) task++;
  while (task > 0 && task < worker.size && worker.end[task] <= time && worker.until[task - 1] > time) task--;
  // Within a pixel of a task counts as on it: short tasks stay reachable.
  if (task > 0 && time - worker.end[task - 1] < reach && !(task < worker.size && worker.begin[task] <= time)) task--;
  if (task < worker.size && worker.begin[task] <= time + reach)
    return showTip(event.clientX, event.clientY, describeTask(worker, task, time));
  const from = task > 0 ? worker.until[task - 1] : 0, to = task < worker.size ? worker.begin[task] : span;
  showTip(event.clientX, event.clientY, [[`worker ${row} idle`], [`${duration(to - from)}, from ${duration(from)}`]]);
}

function fillPage() {
  byId('name').textContent = data.name;
  byId('caption').textContent = data.caption;
  const machine = all.busy + all.wait + all.idle;
  const facts = [['span', duration(data.span)], ['workers', count(workers.length)], ['tasks', count(taskCount)],
    ['busy', percent(all.busy, machine)], ['waiting', percent(all.wait, machine)], ['idle', percent(all.idle, machine)]];
  byId('facts').replaceChildren(...facts.map(([label, value]) =>
    element('div', { 'data-fact': label }, element('b', {}, value), element('span', {}, label))));
  const open = workers.reduce((sum, worker) => sum + worker.finished.filter((one) => !one).length, 0);
  const notices = [];
  if (open > 0) notices.push(`${count(open)} ${open === 1 ? 'task' : 'tasks'} did not end; drawn to the end of the run with a red edge.`);
  if (data.truncated) notices.push('The log of a worker was full; what came after is not shown.');
  byId('notice').textContent = notices.join(' ');
  byId('notice').hidden = notices.length === 0;

  const head = (...names) => element('thead', {}, element('tr', {}, ...names.map((name) => element('th', {}, name))));
  const rows = data.devices.map((name, device) => {
    const total = deviceTotals[device];
    const label = element('td', {}, element('span', { class: 'swatch', style: `background:${colour(device)}` }), name);
    const cells = [count(total.tasks), duration(total.busy), duration(total.wait),
      total.tasks ? duration((total.busy + total.wait) / total.tasks) : '–', percent(total.part, machine)];
    const row = element('tr', { 'data-device': name }, label, ...cells.map((text) => element('td', {}, text)));
    row.addEventListener('click', () => {
      single = single === device ? -1 : device;
      rows.forEach((other, at) => other.classList.toggle('off', single >= 0 && at !== single));
      redraw();
    });
    return row;
  });
  byId('devices').replaceChildren(head('device function', 'tasks', 'busy', 'waiting', 'mean', 'of all time'),
    element('tbody', {}, ...rows));
  byId('workers').replaceChildren(head('worker', 'tasks', 'busy', 'waiting', 'idle', ''), element('tbody', {},
    ...workerTotals.map((total, worker) => {
      const part = (value) => `width:${100 * value / span}%`;
      const bar = element('div', { class: 'stack' }, element('i', { style: part(total.busy) }),
        element('i', { class: 'wait', style: part(total.wait) }));
      const cells = [String(worker), count(total.tasks), duration(total.busy), duration(total.wait), duration(total.idle), bar];
      return element('tr', { 'data-worker': worker }, ...cells.map((cell) => element('td', {}, cell)));
    })));
  root.dataset.tasks = taskCount;
}

canvas.addEventListener('mousemove', (event) => { if (!(event.buttons & 1)) hover(event); });
canvas.addEventListener('mouseleave', hideTip);
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  hideTip();
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const shift = (event.deltaX || event.deltaY) / width() * (view.to - view.from);
    return setView(view.from + shift, view.to + shift);
  }
  zoom(event.clientX - canvas.getBoundingClientRect().left, Math.exp(event.deltaY * .002));
}, { passive: false });
canvas.addEventListener('mousedown', (event) => {
  let last = event.clientX;
  canvas.classList.add('dragging');
  hideTip();
  const move = (moved) => {
    const shift = (last - moved.clientX) / width() * (view.to - view.from);
    last = moved.clientX;
    setView(view.from + shift, view.to + shift);
  };
  const up = () => {
    canvas.classList.remove('dragging');
    removeEventListener('mousemove', move);
    removeEventListener('mouseup', up);
  };
  addEventListener('mousemove', move);
  addEventListener('mouseup', up);
});
canvas.addEventListener('dblclick', () => setView(0, span));
byId('fit').addEventListener('click', () => setView(0, span));
canvas.addEventListener('keydown', (event) => {
  const step = (view.to - view.from) / 8, middle = gutter + width() / 2;
  const action = { ArrowLeft: () => setView(view.from - step, view.to - step), ArrowRight: () => setView(view.from + step, view.to + step),
    '+': () => zoom(middle, .7), '-': () => zoom(middle, 1 / .7), 0: () => setView(0, span) }[event.key];
  if (action) { event.preventDefault(); action(); }
});
addEventListener('resize', redraw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readTheme(); redraw(); });

readTheme();
fillPage();
draw();

const mouse = (target, type, x, y, more = {}) =>
  target.dispatchEvent(new (type === 'wheel' ? WheelEvent : MouseEvent)(type, { clientX: x, clientY: y, bubbles: true, cancelable: true, ...more }));
const onCanvas = (x, row) => {
  const box = canvas.getBoundingClientRect();
  return [box.left + x, box.top + rowTop(row) + rowHeight / 2];
};
window.evt = { data, workers, workerTotals, deviceTotals, view, setView, draw };
runTest({
  // Over the middle of a task; over a moment of a worker; the wheel at a fraction of the width; a drag by pixels.
  hover: (worker, task) => mouse(canvas, 'mousemove', ...onCanvas(xOf((workers[worker].begin[task] + workers[worker].end[task]) / 2), worker)),
  at: (worker, time) => mouse(canvas, 'mousemove', ...onCanvas(xOf(time), worker)),
  wheel: (where, delta) => { mouse(canvas, 'wheel', ...onCanvas(gutter + where * width(), 0), { deltaY: delta }); draw(); },
  drag: (pixels) => {
    const [x, y] = onCanvas(gutter + width() / 2, 0);
    mouse(canvas, 'mousedown', x, y, { buttons: 1 });
    mouse(window, 'mousemove', x + pixels, y, { buttons: 1 });
    mouse(window, 'mouseup', x + pixels, y);
    draw();
  },
  fit: () => { mouse(byId('fit'), 'click', 0, 0); draw(); },
  // The colour just inside the top edge of a worker's row.
  pixel: (worker, time) => {
    const ratio = canvas.width / canvas.clientWidth;
    root.dataset.pixel = [...pen.getImageData(Math.round(xOf(time) * ratio), Math.round((rowTop(worker) + 4) * ratio), 1, 1).data].join(',');
  },
  leave: () => mouse(canvas, 'mouseleave', 0, 0),
  single: (device) => { mouse(byId('devices').querySelectorAll('tbody tr')[device], 'click', 0, 0); draw(); },
});
