"""Every printed form, compared to the letter."""


def main(torch):
    torch.manual_seed(90)
    leaf = torch.tensor([1.5, -2.25], requires_grad=True)
    things = [
        torch.tensor(3),
        torch.tensor(3.0),
        torch.tensor(2.5),
        torch.tensor(True),
        torch.tensor([]),
        torch.tensor([1, 2, 3]),
        torch.tensor([1.0, 2.0]),
        torch.tensor([0.1, 123.456]),
        torch.tensor([1e-8, 1.0]),
        torch.tensor([1e10, 1.0]),
        torch.tensor([1e5, 1.5]),
        torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0]),
        torch.tensor([1e-3, 1.0]),
        torch.tensor([[True, False]]),
        torch.tensor([1 + 2j, -3.5j]),
        torch.zeros(2, 0, 3),
        torch.arange(2000),
        torch.rand(3, 3),
        torch.randn(50, 50),
        torch.ones(2, 3, 4),
        torch.tensor([1, 2], dtype=torch.int8),
        torch.tensor([1.0], dtype=torch.float64),
        torch.tensor([1.0, 2.5], dtype=torch.float16),
        torch.tensor([1.0], dtype=torch.bfloat16),
        torch.tensor([200], dtype=torch.uint8),
        torch.tensor([-1, 100000]),
        torch.eye(3),
        torch.tensor([1e-40, 1.0]),
        torch.tensor([123456789.0]),
        torch.tensor(1e20),
        leaf,
        leaf * 2,
        leaf.sum(),
        (leaf * 2).view(2, 1),
        leaf.detach(),
        leaf.relu(),
        (leaf > 0),
        leaf[0],
        torch.empty(0, dtype=torch.int64),
        torch.zeros(1, 1, 1, 1),
        torch.linspace(0, 1, 30),
        torch.tensor([0.00001, 0.0001]),
        torch.full((2, 2), 1e6),
        torch.full((2,), 99999999.0),
        torch.tensor([-0.0, 0.0]),
        torch.randint(-5, 1000, (4, 4)),
        torch.rand(2, 2).double(),
        leaf.exp().unsqueeze(0),
        torch.arange(12).view(3, 4).T,
        torch.tensor([[1.0]], dtype=torch.cdouble),
        torch.nn.functional.softmax(leaf, 0),
        torch.float32,
        torch.int64,
        torch.device("cpu"),
        torch.zeros(2, 3).shape,
        torch.zeros(2).size(),
        torch.bfloat16,
        torch.strided,
        torch.tensor([1.0, 2.0]).to(torch.complex64),
        torch.ones(3, 200),
        torch.rand(10, 1, 120),
        torch.tensor([2.0**31, 2.0**40]),
        torch.tensor([9.99995, 1.0]),
        torch.tensor([0.99999]),
        torch.tensor([1.0, 1e-5]),
        torch.tensor([1000.5, 0.001]),
        torch.tensor([33333.333, 2.0]),
    ]
    sliced = leaf * 1
    sliced[0] = 5

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    things += [
        sliced,
        Twice.apply(leaf),
        torch.eye(2).max(dim=1),
        torch.tensor([3.0, 1.0, 2.0]).sort(),
        leaf.topk(1),
        [torch.tensor(1), (torch.tensor([2.0]), None)],
        {"w": leaf},
    ]
    texts = [repr(t) for t in things] + [str(t) for t in things[:10]]
    texts += [
        f"{torch.tensor(3.14159):.2f}",
        f"{torch.tensor(7)}",
        f"{torch.tensor(7):>5d}",
        f"{torch.tensor([1.0, 2.0])}",
        "{:.3e}".format(torch.tensor(12345.678)),
        "%.4f" % torch.tensor(0.5),
        "%d" % torch.tensor(9),
        f"{torch.tensor(True)}",
        f"loss={leaf.sum().item():.4f} shape={leaf.shape} grad_fn={(leaf * 2).grad_fn is None}",
    ]
    kinds = [
        type(torch.zeros(1)).__name__,
        torch.zeros(2, 3).type(),
        str(torch.zeros(1).dtype),
        torch.zeros(1).device.type,
        str(torch.Size([1, 2])),
        repr(torch.Size([])),
        leaf.type(),
        torch.tensor([1]).type(),
        torch.tensor([True]).type(),
        str(leaf.grad),
        str(leaf.layout),
    ]
    torch.set_printoptions(precision=2, sci_mode=False, linewidth=40, threshold=20, edgeitems=2)
    texts += [str(torch.rand(6, 6)), str(torch.tensor([1e-5, 1e5])), str(torch.arange(30))]
    torch.set_printoptions(sci_mode=True)
    texts += [str(torch.tensor([1.0, 2000.0]))]
    torch.set_printoptions(profile="full")
    texts += [str(torch.rand(40, 2))]
    torch.set_printoptions(profile="short")
    texts += [str(torch.rand(9))]
    torch.set_printoptions(profile="default", sci_mode=None)
    return {"texts": texts, "kinds": kinds}
