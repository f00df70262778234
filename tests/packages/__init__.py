"""Programs over packages of the PyTorch ecosystem, run with clew and compared with PyTorch."""
