// SPDX-License-Identifier: Apache-2.0
// Properties of a row among other rows. Its outputs must not depend on its neighbours, its position, the
// schedule of the launch or the place of the outputs. All are checked bit for bit.
#include <rapidcheck.h>

#include <algorithm>

#include "properties/variants/variant_properties.hpp"

namespace assay {
namespace {

constexpr Structure kEvery[] = {Structure::uniform,     Structure::moderate, Structure::equal_runs,
                                Structure::ascending,   Structure::ramp,     Structure::huge,
                                Structure::overflow,    Structure::mixed,    Structure::masked,
                                Structure::all_neg_inf, Structure::poisoned};
Row draw_row(const Variant& v) {
  Row row = *variant_rows({std::begin(kEvery), std::end(kEvery)}, v.dtype);
  classify(row);
  return row;
}

/// A row of the same length and format.
Row neighbour_of(const Row& row, Structure s, Draw& draw) {
  Row n{s, row.logits};
  const Format f = format(row.format());
  for (Float& x : n.logits) switch (s) {
      case Structure::poisoned:
        x.bits = f.exponent_mask() | (draw.one_in(2) ? f.mantissa_mask() : 0);
        break;
      case Structure::all_neg_inf:
        x.bits = f.sign_mask() | f.infinity_bits();
        break;
      default:
        x = draw_float(draw, row.format(), {});
    }
  return n;
}

/// A row's outputs depend on the row alone. A kernel that sums in vectors from the first aligned element on
/// may sum a row in another order if it starts elsewhere. Such a kernel says so, and only its bounds are
/// checked.
bool claims_batch(const Variant& v) { return v.claim.batch_invariant; }
bool claims_the_row_alone(const Variant& v) {
  return claims_batch(v) && v.claim.determinism != Determinism::not_guaranteed;
}

void duplicated_rows(const Variant& v) {
  const Row row = draw_row(v);
  const Pick pick = draw_pick(v, row);
  Draw draw = draw_more();
  const Row other = neighbour_of(row, Structure::uniform, draw);
  const Answer a = run(v, v.op, tensor_of({row, other, row, row}), {.pick = pick});
  RC_ASSERT(same_row(a, 0, a, 2));
  RC_ASSERT(same_row(a, 0, a, 3));
}

/// Rows of NaN and infinities on either side give the same bits as ordinary rows on either side.
void neighbours_do_not_leak(const Variant& v) {
  const Row row = draw_row(v);
  const Pick pick = draw_pick(v, row);
  Draw draw = draw_more();
  const Row calm = neighbour_of(row, Structure::uniform, draw);
  const Row poison = neighbour_of(row, Structure::poisoned, draw);
  const Row nothing = neighbour_of(row, Structure::all_neg_inf, draw);
  const Answer among_calm = run(v, v.op, tensor_of({calm, row, calm, row, calm}), {.pick = pick});
  const Answer among_poison = run(v, v.op, tensor_of({poison, row, poison, row, nothing}), {.pick = pick});
  RC_ASSERT(same_row(among_calm, 1, among_poison, 1));
  RC_ASSERT(same_row(among_calm, 3, among_poison, 3));
}

/// A row alone, and at any place in a batch of any size, with gaps between the rows and few blocks.
void any_batch(const Variant& v) {
  const Row row = draw_row(v);
  const Pick pick = draw_pick(v, row);
  Draw draw = draw_more();
  // A block may hold 8 or 64 rows; more rows need the next block.
  const std::size_t size = draw.one_in(6) ? 65 + draw.below(16) : 2 + draw.below(9);
  const std::size_t place = draw.one_in(3) ? size - 1 : draw.below(size);
  RC_CLASSIFY(size > 64, "more than 64 rows");
  RC_CLASSIFY(place > 0, "not the first row");
  std::vector<Row> rows(size, neighbour_of(row, Structure::uniform, draw));
  rows[place] = row;
  const Answer alone = run(v, v.op, tensor_of({row}), {.pick = pick});
  VariantRunOptions options{.pick = pick, .gap = static_cast<std::int64_t>(draw.below(4))};
  options.launch.max_blocks = static_cast<std::int64_t>(draw.below(3));
  const Answer batch = run(v, v.op, tensor_of(rows), options);
  RC_ASSERT(same_row(alone, 0, batch, static_cast<std::int64_t>(place)));
}

bool claims_in_place(const Variant& v) { return v.claim.in_place && claims_the_row_alone(v); }
void in_place(const Variant& v) {
  const Row row = draw_row(v);
  Draw draw = draw_more();
  const Tensor rows = tensor_of({row, neighbour_of(row, Structure::uniform, draw), row});
  const Answer apart = run(v, v.op, rows);
  VariantRunOptions options;
  options.launch.in_place = true;
  options.launch.schedule = draw.below(1000);
  const Answer over = run(v, v.op, rows, options);
  for (std::int64_t r = 0; r < 3; ++r) RC_ASSERT(same_row(apart, r, over, r));
}

bool claims_run_to_run(const Variant& v) { return v.claim.determinism != Determinism::not_guaranteed; }
/// On the host the schedule of threads, warps and blocks is a seed. On a GPU it is just another launch.
void any_schedule(const Variant& v) {
  const Row row = draw_row(v);
  const Pick pick = draw_pick(v, row);
  Draw draw = draw_more();
  const Tensor rows = tensor_of({row, neighbour_of(row, Structure::uniform, draw)});
  const Answer first = run(v, v.op, rows, {.pick = pick});
  VariantRunOptions options{.pick = pick};
  options.launch.schedule = 1 + draw.below(1u << 20);
  RC_CLASSIFY(row.logits.size() > 256, "more than 256 logits");
  const Answer second = run(v, v.op, rows, options);
  for (std::int64_t r = 0; r < 2; ++r) RC_ASSERT(same_row(first, r, second, r));
}

}  // namespace

std::vector<VariantProperty> batch_properties() {
  return {
      {"duplicated_rows_are_bit_equal",
       claims_the_row_alone,
       duplicated_rows,
       16,
       {"subnormal", "-inf", "NaN", "+inf", "mixed", "masked", "all_neg_inf"}},
      {"neighbours_do_not_leak",
       claims_run_to_run,
       neighbours_do_not_leak,
       16,
       {"moderate", "mixed", "masked", "subnormal", "-inf"}},
      {"any_place_in_any_batch_is_bit_equal",
       claims_batch,
       any_batch,
       16,
       {"not the first row", "more than 64 rows", "mixed", "masked", "-inf"}},
      {"in_place_equals_out_of_place",
       claims_in_place,
       in_place,
       30,
       {"moderate", "mixed", "masked", "-inf"}},
      {"any_schedule_is_bit_equal",
       claims_run_to_run,
       any_schedule,
       30,
       {"moderate", "ascending", "mixed", "masked", "-inf", "more than 256 logits"}},
  };
}

}  // namespace assay
