"""What is measured. Each workload is written once, against a torch-like module `t`."""

import functools
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from clew.bench.cliffs import cases
from clew.bench.cliffs.inputs import tensors_of
from clew.bench.compiled import COMPILED, FIRST_CALLS, compiled_steps
from clew.bench.models import CHECKPOINTED, MODELS, NETWORKS, train_step
from clew.bench.packaged import PACKAGED
from clew.bench.start import STARTS
from clew.bench.sweep import SWEEP
from clew.bench.transforms import TRANSFORMS

FORWARD = "forward"
BACKWARD = "forward+backward"
STEP = "step"
CALL = "call"
PEAK = "peak"
FIRST = "first calls"
PLAIN_STEP, CHECKPOINTED_STEP = "kept", "checkpointed"
DEFAULT_MODE, NO_GRAD, INFERENCE = "default", "no_grad", "inference_mode"

# The groups that are run only if they are asked for. The first has thousands of workloads, and
# those of compilers take minutes before anything is measured.
# Those of packages need the packages.
CLIFFS, COMPILED_GROUP, COMPILE_TIME, PACKAGES = "cliffs", "compiled", "compile_time", "packages"
ASKED_FOR = (CLIFFS, COMPILED_GROUP, COMPILE_TIME, PACKAGES)

# So many losses of train steps are compared between the engines.
ANSWERS = 3

STEPS = (STEP, PLAIN_STEP, CHECKPOINTED_STEP)
GRAD_MODES = (DEFAULT_MODE, NO_GRAD, INFERENCE)

