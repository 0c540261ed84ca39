# SPDX-License-Identifier: Apache-2.0
"""Right by a module beside it, which somebody edits after the adoption."""
import rows

ASSAY_TENSORS = "dlpack"


def softmax(x, out):
    rows.right(x, out)
