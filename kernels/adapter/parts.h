// SPDX-License-Identifier: Apache-2.0
/* The parts that a parameter of a kernel's entry can play. The tool that reads an entry and the header that
 * calls it share this list.
 *
 * in, out        the logits and the results; in a backward pass `in` is what the softmax wrote
 * inout          a buffer that holds the logits and then the results
 * V              the row length
 * pitch          the distance between rows, for inputs and outputs alike
 * mask_keep      a mask: logits whose mask is 0 are left out
 * mask_drop      a mask: logits whose mask is not 0 are left out
 * bias           is added to the logits; a bias_row is added to every row
 * lengths        how many elements of each row count
 * temperature    divides the logits: one number, or one for each row
 * gradients      in a backward pass, the gradients of the softmax's results
 * threshold      of min_p and top_p: the probability threshold */
#ifndef ASSAY_PARTS_H
#define ASSAY_PARTS_H

#define ASSAY_PARTS(part)                                                                            \
  part(none) part(in) part(out) part(inout) part(indices) part(rows) part(V) part(k) part(in_pitch)  \
      part(out_pitch) part(pitch) part(stream) part(workspace) part(workspace_bytes) part(m) part(d) \
          part(scale) part(mask_keep) part(mask_drop) part(bias) part(bias_row) part(lengths)        \
              part(temperature) part(gradients) part(threshold)

#endif
