"""The reproduction book: pages made from committed results.

``python -m confide.studies.book`` writes them.
"""
