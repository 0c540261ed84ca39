# target: torch_compiled.py:softmax
# exit: 0
# within: rows >= 1; V >= 1
"""torch.compile over three lines of PyTorch: the compiler makes the kernel, one for all shapes."""
import torch


@torch.compile(dynamic=True)
def softmax(x):
    e = torch.exp(x - x.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)
