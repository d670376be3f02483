"""The command line of ``python -m perf``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from .compare import Verdict
from .measure import _BLAS_OVERRIDES
from .suites import SUITES

__all__ = ["main"]

_FIGURES = ("startup", "calls", "chain", "memory", "compiling", "onnx", "ahead")
DONE, REGRESSION, ERROR = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and do what it says; returns the exit status: 0, 1 for a regression, 2 for an error."""
    options = _parser().parse_args(arguments)
    for name in _BLAS_OVERRIDES:
        if name in os.environ:
            print(f"note: {name} slows NumPy's BLAS; measured processes run without it", file=sys.stderr)
    try:
        return int(options.function(options))
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if "traceback" in os.environ.get("BASALT_DEBUG", "").split(","):
            raise
        print(f"error: {error}", file=sys.stderr)
        return ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m perf", description="Measure Basalt.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure suites against other libraries, all in turns in one run")
    _measuring(run)
    run.add_argument("--against", type=_names, metavar="NAMES", help="contenders, such as ort,openvino,numpy,torch")
    run.add_argument("--output", type=Path, metavar="FILE", help="write the results to a JSON file")
    run.set_defaults(function=_run)
    compare = commands.add_parser("compare", help="measure an earlier commit beside this tree; status 1: a regression")
    compare.add_argument("base", metavar="BASE", help="a commit, tag or branch")
    _measuring(compare)
    compare.add_argument("--launches", type=int, default=3, metavar="N", help="how often processes are started anew")
    compare.add_argument("--margin", type=float, default=0.02, metavar="SHARE", help="slower by so little is no matter")
    compare.add_argument("--work", type=Path, metavar="FOLDER", help="keep compiled kernels there for the next time")
    compare.add_argument("--output", type=Path, metavar="FILE", help="write the results to a JSON file")
    compare.set_defaults(function=_compare)
    report = commands.add_parser("report", help="result files as a page of HTML, or as tables of Markdown")
    report.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="result files, or folders of them")
    report.add_argument("--output", type=Path, metavar="FILE", help="where to write  [default: report.html; or stdout]")
    report.add_argument("--markdown", action="store_true", help="tables of the newest results instead of a page")
    report.set_defaults(function=_report)
    figures = commands.add_parser(
        "figures", help="the core's figures: start-up, calls, a fused chain, memory, compiling, ONNX models"
    )
    figures.add_argument(
        "names", nargs="*", choices=[[], *_FIGURES], help=f"which of {', '.join(_FIGURES)}; all if none"
    )
    figures.set_defaults(function=_figures)
    return parser


def _measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", type=_names, metavar="NAMES", help=f"of {', '.join(SUITES)}; all by default")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="cases whose name matches")
    parser.add_argument("--threads", type=_counts, default=[1, 2], metavar="1,2", help="numbers of threads")
    parser.add_argument("--rounds", type=int, metavar="N", help="turns of each contender")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="at most about so long for a case")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cases, few rounds: to try it out")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="of .onnx files, for the suite 'models'")
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="cpu: count the time that a process computes, at one thread only, where neighbours disturb too much",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the order of turns")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _counts(text: str) -> list[int]:
    counts = [int(part) for part in text.split(",")]
    if not counts or min(counts) < 1:
        raise ValueError(text)
    return counts


def _run(options: argparse.Namespace) -> int:
    from .lines import line
    from .peers import MODULES, OURS
    from .results import save
    from .run import failures, run
    from .suites import load_suite

    suites = _suites(options)
    cases = _cases(options, suites)
    peers = options.against or list(dict.fromkeys(peer for suite in suites for peer in load_suite(suite).PEERS))
    unknown = [peer for peer in peers if peer not in MODULES]
    if unknown:
        raise ValueError(f"--against: there is no contender {unknown[0]!r}; they are {', '.join(MODULES)}")
    if options.against and "sklearn" in suites:
        peers = ["basalt-f32", *peers]
    results = run(
        cases,
        peers,
        options.threads,
        _settings(options),
        lambda case: print(line(case), flush=True),
        peaks="kernels" in suites and not options.quick,
    )
    if options.output:
        save(results, options.output)
    wrong = failures(results.cases, OURS)
    for text in wrong:
        print(f"error: {text}", file=sys.stderr)
    return ERROR if wrong else DONE


def _compare(options: argparse.Namespace) -> int:
    from .compare import compare
    from .lines import line, verdict_line
    from .results import save

    options.suite = options.suite or ["kernels"]
    cases = _cases(options, _suites(options))
    settings = replace(_settings(options), launches=options.launches)
    names = ["basalt", "basalt-f32"] if "sklearn" in options.suite else ["basalt"]
    results, found = compare(
        options.base,
        cases,
        options.threads,
        settings,
        lambda case: print(line(case), flush=True),
        names,
        options.work,
        options.margin,
    )
    if options.output:
        save(results, options.output)
    print(f"\n{results.commits['new']} against {results.commits['base']} (time / time there; above 1 is slower)")
    for verdict in found:
        print(verdict_line(verdict))
    return comparison_status(found)


def comparison_status(found: Sequence[Verdict]) -> int:
    """What the process's status says of verdicts: a case that is lost is an error, before any regression."""
    words = {verdict.word for verdict in found}
    return ERROR if "gone" in words or not words - {"none"} else REGRESSION if "regression" in words else DONE


def _report(options: argparse.Namespace) -> int:
    from .report import collect, latest_of

    found = collect(options.results)
    if options.markdown:
        from .report.markdown import markdown

        text = "\n".join(markdown(results) for results in latest_of(found))
        if options.output:
            options.output.write_text(text)
        else:
            print(text, end="")
        return DONE
    from .report.page import page

    target = options.output or Path("report.html")
    target.write_text(page(found))
    print(target)
    return DONE


def _suites(options: argparse.Namespace) -> list[str]:
    from .suites import load_suite

    suites = options.suite or list(SUITES)
    for name in suites:
        load_suite(name)
    return suites


def _cases(options: argparse.Namespace, suites: list[str]) -> list:
    from .run import chosen_cases
    from .suites import Options

    cases = chosen_cases(suites, options.only, Options(options.quick, options.models))
    if not cases:
        raise ValueError(f"no case of {', '.join(suites)} matches {', '.join(options.only) or 'anything'}")
    return cases


def _settings(options: argparse.Namespace):
    from .contest import Settings

    if options.clock == "cpu" and options.threads != [1]:
        raise ValueError("--clock cpu needs --threads 1: CPU time tells nothing about how threads share work")
    settings = Settings(seed=options.seed, clock=options.clock)
    if options.quick:
        settings = replace(settings, rounds=7, turn=0.005, budget=10.0)
    given = {name: getattr(options, name) for name in ("rounds", "budget") if getattr(options, name) is not None}
    return replace(settings, **given)


def _figures(options: argparse.Namespace) -> int:
    for name in options.names or _FIGURES:
        for figure in importlib.import_module(f".figures.{name}", __package__).measure():
            mark = {True: "met", False: "MISSED", None: ""}[figure.met]
            aim = f"aim {figure.aim}" if figure.aim else ""
            print(f"{figure.name:<62} {figure.value:<46} {aim:<12} {mark}".rstrip(), flush=True)
    return DONE