# The function to measure, made for an engine: it takes the input tensors and gives one tensor.
Maker = Callable[[Any], Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Workload:
    """One row of the benchmark: something to make for an engine, and what of it to time.

    For `forward` and `forward+backward` it is a function of float32 tensors of these shapes; for
    the grad modes and the train steps it is a `Training`, which has data of its own; for `call` it
    is a function without arguments. For `peak` and for first calls a process of its own makes the
    network that has this name.
    """

    group: str
    name: str
    mode: str
    make: Maker
    shapes: tuple[Shape, ...]

    @property
    def id(self) -> str:
        return f"{self.group}/{self.name}/{self.mode}"

    @property
    def turns(self) -> str:
        """Workloads with the same word here take turns in every round.

        They are compared with each other; or short, as those of the sweep: what slows the machine
        down for a second then meets one round of many rather than all rounds of one.
        """
        name = self.name.rpartition("_")[2] if self.group == "sweep" else self.name
        return f"{self.group}/{name}"

    @property
    def is_timed(self) -> bool:
        return self.mode not in (PEAK, FIRST)

    @property
    def measures_memory(self) -> bool:
        """Whether the memory of a step is of interest, besides its time."""
        return self.mode in (PLAIN_STEP, CHECKPOINTED_STEP)


@dataclass(frozen=True)
class Prepared:
    """A workload bound to an engine: `run` is timed, `answer` gives its numbers to compare."""

    run: Callable[[], Any]
    answer: Callable[[], list[float]]


def prepare(workload: Workload, t: Any, is_compiling: bool = False) -> Prepared:
    """Bind `workload` to the torch-like module `t`, on the same numbers for every engine."""
    if workload.group == COMPILED_GROUP:
        return _prepare_compiled(workload, t, is_compiling)
    if workload.mode in STEPS:
        return _prepare_training(workload, t)
    if workload.mode in GRAD_MODES:
        return _prepare_inference(workload, t)
    if workload.group == CLIFFS:
        return _prepare_cliff(workload, t)
    function = workload.make(t)
    if workload.mode == CALL:
        return Prepared(function, lambda: [float(each.double().abs().sum()) for each in function()])
    inputs = [_input(t, shape, i) for i, shape in enumerate(workload.shapes)]

    def forward() -> Any:
        return function(*inputs)

    if workload.mode == FORWARD:
        return Prepared(forward, lambda: _numbers(forward()))

    # A gradient made beforehand, so that the reduction to a scalar is not part of the time.
    gradient = t.ones_like(forward().detach())

    def forward_and_backward() -> None:
        for x in inputs:
            x.grad = None
        function(*inputs).backward(gradient)

    def answer() -> list[float]:
        forward_and_backward()
        return [number for x in inputs for number in _numbers(x.grad)]

    return Prepared(forward_and_backward, answer)


def _prepare_cliff(workload: Workload, t: Any) -> Prepared:
    """An operation, and its gradients if it has any; tests compare the numbers."""
    function, inputs = _made(workload.make, t)
    leaves = [each for each in inputs if each.requires_grad]

    def forward() -> Any:
        with t.no_grad():
            return function(*inputs)

    def forward_and_backward() -> None:
        outputs = [each for each in tensors_of(function(*inputs)) if each.requires_grad]
        if leaves and outputs:
            t.autograd.grad(outputs, leaves, gradients, allow_unused=True)

    if workload.mode == FORWARD:
        return Prepared(forward, lambda: [])
    results = [each for each in tensors_of(function(*inputs)) if each.requires_grad]
    gradients = [t.ones_like(each.detach()) for each in results]
    return Prepared(forward_and_backward, lambda: [])


@functools.lru_cache(maxsize=1)
def _made(make: Maker, t: Any) -> Any:
    """Function and inputs of a cliff; forward and backward, which follow each other, share them."""
    return make(t)


def _prepare_training(workload: Workload, t: Any) -> Prepared:
    """One train step: clear the gradients, forward, backward, optimizer; weights by the seed."""
    t.manual_seed(0)
    step = train_step(workload.make(t))
    return Prepared(step, lambda: [float(step().detach()) for _ in range(ANSWERS)])


def _prepare_compiled(workload: Workload, t: Any, is_compiling: bool) -> Prepared:
    """A whole step, compiled or as it is written."""
    step = answering = workload.make(t)
    if is_compiling:
        step, answering = compiled_steps(workload.name, step, t)

    def answer() -> list[float]:
        found = [each for _ in range(ANSWERS) for each in answering()]
        return [float(each.detach().double().abs().sum()) for each in found]

    return Prepared(step, answer)


def _prepare_inference(workload: Workload, t: Any) -> Prepared:
    """The forward of a network for evaluation, in a grad mode that is entered for each call."""
    t.manual_seed(0)
    training = workload.make(t)
    training.model.eval()
    mode: Any = {DEFAULT_MODE: nullcontext, NO_GRAD: t.no_grad, INFERENCE: t.inference_mode}[
        workload.mode
    ]

    def forward() -> Any:
        with mode():
            return training.forward()

    def answer() -> list[float]:
        out = forward()
        return _numbers(out[0] if isinstance(out, tuple) else out)

    return Prepared(forward, answer)


def _input(t: Any, shape: Shape, which: int) -> Any:
    """Numbers between 0.25 and 1.25 in no order: fit for log, sqrt and pow as well."""
    count = 1
    for size in shape:
        count *= size
    values = [0.25 + (0.618034 * (i + 1) + 0.37 * which) % 1.0 for i in range(count)]
    return t.tensor(values).reshape(shape).requires_grad_()


def _numbers(tensor: Any) -> list[float]:
    flat: list[float] = tensor.detach().reshape(-1).tolist()
    return flat


VECTOR: Shape = (8,)
MATRIX: Shape = (8, 8)


def _tiny_chain(t: Any) -> Callable[..., Any]:
    """200 operations: 40 times mul, add, tanh, sub, and a scalar mul, as in a hand-written cell."""

    def chain(x: Any, w: Any, b: Any) -> Any:
        h = x
        for _ in range(40):
            h = t.tanh(h * w + b) - x
            h = h * 0.5
        return h

    return chain


def _cross_entropy(t: Any) -> Callable[..., Any]:
    target = t.tensor([3, 1, 4, 1, 5, 2, 6, 0])
    return lambda logits: t.nn.functional.cross_entropy(logits, target)


def _where(t: Any) -> Callable[..., Any]:
    condition = t.tensor([True, False, True, True, False, False, True, False])
    return lambda a, b: t.where(condition, a, b)


# The most used operations, in order of use: name, function, shapes of the inputs.
_OPS: tuple[tuple[str, Maker, tuple[Shape, ...]], ...] = (
    ("getitem", lambda t: lambda a: a[2:6], (VECTOR,)),
    ("add", lambda t: lambda a, b: a + b, (VECTOR, VECTOR)),
    ("mul", lambda t: lambda a, b: a * b, (VECTOR, VECTOR)),
    ("sub", lambda t: lambda a, b: a - b, (VECTOR, VECTOR)),
    ("div", lambda t: lambda a, b: a / b, (VECTOR, VECTOR)),
    ("matmul", lambda t: lambda a, b: a @ b, (MATRIX, MATRIX)),
    ("pow", lambda t: lambda a: a**2, (VECTOR,)),
    ("neg", lambda t: lambda a: -a, (VECTOR,)),
    ("sum", lambda t: lambda a: a.sum(), (VECTOR,)),
    ("mean", lambda t: lambda a: a.mean(), (VECTOR,)),
    ("cat", lambda t: lambda a, b: t.cat([a, b]), (VECTOR, VECTOR)),
    ("sqrt", lambda t: lambda a: a.sqrt(), (VECTOR,)),
    ("log", lambda t: lambda a: a.log(), (VECTOR,)),
    ("exp", lambda t: lambda a: a.exp(), (VECTOR,)),
    ("max", lambda t: lambda a: a.max(), (VECTOR,)),
    ("unsqueeze", lambda t: lambda a: a.unsqueeze(0), (VECTOR,)),
    ("clamp", lambda t: lambda a: a.clamp(0.5, 1.0), (VECTOR,)),
    ("softmax", lambda t: lambda a: t.softmax(a, dim=-1), (MATRIX,)),
    ("view", lambda t: lambda a: a.view(64), (MATRIX,)),
    ("reshape", lambda t: lambda a: a.reshape(4, 16), (MATRIX,)),
    ("norm", lambda t: lambda a: a.norm(), (VECTOR,)),
    ("squeeze", lambda t: lambda a: a.squeeze(0), ((1, 8),)),
    ("abs", lambda t: lambda a: a.abs(), (VECTOR,)),
    ("transpose", lambda t: lambda a: a.transpose(0, 1), (MATRIX,)),
    ("tanh", lambda t: lambda a: a.tanh(), (VECTOR,)),
    ("sigmoid", lambda t: lambda a: a.sigmoid(), (VECTOR,)),
    ("relu", lambda t: lambda a: t.nn.functional.relu(a), (VECTOR,)),
    ("cross_entropy", _cross_entropy, (MATRIX,)),
    ("mse_loss", lambda t: lambda a, b: t.nn.functional.mse_loss(a, b), (VECTOR, VECTOR)),
    (
        "linear",
        lambda t: lambda x, w, b: t.nn.functional.linear(x, w, b),
        (MATRIX, MATRIX, VECTOR),
    ),
    ("where", _where, (VECTOR, VECTOR)),
)


def _all_workloads() -> tuple[Workload, ...]:
    rows: list[tuple[str, str, Maker, tuple[Shape, ...]]] = [
        ("chain", "tiny200", _tiny_chain, (VECTOR, VECTOR, VECTOR)),
        *(("op", *row) for row in _OPS),
    ]
    small = [
        Workload(group, name, mode, make, shapes)
        for group, name, make, shapes in rows
        for mode in (FORWARD, BACKWARD)
    ]
    training = [Workload("train", name, STEP, make, ()) for name, make in MODELS.items()]
    memory = [Workload("memory", name, PEAK, make, ()) for name, make in MODELS.items()]
    inference = [Workload("inference", name, INFERENCE, make, ()) for name, make in MODELS.items()]
    modes = [
        Workload("modes", name, mode, make, ())
        for name, make in NETWORKS.items()
        for mode in GRAD_MODES
    ]
    checkpoint = [
        Workload("checkpoint", name, mode, make, ())
        for name, pair in CHECKPOINTED.items()
        for mode, make in zip((PLAIN_STEP, CHECKPOINTED_STEP), pair, strict=True)
    ]
    transforms = [Workload("func", name, CALL, make, ()) for name, make in TRANSFORMS.items()]
    sweep = [Workload("sweep", name, CALL, make, ()) for name, make in SWEEP.items()]
    cliffs = [
        Workload(CLIFFS, case.name, mode, case.make, ())
        for case in cases()
        for mode in (FORWARD, BACKWARD)
    ]
    compiled = [Workload(COMPILED_GROUP, name, STEP, make, ()) for name, make in COMPILED.items()]
    first = [Workload(COMPILE_TIME, name, FIRST, COMPILED[name], ()) for name in FIRST_CALLS]
    starts = [Workload("start", name, CALL, make, ()) for name, make in STARTS.items()]
    packages = [Workload(PACKAGES, name, STEP, make, ()) for name, make in PACKAGED.items()]
    return (
        *small, *training, *inference, *modes, *checkpoint, *transforms, *sweep, *starts, *memory,
        *cliffs, *compiled, *first, *packages,
    )  # fmt: skip


WORKLOADS: dict[str, Workload] = {workload.id: workload for workload in _all_workloads()}
