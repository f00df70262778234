"""Losses: elementwise, over classes, with margins, and CTC."""
