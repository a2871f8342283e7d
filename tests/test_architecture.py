"""The layers of docs/architecture.md: a folder imports only from layers below its own, and every module has a layer.

The page's two tables, top to bottom, are what is checked.
"""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from committee import load
from committee.data.packages import stub_imports

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "committee"
CORE = ROOT / "core"
PAGE = ROOT / "docs" / "architecture.md"

LATE = {
    "narwhals",
    "polars",
    "matplotlib",
    "highspy",
    "rich",
    "jinja2",
    "safetensors",
    "typer",
    "xgboost",
    "lightgbm",
    "dask",
    "distributed",
    "onnx",
    "onnxruntime",
    "skl2onnx",
    "mlflow",
    "shap",
    "treelite",
}
"""Packages that cost time to import: only inside functions, so that `import committee` stays cheap."""

AT_HOME = {"cli": {"typer"}, "dask": {"dask", "distributed"}}
"""Packages that every module of a folder needs, which is itself imported late."""


@dataclass(frozen=True)
class Import:
    module: str
    line: int
    kind: str  # "top", "inside" a function, or "types" only


def module_name(path: Path) -> str:
    """``voters.forest`` for voters/forest.py, ``report`` for report/__init__.py, ``__init__`` for the face."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts if len(parts) == 1 or parts[-1] != "__init__" else parts[:-1])


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def rows_of_table(heading: str) -> list[str]:
    """The first cells of the first table under a heading of the page."""
    section = PAGE.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return [row.split("|")[1] for row in rows[2:]]


@cache
def layers() -> dict[str, int]:
    """Height of each layer, 0 at the top: a whole folder, or a module that lies in none."""
    named = [re.findall(r"`([^`]+)`", cell)[0] for cell in rows_of_table("Layers")]
    return {name.removesuffix("/"): height for height, name in enumerate(named)}


def layer_of(module: str) -> str:
    return module.partition(".")[0]


@cache
def imports_of(module: str) -> list[Import]:
    """Imports of a module, at its top, inside its functions and for types alone."""
    return list(_imports(ast.parse(MODULES[module].read_text("utf-8")), "top"))


def _imports(node: ast.AST, kind: str) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, kind) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"line {child.lineno}: relative import; write the whole name"
            for alias in child.names:
                yield Import(f"{child.module}.{alias.name}", child.lineno, kind)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            yield from _imports(child, "types")
        else:
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, "inside" if is_function and kind == "top" else kind)


def own_module(name: str) -> str | None:
    """The module of the house behind an imported name; None for what comes from elsewhere."""
    package, _, rest = name.partition(".")
    if package != "committee":
        return None
    while rest:
        if rest in MODULES or rest == "_core":
            return rest
        rest = rest.rpartition(".")[0]
    return "__init__"


def own_imports(module: str) -> list[tuple[str, Import]]:
    found = [(own_module(imported.module), imported) for imported in imports_of(module)]
    return [(target, imported) for target, imported in found if target is not None]


def test_modules_import_only_from_layers_below():
    heights = layers()
    homeless = [str(MODULES[module].relative_to(ROOT)) for module in MODULES if layer_of(module) not in heights]
    assert not homeless, f"no layer in docs/architecture.md: {homeless}"
    upward = [
        f"{MODULES[module].relative_to(ROOT)}:{imported.line} imports committee.{target}"
        for module in MODULES
        for target, imported in own_imports(module)
        if heights[layer_of(target)] < heights[layer_of(module)]
    ]
    assert not upward, f"imports from a layer above: {upward}"


def test_no_module_imports_itself_in_a_circle():
    """Inside functions and for types alone neither."""
    refuse_circles({module: {target for target, _ in own_imports(module)} - {module} for module in MODULES})


def part_of(module: str) -> str:
    """``vote.links`` for all that lies in this folder, ``vote.committee`` for a module beside it."""
    return ".".join(module.split(".")[:2])


def test_parts_of_a_layer_import_each_other_in_no_circle():
    needs: dict[str, set[str]] = {}
    for module in MODULES:
        inside = {part_of(target) for target, _ in own_imports(module) if layer_of(target) == layer_of(module)}
        needs.setdefault(part_of(module), set()).update(inside - {part_of(module)})
    refuse_circles(needs)


def refuse_circles(needs: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' <- '.join(error.args[1])}")


def test_every_layer_is_there():
    for name in layers():
        assert name == "_core" or (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file(), f"there is no {name}"
    assert layers()["_core"] == max(layers().values())


def test_costly_packages_are_imported_late():
    early = {
        str(MODULES[module].relative_to(ROOT)): sorted(found)
        for module in MODULES
        if (
            found := {imported.module.partition(".")[0] for imported in imports_of(module) if imported.kind == "top"}
            & (LATE - AT_HOME.get(layer_of(module), set()))
        )
    }
    assert not early, f"imported at the top of a module, not inside a function: {early}"


def modules_after(statement: str) -> set[str]:
    """Names of the modules that a fresh interpreter has after a statement, whatever it prints."""
    ask = f"{statement}; import sys; print('modules:', *sys.modules, sep='\\n')"
    answer = subprocess.run([sys.executable, "-c", ask], check=True, capture_output=True, encoding="utf-8").stdout
    return set(answer.partition("modules:")[2].split())


def loaded_by(statement: str) -> set[str]:
    """Top-level names of these modules."""
    return {name.partition(".")[0] for name in modules_after(statement)}


def parts_loaded_by(statement: str) -> set[str]:
    """The library's own among these modules."""
    return {name for name in modules_after(statement) if name.startswith("committee.")}


