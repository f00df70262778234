"""The API reference: its pages are made from docstrings, those of lazily loaded names included."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

REFERENCE = runpy.run_path(str(Path(__file__).resolve().parent.parent / "docs/reference.py"))


@pytest.mark.parametrize("namespace", REFERENCE["NAMESPACES"])
def test_a_namespace_has_names_and_lists_each_once(namespace: str) -> None:
    paths = [name.path for name in REFERENCE["names"](namespace)]
    assert paths
    assert len(set(paths)) == len(paths)
    assert all(path.startswith(f"clew.{namespace}.") for path in paths)


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("", "clew.compile"), ("", "clew.softmax"), ("Tensor", "clew.Tensor.backward"),
        ("doctor", "clew.doctor.watch"), ("func.curvature", "clew.func.curvature.EKFAC"),
        ("nn.functional", "clew.nn.functional.gelu"), ("optim", "clew.optim.Adam"),
        ("utils.checkpoint", "clew.utils.checkpoint.checkpoint"),
    ],
)  # fmt: skip
def test_a_name_is_listed(namespace: str, name: str) -> None:
    assert name in {each.path for each in REFERENCE["names"](namespace)}


def test_an_entry_has_signature_arguments_and_example() -> None:
    [name] = [each for each in REFERENCE["names"]("nn") if each.path == "clew.nn.Linear"]
    lines = list(REFERENCE["entry"](name))
    assert lines[0] == (
        "::::{py:class} clew.nn.Linear(in_features, out_features, bias=True, device=None, "
        "dtype=None)"
    )
    assert "- `in_features`: the size of the input's last dimension" in lines
    assert "- `device`, `dtype`: of the parameters" in lines
    assert any(line.startswith(">>> layer = nn.Linear(3, 2)") for line in lines)
    assert any(line.startswith(":::{py:method} clew.nn.Linear.") for line in lines)


def test_signs_of_markdown_are_escaped_outside_of_code() -> None:
    assert REFERENCE["escaped"]("(*, n) `a*b` x_i") == r"(\*, n) `a*b` x\_i"
