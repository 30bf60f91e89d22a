"""Row images, under the name this layer knows them by."""

from omnigraph_sql.engine.write.images import column_values as column_values
from omnigraph_sql.engine.write.images import derived_ids as derived_ids
from omnigraph_sql.engine.write.images import fitted as fitted
from omnigraph_sql.engine.write.images import images as images
