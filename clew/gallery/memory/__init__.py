"""Memory and precision"""
