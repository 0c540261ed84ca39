# SPDX-License-Identifier: Apache-2.0
"""Gives the supervisor's buffers to each framework as tensors, without a copy, and writes results back to them."""
import ctypes
import importlib

import assay_abi as abi
from assay_target import Lacks, missing

CODES = {(2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16", (0, 32): "i32", (0, 64): "i64",
         (1, 8): "u8", (6, 8): "bool"}
BOOL = 6
NUMPY = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "i32": "<i4", "i64": "<i8", "bf16": "<V2", "u8": "|u1",
         "bool": "|b1"}
TORCH = {"f16": "float16", "f32": "float32", "f64": "float64", "bf16": "bfloat16", "i32": "int32",
         "i64": "int64", "u8": "uint8", "bool": "bool"}
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "i32": 4, "f64": 8, "i64": 8, "u8": 1, "bool": 1}

capsule_new = ctypes.pythonapi.PyCapsule_New
capsule_new.restype = ctypes.py_object
capsule_new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.restype = ctypes.c_void_p
capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Wrong(Exception):
    """The callable returned something that does not fit its op."""


class Untimed(Exception):
    """The callable is right, as far as is known, but its launches can not be timed."""


class Buffer:
    """One buffer of a launch. A callable of raw tensors gets it directly. A framework wraps it without a copy."""

    def __init__(self, library, pointer, flat=False, bools=False):
        t = pointer.contents
        self.library, self.pointer = library, pointer
        if bools:
            t.dtype.code = BOOL  # a mask: each byte is 0 or 1
        self.data = t.data or 0
        self.device_type, self.device_id = t.device.device_type, t.device.device_id
        self.dtype = CODES[t.dtype.code, t.dtype.bits]
        if flat and t.ndim == 2:
            t.ndim = 1
            t.shape[0] *= t.shape[1]
        self.shape = tuple(t.shape[i] for i in range(t.ndim))
        self.strides = tuple(t.strides[i] for i in range(t.ndim))

    def empty(self):
        return 0 in self.shape or self.data == 0

    def __dlpack_device__(self):
        return self.device_type, self.device_id

    def __dlpack__(self, stream=None, **_):
        return capsule_new(self.library.assay_python_dlpack(self.pointer), b"dltensor", None)

    def interface(self):
        size = SIZES[self.dtype]
        return {"shape": self.shape, "typestr": NUMPY[self.dtype], "data": (self.data, False),
                "strides": tuple(s * size for s in self.strides), "version": 3}

    def __getattr__(self, name):
        if name == ("__array_interface__" if self.device_type == abi.HOST else "__cuda_array_interface__"):
            return self.interface()
        raise AttributeError(name)


def describe(result):
    dtype = str(getattr(result, "dtype", type(result).__name__)).replace("torch.", "")
    return f"{dtype} of shape {list(getattr(result, 'shape', ()))}"


class Framework:
    """NumPy's tensors. The subclasses override what other frameworks do differently."""

    name = "numpy"
    own_stream = False  # True: it can work on the stream of the call
    lengths = "i64"  # the default type of lengths: torch.tensor([3, 5]) is int64
    untimed = ""  # why what a callable returns can not be timed

    def __init__(self, library):
        self.library = library
        try:
            self.module = importlib.import_module(self.name)
        except ModuleNotFoundError as error:
            raise missing(error.name or self.name, "a callable of its tensors") from error

    def version(self):
        return f"{self.name} {getattr(self.module, '__version__', '')}".strip()

    def check_dtype(self, dtype):
        if dtype == "bf16":
            try:
                self.bfloat16 = importlib.import_module("ml_dtypes").bfloat16
            except ModuleNotFoundError as error:
                raise missing("ml_dtypes", "bf16 of NumPy") from error

    def wrap(self, b):
        np = self.module
        array = np.empty(b.shape, NUMPY[b.dtype]) if b.empty() else np.asarray(b)
        return array.view(self.bfloat16) if b.dtype == "bf16" else array

    def stream(self, _handle, _device):
        """A context manager that makes the call's stream the current one. None if the framework has none."""
        return None

    def fit(self, result, out, b):
        """The result as an array of the output's shape. Raises Wrong if it does not fit."""
        result = self.module.asarray(result)
        if tuple(result.shape) == tuple(out.shape) + (1,):
            result = result.reshape(out.shape)
        integers = b.dtype in ("i32", "i64")
        kinds = result.dtype.kind in "iu" if integers else result.dtype == out.dtype
        if tuple(result.shape) != tuple(out.shape) or not kinds:
            raise Wrong(f"returned {describe(result)}: {describe(out)} is the output")
        if integers:
            limit = self.module.iinfo(out.dtype)
            result = result.clip(limit.min, limit.max)
        return result

    def put(self, result, out, b, _stream):
        self.module.copyto(out, self.fit(result, out, b), casting="same_kind")


