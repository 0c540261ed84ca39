// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/names.hpp"

#include <algorithm>
#include <span>

#include "reference/text.hpp"

namespace assay {
namespace {

/// Names without '_' and in lower case, with blanks between: num_rows, numRows and numrows are the same.
struct Names {
  Role role;
  std::string_view names;
};

constexpr Names kPointerNames[] = {
    {Role::in,
     "in inp input inputs x logits logit src source scores score indata inputdata idata inpdata "
     "inputtensor intensor inputs xin attnscores inputmatrix inputbuffer inputlogits rowin vecin"},
    {Role::out,
     "out output outputs y probs prob dst dest values vals value result results res o p outdata "
     "outputdata topkvalues topkvals topkweights outvalues odata outtensor outputtensor outputmatrix "
     "softmaxout softmaxoutput softmaxresult probabilities attnprobs outputprobs yout ret outputbuffer "
     "outprobs"},
    {Role::inout, "inout data inputoutput inplace"},
    {Role::indices, "indices idx index inds ids topkidx topkindices topkids outindices"},
    {Role::m, "m max maxs maxes maxima rowmax maxout mout"},
    {Role::d, "d sum sums rowsum denom normalizer sumout"},
    {Role::workspace,
     "workspace ws scratch tmp temp tempstorage workspacebuffer workspaceptr scratchbuffer tmpbuffer "
     "tempbuffer tmpbuf workbuffer workspacedata"},
};
constexpr Names kNumberNames[] = {
    {Role::rows,
     "rows numrows nrows nrow numrow rowcount rownum rowsnum row batch batchsize batches numbatches "
     "numbatch nbatch batchnum batchcount b bs bsz outer outersize outerdim tokens numtokens ntokens "
     "tokennum height"},
    {Role::V,
     "v cols col numcols numcol ncols ncol colnum colsnum colcount columns column numcolumns ncolumns c "
     "dim dimsize vocab vocabsize nvocab vocabularysize rowlength rowlen hidden hiddensize hiddendim "
     "width d rowsize rowelements numclasses nclasses classes numclass len length toseqlen tolen "
     "toseqlength keylen kvseqlen kseqlen seqlenk seqlenkv softmaxsize softmaxdim softmaxelements lastdim "
     "lastdimsize axissize reducesize reductionsize featuresize features numfeatures nfeatures innerdim"},
    {Role::k, "k topk numtopk"},
    {Role::workspace_bytes,
     "workspacebytes workspacesize wsbytes wssize scratchbytes scratchsize tempstoragebytes "
     "workspacesizeinbytes workspacebuffersize"},
};

constexpr const char* kThreshold = "threshold minp topp minpthreshold toppthreshold";

Role look_up(std::string_view name, std::span<const Names> all) {
  const auto known = std::ranges::find_if(all, [&](const Names& n) { return is_word_of(n.names, name); });
  return known == all.end() ? Role::none : known->role;
}

}  // namespace

std::string plain_name(const Parameter& p) {
  std::string s = p.name;
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const std::string_view prefix : {"d_", "dev_", "device_", "g_", "p_"})
    if (p.pointers > 0 && s.size() > prefix.size() && s.starts_with(prefix)) {
      s.erase(0, prefix.size());
      break;
    }
  for (const std::string_view suffix : {"_ptr", "_d", "_gpu", "_dev", "_device"})
    if (s.size() > suffix.size() && s.ends_with(suffix)) {
      s.erase(s.size() - suffix.size());
      break;
    }
  // For example ncols_x, in a launcher whose logits are x.
  for (const std::string_view suffix : {"_x", "_in", "_src", "_input"})
    if (p.pointers == 0 && s.ends_with(suffix)) {
      std::string side = s.substr(0, s.size() - suffix.size());
      std::erase(side, '_');
      if (number_role(side) == Role::rows || number_role(side) == Role::V) return side;
    }
  std::erase(s, '_');
  return s;
}

Role pointer_role(std::string_view name) { return look_up(name, kPointerNames); }
Role number_role(std::string_view name) { return look_up(name, kNumberNames); }

Role pitch_role(std::string_view name) {
  if (name == "ldx" || name == "lda" || name == "ldi") return Role::in_pitch;
  if (name == "ldy" || name == "ldb" || name == "ldo") return Role::out_pitch;
  bool pitch = false, in = false, out = false;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const std::string_view word = name.substr(0, end);
    pitch |= word == "pitch" || word == "stride" || word == "ld" || word == "ldim";
    const Role side = pointer_role(word);
    in |= side == Role::in;
    out |= side == Role::out;
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  if (!pitch || (in && out)) return Role::none;
  return in ? Role::in_pitch : out ? Role::out_pitch : Role::pitch;
}

