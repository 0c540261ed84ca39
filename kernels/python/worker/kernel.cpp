// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/kernel.hpp"

#include <utility>

namespace assay::python {

struct Kernel::Launch {
  const assay_call& call;
  View logits;
  std::vector<View> outs;
  std::vector<Ref> wrapped;  // of the outputs, if the callable takes them
};

Kernel::Kernel(std::unique_ptr<Target> target, Description description, std::unique_ptr<Framework> framework)
    : target_(std::move(target)),
      description_(std::move(description)),
      framework_(std::move(framework)),
      flat_(description_.op == Op::lse),
      selects_(selects(description_.op)) {}

void Kernel::begin_timed() {
  timing_ = true;
  late_.clear();
}

void Kernel::end_timed() {
  timing_ = false;
  for (const Result& r : std::exchange(late_, {})) framework_->put(r.value.get(), r.out, late_stream_);
}

void Kernel::run(const assay_call& call) {
  // Before the callable gets a tensor, so that whatever this look may run has none.
  if (const std::string other = target_->changed(); !other.empty()) throw Failure{other};
  Launch launch{call, View(*call.logits), {View(*call.values, flat_)}, {}};
  if (selects_) launch.outs.emplace_back(*call.indices);
  if (call.stream && !framework_->on_stream()) wait_for(call.stream);
  const int device = launch.logits.device_id;
  const Ref entered = framework_->enter(call.stream, device);
  if (!entered) return this->launch(launch);
  try {
    this->launch(launch);
  } catch (const Failure&) {
    framework_->leave(entered, device);
    throw;
  }
  framework_->leave(entered, device);
}

Ref Kernel::operand(const CallableArgument& a, const assay_call& call) {
  const bool mask = a.role == "mask_keep" || a.role == "mask_drop";
  const assay_tensor* const t = mask                         ? call.mask
                                : a.role == "lengths"        ? call.lengths
                                : a.role == "temperatures"   ? call.temperatures
                                : a.role.starts_with("bias") ? call.bias
                                                             : nullptr;
  if (!t) throw Failure{"the launch has no " + a.role};
  return framework_->wrap(View(*t, false, mask && (a.type.empty() || a.type == "bool")));
}

Ref Kernel::given(const CallableArgument& a, Launch& l) {
  const auto real = [](float value) { return need(py.PyFloat_FromDouble(static_cast<double>(value))); };
  if (a.role == "in") return framework_->wrap(l.logits);
  if (a.role == "out") return l.wrapped.at(0);
  if (a.role == "indices") return l.wrapped.at(1);
  if (a.role == "k") return integer(l.call.k);
#define ASSAY_NUMBER(name, usual) \
  if (a.role == #name) return real(l.call.name);
  ASSAY_CALL_NUMBERS(ASSAY_NUMBER)
#undef ASSAY_NUMBER
  if (a.role == "rows") return integer(l.logits.shape[0]);
  if (a.role == "V") return integer(l.logits.shape[1]);
  if (a.role == "stream") {
    // Launches are timed on the default stream, whose handle is 0.
    if (!l.call.stream && l.logits.device_type != kCuda) return none();
    return integer(static_cast<long long>(reinterpret_cast<std::uintptr_t>(l.call.stream)));
  }
  return operand(a, l.call);
}

void Kernel::launch(Launch& l) {
  if (description_.writes)
    for (const View& out : l.outs) l.wrapped.push_back(framework_->wrap(out));
  std::size_t places = 0;
  for (const CallableArgument& a : description_.arguments) places += a.by_place ? 1 : 0;
  const Ref positional = need(py.PyTuple_New(static_cast<std::ptrdiff_t>(places))),
            keywords = need(py.PyDict_New());
  std::ptrdiff_t at = 0;
  for (std::size_t i = 0; i < description_.arguments.size(); ++i) {
    const CallableArgument& a = description_.arguments[i];
    Ref value = description_.constants[i] ? description_.constants[i] : given(a, l);
    if (a.by_place)
      py.PyTuple_SetItem(positional.get(), at++, value.release());
    else
      py.PyDict_SetItemString(keywords.get(), a.name.c_str(), value.get());
  }
  const Ref result = need(py.PyObject_Call(target_->function(), positional.get(), keywords.get()));
  if (result.get() == py._Py_NoneStruct) {
    if (!description_.writes) throw Failure{"returned None: a callable that takes no outputs returns them"};
    return;
  }
  const Ref all = selects_ ? need(py.PySequence_Tuple(result.get())) : Ref();
  const std::size_t count = selects_ ? static_cast<std::size_t>(py.PyTuple_Size(all.get())) : 1;
  if (count != l.outs.size())
    throw Failure{"returned " + std::to_string(count) + " tensors: values and indices are the outputs"};
  std::vector<Result> results;
  for (std::size_t i = 0; i < count; ++i) {
    Ref one =
        selects_ ? Ref::borrowed(py.PyTuple_GetItem(all.get(), static_cast<std::ptrdiff_t>(i))) : result;
    if (i < l.wrapped.size() && l.wrapped[i].get() == one.get()) continue;
    results.push_back({std::move(one), l.outs[i]});
  }
  if (!timing_) {
    for (const Result& r : results) framework_->put(r.value.get(), r.out, l.call.stream);
  } else if (*framework_->untimed()) {
    throw Failure{framework_->untimed(), "returned_status"};
  } else {
    late_ = std::move(results);
    late_stream_ = l.call.stream;
  }
}

}  // namespace assay::python
