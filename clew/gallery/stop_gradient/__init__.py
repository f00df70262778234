"""Stop-gradient in all its uses"""
