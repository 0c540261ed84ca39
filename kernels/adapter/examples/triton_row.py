# SPDX-License-Identifier: Apache-2.0
# target: triton_row.py:softmax
# exit: 4
# within: rows >= 1; V >= 1, at most 32768; an exp as exact as __expf
# declare: max_V=32768; exp=fast
"""One Triton program per row, with the row in registers. Rows of more than 32768 do not fit and are refused. tl.exp is
fast, and less exact than expf."""
import torch
import triton
import triton.language as tl


@triton.jit
def row_kernel(out, x, stride_out, stride_x, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    values = tl.load(x + row * stride_x + columns, mask=inside, other=-float("inf"))
    e = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride_out + columns, e / tl.sum(e, axis=0), mask=inside)


def softmax(x, out):
    rows, n = x.shape
    if n > 32768:
        raise ValueError("rows of more than 32768 do not fit")
    if rows > 0:
        row_kernel[(rows,)](out, x, out.stride(0), x.stride(0), n, BLOCK=triton.next_power_of_2(n))
