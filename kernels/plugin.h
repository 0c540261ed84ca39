// SPDX-License-Identifier: Apache-2.0
/* The C ABI of a softmax kernel that is to be judged: what a shared object exports so that `assay check` can
 * call it. C99, self-contained, one required symbol.
 *
 *   ASSAY_EXPORT const assay_plugin* assay_plugin_entry(void);
 *
 * Four more symbols are optional. assay_plugin_fault: a sentence that says why the calling thread's last
 * `run` did not return 0. For kernels on the host executor: assay_executor_control sets the schedule of the
 * calling thread's next launches; assay_executor_rows restricts them to the blocks of the given rows. There
 * `per_block` consecutive rows belong to one block, and blocks take turns; with no rows, all blocks run.
 * assay_executor_turns names a function that the calling thread's next launches call after each kernel (1),
 * block (2) and warp (3); it may wait there for another launch. NULL: none.
 *
 *   ASSAY_EXPORT const char* assay_plugin_fault(void);
 *   ASSAY_EXPORT void assay_executor_control(uint64_t schedule, int64_t max_blocks);
 *   ASSAY_EXPORT void assay_executor_turns(void (*turn)(int step));
 *   ASSAY_EXPORT void assay_executor_rows(const int64_t* rows, uint64_t count, int64_t per_block);
 *
 * Every struct starts with its size in bytes as the author's compiler saw it. Fields are only ever added at
 * the end, and what lies past that size counts as zero. Tensors have the layout of DLPack's DLTensor; if
 * <dlpack/dlpack.h> is included before this header, they are DLTensor. */
#ifndef ASSAY_PLUGIN_H
#define ASSAY_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_ABI_VERSION 1u

#if defined(_WIN32)
#define ASSAY_EXPORT __declspec(dllexport)
#else
#define ASSAY_EXPORT __attribute__((visibility("default")))
#endif

#if defined(DLPACK_VERSION) || defined(DLPACK_MAJOR_VERSION)
typedef DLTensor assay_tensor;
#else
/* DLPack's DLDevice, DLDataType and DLTensor, field by field. */
typedef struct assay_device {
  int32_t device_type; /* 1: host memory (kDLCPU), 2: device memory (kDLCUDA) */
  int32_t device_id;
} assay_device;
typedef struct assay_data_type {
  uint8_t code; /* 0: int, 1: unsigned, 2: float, 4: bfloat */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} assay_data_type;
typedef struct assay_tensor {
  void* data;
  assay_device device;
  int32_t ndim;
  assay_data_type dtype;
  int64_t* shape;       /* number of elements */
  int64_t* strides;     /* in elements */
  uint64_t byte_offset; /* 0 in every call */
} assay_tensor;
#endif

typedef enum assay_op {
  ASSAY_SOFTMAX = 0,
  ASSAY_LOG_SOFTMAX = 1,
  ASSAY_LSE = 2,
  ASSAY_NORMALIZER = 3,
  ASSAY_TOPK = 4,
  ASSAY_SOFTMAX_TOPK = 5,
  ASSAY_SOFTMAX_BACKWARD = 6, /* y in `logits`, dy in `gradients`: dx = y (dy - sum y dy) */
  ASSAY_TOPK_SOFTMAX = 7,     /* the softmax of the k largest logits alone: the k values add up to 1 */
  ASSAY_MIN_P = 8,            /* the softmax of the elements with p >= threshold x largest p; 0 elsewhere */
  ASSAY_TOP_P = 9,            /* that of the fewest largest whose p add up to threshold; 0 elsewhere */
  ASSAY_LOG_SOFTMAX_TOPK = 10 /* the log-softmax of the row at its k largest logits */
} assay_op;

/* One call. A tensor that the op does not have is NULL. */
typedef struct assay_call {
  uint32_t struct_size;
  int32_t op;                  /* assay_op */
  const assay_tensor* logits;  /* rows x V, strides {pitch, 1} */
  const assay_tensor* values;  /* rows x V; lse: rows x 1; ops of top-k: rows x k; normalizer: NULL */
  const assay_tensor* indices; /* ops of top-k: rows x k, int32, or int64 if V > 2^31 - 1 */
  const assay_tensor* m;       /* f32[rows]: row maximum; NULL if not wanted */
  const assay_tensor* d;       /* f32[rows]: sum of exp(x - m); NULL if not wanted */
  void* workspace;             /* workspace_bytes() bytes, contents undefined */
  uint64_t workspace_bytes;
  void* stream; /* cudaStream_t; NULL on host memory */
  float scale;  /* the softmax is of scale * x / temperature + bias */
  int32_t k;
  /* For variants with operands. NULL if the variant does not have this one. */
  const assay_tensor* mask;         /* rows x V, strides as the logits' */
  const assay_tensor* bias;         /* rows x V, strides as the logits'; or V elements, with ndim 1 */
  const assay_tensor* lengths;      /* integers[rows] */
  const assay_tensor* temperatures; /* f32[rows] */
  const assay_tensor* gradients;    /* for a backward pass: rows x V, strides as the logits' */
  float temperature;                /* 1 without the operand */
  float threshold;                  /* of min_p and top_p; else 0 */
} assay_call;

/* The numbers of a call other than sizes, and the value of each where it does nothing. */
#define ASSAY_CALL_NUMBERS(number) number(scale, 1) number(temperature, 1) number(threshold, 0)

/* One kernel at one pair of types. */
typedef struct assay_variant {
  uint32_t struct_size;
  int32_t op;            /* assay_op */
  const char* name;      /* letters, digits, '_' and '-' */
  const char* in_dtype;  /* "f16", "bf16", "f32" or "f64" */
  const char* out_dtype; /* NULL: as in_dtype */
  int32_t device_type;   /* 1: works on host memory, 2: on device memory */
  int32_t reserved;      /* 0 */
  /* The author's promises, as text: "exp=fast; height=V/256+13; ties=smaller_index; max_V=65536". NULL or
   * empty: no promise. `assay check --help` lists the words. */
  const char* declaration;
  /* Enqueues the work on call->stream (device) or does the work (host). Returns 0, or a status to be
   * reported. */
  int32_t (*run)(const assay_call* call);
  /* NULL: no workspace is needed. */
  uint64_t (*workspace_bytes)(const assay_call* call);
  /* What `run` reads besides the logits. NULL or empty: nothing. A list of these words, separated by spaces:
   *   scale temperature temperatures mask_keep:T mask_drop:T bias:D bias_row:D lengths:I
   * T is u8, i32, f16, bf16 or f32; D is f16, bf16 or f32; I is i32 or i64. mask_keep leaves out elements
   * whose mask is 0, mask_drop those whose mask is not 0. lengths leaves out the columns from the length on.
   * Ops that select take scale, temperature and temperatures; normalizer and softmax_backward take none. */
  const char* operands;
} assay_variant;

typedef struct assay_plugin {
  uint32_t struct_size;
  uint32_t abi_version;         /* ASSAY_ABI_VERSION */
  uint32_t variant_struct_size; /* sizeof(assay_variant): the distance between two elements of `variants` */
  uint32_t variant_count;
  const assay_variant* variants;
} assay_plugin;

typedef const assay_plugin* (*assay_plugin_entry_function)(void);
#define ASSAY_PLUGIN_SYMBOL "assay_plugin_entry"

#ifdef __cplusplus
}
#endif
#endif
