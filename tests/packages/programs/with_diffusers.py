"""a U-Net trained to denoise, a DDPM pipeline, an autoencoder, a conditional U-Net"""

import torch, tempfile
from diffusers import (
    UNet2DModel,
    DDPMScheduler,
    DDPMPipeline,
    DDIMScheduler,
    AutoencoderKL,
    UNet2DConditionModel,
)

torch.manual_seed(0)
net = UNet2DModel(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(8, 16),
    down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=4,
    attention_head_dim=4,
)
sched = DDPMScheduler(num_train_timesteps=20)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x = torch.randn(4, 1, 8, 8)
for _ in range(3):
    noise = torch.randn_like(x)
    t = torch.randint(0, 20, (4,))
    loss = torch.nn.functional.mse_loss(net(sched.add_noise(x, noise, t), t).sample, noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(f"{loss.item():.5f}")
sched.set_timesteps(4)
s = torch.randn(1, 1, 8, 8)
with torch.no_grad():
    for t in sched.timesteps:
        s = sched.step(net(s, t).sample, t, s).prev_sample
print(f"{s.abs().mean().item():.4f}")
with tempfile.TemporaryDirectory() as d:
    net.save_pretrained(d)
    again = UNet2DModel.from_pretrained(d)
    print(torch.equal(again.conv_in.weight, net.conv_in.weight))
pipe = DDPMPipeline(net, DDPMScheduler(num_train_timesteps=5))
pipe.set_progress_bar_config(disable=True)
img = pipe(
    batch_size=1,
    num_inference_steps=3,
    generator=torch.Generator().manual_seed(0),
    output_type="np",
).images
print(f"{float(img.mean()):.4f}")
vae = AutoencoderKL(
    block_out_channels=(8, 8),
    down_block_types=("DownEncoderBlock2D",) * 2,
    up_block_types=("UpDecoderBlock2D",) * 2,
    norm_num_groups=4,
    latent_channels=2,
    in_channels=3,
    out_channels=3,
)
y = vae(torch.randn(1, 3, 8, 8)).sample
y.square().mean().backward()
print(f"{y.mean().item():.5f}")
c = UNet2DConditionModel(
    sample_size=8,
    in_channels=2,
    out_channels=2,
    layers_per_block=1,
    block_out_channels=(8, 16),
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    norm_num_groups=4,
    attention_head_dim=4,
    cross_attention_dim=12,
)
o = c(torch.randn(1, 2, 8, 8), 3, torch.randn(1, 5, 12)).sample
o.sum().backward()
print(f"{o.abs().mean().item():.5f}")
