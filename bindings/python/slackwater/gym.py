"""An environment for reinforcement learning: one stay at a plug, as ``gymnasium`` has it.

Needs ``gymnasium``: ``pip install slackwater[gym]``.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Any, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt

from slackwater import _engine
from slackwater._engine import InputError
from slackwater.simulation import QUARTER, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from slackwater.forecasts import Forecast
    from slackwater.prices import Prices
    from slackwater.typing import ArrowTable

Observation = npt.NDArray[np.float32]

HOUR = timedelta(hours=1)
STATE = 5
BOUND = 10.0


class ChargingEnv(gymnasium.Env[Observation, npt.NDArray[np.float32]]):
    """A vehicle at a plug, from arrival to departure; each episode is a stay of a table.

    The world is that of :func:`slackwater.simulate`: what is observed is what was known,
    and energy is settled minute by minute at settled prices. A policy that was trained
    here can be simulated there.

    An action is the share of the highest power until the next decision, from 0 to 1. The
    reward is the cost of that time, negated; at the departure also that of the energy that
    is missing. An episode terminates with the departure and is never truncated.

    An observation has, each between -10 and 10:

    ========== ==================================================================
    position   meaning
    ========== ==================================================================
    0          time at full power that the need still takes, in days
    1          time until the departure, in days
    2          their quotient: 1 is full power from now on
    3, 4       sine and cosine of the time of day in UTC
    5 ...      prices of the next ``slots`` steps over ``price_scale``; 0 if unknown
    ...        for each of them, 1 if it is known
    ========== ==================================================================

    Example:
        >>> import numpy as np
        >>> import pyarrow as pa
        >>> import slackwater as sw
        >>> from datetime import UTC, datetime, timedelta
        >>> from slackwater.gym import ChargingEnv
        >>> six, hour = datetime(2026, 1, 5, 18, tzinfo=UTC), timedelta(hours=1)
        >>> prices = sw.Prices.from_values(six, [0.30, 0.10], currency="EUR")
        >>> stays = pa.table(
        ...     {
        ...         "id": ["van"],
        ...         "arrival": [six],
        ...         "departure": [six + 2 * hour],
        ...         "energy_kwh": [5.0],
        ...         "power_max_kw": [10.0],
        ...     }
        ... )
        >>> env = ChargingEnv(stays, prices, step=hour, slots=2)
        >>> observation, _ = env.reset(seed=0)
        >>> observation.shape
        (9,)
        >>> _, reward, terminated, _, info = env.step(np.array([0.5], dtype=np.float32))
        >>> round(reward, 6), terminated, info["energy_kwh"]
        (-1.5, False, 5.0)
    """

    def __init__(
        self,
        stays: ArrowTable,
        prices: Prices,
        forecasts: Iterable[Forecast] = (),
        *,
        step: timedelta = QUARTER,
        slots: int = 96,
        price_scale: float = 1.0,
        shortfall_price_per_kwh: float | None = None,
    ) -> None:
        """Make an environment of stays.

        Args:
            stays: As for :func:`slackwater.simulate`.
            prices: Settled prices, which cover every stay.
            forecasts: What was known when.
            step: Time from one decision to the next.
            slots: How many steps ahead prices are observed.
            price_scale: Price per kWh that is observed as 1.
            shortfall_price_per_kwh: Price of a kWh that is missing at the departure; by
                default the highest settled price.

        Raises:
            InputError: As :func:`slackwater.simulate`, or ``slots`` or ``price_scale`` is
                not positive.
        """
        if slots < 1 or not price_scale > 0:
            message = f"slots is {slots}, price_scale is {price_scale}; both are above 0"
            raise InputError(message)
        self._stays, self._prices, self._forecasts = stays, prices, list(forecasts)
        self._settings = Settings(step=step, shortfall_price_per_kwh=shortfall_price_per_kwh)
        self._slots, self._price_scale = slots, price_scale
        # Reads the whole table, so that it is refused here and not in the middle of training.
        self._count = _engine.count_stays(stays, prices._native, settings=self._settings)
        if self._count == 0:
            raise InputError("stays has no row; an episode is a stay")
        shape = (STATE + 2 * slots,)
        self.observation_space = gymnasium.spaces.Box(-BOUND, BOUND, shape, np.float32)
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (1,), np.float32)
        self._episode: _engine.Episode | None = None
        self._last = np.zeros(shape, np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode with a stay drawn at random, or that of ``options["stay"]``.

        Args:
            seed: Seed of the draw.
            options: ``stay``, the position of a stay in the table.

        Returns:
            The observation on arrival, and the position of the stay.

        Raises:
            InputError: There is no such stay.
        """
        super().reset(seed=seed)
        stay = (options or {}).get("stay")
        row = int(self.np_random.integers(self._count)) if stay is None else int(stay)
        if not 0 <= row < self._count:
            raise InputError(f"stay is {row}; the table has {self._count}")
        self._episode = _engine.Episode(
            self._stays,
            row,
            self._prices._native,
            [forecast._native for forecast in self._forecasts],
            settings=self._settings,
        )
        return self._observe(), {"stay": row}

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Hold a share of the highest power until the next decision.

        Args:
            action: The share, from 0 to 1; beyond it is cut.

        Returns:
            Observation, reward, whether the vehicle has left, ``False``, and the energy
            drawn and still missing.

        Raises:
            RuntimeError: The episode is over, or was not begun.
            InputError: The action is not a number.
        """
        share = float(np.asarray(action).reshape(-1)[0])
        made = None if self._episode is None else self._episode.advance(share)
        if made is None:
            raise RuntimeError("the episode is over; call reset")
        energy_kwh, missing_kwh, cost, reward, has_left = made
        info = {"energy_kwh": energy_kwh, "missing_kwh": missing_kwh, "cost": cost}
        return self._observe(), reward, has_left, False, info

    def _observe(self) -> Observation:
        """The observation now; after the departure the last one, with nothing left."""
        view = None if self._episode is None else self._episode.view()
        if view is None:
            self._last[:3] = 0.0
            return self._last.copy()
        hours_left = (view.departure - view.now) / HOUR
        need_hours = view.missing_kwh / view.power_max_kw if view.power_max_kw > 0 else 0.0
        angle = (view.now.hour + view.now.minute / 60) / 24 * math.tau
        prices = np.asarray(view._sample(self._settings.step, self._slots)) / self._price_scale
        is_known = np.isfinite(prices)
        state = [need_hours / 24, hours_left / 24, need_hours / hours_left]
        state += [math.sin(angle), math.cos(angle)]
        values = np.concatenate([state, np.where(is_known, prices, 0.0), is_known])
        self._last = np.clip(values, -BOUND, BOUND).astype(np.float32)
        return self._last.copy()
