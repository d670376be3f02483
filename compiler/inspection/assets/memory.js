// The plan of the memory: offsets in the arena over the program's rows, each buffer a rectangle as long as it lives.

const MARGIN = 74, LIVE = 90, LANE = 34;

class MemoryView {
  constructor(app, region) {
    Object.assign(this, { app, region, wide: 1, tall: 1, key: null });
    this.aside = new Aside('Details of the chosen buffer');
    this.aside.closed = () => {
      this.key = null;
      this.draw();
    };
    this.picture = el('div', { class: 'picture' });
    this.spoken = el('p', { class: 'hidden', 'aria-live': 'polite' });
    const { memory } = region, peak = memory.peak === null ? 0 : memory.live[memory.peak];
    const tile = (value, words) => el('div', { class: 'tile' }, el('b', null, value), el('span', null, words));
    const all = memory.buffers.filter((b) => b.at === 'arena').reduce((sum, b) => sum + b.bytes, 0);
    this.element = el('section', { class: 'split' }, el('div', { class: 'memory' }, el('h2', null, 'Memory plan'),
      el('div', { class: 'tiles' }, tile(bytesText(memory.arena), 'arena'), tile(bytesText(peak), memory.peak === null ? 'live at most' : `live at most (row ${memory.peak})`),
        tile(bytesText(all), 'all temporaries, without reuse'), tile(bytesText(memory.constants), 'constants'),
        tile(bytesText(sum(memory.inputs)), 'inputs'), tile(bytesText(sum(memory.outputs)), 'outputs')),
      el('div', { class: 'find' },
        icon('M3 8h10M10 5l3 3-3 3', 'Wider', () => this.scale(1.5, 1)), icon('M2 8h4M10 8h4M4 5l2 3-2 3M12 5l-2 3 2 3', 'Narrower', () => this.scale(1 / 1.5, 1)),
        icon('M8 3v10M5 10l3 3 3-3', 'Taller', () => this.scale(1, 1.5)), icon('M8 2v4M8 10v4M5 4l3 2 3-2M5 12l3-2 3 2', 'Lower', () => this.scale(1, 1 / 1.5)),
        el('span', { class: 'note' }, 'Across: rows. Down: bytes. A line with an arrow joins a buffer to the one whose memory it takes over in place. Arrow keys walk through buffers.')),
      this.picture, this.spoken, el('h2', null, 'Largest buffers'), this.largest()), this.aside.element);
    document.addEventListener('themed', () => this.drawn && this.draw());
  }

  largest() {
    const order = this.region.memory.buffers.map((_, i) => i).filter((i) => this.region.memory.buffers[i].at !== 'input');
    order.sort((a, b) => this.region.memory.buffers[b].bytes - this.region.memory.buffers[a].bytes);
    return el('div', { class: 'wide' }, table(['buffer', 'at', el('th', { class: 'n' }, 'size'), el('th', { class: 'n' }, 'rows')], order.slice(0, 25).map((i) => {
      const b = this.region.memory.buffers[i];
      return row(link(bufferName(this.region, i), () => this.choose(i, true)), placeText(this.region, b), num(bytesText(b.bytes)), num(`${b.first}–${b.last}`));
    })));
  }

  scale(wide, tall) {
    this.wide = Math.max(1, Math.min(60, this.wide * wide));
    this.tall = Math.max(0.5, Math.min(12, this.tall * tall));
    this.draw();
  }

