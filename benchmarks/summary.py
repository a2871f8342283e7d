"""The README's tables of results, written from the JSON files of the full runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.figures import load, load_of_other_processors, quartiles, short, verdict
from committee.files.writing import write_file

README = Path(__file__).parent / "README.md"
ON_PAGES = {
    "docs/blend.md": "autogluon committee committee_losses committee_predict committee_time distil distil_default "
    "honesty prune",
    "docs/decisions.md": "settings settings_choosing",
    "docs/defaults.md": "defaults",
    "docs/gradient-boosting.md": "replay",
    "docs/papers/quadboost.md": "voter_sets",
    "docs/pruning.md": "pruning pruning_bytes pruning_choosing pruning_numbers pruning_speed pruning_tables "
    "pruning_tables_choosing",
    "docs/scale.md": "scale",
}
"""Benchmarks whose figures stand on pages of their own, some of them hundreds; `--summary` leaves them there."""
HEADINGS = ("work", "against", "target", "median", "quartiles", "by wall time", "quality, ours / theirs", "met")
BEGIN, END = "<!-- summary: begin -->", "<!-- summary: end -->"


def write_summary() -> None:
    """Put the results of the full runs between the README's markers."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    elsewhere = {name for names in ON_PAGES.values() for name in names.split()}
    documents = [document for document in load() if document["benchmark"] not in elsewhere]
    others = [document for document in load_of_other_processors() if document["benchmark"] not in elsewhere]
    pages = ", ".join(f"[{page}](../{page})" for page in ON_PAGES)
    told = f"The figures of {', '.join(f'`{name}`' for name in sorted(elsewhere))} stand on {pages}."
    write_file(README, f"{before}{BEGIN}\n{told}\n\n{summary(documents)}\n{on_others(others)}{END}{after}")


def summary(documents: list[dict[str, Any]]) -> str:
    """The machines, and one line for every figure, as Markdown."""
    if not documents:
        return "No full run has been kept yet."
    machines: dict[str, list[str]] = {}
    for document in documents:
        machines.setdefault(_machine(document["machine"]), []).append(document["benchmark"])
    lines = [f"{' '.join(names)}: {machine}.\n" for machine, names in machines.items()]
    lines += [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    lines += [_row(figure) for document in documents for figure in document["figures"]]
    lines += [f"\n`{each['benchmark']}`: {each['caption']}" for each in documents if each.get("caption")]
    lines += [line for document in documents for line in _parts(document)]
    lines += ["", "| benchmark | date | processors used by others |", "|---|---|---|"]
    for document in documents:
        others = document["used_by_others"]
        busy = "unknown" if others is None else f"{others:.0%}"
        lines.append(f"| {document['benchmark']} | {document['machine']['date']} | {busy} |")
    return "\n".join(lines)


def on_others(documents: list[dict[str, Any]]) -> str:
    """What other processors reached, before, each benchmark under its machine."""
    lines: list[str] = []
    for document in documents:
        lines += [f"\n`{document['benchmark']}` on {_machine(document['machine'])}, {document['machine']['date']}:\n"]
        lines += [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
        lines += [_row(figure) for figure in document["figures"]]
    return "".join(f"{line}\n" for line in lines)


def _parts(document: dict[str, Any]) -> list[str]:
    """Where the time of a fit goes, from the document that measured it."""
    lines: list[str] = []
    for title, contenders in document["timings"].items():
        if not title.startswith("parts of a fit"):
            continue
        ms = {name: 1e3 * clocks["cpu_seconds"]["median"] for name, clocks in contenders.items()}
        whole, within = ms.pop("whole fit"), 0.0
        lines += ["", f"| {title} | once, ms | times | share of {whole:.3g} ms |", "|---|---|---|---|"]
        for name, once in ms.items():
            times = document["settings"]["parts"]["rounds"] if name.startswith("each round") else 1
            within += 0.0 if name.endswith("within growth") else once * times
            lines.append(f"| {name} | {once:.3g} | {times} | {once * times / whole:.0%} |")
        lines.append(
            f"| the rest: checks, callbacks, other caches | {whole - within:.3g} | 1 | {1 - within / whole:.0%} |"
        )
    return lines


def _row(figure: dict[str, Any]) -> str:
    cells = [
        figure["work"] + (f" ({figure['remark']})" if figure["remark"] else ""),
        figure["against"],
        figure["target_text"],
        f"{short(figure['reached']['median'])} {figure['unit']}".strip(),
        quartiles(figure["reached"]),
        short(figure["wall"]["median"]) if figure["wall"] else "",
        figure.get("quality", ""),
        verdict(figure["met"]),
    ]
    return f"| {' | '.join(cells)} |"


def _machine(machine: dict[str, Any]) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in machine["libraries"].items())
    return (
        f"{machine['processor']}; {machine['cores']} cores, {machine['memory_gb']:.0f} GB; {machine['system']}; "
        f"Python {machine['python']}; {machine['compiler']}, `{machine['compiler_flags']}`; {libraries}"
    )
