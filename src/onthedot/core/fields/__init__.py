"""The fields of a job, each declared once: name, type, unit, limits, what it means, where it may be
set.

What is said of a field anywhere else is made from this: the shapes of the API and their checks
(wire/), OpenAPI, the options of `job add`, `job edit` and `next`, the keyword arguments of the SDK,
and the reference in docs/. Its default is that of `core.model.Definition`.
"""

from __future__ import annotations

from typing import Final

from onthedot.core.fields.declaring import Field, Kind, Where
from onthedot.core.fields.policies import POLICIES
from onthedot.core.fields.server import SERVER
from onthedot.core.fields.what import WHAT
from onthedot.core.fields.when import PREVIEW, WHEN

FIELDS: Final = (*WHAT, *WHEN, *POLICIES, *SERVER, *PREVIEW)

__all__ = ["FIELDS", "Field", "Kind", "Where", "declared"]


def declared(where: Where) -> tuple[Field, ...]:
    """The fields that may be set there."""
    return tuple(each for each in FIELDS if each.where & where)
