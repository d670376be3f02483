"""The page in a browser: everything it offers is opened, with pointer and keys, and nothing complains."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import basalt

from ...browser import Browser, chromium

PROGRAM = chromium()
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium here (apt-get install chromium)")
BAD = '</script><img src=x onerror="window.hurt = 1"><b>'
VIEWS = ("overview", "graph", "nodes", "rows", "memory", "kernels")
DARK, LIGHT = "rgb(18, 22, 28)", "rgb(255, 255, 255)"

Opened = Callable[..., Browser]


def network() -> basalt.MLGraph:
    """A small network with every kind of node, an odd label, and a normalisation that passes take apart."""
    rng = np.random.default_rng(0)
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("image", "float32", (1, 3, 16, 16))
    weights = b.constant(rng.normal(size=(8, 3, 3, 3)).astype(np.float32))
    y = b.conv2d(x, weights, padding=[1, 1, 1, 1], label="stem/conv")
    mean, variance = (b.constant(np.full(8, v, np.float32)) for v in (0.5, 2.0))
    y = b.relu(b.batch_normalization(y, mean, variance, label="stem/norm"), label="stem/act")
    side = b.conv2d(y, b.constant(rng.normal(size=(8, 8, 1, 1)).astype(np.float32)), label=BAD)
    y = b.add(b.sigmoid(side, label="gate"), y, label="join")
    y = b.reshape(y, [8, 256], label="flat")
    y = b.softmax(b.matmul(y, b.constant(rng.normal(size=(256, 10)).astype(np.float32)), label="head"), 1, label="soft")
    return b.build({"scores": y, "sums": b.reduce_sum(y, axes=[1], label="total")})


def large(nodes: int) -> basalt.MLGraph:
    """Many blocks with a detour each, whose kernels are alike, and a value that blocks far away read."""
    b = basalt.MLGraphBuilder(basalt.MLContext())
    first = x = b.input("x", "float32", (4, 4))
    weights = b.constant(np.eye(4, dtype=np.float32))
    for i in range(nodes // 5):
        y = b.matmul(x, weights, label=f"block{i}/dense")
        y = b.transpose(y, permutation=[1, 0], label=f"block{i}/turn")
        y = b.softmax(y, 1, label=f"block{i}/soft")
        x = b.add(y, first if i % 50 == 0 else x, label=f"block{i}/join")
        x = b.reshape(x, [4, 4], label=f"block{i}/shape")
    return b.build({"y": x})


class Pages:
    """Pages by name, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> Path:
        path = self.folder / f"{name}.html"
        if not path.exists():
            path.write_text((network() if name == "network" else large(2000)).html(), encoding="utf-8")
        return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert PROGRAM is not None
    with Browser(PROGRAM, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def opened(browser: Browser, pages: Pages) -> Iterator[Opened]:
    """Opens a page; after the test nothing may have complained, or been asked for from elsewhere."""

    def open_page(name: str = "network", dark: bool = False) -> Browser:
        browser.errors.clear()
        browser.requests.clear()
        browser.open(pages[name], dark)
        return browser

    yield open_page
    assert browser.errors == []
    assert [request for request in browser.requests if not request.startswith("file:")] == []
    assert browser.run("window.hurt") is None


def settle(browser: Browser) -> None:
    """Let the page draw."""
    browser.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)))")


def marked(browser: Browser, kind: str) -> list[str]:
    """The keys of the drawn nodes of a class."""
    return list(browser.run(f"[...document.querySelectorAll('.graphs .node.{kind}')].map((n) => n.dataset.key)"))


def labels(browser: Browser) -> list[str]:
    """The labels of the nodes that are drawn."""
    return list(browser.run("[...document.querySelectorAll('.graphs .node title')].map((t) => t.textContent)"))


def test_every_view_opens(opened: Opened) -> None:
    browser = opened()
    for name in VIEWS:
        browser.click(f"#tab-{name}")
        settle(browser)
        assert browser.run("document.querySelector('[aria-selected=true]').id") == f"tab-{name}"
        assert browser.run("document.querySelector('main').innerText.length") > 40
    assert "image" in browser.run("(app.go('overview', {}), document.querySelector('main').innerText)")


