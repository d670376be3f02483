// What is known of one node, value, row or buffer.

class Aside {
  constructor(label) {
    this.content = el('div');
    this.element = el('aside', { 'aria-label': label, tabindex: -1, hidden: true },
      icon('M4 4l8 8M12 4l-8 8', 'Close (Esc)', () => this.close(), { class: 'icon shut' }), this.content);
    this.element.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') this.close();
    });
  }

  show(...children) {
    this.content.replaceChildren(...children);
    this.element.hidden = false;
    this.element.scrollTop = 0;
  }

  close() {
    this.element.hidden = true;
    if (this.closed) this.closed();
  }
}

function labelChips(labels) {
  return (labels || []).map((words) => el('span', { class: 'chip', title: words }, line(words, 120)));
}

function nodeDetails(app, region, n, stage) {
  const node = region.nodes[n], graph = region.graph(stage);
  const parts = [el('h2', null, line(region.title(n), 200)), el('div', null, labelChips(node.labels)),
    facts([
      ['operator', node.op === 'fused' ? `fused, around ${node.root}` : node.op],
      ['made by', node.origin ? node.origin.join(', then ') : 'you'],
    ])];
  parts.push(...changeNote(app, region, n, stage));
  if (node.attrs) parts.push(el('h3', null, 'Attributes'), facts(Object.entries(node.attrs)));
  parts.push(el('h3', null, 'Operands'), valueTable(app, region, graph, node.in, stage, 'from'));
  parts.push(el('h3', null, 'Results'), valueTable(app, region, graph, node.out, stage, 'to'));
  if (node.body) parts.push(...insideOf(app, region, n));
  parts.push(...fateOf(app, region, n, stage));
  return parts;
}

function valueTable(app, region, graph, values, stage, side) {
  if (!values.length) return el('p', { class: 'note' }, 'none');
  return table(['', 'type and shape', side], values.map((v, i) => {
    if (v === null) return row(num(i), el('td', { class: 'note' }, 'absent'), '');
    return row(num(i), [el('code', null, typeText(region.values[v]))], el('td', null, endsOf(app, region, graph, v, stage, side)));
  }), { class: 'values' });
}

function endsOf(app, region, graph, v, stage, side) {
  const value = region.values[v];
  if (value.constant !== undefined) {
    return [el('div', null, value.name ? `constant ${line(value.name, 60)}` : 'constant'), el('code', { class: 'note' }, value.data)];
  }
  const jump = (n) => link(region.name(n) ? `${line(region.title(n), 40)} “${line(region.name(n), 40)}”` : line(region.title(n), 50),
    () => app.go('graph', { stage, key: `n${n}` }));
  if (side === 'from') {
    const producer = graph.producer.get(v);
    return producer === undefined ? `input ${region.valueName(v)}` : jump(producer);
  }
  const readers = graph.readers.get(v) || [], names = graph.leaving.get(v) || [];
  return [...names.map((name) => el('div', null, `output ${line(name, 60)}`)), ...readers.slice(0, 12).map((n) => el('div', null, jump(n))),
    readers.length > 12 && el('div', { class: 'note' }, `and ${readers.length - 12} more`),
    !readers.length && !names.length && el('span', { class: 'note' }, 'nothing reads it')];
}

// What the pass of a stage, or the next one, did to a node.
function changeNote(app, region, n, stage) {
  const found = [];
  const here = region.stages[stage], next = region.stages[stage + 1];
  if (here.added.includes(n)) {
    const replaced = [...here.became].filter(([, into]) => into.includes(n)).map(([old]) => old);
    const list = replaced.length > 0 && region.nodes[n].op !== 'fused';
    found.push(el('p', { class: 'plus' }, `Added by ${here.name}`, list ? ' in place of:' : '.'));
    if (list) found.push(nodeList(app, region, replaced, stage - 1));
  }
  const was = here.changed.find(([, now]) => now === n);
  if (was) found.push(el('p', { class: 'tilde' }, `Changed by ${here.name}:`), differences(region, was[0], n));
  if (!next) return found;
  if (next.removed.includes(n)) {
    const into = next.became.get(n) || [];
    found.push(el('p', { class: 'minus' }, `Removed by ${next.name}`, into.length ? '; in its place:' : '.'));
    if (into.length) found.push(nodeList(app, region, into, stage + 1));
  }
  const becomes = next.changed.find(([old]) => old === n);
  if (becomes) found.push(el('p', { class: 'tilde' }, `Changed by ${next.name}:`), differences(region, n, becomes[1]));
  return found;
}

