// SPDX-License-Identifier: Apache-2.0
// Escaping and number formats shared by the page and the summaries.
#include "reports/data/html.hpp"

#include <fmt/format.h>

#include <cmath>

namespace assay {

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') ? '?' : c;
    }
  }
  return out;
}

std::string markdown(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\n' || c == '\r')
      out += ' ';
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '|' || c == '`' || c == '*' || c == '\\' || c == '[')
      (out += '\\') += c;
    else
      out += c;
  }
  return out;
}

std::string markdown_code(std::string_view text) {
  std::string out = "`";
  for (char c : text) {
    if (c == '|')
      out += "\\|";
    else
      out += (c == '`' || c == '\n' || c == '\r') ? ' ' : c;
  }
  return out + "`";
}

std::string shorten(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return std::string(text.substr(0, limit)) + "...";
}

std::string grouped(std::int64_t v) {
  std::string digits = fmt::format("{}", v);
  for (int i = static_cast<int>(digits.size()) - 3; i > (v < 0 ? 1 : 0); i -= 3) digits.insert(i, ",");
  return digits;
}

std::string plain_number(double v) {
  if (std::isnan(v)) return "-";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  if (v == 0) return "0";
  const double a = std::fabs(v);
  if (a >= 999.5 && a < 99950) {
    const double unit = a < 9995 ? 10 : 100;
    return grouped(std::llround(v / unit) * static_cast<std::int64_t>(unit));
  }
  if (a >= 1e-3 && a < 999.5) {
    // Keeps trailing zeros, so that columns align: 0.600, 5.50, 12.0. 9.996 becomes 10.0, not 10.00.
    for (int decimals = 5; decimals > 0; --decimals)
      if (a < 9.995 * std::pow(10, 2 - decimals)) return fmt::format("{:.{}f}", v, decimals);
    return fmt::format("{:.0f}", v);
  }
  // Turns 1.23e-07 into 1.23e-7.
  std::string s = fmt::format("{:.3g}", v);
  const auto e = s.find('e');
  if (e == std::string::npos) return s;
  return s.substr(0, e) + fmt::format("e{}", std::stoi(s.substr(e + 1)));
}

std::string number(double v) { return std::isnan(v) ? kDash : plain_number(v); }
std::string number(std::optional<double> v) { return v ? number(*v) : std::string(kDash); }

std::string plain_percent(double share) {
  if (std::isnan(share)) return "-";
  if (share == 1) return "100%";
  if (share >= 0.9995) return ">99.9%";
  return plain_number(100 * share) + "%";
}

std::string hexfloat(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+inf" : "-inf";
  return fmt::format("{:a}", v);
}

std::vector<SizeCell> cells_of(const std::vector<SizeInfo>& columns, std::string_view op,
                               const CaseShape& shape) {
  std::vector<SizeCell> cells(columns.size());
  each_size(sizes_of(op), shape, [&](const SizeInfo& s, auto n) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!s.in_use || std::string_view(columns[i].name) != s.name) continue;
      cells[i].sort = text_of_number(n);
      if constexpr (std::is_integral_v<decltype(n)>)
        cells[i].text = grouped(n);
      else
        cells[i].text = cells[i].sort;
    }
  });
  return cells;
}

std::vector<std::string> texts_of(const std::vector<SizeInfo>& columns, std::string_view op,
                                  const CaseShape& shape) {
  std::vector<std::string> all;
  for (SizeCell& cell : cells_of(columns, op, shape)) all.push_back(std::move(cell.text));
  return all;
}

}  // namespace assay
