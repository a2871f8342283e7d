import sys
from importlib import import_module

import pytest

from committee.cli import deferred_imports, entry, main
from committee.cli.deferred_imports import DeferredImports, defer_imports


@pytest.fixture
def rarely_used(tmp_path, monkeypatch):
    """Name of a module that says in `sys` when it is executed, deferred."""
    name = "rarely_used_module"
    (tmp_path / f"{name}.py").write_text("import sys\nsys.executed_module = __name__\nvalue = 7\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(deferred_imports, "DEFERRED", frozenset({name, "no_such_module_at_all"}))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "executed_module", None, raising=False)
    yield name
    sys.modules.pop(name, None)


def test_a_deferred_module_is_executed_at_its_first_use(rarely_used):
    defer_imports()
    module = import_module(rarely_used)
    assert sys.executed_module is None
    assert module.value == 7
    assert sys.executed_module == rarely_used


def test_modules_that_are_not_installed_are_still_missing(rarely_used):
    defer_imports()
    with pytest.raises(ModuleNotFoundError):
        import_module("no_such_module_at_all")
    assert DeferredImports().find_spec("json") is None


def test_imports_are_deferred_once(rarely_used):
    defer_imports()
    defer_imports()
    assert sum(isinstance(finder, DeferredImports) for finder in sys.meta_path) == 1


@pytest.mark.parametrize(
    ("words", "deferred"), [(["predict", "model"], True), (["fit", "table.csv"], False), ([], False)]
)
def test_predict_alone_defers_imports(words, deferred, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["committee", *words])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(main, "main", lambda: None)
    entry.main()
    assert any(isinstance(finder, DeferredImports) for finder in sys.meta_path) == (words[:1] == ["predict"])
