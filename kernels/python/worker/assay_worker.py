# SPDX-License-Identifier: Apache-2.0
"""A Python process as a worker. The loop is in the library; this file calls the callable."""
import ctypes
import os
import platform
import sys

import assay_abi as abi
import assay_tensors as tensors
import assay_values
import assay_warm
from assay_target import Lacks, Refused, framework, last_line, load


class Kernel:
    """The callable in the form that the worker's loop calls."""

    def __init__(self, library, function, kind, op, values):
        self.library, self.function, self.op, self.values = library, function, op, values
        self.framework = tensors.ALL[kind](library)
        self.selects = op in abi.SELECTING
        self.timing, self.late = False, None

    def timed(self, begin):
        """Between timed(1) and timed(0) no result is copied to its output: the copy is not the kernel's work. timed(0)
        copies the last one."""
        self.timing, late, self.late = bool(begin), self.late, None
        return self.reported(lambda: self.put(*late)) if late and not begin else 0

    def run(self, pointer):
        return self.reported(lambda: self.call(pointer.contents))

    def reported(self, work):
        try:
            work()
            return 0
        except tensors.Untimed as error:
            self.say(str(error), "returned_status")
        except tensors.Wrong as error:
            self.say(str(error), "other")
        except BaseException as error:
            memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
            self.say("threw an exception: " + last_line(error), "memory" if memory else "threw")
        return 1

    def say(self, text, kind):
        self.library.assay_python_say(text.encode(errors="replace"), kind.encode())

    def call(self, call):
        f = self.framework
        flat = self.op == "lse"
        logits = tensors.Buffer(self.library, call.logits)
        outs = [tensors.Buffer(self.library, call.values, flat)]
        if self.selects:
            outs.append(tensors.Buffer(self.library, call.indices))
        on = f.stream(call.stream, logits.device_id)
        if on is None:
            if call.stream and not f.own_stream and f.name != "dlpack":
                self.library.assay_python_wait(call.stream)
            self.enqueue(call, logits, outs)
        else:
            with on:
                self.enqueue(call, logits, outs)

    def given(self, call, logits, outs):
        """The value of each role in this call."""
        f = self.framework
        # Launches are timed on the default stream, whose handle is 0.
        stream = call.stream or (0 if logits.device_type == abi.CUDA else None)
        all_of = dict(zip(("out", "indices"), outs), stream=stream, k=call.k, scale=call.scale,
                      temperature=call.temperature, threshold=call.threshold, rows=logits.shape[0], V=logits.shape[1])
        all_of["in"] = f.wrap(logits)
        for role, bools in self.values.buffers():
            pointer = call.mask if role in assay_values.MASKS else getattr(call, role.replace("_row", ""))
            all_of[role] = f.wrap(tensors.Buffer(self.library, pointer, bools=bools))
        return all_of

    def enqueue(self, call, logits, outs):
        f = self.framework
        writes = self.values.writes
        wrapped = [f.wrap(b) for b in outs] if writes or f.name not in ("jax", "dlpack") else list(outs)
        given = self.given(call, logits, wrapped)
        positional, keywords = self.values.arguments(given.get)
        result = self.function(*positional, **keywords)
        if result is None:
            if not writes:
                raise tensors.Wrong("returned None: a callable that takes no outputs returns them")
            return
        results = tuple(result) if self.selects else (result,)
        if len(results) != len(outs):
            raise tensors.Wrong(f"returned {len(results)} tensors: values and indices are the outputs")
        if not self.timing:
            self.put(results, wrapped, outs, call.stream)
        elif f.untimed:
            raise tensors.Untimed(f.untimed)
        else:
            self.late = (results, wrapped, outs, call.stream)

    def put(self, results, wrapped, outs, stream):
        for one, out, b in zip(results, wrapped, outs):
            if one is not out:
                self.framework.put(one, out, b, stream)


def device_of(kind, runs_on, where, kernel):
    """The device of the callable's tensors. `where`: "host" by --host, "none" if no GPU is usable, otherwise "gpu"."""
    if where == "host" or runs_on == "host" or kind == "numpy":
        return abi.HOST
    if runs_on == "cuda":
        return abi.CUDA
    if kind == "torch":
        return abi.CUDA if where == "gpu" and kernel.framework.module.cuda.is_available() else abi.HOST
    if kind == "jax":
        gpu = where == "gpu" and kernel.framework.module.default_backend() in ("gpu", "cuda")
        return abi.CUDA if gpu else abi.HOST
    return abi.HOST


class Target:
    """The imported target. Its import has not used a device yet."""

    def __init__(self, library, words):
        form, place, function, self.name, self.op, self.types, self.where, names, *arguments = words
        found, module = load(form, place, function)
        self.kind, self.runs_on = framework(found, module)
        values = assay_values.Values(found, self.op, names, arguments)
        self.kernel = Kernel(library, found, self.kind, self.op, values)

    def plugin(self):
        """Returns (the plugin, what it is made of), such as "CPython 3.11.2, numpy 1.24.2, host memory"."""
        kernel = self.kernel
        device = device_of(self.kind, self.runs_on, self.where, kernel)
        variants = []
        for pair in self.types.split():
            taken, _, given = pair.partition(":")
            for dtype in {taken, given or taken} | kernel.values.types():
                kernel.framework.check_dtype(dtype)
            operands = kernel.values.operands(taken, kernel.framework.lengths)
            variants.append(abi.Variant(
                ctypes.sizeof(abi.Variant), abi.OPS.index(self.op), self.name.encode(), taken.encode(),
                (given or taken).encode(), device, 0, None, abi.RUN(kernel.run), None,
                operands.encode()))
        memory = "host" if device == abi.HOST else "device"
        python = f"{platform.python_implementation()} {platform.python_version()}"
        made_of = f"{python}, {kernel.framework.version()}, {memory} memory{kernel.values.read_as()}"
        return abi.plugin_of(variants), made_of


def imported(library, words):
    """Returns (target, None), or (None, the exception of its import)."""
    try:
        return Target(library, words), None
    except BaseException as error:
        return None, error


def main(library, words):
    abi.declare(library)
    sys.argv = ["assay"]
    # torch.compile makes few kernels here. Helper processes would cost more, because each imports torch.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    kept, ready, forked = [], None, False
    if words[0] == "forks":
        words = words[1:]
        library.assay_python_confine()
        forked = True
        why, repeats, ready = assay_warm.prepare(words, lambda: imported(library, words))
        assay_warm.fork_workers(library, why, repeats)

    def open_plugin():
        try:
            target, failed = ready or imported(library, words)
            if failed:
                raise failed
            plugin, made_of = target.plugin()
            kept.append(plugin)
            timed = abi.TIMED(target.kernel.timed)
            kept.append(timed)
            library.assay_python_on_timed(timed)
            library.assay_python_say(made_of.encode(), b"made_of")
            return ctypes.addressof(plugin)
        except Lacks as error:
            library.assay_python_say(str(error).encode(errors="replace"), b"lacks")
        except Refused as error:
            library.assay_python_say(str(error).encode(errors="replace"), b"other")
        except BaseException as error:
            library.assay_python_say(last_line(error).encode(errors="replace"), b"other")
        return 0

    callback = abi.OPEN(open_plugin)
    status = library.assay_python_serve(callback, forked)
    # Do not wait for threads that the callable left running.
    os._exit(status)
