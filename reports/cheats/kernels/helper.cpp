// SPDX-License-Identifier: Apache-2.0
// A library that opener.cpp opens at run time: the factor of its outputs.
extern "C" __attribute__((visibility("default"))) float factor() { return FACTOR; }
