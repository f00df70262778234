"""`torch.ao`: quantization."""
