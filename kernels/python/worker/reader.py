# SPDX-License-Identifier: Apache-2.0
"""Says which tensors the callable takes, and what each of its parameters gets: the logits, an output, an operand, a
constant, or nothing. It runs in a process of its own, which has imported the callable and launches nothing. Its answer is
text: target.cpp reads it, and looks whether it says what --arg says.

--arg decides first, then the parameter's name, then its place. Required parameters that are left are the outputs. If
this leaves a parameter open, the callable is refused, and the message names the --arg that would decide."""
import inspect
import types

SELECTING = ("topk", "softmax_topk", "topk_softmax", "log_softmax_topk")
KEEPING = ("min_p", "top_p")
# A callable takes the tensors of the first package in this list that its code uses.
FRAMEWORKS = [("triton", "torch"), ("cutlass", "torch"), ("torch", "torch"), ("cupy", "cupy"), ("jax", "jax"),
              ("numba.cuda", "dlpack"), ("numpy", "numpy"), ("numba", "numpy")]
KINDS = ["numpy", "torch", "cupy", "jax", "dlpack"]
GPU_ONLY = {"triton", "cutlass", "cupy", "numba.cuda"}
MASKS = ("mask_keep", "mask_drop")
BIASES = ("bias", "bias_row")
# A call has at most one role of each tuple.
RIVALS = (MASKS, BIASES, ("temperature", "temperatures"))
BUFFERS = MASKS + BIASES + ("lengths", "temperatures")
OPERANDS = BUFFERS + ("scale", "temperature")
# Of a top-k. No positive factor changes the order of the logits, so the values alone depend on these.
FACTORS = ("scale", "temperature", "temperatures")
CONSTANTS = ("None", "True", "False", "inf", "nan")
BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def plain(name):
    return name.lower().replace("_", "")


def joined(parameters):
    names = [p.name for p in parameters]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


class Refused(Exception):
    """The target is wrong. The text is one line that says why."""


def named_in(function, module):
    """Names of the packages that the function's module refers to."""
    names = set()
    scope = dict(vars(module))
    scope.update(getattr(inspect.unwrap(function), "__globals__", {}))
    for value in list(scope.values()):
        if isinstance(value, types.ModuleType):
            names.add(value.__name__)
        else:
            of = (getattr(value, "__module__", None), type(value).__module__)
            names.update(n for n in of if isinstance(n, str))
    return names


def framework(function, module):
    """Returns (kind of tensors, where it runs). The second is "cuda", "host" or "either"."""
    names = named_in(function, module)

    def refers(package):
        return any(n == package or n.startswith(package + ".") for n in names)

    device = getattr(function, "assay_device", None) or getattr(module, "ASSAY_DEVICE", None)
    if device not in (None, "cuda", "host"):
        raise Refused(f"assay_device is {device!r}: known are cuda and host")
    device = device or ("cuda" if any(refers(n) for n in GPU_ONLY) else "either")
    said = getattr(function, "assay_tensors", None) or getattr(module, "ASSAY_TENSORS", None)
    if said:
        if said not in KINDS:
            raise Refused(f"assay_tensors is {said!r}: known are " + ", ".join(KINDS))
        return said, device
    return next((kind for package, kind in FRAMEWORKS if refers(package)), "numpy"), device


class Parameter:
    """One parameter. `role` says what it gets: "literal" means the constant of --arg, and "" nothing."""

    def __init__(self, name, kind, default=inspect.Parameter.empty):
        self.name, self.kind, self.default = name, kind, default
        self.role, self.type = "", ""
        self.said = False  # True if --arg names it

    def required(self):
        return self.default is inspect.Parameter.empty

    def say(self, text):
        """Takes `text` from --arg: ROLE, ROLE:TYPE or VALUE. The command has checked its spelling."""
        self.said = True
        if text[0].isalpha() and text not in CONSTANTS:
            self.role, _, self.type = text.partition(":")
        else:
            self.role = "literal"


class Signature:
    """The parameters of a callable. `more` and `keywords`: whether it takes others, by place or by keyword. A layer has
    the parameters of its `forward`. If Python does not know the signature, any parameters are accepted."""

    def __init__(self, function):
        self.all, self.more, self.keywords = [], True, True
        function = getattr(function, "_orig_mod", function)  # torch.compile keeps the original here
        try:
            found = list(inspect.signature(function).parameters.values())
            if hasattr(function, "forward") and not any(p.kind in BY_PLACE for p in found):
                found = list(inspect.signature(function.forward).parameters.values())
        except (TypeError, ValueError):
            return
        self.more = any(p.kind == p.VAR_POSITIONAL for p in found)
        self.keywords = any(p.kind == p.VAR_KEYWORD for p in found)
        self.all = [Parameter(p.name, p.kind, p.default) for p in found
                    if p.kind in BY_PLACE or p.kind == p.KEYWORD_ONLY]


