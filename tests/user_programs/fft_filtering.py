"""Low-pass filtering by FFT with gradients, convolution theorem, spectra, FNO's layer."""


def main(torch):
    torch.manual_seed(44)
    t = torch.linspace(0, 1, 64)
    signal = (2 * torch.pi * 3 * t).sin() + 0.5 * torch.randn(64)
    x = signal.clone().requires_grad_()
    spectrum = torch.fft.rfft(x)
    freqs = torch.fft.rfftfreq(64, d=1 / 64)
    smooth = torch.fft.irfft(spectrum * (freqs < 8), n=64)
    loss = (smooth - (2 * torch.pi * 3 * t).sin()).pow(2).mean()
    loss.backward()

    kernel = torch.zeros(64)
    kernel[:5] = 0.2
    by_fft = torch.fft.ifft(torch.fft.fft(signal) * torch.fft.fft(kernel)).real
    power = spectrum.abs().square() / 64

    image = torch.rand(8, 8, requires_grad=True)
    F2 = torch.fft.fftshift(torch.fft.fft2(image, norm="ortho"))
    high = F2.clone()
    high[3:6, 3:6] = 0
    edges = torch.fft.ifft2(torch.fft.ifftshift(high), norm="ortho")
    edges.abs().sum().backward()

    W = torch.randn(4, 2, 2, dtype=torch.cfloat, requires_grad=True)
    u = torch.randn(3, 16, 2)
    uf = torch.fft.rfft(u, dim=1)
    out = torch.zeros_like(uf)
    out[:, :4] = torch.einsum("bki,kio->bko", uf[:, :4], W)
    v = torch.fft.irfft(out, n=16, dim=1)
    v.square().sum().backward()
    window = torch.hann_window(16)
    frames = signal.unfold(0, 16, 8) * window
    stft = torch.fft.rfft(frames, dim=-1)
    return {
        "smooth": smooth,
        "loss": loss,
        "x_grad": x.grad,
        "by_fft": by_fft,
        "power": power,
        "peak": power.argmax(),
        "image_grad": image.grad,
        "v": v,
        "W_grad": W.grad,
        "phase": torch.angle(spectrum[1:5]),
        "stft": torch.view_as_real(stft),
        "freqs": torch.fft.fftfreq(5),
        "hfft": torch.fft.rfft2(image.detach()),
    }
