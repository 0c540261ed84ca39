// SPDX-License-Identifier: Apache-2.0
// Parses the JSON line of one record. The JSON library reads 100 MB a second, and a million records are 1.6
// GB. So lines in the form in which this program writes them are read by a faster reader; the library reads
// all others, and says what is wrong with a line.
#pragma once

#include <memory>
#include <string_view>

#include "accuracy/record.hpp"

namespace assay {

/// One parser is for one thread.
class RecordParser {
 public:
  RecordParser();
  ~RecordParser();
  RecordParser(RecordParser&&) noexcept;
  RecordParser& operator=(RecordParser&&) noexcept;

  /// The record of a line, as record_from_json reads it. It lives until the next call. Throws InputError
  /// that names the field that is missing or wrong.
  const Record& parse(std::string_view line);
  /// The same, into `record`, which is not copied.
  void parse_into(std::string_view line, Record& record);
  /// The same, or null if the line has not the usual form: keys in alphabetical order, no blanks, ASCII only,
  /// and no field that this program does not know.
  const Record* parse_usual(std::string_view line);

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace assay
