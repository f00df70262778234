"""Imports inside clew point downwards only, and `import clew` brings in nothing optional."""

import ast
import graphlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew.source import INTERNAL_PACKAGES

PACKAGE = Path(__file__).resolve().parent.parent / "clew"

# From bottom to top. A part may import its own rank and every rank below it.
RANKS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "aliasing",
            "collector",
            "errors",
            "forking",
            "interrupts",
            "observed",
            "observer",
            "overloads",
            "pytorch_names",
            "source",
        }
    ),
    frozenset({"backend"}),
    frozenset({"kernels"}),
    frozenset({"core"}),
    frozenset({"ops"}),
    frozenset({"autograd"}),
    frozenset(
        {
            "nn",
            "amp",
            "backends",
            "compiler",
            "distributed",
            "standin",
            "cpu",
            "cuda",
            "profiler",
            "optim",
            "linalg",
            "masked",
            "fft",
            "fx",
            "signal",
            "special",
            "random",
            "utils",
            "func",
            "distributions",
            "testing",
            "serialization",
            "library",
            "_C",
            "_dynamo",
            "_functorch",
            "_inductor",
            "_library",
            "_subclasses",
            "ao",
            "_higher_order_ops",
            "quantization",
            "export",
            "jit",
            "onnx",
            "sparse",
            "nested",
        }
    ),
    frozenset({"doctor"}),
    frozenset({"__init__"}),
    frozenset({"bench"}),
    frozenset({"gallery"}),
    frozenset({"__main__", "cli"}),
)
# A single module directly in clew/ that no rank names belongs to the library.
LIBRARY = next(i for i, parts in enumerate(RANKS) if "nn" in parts)

# The folders inside of some layers, from bottom to top. A folder may import the ranks below its
# own, and no other folder of its rank. Modules directly in the layer are above them all.
FOLDERS: dict[str, tuple[frozenset[str], ...]] = {
    "kernels": (
        frozenset({"runtime"}),
        frozenset({"codegen"}),
        frozenset({"gemm", "pool"}),
        frozenset({"compiled", "conv"}),
        frozenset({"numpy"}),
    ),
    "ops": (
        frozenset({"define"}),
        frozenset({"tensor"}),
        frozenset({"pointwise", "shape"}),
        frozenset({"create", "index", "reduce"}),
        frozenset({"linalg"}),
        frozenset({"nested", "sparse"}),
        frozenset({"nn"}),
        frozenset({"batching", "spectral"}),
    ),
    "doctor": (
        frozenset({"facts"}),
        frozenset({"report"}),
        frozenset({"rules"}),
        frozenset({"engines"}),
        frozenset({"observe"}),
    ),
}

# Packages that clew works without: only these may be imported inside a function,
OPTIONAL = frozenset(
    {
        "llvmlite", "torch", "jax", "cupy", "matplotlib", "mpi4py", "onnx", "onnxruntime",
        "plotly", "safetensors", "gymnasium", "sklearn",
    }
)  # fmt: skip
# and what `import clew` would wait for although few programs need it.
LATE = frozenset(
    {
        "difflib", "fractions", "json", "multiprocessing.reduction", "tempfile", "threadpoolctl",
        "clew.kernels.runtime.code_cache", "clew.ops.batching.tables", "clew.ops.op_calls",
        "clew.ops.sparse", "clew.ops.sparse.construction", "clew.ops.sparse.core_ops",
        "clew.ops.nested.construction", "clew.ops.nested.tensor", "clew.serialization.nested",
        "clew.serialization.sparse",
    }
)  # fmt: skip
NEVER_AT_IMPORT = frozenset({"torch", "jax", "cupy", "matplotlib", "gymnasium", "sklearn"})

MODULES = sorted(PACKAGE.rglob("*.py"))


def rank_of(part: str) -> int:
    for rank, parts in enumerate(RANKS):
        if part in parts:
            return rank
    assert not (PACKAGE / part).is_dir(), f"give the package clew/{part} its rank in RANKS"
    return LIBRARY


