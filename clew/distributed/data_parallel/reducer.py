"""Gradients of replicas: gathered in buckets, which are reduced while backward goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clew import distributed as dist
from clew import errors
from clew.core.inplace import bump_version
from clew.core.tensor import Tensor, wrap
from clew.distributed.runtime.work import Work
from clew.futures import Future

_FIRST_BUCKET = 1 << 20


class Bucket:
    """Parameters of one dtype whose gradients travel together."""

    def __init__(self, index: int, places: list[int], params: Sequence[Tensor]) -> None:
        self.index, self.places = index, places
        self.shapes = [params[place]._array.shape for place in places]
        sizes = [params[place]._array.size for place in places]
        self.bounds = np.cumsum([0, *sizes]).tolist()
        self.flat = wrap(np.zeros(self.bounds[-1], params[places[0]]._array.dtype))
        self.waiting = len(places)

    def view(self, number: int) -> Tensor:
        """The part of a parameter's gradient, in its shape."""
        part = self.flat[self.bounds[number] : self.bounds[number + 1]]
        return part.view(self.shapes[number])


class GradBucket:
    """What a communication hook is given: gradients behind each other, already divided by nobody.

    Example:
        >>> from clew.distributed import GradBucket
        >>> GradBucket.__name__
        'GradBucket'
    """

    def __init__(self, bucket: Bucket, params: Sequence[Tensor], is_last: bool) -> None:
        self._bucket, self._params, self._is_last = bucket, params, is_last
        self._buffer = bucket.flat

    def index(self) -> int:
        """Which bucket it is, in the order of reduction."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """All gradients behind each other."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Take another tensor as the buffer."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """The gradients as parts of the buffer, in the shapes of their parameters."""
        bounds, shapes = self._bucket.bounds, self._bucket.shapes
        return [
            self._buffer[start:end].view(shape)
            for start, end, shape in zip(bounds, bounds[1:], shapes)
        ]

    def parameters(self) -> list[Tensor]:
        """The parameters of the bucket."""
        return [self._params[place] for place in self._bucket.places]

    def is_last(self) -> bool:
        """Whether it is the last bucket of backward."""
        return self._is_last


