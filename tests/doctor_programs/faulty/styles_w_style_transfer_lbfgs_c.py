# expect: inplace-saved-tensor line 28
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1212)
features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU()).requires_grad_(False)


def gram(f):
    f = f.flatten(2)
    return f @ f.mT / f.shape[-1]


content, style = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)
with torch.no_grad():
    c_ref, s_ref = features(content), gram(features(style))
image = content.clone().requires_grad_(True)
opt = torch.optim.LBFGS([image], lr=0.5, max_iter=4)


def closure():
    with torch.no_grad():
        image.clamp_(0, 1)
    opt.zero_grad()
    g = image * image.mean()
    with torch.no_grad():
        image.clamp_(0.01, 0.99)
    f = features(g)
    loss = F.mse_loss(f, c_ref) + 20 * F.mse_loss(gram(f), s_ref)
    tv = (image[..., 1:] - image[..., :-1]).abs().mean()
    loss = loss + 0.05 * tv
    loss.backward()
    return loss


for i in range(10):
    loss = opt.step(closure)
print(loss.item())