def part_of_file(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def package_of_file(path: Path) -> list[str]:
    return ["clew", *path.relative_to(PACKAGE).parts[:-1]]


def part_of_module(dotted: str, name: str | None) -> str:
    """The part of clew that `import dotted` or `from dotted import name` reaches."""
    pieces = dotted.split(".")
    if len(pieces) > 1:
        return pieces[1]
    is_part = name is not None and ((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file())
    return name if is_part and name is not None else "__init__"


def imported_modules(node: ast.AST, package: list[str]) -> Iterator[tuple[str, str | None]]:
    """(module, name) for each thing that an import statement names, relative ones resolved."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, None
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        for alias in node.names:
            yield module, alias.name


def executed_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every node but expressions, in which nothing is imported, and those under
    `if TYPE_CHECKING:`, which never run: types may look up."""
    pending = [node]
    while pending:
        node = pending.pop(0)
        yield node
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            pending.extend(node.orelse)
        else:
            children = ast.iter_child_nodes(node)
            pending.extend(child for child in children if not isinstance(child, ast.expr))


def upward_imports(path: Path, source: str) -> list[str]:
    own_part = part_of_file(path)
    return [
        f"line {node.lineno}: {own_part} imports {target}, which lies above it"
        for node in executed_nodes(ast.parse(source))
        for module, name in imported_modules(node, package_of_file(path))
        if module.split(".")[0] == "clew"
        and (target := part_of_module(module, name)) != own_part
        and rank_of(target) > rank_of(own_part)
    ]


def folder_rank(layer: str, folder: str) -> int:
    for rank, folders in enumerate(FOLDERS[layer]):
        if folder in folders:
            return rank
    assert not (PACKAGE / layer / folder).is_dir(), f"give clew/{layer}/{folder} its rank"
    return len(FOLDERS[layer])


def imports_of_folders_above(path: Path, source: str) -> list[str]:
    """Imports of another folder of the same layer that does not lie below."""
    layer, own = path.relative_to(PACKAGE).parts[:2]
    found = []
    for node in executed_nodes(ast.parse(source)):
        for module, name in imported_modules(node, package_of_file(path)):
            pieces = [*module.split("."), name or ""]
            target = pieces[2] if pieces[:2] == ["clew", layer] else own
            if target != own and folder_rank(layer, target) >= folder_rank(layer, own):
                found.append(
                    f"line {node.lineno}: {layer}/{own} imports {target}, which is not below it"
                )
    return found


def module_name(path: Path) -> str:
    return ".".join([*package_of_file(path), path.stem]).removesuffix(".__init__")


def imports_of_modules(sources: dict[Path, str]) -> dict[str, set[str]]:
    """For each module, those of the others that its import statements name."""
    known = {module_name(path) for path in sources}
    graph: dict[str, set[str]] = {}
    for path, source in sources.items():
        named = {
            f"{module}.{name}" if f"{module}.{name}" in known else module
            for node in executed_nodes(ast.parse(source))
            for module, name in imported_modules(node, package_of_file(path))
        }
        graph[module_name(path)] = named & known - {module_name(path)}
    return graph


def local_imports(path: Path, source: str) -> list[str]:
    """Imports inside functions of anything but the optional packages."""
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    ]
    return sorted(
        {
            f"line {node.lineno}: {module} imported inside a function"
            for function in functions
            for node in ast.walk(function)
            for module, name in imported_modules(node, package_of_file(path))
            if module.split(".")[0] not in OPTIONAL and not {module, f"{module}.{name}"} & LATE
        }
    )


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    assert upward_imports(path, path.read_text(encoding="utf-8")) == []


def test_no_modules_import_each_other() -> None:
    graph = imports_of_modules({path: path.read_text(encoding="utf-8") for path in MODULES})
    graphlib.TopologicalSorter(graph).prepare()  # a CycleError names the modules


def test_modules_that_import_each_other_are_found() -> None:
    sources = {
        PACKAGE / "optim" / "adam.py": "from clew.optim import sgd",
        PACKAGE / "optim" / "sgd.py": "from clew.optim.swa import average",
        PACKAGE / "optim" / "swa.py": "def f():\n    from . import adam",
        PACKAGE / "optim" / "__init__.py": "from clew.optim.adam import Adam",
    }
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(imports_of_modules(sources)).prepare()


@pytest.mark.parametrize("layer", FOLDERS)
def test_imports_between_the_folders_of_a_layer_point_down(layer: str) -> None:
    found = {
        str(path.relative_to(PACKAGE)): above
        for path in (PACKAGE / layer).glob("*/**/*.py")
        if (above := imports_of_folders_above(path, path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_optional_packages_are_imported_inside_functions(path: Path) -> None:
    assert local_imports(path, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("core/tensor.py", "from clew.ops import table"),
        ("core/tensor.py", "import clew"),
        ("core/tensor.py", "from clew import Tensor"),
        ("core/tensor.py", "from .. import ops"),
        ("core/tensor.py", "from ..ops.table import row"),
        ("core/tensor.py", "def f():\n    import clew.autograd"),
        ("errors.py", "from clew.backend import dtypes"),
        ("errors.py", "if TYPE_CHECKING:\n    pass\nelse:\n    from clew.core import node"),
        ("nn/functional.py", "from clew.cli import main"),
        ("__init__.py", "from clew.bench import runner"),
    ],
)
def test_an_upward_import_is_found(file: str, source: str) -> None:
    assert len(upward_imports(PACKAGE / file, source)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("kernels/runtime/jit.py", "from clew.kernels.codegen import loops"),
        ("kernels/runtime/jit.py", "from clew.kernels import codegen"),
        ("kernels/gemm/gemm.py", "import clew.kernels.pool.max_pool"),
        ("kernels/conv/winograd.py", "def f():\n    from ..numpy import arrays"),
        ("ops/nn/loss/ctc.py", "from clew.ops.batching.level import running"),
        ("ops/shape/views.py", "from clew.ops import FUNCTIONS"),
    ],
)
def test_an_import_of_a_folder_above_is_found(file: str, source: str) -> None:
    assert len(imports_of_folders_above(PACKAGE / file, source)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("kernels/gemm/gemm.py", "from clew.kernels.codegen import loops\nfrom . import packing"),
        ("kernels/numpy/arrays.py", "from clew.kernels import compiled\nimport numpy"),
        ("ops/nn/loss/ctc.py", "from clew.ops.nn.linear import linear\nfrom clew import errors"),
        ("doctor/facts/flow.py", "if TYPE_CHECKING:\n    from clew.doctor.report import page"),
    ],
)
def test_an_import_of_a_folder_below_is_allowed(file: str, source: str) -> None:
    assert imports_of_folders_above(PACKAGE / file, source) == []


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("core/tensor.py", "from clew.backend import dtypes\nfrom . import storage"),
        ("core/tensor.py", "from .. import errors\nimport numpy"),
        ("core/tensor.py", "from clew import errors, source"),
        ("errors.py", "if TYPE_CHECKING:\n    from clew.core.node import Node"),
        ("nn/functional.py", "from clew.linalg import norm\nfrom clew.core.tensor import Tensor"),
        ("__init__.py", "from clew.nn import functional"),
        ("cli/main.py", "import clew\nfrom clew.bench import runner"),
    ],
)
def test_a_downward_import_is_allowed(file: str, source: str) -> None:
    assert upward_imports(PACKAGE / file, source) == []


