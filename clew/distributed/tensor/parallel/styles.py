"""Ways to split layers over ranks: by columns, by rows, along the sequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew import errors
from clew.core.tensor import Tensor
from clew.distributed.device_mesh import DeviceMesh
from clew.distributed.tensor import moves
from clew.distributed.tensor.dtensor import DTensor, distribute_tensor, wrapped
from clew.distributed.tensor.placement_types import Placement, Replicate, Shard
from clew.nn import functional as F
from clew.nn.modules.linear import Linear
from clew.nn.modules.module import Module
from clew.nn.modules.sparse import Embedding
from clew.nn.parameter import Parameter

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput",
    "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel",
]  # fmt: skip


class ParallelStyle:
    """A way to split a layer; `parallelize_module` applies it."""

    src_data_rank: int | None = 0

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        raise NotImplementedError


def local_of(value: Any) -> Any:
    """The part of a tensor in parts; others as they are."""
    return value.to_local() if isinstance(value, DTensor) else value


def _cut_parameters(
    module: Module, mesh: DeviceMesh, placements: dict[str, Placement], source: int | None
) -> None:
    """Let the parameters of a layer be parts."""
    parameters: dict[str, Any] = module._parameters
    for name, param in list(parameters.items()):
        if param is None or isinstance(param, DTensor):
            continue
        made = distribute_tensor(param, mesh, [placements[name]], src_data_rank=source)
        parameters[name] = Parameter(made, param.requires_grad)


def _arranged(
    value: Tensor, given: Placement, wanted: Placement, group: Any, terms: bool = False
) -> Tensor:
    """A part in another layout. `terms`: the layer's gradients for a whole input are terms."""
    if isinstance(value, DTensor):
        given = value.placements[0]
        value = value.to_local()
    if given == wanted:
        is_shared = isinstance(given, Replicate) and terms
        return moves.share(value, group) if is_shared else value
    if isinstance(given, Shard) and isinstance(wanted, Replicate):
        # Parts of one sequence or row are equally long.
        length = value.shape[given.dim] * group.size()
        return moves.gather(value, given.dim, length, group, terms)
    if isinstance(given, Replicate) and isinstance(wanted, Shard):
        return moves.split(value, wanted.dim, group)
    if isinstance(given, Shard) and isinstance(wanted, Shard):
        length = value.shape[given.dim] * group.size()
        whole = moves.gather(value, given.dim, length, group)
        return moves.split(whole, wanted.dim, group)
    raise NotImplementedError(
        f"from {given} to {wanted}: not a layout of activations" + errors.at_user_line()
    )


def _normal(placement: Placement, ndim: int) -> Placement:
    if isinstance(placement, Shard) and placement.dim < 0:
        return Shard(placement.dim % ndim)
    return placement


def _delivered(value: Tensor, placement: Placement, mesh: DeviceMesh, as_local: bool) -> Tensor:
    """A layer's result, as a part or as a tensor in parts."""
    if as_local:
        return value
    shape = list(value.shape)
    if isinstance(placement, Shard):
        shape[placement.dim] *= mesh.size(0)
    return wrapped(value, mesh, [placement], tuple(shape))


