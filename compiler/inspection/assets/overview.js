// The model, the machine and the program in numbers.

class OverviewView {
  constructor(app, region) {
    const { rows, kernels, memory, stages } = region;
    const tile = (value, words) => el('div', { class: 'tile' }, el('b', null, value), el('span', null, words));
    const sizes = Object.entries(region.sizes).map(([name, size]) => `${name} = ${size}${app.data.assumed?.includes(name) ? ' (assumed)' : ''}`).join(', ');
    const steps = app.data.sections.length > 1 ? [el('h2', null, 'Steps of the model'),
      el('p', { class: 'note' }, 'Programs, and what runs in Python between them; each is shown for the sizes of the run that was looked at.'), app.stepList()] : [];
    this.element = el('section', { class: 'page' }, steps,
      el('div', { class: 'tiles' }, tile(whole(stages[0].nodes.length), 'nodes as built'), tile(whole(stages[region.final].nodes.length), 'after all passes'),
        tile(whole(rows.length), 'rows (kernel calls)'), tile(whole(kernels.length), 'different kernels'), tile(timeText(region.time), 'estimated, one core'),
        tile(bytesText(memory.arena), 'arena'), tile(bytesText(memory.constants), 'constants')),
      el('h2', null, 'Model'), facts([['name', line(region.graph_name || app.data.title, 200)], ...app.data.facts, ['sizes', sizes || 'all stated by the model'],
        ['labels', region.common ? `begin with ${line(region.prefix, 120)}, which is left out below` : null]]),
      el('h3', null, 'Inputs and outputs'), el('div', { class: 'wide' }, table(['', 'name', 'type', 'shape'], [
        ...region.inputs.map((v) => this.terminal('input', region.valueName(v), region.values[v])),
        ...stages[region.final].outputs.map(([name, v]) => this.terminal('output', line(name), region.values[v]))])),
      el('h2', null, 'Passes'), el('p', { class: 'note' }, 'Each pass rewrites the graph; choose one to see what it did.'), this.passes(app, region),
      el('h2', null, 'Where the time is estimated to go'), this.times(app, region));
  }

  terminal(kind, name, value) {
    return row(kind, name, value.type, [el('code', null, shapeText(value.shape))]);
  }

  passes(app, region) {
    const most = Math.max(1, ...region.stages.map((s) => s.nodes.length));
    return table(['pass', el('th', { class: 'n' }, 'nodes'), '', 'changes', el('th', { class: 'n' }, 'time')], region.stages.map((s, k) => row(
      link(s.name, () => app.go('graph', { stage: k })), num(whole(s.nodes.length)), [bar(s.nodes.length / most)],
      [['+', s.added, 'plus'], ['−', s.removed, 'minus'], ['~', s.changed, 'tilde']].filter(([, list]) => list.length).map(([sign, list, kind]) => el('span', { class: kind }, `${sign}${list.length} `)),
      num(k ? timeText(s.seconds * 1e6) : ''))));
  }

  times(app, region) {
    const kinds = region.kernels.map((k, i) => ({ i, k, us: region.callsOf[i].reduce((sum, r) => sum + (Number(region.rows[r].us) || 0), 0) }));
    kinds.sort((a, b) => b.us - a.us);
    return el('div', { class: 'wide' }, table(['kernel', el('th', { class: 'n' }, 'calls'), el('th', { class: 'n' }, 'estimated'), '', el('th', { class: 'n' }, '%')],
      kinds.slice(0, 12).map(({ i, k, us }) => row(link(`${i}: ${line(k.label, 90)}`, () => app.go('kernels', { kernel: i })), num(region.callsOf[i].length), num(timeText(us)),
        [bar(region.time ? us / region.time : 0)], num(region.time ? ((100 * us) / region.time).toFixed(1) : '')))));
  }

  show() {}
}
