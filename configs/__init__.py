"""One file for each experiment; `default.py` defines every field."""
