"""TorchCAM: seven kinds of class activation maps."""

import torch
from torchcam.methods import CAM, GradCAM, GradCAMpp, LayerCAM, ScoreCAM, SmoothGradCAMpp, XGradCAM

torch.manual_seed(0)


class N(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.f = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Conv2d(4, 6, 3), torch.nn.ReLU()
        )
        self.p = torch.nn.AdaptiveAvgPool2d(1)
        self.fc = torch.nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(self.p(self.f(x)).flatten(1))


n = N().eval()
for M in (GradCAM, GradCAMpp, SmoothGradCAMpp, ScoreCAM, LayerCAM, CAM, XGradCAM):
    kw = {"fc_layer": "fc"} if M is CAM else {}
    torch.manual_seed(1)
    with M(n, "f.3", input_shape=(3, 12, 12), **kw) as e:
        o = n(torch.rand(1, 3, 12, 12))
        a = e(1, o)
        print(M.__name__, tuple(a[0].shape), f"{a[0].sum().item():.4f}")
