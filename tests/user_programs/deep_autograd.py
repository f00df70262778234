"""Corners of differentiation: higher orders, kinks, graph surgery, forward mode."""


def main(torch):
    out = {}
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    y = x.sin() * x.exp()
    orders = []
    for _ in range(5):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        orders.append(y)
    out["orders"] = orders

    kinks = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
    functions = {
        "abs": torch.abs,
        "relu": torch.relu,
        "sign": torch.sign,
        "clamp": lambda t: t.clamp(-1, 1),
        "max0": lambda t: torch.maximum(t, torch.zeros(3)),
        "norm": lambda t: t.norm(),
        "max": lambda t: t.abs().max(),
        "amax": lambda t: t.abs().amax(),
        "sqrt": lambda t: t.abs().sqrt(),
        "where": lambda t: torch.where(t > 0, t, 0 * t),
        "relu6": torch.nn.functional.relu6,
        "hardtanh": torch.nn.functional.hardtanh,
        "leaky": torch.nn.functional.leaky_relu,
        "round": torch.round,
        "floor": torch.floor,
        "median": torch.median,
        "fmod": lambda t: t.fmod(1),
        "prod": lambda t: t.prod(),
        "pow": lambda t: t**2.5,
        "pow0": lambda t: t**0,
        "sort": lambda t: t.sort()[0],
        "cummax": lambda t: t.cummax(0)[0],
        "min": lambda t: torch.min(t, -t),
        "std": lambda t: (t * 0).std(),
    }
    out["kinks"] = {n: torch.autograd.grad(f(kinks).sum(), kinks)[0] for n, f in functions.items()}

    a, b = torch.randn(3, generator=torch.Generator().manual_seed(1)), torch.ones(2)
    J = torch.autograd.functional.jacobian(lambda u, v: (u.outer(v).exp(), u.sum() * v), (a, b))
    out["J"] = J
    out["J_vec"] = torch.autograd.functional.jacobian(lambda u: u**2 * u.sum(), a, vectorize=True)
    out["J_fwd"] = torch.autograd.functional.jacobian(
        lambda u: u.sin(), a, vectorize=True, strategy="forward-mode"
    )
    out["H"] = torch.autograd.functional.hessian(lambda u: (u**3).sum() * u[0], a)
    import_ad = torch.autograd.forward_ad
    with import_ad.dual_level():
        dual = import_ad.make_dual(a, torch.ones(3))
        primal, tangent = import_ad.unpack_dual((dual * 2).tanh() * dual.sum())
    out["dual"] = [primal, tangent]

    w = torch.ones(2, requires_grad=True)
    h = w * 3
    h.retain_grad()
    k = h.detach().requires_grad_()
    (k**2).sum().backward()
    h.backward(k.grad)
    out["synthetic"] = [w.grad, h.grad]
    s = torch.ones(2, requires_grad=True)
    t = s * 2
    u = (t * t).sum() + t.sum()
    (g,) = torch.autograd.grad(u, t, retain_graph=True)
    (g2,) = torch.autograd.grad(t, s, g)
    out["chained"] = [g, g2]
    stop = (s * s.detach()).sum()
    out["stop"] = torch.autograd.grad(stop, s)[0]
    m = torch.eye(2, requires_grad=True)
    out["expand"] = torch.autograd.grad(
        (m.sum(0).expand(3, 2) * torch.arange(6.0).view(3, 2)).sum(), m
    )[0]
    out["cat"] = torch.autograd.grad(torch.cat([s, s, s[:1]]).pow(2).sum(), s)[0]
    c = torch.tensor([1 + 1j, 2 - 1j], requires_grad=True)
    out["complex"] = torch.autograd.grad(
        (c * c.conj()).real.sum() + c.abs().sum() + c.imag.prod(), c
    )[0]
    out["complex_exp"] = torch.autograd.grad(torch.exp(c).real.sum() + torch.angle(c).sum(), c)[0]
    big = torch.tensor([100.0, -100.0], requires_grad=True)
    out["stable"] = [
        torch.autograd.grad(f(big).sum(), big)[0]
        for f in (
            torch.sigmoid,
            torch.nn.functional.softplus,
            torch.nn.functional.logsigmoid,
            torch.tanh,
            lambda t: t.logsumexp(0),
            lambda t: t.log_softmax(0)[1],
        )
    ]
    nan = torch.tensor([0.0, 1.0], requires_grad=True)
    out["nan_trap"] = torch.autograd.grad(torch.where(nan > 0, nan.log(), 0.0).sum(), nan)[0]
    out["gradcheck"] = torch.autograd.gradcheck(
        lambda v: v.sin() * v.cumsum(0), (a.double().requires_grad_(),)
    )
    out["gradgradcheck"] = torch.autograd.gradgradcheck(
        torch.sigmoid, (a.double().requires_grad_(),)
    )
    p = torch.ones(2, requires_grad=True)
    loss = 0
    for i in range(3):
        p2 = p * (i + 1)
        loss = loss + p2.prod()
    loss.backward(create_graph=True)
    out["create_graph"] = [p.grad.detach(), p.grad.requires_grad]
    with torch.autograd.detect_anomaly(check_nan=True):
        try:
            (torch.zeros(1, requires_grad=True).sqrt() * 0).sum().backward()
        except RuntimeError as error:
            out["anomaly"] = str(error)[:40]
    return out
