"""Activation functions: unary, gated, piecewise, leaky, and softmax."""