  draw() {
    const { region } = this, { memory, rows } = region;
    this.drawn = true;
    const room = Math.max(420, (this.picture.clientWidth || 1000) - MARGIN - 24);
    const step = Math.max(2, (room / Math.max(1, rows.length)) * this.wide), width = Math.min(60000, step * rows.length);
    const high = memory.arena ? 380 * this.tall : 24, lanes = this.lanes(), top = LIVE + 26;
    const height = top + high + 30 + lanes.length * (LANE + 18) + 12;
    const x = (r) => MARGIN + r * (width / Math.max(1, rows.length)), y = (o) => top + (o / Math.max(1, memory.arena)) * high;
    this.x = x;
    const parts = [...this.live(x, width), ...this.axes(x, y, width, top, high)];
    memory.buffers.forEach((b, i) => b.at === 'arena' && parts.push(this.rect(i, x(b.first), y(b.offset), x(b.last + 1), y(b.offset + b.bytes))));
    lanes.forEach((lane, k) => parts.push(...this.lane(lane, x, top + high + 42 + k * (LANE + 18), width)));
    memory.buffers.forEach((b, i) => b.over !== undefined && parts.push(this.join(i)));
    if (memory.peak !== null) {
      const px = x(memory.peak + 0.5), right = px > MARGIN + width - 200;
      parts.push(svg('line', { class: 'peak', x1: px, x2: px, y1: 12, y2: top + high }),
        svg('text', { class: 'peaktext', x: px + (right ? -6 : 6), y: 16, 'text-anchor': right ? 'end' : 'start' }, `peak: ${bytesText(memory.live[memory.peak])} live at row ${memory.peak}`));
    }
    this.drawing = svg('svg', { width: MARGIN + width + 20, height, tabindex: 0, role: 'img',
      'aria-label': `Memory plan: an arena of ${bytesText(memory.arena)} over ${plural(rows.length, 'row')}. The buffers are listed below.` }, parts);
    this.drawing.addEventListener('keydown', (event) => this.walk(event));
    const focused = this.picture.contains(document.activeElement);
    this.picture.replaceChildren(this.drawing);
    if (focused) this.drawing.focus({ preventScroll: true });
    this.mark(this.key);
  }

  live(x, width) {
    const { live } = this.region.memory, most = Math.max(1, ...live), y = (n) => LIVE - (n / most) * (LIVE - 24);
    let d = `M${x(0)} ${LIVE}`;
    live.forEach((n, i) => (d += `L${x(i)} ${y(n)}L${x(i + 1)} ${y(n)}`));
    return [svg('path', { class: 'area', d: `${d}L${x(live.length)} ${LIVE}z` }), svg('text', { class: 'tick', x: MARGIN - 8, y: LIVE, 'text-anchor': 'end' }, 'live'),
      svg('line', { class: 'gridline', x1: MARGIN, x2: MARGIN + width, y1: LIVE, y2: LIVE })];
  }

