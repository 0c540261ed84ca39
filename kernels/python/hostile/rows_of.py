# SPDX-License-Identifier: Apache-2.0
"""For the files beside this one: a right softmax and a wrong one, of raw tensors."""
import ctypes
import math

FACTOR = 1.0  # a test edits it


def elements(t, row):
    return (ctypes.c_float * t.shape[1]).from_address(t.data + row * t.strides[0] * 4)


def right(x, out):
    for row in range(x.shape[0]):
        logits, values = elements(x, row), elements(out, row)
        most = max(logits)
        terms = [math.exp(v - most) for v in logits]
        total = math.fsum(terms)
        values[:] = [term / total * FACTOR for term in terms]


def wrong(x, out):
    for row in range(x.shape[0]):
        elements(out, row)[:] = [1 / x.shape[1]] * x.shape[1]
