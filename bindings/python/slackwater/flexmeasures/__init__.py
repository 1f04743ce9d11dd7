"""A plug-in of FlexMeasures: schedules of its storage devices, planned by slackwater.

Install it by ``pip install 'slackwater[flexmeasures]'``. Settings of FlexMeasures take
``FLEXMEASURES_PLUGINS = ["slackwater.flexmeasures"]``, and the attributes of an asset or a sensor
``{"custom-scheduler": "SlackwaterScheduler"}``. The page *FlexMeasures* of the documentation has
each line, and which fields are honoured.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from flask import Blueprint
from flexmeasures.data.models.planning import storage

import slackwater
from slackwater import _flexmeasures

__version__ = slackwater.__version__

# FlexMeasures registers the schedulers of a package (a module alone will not do) that has one.
blueprint = Blueprint("slackwater", __name__)


def _with_solver(compute: FunctionType, solver: Callable[..., Any]) -> FunctionType:
    """The function of FlexMeasures, with ``solver`` where it calls its own.

    It looks its solver up by name among the globals of its module.
    """
    if "device_scheduler" not in compute.__code__.co_names:
        raise ImportError("this FlexMeasures calls its solver otherwise: slackwater knows 1.0")
    names = {**compute.__globals__, "device_scheduler": solver}
    return FunctionType(
        compute.__code__, names, compute.__name__, compute.__defaults__, compute.__closure__
    )


def _solve(**problem: Any) -> Any:  # noqa: ANN401  of FlexMeasures
    with warnings.catch_warnings():
        # A battery of megawatts is no mistake here: units have been converted.
        warnings.filterwarnings("ignore", message=".* is divided by 1000$", category=UserWarning)
        return _flexmeasures.solve(**problem)


class SlackwaterScheduler(storage.StorageScheduler):
    """The ``StorageScheduler`` of FlexMeasures, with the planners of slackwater as its solver.

    Flex-model, flex-context, sensors, units and results are those of FlexMeasures. Each schedule
    is proved optimal; a field that cannot be honoured raises :class:`slackwater.InputError`,
    which names it.
    """

    __version__ = "1"
    __author__ = "slackwater"

    compute = _with_solver(storage.StorageScheduler.compute, _solve)