def read_names(text):
    """Reads "scale=scale,smscale;mask=mask" into {plain name: role}. If two roles have a name, the first counts."""
    found = {}
    for group in text.split(";"):
        role, _, names = group.partition("=")
        for name in names.split(","):
            found.setdefault(name, role)
    return found


class Roles:
    """Gives every parameter its role, or raises Refused."""

    def __init__(self, function, op, names, arguments):
        self.op, self.names = op, read_names(names)
        self.signature = Signature(function)
        self.all = self.signature.all
        selects = op in SELECTING
        self.firsts = ["in", "k"] if selects else ["in", "threshold"] if op in KEEPING else ["in"]
        self.outputs = ["out", "indices"] if selects else ["out"]
        self.judged = FACTORS if selects else OPERANDS
        for text in arguments:
            self.take(text)
        self.from_names()
        self.from_places()
        self.check()

    def has(self, role):
        return any(p.role == role for p in self.all)

    def take(self, text):
        name, _, value = text.partition("=")
        found = next((p for p in self.all if p.name == name), None)
        if not found and not self.signature.keywords:
            its = "its parameters are " + joined(self.all) if self.all else "it has none"
            raise Refused(f"--arg {text}: no such parameter: {its}")
        if not found:
            found = Parameter(name, inspect.Parameter.KEYWORD_ONLY)
            self.all.append(found)
        found.say(value)

    def from_names(self):
        every = {plain(p.name) for p in self.all}
        for p in self.all:
            role = self.names.get(plain(p.name), "")
            if p.role:
                continue
            if p.name == "stream":
                p.role = "stream"
            elif role in ("", "out") or isinstance(p.default, (bool, str)):
                continue  # a bool or a string chooses a method, not a value
            elif plain(p.name) == "alpha" and "beta" in every:
                continue  # as in BLAS: y = alpha softmax(x) + beta y
            elif role == "mask" and "mask_keep" in self.judged:
                self.ask_mask(p)
            elif role not in self.judged:
                self.refuse_op(p, role)
            elif role == "scale" and len(self.outputs) > 1 and "temp" not in plain(p.name):
                self.ask_scale(p)  # a router's scale is a factor of its results
            else:
                p.role = role

    def ask_mask(self, p):
        is_ = f"--arg {p.name}="
        none = f"; {is_}None passes no mask" if p.default is None else ""
        raise Refused(f"{p.name} is a mask: what does it mean? {is_}mask_keep leaves out what is False; "
                      f"{is_}mask_drop leaves out what is True; {is_}bias adds it{none}")

    def ask_scale(self, p):
        raise Refused(f"{p.name}: does it scale the logits or the results? --arg {p.name}=scale says the logits; "
                      f"--arg {p.name}=1 checks it at that value and no other")

    def refuse_op(self, p, role):
        what = role if role == p.name else f"{p.name}: {role}"
        raise Refused(f"{what} is not judged for {self.op}: --arg {p.name}=None checks it at that value and no other")

    def from_places(self):
        """The logits come first, and k of a top-k second. The other required parameters are the outputs."""
        for role in self.firsts:
            free = [p for p in self.all if not p.role and
                    (p.kind in BY_PLACE or (p.required() and not self.signature.more))]
            named = [p for p in free if p.name == role]
            if not self.has(role) and free:
                (named or free)[0].role = role
            elif not self.has(role) and not self.signature.more:
                raise Refused("no parameter is left for " + {"in": "the logits", "k": "k"}.get(role, "the threshold"))
        free = [p for p in self.all if not p.role and p.required()]
        wanted = [role for role in self.outputs if not self.has(role)]
        if len(free) == len(wanted):
            for p, role in zip(free, wanted):
                p.role = role
        elif free:
            self.ask_outputs(free, wanted)
        elif wanted != self.outputs:
            raise Refused(f"no parameter takes {wanted[0]}: a callable takes all outputs as parameters, or none")

    def ask_outputs(self, free, wanted):
        known = [p for p in free if self.names.get(plain(p.name)) == "out"]
        if wanted == ["out"] and len(known) == 1:
            free, wanted = [p for p in free if p is not known[0]], []
        name = free[0].name if len(free) == 1 else "NAME"
        roles = ", ".join(("rows", "V") + self.judged)
        says = f"--arg {name}=VALUE (16, None) or --arg {name}=ROLE ({roles}) says it"
        if len(free) < len(wanted):
            raise Refused(f"what is {joined(free)}? A callable takes both outputs, values and indices, or none. "
                          + says)
        if not wanted:
            raise Refused(f"what is {joined(free)}? {says}")
        which = " and ".join("the indices" if role == "indices" else "the output" for role in wanted)
        words = " ".join(f"--arg NAME={role}" for role in wanted)
        raise Refused(f"which of {joined(free)} is {which}? {words} says it. For another parameter, {says}")

    def check(self):
        for i, p in enumerate(self.all):
            if p.role in OPERANDS and p.role not in self.judged:
                self.refuse_op(p, p.role)
            if p.role in ("k", "indices") and len(self.outputs) == 1:
                raise Refused(f"{self.op} has no {p.role}: --arg {p.name}=... says what {p.name} is")
            if p.role == "threshold" and "threshold" not in self.firsts:
                raise Refused(f"{self.op} has no threshold: --arg {p.name}=... says what {p.name} is")
            for q in self.all[:i]:
                self.check_two(q, p)

    def check_two(self, q, p):
        if p.role == q.role and p.role in OPERANDS + ("in", "k", "threshold", "out", "indices"):
            raise Refused(f"{q.name} already is the {p.role}: --arg {p.name}=... says what {p.name} is")
        if any(p.role != q.role and p.role in pair and q.role in pair for pair in RIVALS):
            raise Refused(f"{q.name} is {q.role} and {p.name} is {p.role}: a call has one of them")


