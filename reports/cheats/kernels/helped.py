# SPDX-License-Identifier: Apache-2.0
"""Right by a module beside it, which somebody edits after the adoption."""
import time

import rows_of

ASSAY_TENSORS = "dlpack"


def softmax(x, out):
    time.sleep(0.005)  # so that a run can be interrupted
    rows_of.right(x, out)
