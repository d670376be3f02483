"""The page: well-formed, whole in itself, and safe whatever the model's names are."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tomllib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import basalt
from basalt.compiler.inspection.page import SCRIPTS, Heading, Section, data_of, page
from basalt.compiler.inspection.whole import graph_page
from basalt.compiler.kernels.target import compiling_for, target_named
from basalt.compiler.passes.specialise import specialise

from ..onnx.making import model, node, value

ROOT = Path(__file__).resolve().parents[3]
ASSETS = ROOT / "compiler" / "inspection" / "assets"
ODD = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- --><![CDATA[",
    "\"quoted\" 'twice' & &lt;",
    "line\nbreak\r\n\ttab \u2028 \u2029",
    "\u202eright to left \u0000 null",
    "漢字 😀 e\u0301",
    "x" * 5000,
    "%data% %script% \\u003c",
    "\ud800 alone",
)
VOID = {"meta", "link", "br", "img", "input"}


class Page(HTMLParser):
    """The elements of a page: tag, attributes, text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[int] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.elements[self.open[-1]][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attrs, "".join(texts)) for name, attrs, texts in self.elements if name == tag]

    @property
    def data(self) -> Any:
        ((_, text),) = [script for script in self.all("script") if script[0].get("id") == "data"]
        return json.loads(text)


def odd_graph() -> basalt.MLGraph:
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("<b>x</b>", "float32", ("</script>", 3))
    for label in ODD:
        x = b.exp(x, label=label)
    return b.build({"<y>": x})


def test_it_is_well_formed_and_needs_nothing_else() -> None:
    graph = odd_graph()
    text = graph.html({"<b>x</b>": (2, 3)})
    parsed = Page(text)
    assert parsed.open == []
    assert [attrs.get("type") for attrs, _ in parsed.all("script")] == ["application/json", None]
    for _, attrs, _ in parsed.elements:
        assert not {"src", "href", "srcset", "data", "action"} & attrs.keys()
        assert not any(name.startswith("on") for name in attrs)
    outside = set(re.findall(r"https?://[^\s'\"`)]+", text))
    assert outside == {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"@import|url\(.*?\)", text)) == {"url(#arrow)"}


def test_its_policy_allows_its_own_script_and_style_only() -> None:
    parsed = Page(odd_graph().html({"<b>x</b>": (2, 3)}))
    (policy,) = [a["content"] for a, _ in parsed.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None and policy.startswith("default-src 'none';") and "unsafe" not in policy
    for tag, texts in (("style", parsed.all("style")), ("script", parsed.all("script")[1:])):
        ((_, content),) = texts
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_odd_names_are_data_and_nothing_else() -> None:
    graph = odd_graph()
    # The builder escapes what does not print; other graphs hold it as it is.
    raw = graph.graph.with_nodes(replace(n, label=label) for n, label in zip(graph.graph.nodes, ODD, strict=True))
    raw = specialise(raw, {"</script>": 2})
    text = graph_page(raw, graph.constants, {"</script>": 2}, Heading(ODD[0]))
    text.encode()
    assert text.count("<script") == text.count("</script") == 2
    region = Page(text).data["sections"][0]["region"]
    nodes = [region["nodes"][n] for n in region["stages"][0]["nodes"]]
    assert [n["labels"] for n in nodes] == [[label] for label in ODD]
    assert region["values"][region["inputs"][0]]["name"] == "<b>x</b>"
    assert region["sizes"] == {"</script>": 2}
    assert region["stages"][0]["outputs"][0][0] == "<y>"


@pytest.mark.parametrize("title", ODD)
def test_odd_titles(title: str) -> None:
    parsed = Page(page(Heading(title, [(title, title)]), [Section(title, None, 0, title)]))
    ((_, shown),) = parsed.all("title")
    assert parsed.open == [] and len(parsed.all("script")) == 2
    clean = title.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    assert shown.replace("\r\n", "\n") == f"{clean} · Basalt" or "\u0000" in title
    assert parsed.data["facts"][0] == [title, title]
    assert parsed.data["sections"] == [{"title": title, "depth": 0, "note": title, "region": None}]


def test_the_data_hold_no_character_that_markup_is_made_of() -> None:
    text = data_of(Heading("<&>"), [])
    assert not set("<>&") & set(text) and text.isascii() and json.loads(text)["title"] == "<&>"


def test_the_page_is_the_same_whatever_ran_before() -> None:
    def without_times(text: str) -> str:
        return re.sub(r'"seconds":[-+.e0-9]+', "", text)

    first = odd_graph().html({"<b>x</b>": (2, 3)})
    odd_graph().run({"<b>x</b>": np.zeros((2, 3), np.float32)})
    assert without_times(odd_graph().html({"<b>x</b>": (2, 3)})) == without_times(first)


def test_it_shows_the_sizes_asked_for() -> None:
    region = Page(odd_graph().html({"<b>x</b>": (7, 3)})).data["sections"][0]["region"]
    assert region["values"][region["inputs"][0]]["shape"] == [7, 3]
    with pytest.raises(basalt.ValidationError):
        odd_graph().html()
    with pytest.raises(basalt.ValidationError):
        odd_graph().html({"<b>x</b>": (7, 4)})


def test_it_says_what_made_it() -> None:
    facts = dict(Page(odd_graph().html({"<b>x</b>": (2, 3)})).data["facts"])
    assert f"Basalt {basalt.__version__}" in facts["versions"]
    assert {"processor", "platform"} <= facts.keys()
    with compiling_for(target_named("x86-64-v2")):
        facts = dict(Page(page(Heading("m"), [])).data["facts"])
    assert facts["code is for"] == "x86-64-v2, with 16 vector registers of 128 bits"


def test_an_empty_program() -> None:
    b = basalt.MLGraphBuilder(basalt.MLContext())
    x = b.input("x", "float32", ("n", 3))
    region = Page(b.build({"y": b.relu(x)}).html({"x": (0, 3)})).data["sections"][0]["region"]
    assert region["rows"] == [] and region["memory"]["peak"] is None


def steps() -> basalt.OnnxExecutable:
    source = model(
        [
            node("Mul", "x x", "z", name="square"),
            node("NonZero", "z", "places", name="find <b>"),
            node("Add", "places places", "y", name="twice"),
        ],
        [value("x", shape=("n", 3))],
        [value("y", "int64", (2, None))],
    )
    return basalt.load(source.to_bytes(), eager_first_run=False)


def test_a_model_in_steps_has_a_section_for_each() -> None:
    executable = steps()
    executable.run({"x": np.ones((2, 3), np.float32)})
    sections = Page(executable.html()).data["sections"]
    assert [bool(s["region"]) for s in sections] == [True, False, True]
    assert "find <b>" in sections[1]["title"]
    first, last = sections[0]["region"], sections[2]["region"]
    assert first["values"][first["inputs"][0]]["shape"] == [2, 3]
    assert [n["op"] for n in (last["nodes"][i] for i in last["stages"][0]["nodes"])] == ["add"]
    assert last["values"][last["inputs"][0]]["shape"] == [2, 6]


def test_a_model_in_steps_that_has_not_run() -> None:
    sections = Page(steps().html()).data["sections"]
    assert sections[0]["region"] is None and "not compiled yet" in sections[0]["note"]


def test_every_asset_is_used_and_packaged() -> None:
    assert {path.name for path in ASSETS.iterdir()} == {*SCRIPTS, "page.html", "style.css"}
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    assert patterns["basalt.compiler.inspection"] == ["assets/*"]
    for path in ASSETS.iterdir():
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 600
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)
