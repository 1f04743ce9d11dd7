"""Colours of all pictures: six hues and three greys, on light and on dark paper."""

from __future__ import annotations

from typing import Literal, NamedTuple

from slackwater._engine import InputError

Theme = Literal["auto", "light", "dark"]
THEMES = ("auto", "light", "dark")


class Ink(NamedTuple):
    """A colour by its name, on light and on dark paper."""

    name: str
    light: str
    dark: str

    def on(self, paper: str) -> str:
        """The colour for ``"light"`` or ``"dark"`` paper."""
        return self.dark if paper == "dark" else self.light


# Hues were found by search: `tests/python/test_palette.py` computes their distances under each
# kind of colour blindness. On light paper they also stand out from black, because cells of
# notebooks do not tell which paper they lie on.
BLUE = Ink("blue", "#1250ec", "#6687ff")
GREEN = Ink("green", "#22a96f", "#7effba")
ORANGE = Ink("orange", "#d08300", "#ff9c00")
PURPLE = Ink("purple", "#8f2da0", "#f5beff")
RED = Ink("red", "#a9281c", "#d44032")
GREY = Ink("grey", "#615969", "#7e7483")
HUES = (BLUE, GREEN, ORANGE, PURPLE, RED, GREY)

INK = Ink("ink", "#1f2933", "#e6ebef")
FAINT = Ink("faint", "#5d6b79", "#9aa8b5")
RULE = Ink("rule", "#dde3e8", "#333c44")
PAPER = Ink("paper", "#ffffff", "#171c20")
INKS = (*HUES, INK, FAINT, RULE, PAPER)

MET, MISSED = GREEN, RED


def check_theme(theme: str) -> None:
    """Refuse a theme that does not exist.

    Raises:
        InputError: It is neither ``auto`` nor ``light`` nor ``dark``.
    """
    if theme not in THEMES:
        message = f"theme is {theme!r}; themes are {', '.join(THEMES)}"
        raise InputError(message)


class Look(NamedTuple):
    """How a reason for charging is drawn."""

    label: str
    ink: Ink


REASONS = {
    "reserve": Look("reserve, at once", ORANGE),
    "missed_deadline": Look("for a missed deadline", RED),
    "deadline": Look("needed by a deadline", PURPLE),
    "below_marginal_price": Look("cheapest hours", BLUE),
    "negative_price": Look("paid to charge", GREEN),
    "kept": Look("as planned before", GREY),
}
HEAT_REASONS = {
    "hold": Look("to hold the band", PURPLE),
    "ahead": Look("ahead, at the cheapest time", BLUE),
    "recover": Look("back into the band", RED),
    "negative_price": Look("paid to run", GREEN),
    "end_value": Look("for the heat at the end", GREY),
    "on_min": Look("least time on", ORANGE),
}
DEVICES = {
    "load": Look("loads", GREY),
    "vehicle": Look("vehicles", BLUE),
    "battery": Look("batteries", GREEN),
    "shiftable_load": Look("shiftable loads", PURPLE),
    "heat_unit": Look("heat units", RED),
    "solar": Look("solar", ORANGE),
}
# Loads of one fleet, in reports of areas and in the demonstration alike.
BASELINE = Look("baseline: full power at plug-in", ORANGE)
PRICE_ONLY = Look("price only: each at its own cheapest", PURPLE)
COORDINATED = Look("coordinated under the limit", BLUE)
