"""A small book, and ways to change one behind its ledger's back."""

from confide.ledger import balance as entries
from confide.ledger.storage import store_at
from confide.privacy import Pure


def book(ledger):
    """Limit, charge, release, charge, charge."""
    ledger.set_limit("adult", Pure(1))
    ledger.record(ledger.charge("adult", Pure(0.1), what="first"), "cafe")
    ledger.charge("adult", Pure(0.2), what="second")
    ledger.charge("adult", Pure(0.3), what="third")
    assert ledger.verify() == 5


def tampered(ledger, *statements):
    """Change rows behind the ledger's back, with its triggers out of the way."""
    postgres = ledger.place.startswith("postgresql://")
    names = ("confide_no_update", "confide_no_delete", "confide_no_replace")
    off = [f"DROP TRIGGER IF EXISTS {name}" for name in names]
    if postgres:
        off = ["ALTER TABLE confide_entries DISABLE TRIGGER ALL"]
    with store_at(ledger.place).writing() as run:
        for statement in (*off, *statements):
            run(statement, ())


def forged(ledger, number, changes):
    """Change one row and every digest from there on, as a forger would who can hash."""
    with store_at(ledger.place).reading() as run:
        rows = entries.all_rows(run)
    previous, written = entries.BEGINNING, []
    for row in rows:
        fields = dict(zip(entries.COLUMNS, row, strict=True))
        if row[0] == number:
            fields |= changes
        parts = tuple(fields[name] for name in entries.COLUMNS[:-1])
        previous = entries.digest_of(previous, parts)
        written.append((*parts, previous))
    tampered(ledger, "DELETE FROM confide_entries")
    with store_at(ledger.place).writing() as run:
        for row in written:
            entries.insert(run, row)
