"""A peer's launches are timed only if all of them were queued before the first one started. Fake clocks, no GPU."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peer_bench import Bench, Unsupported


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


if __name__ == "__main__":
    unittest.main()
