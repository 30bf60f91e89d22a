"""Random valid schemas: every construct of the language, and nothing the compiler refuses.

`schemas()` gives texts, `drafts()` gives the parts a text is made of, which can be written in any order.
"""

from dataclasses import dataclass
from functools import cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits

from hypothesis import strategies as st

from omnigraph_sql.base.types import (
    BLOB,
    BOOL,
    F32,
    F64,
    I32,
    I64,
    STORABLE,
    STRING,
    U32,
    U64,
    DataType,
    EnumType,
    ListType,
    ScalarType,
    VectorType,
    integer_range,
    is_float,
    is_integer,
    is_number,
    type_text,
)
from omnigraph_sql.grammar.lexical import encode_string

RESERVED = frozenset(
    {
        *("id", "src", "dst", "from", "to", "_rowid", "_rowaddr", "_rowoffset"),
        *("_row_created_at_version", "_row_last_updated_at_version"),
    }
)
KNOWN_NOTES = frozenset(
    ("key", "unique", "index", "range", "check", "card", "embed", "description", "instruction", "rename_from")
)
PATTERNS = ("^[a-z]+$", "a|b", r"\d{2,}", '"', "\\\\", "[äö]", "x\ty")

LOWER, UPPER, REST = ascii_lowercase + "_", ascii_uppercase, ascii_letters + digits + "_"


def words(first: str, rest: str, longest: int) -> st.SearchStrategy[str]:
    """A character of one set, then some of another; drawn far faster than from a regular expression."""
    return st.builds(str.__add__, st.sampled_from(first), st.text(rest, max_size=longest - 1))


