"""Writes the pages of the API reference from docstrings; `docs/conf.py` calls it at every build."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import clew

# The namespaces that have a page, and what they are about.
NAMESPACES = {
    "Tensor": "an array and how it was made; methods and attributes",
    "autograd": "gradients, custom functions, grad modes, gradcheck",
    "autograd.forward_ad": "forward mode by hand",
    "autograd.functional": "Jacobians and Hessians of functions of tensors",
    "autograd.graph": "nodes of the graph, hooks on what it saves",
    "func": "transforms: grad, vmap, jvp, jacrev, ...",
    "func.curvature": "curvature of large models",
    "nn": "layers",
    "nn.functional": "layers as functions",
    "nn.init": "initial weights",
    "nn.parameter": "parameters",
    "nn.utils": "clipping, vectors of parameters, parametrizations",
    "nn.utils.parametrizations": "orthogonal and normalised weights",
    "nn.utils.parametrize": "weights computed from other weights",
    "nn.utils.prune": "pruning",
    "nn.utils.rnn": "sequences of different lengths",
    "optim": "optimizers",
    "optim.lr_scheduler": "schedules of learning rates",
    "optim.swa_utils": "averaged weights",
    "utils.data": "datasets and loaders",
    "utils.checkpoint": "checkpointing",
    "utils.tensorboard": "logs for TensorBoard",
    "doctor": "finds gradient bugs in a running program",
    "compiler": "what stands beside `clew.compile`",
    "amp": "mixed precision",
    "distributions": "probability distributions",
    "linalg": "linear algebra",
    "fft": "Fourier transforms",
    "special": "special functions",
    "signal.windows": "windows for signals",
    "masked": "reductions of masked tensors",
    "random": "the random state",
    "serialization": "saving and loading",
    "profiler": "where time goes",
    "testing": "comparisons in tests",
    "library": "operations of one's own",
    "overrides": "taking over functions",
    "fx": "programs as graphs",
    "jit": "TorchScript's names",
    "hub": "models from repositories",
    "cuda": "answers of a machine without CUDA",
}
# The names of `clew` itself, by the folder of `clew/ops` that defines them.
FAMILIES = {
    "create": "making tensors, random numbers",
    "pointwise": "element by element",
    "reduce": "sums, extremes, sorting",
    "shape": "shapes and views",
    "index": "picking and placing elements",
    "linalg": "products and decompositions",
    "nn": "parts of networks",
    "spectral": "spectra",
    "others": "grad modes, dtypes, settings and the rest",
}


class Name(NamedTuple):
    """A documented name: where it is, and what is there."""

    path: str
    value: Any


def resolve(namespace: str) -> Any:
    """The module or class of that name; lazily loaded ones are loaded."""
    found: Any = clew
    for part in filter(None, namespace.split(".")):
        if not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def own(value: Any) -> bool:
    """Whether something is documented, and clew's own (modules also have what they import)."""
    if inspect.ismodule(value) or not inspect.getdoc(value):
        return False
    if isinstance(value, (property, classmethod, staticmethod)):
        return True
    module = getattr(value, "__module__", None) or "clew"
    return callable(value) and module.split(".")[0] in ("clew", "torch")


def names(namespace: str) -> Iterator[Name]:
    """The public names of a namespace, each once; aliases of one object are all there."""
    owner = resolve(namespace)
    listed = getattr(owner, "__all__", None)
    prefix = f"clew.{namespace}" if namespace else "clew"
    home = getattr(owner, "__module__" if inspect.isclass(owner) else "__name__", "clew")
    for name in sorted(listed or dir(owner)):
        if name.startswith("_") or not hasattr(owner, name):
            continue
        value = inspect.getattr_static(owner, name, None)
        value = getattr(owner, name) if value is None else value
        if not own(value) or value is clew.Tensor:  # which has a page of its own
            continue
        # A module without `__all__` shows what it defines, and not what it imports.
        inside = (getattr(value, "__module__", None) or home).startswith(home)
        if listed or inside or namespace in ("", "Tensor", "nn.functional"):
            yield Name(f"{prefix}.{name}", value)


def family(value: Any) -> str:
    """The folder of `clew/ops` in which a function is defined, or "others"."""
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    parts = Path(code.co_filename).parts if code else ()
    found = parts[parts.index("ops") + 1] if "ops" in parts[:-1] else ""
    return found if found in FAMILIES else "others"


# -- Markdown --------------------------------------------------------------------------------------


def escaped(text: str) -> str:
    """Prose in which only backticks are markup."""
    parts = re.split(r"(``[^`]+``|`[^`\n]+`)", text)
    return "".join(
        part if number % 2 else re.sub(r"([*_<\[\]|$#~\\])", r"\\\1", part)
        for number, part in enumerate(parts)
    )


