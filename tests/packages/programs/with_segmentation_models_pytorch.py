"""four decoders over encoders without weights, with losses and metrics"""

import segmentation_models_pytorch as smp
import torch

images = torch.rand(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
masks = (images.mean(1, keepdim=True) > 0.5).float()
MODELS = {
    "Unet": "resnet18",
    "FPN": "resnet18",
    "Linknet": "mobilenet_v2",
    "DeepLabV3Plus": "efficientnet-b0",
}
for name, encoder in MODELS.items():
    torch.manual_seed(1)
    model = smp.create_model(name, encoder_name=encoder, encoder_weights=None, classes=1)
    model.eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = smp.losses.DiceLoss("binary")
    for _ in range(2):
        out = model(images)
        loss = criterion(out, masks) + smp.losses.FocalLoss("binary")(out, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(name, f"{loss.item():.4f}")
    stats = smp.metrics.get_stats((out > 0.5).long(), masks.long(), mode="binary")
    print(
        [int(each.sum()) for each in stats],
        f"{smp.metrics.iou_score(*stats, reduction='micro').item():.3f}",
    )