def test_importing_the_package_loads_next_to_nothing():
    assert not {"numpy", "scipy", "sklearn"} & (loaded_by("import committee") - loaded_by("pass"))


def test_learners_load_nothing_costly_that_scikit_learn_does_not():
    theirs = loaded_by("import sklearn.ensemble, sklearn.callback")
    ours = loaded_by("from committee import AdaBoostClassifier, SubaggingClassifier, Committee, load")
    assert not LATE & (ours - theirs)


def loaded_with(module: str) -> set[str]:
    """Modules of the house that an import loads: those imported at the top, and the packages they lie in."""
    loaded: set[str] = set()
    open_ = [module]
    while open_:
        name = open_.pop()
        if name not in loaded and name in MODULES:
            loaded.add(name)
            open_ += [name.rpartition(".")[0], *(target for target, found in own_imports(name) if found.kind == "top")]
    return loaded


def test_a_bound_loads_what_it_needs():
    bounds = [module for module in MODULES if layer_of(module) == "bounds"]
    heaviest = max(bounds, key=lambda module: len(loaded_with(module)))
    assert len(loaded_with(heaviest)) <= 25, f"committee.{heaviest} loads {sorted(loaded_with(heaviest))}"
    in_use = {name.removeprefix("committee.") for name in parts_loaded_by(f"import committee.{heaviest}")}
    assert loaded_with(heaviest) >= in_use - {"_core"}


def test_a_comparison_loads_what_it_needs(tmp_path):
    page = tmp_path / "page.html"
    words = ["committee", "compare", "--example", "breast_cancer", "--models", "adaboost", "--folds", "3", "--report"]
    loaded = parts_loaded_by(
        f"import sys; sys.argv = {[*words, str(page)]}; from committee.cli.main import app; app(standalone_mode=False)"
    )
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert len(loaded) <= 106, f"{len(loaded)} modules: {sorted(loaded)}"


