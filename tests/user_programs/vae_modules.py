"""VAE and beta-VAE with a warmup, KL by torch.distributions and by formula, ELBO on a test set."""


def main(torch):
    nn, F = torch.nn, torch.nn.functional
    D = torch.distributions
    torch.manual_seed(20)
    proto = torch.rand(5, 20)
    data = torch.bernoulli(proto[torch.randint(0, 5, (64,))].clamp(0.1, 0.9))
    train_set, test_set = torch.utils.data.random_split(data, [48, 16])

    class VAE(nn.Module):
        def __init__(self, latent=3, beta=1.0):
            super().__init__()
            self.beta = beta
            self.fc1 = nn.Linear(20, 24)
            self.fc21 = nn.Linear(24, latent)
            self.fc22 = nn.Linear(24, latent)
            self.decoder = nn.Sequential(
                nn.Linear(latent, 24), nn.LeakyReLU(0.2, inplace=True), nn.Linear(24, 20)
            )

        def encode(self, x):
            h1 = F.relu(self.fc1(x))
            return self.fc21(h1), self.fc22(h1)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            eps = torch.randn_like(std)
            return mu + eps * std

        def forward(self, x):
            mu, logvar = self.encode(x.view(-1, 20))
            z = self.reparameterize(mu, logvar)
            return self.decoder(z), mu, logvar

        def loss(self, x):
            logits, mu, logvar = self(x)
            bce = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
            kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
            return bce + self.beta * kld, bce, kld

    class DistVAE(VAE):
        """The same with distribution objects."""

        def loss(self, x):
            mu, logvar = self.encode(x)
            q = D.Independent(D.Normal(mu, (0.5 * logvar).exp()), 1)
            p = D.Independent(D.Normal(torch.zeros_like(mu), torch.ones_like(mu)), 1)
            z = q.rsample()
            likelihood = D.Bernoulli(logits=self.decoder(z)).log_prob(x).sum(-1)
            kl = D.kl_divergence(q, p)
            return (self.beta * kl - likelihood).sum(), -likelihood.sum(), kl.sum()

    result = {}
    for name, model in [("vae", VAE()), ("beta", VAE(beta=4.0)), ("dist", DistVAE(2))]:
        optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-3, momentum=0.5)
        warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
        loader = torch.utils.data.DataLoader(train_set, batch_size=16, shuffle=True, drop_last=True)
        curve = []
        for epoch in range(6):
            model.train()
            for x in loader:
                optimizer.zero_grad()
                loss, bce, kld = model.loss(x)
                loss.backward()
                optimizer.step()
                curve.append((loss.item() / len(x), bce.item(), kld.item()))
            warmup.step()
        model.eval()
        with torch.no_grad():
            test = torch.stack([test_set[i] for i in range(len(test_set))])
            elbo = torch.stack([model.loss(test)[0] for _ in range(3)]).mean()
            prior = D.Normal(0.0, 1.0).sample((2, model.fc21.out_features))
            image = torch.sigmoid(model.decoder(prior)).cpu()
        result[name] = {"curve": curve, "elbo": elbo, "image": image, "lr": warmup.get_last_lr()}
    result["split"] = list(test_set.indices)
    return result
