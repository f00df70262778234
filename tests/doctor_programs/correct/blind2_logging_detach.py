# expect: nothing

import clew as torch
import clew.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.NAdam(net.parameters(), lr=2e-3)
log = {"loss": [], "acc": [], "gn": []}
preds = []
for i in range(40):
    x = torch.randn(32, 6)
    y = x[:, :3].argmax(1)
    out = net(x)
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)(out, y)
    opt.zero_grad()
    loss.backward()
    log["gn"].append(sum(p.grad.norm().item() ** 2 for p in net.parameters()) ** 0.5)
    opt.step()
    log["loss"].append(loss.detach())
    preds.append(out.detach().cpu().numpy())
    log["acc"].append((out.argmax(1) == y).float().mean().item())
print(torch.stack(log["loss"]).mean().item(), log["acc"][-1])
