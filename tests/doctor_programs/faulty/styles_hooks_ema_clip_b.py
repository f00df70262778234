# expect: clip-misplaced line 39
import torch
import torch.nn as nn

torch.manual_seed(28)


class Probe:
    """Activation statistics by forward hooks, gradients by tensor hooks."""

    def __init__(self, model):
        self.kept = {}
        self.grad_norms = []
        for name, m in model.named_modules():
            if isinstance(m, nn.Conv1d):
                m.register_forward_hook(self.make(name))

    def make(self, name):
        self.kept[name] = []

        def hook(module, inputs, output):
            self.kept[name].append(output.detach().abs().mean())
            if output.requires_grad:
                output.register_hook(lambda g: self.grad_norms.append(g.norm().item()))
        return hook


net = nn.Sequential(
    nn.Conv1d(2, 8, 5, padding=2), nn.ELU(), nn.Conv1d(8, 8, 5, padding=2), nn.ELU(),
    nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(8, 2))
probe = Probe(net)
opt = torch.optim.SGD(net.parameters(), lr=0.05, nesterov=True, momentum=0.9)
t = torch.linspace(0, 6.28, 40)
for step in range(25):
    f = torch.randint(1, 3, (24,))
    x = torch.stack([torch.sin(f[:, None] * t), torch.cos(f[:, None] * t)], 1) + 0.1 * torch.randn(24, 2, 40)
    loss = nn.functional.cross_entropy(net(x), f - 1)
    opt.zero_grad()
    torch.nn.utils.clip_grad_value_(net.parameters(), 0.5)
    loss.backward()
    opt.step()
print(loss.item(), {k: float(torch.stack(v).mean()) for k, v in probe.kept.items()})
