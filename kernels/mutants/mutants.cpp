// SPDX-License-Identifier: Apache-2.0
#include "kernels/mutants/mutants.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "kernels/declaration.hpp"

namespace assay {
namespace {

std::vector<Mutant>& mutant_storage() {
  static std::vector<Mutant> all;
  return all;
}

}  // namespace

const std::vector<Mutant>& mutants() {
  // Initialisation order is not specified: entries are added unsorted, and sorted on first use after main
  // began.
  static const bool sorted = [] {
    for (Mutant& m : mutant_storage())
      if (m.expect.declaration) {
        m.variant.claim = undeclared_claim(m.variant.op);
        if (!selects(m.variant.op)) m.variant.claim.select = Select::none;
        m.variant.declared = m.variant.writes_normalizer = false;
        apply_declaration(m.expect.declaration, m.variant);
        m.variant.claim.judgeable_rows_only = m.expect.judgeable_rows_only;
      }
    const auto place = [](const Mutant& m) {
      return std::tuple(m.kind, m.variant.backend, *m.id, std::atoi(m.id + 1), std::string_view(m.fault));
    };
    std::sort(mutant_storage().begin(), mutant_storage().end(),
              [&](const Mutant& a, const Mutant& b) { return place(a) < place(b); });
    return true;
  }();
  (void)sorted;
  return mutant_storage();
}

const Mutant* find_mutant_of(std::string_view fault) {
  for (const Mutant& m : mutants())
    if (m.fault == fault && m.variant.backend == Backend::host) return &m;
  return nullptr;
}

const Variant* find_mutant(std::string_view key) {
  for (const Mutant& m : mutants())
    if (m.variant.key() == key) return &m.variant;
  return nullptr;
}

const char* what_of(std::string_view id) {
  for (const CatalogueEntry& e : catalogue())
    if (e.id == id) return e.what;
  return "";
}

bool register_mutant(Mutant m) {
  m.kind = *m.id == 'R' ? Kind::right : *m.id == 'C' ? Kind::cheat : Kind::fault;
  m.variant.variant = std::string("mutant.") + m.fault;
  const std::size_t kernels = m.variant.file.rfind("kernels/");
  if (kernels != std::string::npos) m.variant.file.erase(0, kernels);
  if (m.expect.declaration && m.variant.backend == Backend::host) m.variant.backend = Backend::plugin;
  mutant_storage().push_back(std::move(m));
  return true;
}

// The catalogue of faults. M and A were seen in published kernels or follow from their patterns; X were
// invented here; C are ways in which a checker was fooled; R are kernels that must be accepted. Every M is
// listed: either planted, or with the reason why no kernel of this project can have it.

namespace {

constexpr CatalogueEntry kCatalogue[] = {
    {"M01", "subtracts no maximum", ""},
    {"M02", "subtracts the maximum in the tail, not in the vectorised loop", ""},
    {"M03", "the running maximum starts at 0", ""},
    {"M04", "the running maximum starts at FLT_MIN, the smallest positive normal number", ""},
    {"M05", "the running maximum starts at -1e4", ""},
    {"M06", "the running maximum starts at -5e4", ""},
    {"M08", "-inf is replaced by -FLT_MAX: a row of nothing but -inf comes out uniform", ""},
    {"M10", "shifts by the first element instead of the maximum", ""},
    {"M11", "each lane writes with its own maximum", ""},
    {"M12", "every other vector is left out of the maximum", ""},
    {"M15", "padding counts as 0 in the maximum", ""},
    {"M16", "padding adds exp(0 - m) to the sum", ""},
    {"M17", "the sum leaves out the tail", ""},
    {"M18", "the tail is counted twice where V is a multiple of the vector", ""},
    {"M19", "a loop runs to i <= V", ""},
    {"M21", "the last vector is stored whole, past the end", ""},
    {"M22", "the last vector is read whole, and what lies past the end discarded", ""},
    {"M23", "input rows are taken to lie V apart", ""},
    {"M24", "output rows are taken to lie V apart", ""},
    {"M27", "a block reduction counts V / 32 warps and drops the partial one", ""},
    {"M28", "a shuffle from a lane that has no element brings 0", ""},
    {"M29", "a butterfly lacks its last step", ""},
    {"M30", "only the first warp's partial is used", ""},
    {"M31", "the sum is not rescaled when the maximum rises", ""},
    {"M32", "the rescale factor is inverted", ""},
    {"M34", "sums of warps with different maxima are added as they are", ""},
    {"M35", "(-inf) - (-inf) is formed where a slice saw nothing", ""},
    {"M36", "a slice that begins with -inf keeps 0 as its maximum", ""},
    {"M39", "late rescaling takes a term with the new maximum and keeps the old reference", ""},
    {"M43", "merging an empty part divides 0 by 0", ""},
    {"M45", "the order of the sum is the order of arrival", ""},
    {"M48", "x scale - m is contracted in one pass and not in the other",
     "no op applies a scale yet: a problem carries one, and it is 1"},
    {"M50", "row 0's scale serves every row",
     "no op applies a scale yet: a problem carries one, and it is 1"},
    {"M52", "x log2e and m log2e are rounded apart", ""},
    {"M54", "an approximate exp under a claim of an accurate one", ""},
    {"M57", "subnormal results are flushed to 0, undeclared", ""},
    {"M60", "the sum is kept in 16 bits", ""},
    {"M62", "one thread adds the whole row, under a tree's claim", ""},
    {"M63", "exp and 1/s are rounded to 16 bits before they are multiplied", ""},
    {"M67", "the branch for short rows reads 16-bit logits as floats", ""},
    {"M68", "what the first call needed is kept for every later one", ""},
    {"M69", "log-softmax as x - (m + log s) under a claim of (x - m) - log s", ""},
    {"M71", "log-softmax as the log of softmax", ""},
    {"M72", "log-softmax of a single element is a tiny positive number", ""},
    {"M73", "a test for an empty row takes a NaN for one and returns zeros", ""},
    {"M76", "what is masked is multiplied by 0: a NaN there stays", ""},
    {"M77", "a barrier is missing between a write to shared memory and its use", ""},
    {"M80", "a barrier inside a branch that some threads do not take", ""},
    {"M81", "shared memory is used again for the next row without a barrier", ""},
    {"M82", "a fence is taken for a barrier of the grid", ""},
    {"M84", "scratch memory is shared by all streams", ""},
    {"M85", "launches on the default stream", ""},
    {"M86", "a parameter is read before the wait of programmatic dependent launch",
     "no variant is launched that way: a plain launch on a stream waits for what came before"},
    {"M87", "row offsets are int32", ""},
    {"M89", "row offsets are uint32", ""},
    {"M91", "the output advances by rows instead of rows times pitch between chunks", ""},
    {"M93", "rows past the last whole group of rows are left out", ""},
    {"M95", "asks for more shared memory than there is, and never looks", ""},
    {"M96", "the path for long rows is never taken", ""},
    {"M97", "the path for short rows is taken one length too far", ""},
    {"M98", "writes outputs before the last read of the logits, in place", ""},
    {"M99", "adds 0 times what the output held before", ""},
    {"M101", "rows are written in swapped pairs", ""},
    {"M102", "top-k takes candidates from whole vectors only", ""},
    {"M103", "top-k keeps fewer than k candidates in a partition", ""},
    {"M105", "top-k returns one of two equal logits twice", ""},
    {"M106", "top-k never inserts a NaN, and has no index left to return", ""},
    {"M110", "top-k returns an index past the row where V < k", ""},
    {"M111", "top-k probabilities use a running sum", ""},
    {"M113", "top-k selects on probabilities rounded to the output's 16 bits", ""},
    {"M115", "top-k comes out unsorted", ""},
    {"M116", "top-k fails at k = V", ""},
    {"M118", "top-k writes indices of the wrong width", ""},
    {"M120", "the last result is returned while the pointers are the same", ""},
    {"M121", "writes zeros", ""},
    {"M122", "writes 1/V", ""},
    {"M123", "writes nothing", ""},
    {"M125", "right only where V is a multiple of 1024", ""},
    {"A10", "an empty part overwrites a live one", ""},
    {"A14", "a row of nothing but -inf gives zeros, where NaN is declared", ""},
    {"A35", "a NaN stays where it was, the rest of the row is 0", ""},
    {"A36", "+inf gives 1 there and 0 elsewhere, where NaN is declared", ""},
    {"A47", "one part is counted twice in the merge", ""},
    {"A48", "a merge takes natural differences to base 2", ""},
    {"A64", "log(1 + rest) from a rounded 1 + rest", ""},
    {"A66", "lse is rounded to the storage type before it is subtracted", ""},
    {"A88", "vector loads wherever the row starts", ""},
    {"A104", "rows in grid.y, which ends at 65535", ""},
    {"A147", "top-k stops at -inf although elements are left", ""},
    {"A148", "top-k probabilities are normalised over the selected", ""},
    {"X01", "the last element is not written", ""},
    {"X02", "shift and sum agree, but are those of lane 0's slice", ""},
    {"X03", "one thread's slice is lost on long rows", ""},
    {"X04", "the shift is the maximum less a half, and the sum is moved with it", ""},
    {"X05", "one thread divides by a sum that is off by 1e-5", ""},
    {"X06", "a thread's sum is kept in bfloat16", ""},
    {"X07", "top-k puts equal logits in order of larger index", ""},
    {"X08", "top-k indices are off by one", ""},
    {"X09", "the sum is not moved to the scale of exp2's numerators", ""},
    {"X10", "1/d is kept in 16 bits", ""},
    {"X11", "1/d is taken before the last warp was added", ""},
    {"X12", "late rescaling never moves the sum to the maximum", ""},
    {"X13", "late rescaling moves the reference and not the sum", ""},
    {"X14", "log2 where log was meant", ""},
    {"X15", "lse or log-softmax without the maximum", ""},
    {"X16", "the sum under lse is kept in 16 bits", ""},
    {"X17", "__expf in the sum under a claim of expf", ""},
    {"X18", "a reciprocal or __fdividef under a claim of IEEE division", ""},
    {"X19", "outputs keep a thread's older maximum under a claim of the final one", ""},
    {"X20", "exp2 of a contracted product under a claim of a subtracted maximum", ""},
    {"X21", "columns are counted in 16 bits", ""},
    {"X22", "rows past 65535 are left out", ""},
    {"X23", "the maximum is not reset between the rows of a block", ""},
    {"X24", "the maximum's own term is counted twice", ""},
    {"X25", "log2 e to five digits", ""},
    {"X26", "exp's argument is clamped at -64", ""},
    {"X27", "outputs are rounded toward zero", ""},
    {"X28", "zeros come out as -0", ""},
    {"X29", "a masked element gets 1e-30", ""},
    {"X30", "outputs are clamped at 1e-7", ""},
    {"X31", "1e-6 is added to the divisor", ""},
    {"X32", "a row of one element gives 1 - 2^-24", ""},
    {"X33", "the maximum is rounded to bfloat16", ""},
    {"X34", "divides by the mean instead of the sum", ""},
    {"X35", "a probability is one ulp above 1", ""},
    {"X36", "a merge of equal maxima keeps one side's sum", ""},
    {"X37", "log-probabilities are clamped at -100", ""},
    {"X38", "top-k ranks -0 below +0", ""},
    {"X39", "top-k returns the value of the next index", ""},
    {"X40", "top-k misses column 0 at V = 1024", ""},
    {"X41", "top-k returns the last but one twice", ""},
    {"X42", "a single row is added in another order than the same row in a batch", ""},
    {"X43", "the maximum reads one element too far: a NaN there is dropped, a large number is not", ""},
    {"X44", "columns are counted in 32 bits: past 2^32 the row begins again", ""},
    {"X45", "the sum leaves out what lies 20 below the maximum", ""},
    {"X46", "a table is keyed by the length of a row, and not by the type", ""},
    {"X47", "an output changes once more after the launch is over", ""},
    {"X48", "top-k takes a NaN that it declared ignored", ""},
    {"X49", "top-k that ignores NaN leaves an old index in the slots left over", ""},
    {"X50", "the sum keeps 256 partials of 1024 elements: what comes after them is lost", ""},
    {"X51", "row offsets are kept in 32 bits where rows are longer than 4096", ""},
    {"X52", "top-k takes index 65535 for an empty slot", ""},
    {"X53", "long rows are multiplied by the reciprocal, short ones divided", ""},
    {"X54", "the sum of long rows has __expf, that of short ones expf", ""},
    {"X55", "a counter of rows is not set back after an odd number of many", ""},
    {"X56", "the last 7 columns are 0.1 % too large at three lengths between 200 and 300", ""},
    {"X60", "one thread's share of the sum is lost", ""},
    {"X61", "one thread's share keeps the thread's own maximum", ""},
    {"X62", "exps are truncated to bf16 inside the sum", ""},
    {"X63", "the sum is stored as bf16 before the division", ""},
    {"X64", "terms 10 below a thread's running maximum are left out of the sum", ""},
    {"X65", "top-k drops what finds no room in its buffer of candidates", ""},
    {"X66", "top-k leaves out what is equal to its first threshold", ""},
    {"X67", "top-k takes a threshold that only half of k elements reach", ""},
    {"X68", "top-k thins its buffer by value alone: of equal candidates all are dropped", ""},
    {"X69", "top-k lets later ties displace earlier ones", ""},
    {"X70", "top-k counts padding as 0 in the maxima that its threshold is taken from", ""},
    {"X71", "the softmax of the k largest is divided by the sum of the row", ""},
    {"X72", "the softmax of the k largest leaves the last of them out of its sum", ""},
    {"X73", "empty slots add exp(0 - m) to the sum of the k largest", ""},
    {"X74", "the probabilities of the k largest stand in the slots of other elements", ""},
    {"X75", "the softmax of the k largest takes the later one of two equal logits", ""},
    {"X76", "the softmax of the k largest subtracts no maximum", ""},
    {"X77", "the softmax of the row is scaled to the k largest: a NaN that is not selected spoils it", ""},
    {"X78", "probabilities are rounded to 16 bits before they are scaled to the k largest", ""},
    {"X79", "min_p compares probabilities with the threshold itself, not with its part of the largest", ""},
    {"X80", "min_p leaves out what is equal to its threshold", ""},
    {"X81", "what min_p or top_p keeps is divided by the sum of the row", ""},
    {"X82", "min_p compares x - m with the threshold's logarithm to base 2", ""},
    {"X83", "min_p takes the maximum of the row before", ""},
    {"X84", "what min_p drops gets 1e-30", ""},
    {"X85", "min_p compares probabilities that were rounded to bfloat16", ""},
    {"X86", "top_p leaves out the element that reaches the threshold", ""},
    {"X87", "top_p keeps one element too many", ""},
    {"X88", "top_p takes the later ones of equal logits", ""},
    {"X89", "top_p keeps all that are equal to its last element", ""},
    {"X90", "top_p adds in bfloat16", ""},
    {"X91", "top_p takes elements in the order of their columns", ""},
    {"X92", "top_p ends with its sixteenth candidate", ""},
    {"X93", "log-probabilities of the k largest are of these alone, not of the row", ""},
    {"X94", "log-probabilities of the k largest are logs of rounded probabilities", ""},
    {"X95", "log-probabilities of the k largest without the maximum", ""},
    {"X96", "the log-probabilities of the k largest stand in reverse order", ""},
    {"X97", "empty slots hold the log-probability 0, which is that of a sure element", ""},
    {"X98", "every row is divided by the first row's temperature", ""},
    {"X99", "the temperature is left out of the sum", ""},
    {"X100", "the temperature is left out of the outputs", ""},
    {"X101", "the logits are multiplied by the temperature", ""},
    {"C02", "copies the logits", ""},
    {"C03", "answers with the last call's outputs", ""},
    {"C04", "row 0's outputs for every row", ""},
    {"C05", "changes its inputs", ""},
    {"C07", "works on another stream or thread after the launch is over", ""},
    {"C10", "keeps results by the first 16 bytes of a row", ""},
    {"C11", "does half the rows", ""},
    {"C13", "right for the first ten calls", ""},
    {"C14", "right only where the output holds the NaN of a test", ""},
    {"C15", "looks for the suite's own truth in its process", ""},
    {"C18", "exp in half precision under an f32 claim", ""},
    {"R01", "softmax_mutants without a fault", ""},
    {"R02", "topk_mutants without a fault", ""},
    {"R03", "safe softmax by exp2, one reciprocal a row", ""},
    {"R04", "online softmax by exp2, one reciprocal a row", ""},
    {"R05", "late rescaling, one reciprocal a row", ""},
    {"R06", "log-softmax as (x - m) - log d", ""},
    {"R07", "lse as m + log d", ""},
    {"R08", "an online kernel that does what it claims", ""},
    {"R09", "claims a fast exp and an approximate division, and does better", ""},
    {"R10", "claims a serial sum, and adds in a tree", ""},
    {"R11", "claims kept numerators, and recomputes them", ""},
    {"R12", "vectorised loop and tail without a fault", ""},
    {"R13", "rounding_mutants without a fault", ""},
    {"R14", "merge_mutants without a fault", ""},
    {"R15", "log_mutants without a fault", ""},
    {"R16", "selection_mutants without a fault", ""},
    {"R17", "launch_mutants without a fault", ""},
    {"R20", "a compensated sum in every thread, a tree above", ""},
    {"R21", "two passes: the maximum, then the sum", ""},
    {"R22", "one thread adds the whole row, and says so", ""},
    {"R23", "a maximum that keeps NaN", ""},
    {"R24", "the maximum starts at -FLT_MAX, and a row of nothing but -inf is NaN all the same", ""},
    {"R25", "a row of nothing but -inf gives 0, as declared", ""},
    {"R26", "+inf gives NaN there and 0 elsewhere, as declared", ""},
    {"R27", "one reciprocal a row", ""},
    {"R28", "__expf and __fdividef, as declared", ""},
    {"R29", "exp2 of a fused product, as declared", ""},
    {"R30", "partial sums in order of arrival, no promise to repeat", ""},
    {"R31", "numerators kept from a thread's own maximum", ""},
    {"R32", "Algorithm 3 by one thread a row", ""},
    {"R33", "every operation in half precision, as declared", ""},
    {"R34", "top-k that breaks ties in no particular order", ""},
    {"R35", "top-k that prefers the larger index", ""},
    {"R36", "top-k that puts NaN first", ""},
    {"R37", "Eigen's softmax, for finite logits", ""},
    {"R38", "cuDNN's softmax", ""},
    {"R39", "top-k that never takes a NaN, as declared", ""},
    {"R40", "top-k that is never asked for more than V, as declared", ""},
    {"R41", "a block's sum in shares and a tree, the kernel that sum_mutants plants faults in", ""},
    {"R42", "top-k by a threshold, the kernel that threshold_mutants plants faults in", ""},
    {"R43", "the softmax of the k largest, the kernel that topk_softmax_mutants plants faults in", ""},
    {"R44", "min_p by comparing exps, the kernel that set_mutants plants faults in", ""},
    {"R45", "top_p by the sum before each element, the kernel that set_mutants plants faults in", ""},
    {"R46", "the log-softmax of the k largest, the kernel that log_topk_mutants plants faults in", ""},
    {"R47", "the k largest at a temperature, the kernel that temperature_mutants plants faults in", ""},
};

}  // namespace

std::span<const CatalogueEntry> catalogue() { return kCatalogue; }

}  // namespace assay
