"""A stage of a pipeline: a part of a model, and the messages with the stages beside it."""

from __future__ import annotations

from typing import Any

from clew import distributed as dist
from clew import errors
from clew.backend import dtypes
from clew.core.tensor import Tensor
from clew.distributed.runtime import world
from clew.distributed.runtime.work import Work
from clew.nn.modules.module import Module
from clew.ops.create.constants import empty

__all__ = ["PipelineStage"]

# Messages of a stage have tags of their own: two ranks may have several stages beside each other.
_ACTIVATION, _GRADIENT, _TAGS = 0, 1, 1000


class PipelineStage:
    """One rank's part of a model whose parts come one after the other.

    Args:
        submodule: the part; its outputs are the inputs of the next
        stage_index: which part it is
        num_stages: how many there are; stage `i` is on rank `i % size` of the group
        device: accepted; there is one device
        input_args: accepted; shapes are learned from the first micro-batch
        output_args: accepted
        group: the ranks; None is all of them
        dw_builder: accepted if None
    """

    def __init__(
        self,
        submodule: Module,
        stage_index: int,
        num_stages: int,
        device: Any = None,
        input_args: Any = None,
        output_args: Any = None,
        group: Any = None,
        dw_builder: Any = None,
        **kwargs: Any,
    ) -> None:
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.group = world.default_group() if group is None else group
        size = self.group.size()
        if num_stages % size or stage_index % size != self.group.rank() or stage_index < 0:
            raise ValueError(
                f"PipelineStage: stage {stage_index} of {num_stages} on rank {self.group.rank()} "
                f"of {size}: stage i belongs on rank i % {size}, and each rank has as many"
                + errors.at_user_line()
            )
        if size == 1 and num_stages > 1:
            raise ValueError(
                "PipelineStage: several stages on one rank alone would wait for themselves: give "
                "the whole model as one stage" + errors.at_user_line()
            )
        self.device = device
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self._shapes: list[tuple[tuple[int, ...], Any]] | None = None
        self._sent_shapes = False
        # By micro-batch: what came in, what went out, and messages on their way.
        self._inputs: dict[int, list[Tensor]] = {}
        self._outputs: dict[int, list[Tensor]] = {}
        self._sends: list[Work] = []

    # -- one micro-batch -----------------------------------------------------------------------

    def forward_one(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Compute this stage for a micro-batch and send the result on."""
        if not self.is_first:
            args = tuple(self._receive_activations())
            self._inputs[number] = list(args)
        output = self.submod(*args, **kwargs)
        results = list(output) if isinstance(output, (tuple, list)) else [output]
        self._outputs[number] = results
        if not self.is_last:
            self._send_activations(results)
        return output

    def backward_one(self, number: int, loss: Tensor | None) -> None:
        """Go backward through this stage for a micro-batch and send the gradients back."""
        outputs = self._outputs.pop(number)
        if loss is not None:
            loss.backward()
        else:
            tensors = [each for each in outputs if each.requires_grad]
            grads = self._receive_gradients(tensors)
            _backward(tensors, grads)
        inputs = self._inputs.pop(number, [])
        if inputs:
            wanted = [each for each in inputs if each.requires_grad]
            grads = [_grad_of(each) for each in wanted]
            self._send(grads, -1, self._tag(self.stage_index, _GRADIENT))

    def forget(self) -> None:
        """Wait for messages, and drop what is kept of micro-batches."""
        for work in self._sends:
            work.wait()
        self._sends.clear()
        self._inputs.clear()
        self._outputs.clear()

    # -- messages ------------------------------------------------------------------------------

    def _peer(self, step: int) -> int:
        return self.group.ranks[(self.stage_index + step) % self.group.size()]

    def _tag(self, sender: int, kind: int) -> int:
        return _TAGS + 2 * sender + kind

    def _send(self, tensors: list[Tensor], step: int, tag: int) -> None:
        for tensor in tensors:
            work = dist.isend(tensor.detach(), self._peer(step), self.group, tag)
            assert work is not None
            self._sends.append(work)

    def _send_activations(self, results: list[Tensor]) -> None:
        facts = [(tuple(each.shape), each.dtype.name, each.requires_grad) for each in results]
        if not self._sent_shapes:
            dist.send_object_list([facts], self._peer(1), self.group)
            self._sent_shapes = True
        self._send(results, 1, self._tag(self.stage_index, _ACTIVATION))

    def _receive_activations(self) -> list[Tensor]:
        if self._shapes is None:
            box: list[Any] = [None]
            dist.recv_object_list(box, self._peer(-1), self.group)
            self._shapes = box[0]
        received = []
        for shape, name, requires_grad in self._shapes or ():  # type: ignore[misc]  # three facts
            tensor = empty(shape, dtype=getattr(dtypes, "bool_" if name == "bool" else name))
            tag = self._tag(self.stage_index - 1, _ACTIVATION)
            dist.recv(tensor, self._peer(-1), self.group, tag)
            received.append(tensor.requires_grad_(requires_grad))
        return received

    def _receive_gradients(self, tensors: list[Tensor]) -> list[Tensor]:
        grads = []
        for each in tensors:
            grad = empty(tuple(each.shape), dtype=each.dtype)
            tag = self._tag(self.stage_index + 1, _GRADIENT)
            dist.recv(grad, self._peer(1), self.group, tag)
            grads.append(grad)
        return grads


def _backward(tensors: list[Any], grads: list[Tensor]) -> None:
    for place, (tensor, grad) in enumerate(zip(tensors, grads)):
        tensor.backward(grad, retain_graph=place < len(tensors) - 1)


def _grad_of(tensor: Any) -> Tensor:
    found: Tensor | None = tensor.grad
    return tensor.new_zeros(tensor.shape) if found is None else found
