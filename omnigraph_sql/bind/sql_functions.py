"""Every function SQL text may call: its arity, what its arguments are, and how its result type follows from them.

A line reads `names arity result takes`. Names before the last are other spellings of the last, the engine's own name;
an arity is `n`, `n-m` or `n+`; a result is a type, `argN` (as argument N), `itemN` (item of list N), `listN` (list of
argument N), `common` (the type all arguments share) or `any`. `takes` has one letter per argument, the last one for all
that follow: n number, i whole number, t text, l list, d day or instant, b truth value, c something with an order,
`.` anything; a line without it takes what most functions of its table take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from omnigraph_sql.base import types
from omnigraph_sql.base.types import ANY, DataType, ListType, StructType, VectorType, common_type, is_integer, is_open


@dataclass(frozen=True, slots=True)
class Signature:
    """`name` is the engine's name for it; `most` None means any number of arguments."""

    name: str
    least: int
    most: int | None
    result: str
    kinds: str = "."

    def takes(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    def kind(self, at: int) -> str:
        """What argument `at`, counted from 0, has to be."""
        return self.kinds[min(at, len(self.kinds) - 1)]

    @property
    def arity(self) -> str:
        """For messages: `1 argument`, `2 to 3 arguments`, `at least 1 argument`."""
        if self.most is None:
            return f"at least {_counted(self.least)}"
        return _counted(self.least) if self.least == self.most else f"{self.least} to {_counted(self.most)}"


def _counted(number: int) -> str:
    return f"{number} argument" if number == 1 else f"{number} arguments"


_MATH: Final = """
abs 1 arg1
acos 1 F64
acosh 1 F64
asin 1 F64
asinh 1 F64
atan 1 F64
atan2 2 F64
atanh 1 F64
cbrt 1 F64
ceiling ceil 1 arg1
cos 1 F64
cosh 1 F64
cot 1 F64
degrees 1 F64
exp 1 F64
factorial 1 I64 i
floor 1 arg1
greatest_common_divisor gcd 2 I64 i
iszero 1 BOOL
is_nan isnan 1 BOOL
lcm 2 I64 i
ln 1 F64
log 1-2 F64
log10 1 F64
log2 1 F64
nanvl 2 common
pi 0 F64
pow power 2 F64
radians 1 F64
random 0 F64
round 1-2 arg1 ni
sign signum 1 F64
sin 1 F64
sinh 1 F64
sqrt 1 F64
tan 1 F64
tanh 1 F64
truncate trunc 1-2 arg1 ni
"""

_CONDITIONAL: Final = """
coalesce 1+ common
greatest 1+ common c
least 1+ common c
ifnull nvl 2 common
nvl2 3 any
nullif 2 arg1
"""

_TEXT: Final = """
ord ascii 1 I32
bit_length 1 I32
btrim 1-2 STRING
len char_length character_length length 1 I64
strlen octet_length 1 I64
chr 1 STRING i
concat 1+ STRING .
concat_ws 2+ STRING t.
contains 2 BOOL
decode 2 BLOB
encode 2 STRING .t
suffix endswith ends_with 2 BOOL
find_in_set 2 I32
initcap 1 STRING
instr position strpos 2 I64
left 2 STRING ti
edit_distance levenshtein 2 I64
lcase lower 1 STRING
lpad 2-3 STRING tit
ltrim 1-2 STRING
overlay 3-4 STRING ttii
repeat 2 STRING ti
replace 3 STRING
reverse 1 STRING
right 2 STRING ti
rpad 2-3 STRING tit
rtrim 1-2 STRING
split_part 3 STRING tti
prefix startswith starts_with 2 BOOL
substring substr 2-3 STRING ti
substring_index substr_index 3 STRING tti
to_hex 1 STRING i
translate 3 STRING
trim 1-2 STRING
ucase upper 1 STRING
gen_random_uuid uuid 0 STRING
regexp_count 2-4 I64 ttit
regexp_instr 2-6 I64 ttiiti
regexp_matches regexp_like 2-3 BOOL
regexp_match 2-3 [STRING]
regexp_replace 3-4 STRING
digest 2 BLOB .t
md5 1 STRING .
sha224 1 BLOB .
sha256 1 BLOB .
sha384 1 BLOB .
sha512 1 BLOB .
"""

_TIME: Final = """
time_bucket date_bin 2-3 DATETIME .d
date_format strftime to_char 2 STRING .t
datepart date_part 2 I64 t.
datetrunc date_trunc 2 DATETIME td
from_unixtime 1-2 DATETIME it
make_date 3 DATE i
make_time 3 TIME i
to_date 1+ DATE
to_local_time 1 DATETIME d
to_timestamp 1+ DATETIME
to_timestamp_seconds 1+ DATETIME
to_timestamp_millis 1+ DATETIME
to_timestamp_micros 1+ DATETIME
to_timestamp_nanos 1+ DATETIME
to_unixtime 1+ I64
at_time_zone 2 DATETIME dt
"""

_LISTS: Final = """
any_match list_any_match array_any_match 2 BOOL
list_append array_push_back list_push_back array_append 2 arg1
list_cat list_concat array_cat array_concat 1+ arg1 l
list_dims array_dims 1 [U64]
list_distinct array_distinct 1 arg1
list_distance array_distance 2 F64 l
list_element list_extract array_extract array_element 2 item1 li
list_empty array_empty empty 1 BOOL
list_except array_except 2 arg1 l
list_filter array_filter 2 arg1
list_transform list_apply array_apply array_transform 2 list2
list_has_all array_contains_all array_has_all 2 BOOL l
list_has_any array_contains_any array_has_any 2 BOOL l
list_intersect array_intersect 2 arg1 l
list_join list_to_string array_join array_to_string 2-3 STRING lt
list_length array_length 1-2 U64 li
list_max array_max 1 item1
list_min array_min 1 item1
list_ndims array_ndims 1 U64
list_pop_back array_pop_back 1 arg1
list_pop_front array_pop_front 1 arg1
list_indexof list_position array_indexof array_position 2-3 U64 l.i
list_positions array_positions 2 [U64]
array_push_front list_push_front list_prepend array_prepend 2 arg2 .l
list_remove array_remove 2 arg1
list_remove_all array_remove_all 2 arg1
list_remove_n array_remove_n 3 arg1 l.i
list_repeat array_repeat 2 list1 .i
list_replace array_replace 3 arg1
list_replace_all array_replace_all 3 arg1
list_replace_n array_replace_n 4 arg1 l..i
list_resize array_resize 2-3 arg1 li.
list_reverse array_reverse 1 arg1
list_slice array_slice 3-4 arg1 li
list_sort array_sort 1-3 arg1 lt
list_union array_union 2 arg1 l
list_zip arrays_zip 1+ any l
cardinality 1 U64 .
flatten 1 item1
string_split split str_split string_to_list string_to_array 2-3 [STRING] t
list_value make_list make_array 0+ any .
range 1-3 [I64] i
generate_series 1-3 [I64] i
list_cosine_distance array_cosine_distance cosine_distance 2 F64 l
"""

_NESTED: Final = """
struct_extract get_field 2 any
struct_pack named_struct 0+ any
row struct 0+ any
map_from_entries map_entries 1 any
map 1-2 any
element_at map_extract 2 any
map_keys 1 any
map_values 1 any
typeof arrow_typeof 1 STRING
arrow_cast 2 any
version 0 STRING
current_branch 0 STRING
current_commit 0 STRING
"""

_AGGREGATES: Final = """
list array_agg 1 list1 .
mean avg 1 F64
bit_and 1 arg1 i
bit_or 1 arg1 i
bit_xor 1 arg1 i
every bool_and 1 BOOL b
bool_or 1 BOOL b
count 0+ I64 .
any_value 1 arg1 .
arbitrary first first_value 1 arg1 .
last last_value 1 arg1 .
max 1 arg1 c
min 1 arg1 c
median 1 F64
quantile_cont percentile_cont 2 F64
group_concat listagg string_agg 1-2 STRING t
sum 1 sum
var_samp variance var 1 F64
var_pop 1 F64
std stddev_samp stddev 1 F64
stddev_pop 1 F64
corr 2 F64
covar_samp covar 2 F64
covar_pop 2 F64
nth_value 2 arg1 .i
regr_slope 2 F64
regr_intercept 2 F64
regr_count 2 U64
regr_r2 2 F64
regr_avgx 2 F64
regr_avgy 2 F64
regr_sxx 2 F64
regr_syy 2 F64
regr_sxy 2 F64
approx_count_distinct approx_distinct 1 U64 .
approx_median 1 arg1
approx_quantile approx_percentile_cont 2-3 arg1
approx_percentile_cont_with_weight 3-4 arg1
grouping_id grouping 1+ I32 .
"""

_WINDOWS: Final = """
row_number 0 U64
rank 0 U64
dense_rank 0 U64
percent_rank 0 F64
cume_dist 0 F64
ntile 1 U64 i
lag 1-3 arg1 .i.
lead 1-3 arg1 .i.
first_value 1 arg1
last_value 1 arg1
nth_value 2 arg1 .i
"""


def _table(*sections: tuple[str, str]) -> dict[str, Signature]:
    found: dict[str, Signature] = {}
    for text, usual in sections:
        for line in filter(None, text.splitlines()):
            words = line.split()
            at = next(i for i, word in enumerate(words) if word[0].isdigit())
            names, arity, result = words[:at], words[at], words[at + 1]
            least, _, most = arity.rstrip("+").partition("-")
            bound = None if arity.endswith("+") else int(most or least)
            kinds = words[at + 2] if len(words) > at + 2 else usual
            signature = Signature(names[-1], int(least), bound, result, kinds)
            for name in names:
                found.setdefault(name, signature)
    return found


SCALARS: Final = _table((_MATH, "n"), (_CONDITIONAL, "."), (_TEXT, "t"), (_TIME, "."), (_LISTS, "l."), (_NESTED, "."))
AGGREGATES: Final = _table((_AGGREGATES, "n"))
WINDOWS: Final = _table((_WINDOWS, "."))

SEARCH: Final = ("search", "fuzzy", "match_text", "bm25", "nearest", "distance", "rrf")
SPECIAL: Final = (
    *("now", "today", "current_timestamp", "current_date", "current_time", "localtimestamp"),
    *("list_contains", "array_has", "array_contains", "list_has", "if", "iif", "count_if", "mod", "xor"),
    *("date", "timestamp"),
)
GRAPH: Final = ("path_length", "vertices", "edges", "element_id")

ALL_NAMES: Final = (*SCALARS, *AGGREGATES, *WINDOWS, *SEARCH, *SPECIAL, *GRAPH)


def result_type(rule: str, arguments: tuple[DataType, ...]) -> DataType:
    """The type a call has by its rule; what cannot be told before it runs is ANY."""
    if rule == "any":
        return ANY
    if rule == "common":
        return _common(arguments)
    if rule == "sum":
        return _sum(arguments[0])
    if rule.startswith("["):
        return ListType(getattr(types, rule[1:-1]))
    if rule[-1].isdigit() and rule[:-1] in ("arg", "item", "list"):
        at = int(rule[-1]) - 1
        return _derived(rule[:-1], arguments[at]) if at < len(arguments) else ANY
    found: DataType = getattr(types, rule)
    return found


def _derived(rule: str, of: DataType) -> DataType:
    if rule == "arg":
        return of
    if rule == "list":
        return ANY if is_open(of) else ListType(of)
    return of.item if isinstance(of, ListType) else types.F32 if isinstance(of, VectorType) else ANY


def _common(arguments: tuple[DataType, ...]) -> DataType:
    found: DataType | None = types.NULL
    for of in arguments:
        found = common_type(found, of) if found is not None else None
    return ANY if found is None else found


def _sum(of: DataType) -> DataType:
    if is_integer(of):
        return types.I64
    if isinstance(of, types.DecimalType):
        return types.DecimalType(38, of.scale)
    return ANY if is_open(of) else types.F64


def field_type(of: DataType, name: str) -> DataType | None:
    """The type of a struct's field; ANY when the struct is known only at run time; None when it has no such field."""
    if isinstance(of, StructType):
        return next((t for n, t in of.fields if n.casefold() == name.casefold()), None)
    return ANY if of == ANY else None
