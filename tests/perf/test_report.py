"""The page and the tables made of result files."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perf.commands import main
from perf.report import collect, latest_of
from perf.report.markdown import markdown
from perf.report.page import page
from perf.report.ratios import means, ratio_plot
from perf.report.roofline import achieved
from perf.report.svg import Axis
from perf.results import Results, ResultsError, load, save

from . import samples

RECORDED = Path(__file__).with_name("recorded.json")
"""What ``perf run`` wrote for three kernels at 1 and 2 threads."""
VOID = {"meta", "br"}


class Checker(HTMLParser):
    """Notes elements that are not closed, and references to anything outside of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.faults += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def checked(html: str) -> Checker:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.faults == [] and checker.open == []
    assert "http" not in html and "url(" not in html and "<script" not in html
    return checker


def drawings(html: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def two_runs() -> list[Results]:
    first = samples.results([*samples.kernels(1, 2.0), *samples.kernels(2, 2.0)], commit="aaaaaaaaaaaa", day=1)
    second = samples.results([*samples.kernels(1), *samples.kernels(2)], commit="bbbbbbbbbbbb", day=2)
    return [first, second]


def test_the_page_needs_nothing_else() -> None:
    html = page(two_runs())
    words = " ".join(checked(html).words)
    for expected in ("A <fast> processor", "onnxruntime 1.2.3", "bbbbbbbbbbbb", "gemm/a<b", "History"):
        assert expected in words
    # Ratios and roofline at each number of threads, and a history of each.
    assert len(drawings(html)) == 6


def test_a_page_of_what_was_recorded() -> None:
    recorded = load(RECORDED)
    html = page([recorded])
    words = " ".join(checked(html).words)
    for case in recorded.cases:
        assert case.case in words
    assert len(drawings(html)) >= 3
    assert "History" not in words, "one run has none"


def test_marks_lie_where_the_numbers_say() -> None:
    cases = samples.kernels(1)[:2]
    drawing = ElementTree.fromstring(ratio_plot(cases, "ratios"))
    even = next(e for e in drawing.iter("line") if e.get("class") == "even")
    dots = [e for e in drawing.iter("circle") if "[" in (e.findtext("title") or "")]
    assert len(dots) == 2
    faster, slower = sorted(dots, key=lambda dot: -float(dot.get("cx", 0)))
    assert float(slower.get("cx", 0)) < float(even.get("x1", 0)) < float(faster.get("cx", 0))
    assert (faster.findtext("title") or "").startswith("gemm/a<b: ort 2.0")


def test_nothing_is_drawn_without_peers() -> None:
    assert ratio_plot([samples.kernels(1)[2]], "ratios") == ""


def test_cells_of_what_was_not_measured() -> None:
    html = page([samples.results(samples.kernels(1))])
    assert '<td class="lost" title="y: error 0.5 of the scale">wrong</td>' in html
    assert html.count("<td></td>") == 1


def test_shares_of_the_limit() -> None:
    peaks = samples.results([]).peaks["1"]
    gemm, _, softmax, whole = (achieved(case, peaks) for case in samples.kernels(1))
    assert gemm is not None and softmax is not None and whole is not None
    # 1e9 FLOPs at 2e11 a second are half of 10 ms; 2 MB from memory at 2e10 a tenth of 1 ms.
    assert (gemm.limit, gemm.share) == ("float32", pytest.approx(0.5, rel=0.05))
    assert (softmax.limit, softmax.share) == ("memory", pytest.approx(0.1, rel=0.05))
    assert (whole.limit, whole.share) == ("int8", pytest.approx(0.625, rel=0.05))
    assert achieved(samples.kernels(1)[0], {}) is None


def test_means_are_geometric() -> None:
    mean, count = means(samples.kernels(1))["ort"]
    assert mean == pytest.approx(1.0, rel=0.05) and count == 2


def test_tables_of_markdown() -> None:
    text = markdown(samples.results([*samples.kernels(1), *samples.kernels(2)]))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == (
        "| case | basalt 1T | ort 1T (ratio) | of the limit 1T | basalt 2T | ort 2T (ratio) | of the limit 2T |"
    )
    assert len({row.count("|") for row in rows}) == 1
    assert re.match(
        r"\| gemm/a<b \| (9\.\d+|10(\.\d)?) ms \| (19|20)(\.\d)? ms \((1\.9|2\.0)\d\) \| (4|5)\d% float32 ", rows[2]
    )
    assert "Geometric means at 2 thread(s), and of how many cases: ort 1.0" in text or "ort 0.9" in text


def test_axes() -> None:
    axis = Axis.around([0.5, 8.0], 100, 500)
    assert 100 < axis.at(0.5) < axis.at(1.0) < axis.at(8.0) < 500
    assert axis.ticks() == [0.5, 1.0, 2.0, 5.0]
    assert axis.at(1e9) == 500


def test_the_command_writes_a_page_and_prints_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for i, results in enumerate(two_runs()):
        save(results, tmp_path / f"{i}.json")
    (tmp_path / "other.json").write_text("{}")
    target = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "--output", str(target)]) == 0
    checked(target.read_text())
    capsys.readouterr()
    assert main(["report", str(tmp_path), "--markdown"]) == 0
    out = capsys.readouterr().out
    assert "bbbbbbbbbbbb" in out and "aaaaaaaaaaaa" not in out, "the newest run"
    assert main(["report", str(tmp_path / "other.json")]) == 2
    assert "schema" in capsys.readouterr().err


def test_what_is_newest_is_shown_by_suite() -> None:
    first, second = two_runs()
    second.cases = [case for case in second.cases if case.case == "conv/c"]
    for case in first.cases:
        case.suite = "models"
    assert latest_of([first, second]) == [first, second]


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no result files"):
        collect([tmp_path])
