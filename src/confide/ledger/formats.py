"""The database tables of a ledger, and the migrations between formats."""

VERSION = 3
TABLES = (
    "CREATE TABLE confide_meta (version INTEGER PRIMARY KEY, applied TEXT NOT NULL)",
    """CREATE TABLE confide_entries (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('limit', 'charge', 'release')),
        dataset TEXT NOT NULL, at TEXT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,
        status TEXT, private INTEGER, budget TEXT, events TEXT, counted TEXT, spent TEXT,
        charge INTEGER REFERENCES confide_entries (number),
        release_hash TEXT, digest TEXT NOT NULL)""",
    "CREATE INDEX confide_latest ON confide_entries (dataset, kind, number)",
    "CREATE UNIQUE INDEX confide_one_release ON confide_entries (charge)",
)
RELATIONS = (
    "ALTER TABLE confide_entries ADD COLUMN neighbours TEXT",
    "ALTER TABLE confide_entries ADD COLUMN earlier TEXT",
)
"""From format 1 to 2: entries record their neighbour relation."""
RELEASES = (
    "ALTER TABLE confide_entries ADD COLUMN content_hash TEXT",
    "CREATE TABLE confide_releases (charge INTEGER PRIMARY KEY, content TEXT NOT NULL)",
)
"""From format 2 to 3: the ledger stores releases, so that lost files can be restored."""
SQLITE_TRIGGERS = (
    """CREATE TRIGGER confide_no_update BEFORE UPDATE ON confide_entries BEGIN
        SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER confide_no_delete BEFORE DELETE ON confide_entries BEGIN
        SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
    """CREATE TRIGGER confide_no_replace BEFORE INSERT ON confide_entries
        WHEN NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM confide_entries) BEGIN
        SELECT RAISE(ABORT, 'a ledger is append-only'); END""",
)
POSTGRES_TRIGGERS = (
    """CREATE FUNCTION confide_append_only() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$""",
    """CREATE TRIGGER confide_no_change BEFORE UPDATE OR DELETE OR TRUNCATE
        ON confide_entries FOR EACH STATEMENT EXECUTE FUNCTION confide_append_only()""",
)
SQLITE = ((*TABLES, *SQLITE_TRIGGERS), RELATIONS, RELEASES)
POSTGRES = ((*TABLES, *POSTGRES_TRIGGERS), RELATIONS, RELEASES)
"""Migrations: element v converts format v to v + 1; format 0 is an empty database."""
