"""MAML with modules: functional_call over fast weights, first and second order, vs. Reptile."""

import math
from collections import OrderedDict


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    functional_call = torch.func.functional_call
    torch.manual_seed(123)

    model = nn.Sequential(
        OrderedDict(
            [
                ("l1", nn.Linear(1, 20)),
                ("act1", nn.Tanh()),
                ("l2", nn.Linear(20, 20)),
                ("act2", nn.Tanh()),
                ("l3", nn.Linear(20, 1)),
            ]
        )
    )

    def task():
        amplitude = 0.1 + 4.9 * torch.rand(())
        phase = math.pi * torch.rand(())
        return lambda x: amplitude * torch.sin(x - phase)

    def points(n=8):
        return torch.empty(n, 1).uniform_(-5, 5)

    def adapt(params, x, y, steps, lr, first_order):
        for _ in range(steps):
            loss = F.mse_loss(functional_call(model, params, (x,)), y)
            grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=not first_order)
            params = {n: p - lr * g for (n, p), g in zip(params.items(), grads)}
        return params

    curves = {}
    for kind, first_order in [("second", False), ("first", True)]:
        meta = torch.optim.Adam(model.parameters(), lr=5e-3)
        curve = []
        for it in range(6):
            meta.zero_grad(set_to_none=False)
            meta_loss = 0.0
            for _ in range(3):
                f, xs, xq = task(), points(), points()
                fast = adapt(dict(model.named_parameters()), xs, f(xs), 2, 0.02, first_order)
                meta_loss = meta_loss + F.mse_loss(functional_call(model, fast, xq), f(xq)) / 3
            meta_loss.backward()
            meta.step()
            curve.append(meta_loss.item())
        curves[kind] = curve

    # Reptile: move towards the weights after a few steps of SGD.
    before = {n: p.clone() for n, p in model.state_dict().items()}
    reptile = []
    for it in range(4):
        f, x = task(), points()
        sgd = torch.optim.SGD(model.parameters(), lr=0.02)
        for _ in range(4):
            sgd.zero_grad()
            loss = nn.functional.mse_loss(model(x), f(x))
            loss.backward()
            sgd.step()
        after = model.state_dict()
        before = {n: before[n] + 0.5 * (after[n] - before[n]) for n in before}
        model.load_state_dict(before)
        reptile.append(loss.item())

    # The same model seen as one vector.
    flat = nn.utils.parameters_to_vector(model.parameters())
    nn.utils.vector_to_parameters(torch.ones_like(flat) * 0.1, model.parameters())
    return {
        "curves": curves,
        "reptile": reptile,
        "flat": flat,
        "constant": model(torch.zeros(1, 1)),
        "names": list(before),
    }
