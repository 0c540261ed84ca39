// SPDX-License-Identifier: Apache-2.0
// Arrays through tensor_file.hpp: every format gives the same bits, a name chooses one of several arrays, and
// every broken file is refused with one line that names it.
#include "reference/files/tensor_file.hpp"

#include <span>

#include "reference/files/tensor_file_test.hpp"

namespace assay {
namespace {

using namespace test_files;

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};

std::string six(const char* shape = "(2, 3)") { return npy("<f4", shape, raw(kSix)); }

class TensorFile : public WrittenFiles {};

std::string refusal_of_tensor_file(const std::string& where, const std::string& usual = "logits") {
  try {
    tensor_of(read_stored(where, usual), Bf16::refused);
  } catch (const InputError& e) {
    const std::string what = e.what();
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_EQ(what.rfind(file_of(where).string(), 0), 0u) << what;
    return what;
  }
  return "accepted";
}
#define EXPECT_REFUSED(where, reason) \
  EXPECT_NE(refusal_of_tensor_file(where).find(reason), std::string::npos) << refusal_of_tensor_file(where)

void expect_six(const StoredArray& a) {
  EXPECT_EQ(a.type, Stored::f32);
  EXPECT_EQ(a.rows, 2);
  EXPECT_EQ(a.columns, 3);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()), raw(kSix));
}

TEST_F(TensorFile, FortranOrderAndBothByteOrders) {
  expect_six(read_stored(write("f.npy", npy("<f4", "(2, 3)", raw<float>({0, 3, 1, 4, 2, 5}), "True")), ""));
  std::string big = raw(kSix);
  for (std::size_t i = 0; i < big.size(); i += 4) std::reverse(&big[i], &big[i] + 4);
  expect_six(read_stored(write("b.npy", npy(">f4", "(2, 3)", big)), ""));
  // Three dimensions: element (i, j, k) of a (2, 1, 3) array lies at i + 2 k.
  expect_six(
      read_stored(write("3.npy", npy("<f4", "(2, 1, 3)", raw<float>({0, 3, 1, 4, 2, 5}), "True")), ""));
  const StoredArray one = read_stored(write("1.npy", npy("<f4", "(6,)", raw(kSix), "True")), "");
  EXPECT_EQ(one.rows, 1);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(one.bytes.data()), one.bytes.size()), raw(kSix));
  const StoredArray none = read_stored(write("0.npy", npy("<f4", "(0, 3)", "", "True")), "");
  EXPECT_EQ(none.columns, 3);
}

TEST(TensorFileInMemory, IsReadAsOneOnDisk) {
  const auto read = [](const std::string& bytes, const char* name) {
    return read_stored(FileBytes("file", std::as_bytes(std::span(bytes))), name, "");
  };
  const std::string header = R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  expect_six(read(six(), ""));
  for (const int method : {0, 8})
    expect_six(read(zip({{"b.npy", "", method}, {"a.npy", six(), method}}), "a"));
  expect_six(read(safetensors(header, raw(kSix)), "a"));
  const std::string cut = six().substr(0, six().size() - 1);
  try {
    read(cut, "");
    ADD_FAILURE() << "accepted";
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(), "file: truncated: expected 24 bytes of data, got 23");
  }
  EXPECT_THROW(read("", ""), InputError);
}

TEST_F(TensorFile, BitsOfBf16NeedTheWord) {
  for (const char* descr : {"<u2", "<i2", "<V2", "|V2"}) {
    const std::string file = write("bits.npy", npy(descr, "(1, 2)", raw<std::uint16_t>({0x3f80, 0x4000})));
    EXPECT_REFUSED(file, std::string("dtype '") + descr + "' is no float");
    EXPECT_REFUSED(file, "say --dtype bf16");
    const Tensor t = tensor_of(read_stored(file, ""), Bf16::as_u2);
    EXPECT_EQ(t.dtype, Dtype::bf16);
    EXPECT_EQ(t.at(0, 0), 1);
    EXPECT_EQ(t.at(0, 1), 2);
  }
  const std::string swapped = write("big.npy", npy(">u2", "(1, 1)", std::string("\x3f\x80", 2)));
  EXPECT_EQ(tensor_of(read_stored(swapped, ""), Bf16::as_u2).at(0, 0), 1);
  const std::string named = write("named.npy", npy("bfloat16", "(1, 1)", raw<std::uint16_t>({0x3f80})));
  EXPECT_EQ(tensor_of(read_stored(named, ""), Bf16::refused).at(0, 0), 1);
}

