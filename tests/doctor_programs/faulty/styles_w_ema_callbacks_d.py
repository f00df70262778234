# expect: data-leak line 84
import copy
import torch
import torch.nn as nn


class Callback:
    def on_start(self, loop): ...
    def on_backward(self, loop): ...
    def on_step(self, loop): ...
    def on_epoch(self, loop): ...


class EMA(Callback):
    def __init__(self, decay=0.95):
        self.decay = decay

    def on_start(self, loop):
        self.shadow = {k: v.detach().clone() for k, v in loop.model.state_dict().items()}

    def on_step(self, loop):
        for k, v in loop.model.state_dict().items():
            if v.dtype.is_floating_point:
                self.shadow[k].lerp_(v, 1 - self.decay)


class Clip(Callback):
    def on_backward(self, loop):
        nn.utils.clip_grad_value_(loop.model.parameters(), 0.5)


class Warmup(Callback):
    def __init__(self, steps):
        self.steps = steps

    def on_start(self, loop):
        self.s = torch.optim.lr_scheduler.LinearLR(loop.opt, 0.1, 1.0, self.steps)

    def on_step(self, loop):
        self.s.step()


class Cleaner(Callback):
    def on_step(self, loop):
        loop.opt.zero_grad()

    on_backward = on_step


class Validate(Callback):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def on_epoch(self, loop):
        loop.model.eval()
        with torch.no_grad():
            print("val", round(loop.crit(loop.model(self.x), self.y).item(), 4))
        loop.model.train()


class Loop:
    def __init__(self, model, opt, crit, callbacks):
        self.model, self.opt, self.crit, self.callbacks = model, opt, crit, callbacks

    def call(self, event):
        for c in self.callbacks:
            getattr(c, event)(self)

    def fit(self, x, y, epochs):
        self.call("on_start")
        for _ in range(epochs):
            for i in torch.randperm(len(x)).split(25):
                self.crit(self.model(x[i]), y[i]).backward()
                self.call("on_backward")
                self.opt.step()
                self.call("on_step")
            self.call("on_epoch")


torch.manual_seed(16)
X = torch.randn(300, 9)
Y = X[:, :1] * 2 - X[:, 1:2] + 0.1 * torch.randn(300, 1)
net = nn.Sequential(nn.Linear(9, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 1))
callbacks = [EMA(), Clip(), Warmup(20), Validate(X[150:], Y[150:])]
class Plain(Callback):
    def on_step(self, loop):
        loop.opt.zero_grad()
callbacks.append(Cleaner() if False else Plain())
Loop(net, torch.optim.Adam(net.parameters(), 5e-3), nn.MSELoss(), callbacks).fit(X[:200], Y[:200], 6)