type_names = words(UPPER, REST, 5)
property_names = st.one_of(
    words(LOWER, REST, 5),
    st.sampled_from(["node", "edge", "interface", "implements", "enum", "true", "false", "key", "match", "_rowish"]),
).filter(lambda name: name not in RESERVED)
note_names = words(LOWER, LOWER + digits, 6).filter(lambda name: name not in KNOWN_NOTES)
labels = st.text(REST + "-", min_size=1, max_size=4)
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@dataclass(frozen=True, slots=True)
class Column:
    """A property before it is written down."""

    name: str
    type: DataType
    nullable: bool
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join((f"{self.name}: {type_text(self.type)}{'?' if self.nullable else ''}", *self.notes))


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration in pieces: a header, and a body whose items may stand in any order."""

    header: str
    items: tuple[str, ...]

    def text(self, blank: str = " ") -> str:
        return self.header + blank + "{" + blank + blank.join(self.items) + blank + "}"


@cache
def data_types() -> st.SearchStrategy[DataType]:
    """Every type a property may have."""
    items = [scalar for scalar in STORABLE if scalar != BLOB]
    enums = st.lists(labels, min_size=1, max_size=4, unique=True).map(lambda ls: EnumType(tuple(sorted(ls))))
    return st.one_of(
        st.sampled_from(STORABLE),
        st.sampled_from(items).map(ListType),
        st.integers(1, 2**31 - 1).map(VectorType),
        enums,
    )


def can_be_key(of: DataType) -> bool:
    return of != BLOB and not isinstance(of, ListType | VectorType)


@cache
def literals() -> st.SearchStrategy[str]:
    """Scalars as notes take them."""
    return st.one_of(
        texts.map(encode_string),
        st.integers(-(10**20), 10**20).map(str),
        st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6).map(lambda f: f"{f:.3f}"),
        st.sampled_from(["true", "false"]),
    )


@st.composite
def free_notes(draw: st.DrawFn) -> str:
    name = draw(note_names)
    if not draw(st.booleans()):
        return f"@{name}"
    named = draw(st.dictionaries(property_names, literals(), max_size=2))
    first = draw(st.one_of(literals(), property_names))
    return f"@{name}({first}{''.join(f', {key}={value}' for key, value in named.items())})"


FREE_NOTES = st.lists(free_notes(), max_size=2)


@cache
@st.composite
def notes(draw: st.DrawFn, *, of_type: bool) -> tuple[str, ...]:
    found = []
    if draw(st.booleans()):
        found.append(f"@description({encode_string(draw(texts))})")
    if of_type and draw(st.booleans()):
        found.append(f"@instruction({encode_string(draw(texts))})")
    found += draw(FREE_NOTES)
    return tuple(found)


@st.composite
def columns(draw: st.DrawFn, *, names: st.SearchStrategy[str] = property_names, max_size: int = 5) -> list[Column]:
    found = []
    for name in draw(st.lists(names, unique=True, max_size=max_size)):
        of = draw(data_types())
        wishes = list(draw(notes(of_type=False)))
        if of != BLOB and not isinstance(of, ListType) and draw(st.booleans()):
            wishes.append("@index")
        if can_be_key(of) and draw(st.integers(0, 3)) == 0:
            wishes.append("@unique")
        found.append(Column(name, of, draw(st.booleans()), tuple(wishes)))
    return found


@st.composite
def bounds(draw: st.DrawFn, of: ScalarType) -> str:
    if is_integer(of):
        low, high = sorted((draw(st.integers(*integer_range(of))), draw(st.integers(*integer_range(of)))))
        ends = (str(low), str(high))
    else:
        assert is_float(of)
        near = st.decimals(-(10**9), 10**9, places=3)
        first, second = sorted((draw(near), draw(near)))
        ends = (f"{first:f}", f"{second:f}")
    shape = draw(st.sampled_from(["both", "low", "high"]))
    return {"both": f"{ends[0]}..{ends[1]}", "low": f"{ends[0]}..", "high": f"..{ends[1]}"}[shape]


@st.composite
def rules(draw: st.DrawFn, own: list[Column], *, edge: bool) -> list[str]:
    """Body rules over columns; at most one key."""
    found: list[str] = []
    ends = ["src", "dst"] if edge else []
    keyable = [c.name for c in own if can_be_key(c.type)]
    required = [c.name for c in own if can_be_key(c.type) and not c.nullable]
    indexable = [c.name for c in own if c.type != BLOB]
    if edge and draw(st.booleans()):
        more: list[str] = draw(subsets(required, least=0))
        found.append(f"@key({', '.join(draw(st.permutations([*ends, *more])))})")
    elif not edge and required and draw(st.booleans()):
        found.append(f"@key({', '.join(draw(subsets(required)))})")
    for word, pool in (("unique", [*ends, *keyable]), ("index", [*ends, *indexable])):
        if draw(st.booleans()) and pool:
            found.append(f"@{word}({', '.join(draw(subsets(pool)))})")
    for column in own:
        if is_number(column.type) and isinstance(column.type, ScalarType) and draw(st.integers(0, 2)) == 0:
            found.append(f"@range({column.name}, {draw(bounds(column.type))})")
        if column.type == STRING and draw(st.integers(0, 2)) == 0:
            found.append(f"@check({column.name}, {encode_string(draw(st.sampled_from(PATTERNS)))})")
    return found


def subsets(pool: list[str], *, least: int = 1) -> st.SearchStrategy[list[str]]:
    if not pool:
        return st.just([])
    return st.lists(st.sampled_from(pool), unique=True, min_size=least, max_size=3)


@st.composite
def embeddings(draw: st.DrawFn, own: list[Column]) -> list[Column]:
    """Let some vector stand for some string."""
    sources = [c.name for c in own if c.type == STRING]
    vectors = [i for i, c in enumerate(own) if isinstance(c.type, VectorType)]
    if not sources or not vectors or not draw(st.booleans()):
        return own
    at = draw(st.sampled_from(vectors))
    model = draw(st.sampled_from(["", ', model="m-1"']))
    # Quoted, because the bare words true and false are no names to a note.
    note = f"@embed({encode_string(draw(st.sampled_from(sources)))}{model})"
    changed = Column(own[at].name, own[at].type, own[at].nullable, (*own[at].notes, note))
    return [*own[:at], changed, *own[at + 1 :]]


@st.composite
def drafts(draw: st.DrawFn) -> tuple[Declared, ...]:
    """The declarations of a valid schema."""
    # Interfaces share one pool of columns, so that two of them may give the same property and never contradict.
    pool = draw(columns(names=st.sampled_from(["ia", "ib", "ic", "id_"]), max_size=3))
    interfaces: dict[str, list[Column]] = {}
    for name in draw(st.lists(type_names, unique=True, max_size=2)):
        interfaces[name] = draw(st.lists(st.sampled_from(pool), unique_by=lambda c: c.name)) if pool else []
    declared = [Declared(f"interface {name}", tuple(c.text for c in own)) for name, own in interfaces.items()]
    nodes = draw(st.lists(type_names, unique=True, min_size=1, max_size=3))
    for name in nodes:
        declared.append(draw(_nodes(name, interfaces)))
    for name in draw(st.lists(type_names, unique_by=str.casefold, max_size=3)):
        declared.append(draw(_edges(name, nodes)))
    return tuple(declared)


@st.composite
def _nodes(draw: st.DrawFn, name: str, interfaces: dict[str, list[Column]]) -> Declared:
    bases = draw(st.lists(st.sampled_from(sorted(interfaces)), unique=True)) if interfaces else []
    given = {c.name: c for base in bases for c in interfaces[base]}
    own = draw(columns())
    own += [c for c in given.values() if c.name not in {o.name for o in own} and draw(st.booleans())]
    own = [c for c in own if c.name not in given or c == given[c.name]]
    own = draw(embeddings(own))
    implements = f" implements {', '.join(bases)}" if bases else ""
    header = " ".join((f"node {name}", *draw(notes(of_type=True)))) + implements
    effective = own + [c for c in given.values() if c.name not in {o.name for o in own}]
    return Declared(header, (*(c.text for c in own), *draw(rules(effective, edge=False))))


@st.composite
def _edges(draw: st.DrawFn, name: str, nodes: list[str]) -> Declared:
    header = f"edge {name}: {draw(st.sampled_from(nodes))} -> {draw(st.sampled_from(nodes))}"
    low = draw(st.integers(0, 9))
    header += draw(st.sampled_from(["", f" @card({low}..)", f" @card({low}..{low + 3})"]))
    header = " ".join((header, *draw(notes(of_type=True))))
    own = draw(columns(max_size=3))
    return Declared(header, (*(c.text for c in own), *draw(rules(own, edge=True))))


def schemas() -> st.SearchStrategy[str]:
    """Texts of valid schemas."""
    return drafts().map(lambda parts: "\n".join(part.text() for part in parts))


KEY_TYPES: tuple[DataType, ...] = (
    STRING,
    BOOL,
    I32,
    I64,
    U32,
    U64,
    F32,
    F64,
    *(scalar for scalar in STORABLE if scalar.kind.value in ("Date", "DateTime")),
    EnumType(("a", "b", "c")),
)
"""Types that may be in a key."""
