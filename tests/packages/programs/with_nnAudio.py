"""nnAudio: spectrograms whose kernels are trained."""

import torch
from nnAudio import features

torch.manual_seed(0)
x = torch.randn(2, 16000)
for f in [
    features.STFT(
        verbose=False, n_fft=512, hop_length=256, output_format="Magnitude", trainable=True
    ),
    features.MelSpectrogram(verbose=False, sr=16000, n_fft=512, n_mels=32, trainable_mel=True),
    features.MFCC(verbose=False, sr=16000, n_mfcc=13),
    features.CQT1992v2(verbose=False, sr=16000, n_bins=48),
    features.Gammatonegram(verbose=False, sr=16000, n_bins=32),
]:
    out = f(x)
    print(type(f).__name__, tuple(out.shape), f"{out.mean().item():.5f}")
    ps = [p for p in f.parameters() if p.requires_grad]
    if ps:
        out.pow(2).mean().backward()
        print(*[f"{p.grad.norm().item():.5f}" for p in ps])
s = features.STFT(verbose=False, n_fft=256, hop_length=64, iSTFT=True)
X = s(x)
print(f"{s.inverse(X, onesided=True, length=16000).std().item():.5f}")
