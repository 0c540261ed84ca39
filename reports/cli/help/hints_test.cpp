// SPDX-License-Identifier: Apache-2.0
// Wrong calls whose message says what was probably meant.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "reference/files/npy.hpp"
#include "reports/cli/command_test.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

struct Wrong {
  std::string call, says;
};

TEST(Hints, AMistypedWordIsNamedWithWhatWasMeant) {
  for (const auto& [call, says] : {
           Wrong{"assay chek x", "chek: no such command (assay --help); did you mean check?"},
           {"assay report --famly x", "--famly: no such option of assay report; did you mean --family?"},
           {"assay sweep launch --kye x", "--kye: no such option of assay sweep launch; did you mean --key?"},
           {"assay report --zzzzzzz", "--zzzzzzz: no such option of assay report (assay --help)"},
           {"assay report --key safe_blok/f32@host", "did you mean safe_block/f32@host?"},
           {"assay check safe_blok/f32@host", "did you mean safe_block/f32@host?"},
           {"assay check safe_block/f32", "did you mean safe_block/f32@host?"},
           {"assay fuzz safe_blok/f32@host", "did you mean safe_block/f32@host?"},
           {"assay sweep oracle --key safe_blok/f32@host", "did you mean safe_block/f32@host?"},
           {"assay report --family normal1", "did you mean normal_1?"},
           {"assay check safe_block/f32@host --only shaps", "did you mean shapes?"},
           {"assay selftest --key no_mx", "did you mean no_max?"},
           {"assay functions --function expp", "did you mean expf?"},
           {"assay check x.npy",
            "x.npy: holds tensors and no kernel: assay grade --logits x.npy --probs y.npy"},
           {"assay grade no_such_folder",
            "no_such_folder: no such folder (assay inputs --out FOLDER makes one)"},
           {"assay replay no_such_case", "no_such_case: no such file"},
       }) {
    const command_test::Outcome o = command_test::call(call);
    EXPECT_EQ(o.status, kBadCall) << call;
    EXPECT_NE(o.err.find(says), o.err.npos) << call << ": " << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_EQ(o.out, "") << call;
  }
}

class HintsOfFiles : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  command_test::Outcome grade(const std::string& outputs) const {
    return command_test::call("assay grade --logits " + at("x.npy") + " --probs " + outputs + " --out " +
                              at("out"));
  }

 private:
  fs::path folder_ = testing::TempDir() + "hints." + std::to_string(getpid());
};

TEST_F(HintsOfFiles, OutputsTheWrongWayRoundAreSaidToBeTransposed) {
  write_npy(at("x.npy"), Tensor(Dtype::f32, 2, 33));
  write_npy(at("y.npy"), Tensor(Dtype::f32, 33, 2));
  write_npy(at("z.npy"), Tensor(Dtype::f32, 3, 33));
  const std::string turned = grade(at("y.npy")).err;
  EXPECT_NE(turned.find("it is transposed: save numpy.ascontiguousarray(x.T)"), turned.npos) << turned;
  const std::string other = grade(at("z.npy")).err;
  EXPECT_NE(other.find("is 3 x 33, must be 2 x 33"), other.npos) << other;
  EXPECT_EQ(other.find("transposed"), other.npos) << other;
}

TEST_F(HintsOfFiles, AnNpzInThePlaceOfAnNpyIsSeen) {
  write_npy(at("x.npy"), Tensor(Dtype::f32, 2, 33));
  EXPECT_EQ(grade(at("y.npy")).err, "assay: " + at("y.npy") + ": no such file\n");
  std::ofstream(at("y.npz")) << "PK";
  EXPECT_EQ(grade(at("y.npy")).err,
            "assay: " + at("y.npy") +
                ": no such file (y.npz is there: write it with numpy.save, not numpy.savez)\n");
}

TEST_F(HintsOfFiles, AFolderOfInputsWithoutItsManifestIsNamed) {
  const std::string said = command_test::call("assay grade " + at("")).err;
  EXPECT_NE(said.find("manifest.json: no such file (assay inputs --out FOLDER writes it)"), said.npos)
      << said;
}

}  // namespace
}  // namespace assay
