"""sbi: posterior, likelihood and ratio estimated from simulations."""

import torch
from sbi.inference import NLE, NPE, NRE
from sbi.utils import BoxUniform

torch.manual_seed(0)
prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
theta = prior.sample((100,))
x = theta + 0.1 * torch.randn(100, 2)
for A in (NPE, NLE, NRE):
    torch.manual_seed(1)
    inf = A(prior, show_progress_bars=False)
    est = inf.append_simulations(theta, x).train(training_batch_size=20, max_num_epochs=2)
    print(A.__name__, f"{sum(p.abs().sum().item() for p in est.parameters()):.3f}")
    if A is NPE:
        post = inf.build_posterior()
        s = post.sample((20,), x=torch.zeros(2), show_progress_bars=False)
        print(f"{s.mean().item():.4f}", f"{post.log_prob(s, x=torch.zeros(2)).mean().item():.4f}")
