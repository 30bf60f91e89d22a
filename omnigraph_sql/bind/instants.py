"""Days and instants as text, under the name the binder knows them by."""

from omnigraph_sql.base.instants import parse_day as parse_day
from omnigraph_sql.base.instants import parse_instant as parse_instant
from omnigraph_sql.base.instants import utc as utc