def test_every_pass_can_be_chosen(opened: Opened) -> None:
    browser = opened()
    browser.click("#tab-graph")
    stages = browser.run("app.region.stages.map((s) => ({name: s.name, nodes: s.nodes.length}))")
    for stage in stages:
        browser.click(f'.passes [data-pass="{stage["name"]}"]')
        settle(browser)
        assert browser.run("document.querySelector('.passes [aria-current=true]').dataset.pass") == stage["name"]
        browser.run("app.views[0].graph.after.fit()")
        settle(browser)
        assert browser.run("document.querySelectorAll('.graphs .node:not(.terminal)').length") == stage["nodes"], stage


def test_changes_are_marked_on_both_sides(opened: Opened) -> None:
    browser = opened()
    browser.run("app.go('graph', {stage: app.region.final})")
    browser.click('.segments [data-value="both"]')
    settle(browser)
    browser.run("(app.views[0].graph.before.fit(), app.views[0].graph.after.fit())")
    settle(browser)
    counts = [len(marked(browser, kind)) for kind in ("removed", "added", "changed")]
    stage = browser.run("app.region.stages.at(-1)")
    assert counts == [len(stage["removed"]), len(stage["added"]), 2 * len(stage["changed"])]
    assert counts[0] and counts[1]
    browser.run("app.views[0].graph.nextChange(1)")
    settle(browser)
    assert browser.run("!document.querySelector('aside').hidden")


def test_a_click_on_a_node_shows_its_shapes(opened: Opened) -> None:
    browser = opened()
    browser.run("app.go('graph', {stage: 0})")
    settle(browser)
    find = "[...document.querySelectorAll('.node')].find((n) => n.textContent.includes('stem/conv'))"
    key = browser.run(f"{find}.dataset.key")
    browser.click(f'.node[data-key="{key}"]')
    settle(browser)
    shown = browser.run("document.querySelector('aside').innerText")
    shapes = ("float32[1, 3, 16, 16]", "float32[8, 3, 3, 3]", "float32[1, 8, 16, 16]")
    for text in ("conv2d", "stem/conv", "padding", *shapes):
        assert text in shown
    assert browser.run(f"document.querySelector('.node[data-key={key}]').classList.contains('chosen')")
    assert f"key={key}" in browser.run("location.hash")
    browser.press("Escape", 27)
    assert browser.run("document.querySelector('aside').hidden")


def test_fused_nodes_show_what_is_inside_and_where_it_runs(opened: Opened) -> None:
    browser = opened()
    browser.run("app.go('graph', {stage: app.region.final})")
    fused = browser.run("app.region.stages.at(-1).nodes.find((n) => app.region.nodes[n].op === 'fused')")
    browser.run(f"app.go('graph', {{stage: app.region.final, key: 'n{fused}'}})")
    settle(browser)
    inside = browser.run(f"app.region.nodes[{fused}].body.length")
    assert browser.run("document.querySelectorAll('aside .graph .node:not(.terminal)').length") == inside > 1
    assert "Runs as" in browser.run("document.querySelector('aside').innerText")
    browser.run("[...document.querySelectorAll('aside table')].at(-1).querySelector('.link').click()")
    settle(browser)
    assert browser.run("location.hash").startswith("#0/rows/row=")


def test_markup_in_labels_is_text(opened: Opened) -> None:
    browser = opened()
    for name in VIEWS:
        browser.run(f"app.go('{name}', {{}})")
        settle(browser)
        assert browser.run("document.images.length + document.querySelectorAll('main b img, main script').length") == 0
    browser.run("app.go('nodes', {})")
    assert BAD in browser.run("document.querySelector('main').innerText")
    browser.run("app.go('graph', {stage: 0})")
    settle(browser)
    assert any(BAD in text for text in labels(browser))
    assert browser.run("document.scripts.length") == 2


def test_search_finds_labels_operators_and_shapes(opened: Opened) -> None:
    browser = opened()
    browser.run("app.go('graph', {stage: 0})")
    browser.press("/", 191, "/")
    assert browser.run("document.activeElement.id") == "find"
    for words, found in (("stem/act", 1), ("CONV2D", 2), ("[8, 256]", 2), ("no such thing", 0), (BAD, 1)):
        browser.run("document.getElementById('find').select()")
        browser.type(words)
        settle(browser)
        shown = browser.run("document.querySelector('.find output').textContent")
        assert shown == (f"1 of {found}" if found else "0 found"), words
        assert browser.run("document.querySelectorAll('.node.hit').length") == found
    assert browser.run("document.querySelector('.node.chosen title').textContent").count(BAD) == 1


