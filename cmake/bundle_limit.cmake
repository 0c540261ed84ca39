# SPDX-License-Identifier: Apache-2.0
# Largest size of a bundle in MB, without and with CUDA; cmake/BUILD.md promises both. The recorded rows take
# 10 MB. The rest is one program with every kernel three times for the host, the mutants, the tests and static
# libraries. With CUDA it also has every kernel once for sm_90 and once as PTX, which newer GPUs compile.
set(bundle_limit_host 40)
set(bundle_limit_cuda 52)
