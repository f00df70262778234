"""TorchIO: transforms of volumes, and patches put together again."""

import torch
import torchio as tio

torch.manual_seed(0)
s = tio.Subject(
    mri=tio.ScalarImage(tensor=torch.rand(1, 12, 12, 12)),
    seg=tio.LabelMap(tensor=torch.rand(1, 12, 12, 12) > 0.5),
    age=3,
)
for t in (
    tio.RandomFlip(axes=(0, 1)),
    tio.ZNormalization(),
    tio.RandomNoise(),
    tio.CropOrPad(8),
    tio.RandomGamma(),
    tio.RescaleIntensity((0, 1)),
    tio.RandomAffine(),
    tio.RandomBlur(),
    tio.OneHot(),
    tio.RandomBiasField(),
):
    torch.manual_seed(1)
    o = t(s)
    print(
        type(t).__name__,
        tuple(o.mri.shape),
        f"{o.mri.data.float().mean().item():.4f} {o.seg.data.float().mean().item():.4f}",
    )
g = tio.GridSampler(s, 6, 2)
agg = tio.GridAggregator(g)
for b in tio.SubjectsLoader(g, batch_size=4):
    agg.add_batch(b["mri"][tio.DATA], b[tio.LOCATION])
print(f"{(agg.get_output_tensor() - s.mri.data).abs().max().item():.4f}")
