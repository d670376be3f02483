// A drawn graph: pan, zoom, choosing with pointer and keys, and a strip beside it that shows all of it at once.

const FONT = { op: '600 13px system-ui, sans-serif', sub: '11px system-ui, sans-serif' };
const MIN_W = 92, MAX_W = 230, STRIP = 64;
const measure = document.createElement('canvas').getContext('2d');

const widths = new Map();

// The width of words in pixels; asking the browser is slow, and models say the same again and again.
function widthOf(words, font) {
  const key = font + words;
  let width = widths.get(key);
  if (width === undefined) {
    if (measure.font !== font) measure.font = font;
    width = measure.measureText(words).width;
    widths.set(key, width);
  }
  return width;
}

// As much of the words as there is room for, the middle left out.
function fitted(words, font, room) {
  let text = line(words, 80), width = widthOf(text, font);
  while (width > room && text.length > 3) {
    text = line(words, Math.max(3, Math.min(text.length - 1, Math.floor((text.length * room) / width))));
    width = widthOf(text, font);
  }
  return text;
}

// The items of a drawing: a graph's inputs, nodes and outputs, keyed i0, n12, o0.
function itemsOf(region, graph, inputs) {
  const items = [], at = new Map(), owner = new Map();
  const add = (item) => {
    at.set(item.key, items.length);
    items.push(item);
  };
  inputs.forEach((v, k) => {
    owner.set(v, `i${k}`);
    add({ key: `i${k}`, kind: 'terminal', value: v, lines: ['input', region.valueName(v), typeText(region.values[v])], reads: [] });
  });
  for (const n of graph.nodes) {
    const node = region.nodes[n];
    node.out.forEach((v) => owner.set(v, `n${n}`));
    const lines = [region.title(n), region.name(n), node.out.map((v) => typeText(region.values[v])).join(', ')];
    add({ key: `n${n}`, kind: familyOf(node), node: n, fused: node.op === 'fused', lines, reads: node.in });
  }
  graph.outputs.forEach(([name, v], k) => {
    add({ key: `o${k}`, kind: 'terminal', value: v, lines: ['output', line(name), typeText(region.values[v])], reads: [v] });
  });
  for (const item of items) {
    item.lines = item.lines.filter((words) => words !== '');
    const widest = Math.max(...item.lines.map((words, i) => widthOf(line(words, 60), i ? FONT.sub : FONT.op)));
    item.w = Math.min(MAX_W, Math.max(MIN_W, widest + 26));
    item.h = 14 + 16 * item.lines.length;
    item.shown = item.lines.map((words, i) => fitted(words, i ? FONT.sub : FONT.op, item.w - 22));
    const from = item.reads.filter((v) => owner.has(v)).map((v) => [at.get(owner.get(v)), v]);
    item.from = from.map(([i]) => i);
    item.carries = new Map(from.map(([i, v]) => [items[i].key, v]));
  }
  return { items, at };
}

