/* What a parameter of a kernel's entry can be for, once for the tool that reads an entry and for the header
 * that calls it. `pitch` is the distance between rows of inputs and of outputs at once, `inout` a buffer that
 * holds the logits and then the results. A `mask_keep` leaves out what is 0, a `mask_drop` what is not; a `bias` is
 * added, a `bias_row` to every row; `lengths` say how many elements of a row count; a `temperature` divides, one
 * number or one of each row. Of a backward pass `in` is what the softmax wrote, `gradients` what comes down from
 * there. */
#ifndef ASSAY_PARTS_H
#define ASSAY_PARTS_H

#define ASSAY_PARTS(part)                                                                            \
  part(none) part(in) part(out) part(inout) part(indices) part(rows) part(V) part(k) part(in_pitch)  \
      part(out_pitch) part(pitch) part(stream) part(workspace) part(workspace_bytes) part(m) part(d) \
          part(scale) part(mask_keep) part(mask_drop) part(bias) part(bias_row) part(lengths)          \
              part(temperature) part(gradients)

#endif
