"""torchvision's Python part: models and transforms. Its compiled operations cannot be loaded."""

import torch
import torchvision
from torchvision import transforms

torch.manual_seed(0)
model = torchvision.models.resnet18(num_classes=2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images, labels = torch.rand(4, 3, 72, 72), torch.tensor([0, 1, 1, 0])
augment = transforms.Compose(
    [transforms.CenterCrop(64), transforms.Normalize([0.5] * 3, [0.5] * 3)]
)
for _ in range(2):
    loss = torch.nn.functional.cross_entropy(model(augment(images)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