class GraphView {
  // options: label, chosen(key): told what the user chose; opened(key): what they want to go into.
  constructor(region, options) {
    Object.assign(this, { region, options, scale: 1, x: 0, y: 0, key: null, marks: new Map(), hits: new Set(), kin: new Set(), tint: null });
    this.edgeLayer = svg('g', { class: 'edges' });
    this.nodeLayer = svg('g', { class: 'nodes' });
    this.world = svg('g', null, this.edgeLayer, this.nodeLayer);
    this.canvas = svg('svg', { class: 'canvas', 'aria-hidden': 'true' }, svg('defs', null,
      svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto-start-reverse' },
        svg('path', { d: 'M0 0 L8 4 L0 8 z', class: 'head' }))), this.world);
    this.strip = el('canvas', { class: 'strip', title: 'The whole graph: click or drag to go there', 'aria-hidden': 'true' });
    this.spoken = el('p', { class: 'hidden', 'aria-live': 'polite' });
    this.caption = el('div', { class: 'caption' });
    this.element = el('div', { class: 'graph', tabindex: 0, role: 'application', 'aria-label': options.label },
      this.canvas, this.strip, this.caption, this.spoken,
      el('div', { class: 'zoom' },
        icon('M8 3v10M3 8h10', 'Zoom in (+)', () => this.zoom(1.3)),
        icon('M3 8h10', 'Zoom out (−)', () => this.zoom(1 / 1.3)),
        icon('M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4', 'Show all (0)', () => this.fit())));
    this.drawn = new Map();
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.element);
    document.addEventListener('themed', () => this.paintStrip());
  }

  show(graph, inputs, caption) {
    this.graph = graph;
    const { items, at } = itemsOf(this.region, graph, inputs);
    Object.assign(this, { items, at, plan: layered(items) });
    this.nodeLayer.replaceChildren();
    this.edgeLayer.replaceChildren();
    this.drawn.clear();
    this.caption.replaceChildren(caption || '');
    const { places, edges } = this.plan;
    items.forEach((item, i) => Object.assign(item, places[i], { readers: [] }));
    this.edges = edges.map((edge, i) => this.routed(edge, i));
    edges.forEach((e) => items[e.from].readers.push(e.to));
    this.placed = false;
    if (this.key && !at.has(this.key)) this.key = null;
    this.resized();
  }

  routed(edge, i) {
    const a = this.items[edge.from], b = this.items[edge.to];
    const start = [a.x, a.y + a.h / 2], end = [b.x, b.y - b.h / 2];
    let d;
    if (edge.far) {
      d = `M${start} l0 16 M${end[0]} ${end[1] - 18} L${end}`;
    } else {
      d = `M${start}`;
      let [px, py] = start;
      for (const [x, y] of [...edge.via, end]) {
        const mid = (py + y) / 2;
        d += Math.abs(px - x) < 0.5 ? `L${x} ${y}` : `C${px} ${mid} ${x} ${mid} ${x} ${y}`;
        [px, py] = [x, y];
      }
    }
    const xs = [start[0], end[0], ...edge.via.map((p) => p[0])];
    return { ...edge, id: `e${i}`, d, top: start[1], bottom: end[1], left: Math.min(...xs), right: Math.max(...xs) };
  }

  // How many pixels there are, without the strip.
  get size() {
    return [Math.max(50, this.element.clientWidth - STRIP), Math.max(50, this.element.clientHeight)];
  }

  resized() {
    if (!this.plan || !this.element.clientWidth) return;
    if (!this.placed) {
      this.placed = true;
      if (this.key) this.reveal(this.key);
      else this.start();
    }
    const w = this.size[0];
    if (this.lastWidth && this.lastWidth !== w) this.x += (w - this.lastWidth) / 2;
    this.lastWidth = w;
    this.draw();
    this.paintStrip();
  }

  // At first the whole graph if it can be read then, else its beginning.
  start() {
    const [w, h] = this.size;
    const all = Math.min(w / (this.plan.width + 60), h / (this.plan.height + 60));
    if (all >= 0.55) return this.fit();
    this.scale = Math.min(1, Math.max(0.6, w / (this.plan.width + 60)));
    const first = this.items[this.plan.layers.flat()[0]];
    this.x = w / 2 - (first ? first.x : 0) * this.scale;
    this.y = 28;
    this.draw();
  }

  fit() {
    const [w, h] = this.size;
    this.scale = Math.min(1.4, w / (this.plan.width + 60), h / (this.plan.height + 60));
    this.x = (w - this.plan.width * this.scale) / 2;
    this.y = (h - this.plan.height * this.scale) / 2;
    this.draw();
  }

  zoom(factor, at) {
    const [w, h] = this.size;
    const [px, py] = at || [w / 2, h / 2];
    const scale = Math.min(3, Math.max(0.02, this.scale * factor));
    this.x = px - ((px - this.x) * scale) / this.scale;
    this.y = py - ((py - this.y) * scale) / this.scale;
    this.scale = scale;
    this.draw();
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.draw();
  }

  reveal(key) {
    const item = this.items[this.at.get(key)];
    if (!item) return;
    const [w, h] = this.size;
    this.scale = Math.max(this.scale, 0.75);
    this.x = w / 2 - item.x * this.scale;
    this.y = h / 2 - item.y * this.scale;
    this.draw();
  }

  // Several items in the middle, as large as the room allows that they take.
  revealAll(keys) {
    const items = keys.map((key) => this.items[this.at.get(key)]), [w, h] = this.size;
    const left = Math.min(...items.map((i) => i.x - i.w / 2)), right = Math.max(...items.map((i) => i.x + i.w / 2));
    const top = Math.min(...items.map((i) => i.y - i.h / 2)), bottom = Math.max(...items.map((i) => i.y + i.h / 2));
    this.scale = Math.max(0.4, Math.min(1, w / (right - left + 60), h / (bottom - top + 60)));
    this.x = w / 2 - ((left + right) / 2) * this.scale;
    this.y = h / 2 - ((top + bottom) / 2) * this.scale;
    this.draw();
  }

  // Bring an item into sight with as little motion as possible.
  nudge(key) {
    const item = this.items[this.at.get(key)], [w, h] = this.size;
    const left = item.x * this.scale + this.x, top = item.y * this.scale + this.y;
    if (this.scale < 0.4) return this.reveal(key);
    this.pan(left < 120 ? 120 - left : left > w - 120 ? w - 120 - left : 0, top < 70 ? 70 - top : top > h - 70 ? h - 70 - top : 0);
  }

  // kin: the keys of what belongs to the chosen node of another drawing.
  choose(key, tell = true, kin = []) {
    this.key = key;
    this.kin = new Set(kin);
    this.draw();
    this.paintStrip();
    const item = key && this.items[this.at.get(key)];
    if (item) this.spoken.textContent = item.lines.join(', ');
    if (tell && item) this.options.chosen(key);
  }

  // marks: key -> added, removed or changed; hits: keys found; tint(item): a hue or null.
  mark({ marks, hits, tint }) {
    if (marks) this.marks = marks;
    if (hits) this.hits = hits;
    if (tint !== undefined) this.tint = tint;
    this.drawn.forEach((element) => element.remove());
    this.drawn.clear();
    if (this.plan) this.draw();
    this.paintStrip();
  }

  draw() {
    if (!this.plan || this.waiting) return;
    this.waiting = true;
    queueMicrotask(() => {
      this.waiting = false;
      this.drawNow();
    });
  }

  drawNow() {
    const [w, h] = [this.element.clientWidth, this.element.clientHeight];
    this.world.setAttribute('transform', `translate(${this.x.toFixed(2)} ${this.y.toFixed(2)}) scale(${this.scale.toFixed(5)})`);
    const small = this.scale < 0.38;
    if (this.small !== small) {
      this.small = small;
      this.canvas.classList.toggle('small', small);
      this.drawn.forEach((element) => element.remove());
      this.drawn.clear();
    }
    const left = -this.x / this.scale - 60, top = -this.y / this.scale - 60;
    const right = left + w / this.scale + 120, bottom = top + h / this.scale + 120;
    const wanted = new Set();
    const chosen = this.key ? this.at.get(this.key) : -1;
    for (const e of this.edges) {
      if (e.bottom < top || e.top > bottom || e.right < left || e.left > right) continue;
      wanted.add(e.id);
      const element = this.keep(e.id, () => this.edgeElement(e), this.edgeLayer);
      element.classList.toggle('near', e.from === chosen || e.to === chosen);
    }
    this.items.forEach((item, i) => {
      if (item.y + item.h < top || item.y - item.h > bottom || item.x + item.w < left || item.x - item.w > right) return;
      wanted.add(item.key);
      const element = this.keep(item.key, () => this.nodeElement(item), this.nodeLayer);
      element.classList.toggle('chosen', i === chosen);
      element.classList.toggle('hit', this.hits.has(item.key));
      element.classList.toggle('kin', this.kin.has(item.key));
    });
    for (const [id, element] of this.drawn) {
      if (!wanted.has(id)) {
        element.remove();
        this.drawn.delete(id);
      }
    }
    this.paintWindow();
  }

  keep(id, make, layer) {
    let element = this.drawn.get(id);
    if (!element) {
      element = make();
      this.drawn.set(id, element);
      layer.append(element);
    }
    return element;
  }

  edgeElement(e) {
    const edge = svg('path', { d: e.d, class: e.far ? 'edge far' : 'edge', 'marker-end': this.small ? null : 'url(#arrow)' });
    if (!this.small) {
      const value = this.items[e.to].carries.get(this.items[e.from].key);
      edge.append(svg('title', null, `${this.region.valueName(value)}: ${typeText(this.region.values[value])}`));
    }
    return edge;
  }

  nodeElement(item) {
    const mark = this.marks.get(item.key) || '';
    const group = svg('g', {
      class: `node ${item.kind} ${mark} ${item.fused ? 'fused' : ''}`,
      transform: `translate(${(item.x - item.w / 2).toFixed(1)} ${(item.y - item.h / 2).toFixed(1)})`,
      'data-key': item.key,
    }, svg('rect', { class: 'box', width: item.w, height: item.h, rx: item.kind === 'terminal' ? 14 : 5 }),
      svg('rect', { class: 'band', width: 5, height: item.h - 2, x: 1, y: 1, rx: 3 }),
      // Far away nothing can be read: the texts are made when they are near.
      this.small ? null : item.shown.map((words, i) => svg('text', { x: 13, y: 19 + 16 * i, class: i ? 'sub' : 'op' }, words)),
      this.small ? null : svg('title', null, item.lines.join('\n')));
    const hue = this.tint && this.tint(item);
    if (hue !== null && hue !== undefined && hue !== false) {
      group.querySelector('.box').style.fill = `hsl(${hue} ${colour('tint')})`;
    }
    return group;
  }

  paintStrip() {
    if (!this.plan || !this.element.clientHeight) return;
    const height = this.element.clientHeight, ratio = devicePixelRatio || 1;
    this.strip.width = STRIP * ratio;
    this.strip.height = height * ratio;
    const pen = this.strip.getContext('2d', { willReadFrequently: true });
    pen.scale(ratio, ratio);
    const sx = (STRIP - 16) / this.plan.width, sy = Math.min(0.25, (height - 8) / this.plan.height);
    this.stripScale = [sx, sy];
    const plain = colour('strip'), ink = { added: colour('added'), removed: colour('removed'), changed: colour('changed') };
    const late = [];
    const paint = (item, fill, more) => {
      const h = Math.max(1.2 + more, item.h * sy * 0.8), w = Math.max(2 + more, item.w * sx * 0.9);
      pen.fillStyle = fill;
      pen.fillRect(8 + item.x * sx - w / 2, 4 + item.y * sy - h / 2, w, h);
    };
    for (const item of this.items) {
      const mark = this.marks.get(item.key);
      if (mark || this.hits.has(item.key) || item.key === this.key || this.kin.has(item.key)) late.push([item, mark]);
      else paint(item, plain, 0);
    }
    for (const [item, mark] of late) {
      const chosen = item.key === this.key || this.kin.has(item.key), hit = this.hits.has(item.key);
      paint(item, chosen ? colour('accent') : hit ? colour('hit') : ink[mark], chosen || hit ? 3 : 1.5);
    }
    this.stripImage = pen.getImageData(0, 0, this.strip.width, this.strip.height);
    this.paintWindow();
  }

  paintWindow() {
    if (!this.stripImage || !this.stripScale) return;
    const pen = this.strip.getContext('2d', { willReadFrequently: true });
    pen.putImageData(this.stripImage, 0, 0);
    const [sx, sy] = this.stripScale, [w, h] = this.size;
    const x = Math.max(1, 8 + (-this.x / this.scale) * sx), y = Math.max(1, 4 + (-this.y / this.scale) * sy);
    const x2 = Math.min(STRIP - 1, 8 + ((w - this.x) / this.scale) * sx), y2 = 4 + ((h - this.y) / this.scale) * sy;
    pen.strokeStyle = colour('accent');
    pen.lineWidth = 1.5;
    pen.strokeRect(x, y, Math.max(3, x2 - x), Math.max(3, Math.min(this.element.clientHeight - 1, y2) - y));
  }

  goTo(event) {
    const box = this.strip.getBoundingClientRect(), [sx, sy] = this.stripScale, [w, h] = this.size;
    this.x = w / 2 - ((event.clientX - box.left - 8) / sx) * this.scale;
    this.y = h / 2 - ((event.clientY - box.top - 4) / sy) * this.scale;
    this.draw();
  }

  listen() {
    let drag = null;
    this.canvas.addEventListener('pointerdown', (event) => {
      if (event.button === 0) drag = { x: event.clientX, y: event.clientY, far: 0 };
    });
    addEventListener('pointermove', (event) => {
      if (!drag) return;
      drag.far += Math.abs(event.clientX - drag.x) + Math.abs(event.clientY - drag.y);
      if (drag.far > 4) {
        this.canvas.classList.add('moving');
        this.pan(event.clientX - drag.x, event.clientY - drag.y);
      }
      [drag.x, drag.y] = [event.clientX, event.clientY];
    });
    addEventListener('pointerup', () => {
      this.moved = drag !== null && drag.far > 4;
      drag = null;
      this.canvas.classList.remove('moving');
    });
    this.canvas.addEventListener('click', (event) => {
      const node = event.target.closest('.node');
      if (this.moved) return;
      if (node) this.choose(node.dataset.key);
      else this.choose(null);
    });
    this.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.ctrlKey || event.metaKey) {
        this.zoom(Math.exp(-event.deltaY * unit * 0.004), [event.clientX - box.left, event.clientY - box.top]);
      } else {
        this.pan(-(event.shiftKey ? event.deltaY : event.deltaX) * unit, -(event.shiftKey ? 0 : event.deltaY) * unit);
      }
    }, { passive: false });
    this.strip.addEventListener('pointerdown', (event) => {
      this.strip.setPointerCapture(event.pointerId);
      this.goTo(event);
    });
    this.strip.addEventListener('pointermove', (event) => {
      if (event.buttons & 1) this.goTo(event);
    });
    this.element.addEventListener('keydown', (event) => this.keyed(event));
  }

  keyed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('button')) return;
    const pans = { ArrowUp: [0, 90], ArrowDown: [0, -90], ArrowLeft: [90, 0], ArrowRight: [-90, 0] };
    if (pans[event.key]) {
      if (event.shiftKey) this.pan(...pans[event.key]);
      else this.walk(event.key);
    } else if (event.key === '+' || event.key === '=') this.zoom(1.3);
    else if (event.key === '-') this.zoom(1 / 1.3);
    else if (event.key === '0') this.fit();
    else if (event.key === 'Home') this.step(0);
    else if (event.key === 'End') this.step(this.items.length - 1);
    else if (event.key === 'Enter' && this.key) this.options.opened(this.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  step(i) {
    if (!this.items[i]) return;
    this.choose(this.items[i].key);
    this.nudge(this.key);
  }

  // Along an edge up or down, or to the neighbour in the layer.
  walk(key) {
    const i = this.key ? this.at.get(this.key) : -1;
    if (i < 0) return this.step(0);
    const item = this.items[i];
    let next;
    if (key === 'ArrowUp') next = item.from[0];
    else if (key === 'ArrowDown') next = item.readers[0];
    else {
      const layer = this.plan.layers[item.layer];
      next = layer[layer.indexOf(i) + (key === 'ArrowLeft' ? -1 : 1)];
    }
    if (next !== undefined) this.step(next);
  }
}
