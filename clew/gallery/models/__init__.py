"""Real models: small ones of the kinds that are in use"""
