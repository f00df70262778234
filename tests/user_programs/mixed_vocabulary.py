"""Less common names that still turn up in scripts: one call each, checked with gradients."""


def main(torch):
    torch.manual_seed(130)
    x = (torch.rand(3, 4, dtype=torch.float64) + 0.5).requires_grad_()
    y = torch.rand(3, 4, dtype=torch.float64) + 0.5
    differentiable = {
        "addcmul": torch.addcmul(x, x, y, value=0.3), "hypot": torch.hypot(x, y), "xlogy": torch.xlogy(x, y),
        "logaddexp2": torch.logaddexp2(x, y), "atan2": x.atan2(y), "fmod": torch.fmod(x, 0.7),
        "remainder": torch.remainder(x, y), "copysign": torch.copysign(x, -y), "frac": torch.frac(x * 3),
        "lgamma": torch.lgamma(x), "digamma": x.digamma(), "erf": x.erf(), "erfinv": (x / 3).erfinv(),
        "expm1": x.expm1(), "sinc": torch.sinc(x), "log2": x.log2(), "logit": torch.logit(x / 3),
        "polygamma": torch.polygamma(1, x), "i0": torch.i0(x), "nan_to_num": torch.nan_to_num(x / (y - y)),
        "renorm": torch.renorm(x, 2, 0, 1.0), "cross": torch.cross(x[:, :3], y[:, :3], dim=1),
        "diag_embed": torch.diag_embed(x), "diagflat": torch.diagflat(x[0]), "triu": x.triu(1),
        "movedim": torch.movedim(x, 0, -1), "unflatten": x.unflatten(1, (2, 2)), "swapaxes": x.swapaxes(0, 1),
        "dstack": torch.dstack([x, y]), "column_stack": torch.column_stack([x, x]), "fliplr": torch.fliplr(x),
        "addmv": torch.addmv(y[:, 0], x, y[0]), "addr": torch.addr(x, y[:, 0], y[0]), "ger": torch.outer(x[0], y[0]),
        "cumtrapz": torch.cumulative_trapezoid(x), "gradient": torch.gradient(x)[0],
        "logcumsumexp": x.logcumsumexp(0), "dist": torch.dist(x, y, 3), "median": x.median(1).values,
        "tensor_split": torch.tensor_split(x, 3, dim=1)[0], "unbind": torch.unbind(x)[1],
        "index_select": x.index_select(1, torch.tensor([3, 0])), "take": x.take(torch.tensor([5, 5])),
        "mvlgamma": torch.mvlgamma(x + 2, 2), "softmax2": torch.special.log_softmax(x, 1),
        "cumprod": x.cumprod(1), "prod": x.prod(), "var": x.var(dim=(0, 1)), "amax": x.amax(1),
        "float_power": torch.float_power(x, 2), "ldexp": torch.ldexp(x, torch.tensor([2])),
        "rsub": torch.rsub(x, 1), "true_divide": torch.true_divide(x, 3), "lerp": torch.lerp(x, y, y),
        "clamp_t": torch.clamp(x, min=y), "fmax": torch.fmax(x, y), "heav": torch.where(x > 1, x, 0.0) * 2,
        "nanmean": torch.nanmean(x), "bmm": torch.chain_matmul(x, y.T, x), "celu": torch.celu(x - 1),
        "stack": torch.stack([x, y], -1), "roll": x.roll(1), "std": x.std(1), "norm": torch.norm(x, dim=1, p=3),
        "view_as": x.view(12).view_as(y), "expand_as": x[:1].expand_as(y), "narrow": x.narrow(1, 1, 2),
        "square": x.square(), "abs": (x - 1).abs(), "sgn": x.sgn() * x, "deg": torch.rad2deg(x), "exp2": x.exp2(),
        "slogdet": torch.slogdet(x[:, :3])[1], "bilinear": torch.nn.functional.bilinear(x, y, torch.ones(2, 4, 4).double()),
        "put": x.put(torch.tensor([0, 1]), torch.tensor([5.0, 6.0]).double()), "masked_scatter": x.masked_scatter(y > 1, y),
        "index_fill": x.index_fill(0, torch.tensor([1]), 0.0), "select_scatter": x.select_scatter(y[0], 0, 1),
        "slice_scatter": x.slice_scatter(y[:1], 0, 1, 2), "diagonal_scatter": x.diagonal_scatter(y[0, :3]),
        "cosine": torch.cosine_similarity(x, y), "pixel": torch.pixel_shuffle(x.view(1, 4, 3, 1), 2),
        "unfold": x.unfold(0, 2, 1), "repeat_i": x.repeat_interleave(2, 0), "kron": torch.kron(x[:2, :2], y[:2, :2]),
        "cov": torch.cov(x), "matrix_exp": torch.matrix_exp(x[:, :3]),
        "signbit": torch.signbit(x - 1) * x, "nansum": x.nansum(), "aminmax": x.aminmax()[1],
    }
    grads = {name: torch.autograd.grad(v.sum(), x, retain_graph=True)[0]
             for name, v in differentiable.items() if v.requires_grad}
    nodes = {name: v.grad_fn.name() for name, v in differentiable.items() if v.requires_grad}
    integers = [torch.gcd(torch.tensor([12, 18]), torch.tensor(8)), torch.lcm(torch.tensor(4), torch.tensor(6)),
                torch.bitwise_left_shift(torch.tensor([1, 2]), 3), torch.tensor([5, -5]).fmod(3),
                torch.tensor([5, -5]) // 3, torch.tensor([5, -5]) % 3, torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc"),
                torch.floor_divide(torch.tensor([7, -7]), 2), torch.frexp(torch.tensor([3.0, 10.0]))[1],
                torch.nextafter(torch.tensor(1.0), torch.tensor(2.0)), torch.signbit(torch.tensor([-0.0, 1.0])),
                torch.logical_xor(torch.tensor([True, False]), torch.tensor([True, True])), torch.tensor([1.5, 2.5]).round(),
                torch.round(torch.tensor([1.234]), decimals=2), torch.isposinf(torch.tensor([float("inf")])),
                torch.numel(x), torch.is_tensor(x), torch.is_nonzero(torch.tensor(1)), torch.tensor(7).bitwise_not()]
    return {"values": differentiable, "grads": grads, "nodes": nodes, "integers": integers}