class ColwiseParallel(ParallelStyle):
    """A linear layer or embedding of which each rank has some of the outputs.

    Args:
        input_layouts: what ranks have of the input; by default all of it
        output_layouts: what ranks are to have of the output; by default parts of the last dimension
        use_local_output: give parts as plain tensors
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layout = input_layouts or Replicate()
        self.output_layout = output_layouts or Shard(-1)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        group = mesh.get_group(0)
        if isinstance(module, Linear):
            cut: dict[str, Placement] = {"weight": Shard(0), "bias": Shard(0)}
        elif isinstance(module, Embedding):
            cut = {"weight": Shard(1)}
        else:
            raise NotImplementedError(
                "ColwiseParallel currently only support nn.Linear and nn.Embedding!"
            )
        _cut_parameters(module, mesh, cut, self.src_data_rank)

        def forward(input: Tensor) -> Tensor:
            if isinstance(module, Linear):
                given = _normal(self.input_layout, input.dim())
                x = _arranged(input, given, Replicate(), group, terms=True)
                part = F.linear(x, local_of(module.weight), local_of(module.bias))
            else:
                part = F.embedding(local_of(input), local_of(module.weight), module.padding_idx)
            wanted = _normal(self.output_layout, part.dim())
            result = _arranged(part, Shard(part.dim() - 1), wanted, group)
            return _delivered(result, wanted, mesh, self.use_local_output)

        object.__setattr__(module, "forward", forward)
        return module


class RowwiseParallel(ParallelStyle):
    """A linear layer or embedding of which each rank has some of the inputs.

    Args:
        input_layouts: what ranks have of the input; by default parts of the last dimension
        output_layouts: what ranks are to have of the output; by default all of it
        use_local_output: give parts as plain tensors
    """

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layout = input_layouts or Shard(-1)
        self.output_layout = output_layouts or Replicate()
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        group = mesh.get_group(0)
        if isinstance(module, Linear):
            cut: dict[str, Placement] = {"weight": Shard(1), "bias": Replicate()}
            compute: Callable[[Any, Tensor], Tensor] = self._linear
        elif isinstance(module, Embedding):
            cut, compute = {"weight": Shard(0)}, self._embedding
        else:
            raise NotImplementedError(
                "RowwiseParallel currently only support nn.Linear and nn.Embedding!"
            )
        rows = module.weight.shape[0]
        _cut_parameters(module, mesh, cut, self.src_data_rank)
        self._rows = rows

        def forward(input: Tensor) -> Tensor:
            term = compute((module, group, rows), input)
            wanted = _normal(self.output_layout, term.dim())
            if isinstance(wanted, Shard):
                result = moves.sum_part(term, wanted.dim, group)
            else:
                result = moves.sum_all(term, group)
            bias = getattr(module, "bias", None)
            if bias is not None:
                part = local_of(bias)
                # Each rank adds it to its part of the result: each has a term of the gradient.
                result = result + (moves.share(part, group) if isinstance(wanted, Shard) else part)
            return _delivered(result, wanted, mesh, self.use_local_output)

        object.__setattr__(module, "forward", forward)
        return module

    def _linear(self, facts: Any, input: Tensor) -> Tensor:
        module, group, _ = facts
        given = _normal(self.input_layout, input.dim())
        x = _arranged(input, given, Shard(input.dim() - 1), group)
        return F.linear(x, local_of(module.weight))

    def _embedding(self, facts: Any, input: Tensor) -> Tensor:
        """Each rank looks up the words that it has; others give zeros."""
        module, group, rows = facts
        tokens = local_of(input)
        start, end = moves.bounds(rows, group.size(), group.rank())
        mine = (tokens >= start) & (tokens < end)
        found = F.embedding(
            (tokens - start).clamp(0, max(0, end - start - 1)), local_of(module.weight)
        )
        return found * mine.unsqueeze(-1).to(found.dtype)


class SequenceParallel(ParallelStyle):
    """A norm or dropout that each rank computes for its part of the sequence.

    Args:
        sequence_dim: the dimension of the sequence
        use_local_output: give parts as plain tensors
    """

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        group, sequence = mesh.get_group(0), Shard(self.sequence_dim)
        _cut_parameters(
            module, mesh, {name: Replicate() for name in module._parameters}, self.src_data_rank
        )
        plain_forward = type(module).forward

        def forward(input: Tensor) -> Tensor:
            given: Placement = input.placements[0] if isinstance(input, DTensor) else sequence
            x = _arranged(input, given, sequence, group)
            parameters: dict[str, Any] = module._parameters
            parts = dict(parameters)
            try:
                for name, param in parts.items():
                    if param is not None:
                        # Each rank has a term of the gradient: that of its part.
                        parameters[name] = moves.share(local_of(param), group)
                result = plain_forward(module, x)
            finally:
                parameters.update(parts)
            return _delivered(result, sequence, mesh, self.use_local_output)

        object.__setattr__(module, "forward", forward)
        return module


Layouts = Placement | Sequence[Placement | None] | None


def _listed(layouts: Any) -> list[Placement | None]:
    return list(layouts) if isinstance(layouts, (list, tuple)) else [layouts]


class _Prepared(ParallelStyle):
    """Layouts of what goes into or comes out of a module."""

    use_local_output = True

    def _change(
        self, values: Sequence[Any], given: Any, wanted: Any, mesh: DeviceMesh
    ) -> list[Any]:
        changed = list(values)
        for place, (one, other) in enumerate(zip(_listed(given), _listed(wanted))):
            if one is None or other is None or place >= len(changed):
                continue
            value = changed[place]
            start, end = _normal(one, value.dim()), _normal(other, value.dim())
            # A whole that only parts follow from has terms of its gradient on the ranks.
            moved = _arranged(value, start, end, mesh.get_group(0), terms=False)
            changed[place] = _delivered(moved, end, mesh, self.use_local_output)
        return changed


class PrepareModuleInput(_Prepared):
    """The layouts of a module's inputs, before its forward.

    Args:
        input_layouts: what ranks have of each input
        desired_input_layouts: what they are to have
        input_kwarg_layouts, desired_input_kwarg_layouts: the same by name
        use_local_output: give parts as plain tensors
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.given, self.wanted = input_layouts, desired_input_layouts
        self.given_by_name = input_kwarg_layouts or {}
        self.wanted_by_name = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        def before(module: Module, args: Any, kwargs: Any) -> Any:
            changed = self._change(args, self.given, self.wanted, mesh)
            named = {
                name: self._change(
                    [value], self.given_by_name.get(name), self.wanted_by_name.get(name), mesh
                )[0]
                for name, value in kwargs.items()
            }
            return tuple(changed), named

        module.register_forward_pre_hook(before, with_kwargs=True)
        return module


class PrepareModuleOutput(_Prepared):
    """The layouts of a module's outputs, after its forward.

    Args:
        output_layouts: what ranks have of each output
        desired_output_layouts: what they are to have
        use_local_output: give parts as plain tensors
    """

    def __init__(
        self,
        *,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_output: bool = True,
    ) -> None:
        self.given, self.wanted = output_layouts, desired_output_layouts
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        def after(module: Module, args: Any, output: Any) -> Any:
            several = isinstance(output, (list, tuple))
            values = list(output) if several else [output]
            changed = self._change(values, self.given, self.wanted, mesh)
            return tuple(changed) if several else changed[0]

        module.register_forward_hook(after)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """The layouts of a module's inputs and outputs.

    Args:
        input_layouts, desired_input_layouts, output_layouts, desired_output_layouts: as above
        use_local_input, use_local_output: give parts as plain tensors
    """

    def __init__(
        self,
        *,
        input_layouts: Layouts = None,
        desired_input_layouts: Layouts = None,
        output_layouts: Layouts,
        desired_output_layouts: Layouts,
        use_local_input: bool = False,
        use_local_output: bool = True,
    ) -> None:
        self.parts = (
            PrepareModuleInput(
                input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
                use_local_output=use_local_input,
            ),
            PrepareModuleOutput(
                output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
                use_local_output=use_local_output,
            ),
        )  # fmt: skip

    def _apply(self, module: Module, mesh: DeviceMesh) -> Module:
        for part in self.parts:
            part._apply(module, mesh)
        return module
