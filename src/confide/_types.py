"""Type aliases for arrays."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
"""A float64 array."""

AnyArray: TypeAlias = npt.NDArray[Any]
"""An array of any type: float32 features, extended-precision sums, labels."""
