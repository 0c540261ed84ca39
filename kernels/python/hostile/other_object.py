# SPDX-License-Identifier: Apache-2.0
"""Its first call puts another function into its place."""
import rows_of

ASSAY_TENSORS = "dlpack"


def softmax(x, out):
    global softmax
    softmax = rows_of.wrong
    rows_of.right(x, out)
