// The program: its rows in order, or by any column.

class RowsView {
  constructor(app, region) {
    Object.assign(this, { app, region, by: '#', down: false });
    this.aside = new Aside('Details of the chosen row');
    this.aside.closed = () => this.mark(null);
    this.filter = el('input', { type: 'search', placeholder: 'Filter by label or kernel…', 'aria-label': 'Filter rows' });
    this.filter.addEventListener('input', () => this.fill());
    this.count = el('output', { class: 'note', 'aria-live': 'polite' });
    this.columns = {
      '#': (i) => i, 'kernel': (i) => this.kernel(i), 'your labels': (i) => region.rows[i].label, 'estimated': (i) => Number(region.rows[i].us) || 0, '%': (i) => region.share(i),
      'operations': (i) => region.rows[i].operations, 'bytes': (i) => region.rows[i].bytes, 'ops/byte': (i) => intensity(region.rows[i]), 'units': (i) => region.rows[i].units,
      'threads': (i) => (region.rows[i].serial || region.rows[i].units <= 1 ? 0 : 1),
    };
    this.elements = region.rows.map((r, i) => this.line(r, i));
    this.body = el('tbody');
    this.head = Object.keys(this.columns).map((name) => el('th', { scope: 'col', class: ['kernel', 'your labels', 'threads'].includes(name) ? '' : 'n' }, button(name, () => this.sort(name))));
    this.element = el('section', { class: 'split' }, el('div', { class: 'page', style: null }, el('h2', null, 'Rows of the program'),
      el('p', { class: 'note' }, 'Rows run in this order. Times are what the compiler estimates for one core, not measured; bslc profile measures. Operations and bytes are the least that the row does and moves.'),
      el('div', { class: 'find' }, this.filter, this.count),
      el('div', { class: 'sticky' }, el('table', { class: 'full' }, el('thead', null, el('tr', null, this.head)), this.body))), this.aside.element);
    this.element.firstChild.classList.add('stage');
    this.fill();
  }

  kernel(i) {
    return this.region.kernels[this.region.rows[i].kernel].label;
  }

  line(r, i) {
    const share = this.region.share(i);
    return el('tr', { class: 'go', tabindex: 0, 'data-row': i, onclick: () => this.choose(i), onkeydown: (e) => (e.key === 'Enter' ? this.choose(i) : this.walk(e)) },
      num(i), el('td', null, line(this.kernel(i), 90)), el('td', { title: r.label }, el('span', { class: 'clamp' }, line(this.region.short(r.label), 160))), num(timeText(r.us)), el('td', { class: 'n' }, bar(share), ` ${(share * 100).toFixed(1)}`),
      num(r.operations ? countText(r.operations) : ''), num(bytesText(r.bytes)), num(r.operations && r.bytes ? ratioText(intensity(r)) : ''), num(whole(r.units)),
      el('td', null, r.serial || r.units <= 1 ? 'one' : 'shared', r.free ? el('span', { class: 'note', title: `may run at once with the ${plural(r.free, 'row')} before it` }, ` ∥${r.free}`) : ''));
  }

  walk(event) {
    const next = event.key === 'ArrowDown' ? event.currentTarget.nextElementSibling : event.key === 'ArrowUp' ? event.currentTarget.previousElementSibling : null;
    if (next) next.focus(), event.preventDefault();
  }

  sort(name) {
    this.down = this.by === name ? !this.down : !['#', 'kernel', 'your labels'].includes(name);
    this.by = name;
    this.fill();
  }

  fill() {
    const words = this.filter.value.trim().toLowerCase(), value = this.columns[this.by];
    const shown = this.region.rows.map((_, i) => i).filter((i) => !words || `${this.kernel(i)}\n${this.region.rows[i].label}`.toLowerCase().includes(words));
    shown.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a - b) * (this.down ? -1 : 1));
    this.body.replaceChildren(...shown.map((i) => this.elements[i]));
    this.head.forEach((th) => (th.textContent === this.by ? th.setAttribute('aria-sort', this.down ? 'descending' : 'ascending') : th.removeAttribute('aria-sort')));
    this.count.textContent = words ? `${shown.length} of ${this.region.rows.length}` : plural(this.region.rows.length, 'row');
  }

  mark(i) {
    this.elements.forEach((e, k) => e.classList.toggle('chosen', k === i));
  }

  choose(i) {
    this.mark(i);
    this.aside.show(...rowDetails(this.app, this.region, i));
    this.app.remember('rows', { row: i });
  }

  show({ row: i }) {
    if (i === undefined || !this.elements[i]) return;
    if (!this.elements[i].isConnected || !this.body.contains(this.elements[i])) this.filter.value = '', this.fill();
    this.choose(i);
    this.elements[i].scrollIntoView({ block: 'center' });
  }

  keyed(event) {
    if (event.key === '/') return this.filter.focus(), true;
    if (event.key === 'Escape') return this.aside.close(), true;
    return false;
  }
}

function intensity(r) {
  return r.bytes ? r.operations / r.bytes : 0;
}
