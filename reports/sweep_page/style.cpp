#include "reports/page_texts.hpp"
#include "reports/sweep_page/parts.hpp"

namespace assay::speed {

std::string style() { return std::string(page::sweep_css); }
std::string script() { return std::string(page::sweep_js); }

}  // namespace assay::speed
