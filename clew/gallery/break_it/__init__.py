"""Break it: ten training scripts with one gradient bug each, and their repaired twins"""