def test_keys_do_what_the_pointer_does(opened: Opened) -> None:
    browser = opened()
    browser.press("2", 50, "2")
    assert browser.run("app.view") == "graph"
    last = browser.run("app.views[0].graph.stage")
    browser.press("[", 219, "[")
    assert browser.run("app.views[0].graph.stage") == last - 1
    browser.run("document.querySelector('.graphs .graph').focus()")
    walked = []
    for _ in range(4):
        browser.press("ArrowDown", 40)
        walked.append(browser.run("app.views[0].graph.after.key"))
    assert walked[0] == "i0" and len(set(walked)) == 4
    browser.press("ArrowUp", 38)
    assert browser.run("app.views[0].graph.after.key") == walked[2]
    browser.press("Enter", 13, "\r")
    assert browser.run("document.activeElement.tagName") == "ASIDE"
    scale = browser.run("app.views[0].graph.after.scale")
    browser.run("document.querySelector('.graphs .graph').focus()")
    browser.press("+", 187, "+")
    assert browser.run("app.views[0].graph.after.scale") > scale
    browser.press("?", 191, "?")
    assert browser.run("document.querySelector('dialog').open")
    browser.press("Escape", 27)
    browser.run("document.getElementById('tab-graph').focus()")
    browser.press("ArrowRight", 39)
    assert browser.run("[app.view, document.activeElement.id]") == ["nodes", "tab-nodes"]


def test_every_control_has_a_name_and_can_be_reached(opened: Opened) -> None:
    browser = opened()
    for name in VIEWS:
        browser.run(f"app.go('{name}', {{}})")
        settle(browser)
        named = "(e) => e.textContent.trim() || e.ariaLabel || e.closest('label') || e.title"
        controls = "[...document.querySelectorAll('button, input, select')]"
        unnamed = browser.run(f"{controls}.filter((e) => !({named})(e)).map((e) => e.outerHTML)")
        assert unnamed == []


def test_the_picture_of_the_memory(opened: Opened) -> None:
    browser = opened()
    browser.click("#tab-memory")
    settle(browser)
    memory = browser.run("app.region.memory")
    read = "[Number(g.dataset.buffer), g.dataset.box.split(' ').map(Number)]"
    shown = dict(browser.run(f"[...document.querySelectorAll('.buffer')].map((g) => {read})"))
    wanted = {i: b for i, b in enumerate(memory["buffers"]) if b["at"] != "input"}
    assert shown.keys() == wanted.keys()
    order = sorted(wanted, key=lambda i: wanted[i]["first"])
    assert [shown[i][0] for i in order] == sorted(shown[i][0] for i in order)
    for i, b in wanted.items():
        assert shown[i][2] > 0 and shown[i][3] > 0
        if "over" in b and b["at"] == "arena":
            assert shown[i][1] == shown[b["over"]][1]
    assert "peak:" in browser.run("document.querySelector('.peaktext').textContent")
    assert browser.run("document.querySelectorAll('.joint').length") == sum("over" in b for b in memory["buffers"])
    browser.run("document.querySelector('.picture svg').focus()")
    browser.press("ArrowRight", 39)
    assert "size" in browser.run("document.querySelector('aside').innerText")
    width = browser.run("document.querySelector('.picture svg').clientWidth")
    browser.click('.icon[aria-label="Wider"]')
    assert browser.run("document.querySelector('.picture svg').clientWidth") > width


def test_rows_sort_and_filter(opened: Opened) -> None:
    browser = opened()
    browser.click("#tab-rows")
    read = "[...document.querySelectorAll('tbody tr[data-row]')].map((r) => Number(r.dataset.row))"
    times = browser.run("app.region.rows.map((r) => r.us)")
    assert browser.run(read) == list(range(len(times)))
    browser.run("[...document.querySelectorAll('th button')].find((b) => b.textContent === 'estimated').click()")
    assert [times[i] for i in browser.run(read)] == sorted(times, reverse=True)
    browser.press("/", 191, "/")
    browser.type("stem")
    kept = browser.run(read)
    assert kept and all("stem" in browser.run(f"app.region.rows[{i}].label") for i in kept)


