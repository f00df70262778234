# expect: detached-graph line 17, 19
# Distillation: the student runs inside the teacher's no_grad block.

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
backbone = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
classifier = nn.Linear(16, 4)
optimizer = torch.optim.Adam(list(backbone.parameters()) + list(classifier.parameters()), lr=1e-3)
T = 2.0

for step in range(30):
    x = torch.randn(32, 8)
    with torch.no_grad():
        t_logits = teacher(x)
        feats = backbone(x)
    s_logits = classifier(feats)
    loss = (
        F.kl_div(
            F.log_softmax(s_logits / T, dim=1),
            F.softmax(t_logits / T, dim=1),
            reduction="batchmean",
        )
        * T
        * T
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
