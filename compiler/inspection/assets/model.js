// A section's data with the questions that views ask of it.

const FAMILIES = [
  ['product', /^(matmul|gemm|conv|conv_transpose2d|conv2d|attention|lstm|gru|.*matmul.*|.*conv.*|.*attention.*)/],
  ['reduction', /^(reduce_|softmax|arg_|cumulative|.*pool|.*normalization|top_k|rows)/],
  ['movement', /^(reshape|transpose|slice|split|expand|concat|pad|tile|reverse|gather|scatter|triangular|resample|cast|quantize|dequantize|.*_like$)/],
];

function familyOf(node) {
  const op = node.op === 'fused' ? node.root : node.op;
  const found = FAMILIES.find(([, pattern]) => pattern.test(op));
  return found ? found[0] : 'pointwise';
}

class Region {
  constructor(data) {
    Object.assign(this, data);
    let nodes = [];
    for (const stage of this.stages) {
      stage.unchanged = !stage.nodes && stage !== this.stages[0];
      nodes = stage.nodes = stage.nodes || nodes;
      stage.added = stage.added || [];
      stage.removed = stage.removed || [];
      stage.changed = stage.changed || [];
      stage.became = new Map(stage.became || []);
    }
    this.rowsOf = new Map();
    this.rows.forEach((r, i) => {
      if (r.node !== null) this.rowsOf.set(r.node, [...(this.rowsOf.get(r.node) || []), i]);
    });
    this.callsOf = this.kernels.map(() => []);
    this.rows.forEach((r, i) => this.callsOf[r.kernel].push(i));
    this.time = this.rows.reduce((sum, r) => sum + (typeof r.us === 'number' ? r.us : 0), 0);
    this.bufferOf = new Map();
    this.memory.buffers.forEach((b, i) => b.values.forEach((v) => this.bufferOf.set(v, i)));
    this._graphs = new Map();
    this.prefix = commonPath(this.stages[0].nodes.flatMap((n) => this.nodes[n].labels || []));
    this.common = this.prefix.length;
  }

  get final() {
    return this.stages.length - 1;
  }

  // Producers and readers of values in the graph after a stage; input values have no producer.
  graph(stage) {
    const key = this.stages[stage].nodes;
    if (!this._graphs.has(stage)) {
      this._graphs.set(stage, wired(this, key, this.stages[stage].outputs));
    }
    return this._graphs.get(stage);
  }

  share(i) {
    return this.time && typeof this.rows[i].us === 'number' ? this.rows[i].us / this.time : 0;
  }

  // What became of the user's node of a number: the nodes of the last graph, or the pass after which it is gone.
  fate(user) {
    if (!this._fates) {
      this._fates = this.stages[0].nodes.map(() => ({ nodes: [], gone: -1 }));
      const seen = new Map();
      this.stages.forEach((stage, k) => {
        for (const n of stage.nodes) for (const u of this.nodes[n].users) seen.set(u, k);
      });
      for (const n of this.stages[this.final].nodes) {
        for (const u of this.nodes[n].users) this._fates[u].nodes.push(n);
      }
      this._fates.forEach((fate, u) => {
        if (!fate.nodes.length) fate.gone = (seen.get(u) ?? 0) + 1;
      });
    }
    return this._fates[user];
  }

  // The first row that computes a node of any graph or part of it, for colours and links.
  rowFor(n) {
    const own = this.rowsOf.get(n);
    if (own) return own[0];
    for (const user of this.nodes[n].users) {
      for (const final of this.fate(user).nodes) {
        const rows = this.rowsOf.get(final);
        if (rows) return rows[0];
      }
    }
    return null;
  }

  // The labels of a node, without the path that all of the model's have in common.
  name(n) {
    const node = this.nodes[n];
    return node.labels ? line(node.labels.map((l) => l.slice(this.common)).join(', ')) : '';
  }

  // Labels in a text that joins several, shortened likewise.
  short(labels) {
    return this.common ? labels.split(', ').map((l) => (l.startsWith(this.prefix) ? l.slice(this.common) : l)).join(', ') : labels;
  }

  title(n) {
    const node = this.nodes[n];
    return node.op === 'fused' ? node.body.map((b) => this.nodes[b].op).join(' + ') : node.op;
  }

  valueName(v) {
    const value = this.values[v];
    if (value.name) return line(value.name);
    return value.constant !== undefined ? `constant ${value.constant}` : `value ${v}`;
  }

  // Everything by which a node can be found.
  text(n) {
    const node = this.nodes[n];
    if (!node.text) {
      const values = [...node.in, ...node.out].filter((v) => v !== null).map((v) => this.values[v]);
      node.text = [this.title(n), node.op, ...(node.labels || []), ...values.map((v) => `${v.name || ''} ${typeText(v)}`),
        ...Object.entries(node.attrs || {}).map(([k, v]) => `${k}=${v}`)].join('\n').toLowerCase();
    }
    return node.text;
  }
}

// What all labels begin with, up to a separator; empty for few of them.
function commonPath(labels) {
  if (labels.length < 3) return '';
  let common = labels[0];
  for (const label of labels) {
    while (!label.startsWith(common)) common = common.slice(0, -1);
  }
  return common.slice(0, (common.includes('/') ? common.lastIndexOf('/') : common.lastIndexOf('.')) + 1);
}

function wired(region, nodes, outputs) {
  const producer = new Map(), readers = new Map(), leaving = new Map();
  for (const n of nodes) for (const v of region.nodes[n].out) producer.set(v, n);
  for (const n of nodes) {
    for (const v of new Set(region.nodes[n].in)) {
      if (v !== null) readers.set(v, [...(readers.get(v) || []), n]);
    }
  }
  for (const [name, v] of outputs) leaving.set(v, [...(leaving.get(v) || []), name]);
  return { nodes, producer, readers, outputs, leaving };
}
