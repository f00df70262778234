"""Second order: gradients of gradients, and the curvature of small and of large models"""
