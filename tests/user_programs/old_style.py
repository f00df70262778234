"""A program of 2018: Variables, factors before tensors, byte masks, optimizers of one's own."""

import math
import warnings


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    Variable = torch.autograd.Variable
    Optimizer = torch.optim.Optimizer
    torch.manual_seed(2018)

    class PlainAdam(Optimizer):
        def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
            defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
            super(PlainAdam, self).__init__(params, defaults)

        def __setstate__(self, state):
            super(PlainAdam, self).__setstate__(state)

        def step(self, closure=None):
            loss = None
            if closure is not None:
                loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    grad = p.grad.data.float()
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"] = 0
                        state["exp_avg"] = torch.zeros_like(p.data)
                        state["exp_avg_sq"] = torch.zeros_like(p.data)
                    exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
                    beta1, beta2 = group["betas"]
                    state["step"] += 1
                    if group["weight_decay"] != 0:
                        p.data.add_(-group["weight_decay"] * group["lr"], p.data)
                    exp_avg.mul_(beta1).add_(1 - beta1, grad)
                    exp_avg_sq.mul_(beta2).addcmul_(1 - beta2, grad, grad)
                    denom = exp_avg_sq.sqrt().add_(group["eps"])
                    bias1, bias2 = 1 - beta1 ** state["step"], 1 - beta2 ** state["step"]
                    step_size = group["lr"] * math.sqrt(bias2) / bias1
                    p.data.addcdiv_(-step_size, exp_avg, denom)
            return loss

    class Lookahead(Optimizer):
        """Wraps another optimizer and shares its groups; does not call Optimizer.__init__."""

        def __init__(self, optimizer, k=3, alpha=0.5):
            self.optimizer, self.k, self.alpha = optimizer, k, alpha
            self.param_groups, self.defaults = optimizer.param_groups, optimizer.defaults
            self.state = optimizer.state
            self.count = 0
            self.slow = [[p.data.clone() for p in g["params"]] for g in self.param_groups]

        def zero_grad(self):
            self.optimizer.zero_grad()

        def step(self, closure=None):
            loss = self.optimizer.step(closure)
            self.count += 1
            if self.count % self.k == 0:
                for slow, group in zip(self.slow, self.param_groups):
                    for q, p in zip(slow, group["params"]):
                        q.add_(self.alpha, p.data - q)
                        p.data.copy_(q)
            return loss

    class Net(nn.Module):
        def __init__(self):
            super(Net, self).__init__()
            self.fc1 = nn.Linear(6, 16)
            self.fc2 = nn.Linear(16, 3)
            for m in self.modules():
                if isinstance(m, nn.Linear):
                    m.weight.data.normal_(0, 0.1)
                    m.bias.data.zero_()

        def forward(self, x):
            x = F.dropout(F.relu(self.fc1(x)), training=self.training)
            return F.log_softmax(self.fc2(x), dim=1)

    x = torch.FloatTensor(40, 6).normal_()
    y = (x[:, 0] > 0).type(torch.LongTensor) + (x[:, 1] > 0).long()
    result = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("adam", "lookahead"):
            net = Net()
            opt = PlainAdam(net.parameters(), lr=0.02, weight_decay=1e-2)
            if name == "lookahead":
                opt = Lookahead(opt)
            curve = []
            for epoch in range(12):
                data, target = Variable(x), Variable(y, requires_grad=False)
                opt.zero_grad()
                loss = F.nll_loss(net(data), target, size_average=False)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 5)
                opt.step()
                curve.append(loss.data.item())
            pred = net.eval()(Variable(x)).data.max(1, keepdim=True)[1]
            correct = pred.eq(y.data.view_as(pred)).cpu().sum()
            result[name] = [curve, correct, net.fc2.weight.data]
        byte = (x > 0).type(torch.ByteTensor)
        result["bytes"] = [
            byte.sum(),
            x.masked_fill(byte.bool(), 0).sum().item(),
            x[byte.bool()].mean(),
        ]
        a, b = torch.ones(2, 3), torch.full((2, 3), 2.0)
        result["forms"] = [
            torch.add(a, 10, b), a.sub(0.5, b), torch.addcmul(a, 0.1, b, b), a.addcdiv(2, a, b),
            torch.addmm(0.5, torch.zeros(2, 2), 2, a, b.t()), torch.zeros(2).addmv(1, 3, a, b[0]),
        ]  # fmt: skip
        three = torch.tensor(3)
        result["sizes"] = [
            torch.linspace(0, 1, three), x.split(three * 8)[1].shape[0], len(x.chunk(three)),
            torch.zeros(three, 2), x.sum(three - 2).shape[0], a.repeat(three, 1).shape[0],
            x.view(-1, three).shape[0], F.one_hot(torch.arange(three), three),
        ]  # fmt: skip
        result["legacy_mean"] = nn.MSELoss(reduce=False)(a, b)

    class Bounded(nn.Parameter):
        """A parameter that knows its bounds, made as libraries make tensors of their own."""

        def __new__(cls, data, low=-1.0, requires_grad=True):
            instance = torch.Tensor._make_subclass(cls, data, requires_grad)
            instance.low = low
            return instance

    bounded = Bounded(torch.full((3,), -2.0))
    holder = nn.Linear(1, 1)
    holder.bounded = bounded
    handle = bounded.register_hook(lambda g: g * 10)
    (bounded - bounded.low).square().sum().backward()
    result["subclass"] = [type(bounded).__name__, bounded.low, bounded.grad, bounded.is_leaf]
    result["registered"] = [n for n, _ in holder.named_parameters()]
    result["handle"] = isinstance(handle, torch.utils.hooks.RemovableHandle)
    torch._C._log_api_usage_once("a library of one's own")
    logits = torch.zeros(4, dtype=torch.float64)
    mixed = F.binary_cross_entropy_with_logits(logits, torch.ones(4))
    result["mixed"] = [mixed, F.huber_loss(logits.float(), torch.ones(4, dtype=torch.float64))]
    return result
