"""Plans of all kinds as pictures: with matplotlib, in notebooks, and as pages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slackwater import _view
from slackwater._palette import check_theme
from slackwater._saved_plan import SavedPlan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from slackwater._palette import Theme
    from slackwater._timeline import Picture


class Drawn:
    """A plan that can be drawn."""

    __slots__ = ()

    def _picture(self, zone: ZoneInfo) -> Picture:
        """Content of a picture."""
        raise NotImplementedError

    def _sections(self, zone: ZoneInfo) -> list[str]:
        """Markup below the picture of a cell or a page."""
        raise NotImplementedError

    def _own_zone(self) -> str:
        """Zone on whose clocks the plan is told without another one."""
        return "UTC"

    def _zone(self, time_zone: str | ZoneInfo | None) -> ZoneInfo:
        return _view.zone_of(self._own_zone() if time_zone is None else time_zone)

    def plot(
        self,
        *,
        time_zone: str | ZoneInfo | None = None,
        theme: Theme = "auto",
        ax: Axes | None = None,
        axes: Sequence[Axes] | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Figure:
        """Draw the plan with matplotlib, its panels on one time axis.

        A plan of a vehicle has the panels ``price`` and ``level``; charging is the space below
        the price, in the colour of its reason. A plan of a battery has ``price``, ``power`` and
        ``level``, and one of switching ``price`` and ``power``. A plan of heat has ``price`` with
        the price of a kWh of heat, ``power`` in the colour of its reason, and ``level``, the
        temperature within its band. A plan of a site has ``power``, with devices on top of each
        other, ``price``, for more than eight vehicles ``vehicles``, a heat map of them by time,
        and ``level`` for the state of charge of batteries. A bill has ``cost``, its months with
        the amounts of each recipient on top of each other. A dot with a tick is a target that is
        met, one with a cross a target that is missed. Estimated prices are dotted, time without a
        price is hatched.

        Time runs on the clocks of ``time_zone`` but in elapsed time: the day on which clocks go
        back is an hour longer. More than 1,000 slots are drawn as means of hours or days, and the
        subtitle says so.

        Args:
            time_zone: Zone of the time axis: an IANA name or a ``ZoneInfo``. ``None`` is UTC; of a
                bill and of a plan under a price of power it is that of the tariff.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the axes or of matplotlib's
                style.
            ax: Axes to draw the first panel into, alone.
            axes: Axes to draw all panels into, one each, in the order above; they should share
                their time axis.
            figsize: Width and height of a new figure in inches.

        Returns:
            The figure, which notebooks show. ``figure.savefig("plan.png")`` writes it to a file.

        Raises:
            ImportError: matplotlib is not installed (``slackwater[plot]``).
            InputError: The time zone or the theme is unknown, or axes do not fit.

        Example:
            >>> from datetime import UTC, datetime, timedelta
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
            >>> nine = six + timedelta(hours=3)
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(nine, 10)])
            >>> figure = plan.plot(time_zone="Europe/Oslo")
            >>> [axes.get_ylabel() for axes in figure.axes]
            ['Price (EUR/kWh)', 'Energy (kWh)']
        """
        from slackwater.plot import draw  # noqa: PLC0415  matplotlib is an optional extra

        picture = self._picture(self._zone(time_zone))
        return draw(picture, theme=theme, ax=ax, axes=axes, figsize=figsize)

    def to_html(
        self,
        *,
        time_zone: str | ZoneInfo | None = None,
        theme: Theme = "auto",
        interactive: bool = True,
    ) -> str:
        """Write the plan as an HTML page that loads nothing and needs no network.

        Args:
            time_zone: Zone of all times: an IANA name or a ``ZoneInfo``. ``None`` is UTC; of a
                bill and of a plan under a price of power it is that of the tariff.
            theme: ``"light"``, ``"dark"``, or ``"auto"`` for that of the reader.
            interactive: Whether a script of the page tells slot, prices, powers and reasons under
                the pointer or the arrow keys. Without it the page has no script.

        Returns:
            One HTML document.

        Raises:
            InputError: The time zone or the theme is unknown.

        Example:
            >>> from datetime import UTC, datetime
            >>> import slackwater as sw
            >>> six = datetime(2026, 1, 5, 18, tzinfo=UTC)
            >>> prices = sw.Prices.from_values(six, [0.30, 0.10, 0.20], currency="EUR")
            >>> plan = sw.plan_charge(prices, now=six, power_max_kw=7, targets=[(None, 10)])
            >>> plan.to_html(theme="dark").startswith("<!DOCTYPE html>")
            True
        """
        from slackwater.html import page  # noqa: PLC0415  a page is rarely wanted

        check_theme(theme)
        zone = self._zone(time_zone)
        sections = self._sections(zone)
        return page(self._told_picture(zone), sections, theme=theme, interactive=interactive)

    def _repr_html_(self) -> str:
        """Draw the plan for a cell of a notebook, on the clocks of :meth:`plot`."""
        from slackwater.html import card  # noqa: PLC0415  only notebooks need it

        zone = self._zone(None)
        return card(self._told_picture(zone), self._sections(zone))

    def _told_picture(self, zone: ZoneInfo) -> Picture:
        """The picture, with emissions among the facts beside it."""
        picture = self._picture(zone)
        emissions = _view.emissions(self) if isinstance(self, SavedPlan) else []
        return replace(picture, facts=[*picture.facts, *emissions])
