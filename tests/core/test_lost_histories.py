"""Views whose history is lost or was never there, memory that is taken over, edges that end."""

from __future__ import annotations

import pytest

from tests.statements import assert_agree

# How a view is made whose history is lost when its base is written to.
LOST = {
    "split": "v = b.split(2)[0]",
    "no_grad": "with T.no_grad(): v = b.view(-1)",
    "inference": "with T.inference_mode(): v = b.view(-1)",
}
READS = [
    "v == v", "v > 0", "v.isnan()", "v.argmax()", "v.nonzero()", "v.signbit()", "v.any()",
    "v.equal(v)", "v.int()", "v.bool()", "v.to(T.int64)", "v.tolist()", "v * 2", "v.floor()",
    "v.sort()", "v.view(-1)", "v.requires_grad", "v.grad_fn", "v.view(T.float32)",
    "v.view(T.int16)", "v.argsort()", "v.isclose(v)",
]  # fmt: skip


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("kind", LOST)
def test_only_what_needs_a_history_asks_for_it(kind: str, read: str) -> None:
    assert_agree(f"""
        b = T.arange(4.0) * T.ones(4, requires_grad=True)
        {LOST[kind]}
        with T.no_grad(): b.mul_(2)
        {read}
    """)


@pytest.mark.parametrize("use", ["v * v", "v.exp()", "v * 2", "v.sum()", "v.cos()"])
@pytest.mark.parametrize("asks", ["v.requires_grad_()", "v.requires_grad"])
@pytest.mark.parametrize("mode", ["no_grad", "enable_grad"])
@pytest.mark.parametrize("kind", LOST)
def test_backward_says_that_the_view_has_lost_its_history(
    kind: str, mode: str, asks: str, use: str
) -> None:
    assert_agree(f"""
        b = T.arange(4.0) * T.ones(4, requires_grad=True)
        {LOST[kind]}
        {asks}
        y = {use}
        with T.{mode}(): b.add_(1)
        y.sum().backward()
        v.grad
    """)


def test_a_leaf_that_was_moved_is_named_also_without_a_gradient() -> None:
    assert_agree("""
        x = T.ones(2, 2, requires_grad=True)
        y = x.clone()
        x.detach_()
        x.div_(y)
        x.norm(0).backward()
    """)


def test_backward_from_views_in_no_graph() -> None:
    assert_agree("""
        x = T.ones(2, requires_grad=True)
        with T.no_grad(): v = x.view(-1)
        v.requires_grad, v.is_leaf
        v.backward(T.ones(2))
        T.autograd.grad(v, v, T.ones(2))
        T.autograd.graph.get_gradient_edge(v)
        (v * 2).sum().backward()
        x.grad
        y = v.unique()
        y.grad_fn.name()
        y.sum().backward()
        early = T.ones(2)
        w = early.view(-1)
        early.requires_grad_() is early
        w.backward(T.ones(2))
    """)


SET = [
    "y.set_(T.zeros(3))", "y.set_(y.clone())", "y.set_()", "y.set_(T.zeros(4).untyped_storage())",
    "y[:2].set_(T.zeros(2))", "T.zeros(2).set_(x)", "T.zeros(2).set_(y)", "x.set_(T.zeros(3))",
]  # fmt: skip


@pytest.mark.parametrize("call", SET)
def test_memory_that_is_taken_over(call: str) -> None:
    assert_agree(f"""
        x = T.ones(4, requires_grad=True)
        y = x * 2
        part = y[:2]
        r = {call}
        y, y._version, y.requires_grad, part._version
        y.grad_fn.name(), part.grad_fn.name()
        r.grad_fn.name()
        y.sum().backward()
        r.sum().backward()
    """)


def test_memory_that_is_taken_over_under_no_grad() -> None:
    assert_agree("""
        x = T.ones(4, requires_grad=True)
        y = x * 2
        with T.no_grad(): y.set_(T.zeros(4))
        y, y._version
        with T.no_grad(): x.set_(T.zeros(3))
        x, x.is_leaf
    """)


@pytest.mark.parametrize("other", ["x.detach()", "x.data", "x.view(T.float64)", "x.view(T.int32)"])
@pytest.mark.parametrize("call", ["t_()", "squeeze_()", "unsqueeze_(0)", "transpose_(0, 1)"])
def test_views_follow_their_base_and_no_other_tensor(other: str, call: str) -> None:
    """Memory is also shared by tensors that are no views; what they become does not matter."""
    assert_agree(f"""
        w = T.arange(8.0).requires_grad_()
        x = (w * 2).view(2, 4) * 1
        v, part = x.view(-1), x[1:, :2]
        d = {other}
        d = d.{call}
        v.grad_fn.name(), part.grad_fn.name(), x.shape, x._version
        part.mul_(3)
        v.grad_fn.name(), v
        (v * T.arange(8.0)).sum().backward()
        w.grad
    """)