bool is_row_factor(std::string_view name) {
  return is_word_of(
      "heads numheads nheads nhead numhead headnum headsnum numattentionheads fromseqlen "
      "fromlen fromseqlength querylen qseqlen seqlenq",
      name);
}
bool is_square_count(std::string_view name) {
  return is_word_of(
      "batch batchsize batches numbatches numbatch nbatch batchnum batchcount b bs bsz "
      "attnbatches numattnbatches bnh bh nh h heads numheads nheads nhead numhead headnum "
      "headsnum numattentionheads",
      name);
}
bool is_sequence(std::string_view name) {
  return is_word_of("seqlen seqlength sequencelength seq maxseqlen", name);
}
bool is_count(std::string_view name) {
  return is_word_of(
      "numel nelem nelems numelem numelems numelements nelements elements elementcount "
      "elemcount total totalsize totalelements totalnum totalcount totalelems",
      name);
}
bool may_be_count(std::string_view name) { return is_word_of("size count datasize inputsize", name); }
bool is_threshold(std::string_view name) { return is_word_of(kThreshold, name); }
bool is_mask(std::string_view name) { return is_word_of(kMaskNames, name); }

Role role_of(const OperandInfo& o) {
#define ASSAY_PART(part) \
  if (std::string_view(#part) == o.name) return Role::part;
  ASSAY_PARTS(ASSAY_PART)
#undef ASSAY_PART
  return Role::temperature;  // temperatures
}
const OperandInfo* operand_of(const Parameter& p) {
  for (const OperandInfo& o : kOperandTable)
    if (role_of(o) == p.role && (o.holds == OperandHolds::number) == (p.pointers == 0)) return &o;
  return nullptr;
}
Role operand_role(const Parameter& p, std::string_view name) {
  const bool half = p.scalar == Scalar::f16 || p.scalar == Scalar::bf16, single = p.scalar == Scalar::f32;
  const bool integer = p.scalar == Scalar::i32 || p.scalar == Scalar::u32 || p.scalar == Scalar::i64 ||
                       p.scalar == Scalar::u64;
  for (const OperandInfo& o : kOperandTable) {
    const bool number = o.holds == OperandHolds::number;
    const bool of_type = o.holds == OperandHolds::integers ? integer
                         : half ? o.holds == OperandHolds::bias || o.part == operand::scale
                                : single || (number && p.scalar == Scalar::f64);
    if (number == (p.pointers == 0) && of_type && is_word_of(o.names, name)) return role_of(o);
  }
  return Role::none;
}
std::string_view untyped_role(std::string_view name) {
  for (const OperandInfo& o : kOperandTable)
    if (is_word_of(o.names, name) || is_word_of(o.untyped, name)) return o.name;
  return is_mask(name) ? "mask" : pointer_role(name) == Role::out ? "out" : "";
}
bool is_blas_alpha(std::string_view name, bool beta) { return name == "alpha" && beta; }
bool may_scale_results(std::string_view name, Op op) { return selects(op) && name.find("temp") == name.npos; }
std::string scale_question(const std::string& name) {
  return "does it scale the logits or the results? --arg " + name + "=scale says the logits; --arg " + name +
         "=1 checks it at that value and no other";
}
std::string not_judged(const std::string& what, Op op, const std::string& without, bool value) {
  return what + " is not judged for " + assay::name(op) + ": --arg " + without +
         (value ? " checks it at that value and no other" : " checks it without");
}
bool is_lse(std::string_view name) { return is_word_of("lse logsumexp lseout", name); }
bool says_backward(std::string_view function) {
  for (const char* word : {"backward", "bwd", "grad", "backprop"})
    if (function.find(word) != function.npos) return true;
  return false;
}
Role backward_role(std::string_view name, bool read_only) {
  if (!read_only)
    return is_word_of(
               "dx dinp din dinput dinputs gradinput gradinputs gradin gradx gradi xgrad inputgrad "
               "dlogits dlogit gradlogits dpreatt dscores gradscores dsrc gradsrc bottomdiff diffsrc "
               "out output",
               name)
               ? Role::out
               : Role::none;
  if (is_word_of("dy dout doutput doutputs gradoutput gradoutputs gradout grad grads gradient gradients "
                 "grady grado ygrad outputgrad outgrad gout go dprobs datt dp gradprobs upstream "
                 "topdiff diffdst deltas",
                 name))
    return Role::gradients;
  if (is_word_of("y output outputs out softmaxresults softmaxresult softmaxoutput softmaxout softmax "
                 "probs prob probabilities p att result results attnprobs yout outdata top dst",
                 name))
    return Role::in;
  return Role::none;
}
bool is_mask_switch(std::string_view name) { return is_word_of("causal iscausal maskfuture", name); }
bool is_log_switch(std::string_view name) {
  return is_word_of("log islog uselog logsoftmax islogsoftmax", name);
}

}  // namespace assay
