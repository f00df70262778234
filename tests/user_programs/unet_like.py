"""A small U-Net: strided and transposed convolutions, interpolation, skip connections, dice."""


def main(torch):
    F = torch.nn.functional
    torch.manual_seed(14)
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    masks = torch.stack(
        [
            ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r).float()
            for cy, cx, r in ((5, 5, 4), (9, 8, 5), (11, 4, 3))
        ]
    ).unsqueeze(1)
    images = masks * 0.8 + 0.2 * torch.randn(3, 1, 16, 16)

    def weight(*shape):
        return (torch.randn(shape) * (2 / (shape[1] * 9)) ** 0.5).requires_grad_()

    d1, d2, mid = weight(6, 1, 3, 3), weight(12, 6, 3, 3), weight(12, 12, 3, 3)
    up = (torch.randn(12, 6, 2, 2) * 0.2).requires_grad_()
    u1, out = weight(6, 12, 3, 3), weight(1, 7, 1, 1)
    gamma = torch.ones(6, requires_grad=True)
    params = [d1, d2, mid, up, u1, out, gamma]

    def net(x):
        e1 = F.relu(F.conv2d(x, d1, padding=1))
        e2 = F.relu(F.conv2d(e1, d2, stride=2, padding=1))
        m = F.hardswish(F.conv2d(F.pad(e2, (2, 2, 2, 2), mode="reflect"), mid, dilation=2))
        u = F.conv_transpose2d(m, up, stride=2)
        h = F.group_norm(F.conv2d(torch.cat([u, e1], 1), u1, padding=1), 2, gamma)
        low = F.interpolate(
            F.avg_pool2d(x, 4), scale_factor=4, mode="bilinear", align_corners=False
        )
        return F.conv2d(torch.cat((F.mish(h), low), dim=1), out)

    losses = []
    for _ in range(10):
        logits = net(images)
        p = logits.sigmoid()
        dice = 1 - (2 * (p * masks).sum((1, 2, 3)) + 1) / (
            p.sum((1, 2, 3)) + masks.sum((1, 2, 3)) + 1
        )
        loss = dice.mean() + F.binary_cross_entropy_with_logits(
            logits, masks, pos_weight=torch.tensor([2.0])
        )
        loss.backward()
        with torch.no_grad():
            for w in params:
                w -= 0.1 * w.grad
                w.grad = None
        losses.append(loss.item())
    iou = ((p > 0.5) & masks.bool()).sum() / ((p > 0.5) | (masks > 0)).sum()
    pyramid = [
        F.interpolate(images, size=s, mode=m)
        for s, m in ((8, "nearest"), ((5, 9), "area"), (24, "bicubic"))
    ]
    theta = torch.tensor([[[0.8, 0.1, 0.0], [-0.1, 0.8, 0.1]]]).expand(3, 2, 3)
    warped = F.grid_sample(
        images,
        F.affine_grid(theta, images.size(), align_corners=False),
        padding_mode="border",
        align_corners=False,
    )
    return {"losses": losses, "iou": iou, "pyramid": pyramid, "warped": warped}
