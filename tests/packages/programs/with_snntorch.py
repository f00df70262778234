"""spiking neurons trained by surrogate gradients"""

import snntorch
import torch
from snntorch import functional, spikegen, surrogate
from torch import nn

torch.manual_seed(0)
inner, outer = nn.Linear(6, 10), nn.Linear(10, 3)
leaky = snntorch.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid())
synaptic = snntorch.Synaptic(alpha=0.8, beta=0.7, learn_beta=True)
weights = [*inner.parameters(), *outer.parameters(), *synaptic.parameters()]
optimizer = torch.optim.Adam(weights, 1e-2)
x, y = spikegen.rate(torch.rand(4, 6), num_steps=8), torch.tensor([0, 1, 2, 0])
for _ in range(4):
    membrane = leaky.init_leaky()
    current, potential = synaptic.init_synaptic()
    spikes = []
    for step in x:
        fired, membrane = leaky(inner(step), membrane)
        out, current, potential = synaptic(outer(fired), current, potential)
        spikes.append(out)
    loss = functional.ce_rate_loss()(torch.stack(spikes), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
print(functional.accuracy_rate(torch.stack(spikes), y))
