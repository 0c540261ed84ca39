# SPDX-License-Identifier: Apache-2.0
"""The structs of kernels/plugin.h and of DLPack, in ctypes."""
import ctypes


class Device(ctypes.Structure):
    _fields_ = [("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Call(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("op", ctypes.c_int32),
        ("logits", ctypes.POINTER(Tensor)),
        ("values", ctypes.POINTER(Tensor)),
        ("indices", ctypes.POINTER(Tensor)),
        ("m", ctypes.POINTER(Tensor)),
        ("d", ctypes.POINTER(Tensor)),
        ("workspace", ctypes.c_void_p),
        ("workspace_bytes", ctypes.c_uint64),
        ("stream", ctypes.c_void_p),
        ("scale", ctypes.c_float),
        ("k", ctypes.c_int32),
        ("mask", ctypes.POINTER(Tensor)),
        ("bias", ctypes.POINTER(Tensor)),
        ("lengths", ctypes.POINTER(Tensor)),
        ("temperatures", ctypes.POINTER(Tensor)),
        ("gradients", ctypes.POINTER(Tensor)),
        ("temperature", ctypes.c_float),
        ("threshold", ctypes.c_float),
    ]


RUN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(Call))
HOST, CUDA = 1, 2
SOCKET = 3  # the supervisor's; an import has opened the descriptors above it
OPS = ["softmax", "log_softmax", "lse", "normalizer", "topk", "softmax_topk", "softmax_backward", "topk_softmax",
       "min_p", "top_p", "log_softmax_topk"]
SELECTING = ("topk", "softmax_topk", "topk_softmax", "log_softmax_topk")
KEEPING = ("min_p", "top_p")


class Variant(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("op", ctypes.c_int32),
        ("name", ctypes.c_char_p),
        ("in_dtype", ctypes.c_char_p),
        ("out_dtype", ctypes.c_char_p),
        ("device_type", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("declaration", ctypes.c_char_p),
        ("run", RUN),
        ("workspace_bytes", ctypes.c_void_p),
        ("operands", ctypes.c_char_p),
    ]


class Wanted(ctypes.Structure):
    """The descriptors that the next worker will use."""

    _fields_ = [("socket", ctypes.c_int), ("output", ctypes.c_int)]


class Plugin(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("abi_version", ctypes.c_uint32),
        ("variant_struct_size", ctypes.c_uint32),
        ("variant_count", ctypes.c_uint32),
        ("variants", ctypes.POINTER(Variant)),
    ]


OPEN = ctypes.CFUNCTYPE(ctypes.c_void_p)
TIMED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)


def plugin_of(variants):
    """An assay_plugin with these variants. It keeps alive everything that it points to."""
    array = (Variant * len(variants))(*variants)
    plugin = Plugin(ctypes.sizeof(Plugin), 1, ctypes.sizeof(Variant), len(variants), array)
    plugin.kept = (array, variants)
    return plugin


def declare(library):
    """Declares the types of the functions that the worker's library exports."""
    library.assay_python_serve.argtypes = [OPEN, ctypes.c_int]
    library.assay_python_serve.restype = ctypes.c_int
    library.assay_python_say.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.assay_python_say.restype = None
    library.assay_python_on_timed.argtypes = [TIMED]
    library.assay_python_on_timed.restype = None
    library.assay_python_dlpack.argtypes = [ctypes.POINTER(Tensor)]
    library.assay_python_dlpack.restype = ctypes.c_void_p
    library.assay_python_copy.argtypes = [ctypes.POINTER(Tensor), ctypes.c_void_p, ctypes.c_void_p]
    library.assay_python_copy.restype = ctypes.c_char_p
    library.assay_python_wait.argtypes = [ctypes.c_void_p]
    library.assay_python_wait.restype = None
    library.assay_python_confine.argtypes = []
    library.assay_python_confine.restype = None
    library.assay_python_warm.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    library.assay_python_warm.restype = ctypes.c_int
    library.assay_python_wanted.argtypes = [ctypes.POINTER(Wanted)]
    library.assay_python_wanted.restype = ctypes.c_int
    library.assay_python_forked.argtypes = [ctypes.POINTER(Wanted), ctypes.c_int, ctypes.c_int]
    library.assay_python_forked.restype = ctypes.c_int
    library.assay_python_become_worker.argtypes = [ctypes.POINTER(Wanted)]
    library.assay_python_become_worker.restype = None
    return library
