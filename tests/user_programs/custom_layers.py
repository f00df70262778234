"""Layers of one's own: autograd Functions, ParameterList and Dict, ModuleDict, gates, buffers."""

import math


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(61)

    class LinearFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, input, weight, bias=None):
            ctx.save_for_backward(input, weight, bias)
            output = input.mm(weight.t())
            if bias is not None:
                output += bias.unsqueeze(0).expand_as(output)
            return output

        @staticmethod
        def backward(ctx, grad_output):
            input, weight, bias = ctx.saved_tensors
            grad_input = grad_weight = grad_bias = None
            if ctx.needs_input_grad[0]:
                grad_input = grad_output.mm(weight)
            if ctx.needs_input_grad[1]:
                grad_weight = grad_output.t().mm(input)
            if bias is not None and ctx.needs_input_grad[2]:
                grad_bias = grad_output.sum(0)
            return grad_input, grad_weight, grad_bias

    class Linear(nn.Module):
        def __init__(self, input_features, output_features, bias=True):
            super().__init__()
            self.input_features = input_features
            self.output_features = output_features
            self.weight = nn.Parameter(torch.empty(output_features, input_features))
            if bias:
                self.bias = nn.Parameter(torch.empty(output_features))
            else:
                self.register_parameter("bias", None)
            nn.init.uniform_(self.weight, -0.1, 0.1)
            if self.bias is not None:
                nn.init.uniform_(self.bias, -0.1, 0.1)

        def forward(self, input):
            return LinearFunction.apply(input, self.weight, self.bias)

        def extra_repr(self):
            return "input_features={}, output_features={}, bias={}".format(
                self.input_features, self.output_features, self.bias is not None
            )

    class GradReverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, lambd):
            ctx.lambd = lambd
            return x.view_as(x)

        @staticmethod
        def backward(ctx, grad_output):
            return grad_output.neg() * ctx.lambd, None

    class SignSTE(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return torch.sign(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1).float()

    class MixtureOfExperts(nn.Module):
        def __init__(self, d, n):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
            self.gate = nn.Linear(d, n, bias=False)
            self.register_buffer("load", torch.zeros(n))

        def forward(self, x, k=2):
            weights, chosen = torch.topk(self.gate(x), k, dim=-1)
            weights = F.softmax(weights, dim=-1)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                row, which = torch.where(chosen == i)
                if row.numel():
                    out.index_add_(0, row, weights[row, which, None] * expert(x[row]))
            with torch.no_grad():
                self.load += torch.bincount(chosen.flatten(), minlength=len(self.experts))
            return out

    class Zoo(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Linear(4, 8)
            self.mix = MixtureOfExperts(8, 3)
            self.scales = nn.ParameterList([nn.Parameter(torch.ones(8)) for _ in range(2)])
            self.scales.append(torch.randn(8) * 0.1 + 1)
            self.tables = nn.ParameterDict(
                {"shift": torch.zeros(8), "gain": nn.Parameter(torch.ones(1))}
            )
            self.heads = nn.ModuleDict({"class": nn.Linear(8, 3), "domain": nn.Linear(8, 2)})
            self.acts = nn.ModuleDict([["lrelu", nn.LeakyReLU()], ["prelu", nn.PReLU(8)]])
            freq = torch.exp(torch.arange(0, 4) * -(math.log(100.0) / 4))
            self.register_buffer("freq", freq)
            self.temperature = nn.Parameter(torch.tensor(1.0), requires_grad=False)

        def forward(self, x, lambd):
            h = self.first(torch.sin(x * self.freq))
            h = self.acts["prelu"](h) + SignSTE.apply(h) * 0.1
            h = self.mix(h)
            for s in self.scales:
                h = h * s
            h = (h + self.tables["shift"]) * self.tables["gain"] / self.temperature
            heads = {"class": self.heads["class"](h)}
            heads["domain"] = self.heads["domain"](GradReverse.apply(h, lambd))
            return heads

    model = Zoo()
    x = torch.randn(24, 4)
    labels, domain = torch.randint(0, 3, (24,)), (x[:, 0] > 0).long()
    opt = torch.optim.RAdam((p for p in model.parameters() if p.requires_grad), lr=0.02)
    curve = []
    for step in range(15):
        out = model(x, 2.0 / (1.0 + math.exp(-10 * step / 15)) - 1)
        loss = F.cross_entropy(out["class"], labels) + F.cross_entropy(out["domain"], domain)
        opt.zero_grad()
        loss.backward()
        opt.step()
        curve.append(loss.item())
    double = Linear(3, 2).double()
    check = torch.autograd.gradcheck(
        double, (torch.randn(2, 3, dtype=torch.float64, requires_grad=True),)
    )
    return {
        "curve": curve,
        "repr": repr(model),
        "keys": {k: tuple(v.shape) for k, v in model.state_dict().items()},
        "load": model.mix.load,
        "scales": list(model.scales),
        "gain": model.tables["gain"],
        "gradcheck": check,
        "children": [n for n, _ in model.named_children()],
        "count": sum(1 for _ in model.modules()),
    }
