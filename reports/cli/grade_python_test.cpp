// SPDX-License-Identifier: Apache-2.0
// assay grade on files as Python writes them: NumPy arrays in either order, .npz of both kinds, bf16 by
// ml_dtypes, safetensors.
#include <gtest/gtest.h>

#include <fstream>

#include "kernels/python/python_test.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"

namespace assay {
namespace {

/// Exit status of `assay grade WORDS`; @ in the words is replaced by the folder.
int grade(const std::string& folder, const std::string& words) {
  std::vector<std::string> all = {"grade", "--out", folder + "/graded"};
  for (std::string w : command_test::words_of(words)) {
    if (const std::size_t at = w.find('@'); at != w.npos) w.replace(at, 1, folder + "/");
    all.push_back(w);
  }
  const command_test::Outcome o = command_test::call_words(all);
  EXPECT_EQ(o.status, 0) << words << "\n" << o.out << o.err;
  return o.status;
}

void run_python(const TestFolder& folder, const std::string& script) {
  const std::string file = (folder.path() / "make.py").string();
  std::ofstream(file) << "import numpy as np\n"
                         "def softmax(x):\n"
                         "    x = x.astype(np.float64)\n"
                         "    e = np.exp(x - x.max(axis=1, keepdims=True))\n"
                         "    return e / e.sum(axis=1, keepdims=True)\n"
                         "x = (np.arange(4 * 257).reshape(4, 257) * 37 % 101 / 16).astype(np.float32)\n"
                         "y = softmax(x).astype(np.float32)\n"
                      << script;
  ASSERT_EQ(std::system(("cd " + folder.path().string() + " && " + test_python() + " make.py").c_str()), 0);
}

TEST(GradePython, FilesOfNumPy) {
  ASSAY_NEEDS_PYTHON("numpy");
  const TestFolder folder;
  run_python(folder,
             "np.save('c.npy', x)\n"
             "np.save('f.npy', np.asfortranarray(y))\n"
             "np.save('big.npy', y.astype('>f4'))\n"
             "np.savez('both.npz', logits=x, probs=y)\n"
             "np.savez_compressed('packed.npz', x=x, y=np.asfortranarray(y))\n"
             "np.savez_compressed('one.npz', y)\n"
             "np.savez('k.npz', indices=np.argsort(-x, axis=1, kind='stable')[:, :3],"
             " values=-np.sort(-x, axis=1)[:, :3])\n");
  const std::string at = folder.path().string();
  for (const char* probs :
       {"@f.npy", "@big.npy", "@both.npz", "@both.npz:probs", "@packed.npz:y", "@one.npz"})
    grade(at, std::string("--logits @c.npy --probs ") + probs);
  grade(at, "--logits @both.npz --probs @both.npz");
  grade(at, "--logits @packed.npz:x --probs @packed.npz:y");
  grade(at, "--logits @c.npy --values @k.npz --indices @k.npz");
}

TEST(GradePython, Bf16OfMlDtypes) {
  ASSAY_NEEDS_PYTHON("numpy, ml_dtypes");
  const TestFolder folder;
  run_python(folder,
             "from ml_dtypes import bfloat16\n"
             "b = x.astype(bfloat16)\n"
             "p = softmax(b).astype(bfloat16)\n"
             "np.save('b.npy', b)\n"
             "np.save('p.npy', p)\n"
             "np.save('x.npy', b.astype(np.float32))\n"
             "np.savez_compressed('bits.npz', logits=b.view(np.int16), probs=p.view(np.uint16))\n");
  const std::string at = folder.path().string();
  grade(at, "--logits @b.npy --probs @p.npy --dtype bf16");
  grade(at, "--logits @bits.npz --probs @bits.npz --dtype bf16");
  grade(at, "--logits @x.npy --probs @p.npy --dtype f32:bf16");
}

TEST(GradePython, Safetensors) {
  ASSAY_NEEDS_PYTHON("numpy, ml_dtypes, safetensors.numpy");
  const TestFolder folder;
  run_python(folder,
             "from ml_dtypes import bfloat16\n"
             "from safetensors.numpy import save_file\n"
             "b = x.astype(bfloat16)\n"
             "save_file({'logits': x, 'probs': y, 'model.b': b, 'model.p': softmax(b).astype(bfloat16)},"
             " 'x.safetensors', metadata={'format': 'np'})\n");
  const std::string at = folder.path().string();
  grade(at, "--logits @x.safetensors --probs @x.safetensors");
  grade(at, "--logits @x.safetensors:model.b --probs @x.safetensors:model.p");
}

}  // namespace
}  // namespace assay
