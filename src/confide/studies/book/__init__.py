"""The reproduction book: pages made from committed results, by ``python -m``."""
