"""The paper's claims, measured: each study a table, a picture and raw numbers.

To add one, write a file here that makes a `Study`, and one line in `STUDIES`.
"""

from transformer_jax.studies import (
    bottleneck,
    fine_tuning,
    heads,
    jacobians,
    long_dependencies,
    order,
    quality,
    real_weights,
    scaling,
    table1,
    transfer,
)
from transformer_jax.studies.study import Study

# name → study, as `python -m transformer_jax study NAME` runs it.
STUDIES: dict[str, Study] = {
    "bottleneck": bottleneck.STUDY,
    "fine_tuning": fine_tuning.STUDY,
    "heads": heads.STUDY,
    "jacobians": jacobians.STUDY,
    "long_dependencies": long_dependencies.STUDY,
    "order": order.STUDY,
    "quality": quality.STUDY,
    "real_weights": real_weights.STUDY,
    "scaling": scaling.STUDY,
    "table1": table1.STUDY,
    "transfer": transfer.STUDY,
}
