# SPDX-License-Identifier: Apache-2.0
# assay_joined(TARGET SIZE): compiles the C++ files of a target SIZE at a time, as one file each time. Most of the time
# of such a file goes into the headers of libraries, which are then read once for SIZE files.
# Two such files must not give one name to two things, also not in their anonymous namespaces.
# -DASSAY_JOIN_FILES=OFF compiles file by file. That is better for somebody who edits: only the changed file is
# compiled again. The preset dev does so, and shows a file that relies on an include of its neighbour.
option(ASSAY_JOIN_FILES "Compile several files of the slow targets at a time" ON)
function(assay_joined target size)
  if(ASSAY_JOIN_FILES)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()
