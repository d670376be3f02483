// Elements and texts. Whatever a model says becomes a text node or an attribute's value, never markup.

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(9)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function button(words, action, attributes) {
  return el('button', { type: 'button', onclick: action, ...attributes }, words);
}

function icon(path, label, action, attributes) {
  const drawing = svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: path }));
  return button(drawing, action, { class: 'icon', title: label, 'aria-label': label, ...attributes });
}

function link(words, action, attributes) {
  return button(words, action, { class: 'link', ...attributes });
}

// Numbers that lead to rows of the program, with commas between.
function rowLinks(app, rows, most) {
  const links = rows.slice(0, most).map((i, k) => [k ? ', ' : '', link(String(i), () => app.go('rows', { row: i }))]);
  return [...links, rows.length > most ? ` and ${rows.length - most} more` : ''];
}

function table(head, rows, attributes) {
  const cells = head.map((h) => (h instanceof Node ? h : el('th', { scope: 'col' }, h)));
  return el('table', attributes, el('thead', null, el('tr', null, cells)), el('tbody', null, rows));
}

function row(...cells) {
  return el('tr', null, cells.map((c) => (c instanceof HTMLTableCellElement ? c : el('td', null, c))));
}

function num(words, attributes) {
  return el('td', { class: 'n', ...attributes }, words);
}

function facts(pairs) {
  const kept = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return el('dl', { class: 'facts' }, kept.map(([name, value]) => [el('dt', null, name), el('dd', null, value)]));
}

function bar(share) {
  const inner = el('span');
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return el('span', { class: 'bar', 'aria-hidden': 'true' }, inner);
}

function bytesText(n) {
  if (n < 1000) return `${n} B`;
  for (const unit of ['kB', 'MB', 'GB', 'TB']) {
    n /= 1000;
    if (n < 999.95 || unit === 'TB') return `${n.toFixed(n < 10 ? 2 : 1)} ${unit}`;
  }
}

function timeText(us) {
  if (typeof us !== 'number') return String(us);
  if (us >= 1e6) return `${(us / 1e6).toFixed(2)} s`;
  if (us >= 1000) return `${(us / 1000).toPrecision(3)} ms`;
  if (us > 0 && us < 0.01) return '< 0.01 µs';
  return `${us >= 100 ? us.toFixed(0) : Number(us.toPrecision(2))} µs`;
}

function ratioText(x) {
  return x >= 100 ? x.toFixed(0) : x.toPrecision(2);
}

function countText(n) {
  for (const [size, unit] of [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (n >= size) return `${(n / size).toPrecision(3)} ${unit}`;
  }
  return String(n);
}

function whole(n) {
  return n.toLocaleString('en');
}

function plural(n, word) {
  return `${whole(n)} ${word}${n === 1 ? '' : 's'}`;
}

function shapeText(shape) {
  return `[${shape.join(', ')}]`;
}

function typeText(value) {
  return `${value.type}${shapeText(value.shape)}`;
}

// A text for one line: line breaks and control characters shown, the middle left out of what is very long.
function line(words, most) {
  const flat = words.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, '␤');
  if (!most || flat.length <= most) return flat;
  const half = Math.floor((most - 1) / 2);
  return `${flat.slice(0, most - 1 - half)}…${flat.slice(flat.length - half)}`;
}
