"""Colours of pictures: apart under each kind of colour blindness, and from the paper."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

import slackwater as sw
from slackwater._palette import FAINT, HUES, INK, PAPER, check_theme

Floats = npt.NDArray[np.float64]

# Machado, Oliveira and Fernandes (2009), "A physiologically-based model for simulation of color
# vision deficiency": full severity, on linear RGB.
SIGHT = {
    "trichromacy": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
# From sRGB to XYZ with the white of D65.
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
DISTANCE_MIN = 30


def linear(colour: str) -> Floats:
    """Linear RGB of a colour such as ``#1250ec``."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: Floats) -> Floats:
    """CIELAB of linear RGB."""
    ratio = XYZ @ np.clip(light, 0, 1) / XYZ.sum(axis=1)
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    """Contrast as the Web Content Accessibility Guidelines define it."""
    dark, light = sorted(XYZ[1] @ linear(colour) for colour in (one, other))
    return float((light + 0.05) / (dark + 0.05))


def test_the_distance_is_that_of_cielab() -> None:
    assert lab(linear("#ffffff")) == pytest.approx([100, 0, 0], abs=0.01)
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.01)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("paper", ["light", "dark"])
def test_any_two_hues_differ_for_every_kind_of_sight(paper: str, sight: str) -> None:
    seen = {hue.name: lab(SIGHT[sight] @ linear(hue.on(paper))) for hue in HUES}
    pairs = itertools.combinations(seen, 2)
    distances = {pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]]) for pair in pairs}
    assert min(distances.values()) > DISTANCE_MIN, distances


def test_red_and_green_of_equal_light_would_fail() -> None:
    pair = [lab(SIGHT["deuteranopia"] @ linear(colour)) for colour in ("#c04000", "#6b7a00")]
    assert np.linalg.norm(pair[0] - pair[1]) < DISTANCE_MIN


def test_hues_stand_out_from_their_paper() -> None:
    for hue in HUES:
        # A cell of a notebook does not tell which paper it lies on.
        assert contrast(hue.light, PAPER.light) >= 3, hue
        assert contrast(hue.light, "#000000") >= 3, hue
        assert contrast(hue.dark, PAPER.dark) >= 3.5, hue


@pytest.mark.parametrize("paper", ["light", "dark"])
def test_text_reaches_aa(paper: str) -> None:
    for ink in (INK, FAINT):
        assert contrast(ink.on(paper), PAPER.on(paper)) >= 4.5, ink


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(sw.InputError, match="theme is 'sepia'; themes are auto, light, dark"):
        check_theme("sepia")
