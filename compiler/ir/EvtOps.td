// All operations of the dialect, in the order of the reference documentation.
include "EvtGraphOps.td"
include "EvtTileOps.td"
include "EvtAttentionOps.td"
include "EvtSamplingOps.td"
include "EvtRoleOps.td"
