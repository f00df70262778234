"""timm: a small ResNet and a vision transformer."""

import timm
import torch

torch.manual_seed(0)
images, labels = torch.randn(2, 3, 32, 32), torch.tensor([0, 1])
for name, options in {
    "resnet10t": {},
    "vit_tiny_patch16_224": {"img_size": 32, "depth": 2},
}.items():
    model = timm.create_model(name, num_classes=2, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(name, f"{loss.item():.4f}")