function nodeList(app, region, numbers, stage) {
  const items = numbers.slice(0, 40).map((n) => el('li', null,
    link(`${line(region.title(n), 70)}${region.name(n) ? ` “${line(region.name(n), 60)}”` : ''}`, () => app.go('graph', { stage, key: `n${n}` }))));
  if (numbers.length > 40) items.push(el('li', { class: 'note' }, `and ${numbers.length - 40} more`));
  return el('ul', { class: 'plainlist' }, items);
}

function differences(region, before, after) {
  const a = described(region, before), b = described(region, after), rows = [];
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (a[key] !== b[key]) rows.push(row(key, el('td', { class: 'minus' }, a[key] ?? ''), el('td', { class: 'plus' }, b[key] ?? '')));
  }
  return table(['', 'before', 'after'], rows.length ? rows : [row('', 'what it reads', 'other values of equal types')]);
}

function described(region, n) {
  const node = region.nodes[n], found = { operator: node.op, labels: region.name(n) };
  node.in.forEach((v, i) => (found[`operand ${i}`] = v === null ? 'absent' : `${region.valueName(v)}: ${typeText(region.values[v])}`));
  node.out.forEach((v, i) => (found[`result ${i}`] = typeText(region.values[v])));
  return Object.assign(found, node.attrs);
}

function insideOf(app, region, n) {
  const node = region.nodes[n], made = new Set(node.body.flatMap((b) => region.nodes[b].out));
  const inputs = [...new Set(node.body.flatMap((b) => region.nodes[b].in))].filter((v) => v !== null && !made.has(v) && region.values[v].constant === undefined);
  const graph = wired(region, node.body, node.out.map((v) => [region.valueName(v), v]));
  const before = region.stages.findIndex((s) => s.added.includes(n)) - 1;
  const view = new GraphView(region, {
    label: 'What is inside the fused node',
    chosen: (key) => key[0] === 'n' && region.stages[before]?.nodes.includes(Number(key.slice(1))) && app.go('graph', { stage: before, key }),
    opened: () => {},
  });
  queueMicrotask(() => view.show(graph, inputs));
  return [el('h3', null, `Inside: ${plural(node.body.length, 'node')}, one kernel`), view.element, nodeList(app, region, node.body, before)];
}

// The user's nodes behind this one, and the rows that compute it.
function fateOf(app, region, n, stage) {
  const node = region.nodes[n], parts = [];
  if (stage > 0 && node.users.length) {
    parts.push(el('h3', null, `Stands for ${plural(node.users.length, 'node')} of yours`),
      nodeList(app, region, node.users.map((u) => region.stages[0].nodes[u]), 0));
  }
  const finals = region.stages[region.final].nodes.includes(n) ? [n] : [...new Set(node.users.flatMap((u) => region.fate(u).nodes))];
  const rows = [...new Set(finals.flatMap((f) => region.rowsOf.get(f) || []))].sort((a, b) => a - b);
  parts.push(el('h3', null, 'Runs as'));
  if (rows.length) {
    parts.push(table(['row', 'kernel', 'est.'], rows.slice(0, 20).map((i) => row(link(`${i}`, () => app.go('rows', { row: i })),
      line(region.kernels[region.rows[i].kernel].label, 60), num(timeText(region.rows[i].us))))));
    if (rows.length > 20) parts.push(el('p', { class: 'note' }, `and ${rows.length - 20} more`));
  } else if (finals.length) {
    parts.push(el('p', { class: 'note' }, 'no kernel: its result is a view of its operand, or computed where it is needed'));
  } else {
    const gone = node.users.length ? Math.max(...node.users.map((u) => region.fate(u).gone)) : -1;
    parts.push(el('p', { class: 'note' }, region.stages[gone] ? `nothing: ${region.stages[gone].name} left no node of it` : 'nothing of its own'));
  }
  const held = finals.flatMap((f) => region.nodes[f].out).map((v) => region.bufferOf.get(v)).filter((b) => b !== undefined);
  if (held.length) {
    parts.push(el('h3', null, 'Memory of the results'), el('ul', { class: 'plainlist' }, [...new Set(held)].slice(0, 12).map((b) => el('li', null,
      link(`${bytesText(region.memory.buffers[b].bytes)} at ${placeText(region, region.memory.buffers[b])}`, () => app.go('memory', { buffer: b }))))));
  }
  return parts;
}

function placeText(region, buffer) {
  if (buffer.at === 'arena') return `arena + ${whole(buffer.offset)}`;
  if (buffer.at === 'output') return `output ${line(region.memory.outputs[buffer.index]?.name ?? String(buffer.index), 40)}`;
  return `input ${line(region.memory.inputs[buffer.index]?.name ?? String(buffer.index), 40)}`;
}