def test_kernels_show_source_and_assembly(opened: Opened) -> None:
    browser = opened()
    browser.click("#tab-kernels")
    browser.wait_for("document.querySelectorAll('pre .l').length > 10")
    for i in range(browser.run("app.region.kernels.length")):
        browser.click(f'[data-kernel="{i}"]')
        title = "document.querySelector('.about h2').textContent"
        browser.wait_for(f"{title}.startsWith('{i}:') && document.querySelectorAll('.chip').length")
        source, assembly = browser.run("[...document.querySelectorAll('pre')].map((p) => p.dataset.text)")
        assert source.startswith("def kernel(table, start, stop):") and "basalt_kernel:" in assembly
        shown = browser.run("[...document.querySelectorAll('pre')].map((p) => p.textContent)")
        assert [text.rstrip("\n") for text in shown] == [source.rstrip("\n"), assembly.rstrip("\n")]


def test_themes(opened: Opened) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    browser = opened(dark=True)
    assert browser.run(background) == DARK
    for theme, wanted in (("light", LIGHT), ("dark", DARK), ("system", DARK)):
        chooser = "document.getElementById('theme')"
        browser.run(f"({chooser}.value = '{theme}', {chooser}.dispatchEvent(new Event('change')))")
        assert browser.run(background) == wanted
    assert opened(dark=False).run(background) == LIGHT


def test_an_address_leads_back(opened: Opened) -> None:
    browser = opened()
    browser.run("app.go('graph', {stage: 5})")
    browser.run("app.views[0].graph.nextChange(1)")
    for fragment in (
        "#0/graph/stage=2",
        "#0/kernels/kernel=1",
        "#0/nothing",
        "#9/rows/row=99999",
        "#%3Cb%3E/x/key=y",
        "#0/graph/stage=77/key=n0",
    ):
        browser.run(f"(location.hash = {json.dumps(fragment)}, new Promise((done) => setTimeout(done, 50)))")
        settle(browser)
        assert browser.run("document.querySelector('main').innerText.length") > 20
    assert browser.run("app.view") == "graph"


OVERLAPS = """(() => {
  const view = app.views[0].graph.after, bad = [];
  for (const layer of view.plan.layers) {
    const items = layer.map((i) => view.items[i]).sort((a, b) => a.x - b.x);
    for (let k = 1; k < items.length; k++) {
      if (items[k - 1].x + items[k - 1].w / 2 > items[k].x - items[k].w / 2) bad.push(items[k].key);
    }
  }
  for (const e of view.plan.edges) {
    const a = view.items[e.from], b = view.items[e.to];
    if (a.y + a.h / 2 >= b.y - b.h / 2) bad.push(`${a.key} ${b.key}`);
  }
  const {width, height} = view.plan;
  const ends = view.items.filter((i) => i.x - i.w / 2 < -1 || i.x + i.w / 2 > width + 1 || i.y + i.h / 2 > height + 1);
  return [bad, ends.length, view.items.length, view.plan.edges.length];
})()"""


@pytest.mark.parametrize("name", ["network", "large"])
def test_no_nodes_overlap_and_all_edges_lead_down(opened: Opened, name: str) -> None:
    browser = opened(name)
    for stage in (0, browser.run("app.region.final")):
        browser.run(f"app.go('graph', {{stage: {stage}}})")
        settle(browser)
        bad, outside, items, edges = browser.run(OVERLAPS)
        assert (bad, outside) == ([], 0)
        nodes = browser.run(f"app.region.stages[{stage}].nodes.length")
        assert items > nodes and edges >= nodes


def test_two_thousand_nodes_stay_usable(opened: Opened, pages: Pages) -> None:
    assert pages["large"].stat().st_size < 3_000_000
    browser = opened("large")
    browser.run("app.go('graph', {stage: 0})")
    settle(browser)
    assert browser.run("app.region.stages[0].nodes.length") == 2000
    assert browser.run("document.querySelectorAll('.graphs .node').length") < 200
    browser.run("document.getElementById('find').focus()")
    browser.type("block399/soft")
    settle(browser)
    assert "block399/soft" in browser.run("document.querySelector('.node.chosen title').textContent")
    browser.run("app.views[0].graph.after.fit()")
    settle(browser)
    assert browser.run("document.querySelectorAll('.graphs .node').length") == 2002
    for name in ("nodes", "rows", "memory", "overview"):
        browser.run(f"app.go('{name}', {{}})")
        settle(browser)
    browser.run("app.go('graph', {stage: app.region.final, mode: 'both'})")
    settle(browser)
    assert browser.run("document.querySelectorAll('.graphs .graph').length") == 2
