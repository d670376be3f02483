// The graph before and after each pass: the list of passes, one or two drawings, search.

class PassesView {
  constructor(app, region) {
    Object.assign(this, { app, region, stage: region.final, mode: 'after', tint: 'operator', found: [], at: -1 });
    this.aside = new Aside('Details of the chosen node');
    this.aside.closed = () => {
      this.views().forEach((v) => v.choose(null));
      this.app.remember('graph', { stage: this.stage });
    };
    this.before = this.drawing('The graph before the pass', -1);
    this.after = this.drawing('The graph after the pass', 0);
    this.graphs = el('div', { class: 'graphs' });
    this.list = el('nav', { class: 'passes', 'aria-label': 'Passes' }, region.stages.map((s, k) => this.entry(s, k)));
    this.search = el('input', { type: 'search', placeholder: 'Find: label, operator, shape…', 'aria-label': 'Find nodes', id: 'find' });
    this.search.addEventListener('input', () => this.find());
    this.search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.nextFound(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') this.search.value = '', this.find();
    });
    this.count = el('output', { 'aria-live': 'polite' });
    this.modes = segments('Show', { before: 'Before', after: 'After', both: 'Side by side' }, (mode) => this.show({ mode }));
    this.tints = segments('Colour nodes', { operator: 'By operator', kernel: 'By kernel' }, (tint) => this.show({ tint }));
    this.why = el('div', { class: 'why' });
    this.changes = el('span', { class: 'find' });
    this.element = el('section', { class: 'split' }, this.list,
      el('div', { class: 'stage' }, el('div', { class: 'tools' }, this.modes.element, this.tints.element,
        el('span', { class: 'find' }, this.search, this.count), this.changes, el('div', { class: 'below' }, this.why, this.legend())), this.graphs), this.aside.element);
  }

  legend() {
    const kinds = [['added', 'added'], ['changed', 'changed'], ['removed', 'removed'], ['product', 'products'], ['reduction', 'reductions'],
      ['movement', 'movement'], ['pointwise', 'element-wise']];
    return el('span', { class: 'legend' }, kinds.map(([kind, words]) => el('span', null, el('i', { class: kind }), words)));
  }

  drawing(label, shift) {
    return new GraphView(this.region, {
      label: `${label}. Arrows walk along edges, with Shift they move the picture; plus and minus zoom, 0 shows all, Enter opens details.`,
      chosen: (key) => this.chosen(key, shift),
      opened: () => this.aside.element.focus(),
    });
  }

  entry(stage, k) {
    const marks = [['+', stage.added.length, 'plus'], ['−', stage.removed.length, 'minus'], ['~', stage.changed.length, 'tilde']];
    const idle = k > 0 && marks.every(([, n]) => !n);
    return el('button', { type: 'button', class: idle ? 'idle' : '', 'data-pass': stage.name, onclick: () => this.show({ stage: k }) },
      `${k ? `${k}. ` : ''}${stage.name}`,
      el('small', null, el('span', null, plural(stage.nodes.length, 'node')),
        marks.filter(([, n]) => n).map(([sign, n, kind]) => el('span', { class: kind }, `${sign}${n}`)), idle ? el('span', null, 'no change') : ''));
  }

  views() {
    return this.mode === 'both' ? [this.before, this.after] : [this.mode === 'before' ? this.before : this.after];
  }

  // What is drawn by each view: the stage's graph, or that before it.
  stageOf(view) {
    return view === this.before ? Math.max(0, this.stage - 1) : this.stage;
  }

  show(params) {
    const { key } = params;
    if (params.mode) this.mode = params.mode;
    if (params.tint) this.tint = params.tint;
    if (params.stage !== undefined && (params.stage !== this.stage || !this.ready)) {
      this.stage = params.stage;
      this.ready = false;
    }
    if (this.stage === 0 && this.mode !== 'after') this.mode = 'after', (this.ready = false);
    if (params.mode || !this.ready) this.redraw();
    if (params.tint) this.paint();
    this.modes.set(this.mode);
    this.tints.set(this.tint);
    if (key) {
      const view = this.views().find((v) => v.at.has(key) && this.stageOf(v) === this.stage) || this.views().find((v) => v.at.has(key));
      if (view) {
        view.choose(key);
        view.reveal(key);
      }
    }
  }

  redraw() {
    this.ready = true;
    const { region, stage } = this, pass = region.stages[stage];
    this.graphs.replaceChildren(...this.views().map((v) => v.element));
    for (const view of this.views()) {
      const k = this.stageOf(view), key = `${k}`;
      if (view.shown !== key) {
        view.shown = key;
        view.show(region.graph(k), region.inputs, k === 0 ? 'as built' : `after ${k}. ${region.stages[k].name}`);
      } else view.resized();
    }
    this.paint();
    this.list.querySelectorAll('button').forEach((b, k) => {
      b.setAttribute('aria-current', String(k === stage));
      if (k === stage) b.scrollIntoView({ block: 'nearest' });
    });
    const rewrites = Object.entries(pass.rewrites || {}).map(([name, n]) => (n > 1 ? `${name} ×${n}` : name)).join(', ');
    this.why.textContent = stage ? `${pass.name} stands here because: ${pass.why}. Took ${timeText(pass.seconds * 1e6)}.${rewrites ? ` Rewrites: ${rewrites}.` : ''}` : `${pass.why}.`;
    this.changeKeys = [...pass.added.map((n) => `n${n}`), ...pass.changed.map(([, n]) => `n${n}`)];
    if (this.mode !== 'after') this.changeKeys = [...pass.removed.map((n) => `n${n}`), ...this.changeKeys];
    this.changes.replaceChildren(...(this.changeKeys.length ? [
      icon('M10 3L5 8l5 5', 'Previous change (p)', () => this.nextChange(-1)),
      icon('M6 3l5 5-5 5', 'Next change (n)', () => this.nextChange(1)),
      el('output', null, plural(pass.added.length + pass.removed.length + pass.changed.length, 'change'))] : []));
    this.find(false);
  }

  paint() {
    const pass = this.region.stages[this.stage], before = new Map(), after = new Map();
    pass.removed.forEach((n) => before.set(`n${n}`, 'removed'));
    pass.added.forEach((n) => after.set(`n${n}`, 'added'));
    pass.changed.forEach(([a, b]) => before.set(`n${a}`, 'changed') && after.set(`n${b}`, 'changed'));
    const tint = this.tint === 'kernel' ? (item) => item.node !== undefined && hueOf(this.region.rowFor(item.node)) : null;
    this.before.mark({ marks: before, tint });
    this.after.mark({ marks: after, tint });
  }

  chosen(key, shift) {
    const stage = Math.max(0, this.stage + shift), view = shift ? this.before : this.after;
    const item = view.items[view.at.get(key)];
    this.aside.show(...(item.node === undefined ? terminalDetails(this.app, this.region, item, stage) : nodeDetails(this.app, this.region, item.node, stage)));
    this.app.remember('graph', { stage: this.stage, key });
    if (this.mode === 'both') this.follow(key, shift);
  }

  // In the other drawing, choose what the node was or became.
  follow(key, shift) {
    const pass = this.region.stages[this.stage], other = shift ? this.after : this.before, n = Number(key.slice(1));
    let kin = [key];
    if (key[0] === 'n' && !other.at.has(key)) {
      const pairs = pass.changed.filter((p) => p[shift ? 0 : 1] === n).map((p) => p[shift ? 1 : 0]);
      const became = shift ? pass.became.get(n) || [] : [...pass.became].filter(([, list]) => list.includes(n)).map(([old]) => old);
      kin = [...pairs, ...became].map((k) => `n${k}`);
    }
    kin = kin.filter((k) => other.at.has(k));
    other.choose(kin[0] || null, false, kin);
    if (kin.length) other.revealAll(kin);
  }

  nextChange(step) {
    if (!this.changeKeys.length) return;
    const now = this.changeKeys.findIndex((k) => this.views().some((v) => v.key === k));
    const n = this.changeKeys.length;
    this.show({ key: this.changeKeys[now < 0 ? (step > 0 ? 0 : n - 1) : (now + step + n) % n] });
  }

  find(jump = true) {
    const words = this.search.value.trim().toLowerCase();
    this.found = [];
    for (const view of this.views()) {
      const hits = new Set();
      if (words) {
        for (const item of view.items) {
          const text = item.node !== undefined ? this.region.text(item.node) : item.lines.join('\n').toLowerCase();
          if (text.includes(words)) hits.add(item.key), this.found.push([view, item.key]);
        }
      }
      view.mark({ hits });
    }
    this.at = -1;
    this.count.textContent = words ? `${this.found.length} found` : '';
    if (words && jump && this.found.length) this.nextFound(1, false);
  }

  nextFound(step, open = true) {
    if (!this.found.length) return;
    this.at = (this.at + step + this.found.length) % this.found.length;
    const [view, key] = this.found[this.at];
    this.count.textContent = `${this.at + 1} of ${this.found.length}`;
    view.choose(key, open);
    view.reveal(key);
  }

  keyed(event) {
    if (event.key === '/') this.search.focus();
    else if (event.key === '[') this.show({ stage: Math.max(0, this.stage - 1) });
    else if (event.key === ']') this.show({ stage: Math.min(this.region.final, this.stage + 1) });
    else if (event.key === 'n') this.nextChange(1);
    else if (event.key === 'p') this.nextChange(-1);
    else if (event.key === 'Escape') this.aside.close();
    else return false;
    if (event.key === '[' || event.key === ']') this.app.remember('graph', { stage: this.stage });
    return true;
  }
}

// Hues of neighbouring rows far apart, by the golden angle.
function hueOf(number) {
  return number === null ? null : Math.round((number * 137.508) % 360);
}

function segments(label, choices, chosen) {
  const buttons = Object.entries(choices).map(([value, words]) => el('button', { type: 'button', 'data-value': value, onclick: () => chosen(value) }, words));
  return {
    element: el('div', { class: 'segments', role: 'group', 'aria-label': label }, buttons),
    set: (value) => buttons.forEach((b) => b.setAttribute('aria-pressed', String(b.dataset.value === value))),
  };
}