def test_inference_tensors_that_were_detached() -> None:
    assert_agree("""
        w = T.ones(2, requires_grad=True)
        with T.inference_mode(): v = w * 2
        d = v.detach()
        d.is_inference(), d._version, v.data.is_inference(), v.data._version
        d.add_(1), d._version, v
        v._version
        v.add_(1)
        w * d
        d.requires_grad_()
        d[0].is_inference(), d.clone().is_inference()
        d[0]._version
        d[0].add_(1)
        with T.inference_mode(): e = d.detach()
        e._version
    """)


INPLACE_VIEWS = ["squeeze_()", "squeeze_(0)", "unsqueeze_(0)", "t_()", "transpose_(0, 0)"]


@pytest.mark.parametrize("call", INPLACE_VIEWS)
@pytest.mark.parametrize("made", ["y[0]", "y[0, 0]", "y.sum()", "y[:1]"])
def test_views_made_in_place_and_then_written_to(made: str, call: str) -> None:
    assert_agree(f"""
        x = T.ones(2, 3, requires_grad=True)
        y = x * 2
        v = {made}
        v.{call}
        v.grad_fn.name(), v._version
        v.mul_(2)
        v.grad_fn.name(), y.grad_fn.name()
        y.mul_(2)
        v.grad_fn.name()
        v.sum().backward()
        x.grad
    """)


@pytest.mark.parametrize("part", [
    "x[:, ::2].reshape(-1)", "x.t().reshape(3, 2, 4)", "x.expand(2, 4, 6).reshape(2, 24)",
    "x.reshape(-1)", "x.t().reshape(-1)", "x[0].reshape(2, 3)", "x[:, :3].flatten(0, 0)",
    "x[-9:, :]", "x[..., -6:]", "x[0:9, :]", "x[:0, :][1:, :]", "x[:0, :][:-1, :]",
])  # fmt: skip
def test_names_of_views(part: str) -> None:
    assert_agree(f"""
        x = T.ones(4, 6, requires_grad=True)
        y = {part}
        y.grad_fn.name(), y.shape
        y.sum().backward()
        x.grad
    """)


# Gradients that PyTorch computes from the input as well, and so have a history.
FROM_THE_INPUT = [
    "F.avg_pool1d(x, 2)", "F.max_pool1d(x, 2)", "F.avg_pool2d(x[None], 2)",
    "F.max_pool2d(x[None], 2)", "F.adaptive_max_pool1d(x, 1)",
    "F.avg_pool3d(x[None, None], (1, 2, 2))", "F.pad(x, (1, 0), 'reflect')",
    "F.pad(x, (1, 1), 'replicate')", "F.nll_loss(x, T.tensor([0, 1]))",
    "F.conv1d(x, T.ones(1, 2, 1))", "F.conv_transpose1d(x, T.ones(2, 1, 1))",
    "F.adaptive_avg_pool1d(x, 1)", "F.interpolate(x[None], scale_factor=2)", "x.sum(0)",
    "x.as_strided((0,), (1,))", "x.repeat(0, 2)", "x.index_select(0, T.tensor([0, 0]))",
    "x.gather(0, T.zeros(2, 2, dtype=T.int64))", "x[T.tensor([0, 0])]", "x.sort().values",
]  # fmt: skip


@pytest.mark.parametrize("call", FROM_THE_INPUT)
def test_gradients_with_create_graph(call: str) -> None:
    assert_agree(f"""
        x = T.tensor([[0.5, 0.25], [0.75, 0.4]], requires_grad=True)
        y = {call}
        (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
        g.requires_grad, g.tolist()
        g.sum().backward()
        x.grad
        (g,) = T.autograd.grad({call}, x, T.ones_like(y).requires_grad_(), create_graph=True)
        g.requires_grad, g.tolist()
    """)


@pytest.mark.parametrize("call", ["swapaxes_(0, 1)", "t_()", "squeeze_()", "zero_()"])
@pytest.mark.parametrize("made", ["unsqueeze(1)", "unsqueeze(1).unsqueeze(0)[0]"])
def test_bases_that_require_grad_after_their_views_changed(made: str, call: str) -> None:
    assert_agree(f"""
        b = T.arange(3.0)
        v = b.{made}
        v = v.{call}
        b.requires_grad = True
        v.is_leaf, v.requires_grad, v.grad_fn.name()
        v.sum().backward()
        b.grad
    """)


@pytest.mark.parametrize("kind", LOST)
def test_gradients_that_are_retained_already(kind: str) -> None:
    assert_agree(f"""
        b = T.arange(4.0) * T.ones(4, requires_grad=True)
        {LOST[kind]}
        v.retain_grad()
        with T.no_grad(): b.mul_(2)
        v.retain_grad()
        v.retains_grad
    """)


@pytest.mark.parametrize("change", ["b.resize_(2)", "b.resize_(2, 3)", "T.sum(w, 0, out=b)"])
def test_views_of_bases_that_got_another_shape(change: str) -> None:
    assert_agree(f"""
        b = T.arange(6.0) * 1
        v, w = b[1:4], b.view(2, 3)
        b = {change}
        b = b.requires_grad_()
        v, v.requires_grad, v.is_leaf
        w, w.requires_grad, w.grad_fn.name()
    """)
