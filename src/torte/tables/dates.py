"""Dates as numbers: the day itself, and its place in the year, the week and the day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from torte.errors import InvalidInput
from torte.tables.columns import Column, filled, indicator, median
from torte.tables.frames import pandas

__all__ = ["Date"]

_PERIODS = {"year": 365.2425, "week": 7.0, "day": 1.0}  # in days


@dataclass(frozen=True)
class Date(Column):
    """Days since 1970, and for each period that the dates go through a point on its circle.

    A period is kept where dates cover at least two of it and lie at different places of it:
    dates without a time of day have no place in the day.
    """

    kind: ClassVar[str] = "date"

    fill: float
    missing: bool
    periods: tuple[str, ...]

    def __post_init__(self) -> None:
        unknown = [period for period in self.periods if period not in _PERIODS]
        if unknown:
            raise InvalidInput(
                f"`periods` must be of {', '.join(_PERIODS)}, got {unknown[0]!r}; see TableEncoder.to_dict."
            )

    @staticmethod
    def days(column: Any) -> np.ndarray:
        pd = pandas()
        if isinstance(column.dtype, pd.PeriodDtype):
            column = column.dt.to_timestamp()
        try:
            dates = pd.to_datetime(column, utc=True)
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"column {column.name!r} must hold dates, as it did when the table was fitted, got another type "
                f"({error})."
            ) from error
        return ((dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(np.float64)

    @classmethod
    def read(cls, column: Any) -> Date:
        days = cls.days(column)
        known = days[~np.isnan(days)]
        span = np.ptp(known) if len(known) else 0.0
        periods = tuple(
            name
            for name, length in _PERIODS.items()
            if span >= 2 * length and np.ptp(known % length) > 1e-3 * length
        )
        return cls(str(column.name), median(days), len(known) < len(days), periods)

    def numeric_names(self) -> list[str]:
        circles = [
            f"{part} of {period} of {self.name}"
            for period in self.periods
            for part in ("cos", "sin")
        ]
        return [self.name, *circles]

    def code_names(self) -> list[str]:
        return indicator(self.name, self.missing)

    def encode(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        days, codes = filled(self.days(column), self.fill, self.missing)
        angles = [2 * np.pi * days / _PERIODS[period] for period in self.periods]
        circles = [part(angle) for angle in angles for part in (np.cos, np.sin)]
        return np.hstack([days, *circles]), codes
