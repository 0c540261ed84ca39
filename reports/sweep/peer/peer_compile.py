# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of peers before anything is timed, several at once.

Triton and torch.compile compile a kernel at its first launch, some seconds for a shape, on one core. Here every shape
is launched once in one of several processes. What they compile stays in the caches on the disk, where the timed
launches find it. Which of several compiled kernels is fastest is not kept: torch.compile finds that out by timing
them, and here other processes use the GPU at the same time. What goes wrong here is not said: the timed launch fails
in the same way and its record says so.
"""
import multiprocessing
import os
import time

COMPILED = ("triton_row", "liger", "torch_compile")  # peers that compile when they run


def launch_once(peer, dtype, rows, V, library):
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # this process is one of several already
    import torch

    from peer_bench import softmax_by_peer

    if peer == "torch_compile":
        import torch._inductor.config as inductor

        inductor.autotune_local_cache = False

    x = torch.zeros(rows, V, device="cuda",
                    dtype={"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[dtype])
    softmax_by_peer(torch, peer, library)(x, torch.empty_like(x))
    torch.cuda.synchronize()


def compile_ahead(shapes, library, seconds):
    """Launches the shapes (peer, dtype, rows, V) of compiled peers once. Stops after `seconds`."""
    begin = time.monotonic()
    # Only torch.compile makes another kernel for another number of rows.
    todo = sorted({(p, d, rows if p == "torch_compile" else 16, V) for p, d, rows, V in shapes if p in COMPILED})
    workers = min(len(todo), 16, max(1, (os.cpu_count() or 2) // 2))
    if workers > 1 and seconds > 0:
        # The threads of a process that has used CUDA cannot be copied by a fork.
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            under_way = [pool.apply_async(launch_once, (*shape, library)) for shape in todo]
            for one in under_way:
                one.wait(max(0.0, begin + seconds - time.monotonic()))
