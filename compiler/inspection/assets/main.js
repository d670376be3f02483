// The whole: sections, views, the address' fragment, keys.

const VIEWS = { overview: ['Overview', OverviewView], graph: ['Graph', PassesView], nodes: ['Fusion', NodesView], rows: ['Rows', RowsView], memory: ['Memory', MemoryView], kernels: ['Kernels', KernelsView] };
const KEYS = [['1 … 6', 'the views'], ['/', 'find'], ['Enter, Shift+Enter', 'next, previous found'], ['[ and ]', 'previous, next pass'], ['n and p', 'next, previous change of the pass'],
  ['arrows', 'walk along the graph’s edges'], ['Shift+arrows, drag, wheel', 'move the picture'], ['+ − 0, Ctrl+wheel', 'zoom in, out, show all'], ['Esc', 'close details'], ['?', 'this help']];

class App {
  constructor(data) {
    this.data = data;
    this.regions = data.sections.map((s) => s.region && new Region(s.region));
    this.views = data.sections.map(() => ({}));
    this.section = Math.max(0, this.regions.findIndex((r) => r));
    this.view = 'overview';
    this.main = el('main', { id: 'view' });
    this.tabs = Object.entries(VIEWS).map(([name, [words]], i) => el('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': 'view', title: `${words} (${i + 1})`, onclick: () => this.go(name, {}) }, words));
    this.help = el('dialog', { 'aria-label': 'Keys' }, el('h2', null, 'Keys'), table(['', ''], KEYS.map(([k, what]) => row([el('kbd', null, k)], what))), button('Close', () => this.help.close()));
    const names = el('nav', { role: 'tablist', 'aria-label': 'Views' }, this.tabs);
    names.addEventListener('keydown', (event) => this.walkTabs(event));
    this.sections = data.sections.length > 1 && this.chooser();
    document.getElementById('app').append(el('header', { class: 'top' }, el('h1', { title: data.title }, line(data.title, 80), el('small', null, 'what Basalt made of it')), names,
      el('span', { class: 'room' }), this.sections, themeChooser(), icon('M6 6a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6M8 12v.1', 'Keys (?)', () => this.help.showModal())), this.main, this.help);
    document.addEventListener('keydown', (event) => this.keyed(event));
    addEventListener('hashchange', () => this.restore());
    this.restore();
  }

  chooser() {
    const options = this.data.sections.map((s, i) => el('option', { value: i }, `${'  '.repeat(s.depth)}${i + 1}. ${line(s.title, 70)}`));
    const chooser = el('select', { 'aria-label': 'Step of the model', id: 'section', title: 'The model runs in steps: choose one' }, options);
    chooser.addEventListener('change', () => {
      this.section = Number(chooser.value);
      this.go(this.view, {});
    });
    return chooser;
  }

  get region() {
    return this.regions[this.section];
  }

  go(view, params, keep = false) {
    this.view = view;
    if (!keep) this.remember(view, params);
    if (this.sections) this.sections.value = String(this.section);
    this.tabs.forEach((tab) => {
      const chosen = tab.id === `tab-${view}`;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    });
    if (!this.region) return this.main.replaceChildren(this.step());
    const made = this.views[this.section];
    const first = !made[view];
    if (first) made[view] = new VIEWS[view][1](this, this.region);
    const element = made[view].element;
    if (this.main.firstChild !== element) this.main.replaceChildren(element);
    made[view].show(first && view === 'graph' && params.stage === undefined ? { ...params, stage: this.region.final } : params);
  }

  // A step without a program of its own.
  step() {
    const { title, note } = this.data.sections[this.section];
    return el('section', { class: 'page' }, el('h2', null, line(title, 300)), el('p', { class: 'note' }, note), this.stepList());
  }

  stepList() {
    return table(['step', 'what', 'nodes'], this.data.sections.map((s, i) => fill(row(num(i + 1),
      link(line(s.title, 160), () => {
        this.section = i;
        this.go(this.view, {});
      }), num(s.region ? whole(s.region.stages[0].nodes.length) : '')), { class: i === this.section ? 'chosen' : null }, [])));
  }

  remember(view, params) {
    if (view !== this.view) return;
    const pairs = Object.entries(params).filter(([, value]) => value !== undefined && value !== null);
    const fragment = `#${[this.section, view, ...pairs.map(([k, v]) => `${k}=${v}`)].join('/')}`;
    try {
      history.replaceState(null, '', fragment);
    } catch {
      // Some browsers give files no history; the address is a convenience only.
    }
  }

  restore() {
    const [section, view, ...pairs] = decodeURIComponent(location.hash.slice(1)).split('/');
    const params = {};
    for (const [key, value] of pairs.map((p) => p.split('='))) {
      if (['stage', 'row', 'buffer', 'kernel'].includes(key) && /^\d+$/.test(value)) params[key] = Number(value);
      if (key === 'key' && /^[nio]\d+$/.test(value)) params.key = value;
    }
    if (/^\d+$/.test(section) && this.data.sections[Number(section)]) this.section = Number(section);
    if (params.stage !== undefined && this.region && params.stage > this.region.final) delete params.stage;
    this.go(VIEWS[view] ? view : 'overview', params, true);
  }

  walkTabs(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const names = Object.keys(VIEWS), next = (names.indexOf(this.view) + step + names.length) % names.length;
    this.go(names[next], {});
    this.tabs[next].focus();
    event.preventDefault();
  }

  keyed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches('input, select, textarea') || this.help.open) return;
    const view = this.region && this.views[this.section][this.view];
    if (event.key === '?') this.help.showModal();
    else if (/^[1-6]$/.test(event.key)) this.go(Object.keys(VIEWS)[Number(event.key) - 1], {});
    else if (!view || !view.keyed || !view.keyed(event)) return;
    event.preventDefault();
  }
}

const app = new App(JSON.parse(document.getElementById('data').textContent));
