"""Backpropagation by hand"""
