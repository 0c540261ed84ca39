# SPDX-License-Identifier: Apache-2.0
# The tests that `./run test` leaves out and `./run test --all` runs: those that took more than some three seconds of one
# idle core. They have the label long. Patterns are gtest's. The test long_tests_exist fails if one of them matches nothing.
set(ASSAY_LONG_TESTS
  # whole reports
  Report.HostKeysPass* Report.ContractedHostKeysPass* Report.NormalizerAlone Report.ThreadsDoNotChangeRecords
  Report.SmallestAndLargestK ReportFiles.ReproduceLinesReproduce ReportFiles.JudgesOnAnyNpy
  # whole checks of kernels in files, which are compiled first
  Of/RightFiles.* Of/AdoptExamples.* AdoptExamplesFolder.* BlockOwners.* OneFile.LaunchersThatMacrosMakeAndTemplates
  OneFile.RacesAreFound OwnObject.No* OwnObject.Right* OneFile.NvccWithTheFlagsOfExtensions FileRefusals.SaysInOneLine* OneFile.LaunchersAsPeopleWriteThem
  OneFile.GroupsCubAndRowsOfAWarp OneFile.WorkOnTheDefaultStream* FileRefusals.NamesWhatIsWrong OneFile.TemplateOfThreeTypes*
  Branches.* NewCases.FindAKernel* Seed.AKernelThatKnows* Checks.TheReproduceLineOfAFile* Checks.WhatNobodyPromised* Checks.WithoutAGpuAKernelForOne*
  MergeCommand.UndeclaredLimits* ProgressLine.* Containers.* ManyRecords.* SamplerFile.* Adopt.ASourceFile* Python.ARightOne* OneFileCache.* ReadFilesOfAProject.* SourceCandidates.NamesOneOfAFile SourceCandidates.ADeclaration*
  # whole checks of kernels of the registry and of planted faults
  StaleOutputs.AKernel* StaleOutputs.AnElement* Conformance.RightKernelsPass* Conformance.OneCaseAlone* Conformance.PlantedFaultsAreNamed
  BehavesLike.NoRegisteredClaimIsRefuted PlantedRules.* LimitSearch.* Causal.* Operands.WrongOnes* Operands.TheReferenceVariantPasses
  Operands.EveryRowOfMany* Operands.RightKernelsPass* Undeclared.ASumOfTooFewBits* Undeclared.AnotherSumForManyRows*
  VariantMutant.WithoutAFault* Variants/EmptySlices.*/host
  # many values
  All/Cheats.*
  *Billion* FastLog.StaysWithinItsBound DrawnRows.* Big.OffsetsThatWrap* OnepassTopk.IsRightWhatever*
  Tiers.GiveTheSameVerdicts/f32 Tiers.GiveTheSameVerdicts/f16 Formats/ToxicOutputs.*_long_rows)
list(JOIN ASSAY_LONG_TESTS ":" ASSAY_LONG_TESTS)

# cmake -DPROGRAM=assay_tests -DPATTERNS=A.*:B.C -P long_tests.cmake: fails if a pattern matches no test of the program.
# A test that was renamed would be a short one from then on, and nobody would notice.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR listed STREQUAL "")
    message(FATAL_ERROR "${PROGRAM} lists no tests")
  endif()
  string(REGEX REPLACE "#[^\n]*" "" listed "${listed}")
  string(REPLACE "\n" ";" lines "${listed}")
  set(suite "")
  set(tests ";")
  foreach(line IN LISTS lines)
    string(STRIP "${line}" name)
    if(line MATCHES "^ ")
      string(APPEND tests "${suite}${name};")
    else()
      set(suite "${name}")
    endif()
  endforeach()
  string(REPLACE ":" ";" patterns "${PATTERNS}")
  foreach(pattern IN LISTS patterns)
    string(REGEX REPLACE "([.+()])" "\\\\\\1" regex "${pattern}")
    string(REPLACE "*" "[^;]*" regex "${regex}")
    if(NOT tests MATCHES ";${regex};")
      message(SEND_ERROR "cmake/long_tests.cmake: no test is called ${pattern}")
    endif()
  endforeach()
endif()