  axes(x, y, width, top, high) {
    const { memory, rows } = this.region, parts = [svg('rect', { class: 'lane', x: MARGIN, y: top, width, height: high })];
    for (let k = 0; k <= 4 && memory.arena; k++) {
      const at = (memory.arena * k) / 4;
      parts.push(svg('line', { class: 'gridline', x1: MARGIN, x2: MARGIN + width, y1: y(at), y2: y(at) }),
        svg('text', { class: 'tick', x: MARGIN - 8, y: y(at) + 4, 'text-anchor': 'end' }, bytesText(Math.round(at))));
    }
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => (n * width) / Math.max(1, rows.length) > 34) || 2000;
    for (let r = 0; r < rows.length; r += every) {
      parts.push(svg('text', { class: 'tick', x: x(r + 0.5), y: top + high + 15, 'text-anchor': 'middle' }, String(r)));
    }
    return parts;
  }

  // The outputs whose memory holds something besides, or that are made bit by bit.
  lanes() {
    const { memory } = this.region;
    return memory.outputs.map((o, index) => ({ ...o, index, members: memory.buffers.map((_, i) => i).filter((i) => memory.buffers[i].at === 'output' && memory.buffers[i].index === index) }))
      .filter((lane) => lane.members.length).slice(0, 40);
  }

  lane(lane, x, top, width) {
    const parts = [svg('rect', { class: 'lane', x: MARGIN, y: top, width, height: LANE }), svg('text', { class: 'tick', x: MARGIN, y: top - 4 }, `output ${line(lane.name, 60)}, ${bytesText(lane.bytes)}`)];
    for (const i of lane.members) {
      const b = this.region.memory.buffers[i];
      parts.push(this.rect(i, x(b.first), top, x(b.last + 1), top + Math.max(3, (b.bytes / Math.max(1, lane.bytes)) * LANE)));
    }
    return parts;
  }

  rect(i, x1, y1, x2, y2) {
    const b = this.region.memory.buffers[i], name = bufferName(this.region, i), w = Math.max(1.5, x2 - x1), h = Math.max(1.5, y2 - y1);
    const box = svg('rect', { x: x1, y: y1, width: w, height: h, rx: Math.min(3, h / 4) });
    box.style.fill = b.values.length ? `hsl(${hueOf(i)} ${colour('tint')})` : colour('line');
    const parts = [box, svg('title', null, `${name}\n${bytesText(b.bytes)} at ${placeText(this.region, b)}\nrows ${b.first} to ${b.last}`)];
    if (w > 46 && h > 13) parts.push(svg('text', { x: x1 + 5, y: y1 + Math.min(h / 2 + 4, 15) }, fitted(name, FONT.sub, w - 10)));
    if (w > 60 && h > 30) parts.push(svg('text', { class: 'tick', x: x1 + 5, y: y1 + 28 }, fitted(bytesText(b.bytes), FONT.sub, w - 10)));
    return svg('g', { class: `buffer${b.over !== undefined ? ' over' : ''}`, 'data-buffer': i, 'data-box': `${x1} ${y1} ${w} ${h}`, onclick: () => this.choose(i) }, parts);
  }

  // From the buffer that was there to the one that takes over: their rectangles meet in the row that reads and writes.
  join(i) {
    const b = this.region.memory.buffers[i], from = this.region.memory.buffers[b.over];
    const spot = (k) => this.laneTop(k);
    const x = this.x(b.first + 0.5), y = spot(i);
    if (y === null) return '';
    return svg('path', { class: 'joint', d: `M${this.x(from.last) + 1} ${y - 4}h${Math.max(4, x - this.x(from.last))}m-4 -3l4 3l-4 3` });
  }

  laneTop(i) {
    const b = this.region.memory.buffers[i], { memory } = this.region, high = memory.arena ? 380 * this.tall : 24;
    const share = high / Math.max(1, memory.arena);
    return b.at === 'arena' ? LIVE + 26 + b.offset * share + (b.bytes * share > 40 ? b.bytes * share - 8 : Math.min(8, b.bytes * share)) : null;
  }

  mark(i) {
    this.key = i;
    this.picture.querySelectorAll('.buffer').forEach((g) => g.classList.toggle('chosen', Number(g.dataset.buffer) === i));
  }

  choose(i, reveal) {
    const room = this.aside.element.hidden;
    this.aside.show(...bufferDetails(this.app, this.region, i));
    if (room) this.draw();
    this.mark(i);
    this.app.remember('memory', { buffer: i });
    const b = this.region.memory.buffers[i];
    this.spoken.textContent = `${bufferName(this.region, i)}, ${bytesText(b.bytes)}, rows ${b.first} to ${b.last}`;
    if (reveal) {
      const group = this.picture.querySelector(`[data-buffer="${i}"]`);
      if (group) group.scrollIntoView({ block: 'center', inline: 'center' });
    }
  }

  walk(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const order = [...this.picture.querySelectorAll('.buffer')].map((g) => Number(g.dataset.buffer));
    order.sort((a, b) => this.region.memory.buffers[a].first - this.region.memory.buffers[b].first || a - b);
    if (!order.length) return;
    const at = order.indexOf(this.key);
    this.choose(order[at < 0 ? 0 : (at + step + order.length) % order.length], true);
    event.preventDefault();
  }

  show({ buffer }) {
    this.draw();
    if (buffer !== undefined && this.region.memory.buffers[buffer]) this.choose(buffer, true);
  }

  keyed(event) {
    if (event.key === 'Escape') return this.aside.close(), true;
    return false;
  }
}

function sum(entries) {
  return entries.reduce((total, entry) => total + entry.bytes, 0);
}