TEST_F(TensorFile, ZipsAsNumPyWritesThem) {
  for (const int method : {0, 8})
    for (const bool zip64 : {false, true}) {
      const std::string file = write("x.npz", zip({{"probs.npy", npy("<f4", "(1,)", raw<float>({7})), method},
                                                   {"logits.npy", six(), method},
                                                   {"notes.txt", "not an array", method}},
                                                  zip64));
      expect_six(read_stored(file + ":logits", ""));
      expect_six(read_stored(file, "logits"));
      EXPECT_EQ(read_stored(file + ":probs", "logits").columns, 1);
    }
  // longer than one block of the reader, and longer than what one run of zeros deflates to
  std::vector<float> many(300'000);
  for (std::size_t i = 0; i < many.size() / 2; ++i) many[i] = static_cast<float>(i * 2654435761u % 9973);
  const StoredArray a =
      read_stored(write("long.npz", zip({{"a.npy", npy("<f4", "(3, 100000)", raw(many)), 8}})), "logits");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(a.bytes.data()), a.bytes.size()), raw(many));
  expect_six(read_stored(write("comment.npz",
                               [] {
                                 std::string z = zip({{"a.npy", six()}});
                                 z.replace(z.size() - 2, 2, number(3, 2));
                                 return z + "PK\5";
                               }()),
                         ""));
}

TEST_F(TensorFile, ANameChoosesAmongSeveral) {
  const std::string file = write("x.npz", zip({{"a.npy", six()}, {"b.npy", npy("<f4", "(1,)", "abcd")}}));
  EXPECT_REFUSED(file, "which array? Say " + file + ":NAME with one of a, b");
  EXPECT_REFUSED(file + ":c", "has no array 'c', but a, b");
  const std::string tensors =
      write("x.safetensors", safetensors(R"({"a:b":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                         R"("c":{"dtype":"F32","shape":[1],"data_offsets":[24,28]}})",
                                         raw(kSix) + "abcd"));
  expect_six(read_stored(tensors + ":a:b", "logits"));
  EXPECT_REFUSED(tensors, "which array?");
  const std::string odd = write("odd:name.npy", six());
  expect_six(read_stored(odd, ""));
  EXPECT_EQ(file_of(odd), odd);
  EXPECT_EQ(file_of(tensors + ":a:b"), tensors);
  EXPECT_REFUSED(odd + ":x", "leave ':x' out");
  EXPECT_REFUSED(at("absent.npz") + ":a", "no such file");
  EXPECT_REFUSED(write("e.npz", zip({})), "holds no array");
  EXPECT_REFUSED(write("t.pt", zip({{"archive/data.pkl", "x"}, {"archive/data/0", "x"}})), "torch.save");
  EXPECT_REFUSED(write("t.txt", "0.5 0.5\n"), "not an .npy, .npz or .safetensors file");
  EXPECT_REFUSED(write("line.npz", zip({{"a\nb.npy", "x"}})), "line.npz:a?b: not an .npy file");
}

