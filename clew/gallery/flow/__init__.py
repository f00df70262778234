"""Gradient flow under pressure"""
