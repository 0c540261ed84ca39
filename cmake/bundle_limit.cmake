# What a bundle may weigh, in bytes; cmake/BUILD.md promises it in MB. The recorded rows are 10 MB of it; the rest is one
# program with every kernel three times for the host and once for sm_90, the mutants, the tests and static libraries.
set(bundle_limit 40000000)
