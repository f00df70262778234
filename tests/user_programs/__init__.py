"""Programs as PyTorch's users write them: each module's `main(torch)` runs under either library."""
