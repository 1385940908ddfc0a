"""Studies of Kifer, Smith and Thakurta: risk bounds and sparse regression."""