function terminalDetails(app, region, item, stage) {
  const graph = region.graph(stage), value = region.values[item.value];
  const side = item.key[0] === 'i' ? 'to' : 'from';
  return [el('h2', null, item.lines.slice(0, 2).join(' ')), facts([['type', value.type], ['shape', shapeText(value.shape)]]),
    el('h3', null, side === 'to' ? 'Read by' : 'Made by'), el('div', null, endsOf(app, region, graph, item.value, stage, side))];
}

function rowDetails(app, region, i) {
  const r = region.rows[i], kernel = region.kernels[r.kernel];
  const slots = r.slots.map((slot, k) => {
    if ('number' in slot) return row(num(k), el('td', { colspan: 3 }, el('code', null, String(slot.number))));
    const place = slot.buffer !== undefined
      ? link(placeText(region, region.memory.buffers[slot.buffer]), () => app.go('memory', { buffer: slot.buffer }))
      : `${slot.at} ${slot.index}`;
    const about = `strides ${shapeText(slot.strides)}${slot.offset ? `, from byte ${whole(slot.offset)}` : ''}`;
    return row(num(k), slot.way, [el('code', { title: about }, typeText(slot))], el('td', null, place));
  });
  return [el('h2', null, `Row ${i}: ${line(kernel.label, 160)}`), el('div', null, labelChips(r.label ? [r.label] : [])),
    facts([
      ['kernel', link(`${r.kernel}: source and assembly`, () => app.go('kernels', { kernel: r.kernel }))],
      ['node', r.node !== null && link(line(region.title(r.node), 80), () => app.go('graph', { stage: region.final, key: `n${r.node}` }))],
      ['estimated', `${timeText(r.us)} on one core, ${(region.share(i) * 100).toFixed(1)}% of the program`],
      ['units', `${whole(r.units)}, ${splitText(r)}`],
      ['at once with', r.free ? `the ${plural(r.free, 'row')} before it` : 'no other row'],
      ['arithmetic', r.operations ? `${countText(r.operations)} operations on ${r.dtype}` : 'none counted'],
      ['memory', `${bytesText(r.bytes)} at least${r.operations && r.bytes ? `; ${ratioText(r.operations / r.bytes)} operations a byte` : ''}`],
    ]),
    el('h3', null, 'The kernel’s table'), table(['', '', 'type and shape', 'at'], slots),
    r.more ? el('p', { class: 'note' }, `and ${r.more} more entries`) : ''];
}

function splitText(r) {
  return r.serial || r.units <= 1 ? 'run by one thread' : `may be split over threads in pieces of ${whole(r.chunk)}`;
}

function bufferDetails(app, region, i) {
  const b = region.memory.buffers[i];
  const root = (k) => (region.memory.buffers[k].over === undefined ? k : root(region.memory.buffers[k].over));
  const chain = region.memory.buffers.map((_, k) => k).filter((k) => root(k) === root(i));
  const values = b.values.map((v) => el('li', null, el('code', null, typeText(region.values[v])), ' ', region.values[v].name ? line(region.values[v].name, 80) : '', ' ',
    makerOf(app, region, v)));
  return [el('h2', null, bufferName(region, i)), facts([
    ['size', `${bytesText(b.bytes)} (${whole(b.bytes)} bytes)`], ['place', placeText(region, b)],
    ['rows', [link(String(b.first), () => app.go('rows', { row: b.first })), ' to ', link(String(b.last), () => app.go('rows', { row: b.last }))]],
  ]), el('h3', null, b.values.length ? 'Values in it' : 'Scratch of the kernel'), el('ul', { class: 'plainlist' }, values),
    chain.length > 1 ? [el('h3', null, 'One place, taken over in place'), el('ol', null, chain.map((k) => el('li', null,
      k === i ? el('b', null, bufferName(region, k)) : link(bufferName(region, k), () => app.go('memory', { buffer: k })),
      ` rows ${region.memory.buffers[k].first} to ${region.memory.buffers[k].last}`)))] : ''].flat();
}

function makerOf(app, region, v) {
  const n = region.graph(region.final).producer.get(v);
  return n === undefined ? '' : ['of ', link(line(region.name(n) || region.title(n), 60), () => app.go('graph', { stage: region.final, key: `n${n}` }))];
}

function bufferName(region, i) {
  const b = region.memory.buffers[i], names = [];
  for (const v of b.values) {
    const n = region.graph(region.final).producer.get(v);
    names.push(region.values[v].name || (n !== undefined && (region.name(n) || region.title(n))) || `value ${v}`);
  }
  if (names.length) return line([...new Set(names)].join(', '), 90);
  const r = region.rows[b.first];
  return `scratch of ${line(r.label || region.kernels[r.kernel].label, 80)}`;
}
