// The kernels: generated source beside the assembly that LLVM makes of it.

const PYTHON = /(#.*$)|\b(def|for|in|range|if|else|return|while|pass|and|or|not|break|continue)\b|\b(\d[\w.]*)\b/g;
const REGISTER = /(%?[xyz]mm\d+|%k[0-7]\b)|(%[a-z][a-z0-9]*)|(\$-?[\w.]+)/g;
const VECTOR = /^v?(f(n?m)(add|sub)\w*|add|sub|mul|div|max|min|sqrt|fma)\w*p[sdh]\b|^vp(mul|madd|dp|add|sub|max|min)\w*|^(fmla|fmul|fadd|sdot|udot)\b/;

async function unpacked(code) {
  const packed = Uint8Array.from(atob(code), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

class KernelsView {
  constructor(app, region) {
    Object.assign(this, { app, region, number: null, code: new Map() });
    const order = region.kernels.map((_, i) => ({ i, us: region.callsOf[i].reduce((t, r) => t + (Number(region.rows[r].us) || 0), 0) })).sort((a, b) => b.us - a.us);
    this.entries = order.map(({ i, us }) => el('tr', { class: 'go', tabindex: 0, 'data-kernel': i, onclick: () => this.choose(i), onkeydown: (e) => this.keyedAt(e, i) },
      num(i), el('td', null, line(region.kernels[i].label, 70)), num(`${region.callsOf[i].length}×`), num(region.time ? `${((100 * us) / region.time).toFixed(1)}%` : '')));
    this.about = el('div', { class: 'about' });
    this.source = el('pre', { tabindex: 0, 'aria-label': 'Generated source' });
    this.assembly = el('pre', { tabindex: 0, 'aria-label': 'Assembly', class: 'hide-directives' });
    const directives = el('input', { type: 'checkbox' });
    directives.addEventListener('change', () => this.assembly.classList.toggle('hide-directives', !directives.checked));
    const pane = (title, pre, ...tools) => el('div', { class: 'pane' }, el('div', null, el('h3', null, title), ...tools, button('Copy', () => navigator.clipboard?.writeText(pre.dataset.text || ''), { class: 'link' })), pre);
    this.element = el('section', { class: 'split' },
      el('div', { class: 'kernels' }, el('h2', null, 'Kernels'), el('p', { class: 'note' }, 'By their share of the estimated time.'),
        table(['#', 'kernel', el('th', { class: 'n' }, 'calls'), el('th', { class: 'n' }, 'time')], this.entries)),
      el('div', { class: 'code' }, this.about, el('div', { class: 'panes' }, pane('Source', this.source),
        pane('Assembly', this.assembly, link('Next inner loop', () => this.nextLoop()), el('label', { class: 'note' }, directives, ' directives')))));
    this.first = order.length ? order[0].i : null;
  }

  keyedAt(event, i) {
    const next = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
    if (event.key === 'Enter') this.choose(i);
    else if (next && event.currentTarget[next]) event.currentTarget[next].focus(), event.preventDefault();
  }

  async choose(i) {
    const { region } = this, kernel = region.kernels[i];
    this.number = i;
    this.loop = -1;
    this.entries.forEach((e) => e.classList.toggle('chosen', Number(e.dataset.kernel) === i));
    const calls = region.callsOf[i];
    this.about.replaceChildren(el('h2', null, `${i}: ${line(kernel.label, 300)}`), el('div', { class: 'note' }, `called by ${calls.length === 1 ? 'row' : 'rows'} `, rowLinks(this.app, calls, 30)));
    this.app.remember('kernels', { kernel: i });
    if (!this.code.has(i)) {
      try {
        this.code.set(i, await unpacked(kernel.code));
      } catch (error) {
        this.about.append(el('p', { class: 'minus' }, `This browser cannot unpack the code: ${error.message}`));
        return;
      }
    }
    if (this.number !== i) return;
    const [source, assembly] = this.code.get(i);
    const read = asm(assembly);
    this.about.append(el('div', null, read.summary.map(([words, n]) => el('span', { class: 'chip' }, `${words} ${whole(n)}`))));
    this.fill(this.source, source, source.replace(/\n$/, '').split('\n').map(pythonLine));
    this.fill(this.assembly, assembly, read.lines);
  }

  fill(pre, text, lines) {
    pre.dataset.text = text;
    pre.replaceChildren(...lines.map((l, k) => {
      l.dataset.n = k + 1;
      return l;
    }));
    pre.scrollTop = 0;
    this.element.querySelectorAll('pre')[1] === pre && pre.querySelector('.t')?.scrollIntoView({ block: 'start' });
  }

  nextLoop() {
    const loops = [...this.assembly.querySelectorAll('.inner')];
    if (!loops.length) return;
    this.loop = ((this.loop ?? -1) + 1) % loops.length;
    loops[this.loop].scrollIntoView({ block: 'start' });
  }

  show({ kernel }) {
    const wanted = kernel !== undefined && this.region.kernels[kernel] ? kernel : this.number ?? this.first;
    if (wanted !== null && wanted !== this.number) this.choose(wanted);
  }
}

// The text in pieces: what a pattern's groups match in spans of the classes of these groups.
function coloured(text, pattern, classes) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const group = match.slice(1).findIndex((g) => g !== undefined);
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(el('span', { class: classes[group] }, match[0]));
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return parts;
}

function pythonLine(text) {
  return el('span', { class: /^\s*for /.test(text) ? 'l loop' : 'l' }, coloured(text, PYTHON, ['c', 'k', 'd']), '\n');
}

// Lines of assembly, and how often what matters stands there.
function asm(text) {
  const count = { instructions: 0, 'vector arithmetic': 0, loops: 0, 'spills and reloads': 0, calls: 0 };
  const lines = text.replace(/\n$/, '').split('\n').map((words) => {
    const cut = words.search(/(^|\s)#|\/\/|;\s/), code = cut < 0 ? words : words.slice(0, cut), comment = cut < 0 ? '' : words.slice(cut);
    const [, space, word = '', rest] = code.match(/^(\s*)(\S*)([\s\S]*)$/);
    const label = /^[^\s.][^\s]*:$|^\.L\S+:$/.test(word), directive = !label && word.startsWith('.');
    const classes = ['l'];
    if (/=>\s*This.*Loop Header/.test(comment)) {
      classes.push('loop');
      if (/Inner Loop/.test(comment)) classes.push('inner');
      count.loops++;
    }
    if (/Spill|Reload/.test(comment)) classes.push('spill'), count['spills and reloads']++;
    if (directive) classes.push('directive');
    if (word && !label && !directive) {
      count.instructions++;
      if (VECTOR.test(word)) count['vector arithmetic']++;
      if (/^(call|bl$|blr$)/.test(word)) count.calls++;
    }
    const kind = label ? 't' : VECTOR.test(word) ? 'v' : 'k';
    return el('span', { class: classes.join(' ') }, space, directive ? word : el('span', { class: kind }, word), coloured(rest, REGISTER, ['r', 'r', 'd']),
      comment ? el('span', { class: 'c' }, comment) : '', '\n');
  });
  return { lines, summary: Object.entries(count) };
}
