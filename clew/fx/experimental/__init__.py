"""Parts of PyTorch's compiler that packages ask whether it is at work: it never is."""
