// A layered drawing (Sugiyama, Tagawa and Toda, 1981): layers by longest path, an order within each by barycentres, then
// the places nearest to the neighbours' that keep the order (a least-squares problem, which pooling solves exactly).

const GAP_X = 22, GAP_Y = 34, FAR = 48, ROOM = 6, SWEEPS = 12, PLACINGS = 20;

// items: [{w, h, from: [item numbers]}], topologically sorted. Returns places of the items, and for each edge the points
// that it passes on its way; an edge over more than FAR layers has none and is drawn as a hint at both ends.
function layered(items) {
  const layer = layersOf(items);
  const slots = items.map((item, i) => ({ item: i, w: item.w, layer: layer[i], up: [], down: [], x: 0, weight: 1 }));
  const edges = joined(items, layer, slots);
  const layers = [];
  slots.forEach((s) => (layers[s.layer] = layers[s.layer] || []).push(s));
  ordered(layers);
  placed(layers);
  const tops = [];
  let y = 0;
  layers.forEach((members, k) => {
    const height = Math.max(0, ...members.filter((s) => s.item !== null).map((s) => items[s.item].h));
    tops[k] = y;
    members.forEach((s) => (s.y = y + height / 2));
    y += height + GAP_Y + Math.min(40, members.length);
  });
  const left = Math.min(0, ...slots.map((s) => s.x - s.w / 2));
  slots.forEach((s) => (s.x -= left));
  return {
    places: items.map((item, i) => ({ x: slots[i].x, y: tops[layer[i]] + item.h / 2, layer: layer[i] })),
    edges: edges.map((e) => ({ from: e.from, to: e.to, far: e.far, via: e.via.map((s) => [s.x, s.y]) })),
    layers: layers.map((members) => members.filter((s) => s.item !== null).map((s) => s.item)),
    width: Math.max(1, ...slots.map((s) => s.x + s.w / 2)),
    height: Math.max(1, y - GAP_Y),
  };
}

function layersOf(items) {
  const layer = new Array(items.length).fill(0), readers = items.map(() => []);
  items.forEach((item, i) => {
    for (const p of item.from) {
      layer[i] = Math.max(layer[i], layer[p] + 1);
      readers[p].push(i);
    }
  });
  // What has much room goes down to its readers, where that makes no line longer but those that many share.
  const free = [];
  items.forEach((item, i) => (free[i] = item.from.every((p) => free[p] || readers[p].length > 1)));
  for (let i = items.length - 1; i >= 0; i--) {
    if (!readers[i].length || !free[i]) continue;
    const lowest = Math.min(...readers[i].map((r) => layer[r])) - 1;
    if (!items[i].from.length || lowest - layer[i] > ROOM) layer[i] = Math.max(layer[i], lowest);
  }
  return layer;
}

// The edges, with a chain of invisible slots for each item that is read further down, which its readers share.
function joined(items, layer, slots) {
  const chains = items.map(() => []);
  const edges = [];
  items.forEach((item, i) => {
    for (const p of new Set(item.from)) {
      const span = layer[i] - layer[p];
      const edge = { from: p, to: i, far: span > FAR, via: [] };
      edges.push(edge);
      if (edge.far) continue;
      const chain = chains[p];
      let last = chain.length ? chain[chain.length - 1] : slots[p];
      while (chain.length < span - 1) {
        const slot = { item: null, w: 6, layer: last.layer + 1, up: [last], down: [], x: 0, weight: 4 };
        last.down.push(slot);
        slots.push(slot);
        chain.push(slot);
        last = slot;
      }
      edge.via = chain.slice(0, span - 1);
      const above = span > 1 ? chain[span - 2] : slots[p];
      above.down.push(slots[i]);
      slots[i].up.push(above);
    }
  });
  return edges;
}

function ordered(layers) {
  const number = (members) => members.forEach((s, i) => (s.at = i));
  layers.forEach(number);
  const sweep = (members, side) => {
    members.forEach((s) => {
      const near = s[side];
      s.key = near.length ? near.reduce((sum, o) => sum + o.at, 0) / near.length : s.at;
    });
    members.sort((a, b) => a.key - b.key || a.at - b.at);
    number(members);
  };
  let best = layers.map((m) => [...m]), fewest = crossings(layers);
  for (let k = 0; k < SWEEPS && fewest; k++) {
    if (k % 2 === 0) for (let i = 1; i < layers.length; i++) sweep(layers[i], 'up');
    else for (let i = layers.length - 2; i >= 0; i--) sweep(layers[i], 'down');
    const now = crossings(layers);
    if (now < fewest) [best, fewest] = [layers.map((m) => [...m]), now];
  }
  best.forEach((members, i) => {
    layers[i] = members;
    number(members);
  });
}

// The crossings between all neighbouring layers, counted in a tree of sums (Barth, Mutzel and Jünger, 2004).
function crossings(layers) {
  let total = 0;
  for (let i = 0; i + 1 < layers.length; i++) {
    let size = 1;
    while (size < layers[i + 1].length) size *= 2;
    const tree = new Int32Array(2 * size);
    for (const s of layers[i]) {
      for (const at of s.down.map((d) => d.at).sort((a, b) => a - b)) {
        let at2 = at + size;
        tree[at2]++;
        while (at2 > 1) {
          if (at2 % 2 === 0) total += tree[at2 + 1];
          at2 >>= 1;
          tree[at2]++;
        }
      }
    }
  }
  return total;
}

function placed(layers) {
  layers.forEach((members) => {
    let x = 0;
    members.forEach((s) => {
      s.x = x + s.w / 2;
      x += s.w + GAP_X;
    });
  });
  const mean = (s, near) => {
    let sum = 0, weight = 0;
    for (const o of near) {
      const w = pull(s, o);
      sum += w * o.x;
      weight += w;
    }
    return sum / weight;
  };
  for (let k = 0; k < PLACINGS; k++) {
    const down = k % 2 === 0;
    for (let i = 0; i < layers.length; i++) {
      const members = layers[down ? i : layers.length - 1 - i];
      const wanted = members.map((s) => {
        const near = k >= PLACINGS - 4 ? [...s.up, ...s.down] : down ? s.up : s.down;
        return near.length ? mean(s, near) : s.x;
      });
      spread(members, wanted);
    }
  }
  // At the end from above once more, so that what has one line from above hangs straight below it.
  layers.forEach((members) => spread(members, members.map((s) => (s.up.length ? mean(s, s.up) : s.x))));
}

// How strongly two neighbours hold each other: lines over several layers, and chains, are to be straight.
function pull(a, b) {
  if (a.item === null && b.item === null) return 8;
  const [above, below] = a.layer < b.layer ? [a, b] : [b, a];
  if (above.down.length === 1 && below.up.length === 1) return 6;
  return a.item === null || b.item === null ? 2 : 1;
}

// The places nearest to the wanted ones that keep order and distances: blocks that would overlap are pooled.
function spread(members, wanted) {
  const blocks = [];
  let offset = 0;
  members.forEach((s, i) => {
    if (i) offset += (members[i - 1].w + s.w) / 2 + GAP_X;
    s.shift = offset;
    let block = { weight: s.weight, sum: s.weight * (wanted[i] - offset), first: i };
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight >= block.sum / block.weight) {
      const before = blocks.pop();
      block = { weight: before.weight + block.weight, sum: before.sum + block.sum, first: before.first };
    }
    blocks.push(block);
  });
  blocks.forEach((block, b) => {
    const end = b + 1 < blocks.length ? blocks[b + 1].first : members.length;
    for (let i = block.first; i < end; i++) members[i].x = block.sum / block.weight + members[i].shift;
  });
}
