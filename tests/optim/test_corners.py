"""Corners of optimizers and schedulers, under both libraries."""

from __future__ import annotations

import functools
from typing import Any

from tests.twice import outcome, raised, twice


@twice
def test_fused_optimizers_obey_the_scaler(torch: Any) -> Any:
    found = []
    for name in ("SGD", "Adam", "AdamW", "Adagrad"):
        param = torch.ones(2)
        param.grad = torch.full((2,), 4.0)
        optimizer = getattr(torch.optim, name)([param], lr=0.1, fused=True)
        optimizer.grad_scale, optimizer.found_inf = torch.tensor(2.0), torch.tensor(0.0)
        optimizer.step()
        optimizer.found_inf = torch.tensor(1.0)
        optimizer.step()
        found.append((param, param.grad, dict(optimizer.state[param])))
    return found


@twice
def test_milestones_at_zero(torch: Any) -> Any:
    schedulers = torch.optim.lr_scheduler
    found = []
    for milestones in ([0], [0, 0], [0, 2], [1]):
        optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
        parts = [
            schedulers.ConstantLR(optimizer, part / 10, 100)
            for part in range(1, len(milestones) + 2)
        ]
        scheduler = schedulers.SequentialLR(optimizer, parts, milestones)
        for _ in range(4):
            found.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
    return found


@twice
def test_schedulers_keep_their_own_copies_of_tensors(torch: Any) -> Any:
    schedulers = torch.optim.lr_scheduler
    rate, top = torch.tensor(0.1), torch.tensor(0.2)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=rate, momentum=0.5)
    scheduler = schedulers.CyclicLR(optimizer, rate, top, step_size_up=2)
    rate.mul_(0.5)
    top.mul_(0.5)
    averaging = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    torch.optim.swa_utils.SWALR(averaging, swa_lr=top)
    top.mul_(0.5)
    return scheduler.max_lrs, averaging.param_groups[0]["swa_lr"]


@twice
def test_functions_that_are_none(torch: Any) -> Any:
    schedulers = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    return [
        raised(schedulers.MultiplicativeLR, optimizer, 0.5, words=8),
        raised(schedulers.MultiplicativeLR, optimizer, [0.5], words=8),
        raised(torch.autocast("cpu"), 3, words=14),
    ]


@twice
def test_warnings_of_the_order(torch: Any) -> Any:
    schedulers = torch.optim.lr_scheduler
    optimizer = torch.optim.SGD([torch.ones(1)], lr=1.0)
    scheduler = schedulers.StepLR(optimizer, 3)
    scheduler.step()
    other = torch.optim.SGD([torch.ones(1)], lr=1.0)
    second = schedulers.StepLR(other, 3)
    other.step = lambda: None
    second.step()
    return None


@twice
def test_lbfgs_without_a_gradient(torch: Any) -> Any:
    params = [torch.ones(2), torch.zeros(1)]
    loss = torch.optim.LBFGS(params, tolerance_grad=-1.0).step(lambda: torch.tensor([10.0]))
    return loss, params


# -- lists of tensors --------------------------------------------------------------------------


@twice
def test_foreach_numbers_for_each_tensor(torch: Any) -> Any:
    def lists() -> Any:
        return [
            [torch.tensor([1.0, 2.0]), torch.tensor([3.0])],
            [torch.tensor([2.0, 2.0]), torch.tensor([5.0])],
            [torch.tensor([1.0, 4.0]), torch.tensor([2.0])],
        ]

    found = []
    for function in (torch._foreach_addcmul, torch._foreach_addcdiv, torch._foreach_addcmul_):
        for numbers in ([2.0, 3.0], [2.0], (1, 2), 3):
            found.append(outcome(function, *lists(), numbers, words=12))
        for packed in ([2.0, 3.0], [2.0], 2.0, [[2.0, 3.0]]):
            tensor = torch.tensor(packed)
            by_name = functools.partial(function, scalars=tensor)
            found.append(outcome(by_name, *lists(), words=15))
            found.append(outcome(function, *lists(), tensor, words=15))
    return found


@twice
def test_foreach_lists_that_do_not_fit(torch: Any) -> Any:
    one, two = [torch.ones(1)], [torch.ones(1), torch.ones(2)]
    add = torch._foreach_add
    return [
        raised(add, one, [], words=12),
        raised(add, one, [1.0, 2.0], words=12),
        raised(add, one, two, words=12),
        raised(add, [], [], words=12),
        raised(torch._foreach_mul, two, torch.ones(2), words=14),
        raised(torch._foreach_max, [torch.ones(0)], words=14),
        raised(torch._foreach_norm, [torch.ones(0)], float("inf"), words=14),
    ]


@twice
def test_foreach_powers(torch: Any) -> Any:
    tensors = [torch.tensor([1.0, -2.0]), torch.tensor([3.0])]
    return [
        torch._foreach_pow(2.0, tensors),
        torch._foreach_pow(tensors, [2, 3]),
        torch._foreach_powsum(tensors, 3),
        torch._foreach_powsum([torch.ones(0)], 2),
        torch._foreach_max(tensors),
        torch.randn(0, dtype=torch.int64),
    ]


@twice
def test_a_graph_is_captured_of_parameters_with_gradients(torch: Any) -> Any:
    seen = []
    for name in ("Adam", "AdamW", "NAdam", "RAdam", "ASGD", "Adadelta", "RMSprop"):
        parameter = torch.nn.Parameter(torch.ones(2))
        optimizer = getattr(torch.optim, name)([parameter], capturable=True)
        seen += [raised(optimizer.step), optimizer.step(lambda: torch.tensor(2.0))]
        parameter.grad = torch.ones(2)
        seen += [raised(optimizer.step, words=8), len(optimizer.state_dict()["state"]), parameter]
    return seen


@twice
def test_lbfgs_has_one_group(torch: Any) -> Any:
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.LBFGS([parameter])
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(2))]})
    parameter.grad = torch.ones(2)
    return [raised(optimizer.step, lambda: torch.tensor(2.0), words=8), parameter]
