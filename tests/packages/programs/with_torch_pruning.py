"""Torch-Pruning: channels of a ResNet removed along its dependencies."""

import torch
import torch_pruning as tp
import torchvision

torch.manual_seed(0)
m = torchvision.models.resnet18(num_classes=10).eval()
x = torch.randn(1, 3, 32, 32)
p = tp.pruner.MagnitudePruner(
    m,
    x,
    importance=tp.importance.MagnitudeImportance(p=2),
    pruning_ratio=0.5,
    ignored_layers=[m.fc],
)
b = tp.utils.count_ops_and_params(m, x)
p.step()
a = tp.utils.count_ops_and_params(m, x)
print(b, a)
print(m.layer1[0].conv1)
print(f"{m(x).abs().sum().item():.4f}")
m(x).sum().backward()
p2 = tp.pruner.BasePruner(
    m,
    x,
    importance=tp.importance.TaylorImportance(),
    pruning_ratio=0.3,
    ignored_layers=[m.fc],
    global_pruning=True,
)
p2.step()
print(tp.utils.count_ops_and_params(m, x))
print(f"{m(x).abs().sum().item():.4f}")
