// Which of the user's nodes became which kernel.

class NodesView {
  constructor(app, region) {
    Object.assign(this, { app, region });
    this.filter = el('input', { type: 'search', placeholder: 'Filter by label, operator, kernel…', 'aria-label': 'Filter nodes' });
    this.filter.addEventListener('input', () => this.narrow());
    this.count = el('output', { class: 'note', 'aria-live': 'polite' });
    this.rows = region.stages[0].nodes.map((n, user) => this.line(n, user));
    const groups = this.groups();
    this.element = el('section', { class: 'page' },
      el('h2', null, 'Fused groups'), el('p', { class: 'note' }, groups.length ? 'Each group is one kernel: what its nodes hand to each other never goes to memory of its own.' : 'No nodes were fused.'),
      groups.length ? el('div', { class: 'wide' }, table(['row', 'group', el('th', { class: 'n' }, 'nodes'), 'your labels', el('th', { class: 'n' }, 'estimated')], groups, { class: 'full' })) : '',
      el('h2', null, 'Every node that you built, and what it became'), el('div', { class: 'find' }, this.filter, this.count),
      el('div', { class: 'wide sticky' }, table(['#', 'operator', 'label', 'result', 'became', el('th', { class: 'n' }, 'row'), 'kernel'], this.rows.map((r) => r.element), { class: 'full' })));
    this.narrow();
  }

  groups() {
    const { region, app } = this;
    return region.stages[region.final].nodes.filter((n) => region.nodes[n].op === 'fused').map((n) => {
      const rows = region.rowsOf.get(n) || [], us = rows.reduce((sum, i) => sum + (Number(region.rows[i].us) || 0), 0);
      return row(el('td', { class: 'n tight' }, rowLinks(app, rows, 4)),
        link(line(region.title(n), 110), () => app.go('graph', { stage: region.final, key: `n${n}` })),
        num(region.nodes[n].body.length), el('td', { title: (region.nodes[n].labels || []).join(', ') }, el('span', { class: 'clamp' }, line(region.name(n), 220))), num(rows.length ? timeText(us) : ''));
    });
  }

  line(n, user) {
    const { region, app } = this, node = region.nodes[n], fate = region.fate(user);
    const rows = [...new Set(fate.nodes.flatMap((f) => region.rowsOf.get(f) || []))];
    const kernels = [...new Set(rows.map((i) => region.rows[i].kernel))];
    const became = fate.nodes.length
      ? fate.nodes.slice(0, 4).map((f) => el('div', null, link(line(region.title(f), 70), () => app.go('graph', { stage: region.final, key: `n${f}` }))))
      : link(`gone after ${region.stages[fate.gone]?.name ?? 'the last pass'}`, () => app.go('graph', { stage: Math.min(fate.gone, region.final) }), { class: 'link minus' });
    const more = fate.nodes.length > 4 && el('div', { class: 'note' }, `and ${fate.nodes.length - 4} more`);
    const element = row(num(user), link(node.op, () => app.go('graph', { stage: 0, key: `n${n}` })), el('td', { title: (node.labels || []).join(', ') }, line(region.name(n), 80)),
      [el('code', null, node.out.map((v) => typeText(region.values[v])).join(', '))], el('td', null, became, more),
      el('td', { class: 'n' }, rowLinks(app, rows, 6), !rows.length && fate.nodes.length ? el('span', { class: 'note' }, 'view') : ''),
      el('td', null, kernels.slice(0, 4).map((k) => el('div', null, link(line(region.kernels[k].label, 60), () => app.go('kernels', { kernel: k }))))));
    return { element, text: [region.text(n), ...fate.nodes.map((f) => region.title(f)), ...kernels.map((k) => region.kernels[k].label)].join('\n').toLowerCase() };
  }

  narrow() {
    const words = this.filter.value.trim().toLowerCase();
    let shown = 0;
    for (const { element, text } of this.rows) {
      element.hidden = words !== '' && !text.includes(words);
      shown += !element.hidden;
    }
    this.count.textContent = words ? `${shown} of ${this.rows.length}` : plural(this.rows.length, 'node');
  }

  show() {}

  keyed(event) {
    if (event.key === '/') return this.filter.focus(), true;
    return false;
  }
}
