"""Notes of a declaration, sorted into those the product understands and those it only keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from omnigraph_sql.base.catalog import Embedding, Note
from omnigraph_sql.bind.schema_errors import S, TypeKind, refusal
from omnigraph_sql.grammar.ast.pg import MembersKind, NamedArgument, NoteNode, Scalar, Word
from omnigraph_sql.grammar.source import Source, Span

_RULES: Final = frozenset(kind.value for kind in MembersKind)
_BODY_ONLY: Final = {
    "range": "write @range(property, low..high) in the body",
    "check": 'write @check(property, "regular expression") in the body',
    "card": "write @card(min..max) behind the ends of an edge",
}


@dataclass(frozen=True, slots=True)
class Hint:
    """A former name given by `@rename_from`."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Notes:
    """What the notes of one type or property say."""

    description: str | None = None
    instruction: str | None = None
    hint: Hint | None = None
    embedding: Embedding | None = None
    embedding_span: Span | None = None
    rules: tuple[tuple[MembersKind, Span], ...] = ()
    free: tuple[Note, ...] = ()


def read_notes(notes: tuple[NoteNode, ...], source: Source, *, owner: str, on_property: bool, kind: TypeKind) -> Notes:
    """Sort `notes`, refusing misplaced and malformed ones. `owner` is how errors call the declaration."""
    return _Reader(source, owner, on_property, kind).read(notes)


class _Reader:
    def __init__(self, source: Source, owner: str, on_property: bool, kind: TypeKind) -> None:
        self._source, self._owner, self._on_property, self._kind = source, owner, on_property, kind

    def read(self, notes: tuple[NoteNode, ...]) -> Notes:
        texts: dict[str, Hint] = {}
        rules: list[tuple[MembersKind, Span]] = []
        embedding: NoteNode | None = None
        free: list[Note] = []
        for note in notes:
            word = note.name.text
            if word in ("description", "instruction", "rename_from"):
                self._once(note, word in texts)
                texts[word] = self._text(note)
            elif word in _RULES:
                rules.append(self._rule(note))
            elif word == "embed":
                self._once(note, embedding is not None)
                embedding = note
            elif word in _BODY_ONLY:
                raise refusal(
                    self._source,
                    note.span,
                    S.MISPLACED,
                    f"{self._owner}: @{word} may not stand here",
                    hint=_BODY_ONLY[word],
                )
            else:
                free.append(self._free(note))
        description, instruction = texts.get("description"), texts.get("instruction")
        return Notes(
            description=description.text if description else None,
            instruction=instruction.text if instruction else None,
            hint=texts.get("rename_from"),
            embedding=self._embedding(embedding) if embedding else None,
            embedding_span=embedding.span if embedding else None,
            rules=tuple(rules),
            free=tuple(free),
        )

    def _once(self, note: NoteNode, seen: bool) -> None:
        if seen:
            text = f"{self._owner} has @{note.name.text} twice"
            raise refusal(self._source, note.span, S.MALFORMED_NOTE, text)

    def _text(self, note: NoteNode) -> Hint:
        """The one string of a note that must have exactly that."""
        word = note.name.text
        if word == "instruction" and self._on_property:
            text = f"{self._owner}: @instruction belongs to a type, not to a property"
            raise refusal(self._source, note.span, S.MISPLACED, text, hint="use @description")
        argument = note.argument
        if note.named or not isinstance(argument, Scalar) or not isinstance(argument.value, str) or not argument.value:
            text = f"{self._owner}: @{word} takes one string that is not empty"
            raise refusal(self._source, note.span, S.MALFORMED_NOTE, text, hint=f'write @{word}("…")')
        return Hint(argument.value, argument.span)

    def _rule(self, note: NoteNode) -> tuple[MembersKind, Span]:
        kind = MembersKind(note.name.text)
        if not self._on_property:
            text = f"{self._owner}: @{kind} belongs behind a property or into the body"
            hint = f"write @{kind}(property, …) in the body"
            raise refusal(self._source, note.span, S.MISPLACED, text, hint=hint)
        return kind, note.span

    def _embedding(self, note: NoteNode) -> Embedding:
        if not self._on_property:
            text = f"{self._owner}: @embed belongs behind a vector property"
            raise refusal(self._source, note.span, S.MISPLACED, text)
        match note.argument:
            case Scalar(str() as name) if name:
                pass
            case Word(name):
                pass
            case _:
                text = f"{self._owner}: @embed names the property whose text the vector stands for"
                hint = 'write @embed("property") or @embed("property", model="…")'
                raise refusal(self._source, note.span, S.EMBED_ARGUMENTS, text, hint=hint)
        model: str | None = None
        for argument in note.named:
            model = self._model(argument, model)
        return Embedding(name, model)

    def _model(self, argument: NamedArgument, seen: str | None) -> str:
        value = argument.value.value
        if argument.name.text != "model" or seen is not None or not isinstance(value, str) or not value:
            text = f"{self._owner}: @embed takes model once, a string that is not empty, and nothing else by name"
            raise refusal(self._source, argument.span, S.EMBED_ARGUMENTS, text)
        return value

    def _free(self, note: NoteNode) -> Note:
        names = [argument.name.text for argument in note.named]
        for argument in note.named:
            if names.count(argument.name.text) > 1:
                text = f"{self._owner}: @{note.name.text} has the argument {argument.name.text} twice"
                raise refusal(self._source, argument.span, S.MALFORMED_NOTE, text)
        # A bare word and a string mean the same to a note nobody interprets.
        value: str | int | float | bool | None = None
        if note.argument is not None:
            value = note.argument.text if isinstance(note.argument, Word) else note.argument.value
        return Note(note.name.text, value, tuple((a.name.text, a.value.value) for a in note.named))
