"""autograd.Function: straight-through, saved masks, in-place, several outputs, double backward."""


def main(torch):
    Function = torch.autograd.Function

    class STE(Function):
        @staticmethod
        def forward(ctx, x):
            return torch.sign(x)

        @staticmethod
        def backward(ctx, g):
            return g

    class MyReLU(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mask = x > 0
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.mask

    class InplaceScale(Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            x.mul_(factor)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * ctx.factor, None

    class Polar(Function):
        @staticmethod
        def forward(ctx, x, y):
            r, theta = torch.hypot(x, y), torch.atan2(y, x)
            ctx.save_for_backward(x, y, r)
            return r, theta

        @staticmethod
        def backward(ctx, gr, gt):
            x, y, r = ctx.saved_tensors
            gx = gr * x / r - gt * y / r**2 if ctx.needs_input_grad[0] else None
            gy = gr * y / r + gt * x / r**2 if ctx.needs_input_grad[1] else None
            return gx, gy

    class Cube(Function):
        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    class GradReverse(Function):
        @staticmethod
        def forward(ctx, x, lam):
            ctx.lam = lam
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -ctx.lam * g, None

    class SortWithIndex(Function):
        @staticmethod
        def forward(ctx, x):
            values, index = x.sort()
            ctx.mark_non_differentiable(index)
            ctx.save_for_backward(index)
            return values, index

        @staticmethod
        def backward(ctx, g, _):
            (index,) = ctx.saved_tensors
            return torch.zeros_like(g).scatter(-1, index, g)

    torch.manual_seed(0)
    out = {}
    x = torch.randn(6, requires_grad=True)
    w = torch.randn(6)
    out["ste"] = torch.autograd.grad((STE.apply(x) * w).sum(), x)[0]
    out["relu"] = torch.autograd.grad((MyReLU.apply(x) * w).sum(), x)[0]
    y = x * 1.0
    z = InplaceScale.apply(y, 3.0)
    out["same"] = z is y
    out["names"] = [z.grad_fn.name(), STE.apply(x).grad_fn.name(), str(type(z.grad_fn).__name__)]
    out["inplace"] = torch.autograd.grad((z * w).sum(), x)[0]
    a, b = torch.tensor(3.0, requires_grad=True), torch.tensor(4.0, requires_grad=True)
    r, theta = Polar.apply(a, b)
    out["r"], out["theta"] = r, theta
    (r * theta).backward()
    out["polar"] = [a.grad, b.grad]
    c = torch.tensor([1.0, 2.0], requires_grad=True)
    (g1,) = torch.autograd.grad(Cube.apply(c).sum(), c, create_graph=True)
    (g2,) = torch.autograd.grad(g1.sum(), c, create_graph=True)
    out["cube"] = [g1, g2, torch.autograd.grad(g2.sum(), c)[0]]
    out["reverse"] = torch.autograd.grad(GradReverse.apply(x, 0.5).pow(2).sum(), x)[0]
    values, index = SortWithIndex.apply(x)
    out["index_grad"] = index.requires_grad
    out["sort"] = torch.autograd.grad((values * w).sum(), x)[0]
    out["gradcheck"] = torch.autograd.gradcheck(Cube.apply, c.detach().double().requires_grad_())

    # Binary network with the straight-through estimator, a few steps.
    weights = (torch.randn(5, 3) * 0.5).requires_grad_()
    data = torch.randn(20, 5)
    target = (data @ torch.tensor([1.0, -1, 1, -1, 1])).sign()
    losses = []
    for _ in range(15):
        loss = torch.nn.functional.soft_margin_loss((data @ STE.apply(weights)).mean(1), target)
        loss.backward()
        weights.data.add_(weights.grad, alpha=-0.3).clamp_(-1, 1)
        weights.grad.zero_()
        losses.append(loss.item())
    out["losses"] = losses
    return out
