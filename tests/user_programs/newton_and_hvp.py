"""Second-order methods: Hessians, Hessian-vector products, Newton, conjugate gradients."""


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def main(torch):
    x = torch.tensor([-1.2, 1.0, 0.8], dtype=torch.float64)
    path = [rosenbrock(x).item()]
    for _ in range(10):
        g = torch.autograd.functional.jacobian(rosenbrock, x)
        H = torch.autograd.functional.hessian(rosenbrock, x)
        evals = torch.linalg.eigvalsh(H)
        shift = max(0.0, 1e-3 - evals.min().item())
        step = torch.linalg.solve(H + shift * torch.eye(3, dtype=H.dtype), g)
        x = x - step
        path.append(rosenbrock(x).item())

    v = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    value, hv = torch.autograd.functional.hvp(rosenbrock, x, v)
    _, vh = torch.autograd.functional.vhp(rosenbrock, x, v)
    _, jv = torch.autograd.functional.jvp(lambda t: t.outer(t).sin(), x, v)
    _, vj = torch.autograd.functional.vjp(lambda t: t.cumsum(0) ** 2, x, v)

    leaf = torch.full((3,), 0.3, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(rosenbrock(leaf), leaf, create_graph=True)
    rows = torch.stack([torch.autograd.grad(gi, leaf, retain_graph=True)[0] for gi in g])

    # Conjugate gradients that see the Hessian only through products.
    b, sol = torch.ones(3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64)
    r, p = b.clone(), b.clone()
    for _ in range(3):
        Hp = torch.autograd.grad(g, leaf, grad_outputs=p, retain_graph=True)[0]
        alpha = r.dot(r) / p.dot(Hp)
        sol, new = sol + alpha * p, r - alpha * Hp
        p, r = new + (new @ new) / (r @ r) * p, new
    trace = sum(
        torch.autograd.grad(g @ e, leaf, retain_graph=True)[0] @ e
        for e in torch.eye(3, dtype=torch.float64)
    )
    two = torch.autograd.functional.hessian(
        lambda a, b: (a @ b).tanh().sum(), (torch.arange(4.0).view(2, 2), torch.ones(2))
    )
    return {
        "path": path,
        "x": x,
        "value": value,
        "hv": hv,
        "vh": vh,
        "jv": jv,
        "vj": vj,
        "rows": rows,
        "sol": sol,
        "trace": trace,
        "two": two,
    }
