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
