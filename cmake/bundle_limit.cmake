# SPDX-License-Identifier: Apache-2.0
# Largest size of a bundle in bytes; cmake/BUILD.md promises it in MB. The recorded rows take 10 MB. The rest
# is one program with every kernel three times for the host and once for sm_90, the mutants, the tests and
# static libraries.
set(bundle_limit 40000000)