TEST_F(TensorFile, DamagedZipsAreNamed) {
  const std::string good = zip({{"a.npy", six()}});
  const std::string packed = zip({{"a.npy", six(), 8}});
  const auto changed = [](std::string z, std::size_t i, char by) {
    return z.replace(i, 1, 1, static_cast<char>(z[i] ^ by));
  };
  EXPECT_REFUSED(write("x.npz", changed(good, good.find(raw(kSix)) + 6, 1)), "its CRC-32 is");
  EXPECT_REFUSED(write("x.npz", changed(packed, packed.find("a.npy") + 5 + 20, 7)), "x.npz:a: damaged");
  EXPECT_REFUSED(write("x.npz", good.substr(0, good.size() - 1)), "not a whole .npz file");
  EXPECT_REFUSED(write("x.npz", good.substr(5)), "damaged");
  EXPECT_REFUSED(write("x.npz", "PK"), "not a whole .npz file");
  EXPECT_REFUSED(write("x.npz", ""), "not a whole .npz file");
  EXPECT_REFUSED(write("x.npz", zip({{"a.npy", six(), 0, 1}})), "is encrypted");
  EXPECT_REFUSED(write("x.npz", zip({{"a.npy", six(), 12}})), "is compressed by method 12");
  EXPECT_REFUSED(write("x.npz", zip({{"a.npy", six()}, {"a.npy", six()}})) + ":a",
                 "two arrays have this name");
  EXPECT_REFUSED(write("x.npz", changed(good, good.size() - 22 + 10, 2)), "directory can not be read");
  EXPECT_REFUSED(write("x.npz", changed(good, good.size() - 22 + 19, 1)), "directory lies outside the file");
  const std::string wide = zip({{"a.npy", six()}}, true);
  EXPECT_REFUSED(write("x.npz", changed(wide, wide.size() - 22 - 20 + 14, 1)), "zip64 record lies outside");
  EXPECT_REFUSED(write("x.npz", changed(wide, wide.size() - 22 - 20 - 56, 1)), "zip64 record is missing");
}

// No size that a zip states is allocated before the bytes are there.
TEST_F(TensorFile, LyingZipsAllocateNothing) {
  const std::uint64_t huge = std::uint64_t{1} << 60;
  EXPECT_REFUSED(write("x.npz", zip({{"a.npy", six(), 0, 0, huge}}, true)), "bytes are stored as");
  const std::string head = npy("<f4", "(288230376151711744,)", "");
  EXPECT_REFUSED(write("x.npz", zip({{"a.npy", head, 8, 0, head.size() + huge}}, true)),
                 "bytes can not come of");
  EXPECT_REFUSED(write("x.npz", zip({{"a.npy", npy("<f4", "(2, 4)", raw(kSix)), 8, 0, six().size() + 8}})),
                 "can not be inflated to its size");
  EXPECT_REFUSED(write("x.npz", zip({{"a.npy", six(), 8, 0, six().size() - 1}})), "truncated: expected 24");
  const std::string shorter = npy("<f4", "(2, 3)", raw(kSix));
  EXPECT_REFUSED(write("x.npz", zip({{"a.npy", shorter + "more", 8, 0, shorter.size()}})),
                 "hold more than its size");
}

TEST_F(TensorFile, SafetensorsOfEveryTypeThatIsRead) {
  const std::string file = write(
      "x.safetensors",
      safetensors(
          R"({"__metadata__":{"format":"pt"},"i":{"dtype":"I64","shape":[1,1],"data_offsets":[38,46]},)"
          R"("logits":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
          R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[24,28]},"u":{"dtype":"U16","shape":[1],)"
          R"("data_offsets":[28,30]},"q":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[30,38]}}  )",
          raw(kSix) + raw<std::uint16_t>({0x3f80, 0x4000, 0x3f80}) + "12345678" + raw<std::int64_t>({-5})));
  expect_six(read_stored(file, "logits"));
  EXPECT_EQ(tensor_of(read_stored(file + ":b", ""), Bf16::refused).at(0, 1), 2);
  EXPECT_EQ(indices_of(read_stored(file + ":i", "")).at, std::vector<std::int64_t>{-5});
  EXPECT_EQ(tensor_of(read_stored(file + ":u", ""), Bf16::as_u2).at(0, 0), 1);
  EXPECT_REFUSED(file + ":u", "dtype U16 is no float; if it holds the bits of bf16, say --dtype bf16");
  EXPECT_REFUSED(file + ":q", "dtype F8_E4M3 is not supported");
  EXPECT_REFUSED(file + ":i", "not supported where floats are read");
  EXPECT_THROW(indices_of(read_stored(file + ":b", "")), InputError);
}

