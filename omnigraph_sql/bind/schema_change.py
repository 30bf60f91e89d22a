"""A schema change as a value: steps in order, and their JSON form."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any, Final, assert_never

from omnigraph_sql.base.catalog import Cardinality, Check, Constraint, Index, Key, Range, Unique
from omnigraph_sql.bind.schema_errors import TypeKind
from omnigraph_sql.bind.schema_json import bound_from_text, bound_text, type_from_json, type_to_json
from omnigraph_sql.bind.schema_steps import ORDER, DropMode, DropProperty, DropType, Step, Tier, Unsupported


@dataclass(frozen=True, slots=True)
class SchemaPlan:
    """The way from one schema to another, in order. Without steps there is nothing to do."""

    steps: tuple[Step, ...] = ()

    @property
    def supported(self) -> bool:
        return not self.refusals

    @property
    def refusals(self) -> tuple[Unsupported, ...]:
        return tuple(step for step in self.steps if isinstance(step, Unsupported))

    @property
    def needs_validation(self) -> bool:
        return any(step.tier is Tier.VALIDATED for step in self.steps)

    @property
    def loses_data(self) -> bool:
        return any(isinstance(step, DropType | DropProperty) for step in self.steps)

    def text(self) -> str:
        """One line per step."""
        return "".join(f"{step.text()}\n" for step in self.steps)

    def to_json(self) -> str:
        return json.dumps([step_to_json(step) for step in self.steps], indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> SchemaPlan:
        """Raises ValueError, KeyError or TypeError when `text` is not what `to_json` wrote."""
        return cls(tuple(step_from_json(step) for step in json.loads(text)))


# ---- JSON -------------------------------------------------------------------------------------------------------


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


_BY_SNAKE: Final = {_snake(of.__name__): of for of in ORDER}


def step_to_json(step: Step) -> dict[str, Any]:
    body: dict[str, Any] = {"step": _snake(type(step).__name__)}
    for field in dataclasses.fields(step):
        body[field.name] = _encode(field.name, getattr(step, field.name))
    return body


def step_from_json(body: dict[str, Any]) -> Step:
    fields = {name: _decode(name, value) for name, value in body.items() if name != "step"}
    return _BY_SNAKE[body["step"]](**fields)


def _encode(name: str, value: Any) -> object:
    match name:
        case "rule":
            return _rule_to_json(value)
        case "of":
            return type_to_json(value)
        case "before" | "after":
            if isinstance(value, Cardinality):
                return [value.minimum, value.maximum]
            return type_to_json(value)
        case _:
            return value


def _decode(name: str, value: Any) -> Any:
    match name:
        case "kind":
            return TypeKind(value)
        case "mode":
            return DropMode(value)
        case "rule":
            return _rule_from_json(value)
        case "of":
            return type_from_json(value)
        case "before" | "after":
            return Cardinality(*value) if isinstance(value, list) else type_from_json(value)
        case "added" | "facts":
            return tuple(value)
        case _:
            return value


def _rule_to_json(rule: Constraint) -> dict[str, object]:
    match rule:
        case Key(members) | Unique(members) | Index(members):
            return {type(rule).__name__.lower(): list(members)}
        case Range(name, low, high):
            return {"range": [name, bound_text(low), bound_text(high)]}
        case Check(name, pattern):
            return {"check": [name, pattern]}
        case _:
            assert_never(rule)


def _rule_from_json(body: dict[str, list[Any]]) -> Constraint:
    ((kind, values),) = body.items()
    match kind:
        case "key":
            return Key(tuple(values))
        case "unique":
            return Unique(tuple(values))
        case "index":
            return Index(tuple(values))
        case "range":
            return Range(values[0], bound_from_text(values[1]), bound_from_text(values[2]))
        case "check":
            return Check(values[0], values[1])
        case _:
            raise ValueError(f"{kind!r} is no rule")
