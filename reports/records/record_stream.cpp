// SPDX-License-Identifier: Apache-2.0
#include "reports/records/record_stream.hpp"

#include <zlib.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reports/records/record_parser.hpp"

namespace assay {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes that a thread parses at once

/// Pieces of whole lines, in the order of the file.
class Pieces {
 public:
  explicit Pieces(const std::filesystem::path& file)
      : name_(file.string()), in_(gzopen(file.c_str(), "rb"), gzclose) {
    if (!in_ || std::filesystem::is_directory(file)) throw InputError(name_ + ": cannot be read");
    gzbuffer(in_.get(), 1 << 18);
  }
  /// False at the end of the file.
  bool next(std::string& piece) {
    piece = std::move(rest_);
    rest_.clear();
    while (!end_) {
      const std::size_t had = piece.size();
      piece.resize(had + kPiece);
      const int n = gzread(in_.get(), piece.data() + had, kPiece);
      int error = 0;
      const char* const why = gzerror(in_.get(), &error);
      if (n < 0 || (error != Z_OK && error != Z_STREAM_END))
        throw InputError(name_ + ": cannot be read: " + why);
      piece.resize(had + static_cast<std::size_t>(n));
      end_ = n == 0;
      const auto line_end = piece.rfind('\n');
      if (end_ || line_end == std::string::npos) continue;
      rest_ = piece.substr(line_end + 1);
      piece.resize(line_end + 1);
      break;
    }
    return !piece.empty();
  }

 private:
  std::string name_, rest_;
  std::unique_ptr<std::remove_pointer_t<gzFile>, int (*)(gzFile)> in_;
  bool end_ = false;
};

/// The records of a piece, and the fault after which there are no more.
struct Parsed {
  std::vector<Record> records;
  std::string fault;
  std::int64_t lines = 0;  // up to the fault
};

void parse(RecordParser& parser, const std::string& piece, Parsed& out) {
  out.fault.clear();
  out.lines = 0;
  std::size_t n = 0;
  for (std::size_t at = 0; at < piece.size();) {
    const void* const found = std::memchr(piece.data() + at, '\n', piece.size() - at);
    const std::size_t end =
        found ? static_cast<std::size_t>(static_cast<const char*>(found) - piece.data()) : piece.size();
    ++out.lines;
    if (end > at) try {
        if (n == out.records.size()) out.records.emplace_back();
        parser.parse_into(std::string_view(piece).substr(at, end - at), out.records[n]);
        ++n;
      } catch (const std::exception& e) {
        out.fault = e.what();
        break;
      }
    at = end + 1;
  }
  out.records.resize(n);
}

}  // namespace

std::int64_t for_each_record(const std::filesystem::path& file,
                             const std::function<void(const Record&)>& take, int threads) {
  Pieces pieces(file);
  std::mutex reading, taking;
  std::condition_variable turn;
  std::int64_t read = 0, taken = 0, lines = 0, records = 0;
  bool stopped = false;
  const std::size_t workers = static_cast<std::size_t>(thread_count(threads));
  parallel_for(workers, threads, [&](std::size_t) {
    RecordParser parser;
    std::string piece;
    Parsed parsed;
    while (true) {
      std::int64_t mine = 0;
      std::string broken;
      {
        const std::lock_guard<std::mutex> lock(reading);
        if (stopped) return;
        try {
          if (!pieces.next(piece)) return;
        } catch (const InputError& e) {
          broken = e.what();
        }
        mine = read++;
      }
      if (broken.empty()) parse(parser, piece, parsed);
      std::unique_lock<std::mutex> lock(taking);
      turn.wait(lock, [&] { return taken == mine; });
      struct Next {  // whatever happens here, the threads that wait go on
        std::int64_t& taken;
        std::condition_variable& turn;
        ~Next() {
          ++taken;
          turn.notify_all();
        }
      } next{taken, turn};
      const auto stop = [&] {
        const std::lock_guard<std::mutex> reader(reading);
        stopped = true;
      };
      if (stopped) return;
      if (!broken.empty()) {
        stop();
        throw InputError(broken);
      }
      try {
        for (const Record& r : parsed.records) take(r);
      } catch (...) {
        stop();
        throw;
      }
      records += static_cast<std::int64_t>(parsed.records.size());
      lines += parsed.lines;
      if (!parsed.fault.empty()) {
        stop();
        throw InputError(file.string() + ": line " + std::to_string(lines) + ": " + parsed.fault);
      }
    }
  });
  return records;
}

}  // namespace assay