class Reducer:
    """Averages the gradients of parameters over the ranks of a group."""

    def __init__(
        self,
        named: Sequence[tuple[str, Tensor]],
        group: Any,
        bucket_bytes: int,
        *,
        find_unused: bool,
        views: bool,
    ) -> None:
        self.names = [name for name, _ in named]
        self.params = [param for _, param in named]
        self.group, self.find_unused, self.views = group, find_unused, views
        self.hook: Callable[[Any, GradBucket], Future[Tensor]] | None = None
        self.hook_state: Any = None
        self.divisor = group.size()
        self.is_static = False
        self.synchronizes = True
        self._bucket_bytes = bucket_bytes
        self._fill_buckets(list(reversed(range(len(self.params)))))
        # Until the first backward nobody knows in which order gradients come.
        self._is_ordered = False
        self._ready: dict[int, None] = {}
        self._unused: set[int] = set()
        self._works: list[Work | Future[Tensor]] = []
        self._expecting = False
        for place, param in enumerate(self.params):
            param.register_post_accumulate_grad_hook(self._hook_of(place))

    def _fill_buckets(self, order: Sequence[int]) -> None:
        """Put parameters into buckets, in the order in which gradients come."""
        self.buckets = self._make_buckets(order, self._bucket_bytes)
        self._bucket_of = {
            place: (bucket, number)
            for bucket in self.buckets
            for number, place in enumerate(bucket.places)
        }

    def _take_order(self) -> None:
        """After the first backward: buckets in the order in which rank 0 got its gradients."""
        if self._is_ordered or self.find_unused:
            return
        self._is_ordered = True
        missing = [place for place in reversed(range(len(self.params))) if place not in self._ready]
        order = wrap(np.array([*self._ready, *missing], np.int64))
        dist.broadcast(order, group=self.group, group_src=0)
        if self.views:
            # They were parts of the old buckets, and become parts of the new ones.
            each: Any
            for each in self.params:
                if each.grad is not None:
                    each.grad = each.grad.clone()
        self._fill_buckets(order._array.tolist())

    def _make_buckets(self, order: Sequence[int], most: int) -> list[Bucket]:
        """Parameters that have their gradients about the same time travel together."""
        turn = {place: number for number, place in enumerate(order)}
        filled: list[list[int]] = []
        open_buckets: dict[Any, tuple[list[int], int]] = {}
        for place in order:
            array = self.params[place]._array
            places, size = open_buckets.pop(array.dtype, ([], 0))
            limit = min(most, _FIRST_BUCKET) if not filled else most
            if places and size + array.nbytes > limit:
                filled.append(places)
                places, size = [], 0
            open_buckets[array.dtype] = ([*places, place], size + array.nbytes)
        filled += [places for places, _ in open_buckets.values()]
        filled.sort(key=lambda places: turn[places[0]])
        return [Bucket(index, places, self.params) for index, places in enumerate(filled)]

    # -- one backward --------------------------------------------------------------------------

    def prepare(self, outputs: Sequence[Tensor]) -> None:
        """Before backward: all gradients are awaited, but those that no output depends on."""
        if self._expecting and len(self._ready) < len(self.params):
            raise RuntimeError(self._unfinished())
        self._ready.clear()
        self._works.clear()
        for bucket in self.buckets:
            bucket.waiting = len(bucket.places)
        self._expecting = True
        if self.find_unused and not (self.is_static and self._unused):
            used = _leaves_of(outputs)
            self._unused = {
                place for place, param in enumerate(self.params) if id(param) not in used
            }
        if len(self._unused) == len(self.params):
            # Nobody goes backward from here: the others wait for zeros.
            self._expecting = False
        for place in sorted(self._unused) if self._expecting else ():
            self._mark(place)

    def _unfinished(self) -> str:
        missing = [name for place, name in enumerate(self.names) if place not in self._ready]
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        return (
            "Expected to have finished reduction in the prior iteration before starting a new one. "
            "This error indicates that your module has parameters that were not used in producing "
            f"loss: {shown}. Pass `find_unused_parameters=True` to DistributedDataParallel, or let "
            "the loss depend on all of them" + errors.at_user_line()
        )

    def _hook_of(self, place: int) -> Callable[[Tensor], None]:
        def ready(param: Tensor) -> None:
            if self._expecting and self.synchronizes and place not in self._ready:
                self._mark(place)

        return ready

    def _mark(self, place: int) -> None:
        """A gradient is complete: start the buckets whose turn has come."""
        self._ready[place] = None
        bucket, number = self._bucket_of[place]
        self._put(bucket, number, place)
        bucket.waiting -= 1
        while len(self._works) < len(self.buckets):
            following = self.buckets[len(self._works)]
            if following.waiting:
                return
            self._works.append(self._start(following))
        self._finish()

    def _put(self, bucket: Bucket, number: int, place: int) -> None:
        grad = self.params[place]._grad
        target = bucket.flat._array[bucket.bounds[number] : bucket.bounds[number + 1]]
        if grad is None:
            target.fill(0)
        elif not np.shares_memory(grad._array, target):
            target[:] = grad._array.reshape(-1)

    def _start(self, bucket: Bucket) -> Work | Future[Tensor]:
        if self.hook is not None:
            given = GradBucket(bucket, self.params, bucket.index == len(self.buckets) - 1)
            return self.hook(self.hook_state, given)
        flat = bucket.flat._array
        np.multiply(flat, flat.dtype.type(1 / self.divisor), out=flat)
        work = dist.all_reduce(bucket.flat, group=self.group, async_op=True)
        assert work is not None
        return work

    def _finish(self) -> None:
        """All buckets are on their way: wait, and give the parameters their gradients."""
        self._expecting = False
        used = self._used_anywhere()
        for bucket, work in zip(self.buckets, self._works):
            result: Any = work.wait()
            if self.hook is not None:
                reduced = result[0] if isinstance(result, (list, tuple)) else result
                if reduced is not bucket.flat:
                    bucket.flat._array[:] = reduced._array.reshape(-1)
            for number, place in enumerate(bucket.places):
                if used is None or used[place]:
                    self._give(bucket, number, self.params[place])
        self._works.clear()
        self._take_order()

    def _used_anywhere(self) -> np.ndarray | None:
        """Which parameters some rank has used; None where all ranks use all."""
        if not self.find_unused:
            return None
        used = np.ones(len(self.params), np.int32)
        used[sorted(self._unused)] = 0
        total = wrap(used)
        dist.all_reduce(total, op=dist.ReduceOp.MAX, group=self.group)
        return total._array

    def _give(self, bucket: Bucket, number: int, param: Any) -> None:
        view, grad = bucket.view(number), param._grad
        if grad is None:
            param.grad = view if self.views else view.clone()
        elif self.views:
            if not np.shares_memory(grad._array, view._array):
                param.grad = view
        else:
            grad._array[...] = view._array
            bump_version(grad, "DistributedDataParallel")

    # -- uneven inputs -------------------------------------------------------------------------

    def shadow(self) -> None:
        """Take part in the reductions of ranks that still have inputs, with zeros."""
        self._works.clear()
        for bucket in self.buckets:
            bucket.flat._array.fill(0)
            self._works.append(self._start(bucket))
        if self.find_unused:
            nothing = wrap(np.zeros(len(self.params), np.int32))
            dist.all_reduce(nothing, op=dist.ReduceOp.MAX, group=self.group)
        for work in self._works:
            work.wait()
        self._works.clear()
        self._take_order()


def _leaves_of(outputs: Sequence[Tensor]) -> set[int]:
    """The identities of the leaves that outputs depend on."""
    found: set[int] = set()
    seen: set[int] = set()
    pending: list[Any] = [output.grad_fn for output in outputs if output.grad_fn is not None]
    found.update(id(output) for output in outputs if output.grad_fn is None)
    while pending:
        node = pending.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.add(id(variable))
        pending.extend(following for following, _ in node.next_functions)
    return found
