"""The text of an exported graph: its code, with the type and shape of each value."""

from __future__ import annotations

from typing import Any

from clew.fx.codegen import Quoted

_SHORT = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64",
    "int32": "i32", "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "b8",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip


def type_text(meta: dict[str, Any]) -> str | None:
    """`f32[s77, 3]`: what is known of a value."""
    value = meta.get("val")
    if value is None or "sizes" not in meta:
        return None
    name = str(value.dtype).removeprefix("torch.")
    return f"{_SHORT.get(name, name)}[{', '.join(map(str, meta['sizes']))}]"


def readable(module: Any) -> str:
    """A graph module as the source of a class, with types as annotations."""
    annotated = []
    try:
        for node in module.graph.nodes:
            text = type_text(node.meta)
            if text is not None and node.type is None:
                node.type = Quoted(text)
                annotated.append(node)
        code = module.graph.python_code("self").src
    finally:
        for node in annotated:
            node.type = None
    body = "\n".join(f"    {line}" for line in code.strip("\n").rstrip().split("\n"))
    return f"class {type(module).__name__}(torch.nn.Module):\n{body}\n"
