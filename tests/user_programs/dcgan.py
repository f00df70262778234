"""DCGAN on tiny images: custom init by class name, two Adams, BCELoss, labels filled in place."""


def main(torch):
    nn, optim = torch.nn, torch.optim
    torch.manual_seed(999)
    nz, ngf, ndf, nc, batch = 6, 4, 4, 1, 8
    coords = torch.stack(torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij"))
    centers = torch.rand(32, 2, 1, 1) * 6 + 1
    real_images = 2 * torch.exp(-((coords - centers) ** 2).sum(1, keepdim=True) / 4) - 1

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.main = nn.Sequential(
                nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
                nn.BatchNorm2d(ngf * 2),
                nn.ReLU(True),
                nn.ConvTranspose2d(ngf * 2, nc, 4, 2, 1, bias=False),
                nn.Tanh(),
            )

        def forward(self, input):
            return self.main(input)

    class Discriminator(nn.Module):
        def __init__(self):
            super().__init__()
            self.main = nn.Sequential(
                nn.Conv2d(nc, ndf, 4, 2, 1, bias=False),
                nn.LeakyReLU(0.2, inplace=True),
                nn.Conv2d(ndf, ndf * 2, 3, 1, 1, bias=False),
                nn.BatchNorm2d(ndf * 2),
                nn.LeakyReLU(0.2, inplace=True),
                nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
                nn.Sigmoid(),
            )

        def forward(self, input):
            return self.main(input).view(-1, 1).squeeze(1)

    # custom weights initialization called on netG and netD
    def weights_init(m):
        classname = m.__class__.__name__
        if classname.find("Conv") != -1:
            nn.init.normal_(m.weight.data, 0.0, 0.02)
        elif classname.find("BatchNorm") != -1:
            nn.init.normal_(m.weight.data, 1.0, 0.02)
            nn.init.constant_(m.bias.data, 0)

    netG, netD = Generator(), Discriminator()
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion = nn.BCELoss()
    fixed_noise = torch.randn(4, nz, 1, 1)
    real_label, fake_label = 1.0, 0.0
    optimizerD = optim.Adam(netD.parameters(), lr=5e-4, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=5e-4, betas=(0.5, 0.999))
    dataset = torch.utils.data.TensorDataset(real_images)
    dataloader = torch.utils.data.DataLoader(dataset, batch_size=batch, shuffle=True, num_workers=0)
    log = []
    for epoch in range(3):
        for i, data in enumerate(dataloader, 0):
            netD.zero_grad()
            real = data[0]
            label = torch.full((real.size(0),), real_label, dtype=real.dtype)
            output = netD(real)
            errD_real = criterion(output, label)
            errD_real.backward()
            D_x = output.mean().item()
            noise = torch.randn(real.size(0), nz, 1, 1)
            fake = netG(noise)
            label.fill_(fake_label)
            output = netD(fake.detach())
            errD_fake = criterion(output, label)
            errD_fake.backward()
            D_G_z1 = output.mean().item()
            errD = errD_real + errD_fake
            optimizerD.step()
            netG.zero_grad()
            label.fill_(real_label)
            output = netD(fake)
            errG = criterion(output, label)
            errG.backward()
            D_G_z2 = output.mean().item()
            optimizerG.step()
            log.append([errD.item(), errG.item(), D_x, D_G_z1, D_G_z2])
    with torch.no_grad():
        fake = netG(fixed_noise).detach().cpu()
    return {
        "log": log,
        "fake_mean": fake.mean(dim=(1, 2, 3)).tolist(),
        "tracked": netG.main[1].num_batches_tracked,
        "running": netD.main[3].running_var,
        "repr": str(netG) + str(netD),
    }
