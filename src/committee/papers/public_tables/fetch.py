"""Command `committee papers fetch`, which downloads, checks and converts the public tables."""

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from committee.papers.shared.options import Names, Progress, in_order
from committee.report.page import Grid

if TYPE_CHECKING:
    from committee.papers.public_tables.public_table import Opener, PublicTable


def fetch(
    *,
    tables: Annotated[Names, "Tables; by default all 51."] = None,
    out: Annotated[Path, "Folder for the tables, which other commands read by --data."] = Path("papers-tables"),
    progress: Progress | None = None,
    opener: "Opener | None" = None,
) -> list[Grid]:
    """Fetch the public tables of all papers, check them, and make the folder that --data reads."""
    from committee.papers.public_tables.public_table import NoConnectionError, open_https, public_tables
    from committee.papers.shared.pages import grid_of

    known = public_tables()
    chosen = [known[name] for name in in_order(tables, list(known))]
    _check_own(out, known)
    out.mkdir(parents=True, exist_ok=True)
    lines, failures = [], []
    try:
        for count, table in enumerate(chosen, 1):
            there = is_finished(table, out)
            try:
                if not there:
                    _finish(table, out, opener or open_https)
                state = "present" if there else "fetched"
                lines.append((table.name, f"{table.rows:,}", f"{len(table.kept) - 1:,}", state))
            except NoConnectionError as error:
                raise ValueError(f"table {table.name!r}: {error}") from error
            except ValueError as error:
                failures.append(f"table {table.name!r}: {error}")
            if progress is not None:
                progress(count, len(chosen), table.name)
    finally:  # after an interrupt, too, the finished tables can be used
        write_catalogue(out, known)
    if failures:
        raise ValueError(f"{len(failures)} of {len(chosen)} tables could not be fetched; {'; '.join(failures)}")
    return [grid_of(f"Tables in {out}, for --data", ("table", "rows", "columns", "state"), lines)]


def is_finished(table: "PublicTable", folder: Path) -> bool:
    path = folder / table.file
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == table.csv_sha256


def write_catalogue(folder: Path, known: "dict[str, PublicTable]") -> None:
    from committee.files.writing import write_file
    from committee.papers.shared.tables import CATALOGUE

    entries: list[dict[str, Any]] = [
        {
            "name": table.name,
            "title": table.title,
            "file": table.file,
            "rows": table.rows,
            "numeric": [name for name in table.kept[:-1] if name not in table.categorical],
            "categorical": list(table.categorical),
            "sources": [file.address for file in table.files],
            "notes": table.notes,
            "csv_sha256": table.csv_sha256,
        }
        for table in known.values()
        if is_finished(table, folder)
    ]
    if entries:
        write_file(folder / CATALOGUE, json.dumps(entries, indent=1, ensure_ascii=False) + "\n")


def _finish(table: "PublicTable", folder: Path, opener: "Opener") -> None:
    from committee.files.writing import write_file
    from committee.papers.public_tables.public_table import converted, downloaded

    content = converted(table, [downloaded(file, opener) for file in table.files])
    if hashlib.sha256(content).hexdigest() != table.csv_sha256:
        raise ValueError("its files are correct, but their conversion is not; please report this bug of committee")
    write_file(folder / table.file, content)


def _check_own(folder: Path, known: "dict[str, PublicTable]") -> None:
    from committee.papers.shared.tables import CATALOGUE

    path = folder / CATALOGUE
    if not path.is_file():
        return
    try:
        entries = {str(entry["name"]): str(entry["file"]) for entry in json.loads(path.read_text("utf-8"))}
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{path} is not a catalogue of tables; give another folder with --out, or remove it"
        ) from error
    if any(name not in known or known[name].file != file for name, file in entries.items()):
        raise ValueError(f"{path} names tables or files unknown to this command; give another folder with --out")
