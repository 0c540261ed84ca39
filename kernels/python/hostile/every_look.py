# SPDX-License-Identifier: Apache-2.0
"""A module of a class of its own: who looks for the function gets the right one the first time, then a wrong one."""
import sys
import types

import rows_of

ASSAY_TENSORS = "dlpack"
looks = []


class Module(types.ModuleType):
    def __getattribute__(self, name):
        if name != "softmax":
            return super().__getattribute__(name)
        looks.append(name)
        return rows_of.right if len(looks) == 1 else rows_of.wrong


sys.modules[__name__].__class__ = Module
