# SPDX-License-Identifier: Apache-2.0
"""A peer's launches are timed only if all of them were queued before the first one started. Fake clocks, no GPU."""
import os
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import peers
from peer_bench import Bench, Unsupported
from peer_libraries import NotHere, best_first, files_of, function_of


class Clocks:
    """A host and a GPU of 2 GHz, in microseconds. Stands for the part of torch.cuda that Bench.run_us uses."""

    def __init__(self):
        self.host, self.gpu = 0.0, 0.0
        clocks = self

        class Event:
            def __init__(self, enable_timing):
                pass

            def record(self):
                self.at = max(clocks.gpu, clocks.host)

            def query(self):
                return self.at <= clocks.host

            def synchronize(self):
                clocks.host = max(clocks.host, self.at)

            def elapsed_time(self, end):
                return (end.at - self.at) / 1000

        self.Event = Event

    def _sleep(self, cycles):
        self.gpu = max(self.gpu, self.host) + cycles / 2000

    def launch(self, host_us, gpu_us):
        self.host += host_us
        self.gpu = max(self.gpu, self.host) + gpu_us

    def wait(self):
        self.host = max(self.host, self.gpu)


def bench(clocks, work):
    b = Bench.__new__(Bench)
    b.torch = type("Torch", (), {"cuda": clocks})
    b.flushed, b.launched, b.sets, b.y, b.cycles_a_launch = False, 0, 1, [None], 40_000
    b.work = work
    return b


class Queued(unittest.TestCase):
    def test_a_slow_host_is_not_timed(self):
        clocks = Clocks()
        b = bench(clocks, lambda i: clocks.launch(host_us=100, gpu_us=5))
        self.assertAlmostEqual(b.run_us(10), 50)
        before = b.launched
        self.assertAlmostEqual(b.run_us(10), 50)  # what was learnt stays: the second call queues once
        self.assertEqual(b.launched - before, 10)

    def test_a_fast_host_queues_once(self):
        clocks = Clocks()
        b = bench(clocks, lambda i: clocks.launch(host_us=3, gpu_us=7))
        self.assertAlmostEqual(b.run_us(4), 28)
        self.assertEqual(b.launched, 4)

    def test_a_peer_that_waits_for_the_gpu_is_unsupported(self):
        clocks = Clocks()

        def work(i):
            clocks.launch(host_us=3, gpu_us=7)
            clocks.wait()

        with self.assertRaises(Unsupported):
            bench(clocks, work).run_us(3)


class Plan(unittest.TestCase):
    """What peers.py is to time. `assay sweep rules` is not asked: the rules are told."""

    def shapes(self, **words):
        rules = types.SimpleNamespace(ladder=[4096], ladder_few_rows=[25000], topk_ladder=[8192], topk_many_ladder=[32768],
                                      topk_ladder_few_rows=[1048576], topk_few=[5, 30], topk_many=[64, 256])
        asked = dict(peer=None, V=None, rows=None, dtype=None, k=None, quick=False, rules=rules)
        return peers.plan(types.SimpleNamespace(**{**asked, **words}))

    def test_has_every_shape_of_the_goals_once(self):
        plan = self.shapes()
        self.assertEqual(len(plan), len(set(plan)))
        for peer in ("torch_topk", "flashinfer_topk", "torch_softmax_topk"):
            for dtype in ("f32", "f16", "bf16"):
                for shape in ((4000, 8192, 5), (4000, 8192, 30), (4000, 32768, 256), (10, 1048576, 30)):
                    self.assertIn((peer, dtype, *shape), plan)
        self.assertIn(("torch_softmax", "f32", 10, 25000, 0), plan)
        self.assertIn(("torch_softmax", "f32", 4000, 4096, 0), plan)

    def test_takes_no_other_shapes_than_those_asked_for(self):
        self.assertEqual(self.shapes(peer=["torch_topk"], V=[100], rows=[7], dtype=["f16"], k=[3, 200]),
                         [("torch_topk", "f16", 7, 100, 3)])


class Rows:
    """So much of a tensor (rows, k) as best_first uses."""

    def __init__(self, rows):
        self.rows = rows

    def sort(self, dim, descending, stable):
        assert dim == -1 and descending and stable
        order = [sorted(range(len(r)), key=lambda i: -r[i]) for r in self.rows]
        return Rows([[r[i] for i in o] for r, o in zip(self.rows, order)]), order

    def gather(self, dim, order):
        assert dim == -1
        return Rows([[r[i] for i in o] for r, o in zip(self.rows, order)])


class Library(unittest.TestCase):
    def test_flashinfers_topk_is_timed_unordered(self):
        def top_k(x, k, sorted=False):
            return (x, k, sorted), None

        sys.modules["flashinfer"] = types.SimpleNamespace(top_k=top_k)
        try:
            self.assertEqual(function_of("flashinfer_topk", {}, None)("logits", 5), (("logits", 5, False), None))
        finally:
            del sys.modules["flashinfer"]

    def test_the_judge_gets_the_best_first(self):
        values, indices = best_first(Rows([[1.0, 3.0, 2.0, 3.0]]), Rows([[7, 9, 4, 2]]))
        self.assertEqual(values.rows, [[3.0, 3.0, 2.0, 1.0]])
        self.assertEqual(indices.rows, [[9, 2, 4, 7]])

    def test_a_topk_may_come_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.py")
            with open(path, "w", encoding="utf-8") as f:
                f.write("def cub_topk(x, k):\n    return x[:k], list(range(k))\n")
            best = function_of("cub_topk", files_of(["cub_topk=" + path]), None)
            self.assertEqual(best([5.0, 4.0, 3.0], 2), ([5.0, 4.0], [0, 1]))

    def test_cub_without_a_file_is_not_here(self):
        with self.assertRaises(NotHere):
            function_of("cub_topk", {}, None)

    def test_without_flashinfer_it_says_so(self):
        sys.modules["flashinfer"] = None  # an import of it fails
        try:
            with self.assertRaises(NotHere):
                function_of("flashinfer_topk", {}, None)
        finally:
            del sys.modules["flashinfer"]


if __name__ == "__main__":
    unittest.main()
