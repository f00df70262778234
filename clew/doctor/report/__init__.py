"""What the doctor says: findings, and the report as text, page, JSON and pictures."""