class Values:
    """The arguments of a call, and the operands of plugin.h that they come from."""

    def __init__(self, function, op, names, arguments):
        roles = Roles(function, op, names, arguments)
        self.all = roles.all
        self.writes = roles.has("out")
        self.positional, self.keywords = [], []
        # The signature is not known: pass the logits (and k) first, then what --arg names.
        if not roles.has("in"):
            self.positional = [Parameter("", None) for _ in roles.firsts]
            for p, role in zip(self.positional, roles.firsts):
                p.role = role
        self.place()

    def place(self):
        """Passes a parameter by keyword if it has a default, or if one before it is not passed by place."""
        skipped = None
        for p in self.all:
            by_place = p.kind == inspect.Parameter.POSITIONAL_ONLY or (
                p.kind in BY_PLACE and (p.required() or p.role in ("in", "k", "threshold")))
            if p.role and by_place and not skipped:
                self.positional.append(p)
            elif p.role and p.kind == inspect.Parameter.POSITIONAL_ONLY:
                raise Refused(f"{p.name} has no keyword, so {skipped.name} in front of it needs a value: "
                              f"--arg {skipped.name}=VALUE")
            else:
                if p.kind in BY_PLACE:
                    skipped = skipped or p
                if p.role:
                    self.keywords.append(p)

    def types(self):
        """The types that --arg names."""
        return {p.type for p in self.all if p.type}

    def operands(self, dtype, lengths):
        """The operands in the words of plugin.h. Types that --arg does not name: that of the logits, or `lengths`."""
        words = []
        for p in self.all:
            if p.role in MASKS:
                words.append(f"{p.role}:{p.type if p.type not in ('', 'bool') else 'u8'}")
            elif p.role in BIASES:
                words.append(f"{p.role}:{p.type or dtype}")
            elif p.role == "lengths":
                words.append(f"{p.role}:{p.type or lengths}")
            elif p.role in OPERANDS:
                words.append(p.role)
        return " ".join(words)

    def read_as(self):
        """How the operands were understood, for example ", mask as mask_keep"."""
        found = [p for p in self.all if p.role in OPERANDS]
        return "".join(", " + (p.name if p.name == p.role else f"{p.name} as {p.role}") for p in found)

    def lines(self):
        """What each argument is: how it is passed, its role, its type, its name."""
        all_of = [("place", p) for p in self.positional] + [("keyword", p) for p in self.keywords]
        return [f"argument {how} {p.role} {p.type or '-'} {p.name or '-'}" for how, p in all_of]


def read():
    kind, device = framework(function, module)
    values = Values(function, op, names, arguments)
    lines = [f"tensors {kind}", f"device {device}", f"writes {int(values.writes)}", f"read_as {values.read_as()}"]
    lines += ["uses " + name for name in sorted(values.types())]
    for taken in {pair.partition(":")[0] for pair in pairs.split()}:
        # torch.tensor([3, 5]) is int64. JAX has int64 only on request.
        lines.append(f"operands {taken} " + values.operands(taken, "i32" if kind == "jax" else "i64"))
    return "\n".join(lines + values.lines())


try:
    answer = read()
except Refused as error:
    answer = f"refused {error}"
except BaseException as error:
    answer = "refused " + (f"{type(error).__name__}: {error}".splitlines() or [""])[0]