class Torch(Framework):
    name = "torch"
    own_stream = True

    def __init__(self, library):
        super().__init__(library)
        self.streams = {}

    def check_dtype(self, dtype):
        pass

    def wrap(self, b):
        if b.empty():
            where = "cpu" if b.device_type == abi.HOST else f"cuda:{b.device_id}"
            return self.module.empty(b.shape, dtype=getattr(self.module, TORCH[b.dtype]), device=where)
        return self.module.utils.dlpack.from_dlpack(b.__dlpack__())

    def stream(self, handle, device):
        if not handle:
            return None
        if handle not in self.streams:
            self.streams[handle] = self.module.cuda.ExternalStream(handle, device=device)
        return self.module.cuda.stream(self.streams[handle])

    def put(self, result, out, b, _stream):
        if not isinstance(result, self.module.Tensor):
            raise Wrong(f"returned {describe(result)}: {describe(out)} is the output")
        if tuple(result.shape) == tuple(out.shape) + (1,):
            result = result.reshape(out.shape)
        integers = b.dtype in ("i32", "i64")
        kinds = not result.dtype.is_floating_point if integers else result.dtype == out.dtype
        if tuple(result.shape) != tuple(out.shape) or not kinds or result.device != out.device:
            raise Wrong(f"returned {describe(result)} on {result.device}: "
                        f"{describe(out)} on {out.device} is the output")
        if integers and result.dtype != out.dtype:
            limit = self.module.iinfo(out.dtype)
            result = result.clamp(limit.min, limit.max)
        out.copy_(result.detach())


class Cupy(Framework):
    name = "cupy"
    own_stream = True

    def check_dtype(self, dtype):
        if dtype == "bf16":
            raise Lacks("bf16 is no type of CuPy's: install torch, and say assay_tensors = 'torch'")

    def wrap(self, b):
        return self.module.empty(b.shape, NUMPY[b.dtype]) if b.empty() else self.module.asarray(b)

    def stream(self, handle, device):
        return self.module.cuda.ExternalStream(handle, device) if handle else None

    def put(self, result, out, b, _stream):
        out[...] = self.fit(result, out, b)


class Dlpack(Framework):
    """Passes raw buffers. Takes results of any kind that has __dlpack__."""

    name = "dlpack"
    untimed = "it returns a raw tensor, whose copy waits for the GPU: a callable that writes its output is timed"

    def __init__(self, library):
        self.library = library

    def version(self):
        return "raw tensors"

    def check_dtype(self, dtype):
        pass

    def wrap(self, b):
        return b

    def put(self, result, out, b, stream):
        if not hasattr(result, "__dlpack__"):
            raise Wrong(f"returned {describe(result)}, which has no __dlpack__")
        if b.empty():
            return
        on_stream = {"stream": stream} if stream and b.device_type == abi.CUDA else {}
        capsule = result.__dlpack__(**on_stream)
        why = self.library.assay_python_copy(b.pointer, capsule_pointer(capsule, b"dltensor"), stream)
        if why:
            raise Wrong("returned " + why.decode())


class Jax(Dlpack):
    """JAX uses its own streams. So the call first waits for the logits, and then for the result."""

    name = "jax"
    untimed = "JAX works on streams of its own, which a stopwatch on the call's stream does not see"
    lengths = "i32"  # JAX has int64 only on request

    def __init__(self, library):
        Framework.__init__(self, library)
        self.numpy = importlib.import_module("jax.numpy")
        self.on_host = Framework.__new__(Framework)
        self.on_host.module = importlib.import_module("numpy")
        self.on_host.bfloat16 = self.numpy.bfloat16

    def version(self):
        return Framework.version(self)

    def wrap(self, b):
        if b.empty():
            name = "bool_" if b.dtype == "bool" else TORCH[b.dtype]
            return self.numpy.empty(b.shape, getattr(self.numpy, name))
        if b.device_type == abi.HOST:
            return self.numpy.array(self.on_host.wrap(b))
        if len(b.shape) > 1 and b.shape[0] > 1 and b.strides[0] != b.shape[-1]:
            raise Wrong("JAX takes no rows with gaps between them: declare dense=yes")
        return self.module.dlpack.from_dlpack(b)

    def put(self, result, out, b, stream):
        super().put(self.module.block_until_ready(result), out, b, stream)


ALL = {f.name: f for f in (Framework, Torch, Cupy, Jax, Dlpack)}