TEST_F(TensorFile, DamagedSafetensorsAreNamed) {
  const auto with = [&](const std::string& header, const std::string& data) {
    return write("x.safetensors", safetensors(header, data));
  };
  const auto tensor = [](const std::string& rest) { return R"({"a":{"dtype":"F32",)" + rest + "}}"; };
  const std::string good = tensor(R"("shape":[2,3],"data_offsets":[0,24])");
  expect_six(read_stored(with(good, raw(kSix)), ""));
  EXPECT_REFUSED(with(good, raw(kSix).substr(1)), "which lie outside the file");
  EXPECT_REFUSED(with(good, raw(kSix) + "x"), "trailing bytes");
  EXPECT_REFUSED(with(tensor(R"("shape":[2,3],"data_offsets":[24,0])"), raw(kSix)), "end before they begin");
  EXPECT_REFUSED(with(tensor(R"("shape":[2,2],"data_offsets":[0,24])"), raw(kSix)), "its shape has 16 bytes");
  EXPECT_REFUSED(with(tensor(R"("shape":[2,3],"data_offsets":[4,24])"), raw(kSix)), "belong to no tensor");
  EXPECT_REFUSED(with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                      "123456"),
                 "which are another tensor's too");
  EXPECT_REFUSED(with(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                      R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                      "12345678"),
                 "'a' stands there twice");
  for (const char* rest : {R"("shape":[-1],"data_offsets":[0,24])", R"("shape":[1.5],"data_offsets":[0,24])",
                           R"("shape":6,"data_offsets":[0,24])", R"("shape":[6],"data_offsets":[0])",
                           R"("shape":[6])", R"("shape":[6],"data_offsets":[0,99999999999999999999])"})
    EXPECT_REFUSED(with(tensor(rest), raw(kSix)), "'a' lacks dtype, shape or data_offsets");
  EXPECT_REFUSED(with(tensor(R"("shape":[4611686018427387904,4],"data_offsets":[0,24])"), raw(kSix)),
                 "more than 2^63");
  EXPECT_REFUSED(with(tensor(R"("shape":[],"data_offsets":[0,24])"), raw(kSix)), "no dimension");
  EXPECT_REFUSED(with("[1]", ""), "not a JSON object");
  EXPECT_REFUSED(with("{", ""), "not JSON at byte");
  EXPECT_REFUSED(with("{\"a\":1e999}", ""), "a number that no type holds");
  EXPECT_REFUSED(with("{}", ""), "holds no tensor");
  EXPECT_REFUSED(with("{\"a\":" + std::string(100'000, '['), ""), "nested too deep");
  EXPECT_REFUSED(write("x.safetensors", number(~std::uint64_t{0}, 8) + "{}"), "truncated in the header");
  EXPECT_REFUSED(write("x.safetensors", "short"), "too short");
}

// With bytes changed, cut off and inserted, the result is an array of the stated size, or one line of error.
TEST_F(TensorFile, MutatedBytesAreReadOrRefused) {
  const std::string header = R"({"logits":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[24,28]}})";
  const std::vector<std::string> whole = {
      six(),
      npy("<f4", "(2, 3)", raw(kSix), "True"),
      zip({{"a.npy", six()}, {"logits.npy", six(), 8}}),
      zip({{"a.npy", six(), 8}, {"b.npy", six()}}, true),
      safetensors(header, raw(kSix) + "abcd"),
  };
  const std::string names[] = {"m.npy", "m.npz", "m.safetensors"};
  std::uint64_t state = 15;
  const auto below = [&state](std::uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>((state >> 33) % n);
  };
  int read = 0, refused = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string bytes = whole[static_cast<std::size_t>(i) % whole.size()];
    for (std::size_t n = 1 + below(3); n-- > 0 && !bytes.empty();) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2:
          bytes.erase(at, 1 + below(4));
          break;
        default:
          bytes.insert(at, 1 + below(4), below(2) ? '\xff' : '\n');
      }
    }
    const std::string file = write(names[below(3)], bytes);
    try {
      const StoredArray a = read_stored(file, "logits");
      ASSERT_EQ(a.bytes.size(), static_cast<std::size_t>(a.rows * a.columns) * size_of(a.type));
      ++read;
    } catch (const InputError& e) {
      ASSERT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace assay