@pytest.mark.parametrize(("model", "most"), [("gradient_names", 150), ("committee_two", 170)])
def test_predict_loads_what_it_needs(model, most, tmp_path):
    file, table = ROOT / "tests" / "golden" / f"{model}.safetensors", tmp_path / "table.csv"
    described = load(file).table_
    names = described.names or "abcd"
    table.write_text(f"{','.join(names)}\n{','.join('1' for _ in names)}\n", "utf-8")
    words = ["committee", "predict", str(file), str(table)]
    program = "from committee.cli.entry import main\ntry: main()\nexcept SystemExit as end: assert not end.code"
    loaded = modules_after(f"import sys; sys.argv = {words}; exec({program!r})")
    refused = {"scipy.stats._stats_py", "scipy.optimize", "sklearn.metrics", "sklearn.model_selection"}
    if described.names:  # a matrix without names is checked by scikit-learn, which uses pandas
        refused.add("pandas.core")
    assert not refused & loaded
    own = {name for name in loaded if name.startswith("committee.")}
    assert "polars" in loaded and len(own) <= most, f"{len(own)} modules: {sorted(own)}"


@pytest.mark.parametrize(
    "face", ["", "bounds/", "learners/trained_ensembles/", "mlflow/", "objectives/losses/", "onnx/", "report/"]
)
def test_names_of_a_stub_are_those_of_its_package(face):
    stub = PACKAGE / face / "__init__.pyi"
    package = import_module(".".join(["committee", *Path(face).parts]))
    names = stub_imports(str(stub))
    assert names and set(names) <= set(package.__all__) <= set(dir(package))
    for name, module in names.items():
        assert getattr(package, name) is getattr(import_module(module), name)
        assert not list((PACKAGE / face).glob(f"{name}.py")), f"once imported, the module {name} would hide the name"
    for declared in ast.parse(stub.read_text("utf-8")).body:
        assert isinstance(declared, ast.ImportFrom | ast.AnnAssign | ast.FunctionDef)
        if isinstance(declared, ast.FunctionDef):
            assert list(inspect.signature(getattr(package, declared.name)).parameters) == [
                a.arg for a in declared.args.args
            ]
        elif isinstance(declared, ast.AnnAssign):
            assert hasattr(package, ast.unparse(declared.target))


def kernel_files() -> list[Path]:
    """What the build compiles, and all that it includes."""
    found: set[Path] = set()
    open_ = [ROOT / name for name in re.findall(r"core/\S+\.cpp", (ROOT / "CMakeLists.txt").read_text("utf-8"))]
    while open_:
        path = open_.pop()
        if path not in found:
            found.add(path)
            open_ += included_by(path)
    return sorted(found)


def included_by(path: Path) -> list[Path]:
    names = re.findall(r'^#include "(.+)"', path.read_text("utf-8"), re.MULTILINE)
    return [CORE / name for name in names]


def folder_of(path: Path) -> str:
    return path.relative_to(CORE).parent.as_posix()


def test_kernels_include_only_from_below():
    order = [re.findall(r"`core/([^`]*)/`", cell)[0] for cell in rows_of_table("Kernels")]
    height = {folder: place for place, folder in enumerate([".", *order])}
    homeless = {folder_of(path) for path in kernel_files()} - set(height)
    assert not homeless, f"{sorted(homeless)} of core/ have no row in docs/architecture.md"
    for path in kernel_files():
        for included in included_by(path):
            assert height[folder_of(included)] >= height[folder_of(path)], (
                f"{path.relative_to(ROOT)} includes {included.relative_to(CORE)}, which is not below it"
            )


def test_kernels_include_each_other_in_no_circle():
    # a unit and its own header are one node
    TopologicalSorter({path: {*included_by(path)} - {path.with_suffix(".hpp")} for path in kernel_files()}).prepare()


def test_kernels_know_no_learner():
    """C++ has loops over rows, bins and nodes; what an algorithm is called is said in Python."""
    from committee import LEARNERS

    for path in kernel_files():
        code = re.sub(r"//.*", "", path.read_text("utf-8"))
        assert not [learner for learner in LEARNERS if learner in code], path
        assert "Python.h" not in code, path
        assert folder_of(path) in (".", "bindings") or "nanobind" not in code, path