def arguments(lines: list[str]) -> Iterator[str]:
    """`name: what it is` with its continuation lines, as items of a list."""
    for line in inspect.cleandoc("\n".join(lines)).splitlines():
        match = re.match(r"([*\w][\w, .*]*): (.*)", line)
        if match:
            given = ", ".join(f"`{name.strip()}`" for name in match[1].split(","))
            yield f"- {given}: {escaped(match[2])}"
        elif line:
            yield f"  {escaped(line.strip())}"


def markdown(text: str) -> Iterator[str]:
    """A docstring as Markdown: a section begins with its name, or where indented lines end."""
    sections = r"\n(?=(?:Args|Example):\n)|(?<=\n)(?<!^)\n(?=\S)"
    for number, part in enumerate(re.split(sections, text)):
        head, _, body = part.partition("\n")
        if number and head == "Args:":
            yield from ("", *arguments(body.splitlines()))
        elif number and head == "Example:":
            yield from ("", "```pycon", inspect.cleandoc(body), "```")
        else:
            yield from ("", *(escaped(line.strip()) for line in part.splitlines()))


def shown(value: Any) -> str:
    """A default value as one would write it."""
    if inspect.isroutine(value) or inspect.isclass(value):
        return str(value.__name__)
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)).replace("\n", " ")


def signature(value: Any) -> str:
    """The arguments, without their types: the text says what they are."""
    try:
        given = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parts, star = [], False
    for each in given.parameters.values():
        if each.name in ("self", "cls") or each.name.startswith("_"):
            continue
        text = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "") + each.name
        if each.kind is each.VAR_POSITIONAL:
            star = True
        elif each.kind is each.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if each.default is not each.empty:
            text += f"={shown(each.default)}"
        parts.append(text)
    return f"({', '.join(parts)})"


def entry(name: Name, fence: str = "::::") -> Iterator[str]:
    """One name: its signature, its docstring and, for a class, the methods that it adds."""
    value, kind = name.value, "function"
    if isinstance(value, (classmethod, staticmethod)):
        value = value.__func__
    if inspect.isclass(value):
        kind = "class"
    elif isinstance(value, property) or not callable(value):
        kind = "attribute"
    elif fence == ":::" or name.path.startswith("clew.Tensor."):
        kind = "method"
    given = "" if kind == "attribute" else signature(value)
    yield f"{fence}{{py:{kind}}} {name.path}{given}"
    yield from markdown(inspect.getdoc(value) or "")
    if kind == "class":
        for method, found in sorted(vars(value).items()):
            # A method that only repeats what its base class says has no docstring of its own.
            said = own(found) and found.__doc__ and not inspect.isclass(found)
            if said and not method.startswith("_"):
                yield ""
                yield from entry(Name(f"{name.path}.{method}", found), ":::")
    yield f"{fence}\n"


def page(title: str, about: str, listed: list[Name]) -> str:
    lines = [f"# {title}", "", f"{about[0].upper()}{about[1:]}.", ""]
    for name in listed:
        lines.extend(entry(name))
    return "\n".join(lines)


def write(folder: Path) -> None:
    """All pages; those that are as they were are left alone, so that Sphinx need not read them."""
    pages: dict[str, str] = {}
    by_family: dict[str, list[Name]] = {key: [] for key in FAMILIES}
    for name in names(""):
        by_family[family(name.value)].append(name)
    for key, listed in by_family.items():
        title = f"clew: {FAMILIES[key]}"
        pages[f"clew-{key}"] = page(title, f"{len(listed)} names", listed)
    for namespace, about in NAMESPACES.items():
        pages[namespace] = page(f"clew.{namespace}", about, list(names(namespace)))
    folder.mkdir(exist_ok=True)
    for stale in {path.stem for path in folder.glob("*.md")} - {*pages, "index"}:
        (folder / f"{stale}.md").unlink()
    rows = [
        *(f"| [clew](clew-{key}.md) | {about} |" for key, about in FAMILIES.items()),
        *(f"| [clew.{each}]({each}.md) | {about} |" for each, about in NAMESPACES.items()),
    ]
    pages["index"] = "\n".join([
        "# API reference", "",
        "Made from the docstrings; `clew.x` is what PyTorch calls `torch.x`. Every example here is",
        "run by the tests.", "", "| namespace | what is in it |", "|---|---|", *rows, "",
        "```{toctree}", ":hidden:", "", *(each for each in pages), "```", "",
    ])  # fmt: skip
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
