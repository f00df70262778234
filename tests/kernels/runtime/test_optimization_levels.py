"""Modules of which a part is compiled in a hurry."""

import ctypes

import pytest

from clew.kernels.runtime import jit, object_loader, optimization_levels
from clew.kernels.runtime.optimization_levels import O0

# A quick function that calls others: one that nobody else knows, with attributes of its
# parameters, and one that is known outside; both read a constant.
SOURCE = f"""
declare i64 @labs(i64)
@factors = internal constant [2 x i64] [i64 3, i64 5]

define internal i64 @hidden(ptr noalias %at, i64 %x) noinline {{
  %factor = load i64, ptr @factors
  %more = load i64, ptr %at
  %y = mul i64 %x, %factor
  %z = add i64 %y, %more
  ret i64 %z
}}

define i64 @known(i64 %x) {{
  %positive = call i64 @labs(i64 %x)
  ret i64 %positive
}}

define internal i64 @unused(i64 %x) {{
  ret i64 %x
}}

define i64 @start(i64 %x) {O0} {{
  %place = getelementptr i64, ptr @factors, i64 1
  %positive = call i64 @known(i64 %x)
  %y = call i64 @hidden(ptr %place, i64 %positive)
  ret i64 %y
}}
"""


def test_functions_go_to_two_modules() -> None:
    careful, quick = optimization_levels.split(SOURCE)
    assert [line for line in quick.splitlines() if line.startswith("define")] == [
        f"define i64 @start(i64 %x) {O0} {{"
    ]
    # What is called from the other module is known outside now; what is not stays hidden.
    assert "define i64 @hidden(ptr noalias %at, i64 %x) noinline {" in careful
    assert "define internal i64 @unused" in careful and "@start" not in careful
    assert "declare i64 @hidden(ptr noalias %at, i64 %x)\n" in quick
    assert "declare i64 @known(i64 %x)\n" in quick and "@unused" not in quick
    assert all("@factors = internal constant" in text for text in (careful, quick))


def test_a_module_of_one_kind_stays_as_it_is() -> None:
    usual = SOURCE.replace(f" {O0}", "")
    assert optimization_levels.split(usual) == (usual, "")
    quick = SOURCE[SOURCE.index("define i64 @start") :]
    assert optimization_levels.split(quick) == ("", quick)


def test_memory_cannot_be_in_two_modules() -> None:
    with pytest.raises(ValueError, match="memory of its own"):
        optimization_levels.split(SOURCE + "@count = internal global i64 0\n")


@pytest.mark.parametrize("linker", ["ours", "llvm"])
def test_both_are_linked(linker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = jit.machine()
    if linker == "llvm":
        monkeypatch.setattr(object_loader, "link", lambda code, provided: None)
    start, known = machine.load(machine.compile_module(SOURCE), "start", "known")
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    assert [function(start)(x) for x in (-7, 0, 2)] == [26, 5, 11]
    assert function(known)(-3) == 3