def test_an_import_inside_a_function_is_found() -> None:
    source = "def f():\n    import csv\n    import torch\n    from clew.core import tensor\n"
    found = local_imports(PACKAGE / "nn" / "functional.py", source)
    assert [line.split(" imported")[0] for line in found] == ["line 2: csv", "line 4: clew.core"]


def test_import_clew_loads_no_optional_package() -> None:
    code = "import clew, sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent
    )
    assert result.returncode == 0, result.stderr
    loaded = set(result.stdout.split())
    assert "clew" in loaded
    assert loaded & NEVER_AT_IMPORT == set()


def test_a_line_in_any_package_but_those_of_programs_is_not_the_users() -> None:
    folders = {
        path.parent.relative_to(PACKAGE.parent) for path in MODULES if path.name == "__init__.py"
    }
    packages = {".".join(folder.parts) for folder in folders}
    programs = ({"cli"}, {"bench"}, {"gallery"})
    users = {name for name in packages if set(name.split(".")[1:2]) in programs}
    assert packages - users == INTERNAL_PACKAGES


def test_import_clew_compiles_few_annotations() -> None:
    """A NamedTuple compiles its annotations if they are text, each as slowly as a small module: no
    module with many of them has `from __future__ import annotations`."""
    program = """
import typing
count, usual = 0, typing.ForwardRef.__init__
def counting(self, *given, **named):
    global count
    count += 1
    usual(self, *given, **named)
typing.ForwardRef.__init__ = counting
import clew
print(count)
"""
    said = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)
    assert int(said.stdout) <= 20


@pytest.mark.parametrize(
    "package", ["clew", "clew.autograd", "clew.nn.utils", "clew.optim", "clew.utils"]
)
def test_parts_that_are_imported_on_request(package: str) -> None:
    """They are there for whoever asks, are listed, and a wrong name is still explained."""
    program = f"""
import importlib, sys
module = importlib.import_module({package!r})
later = [name for name in module.__dir__() if name not in vars(module)]
assert later, "nothing is left for later"
for name in later:
    getattr(module, name)
    assert name in vars(module), name
try:
    module.no_such_name
except AttributeError as error:
    assert "has no attribute 'no_such_name'" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True)
