"""Table 1 of Wang, Kifer and Lee (2018): numbers of records and columns."""

from typing import Final

TABLE1: Final = {
    "Adult": (30_162, 37),
    "KDDCUP99": (4_898_431, 90),
    "Banking": (45_211, 34),
    "IPUMS-US": (39_928, 57),
    "IPUMS-BR": (38_000, 53),
}
