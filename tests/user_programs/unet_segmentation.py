"""U-Net with skip connections, Dice + BCE, IoU, ReduceLROnPlateau, early stopping by deepcopy."""

import copy


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(8)

    class DoubleConv(nn.Module):
        """(convolution => [BN] => ReLU) * 2"""

        def __init__(self, in_channels, out_channels, mid_channels=None):
            super().__init__()
            if not mid_channels:
                mid_channels = out_channels
            self.double_conv = nn.Sequential(
                nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
                nn.BatchNorm2d(mid_channels),
                nn.ReLU(inplace=True),
                nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
                nn.BatchNorm2d(out_channels),
                nn.ReLU(inplace=True),
            )

        def forward(self, x):
            return self.double_conv(x)

    class Down(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(i, o))

        def forward(self, x):
            return self.maxpool_conv(x)

    class Up(nn.Module):
        def __init__(self, in_channels, out_channels, bilinear=True):
            super().__init__()
            if bilinear:
                self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
                self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
            else:
                self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, 2, stride=2)
                self.conv = DoubleConv(in_channels, out_channels)

        def forward(self, x1, x2):
            x1 = self.up(x1)
            diffY = x2.size()[2] - x1.size()[2]
            diffX = x2.size()[3] - x1.size()[3]
            pad = [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2]
            x1 = F.pad(x1, pad)
            return self.conv(torch.cat([x2, x1], dim=1))

    class UNet(nn.Module):
        def __init__(self, n_channels, n_classes, bilinear=False):
            super(UNet, self).__init__()
            factor = 2 if bilinear else 1
            self.inc = DoubleConv(n_channels, 4)
            self.down1 = Down(4, 8)
            self.down2 = Down(8, 16 // factor)
            self.up1 = Up(16, 8 // factor, bilinear)
            self.up2 = Up(8, 4, bilinear)
            self.outc = nn.Conv2d(4, n_classes, kernel_size=1)

        def forward(self, x):
            x1 = self.inc(x)
            x2 = self.down1(x1)
            x3 = self.down2(x2)
            x = self.up1(x3, x2)
            x = self.up2(x, x1)
            return self.outc(x)

    def dice_coeff(input, target, epsilon=1e-6):
        inter = 2 * (input * target).sum(dim=(-1, -2, -3))
        sets_sum = input.sum(dim=(-1, -2, -3)) + target.sum(dim=(-1, -2, -3))
        sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
        return ((inter + epsilon) / (sets_sum + epsilon)).mean()

    yy, xx = torch.meshgrid(torch.arange(14), torch.arange(14), indexing="ij")
    cy, cx = torch.randint(4, 10, (2, 10, 1, 1))
    mask = (((yy - cy) ** 2 + (xx - cx) ** 2) < 12).float().unsqueeze(1)
    image = mask + 0.4 * torch.randn(10, 1, 14, 14)
    result = {}
    for bilinear in (True, False):
        model = UNet(1, 1, bilinear)
        optimizer = torch.optim.RMSprop(
            model.parameters(), lr=2e-3, weight_decay=1e-8, momentum=0.5, foreach=True
        )
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
            optimizer, "max", patience=0, factor=0.5, threshold=0.05
        )
        best, best_state, waited, log = -1.0, None, 0, []
        for epoch in range(6):
            model.train()
            for i in range(0, 8, 4):
                pred = model(image[i : i + 4])
                loss = F.binary_cross_entropy_with_logits(pred, mask[i : i + 4])
                loss += 1 - dice_coeff(F.sigmoid(pred.squeeze(1)), mask[i : i + 4].squeeze(1))
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                log.append([loss.item(), norm.item()])
            model.eval()
            with torch.no_grad():
                hard = (model(image[8:]).sigmoid() > 0.5).float()
                score = dice_coeff(hard, mask[8:]).item()
            scheduler.step(score)
            if score > best:
                best, best_state, waited = score, copy.deepcopy(model.state_dict()), 0
            else:
                waited += 1
                if waited > 3:
                    break
            log.append([score, optimizer.param_groups[0]["lr"]])
        model.load_state_dict(best_state)
        tracked = [m.num_batches_tracked.item() for m in model.modules() if hasattr(m, "momentum")]
        name = "bilinear" if bilinear else "transposed"
        result[name] = {"log": log, "tracked": tracked, "params": len(best_state)}
    return result
