// SPDX-License-Identifier: Apache-2.0
/* They write where they should not, or take too much memory. */
#define _GNU_SOURCE
#include <pthread.h>

#include "kernels/isolation/hostile/hostile.h"

/* Writes one byte past memory that it got from malloc and keeps. Nothing of it is seen in the outputs.
 * expects: fail own_memory_overrun "memory was written past the 40 bytes that malloc or new gave" */
#ifdef IS_overruns_heap
static void misbehave(const assay_call* c) {
  static char* volatile block;
  (void)c;
  if (!block) block = malloc(40);
  if (block) block[40] = 1;
}
#endif

/* Writes one element past the last row.
 * expects: fail none "guard" */
#ifdef IS_overruns_rows
static void misbehave(const assay_call* c) {
  values(c)[(c->values->shape[0] - 1) * c->values->strides[0] + c->values->shape[1]] = 1;
}
#endif

/* Writes its inputs.
 * expects: fail none "inputs" */
#ifdef IS_writes_inputs
static void misbehave(const assay_call* c) { ((float*)c->logits->data)[0] = 1; }
#endif

/* Writes to an address that is not its own.
 * expects: crashed wild_access "a write at address" */
#ifdef IS_writes_wildly
static void misbehave(const assay_call* c) {
  (void)c;
  *(volatile int*)(uintptr_t)0x7000000000 = 1;
}
#endif

/* Returns, and writes its outputs from a thread that it has left running.
 * expects: fail none "changed after the launch had ended" */
#ifdef IS_writes_later
static void* later(void* y) {
  usleep(10000);
  ((float*)y)[0] = 2;
  return NULL;
}

static void misbehave(const assay_call* c) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, later, values(c)) == 0) pthread_detach(thread);
}
#endif

/* Writes through a null pointer.
 * expects: crashed wild_access "a write at address 0x0, near a null pointer" */
#ifdef IS_writes_null
static void misbehave(const assay_call* c) {
  (void)c;
  *(volatile int*)NULL = 1;
}
#endif

/* Takes all the memory that it can get.
 * expects: crashed died "ended by the sandbox: it used more than 1024 MiB of memory"
 * only in a sandbox */
#ifdef IS_eats_memory
static void misbehave(const assay_call* c) {
  (void)c;
  for (;;) {
    char* const block = malloc(8 << 20);
    if (block) memset(block, 1, 8 << 20);
    usleep(1000);
  }
}
#endif
