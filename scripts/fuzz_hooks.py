"""What schemathesis cannot know: identifiers that exist.

Loaded by schemathesis, as ``SCHEMATHESIS_HOOKS``. Half of the generated path
parameters are replaced by those of the street.
"""

import json
import os
import random

import schemathesis

LIVE: dict[str, list[str]] = json.loads(os.environ["SLACKWATER_LIVE_IDS"])
CHOOSE = random.Random(7)


Parameters = dict[str, object]


@schemathesis.hook  # type: ignore[untyped-decorator, unused-ignore]
def map_path_parameters(_: object, parameters: Parameters | None) -> Parameters | None:
    """Puts live identifiers into half of the paths."""
    if not parameters:
        return parameters
    replaced = dict(parameters)
    for name in parameters:
        if name in LIVE and CHOOSE.random() < 0.5:
            replaced[name] = CHOOSE.choice(LIVE[name])
    return replaced
